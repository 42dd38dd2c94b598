/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ATTACH_H
#define TALLY_ATTACH_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <tally/tally.h>

struct tally_event;
struct tally_totals;

/**
 * struct tally_attachment - reader of an event that has another owner
 * @lock: lock of @ev, @base, @last, @reported and @state; taken outside tally_counter::lock
 * @node: link in tally_event::attachments; guarded by the lock of the registry
 * @ev: the event; NULL once its owner has released it, a grace period before an
 *	event that has a ring is freed
 * @id: id of the event
 * @nr_slots: number of slots of the event's counter
 * @cpu: CPU that the event counts on; -1 for all CPUs, or for a task on any CPU
 * @on_all_cpus: the event counts on all CPUs
 * @gauge: the event's value may fall
 * @ending: the event is being released, and tally_detach() waits
 * @unprivileged: the reader must not interrupt a CPU. The counts below are not used: the reader has
 *	a page that the event is published in (set/page.h). Set before tally_attach().
 * @total: the reader sees all that the event has counted since it was made. Set
 *	before tally_attach().
 * @base: count of each slot that the reader does not see: the count when the reader attached, or 0
 *	with @total; its value is that of the reader's last reset, if there was one
 * @last: count of each slot when the event was released; before that, at the reader's last reset
 * @reported: largest value that tally_attachment_read() has returned since the
 *	last reset, so that no later value is smaller; unused for a @gauge
 * @state: state of the event when it was released
 * @gone: called in process context, without @lock, when the event is released and not yet freed
 */
struct tally_attachment {
	struct mutex lock; /* ev, base, last */
	struct list_head node;
	struct tally_event *ev;
	u64 id;
	unsigned int nr_slots;
	int cpu;
	bool on_all_cpus;
	bool gauge;
	bool ending;
	bool unprivileged;
	bool total;
	struct tally_count *base;
	struct tally_count *last;
	u64 reported;
	enum tally_state state;
	void (*gone)(struct tally_attachment *a);
};

int tally_attach(struct tally_attachment *a, u64 id, const char *name,
		 int (*may)(const struct tally_event *ev));
void tally_detach(struct tally_attachment *a);
int tally_attachment_read(struct tally_attachment *a, struct tally_count *count, bool *there);
int tally_attachment_read_cpu(struct tally_attachment *a, int cpu,
			      struct tally_count *count, bool *there);
void tally_attachment_base(struct tally_attachment *a, struct tally_totals *base);
int tally_attachment_reset(struct tally_attachment *a, struct tally_totals *base);
void tally_attachments_end(struct tally_event *ev);

#endif /* TALLY_ATTACH_H */
