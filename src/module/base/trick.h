/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TRICK_H
#define TALLY_TRICK_H

#include <linux/compiler.h>
#include <linux/time64.h>
#include <linux/types.h>

struct perf_event;
struct seq_file;

/*
 * Tricks rely on how perf works inside. They stand in the order of the file
 * `tricks`; tally-debugfs(5) says what each one is for.
 */
enum tally_trick {
	TALLY_TRICK_TIMES,
	TALLY_TRICK_TASK_CLOCK,
	TALLY_TRICK_REGISTER,
	TALLY_TRICK_RELOAD,
	TALLY_TRICK_HAND_OVER,
	TALLY_TRICK_GROUP,
	TALLY_TRICK_GROUP_SOFTWARE,
	TALLY_TRICK_CGROUP,
	TALLY_TRICK_CGROUP_DEPTH,
	TALLY_TRICK_CGROUP_CLOCK,
	TALLY_TRICKS
};

/* A clock of the kernel may stand for a tick, but not for so many nanoseconds of another clock. */
#define TALLY_CLOCK_STANDS	(20 * NSEC_PER_MSEC)

int tally_trick_try(enum tally_trick trick, int (*prove)(void *data), void *data);
bool tally_trick_works(enum tally_trick trick);
bool tally_trick_is_forbidden(enum tally_trick trick);
bool tally_trick_is_off(enum tally_trick trick);
bool tally_trick_note(enum tally_trick trick, bool works, u64 ns);
const char *tally_trick_sentence(enum tally_trick trick);
struct perf_event *tally_trick_event(u64 config, u64 period, int cpu);
void tally_tricks_show(struct seq_file *m);

/*
 * Returns 0; in a mutant of the trick, the wrong amount that the trick adds to its result, and that
 * its proof has to find. Only test builds have mutants: make TALLY_MUTANTS=y.
 */
#ifdef TALLY_MUTANTS
extern int tally_mutated;

static __always_inline u64 tally_mutant(enum tally_trick trick)
{
	return READ_ONCE(tally_mutated) == trick ? NSEC_PER_SEC : 0;
}
#else
static inline u64 tally_mutant(enum tally_trick trick)
{
	return 0;
}
#endif

#endif /* TALLY_TRICK_H */
