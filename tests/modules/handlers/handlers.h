/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HANDLERS_H
#define HANDLERS_H

#include <linux/atomic.h>
#include <linux/hw_breakpoint.h>
#include <tally/tally.h>
#include "tap.h"

/* More CPUs than a guest has. */
#define MOST_CPUS 64

/* Observations of the handlers of one event, for each of its three handlers. */
struct seen {
	atomic_t calls[3];
	atomic_t wrong_context[3];
	atomic_t wrong_sample[3];
	atomic_t nmi;
	atomic_t depth_exceeded;
	atomic_t told_missed;
	u64 last_sequence[3][MOST_CPUS];
	u64 addr;
	/* Function that the handler @act_in calls, once for each call; NULL for none. */
	void (*act)(struct tally_event *ev, struct seen *seen);
	int act_in;
	int act_result;
};

enum { DIRECT, IRQ, WORK };

extern struct tap tap;
extern bool has_pmu, has_nmi;
extern unsigned long word, other_word;

/* Gives the builder the handlers of @which, a mask of their numbers, with @seen. */
void hand_over(struct tally_builder *b, unsigned int which, struct seen *seen);
struct seen *new_seen(void);
bool was_built(struct tally_event *ev, const struct tally_builder *b,
	       const char *what);
bool wait_until(atomic_t *value, int want);
bool quiet(struct tally_event *ev, struct seen *seen, unsigned int which);
void expect_clean(struct seen *seen, const char *what);
void write_words(unsigned int n);
void probed(void);
void call_probed(unsigned int n);
struct tally_what probe(void);

void test_context(void);
void test_limits(void);
void test_refusals(void);

#endif /* HANDLERS_H */
