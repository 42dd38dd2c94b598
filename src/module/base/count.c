// SPDX-License-Identifier: GPL-2.0
/*
 * Counts and states, as numbers and words for their readers.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include "base/ptr.h"
#include "compat.h"
#include "base/count.h"

/*
 * Returns the state of an event that has parts in the states @a and @b. A part that counts makes
 * the event active; a part that is throttled, silent or in error gives the event its own state.
 */
enum tally_state tally_state_worse(enum tally_state a, enum tally_state b)
{
	static const u8 rank[] = {
		[TALLY_STATE_OFFLINE] = 0,
		[TALLY_STATE_EXITED] = 1,
		[TALLY_STATE_OFF] = 2,
		[TALLY_STATE_INACTIVE] = 3,
		[TALLY_STATE_ACTIVE] = 4,
		[TALLY_STATE_THROTTLED] = 5,
		[TALLY_STATE_SILENT] = 6,
		[TALLY_STATE_ERROR] = 7,
	};

	return rank[a] > rank[b] ? a : b;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_state_worse);

u64 tally_count_scaled(const struct tally_count *count)
{
	u64 value, enabled, running;
	u64 whole, part, rest;

	if (tally_bad_ptr(count))
		return 0;
	value = count->value;
	enabled = count->enabled_ns;
	running = count->running_ns;
	if (!running)
		return 0;
	if (running >= enabled)
		return value;
	/* The quotient of the second term fits: it is below enabled_ns. */
	whole = div64_u64_rem(value, running, &rest);
	if (check_mul_overflow(whole, enabled, &whole))
		return U64_MAX;
	part = mul_u64_u64_div_u64(rest, enabled, running);
	if (check_add_overflow(whole, part, &whole))
		return U64_MAX;
	return whole;
}
EXPORT_SYMBOL_TALLY(tally_count_scaled);

const char *tally_state_name(enum tally_state state)
{
	static const char *const words[] = {
		[TALLY_STATE_OFF] = "off",
		[TALLY_STATE_INACTIVE] = "inactive",
		[TALLY_STATE_ACTIVE] = "active",
		[TALLY_STATE_ERROR] = "error",
		[TALLY_STATE_OFFLINE] = "offline",
		[TALLY_STATE_EXITED] = "exited",
		[TALLY_STATE_THROTTLED] = "throttled",
		[TALLY_STATE_SILENT] = "silent",
	};

	return state < ARRAY_SIZE(words) && words[state] ? words[state] : "unknown";
}
EXPORT_SYMBOL_TALLY(tally_state_name);

/* Parses a decimal number, as "6.1e-5", into @mantissa times 10 to the power of @exponent. */
static int parse_scale(const char *text, u64 *mantissa, int *exponent)
{
	bool point = false;
	u64 digits = 0;
	int shift = 0;

	if (!isdigit(*text))
		return -EINVAL;
	*exponent = 0;
	for (; isdigit(*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
		} else if (digits < U64_MAX / 100) {
			digits = digits * 10 + (*text - '0');
			*exponent -= point;
		} else {
			/* More digits than a double has: only their number is of use. */
			*exponent += !point;
		}
	}
	if (*text && ((*text != 'e' && *text != 'E') || kstrtoint(text + 1, 10, &shift)))
		return -EINVAL;
	*exponent += shift;
	*mantissa = digits;
	return *exponent < -99 || *exponent > 99 ? -EINVAL : 0;
}

/* The greatest power of 10 in 64 bits that leaves room for a factor of 10. */
#define DIGITS_MAX	18

/* Writes a count times @mantissa / 10^(@digits + 3). */
static int put_thousandths(u64 value, u64 mantissa, int digits, char *buf, size_t size)
{
	u64 unit = 1, thousandths;
	bool exact;
	u32 digit;
	int i;

	for (; digits < 0; digits++)
		if (check_mul_overflow(mantissa, 10ULL, &mantissa))
			return -ERANGE;
	for (i = 0; i < min(digits, DIGITS_MAX); i++)
		unit *= 10;
	/* The quotient of the second term fits: it is at most the count. */
	if (check_mul_overflow(value, div64_u64(mantissa, unit), &thousandths) ||
	    check_add_overflow(thousandths, mul_u64_u64_div_u64(value, mantissa % unit, unit),
			       &thousandths))
		return -ERANGE;
	exact = thousandths * unit == value * mantissa;
	for (; digits > DIGITS_MAX; digits--) {
		thousandths = div_u64_rem(thousandths, 10, &digit);
		exact = exact && !digit;
	}
	exact = exact && !(thousandths % 1000);
	if (check_add_overflow(thousandths, 5ULL, &thousandths))
		return -ERANGE;
	if (exact)
		snprintf(buf, size, "%llu", div_u64(thousandths, 1000));
	else
		snprintf(buf, size, "%llu.%02llu", div_u64(thousandths, 1000),
			 div_u64(thousandths, 10) % 100);
	return 0;
}

/**
 * tally_count_decimal - write a count times a factor, as perf stat prints it
 * @value: the count
 * @scale: the factor: a decimal number
 * @buf: receives the product: two digits behind the point, unless it is a whole number
 * @size: bytes of room in @buf; TALLY_DECIMAL_LEN is enough
 *
 * Context: Any context.
 * Return: 0; EINVAL for a factor that is no such number; ERANGE for a product that is too large:
 * from 2^64 on for a whole factor, from about 2^54 on for another one.
 */
int tally_count_decimal(u64 value, const char *scale, char *buf, size_t size)
{
	int exponent, err;
	u64 mantissa;

	err = parse_scale(scale, &mantissa, &exponent);
	if (err)
		return err;
	if (!value)
		mantissa = 0;
	if (exponent < 0)
		return put_thousandths(value, mantissa, -exponent - 3, buf, size);
	for (; exponent; exponent--)
		if (check_mul_overflow(mantissa, 10ULL, &mantissa))
			return -ERANGE;
	if (check_mul_overflow(value, mantissa, &value))
		return -ERANGE;
	snprintf(buf, size, "%llu", value);
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_count_decimal);
