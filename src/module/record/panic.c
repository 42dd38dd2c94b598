// SPDX-License-Identifier: GPL-2.0
/*
 * What a panic tells of flight recorders: the last records of each ring, as lines.
 *
 *	tally: the last records of sched on cpu 1, the newest first:
 *	tally:  12.345678 cpu 1 pid 71 tid 71 (sh) ip schedule+0x5/0xb0
 *
 * All other CPUs have stopped by then, wherever they were: with a lock held, or in the
 * middle of a record. So no lock is taken, and only what was committed is looked at.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include "event/event.h"
#include "record/output.h"
#include "record/recorder.h"
#include "record/ring.h"

/* How many of each ring. */
#define LAST	16

/* Guards the list, but for the panic. */
static DEFINE_MUTEX(armed_lock);
static LIST_HEAD(armed);

/* Only one CPU panics; what is longer is cut. */
static char line[320];

/* The words of a record; 0 behind its end. */
struct words {
	const u64 *at;
	const u64 *end;
};

static u64 next(struct words *w)
{
	return w->at < w->end ? *w->at++ : 0;
}

/* Whoever has that number now: most likely the same. */
static const struct task_struct *task_of(const struct tally_output *out, u32 tid)
{
	return tid ? pid_task(find_pid_ns(tid, out->ns), PIDTYPE_PID) : NULL;
}

static int put_task(const struct tally_output *out, u64 word, char *to, size_t room)
{
	union {
		u64 word;
		u32 half[2];
	} u = { .word = word };
	const struct task_struct *task = task_of(out, u.half[1]);

	return scnprintf(to, room, " pid %u tid %u (%.*s)", u.half[0], u.half[1],
			 TASK_COMM_LEN, task ? task->comm : u.half[1] ? "?" : "idle");
}

static int put_time(u64 ns, char *to, size_t room)
{
	u32 rest;
	u64 s = div_u64_rem(ns, NSEC_PER_SEC, &rest);

	return scnprintf(to, room, "%llu.%06lu", s, rest / NSEC_PER_USEC);
}

static int put_ip(u64 ip, u16 misc, char *to, size_t room)
{
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		return scnprintf(to, room, " ip %#llx of the program", ip);
	return scnprintf(to, room, " ip %pS", (void *)(unsigned long)ip);
}

/* In the order of a line, which is not that of the words. */
static void tell_sample(const struct tally_output *out, u16 misc, struct words w)
{
	u64 type = out->type, ip = 0, tid = 0, time = 0, addr = 0, cpu = 0;
	size_t n = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		next(&w);
	if (type & PERF_SAMPLE_IP)
		ip = next(&w);
	if (type & PERF_SAMPLE_TID)
		tid = next(&w);
	if (type & PERF_SAMPLE_TIME)
		time = next(&w);
	if (type & PERF_SAMPLE_ADDR)
		addr = next(&w);
	if (type & PERF_SAMPLE_ID)
		next(&w);
	if (type & PERF_SAMPLE_STREAM_ID)
		next(&w);
	if (type & PERF_SAMPLE_CPU)
		cpu = next(&w);

	line[0] = '\0';
	if (type & PERF_SAMPLE_TIME)
		n += put_time(time, line + n, sizeof(line) - n);
	if (type & PERF_SAMPLE_CPU)
		n += scnprintf(line + n, sizeof(line) - n, " cpu %u", (u32)cpu);
	if (type & PERF_SAMPLE_TID)
		n += put_task(out, tid, line + n, sizeof(line) - n);
	if (type & PERF_SAMPLE_IP)
		n += put_ip(ip, misc, line + n, sizeof(line) - n);
	if (type & PERF_SAMPLE_ADDR)
		scnprintf(line + n, sizeof(line) - n, " addr %#llx", addr);
	pr_emerg(" %s\n", line);
}

static void tell(const struct tally_output *out, const struct perf_event_header *h,
		 unsigned int size)
{
	struct words w = {
		.at = (const u64 *)(h + 1),
		.end = (const u64 *)h + size / sizeof(u64),
	};

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		tell_sample(out, h->misc, w);
		break;
	case PERF_RECORD_LOST:
		next(&w);
		pr_emerg(" %llu were lost\n", next(&w));
		break;
	case PERF_RECORD_THROTTLE:
		pr_emerg(" it came too often, and was switched off\n");
		break;
	case PERF_RECORD_UNTHROTTLE:
		pr_emerg(" it was switched on again\n");
		break;
	default:
		pr_emerg(" a record of type %u\n", h->type);
	}
}

static void tell_ring(const struct tally_output *out, unsigned int slot,
		      const struct tally_ring *r)
{
	unsigned int n = LAST, size;
	unsigned long left;
	const void *at = tally_recorder_newest(r, &left);

	if (!tally_recorder_size(at, left))
		return;
	if (out->nr_slots > 1)
		pr_emerg("the last records of %s on cpu %u, the newest first:\n",
			 out->ev->name, slot);
	else
		pr_emerg("the last records of %s, the newest first:\n", out->ev->name);
	while (n-- && (size = tally_recorder_size(at, left))) {
		tell(out, at, size);
		at += size;
		left -= size;
	}
}

/* Under RCU. What comes in an NMI of this CPU is not to be in between. */
static int panicked(struct notifier_block *nb, unsigned long unused, void *text)
{
	struct tally_recorder *rec;
	const struct tally_ring *r;
	unsigned int i;

	list_for_each_entry_rcu(rec, &armed, node)
		tally_recorder_freeze(rec);
	list_for_each_entry_rcu(rec, &armed, node) {
		for (i = 0; i < rec->out->nr_slots; i++) {
			r = tally_recorder_ring(rec, i);
			if (r)
				tell_ring(rec->out, i, r);
		}
	}
	return NOTIFY_DONE;
}

static struct notifier_block panic_notifier = {
	.notifier_call = panicked,
};

/* Its rings are there. */
void tally_panic_add(struct tally_recorder *rec)
{
	mutex_lock(&armed_lock);
	rec->panics = true;
	list_add_tail_rcu(&rec->node, &armed);
	mutex_unlock(&armed_lock);
}

/* Of one that was added; its rings go a grace period later. */
void tally_panic_del(struct tally_recorder *rec)
{
	mutex_lock(&armed_lock);
	list_del_rcu(&rec->node);
	mutex_unlock(&armed_lock);
}

void tally_panic_init(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void tally_panic_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
}
