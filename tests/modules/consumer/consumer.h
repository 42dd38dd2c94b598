/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CONSUMER_H
#define CONSUMER_H

#include <tally/tally.h>
#include "tap.h"

extern struct tap tap;

/* A function that only the tests call; probes and breakpoints count its calls. */
void bumps(unsigned int n);
void bump(void);
void be_busy(unsigned long ticks);

/*
 * Whether this kernel refuses a probe of bump(). Without KPROBES_ON_FTRACE there is none at an
 * instruction that ftrace may patch, which on riscv64 is a function's first.
 */
static inline bool bump_is_refused(const struct tally_event *ev)
{
	return IS_ENABLED(CONFIG_RISCV) && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) &&
	       ev == ERR_PTR(-EINVAL);
}

struct tally_event *build_ok(struct tally_builder *b, const char *what);
void expect_value(struct tally_event *ev, u64 want, const char *what);

void test_calls(void);
void test_kinds(void);
void test_probes(void);
void test_targets(void);
void test_nulls(void);

#endif /* CONSUMER_H */
