/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BASE_REGISTER_H
#define TALLY_BASE_REGISTER_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include "arch/register.h"
#include "base/trick.h"

/*
 * Returns the count of an event that is counting on this CPU, with interrupts
 * disabled: perf's count, and what the register has counted since perf read it
 * last, which is less than 2^width: the driver interrupts after half of that.
 * Changes nothing. An NMI may bring perf's count up to date meanwhile.
 */
static __always_inline u64 tally_register_count(const struct perf_event *event, const u32 *width)
{
	const struct hw_perf_event *hw = &event->hw;
	unsigned int shift;
	u64 count, then, now;

	do {
		count = local64_read(&event->count);
		then = local64_read(&hw->prev_count);
		now = tally_register_read(hw) + tally_mutant(TALLY_TRICK_REGISTER);
	} while (unlikely(local64_read(&event->count) != count ||
			  local64_read(&hw->prev_count) != then));
	/* 64 - width. It is read here, and not before, because x86 has few registers. */
	shift = -READ_ONCE(*width) & 63;
	return count + ((now - then) << shift >> shift);
}

unsigned int tally_register_width(struct perf_event *event);

#endif /* TALLY_BASE_REGISTER_H */
