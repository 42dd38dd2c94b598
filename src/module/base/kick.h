/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_KICK_H
#define TALLY_KICK_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/types.h>

/**
 * struct tally_kick - a work that is done in interrupt; a brake may delay it, see kick.c
 * @run: does the work
 * @irq_work: calls @run
 * @hard: @run is called in hard interrupt also on PREEMPT_RT
 * @held: KICK_* flags while a CPU's brake holds the work back; else 0
 * @node: link in the list of that brake
 */
struct tally_kick {
	void (*run)(struct tally_kick *kick);
	struct irq_work irq_work;
	bool hard;
	unsigned int held;
	struct llist_node node;
};

void tally_kick_init(struct tally_kick *kick, void (*run_it)(struct tally_kick *kick),
		     bool hard);
void tally_kick(struct tally_kick *kick);
void tally_kick_again(struct tally_kick *kick);
void tally_kick_sync(struct tally_kick *kick);
void tally_brakes_init(void);
void tally_brakes_exit(void);

#endif /* TALLY_KICK_H */
