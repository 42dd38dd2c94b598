// SPDX-License-Identifier: GPL-2.0
/*
 * Sideband records of tasks: COMM, FORK, EXIT, SWITCH and CGROUP.
 *
 * perf writes these records into its own buffers only. This file makes them
 * again, when task_events.c reports what happens to a task, from the
 * tracepoints next to which perf makes them. The records differ from perf's:
 * - Both SWITCH records are written as the switch begins: before perf stops the
 *   counters of the task that leaves and starts those of the task that comes.
 * - EXIT comes some time before or after the end of the task's events, on each kernel
 *   at another place, and SWITCH records may come in between. FORK comes just after
 *   perf's and COMM just before; a task may be switched out between the two.
 * - A child has records while the parent's event is enabled; perf asks the child's copy.
 * - When exec() takes perf's events from the task, perf also writes EXIT to the
 *   events of CPUs. tally writes it to those of the task only.
 * - The path of a cgroup is cut after 1023 bytes.
 * - CGROUP reports new cgroups. perf also reports all existing ones when its
 *   controller moves to another hierarchy.
 */
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "base/cgroup.h"
#include "event/event.h"
#include "record/output.h"
#include "record/record.h"
#include "record/task_events.h"

static void write_comm(struct tally_output *out, const struct tally_task_event *e)
{
	struct {
		u32 pid;
		u32 tid;
		char name[TASK_COMM_LEN];
	} body = {
		.pid = tally_output_pid(out, e->task),
		.tid = tally_output_tid(out, e->task),
	};

	memcpy(body.name, e->data, e->size);
	tally_record_task_event(out, e->type, e->misc, current, &body,
				offsetof(typeof(body), name) + e->size);
}

/* FORK and EXIT. In EXIT, perf has the parent's process in both ppid and ptid. */
static void write_life(struct tally_output *out, const struct tally_task_event *e)
{
	bool fork = e->type == PERF_RECORD_FORK;
	struct task_struct *parent = fork ? current : rcu_dereference(e->task->real_parent);
	const struct {
		u32 pid;
		u32 ppid;
		u32 tid;
		u32 ptid;
		u64 time; /* tally_record_task_event() fills it in */
	} body = {
		.pid = tally_output_pid(out, e->task),
		.ppid = tally_output_pid(out, parent),
		.tid = tally_output_tid(out, e->task),
		.ptid = fork ? tally_output_tid(out, parent) : tally_output_pid(out, parent),
	};

	tally_record_task_event(out, e->type, 0, current, &body, sizeof(body));
}

/* Only the listener of a whole CPU may know the other task. */
static void write_switch(struct tally_output *out, const struct tally_task_event *e)
{
	struct {
		u32 pid;
		u32 tid;
	} body;

	if (out->tasks.task) {
		tally_record_task_event(out, PERF_RECORD_SWITCH, e->misc, e->task, NULL, 0);
		return;
	}
	body.pid = tally_output_pid(out, e->other);
	body.tid = tally_output_tid(out, e->other);
	tally_record_task_event(out, PERF_RECORD_SWITCH_CPU_WIDE, e->misc, e->task,
				&body, sizeof(body));
}

/* Returns whether the event begins with an exec() that its task has not called yet. */
static bool waits_for_exec(const struct tally_event *ev)
{
	return ev->attr.enable_on_exec && tally_counter_state(ev->counter, 0) == TALLY_STATE_OFF;
}

/*
 * A record is written while the program wants the event enabled. Only waits_for_exec() looks at the
 * state of perf's event, because perf's event may end before its task does.
 */
static void write_record(struct tally_task_listener *listener, const struct tally_task_event *e)
{
	struct tally_output *out = container_of(listener, struct tally_output, tasks);
	const struct tally_event *ev = out->ev;
	struct task_struct *task = e->type == PERF_RECORD_SWITCH ? e->task : current;

	/* perf has no events on a CPU that goes offline, and a reader may not be woken. */
	if (!READ_ONCE(ev->on) || unlikely(!cpu_active(smp_processor_id())) || waits_for_exec(ev) ||
	    !tally_cgroup_has(ev->counter->target.css, task))
		return;
	switch (e->type) {
	case PERF_RECORD_COMM:
		write_comm(out, e);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		write_life(out, e);
		break;
	case PERF_RECORD_SWITCH:
		write_switch(out, e);
		break;
	case PERF_RECORD_CGROUP:
		tally_record_task_event(out, e->type, 0, current, e->data, e->size);
		break;
	}
}

/**
 * tally_task_records_kinds - find the kinds of records about tasks that an event asks for
 * @attr: the attributes of the event
 *
 * Return: a mask of TALLY_TASK_*. As in perf, records of names and of mappings
 * bring FORK and EXIT with them.
 */
unsigned int tally_task_records_kinds(const struct perf_event_attr *attr)
{
	unsigned int kinds = 0;

	if (attr->comm)
		kinds |= TALLY_TASK_COMM;
	if (attr->comm || attr->mmap || attr->mmap2 || attr->mmap_data || attr->task)
		kinds |= TALLY_TASK_LIFE;
	if (attr->context_switch)
		kinds |= TALLY_TASK_SWITCH;
	if (attr->cgroup)
		kinds |= TALLY_TASK_CGROUP;
	return kinds;
}

/**
 * tally_task_records_add - write the records of tasks that an event asks for
 * @out: the output of an event that has its counter; tally_task_events_leave() ends the records
 * @attr: the attributes of the event
 * @account: account of the user who is charged for the tasks; NULL for none
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0, also if @attr asks for none; EOPNOTSUPP in a kernel that lacks a
 * tracepoint, EDQUOT, ENOMEM.
 */
int tally_task_records_add(struct tally_output *out, const struct perf_event_attr *attr,
			   struct tally_account *account)
{
	const struct tally_target *target = &out->ev->counter->target;
	struct tally_task_listener *listener = &out->tasks;
	int err;

	listener->kinds = tally_task_records_kinds(attr);
	if (!listener->kinds)
		return 0;
	listener->task = target->task;
	listener->cpu = target->cpu;
	listener->inherit = attr->inherit;
	listener->inherit_thread = attr->inherit_thread;
	listener->remove_on_exec = attr->remove_on_exec;
	listener->notify = write_record;
	listener->account = account;
	err = tally_task_events_add(listener);
	if (err)
		listener->kinds = 0;
	return err;
}
