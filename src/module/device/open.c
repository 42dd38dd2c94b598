// SPDX-License-Identifier: GPL-2.0
/*
 * Making files: a file with an event of its own, one more event for the file of
 * a leader, or a file attached to an existing event.
 */
#include <linux/anon_inodes.h>
#include <linux/cpumask.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "life/life.h"
#include "builder/builder.h"
#include "event/event.h"
#include "device/file.h"
#include "record/output.h"
#include "set/page.h"
#include "record/recorder.h"

/*
 * Gives a sibling two attributes of its leader: the sibling is pinned if the
 * leader is, and waits for exec() if the leader does and it is to be enabled.
 */
void tally_file_follow(struct tally_file *leader, struct perf_event_attr *attr,
		       struct tally_file_how *how)
{
	struct tally_event *ev = leader->ev;

	if (ev->attr.pinned && !attr->pinned) {
		attr->pinned = 1;
		how->follows = true;
	}
	if (how->wanted && !attr->enable_on_exec && tally_event_waits(ev)) {
		attr->enable_on_exec = 1;
		how->awaits = true;
	}
}

/* In a kernel without tracepoints, the end of a task's event wakes no poller. */
static int watch(struct tally_file *f, struct tally_event *ev)
{
	struct task_struct *task = ev->counter->target.task;
	int err;

	if (!task)
		return 0;
	err = tally_task_exit_watch(&f->exit, task, &ev->attr, tally_quota_account(&f->charge));
	if (!err && tally_event_ended(ev))
		tally_task_exit_left(&f->exit);
	return err == -EOPNOTSUPP ? 0 : err;
}

/* Checks perf's rules for groups, and those of sets. Called with the leader's set locked. */
static int check_leader(const struct tally_file *leader, struct tally_event *ev,
			const struct tally_file_how *how, struct tally_builder *b)
{
	struct tally_event *first = leader->ev;

	b->stage = TALLY_STAGE_TARGET;
	if (leader->set != &leader->own)
		return tally_bad_in(b, TALLY_FIELD_GROUP_FD, -EINVAL,
				    "group_fd is not a leader: it is in a group itself");
	if (!tally_target_is_same(&first->counter->target, &ev->counter->target))
		return tally_bad_in(b, TALLY_FIELD_GROUP_FD, -EINVAL,
				    "the leader counts on another task, cgroup or cpu");
	if (tally_output_clock(first) != tally_output_clock(ev))
		return tally_bad_bit(b, TALLY_BIT_USE_CLOCKID, -EINVAL,
				     "the clock must be the same for all events of a group");
	if (tally_event_state(first) == TALLY_STATE_EXITED)
		return tally_bad_in(b, TALLY_FIELD_GROUP_FD, -ENODEV,
				    "the leader's task has exited");
	if ((ev->attr.pinned && !how->follows) || ev->attr.exclusive)
		return tally_bad_bit(b, ev->attr.pinned ? TALLY_BIT_PINNED :
							  TALLY_BIT_EXCLUSIVE,
				     -EINVAL, "only a leader can be pinned or exclusive");
	/* Before Linux 6.2, perf does not know that a module's software events need no PMU. */
	if (first->attr.exclusive && !ev->counter->leader &&
	    !(tally_task_has_one_context() && tally_attr_is_software(&ev->attr)))
		return tally_bad_in(b, TALLY_FIELD_GROUP_FD, -EOPNOTSUPP,
				    "an exclusive leader would keep this sibling off the PMU");
	if (ev->attr.enable_on_exec && !how->awaits && !tally_event_waits(first))
		return tally_bad_bit(b, TALLY_BIT_ENABLE_ON_EXEC, -EOPNOTSUPP,
				     "a sibling can wait for exec() only if its leader waits");
	return 0;
}

/* Called with the set locked. The event counts from now on, if it is wanted. */
static int join(struct tally_set *set, struct tally_event *ev,
		const struct tally_file_how *how, struct tally_builder *b)
{
	bool staggered = set->staggered;
	int err;

	ev->awaits = how->awaits;
	err = tally_group_join(set, ev, how->wanted);
	if (err == -E2BIG)
		return tally_bad_in(b, TALLY_FIELD_GROUP_FD, err,
				    "a group has at most %d events", TALLY_SET_MOST);
	if (err)
		return tally_builder_failed(b, err, -1);
	tally_group_update(set);
	/* The exec() of the leader came before the event had joined. */
	if (how->awaits && !tally_event_waits(set->members[0]))
		tally_group_enable(set, tally_group_bit(set, ev));
	/* With a disabled leader, only the build has tried the event for TALLY_OPEN_REQUIRE. */
	if (!how->require || !(set->on & set->wanted & tally_group_bit(set, ev)) ||
	    tally_event_counts(ev))
		return 0;
	b->stage = TALLY_STAGE_PERF;
	err = tally_build_busy(b, ev);
	tally_group_leave(set, ev);
	set->staggered = staggered;
	return err;
}

/*
 * Moves the event from the set of its file @f to the leader's. Without a file,
 * @f is NULL, and the event is in no set.
 */
static int join_leader(struct tally_file *f, struct tally_event *ev,
		       struct tally_file *leader, const struct tally_file_how *how,
		       struct tally_builder *b)
{
	struct tally_set *set;
	int err;

	if (f) {
		mutex_lock(&f->own.lock);
		tally_group_leave(&f->own, ev);
		/* The page of the file shows its own event in any set. */
		mutex_lock(&f->mapping.lock);
		tally_mapping_show(&f->mapping, &f->ev, 1);
		mutex_unlock(&f->mapping.lock);
		mutex_unlock(&f->own.lock);
	}
	set = tally_file_lock(leader);
	err = check_leader(leader, ev, how, b);
	if (!err)
		err = join(set, ev, how, b);
	if (!err && f) {
		refcount_inc(&set->refs);
		f->joined = set;
		WRITE_ONCE(f->set, set);
	}
	mutex_unlock(&set->lock);
	if (err && f) {
		mutex_lock(&f->own.lock);
		tally_group_join(&f->own, ev, false);
		mutex_unlock(&f->own.lock);
	}
	return err;
}

/* PERF_EVENT_IOC_MODIFY_ATTRIBUTES compares with the attributes of a breakpoint. */
static int keep_given(struct tally_file *f, const struct perf_event_attr *given)
{
	if (given->type != PERF_TYPE_BREAKPOINT)
		return 0;
	f->given = kmemdup(given, sizeof(*given), GFP_KERNEL_ACCOUNT);
	return f->given ? 0 : -ENOMEM;
}

/* Puts the event into the own set of the file. If @wanted, it counts from now on. */
static int join_own(struct tally_file *f, struct tally_event *ev, bool wanted,
		    bool require, struct tally_builder *b)
{
	struct tally_set *set = &f->own;
	int err = 0;

	f->set = set;
	f->ev = ev;
	/* An event that waits for exec() may overflow already, and its callback use the file. */
	smp_store_release(&ev->file, f); /* tally_file_overflow() */
	if (ev->output)
		smp_store_release(&ev->output->signal, &f->signal); /* tally_record_task_event() */
	mutex_lock(&set->lock);
	/* tally_group_join() cannot fail for the first member. */
	tally_group_join(set, ev, wanted);
	/* An event that waits for exec() is on already. An update would turn it off. */
	if (wanted)
		tally_group_update(set);
	if (wanted && require && !tally_event_counts(ev)) {
		b->stage = TALLY_STAGE_PERF;
		err = tally_build_busy(b, ev);
	}
	mutex_unlock(&set->lock);
	return err;
}

/* Writes the id of the event to the program. */
static int write_id(u64 id, const struct tally_file_how *how, struct tally_builder *b)
{
	if (!put_user(id, how->id_at))
		return 0;
	b->stage = TALLY_STAGE_REQUEST;
	return tally_bad_in(b, TALLY_FIELD_ID, -EFAULT, "the id cannot be written");
}

/* Returns a new descriptor for the file, or ends the file and returns an error. */
static int install(struct tally_file *f, int flags, struct tally_builder *b)
{
	int fd = anon_inode_getfd("[tally]", &tally_file_ops, f, O_RDWR | flags);

	if (fd >= 0)
		return fd;
	tally_file_end(f);
	b->stage = TALLY_STAGE_FILE;
	return tally_bad(b, fd, "no file can be opened");
}

static struct tally_file *file_for(const struct tally_event *ev,
				   const struct tally_file_how *how,
				   struct tally_account *account)
{
	struct tally_file *f = tally_file_alloc(how->read_format, false);

	if (!f)
		return NULL;
	tally_mapping_init(&f->mapping, how->interval, account);
	tally_group_init(&f->own, ev, &f->mapping);
	if (!keep_given(f, how->given))
		return f;
	tally_file_put(&f->own);
	return NULL;
}

/**
 * tally_file_new - make a file for an event
 * @s: session of the file
 * @ev: the event, disabled or waiting for exec(). The file owns it; after an
 *	error it is destroyed
 * @leader: file of the leader whose group the event joins; NULL for none
 * @charge: charge for the event and the file; taken over, and given back after an error
 * @how: properties of the file
 * @b: receives the error message
 *
 * Context: Process context, may sleep.
 * Return: a descriptor; or E2BIG, EBUSY, EDQUOT, EFAULT, EINVAL, EMFILE,
 * ENFILE, ENODEV, ENOMEM, EOPNOTSUPP.
 */
int tally_file_new(struct tally_session *s, struct tally_event *ev,
		   struct tally_file *leader, struct tally_charge *charge,
		   const struct tally_file_how *how, struct tally_builder *b)
{
	struct tally_file *f = file_for(ev, how, tally_quota_account(charge));
	bool wanted = how->wanted && !leader;
	int err;

	if (!f) {
		tally_event_release(ev);
		tally_quota_uncharge(charge);
		return tally_builder_failed(b, -ENOMEM, -1);
	}
	f->charge = *charge;
	err = join_own(f, ev, wanted, how->require, b);
	if (!err && how->output) {
		err = tally_output_set(ev, &f->wait, how->output->ev);
		if (err)
			tally_bad_in(b, TALLY_FIELD_GROUP_FD, err,
				     "group_fd has no ring that this event can write to");
	}
	if (!err) {
		err = watch(f, ev);
		if (err)
			tally_builder_failed(b, err, -1);
	}
	if (!err)
		err = write_id(ev->id, how, b);
	if (!err && leader)
		err = join_leader(f, ev, leader, how, b);
	if (err) {
		tally_file_end(f);
		return err;
	}
	tally_session_add(s, f);
	return install(f, how->flags, b);
}

/**
 * tally_file_add - add an event without a file of its own to the file of a leader
 * @ev: the event, as for tally_file_new()
 * @leader: the file, which is charged for the event
 * @how: properties of the event, as for tally_file_new()
 * @b: receives the error message
 *
 * Context: Process context, may sleep.
 * Return: 0; E2BIG, EBUSY, EFAULT, EINVAL, ENODEV, ENOMEM, EOPNOTSUPP.
 */
int tally_file_add(struct tally_event *ev, struct tally_file *leader,
		   const struct tally_file_how *how, struct tally_builder *b)
{
	int err = tally_output_follow(ev, leader->ev);

	if (err == -EINVAL)
		tally_bad_in(b, TALLY_FIELD_GROUP_FD, err,
			     "the leader's records have another clock or direction");
	else if (err)
		tally_builder_failed(b, err, -1);
	else
		err = write_id(ev->id, how, b) ?: join_leader(NULL, ev, leader, how, b);
	if (err)
		tally_event_release(ev);
	return err;
}

/*
 * Without CAP_PERFMON, programs with access to the device may read published
 * counts of a whole CPU and of their own process, for hardware, software and
 * cache events. Other types may count a single place in the kernel. To see
 * another task, a program needs more rights in perf, and a cgroup may have one
 * task only. Inherited events are not published.
 */
static int may_read(const struct tally_event *ev)
{
	const struct tally_target *target = &ev->counter->target;

	if (ev->attr.inherit || target->css ||
	    (target->task && !same_thread_group(target->task, current)))
		return -EACCES;
	switch (ev->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_HW_CACHE:
		return 0;
	default:
		return -EACCES;
	}
}

/* A generated name must not be guessed: it says what the event counts, or another of its set. */
static int may_find(const struct tally_event *ev)
{
	int err = may_read(ev);

	return ev->name_hidden || (err == -EACCES && !ev->named) ? -ENOENT : err;
}

static void show_attached(struct tally_file *f)
{
	struct tally_totals base;

	tally_attachment_base(&f->at, &base);
	tally_mapping_rebase(&f->mapping, &base);
	mutex_lock(&f->mapping.lock);
	tally_mapping_show(&f->mapping, &f->at_event, 1);
	mutex_unlock(&f->mapping.lock);
}

static int begin_attached(struct tally_file *f)
{
	int err = 0;

	mutex_lock(&f->at.lock);
	if (f->at.ev) {
		/* Samples may hold addresses of the kernel. */
		f->at_ring = tally_recorder_is_shared(f->at.ev) && !f->at.unprivileged;
		f->at_event = f->at.ev;
		if (f->at.unprivileged)
			err = tally_mapping_publish(&f->mapping, &f->at_event);
		else
			show_attached(f);
		if (!err)
			err = watch(f, f->at.ev);
	}
	mutex_unlock(&f->at.lock);
	return err;
}

/**
 * tally_file_attach - make a file that reads an event of another owner
 * @id: id of the event; 0 to find it by @name
 * @name: name of the event
 * @charge: charge for the file, as for tally_file_new()
 * @how: properties of the file
 * @b: receives the error message
 *
 * Context: Process context, may sleep.
 * Return: a descriptor; or ENOENT, EACCES, EBUSY, EDQUOT, EMFILE, ENFILE,
 * ENOMEM; EOPNOTSUPP without CAP_PERFMON for an event that only perf reads.
 */
int tally_file_attach(u64 id, const char *name, struct tally_charge *charge,
		      const struct tally_file_how *how, struct tally_builder *b)
{
	struct tally_file *f = tally_file_alloc(how->read_format, true);
	int (*may)(const struct tally_event *ev) = NULL;
	int err;

	if (!f) {
		b->stage = TALLY_STAGE_FILE;
		tally_quota_uncharge(charge);
		return tally_builder_failed(b, -ENOMEM, -1);
	}
	f->at.unprivileged = !tally_perfmon_capable();
	f->at.total = how->total;
	tally_mapping_init(&f->mapping, how->interval, tally_quota_account(charge));
	/* A file that only sees copies knows what was counted since the first one. */
	if (f->at.unprivileged)
		may = id ? may_read : may_find;
	err = f->at.unprivileged && f->at.total ? -EACCES : tally_attach(&f->at, id, name, may);
	if (err) {
		tally_quota_uncharge(charge);
		tally_mapping_end(&f->mapping);
		kfree(f);
		b->stage = err == -EACCES ? TALLY_STAGE_PERMISSION : TALLY_STAGE_TARGET;
		return tally_bad_in(b, id ? TALLY_FIELD_ID : TALLY_FIELD_NAME, err,
				    err == -EACCES ? "reading this event needs CAP_PERFMON" :
				    err == -EBUSY ? "a program keeps perf from its task's events" :
				    err == -ENOENT ? "no such event" : "out of memory");
	}
	f->charge = *charge;
	/* Before the event was known, a page for each CPU was charged. */
	if (f->at.nr_slots == 1)
		tally_quota_sub(&f->charge, 0, PAGE_SIZE * (num_possible_cpus() - 1));
	err = begin_attached(f);
	if (err) {
		b->stage = err == -EOPNOTSUPP ? TALLY_STAGE_PERMISSION : TALLY_STAGE_FILE;
		if (err == -EOPNOTSUPP)
			tally_bad_in(b, TALLY_FIELD_NONE, err,
				     "only perf reads this event, which takes CAP_PERFMON");
		tally_builder_failed(b, err, -1);
		tally_file_end(f);
		return err;
	}
	return install(f, how->flags, b);
}
