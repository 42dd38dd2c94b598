// SPDX-License-Identifier: GPL-2.0
/*
 * The file of an event: its session, its memory, its signals and its end.
 *
 * An event that was made with a file is a member of a group: of the file's own,
 * or of a leader's, until one of the two files is closed. A file may also be
 * attached to an event of another owner, and only reads that.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <uapi/linux/tally.h>
#include "life/life.h"
#include "builder/builder.h"
#include "event/event.h"
#include "device/file.h"
#include "record/output.h"
#include "event/overflow.h"
#include "set/page.h"
#include "event/registry.h"

/* ---- members of a group ---- */

static void refresh_pages(struct tally_set *set)
{
	unsigned int i;

	lockdep_assert_held(&set->lock);
	for (i = 0; i < set->nr; i++)
		if (set->members[i]->file)
			tally_mapping_refresh(&set->members[i]->file->mapping);
}

/*
 * Enables, disables or resets members, as perf's ioctl @cmd says, and writes
 * their pages anew. Called with the set locked.
 */
void tally_file_control(struct tally_set *set, u64 members, unsigned int cmd)
{
	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		tally_group_enable(set, members);
		break;
	case PERF_EVENT_IOC_DISABLE:
		tally_group_disable(set, members);
		break;
	case PERF_EVENT_IOC_RESET:
		tally_set_zero(set, members);
	}
	refresh_pages(set);
}

/* ---- sessions ---- */

struct tally_session *tally_session_new(void)
{
	struct tally_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	struct tally_builder b;
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	tally_builder_clear(&b, THIS_MODULE);
	err = tally_quota_charge(&s->charge, 0, 0, sizeof(*s), &b);
	if (err) {
		kfree(s);
		return ERR_PTR(err);
	}
	refcount_set(&s->refs, 1);
	mutex_init(&s->lock);
	INIT_LIST_HEAD(&s->files);
	return s;
}

/* Controls the event of a file and, if that is a leader, its members without a file. */
static void control_with_members(struct tally_file *f, unsigned int cmd)
{
	struct tally_set *set = tally_file_lock(f);
	u64 members = tally_group_bit(set, f->ev);
	unsigned int i;

	for (i = 1; members & 1 && i < set->nr; i++)
		if (!set->members[i]->file)
			members |= BIT_ULL(i);
	tally_file_control(set, members, cmd);
	mutex_unlock(&set->lock);
}

void tally_session_put(struct tally_session *s)
{
	if (refcount_dec_and_test(&s->refs)) {
		tally_quota_uncharge(&s->charge);
		mutex_destroy(&s->lock);
		kfree(s);
	}
}

void tally_session_enable(struct tally_session *s, bool enable)
{
	struct tally_file *f;

	mutex_lock(&s->lock);
	list_for_each_entry(f, &s->files, node)
		control_with_members(f, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
	mutex_unlock(&s->lock);
}

void tally_session_add(struct tally_session *s, struct tally_file *f)
{
	refcount_inc(&s->refs);
	mutex_lock(&s->lock);
	f->session = s;
	list_add(&f->node, &s->files);
	mutex_unlock(&s->lock);
}

/* ---- poll and signals ---- */

/* Called with @f->at locked if the file is attached. */
static bool has_ended(struct tally_file *f)
{
	struct tally_event *ev = f->ev ?: f->at.ev;

	return !ev || (tally_event_ended(ev) && tally_task_exit_seen(&f->exit));
}

bool tally_file_has_ended(struct tally_file *f)
{
	bool ended;

	if (f->ev)
		return has_ended(f);
	mutex_lock(&f->at.lock);
	ended = has_ended(f);
	mutex_unlock(&f->at.lock);
	return ended;
}

/**
 * tally_file_overflow - the overflow handler of an event that was made with a file
 * @ev: the event; it may have no file yet, or none of its own
 * @sample: unused
 * @context: unused
 *
 * The handler only sends SIGIO, if the program asked for it.
 *
 * Context: Any context, NMI included.
 */
void tally_file_overflow(struct tally_event *ev, const struct tally_sample *sample,
			 void *context)
{
	struct tally_file *f = READ_ONCE(ev->file);

	if (!f || !READ_ONCE(f->fasync))
		return;
	if (tally_overflow_at_limit(ev->overflow))
		WRITE_ONCE(f->last_signal, true);
	tally_kick(&f->signal);
}

/* Runs in hard interrupt, on PREEMPT_RT in a thread: signals take a spinlock_t. */
static void signal_readers(struct tally_kick *kick)
{
	struct tally_file *f = container_of(kick, struct tally_file, signal);

	kill_fasync(&f->fasync, SIGIO, xchg(&f->last_signal, false) ? POLL_HUP : POLL_IN);
}

static void report_end(struct tally_file *f)
{
	wake_up_interruptible_poll(&f->wait, EPOLLHUP);
	kill_fasync(&f->fasync, SIGIO, POLL_HUP);
}

static bool task_ended(struct tally_task_exit *w)
{
	struct tally_file *f = container_of(w, struct tally_file, exit);
	bool ended;

	/* The holder of at.lock may wait for perf for any time, but no other file must. */
	if (!f->ev && !mutex_trylock(&f->at.lock))
		return false;
	ended = has_ended(f);
	if (!f->ev)
		mutex_unlock(&f->at.lock);
	if (ended)
		report_end(f);
	return ended;
}

/* The owner has released the event. The page keeps the last count. */
static void event_gone(struct tally_attachment *a)
{
	struct tally_file *f = container_of(a, struct tally_file, at);
	struct tally_count count;
	bool there;

	if (!a->unprivileged)
		tally_attachment_read(a, &count, &there);
	tally_mapping_finish(&f->mapping, a->unprivileged ? NULL : &count);
	report_end(f);
}

/* ---- its memory ---- */

/* An attached file has no set of its own. */
struct tally_file *tally_file_alloc(u64 read_format, bool attached)
{
	struct tally_file *f = kzalloc(attached ? offsetof(struct tally_file, own) :
						  struct_size(f, own.few, TALLY_SET_FEW),
				       GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->read_format = read_format;
	init_waitqueue_head(&f->wait);
	f->at.gone = event_gone;
	f->exit.ended = task_ended;
	tally_kick_init(&f->signal, signal_readers, false);
	return f;
}

/* Size of a file with an event of its own, in bytes. */
size_t tally_file_memory(void)
{
	return sizeof(struct tally_file) +
	       (TALLY_SET_FEW + TALLY_SET_MOST) * sizeof(struct tally_event *);
}

/* ---- its end ---- */

/* The leader's file is closed, so the event returns to the set of its own file. */
static void move_home(struct tally_set *from, struct tally_event *ev)
{
	struct tally_file *f = ev->file;
	bool wanted = tally_group_leave(from, ev);

	mutex_lock_nested(&f->own.lock, SINGLE_DEPTH_NESTING);
	/* tally_group_join() cannot fail for the first member. */
	tally_group_join(&f->own, ev, wanted);
	tally_group_update(&f->own);
	WRITE_ONCE(f->set, &f->own);
	mutex_unlock(&f->own.lock);
}

static void detach(struct tally_set *set, struct tally_event *ev,
		   struct list_head *doomed)
{
	tally_group_leave(set, ev);
	tally_registry_del(ev);
	list_add_tail(&ev->node, doomed);
}

/* Drops a reference to the own set of a file. The last one frees the file. */
void tally_file_put(struct tally_set *set)
{
	struct tally_file *f = container_of(set, struct tally_file, own);

	if (!tally_group_put(set))
		return;
	tally_mapping_end(&f->mapping);
	kfree_rcu(f, rcu);
}

/* When a leader goes, siblings with a file stay, and those without go with it. */
static void release_event(struct tally_file *f)
{
	struct tally_set *set = tally_file_lock(f);
	bool signals = f->ev->overflow || f->ev->output;
	LIST_HEAD(doomed);

	while (set == &f->own && set->nr > 1) {
		if (set->members[1]->file)
			move_home(set, set->members[1]);
		else
			detach(set, set->members[1], &doomed);
	}
	detach(set, f->ev, &doomed);
	/* Files that had joined still refer to the set. Only its struct is kept for them. */
	if (set == &f->own && refcount_read(&set->refs) > 1)
		tally_mapping_free_page(&f->mapping);
	mutex_unlock(&set->lock);
	tally_events_destroy(&doomed);
	/* Nothing kicks any more. On PREEMPT_RT tally_kick_sync() may wait for a grace period. */
	if (signals)
		tally_kick_sync(&f->signal);
	if (f->joined)
		tally_file_put(f->joined);
}

static void release_attachment(struct tally_file *f)
{
	const struct tally_count unseen = { };

	/*
	 * Once @f is detached, the owner may free the event that the timers of the page read.
	 * Nobody sees the page any more, so the event is not read for it.
	 */
	tally_mapping_finish(&f->mapping, &unseen);
	tally_detach(&f->at);
	tally_mapping_end(&f->mapping);
}

void tally_file_end(struct tally_file *f)
{
	if (f->session) {
		mutex_lock(&f->session->lock);
		list_del(&f->node);
		mutex_unlock(&f->session->lock);
		tally_session_put(f->session);
	}
	tally_task_exit_unwatch(&f->exit);
	if (f->ev)
		release_event(f);
	else
		release_attachment(f);
	tally_quota_uncharge(&f->charge);
	kfree(f->given);
	if (f->ev)
		tally_file_put(&f->own);
	else
		kfree_rcu(f, rcu);
}
