/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_KICK_H
#define TALLY_KICK_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/types.h>

/**
 * struct tally_kick - something that is to be done soon, in interrupt
 * @run: what; several times in a row are one
 * @irq_work: does it
 * @waits: bit 0: it is done when @later ends, and not before
 * @later: has it done after a while
 * @node: in the list of those for which that is to be started
 * @ended: when it was done last
 * @close: how often it was to be done again close behind that
 * @ending: it does not wait any more
 */
struct tally_kick {
	void (*run)(struct tally_kick *kick);
	struct irq_work irq_work;
	unsigned long waits;
	struct hrtimer later;
	struct llist_node node;
	u64 ended;
	unsigned int close;
	bool ending;
};

void tally_kick_init(struct tally_kick *kick, void (*run_it)(struct tally_kick *kick));
void tally_kick(struct tally_kick *kick);
void tally_kick_sync(struct tally_kick *kick);

#endif /* TALLY_KICK_H */
