/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_KICK_H
#define TALLY_KICK_H

#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/workqueue.h>

/**
 * struct tally_kick - something that is to be done soon, in interrupt
 * @run: what; several times in a row are one
 * @irq_work: does it
 * @later: does it in the next tick
 * @deferred: bit 0: it is among those that wait for @later to be queued
 * @node: there
 */
struct tally_kick {
	void (*run)(struct tally_kick *kick);
	struct irq_work irq_work;
	struct delayed_work later;
	unsigned long deferred;
	struct llist_node node;
};

void tally_kick_init(struct tally_kick *kick, void (*run)(struct tally_kick *kick));
void tally_kick(struct tally_kick *kick);
void tally_kick_sync(struct tally_kick *kick);

#endif /* TALLY_KICK_H */
