/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_GROUP_H
#define TALLY_GROUP_H

#include <linux/types.h>

struct list_head;
struct tally_budget;
struct tally_event;
struct tally_set;

int tally_group_init(struct tally_set *set, const struct tally_event *ev, u64 interval,
		     struct tally_budget *budget);
bool tally_group_put(struct tally_set *set);
void tally_group_strip(struct tally_set *set);
int tally_group_join(struct tally_set *set, struct tally_event *ev, bool wanted);
bool tally_group_leave(struct tally_set *set, struct tally_event *ev);
u64 tally_group_bit(const struct tally_set *set, const struct tally_event *ev);
void tally_group_update(struct tally_set *set);
void tally_group_enable(struct tally_set *set, u64 members);
void tally_group_disable(struct tally_set *set, u64 members);

#endif /* TALLY_GROUP_H */
