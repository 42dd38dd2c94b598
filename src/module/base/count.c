// SPDX-License-Identifier: GPL-2.0
/*
 * Counts and states, as numbers and words for their readers.
 */
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
		[TALLY_STATE_ERROR] = 6,
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
	};

	return state < ARRAY_SIZE(words) ? words[state] : "unknown";
}
EXPORT_SYMBOL_TALLY(tally_state_name);
