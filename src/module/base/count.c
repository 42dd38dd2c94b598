// SPDX-License-Identifier: GPL-2.0
/*
 * Counts and states, as numbers and words for their readers.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include "base/ptr.h"
#include "compat.h"
#include "base/count.h"

/* The state of an event, parts of which are in the states @a and @b. */
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

/* A number of 128 bits, from the lowest word on. */
struct wide {
	u32 words[4];
};

static void wide_multiply(struct wide *w, u64 a, u64 b)
{
	u64 low = (u64)(u32)a * (u32)b;
	u64 mid = (a >> 32) * (u32)b + (low >> 32);
	u64 other = (u64)(u32)a * (b >> 32) + (u32)mid;
	u64 high = (a >> 32) * (b >> 32) + (mid >> 32) + (other >> 32);

	w->words[0] = low;
	w->words[1] = other;
	w->words[2] = high;
	w->words[3] = high >> 32;
}

/* Divides by 10 and returns the remainder. */
static unsigned int wide_divide(struct wide *w)
{
	u32 rest = 0;
	int i;

	for (i = 3; i >= 0; i--)
		w->words[i] = div_u64_rem((u64)rest << 32 | w->words[i], 10, &rest);
	return rest;
}

static void wide_increment(struct wide *w)
{
	unsigned int i;

	for (i = 0; i < 4 && !++w->words[i]; i++)
		;
}

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

/**
 * tally_count_decimal - write a count times a factor, as perf stat prints it
 * @value: the count
 * @scale: the factor: a decimal number
 * @buf: receives the product: two digits behind the point, unless it is a whole number
 * @size: bytes of room in @buf; TALLY_DECIMAL_LEN is enough
 *
 * Context: Any context.
 * Return: 0; EINVAL for a factor that is no such number.
 */
int tally_count_decimal(u64 value, const char *scale, char *buf, size_t size)
{
	char digits[TALLY_DECIMAL_LEN];
	unsigned int last = 0, cents;
	char *at = digits + sizeof(digits);
	bool whole = true;
	struct wide w;
	u64 mantissa;
	int exponent;

	if (parse_scale(scale, &mantissa, &exponent))
		return -EINVAL;
	wide_multiply(&w, value, mantissa);
	for (; exponent < -2; exponent++) {
		last = wide_divide(&w);
		whole = whole && !last;
	}
	if (last >= 5)
		wide_increment(&w);
	cents = exponent <= -2 ? wide_divide(&w) : 0;
	cents += exponent <= -1 ? 10 * wide_divide(&w) : 0;
	*--at = '\0';
	for (; exponent > 0 && (w.words[0] | w.words[1] | w.words[2] | w.words[3]); exponent--)
		*--at = '0';
	do {
		*--at = '0' + wide_divide(&w);
	} while (w.words[0] | w.words[1] | w.words[2] | w.words[3]);
	if (whole && !cents)
		snprintf(buf, size, "%s", at);
	else
		snprintf(buf, size, "%s.%02u", at, cents);
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_count_decimal);
