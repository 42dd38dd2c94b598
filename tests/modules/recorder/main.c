// SPDX-License-Identifier: GPL-2.0
/*
 * tally_recorder: has rings, and reads them.
 *
 *	insmod tally_recorder.ko
 *	cat /sys/kernel/debug/tally_recorder/results	TAP
 *	insmod tally_recorder.ko mode=once		has a ring, or fails
 *	insmod tally_recorder.ko mode=leave		leaves one behind
 *	insmod tally_recorder.ko mode=panic		see panic.c, as for the next two
 *	insmod tally_recorder.ko mode=gone
 *	insmod tally_recorder.ko mode=share		has rings that programs may map
 *	insmod tally_recorder.ko mode=inside
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif
#include "recorder.h"
#include "kernels.h"

static char *mode = "";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "once, leave, share, panic, gone, inside; or nothing for the tests");

struct tap tap;
unsigned long word;
void *buf;

/*
 * The probe is behind the function's beginning. A probe at the beginning would use
 * ftrace, which writes an int3 for a moment when it patches the code. An emulated CPU
 * may run that int3 after it is gone, which kprobes on ftrace do not survive.
 */
#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE)
#define BEGINNING	(ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE)
#else
#define BEGINNING	0
#endif

noinline void probed(void)
{
	asm volatile("nop");
}

void call_probed(unsigned int n)
{
	while (n--)
		probed();
}

struct tally_what probe(void)
{
	char *function = (char *)probed;

	/* Without this, objtool takes the sum for the address of a function. */
	OPTIMIZER_HIDE_VAR(function);
	return TALLY_KPROBE(function + BEGINNING);
}

/*
 * The function that makes the last field of a record. At this point the record is
 * reserved, and not committed.
 */
struct tally_what inside_probe(void)
{
	return TALLY_KPROBE_SYMBOL("tally_addr_phys", BEGINNING);
}

static void call_here(void *n)
{
	call_probed((unsigned long)n);
}

void call_probed_on(int cpu, unsigned int n)
{
	smp_call_function_single(cpu, call_here, (void *)(unsigned long)n, true);
}

struct tally_event *build(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what)) {
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
		return NULL;
	}
	return ev;
}

static struct tally_overflow_stats stats_of(struct tally_event *ev)
{
	struct tally_overflow_stats stats;

	tally_event_overflow_stats(ev, &stats);
	return stats;
}

u64 lost_of(struct tally_event *ev)
{
	return stats_of(ev).lost;
}

u64 overflows_of(struct tally_event *ev)
{
	return stats_of(ev).overflows;
}

/* ---- records in a buffer ---- */

static void see_sample(struct found *f, const struct sample *s, int cpu, bool newest_first)
{
	u64 *last = &f->time[s->cpu % ARRAY_SIZE(f->time)];

	if (!f->samples++)
		f->first = *s;
	if (s->h.size != sizeof(*s) || (cpu >= 0 && s->cpu != cpu) || !s->ip)
		f->wrong++;
	if (*last && (newest_first ? s->time > *last : s->time < *last))
		f->wrong++;
	*last = s->time;
}

void walk(struct found *f, const void *at, ssize_t n, int cpu, bool newest_first)
{
	const struct perf_event_header *h;

	while (n > 0) {
		h = at;
		if (n < sizeof(*h) || h->size < sizeof(*h) || h->size > n) {
			f->wrong++;
			return;
		}
		if (h->type == PERF_RECORD_SAMPLE) {
			see_sample(f, at, cpu, newest_first);
		} else if (h->type == PERF_RECORD_LOST) {
			f->lost_records++;
			f->lost += ((const u64 *)(h + 1))[1];
		} else {
			f->others++;
		}
		at += h->size;
		n -= h->size;
	}
}

/* ---- producers of records ---- */

static struct task_struct *producers[64];
static atomic_t running;

static int produce(void *n)
{
	unsigned long left = (unsigned long)n;

	while (left && !kthread_should_stop()) {
		probed();
		if (!(--left % 64))
			cond_resched();
	}
	atomic_dec(&running);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

int producers_start(unsigned int n)
{
	int cpu;

	atomic_set(&running, 0);
	for_each_online_cpu(cpu) {
		struct task_struct *t;

		t = kthread_create_on_cpu(produce, (void *)(unsigned long)n, cpu,
					  "producer/%u");
		if (IS_ERR(t)) {
			producers_stop();
			return PTR_ERR(t);
		}
		atomic_inc(&running);
		producers[cpu] = t;
		wake_up_process(t);
	}
	return 0;
}

bool producers_are_done(void)
{
	return !atomic_read(&running);
}

void producers_stop(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(producers); i++)
		if (producers[i])
			kthread_stop(producers[i]);
	memset(producers, 0, sizeof(producers));
}

/* ---- the other modes ---- */

static struct tally_event *kept;

static int once(void)
{
	struct tally_builder b;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_period(&b, NSEC_PER_MSEC);
	tally_builder_sample_type(&b, TYPE | PERF_SAMPLE_CALLCHAIN);
	tally_builder_ring(&b, 4 * PAGE_SIZE, TALLY_RING_BACKWARD | TALLY_RING_PANIC);
	kept = tally_build(&b);
	return PTR_ERR_OR_ZERO(kept);
}

/* The events are released while they overflow. */
static int leave(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_name(&b, "left_recorder");
	tally_builder_period(&b, 100000);
	tally_builder_sample_type(&b, TYPE);
	tally_builder_ring(&b, PAGE_SIZE, TALLY_RING_BACKWARD | TALLY_RING_PANIC);
	ev = tally_build(&b);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_name(&b, "left_forward");
	tally_builder_period(&b, 100000);
	tally_builder_sample_type(&b, TYPE);
	tally_builder_ring(&b, PAGE_SIZE, 0);
	return PTR_ERR_OR_ZERO(tally_build(&b));
}

/* The task that writes the number to the parameter makes the calls. */
static int set_calls(const char *value, const struct kernel_param *param)
{
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (!err)
		call_probed(n);
	return err;
}

static const struct kernel_param_ops calls_ops = {
	.set = set_calls,
};

module_param_cb(calls, &calls_ops, NULL, 0200);
MODULE_PARM_DESC(calls, "Call what is probed so often");

static void handle(struct tally_event *ev, const struct tally_sample *s, void *context)
{
}

static struct tally_event *others[3];

static struct tally_event *build_ring(struct tally_what what, const char *name, u32 flags)
{
	struct tally_builder b;

	tally_builder_init(&b, what);
	tally_builder_name(&b, name);
	tally_builder_period(&b, 1);
	tally_builder_sample_type(&b, TYPE);
	tally_builder_on_overflow(&b, handle, NULL);
	tally_builder_ring(&b, 8 * PAGE_SIZE, flags);
	return tally_build(&b);
}

/* Builds events whose rings programs may map, and one whose ring they may not. */
static int share_rings(void)
{
	const u32 backward = TALLY_RING_BACKWARD | TALLY_RING_SHARED;
	unsigned int i;

	kept = build_ring(probe(), "shared", backward);
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	others[0] = build_ring(probe(), "forward", TALLY_RING_SHARED);
	others[1] = build_ring(probe(), "unshared", TALLY_RING_BACKWARD);
	others[2] = build_ring(TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS),
			       "faults", backward);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (IS_ERR(others[i]))
			return PTR_ERR(others[i]);
	return 0;
}

static int run_tests(void)
{
	int err;

	buf = kvmalloc(BUF_SIZE, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	err = tap_start(&tap);
	if (err) {
		kvfree(buf);
		return err;
	}
	test_refusals();
	test_forward();
	test_snapshot();
	tap_plan(&tap);
	tap_show(&tap, "tally_recorder");
	kvfree(buf);
	return 0;
}

static int __init recorder_init(void)
{
	if (!strcmp(mode, "once"))
		return once();
	if (!strcmp(mode, "leave"))
		return leave();
	if (!strcmp(mode, "share"))
		return share_rings();
	if (!strcmp(mode, "panic"))
		return before_panic(&kept);
	if (!strcmp(mode, "gone"))
		return gone_before_panic();
	if (!strcmp(mode, "inside"))
		return panic_inside(&kept);
	return run_tests();
}

static void __exit recorder_exit(void)
{
	unsigned int i;

	after_panic();
	tally_event_release(kept);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		tally_event_release(others[i]);
	if (!*mode)
		tap_end(&tap);
}

module_init(recorder_init);
module_exit(recorder_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Has rings, and reads them");
MODULE_LICENSE("GPL");
