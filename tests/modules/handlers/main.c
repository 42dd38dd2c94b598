// SPDX-License-Identifier: GPL-2.0
/*
 * A module with handlers. It uses the public header only.
 *
 *	insmod tally_handlers.ko pmu=1 nmi=1
 *	cat /sys/kernel/debug/tally_handlers/results
 *
 * pmu: the machine has a PMU. nmi: the PMU interrupts by NMI. mode=leave: the module does
 * not release its events, which overflow, when it is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "handlers.h"
#include "kernels.h"

static char *mode = "all";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "all or leave");

bool has_pmu, has_nmi;
module_param_named(pmu, has_pmu, bool, 0444);
MODULE_PARM_DESC(pmu, "there is a PMU");
module_param_named(nmi, has_nmi, bool, 0444);
MODULE_PARM_DESC(nmi, "the PMU interrupts by NMI");

struct tap tap;
unsigned long word, other_word;
static struct seen left;
static DEFINE_PER_CPU(int, depth);

noinline void probed(void)
{
	asm volatile("");
}

void call_probed(unsigned int n)
{
	while (n--)
		probed();
}

struct tally_what probe(void)
{
	return TALLY_KPROBE(probed);
}

void write_words(unsigned int n)
{
	while (n--)
		WRITE_ONCE(word, n);
}

static void saw(struct tally_event *ev, const struct tally_sample *s,
		struct seen *seen, int which)
{
	u64 *last = &seen->last_sequence[which][s->cpu % MOST_CPUS];

	if (s->sequence <= *last || (seen->addr && s->addr != seen->addr))
		atomic_inc(&seen->wrong_sample[which]);
	*last = s->sequence;
	if (which != DIRECT && (s->regs || !(s->flags & TALLY_SAMPLE_TIME)))
		atomic_inc(&seen->wrong_sample[which]);
	atomic_inc(&seen->calls[which]);
	if (seen->act && seen->act_in == which)
		seen->act(ev, seen);
}

static void on_direct(struct tally_event *ev, const struct tally_sample *s,
		      void *context)
{
	struct seen *seen = context;

	if (this_cpu_inc_return(depth) != 1)
		atomic_inc(&seen->depth_exceeded);
	if (!!in_nmi() != !!(s->flags & TALLY_SAMPLE_NMI) ||
	    s->cpu != raw_smp_processor_id() || s->tid != current->pid)
		atomic_inc(&seen->wrong_context[DIRECT]);
	if (in_nmi())
		atomic_inc(&seen->nmi);
	if (s->regs && instruction_pointer(s->regs) != s->ip)
		atomic_inc(&seen->wrong_sample[DIRECT]);
	saw(ev, s, seen, DIRECT);
	this_cpu_dec(depth);
}

static void on_irq(struct tally_event *ev, const struct tally_sample *s,
		   void *context)
{
	struct seen *seen = context;

	if (!in_hardirq() || in_nmi() || !irqs_disabled() ||
	    s->cpu != smp_processor_id())
		atomic_inc(&seen->wrong_context[IRQ]);
	atomic_add(s->missed, &seen->told_missed);
	saw(ev, s, seen, IRQ);
}

static void on_work(struct tally_event *ev, const struct tally_sample *s,
		    void *context)
{
	struct seen *seen = context;

	might_sleep();
	if (!in_task() || irqs_disabled() || !(current->flags & PF_WQ_WORKER))
		atomic_inc(&seen->wrong_context[WORK]);
	saw(ev, s, seen, WORK);
}

void hand_over(struct tally_builder *b, unsigned int which, struct seen *seen)
{
	if (which & BIT(DIRECT))
		tally_builder_on_overflow(b, on_direct, seen);
	if (which & BIT(IRQ))
		tally_builder_on_overflow_irq(b, on_irq, seen);
	if (which & BIT(WORK))
		tally_builder_on_overflow_work(b, on_work, seen);
}

struct seen *new_seen(void)
{
	return kvzalloc(sizeof(struct seen), GFP_KERNEL);
}

bool was_built(struct tally_event *ev, const struct tally_builder *b,
	       const char *what)
{
	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what))
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
	return !IS_ERR(ev);
}

bool wait_until(atomic_t *value, int want)
{
	unsigned long end = jiffies + 60 * HZ;

	while (atomic_read(value) < want && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return atomic_read(value) == want;
}

/* Waits until the queued handlers of a disabled event have handled all samples. */
bool quiet(struct tally_event *ev, struct seen *seen, unsigned int which)
{
	struct tally_overflow_stats stats;
	bool all = true;

	tally_event_overflow_stats(ev, &stats);
	if (which & BIT(IRQ))
		all &= wait_until(&seen->calls[IRQ],
				  stats.overflows - stats.missed);
	if (which & BIT(WORK))
		all &= wait_until(&seen->calls[WORK],
				  stats.overflows - stats.missed);
	return all;
}

void expect_clean(struct seen *seen, const char *what)
{
	static const char *const names[] = { "direct", "irq", "work" };
	int i;

	for (i = DIRECT; i <= WORK; i++) {
		tap_ok(&tap, !atomic_read(&seen->wrong_context[i]),
		       "%s: %s handlers ran where they should", what, names[i]);
		tap_ok(&tap, !atomic_read(&seen->wrong_sample[i]),
		       "%s: their samples are right", what);
	}
	tap_ok(&tap, !atomic_read(&seen->depth_exceeded),
	       "%s: never entered twice on one CPU", what);
}

static int leave_one(struct tally_what what, u64 period, const char *name)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, what);
	tally_builder_name(&b, name);
	tally_builder_period(&b, period);
	hand_over(&b, BIT(DIRECT) | BIT(IRQ) | BIT(WORK), &left);
	ev = tally_build(&b);
	return PTR_ERR_OR_ZERO(ev);
}

static int leave_two(void)
{
	int err;

	err = leave_one(TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK), 100000,
			"left_clock");
	if (!err)
		err = leave_one(TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES), 1,
				"left_switches");
	/* The handlers use only static variables of the module. */
	return err;
}

static int __init handlers_init(void)
{
	int err;

	if (!strcmp(mode, "leave"))
		return leave_two();
	err = tap_start(&tap);
	if (err)
		return err;
	test_context();
	test_limits();
	test_refusals();
	tap_plan(&tap);
	tap_show(&tap, "tally_handlers");
	return 0;
}

static void __exit handlers_exit(void)
{
	if (strcmp(mode, "leave"))
		tap_end(&tap);
}

module_init(handlers_init);
module_exit(handlers_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Has its handlers called, as any other module may");
MODULE_LICENSE("GPL");
