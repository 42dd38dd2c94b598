/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A storm: a thread writes, timers interrupt it and write, too, and a thread on another CPU
 * reads.
 */
#ifndef STORM_H
#define STORM_H

#include <linux/hrtimer.h>
#include <linux/types.h>

struct kunit;
struct storm;

#define STORM_TIMERS	2
#define STORM_WRITERS	(1 + STORM_TIMERS)	/* the thread, and the timers' interrupts */

/* Interrupts of a thread that writes. A machine that counts them faster may want more. */
#ifndef STORM_NESTED
#define STORM_NESTED	200
#endif

/**
 * struct storm_timer - a timer that interrupts the thread that writes
 * @timer: the timer
 * @storm: what it belongs to
 * @writer: its number, from 1 on
 */
struct storm_timer {
	struct hrtimer timer;
	struct storm *storm;
	unsigned int writer;
};

/**
 * struct storm - writers that interrupt each other, and a reader
 * @write: writes; @writer is 0 for the thread, and the timer's number in its interrupt
 * @end: called once by the thread that writes, when no timer interrupts it any more
 * @read: reads all that is there; called by the reader until @stop, and once more
 * @timers: what interrupts the thread
 * @inside: the thread is in the middle of a write
 * @nested: number of interrupts while @inside was set
 * @stop: request to the reader to read the rest and to end
 */
struct storm {
	void (*write)(struct storm *storm, unsigned int writer);
	void (*end)(struct storm *storm);
	void (*read)(struct storm *storm);
	struct storm_timer timers[STORM_TIMERS];
	bool inside;
	unsigned int nested;
	bool stop;
};

void storm_run(struct kunit *test, struct storm *storm);

#endif /* STORM_H */
