/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ATTACH_H
#define TALLY_ATTACH_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <tally/tally.h>

struct tally_event;
struct tally_totals;

/**
 * struct tally_attachment - somebody who reads another one's event
 * @lock: guards what follows. Outside tally_counter::lock.
 * @node: in the event's list of them; guarded by the lock of all lists
 * @ev: the event; NULL when its owner has released it, a grace period before an event
 *	that has a ring is freed
 * @id: the event's
 * @nr_slots: of its counter
 * @cpu: the CPU that it counts on; -1 for all, or any
 * @on_all_cpus: it counts on all
 * @base: what each slot had counted when it was attached to, or reset
 * @last: what each had counted when it was released
 * @told: the largest value that was told
 * @state: what it was doing then
 * @gone: called then, in process context, before @ev goes
 */
struct tally_attachment {
	struct mutex lock; /* ev, base, last */
	struct list_head node;
	struct tally_event *ev;
	u64 id;
	unsigned int nr_slots;
	int cpu;
	bool on_all_cpus;
	struct tally_count *base;
	struct tally_count *last;
	u64 told;
	enum tally_state state;
	void (*gone)(struct tally_attachment *a);
};

int tally_attach(struct tally_attachment *a, u64 id, const char *name,
		 int (*may)(const struct tally_event *ev));
void tally_detach(struct tally_attachment *a);
bool tally_attachment_read(struct tally_attachment *a, struct tally_count *count);
int tally_attachment_read_cpu(struct tally_attachment *a, int cpu,
			      struct tally_count *count, bool *there);
void tally_attachment_base(struct tally_attachment *a, struct tally_totals *base);
void tally_attachment_reset(struct tally_attachment *a, struct tally_totals *base);
void tally_attachments_end(struct tally_event *ev);

#endif /* TALLY_ATTACH_H */
