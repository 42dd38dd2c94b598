// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of a counter's register, of an event that perf's driver reads at the next moment: never
 * more, never less. In NMI, and in a task, while other events of the PMU overflow.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hardirq.h>
#include <linux/hw_breakpoint.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include "event/event.h"
#include "reads.h"

/* How often an event is read in each context, and by one overflow. */
#define READS	100000
#define BURST	100

/* The event that is read, on CPU 0, and what was found in NMI, or in the task. */
static struct tally_event *subject;

struct found {
	unsigned int reads;
	unsigned int nmis;
	unsigned int refused;
	unsigned int wrong;
	u64 count;
};

static struct found in_handler, in_task;

/* Reads by the driver. A task does that through tally, so that its reads may be interrupted. */
static u64 read_by_driver(void)
{
	const struct tally_slot *s = &subject->counter->slots[0];
	struct tally_count count;

	if (irqs_disabled()) {
		s->read(s->event);
		return local64_read(&s->event->count) + READ_ONCE(subject->views[0].value_offset);
	}
	return tally_event_read(subject, &count) ? 0 : count.value;
}

/* Reads the register, by the driver, and the register again, on CPU 0. */
static void compare(struct found *f)
{
	u64 first, count, last;

	f->nmis += !!in_nmi();
	if (tally_event_read_local(subject, &first)) {
		f->refused++;
		return;
	}
	count = read_by_driver();
	if (tally_event_read_local(subject, &last)) {
		f->refused++;
		return;
	}
	f->reads++;
	f->wrong += first < f->count || count < first || last < count;
	f->count = last;
}

/* A place where each read is refused has an end, too. */
static bool is_done(const struct found *f)
{
	return f->reads >= READS || f->refused >= READS;
}

static void overflowed(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	unsigned int i;

	for (i = 0; i < BURST && !is_done(&in_handler); i++)
		compare(&in_handler);
}

/* An event that overflows often, and is not the subject. */
static struct tally_event *build_busy(struct tally_what what, u64 period,
				      tally_overflow_fn handler, const char *name)
{
	struct tally_builder b;

	tally_builder_init(&b, what);
	tally_builder_period(&b, period);
	tally_builder_on_cpu(&b, 0);
	if (handler)
		tally_builder_on_overflow(&b, handler, NULL);
	return build(&b, name);
}

static void nothing(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
}

static void test_found(const struct found *f, bool nmi, const char *where)
{
	tap_is(&tap, f->reads, READS, where);
	tap_line(&tap, "# %u refused; at last %llu", f->refused, f->count);
	tap_is(&tap, f->wrong, 0, "none is more than the driver reads then, or less than before");
	tap_ok(&tap, f->refused < f->reads / 10, "less than a tenth is refused");
	if (nmi)
		tap_is(&tap, f->nmis, f->reads + f->refused, "all in NMI");
}

static void test_reads(bool nmi)
{
	static unsigned long word;
	unsigned long end = jiffies + 100 * HZ;
	struct tally_event *handler, *busy;

	/* QEMU counts the instructions of arm64 with -icount only. */
	busy = build_busy(TALLY_HARDWARE(IS_ENABLED(CONFIG_X86) ? PERF_COUNT_HW_INSTRUCTIONS :
								  PERF_COUNT_HW_CPU_CYCLES),
			  200000, nothing,
			  "another event that overflows");
	if (IS_ENABLED(CONFIG_X86))
		handler = build_busy(TALLY_BREAKPOINT(&word, sizeof(word), HW_BREAKPOINT_W), 1,
				     overflowed, "an event whose handler reads");
	else
		handler = build_busy(TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES), 1000000,
				     overflowed, "an event whose handler reads");
	while (handler && !is_done(&in_handler) && time_before(jiffies, end)) {
		WRITE_ONCE(word, word + 1);
		cond_resched();
		if (is_done(&in_task))
			continue;
		compare(&in_task);
	}
	tally_event_release(handler);
	while (!is_done(&in_task) && time_before(jiffies, end))
		compare(&in_task);
	test_found(&in_handler, IS_ENABLED(CONFIG_X86) || nmi, "reads in a handler");
	test_found(&in_task, false, "reads in a task");
	tally_event_release(busy);
}

static struct {
	TALLY_SECTION(section, 2);
} mixed;

/* A set of which the register of one member is read, and the other one's driver. */
static void test_mixed(void)
{
	u64 out[2] = { 0, 1 };
	struct tally_builder *b;
	struct tally_set *set;
	int err;

	b = kvcalloc(2, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	tally_builder_init(&b[0], TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	tally_builder_init(&b[1], TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_on_cpu(&b[0], 0);
	tally_builder_on_cpu(&b[1], 0);
	set = tally_set_build(b, 2);
	if (tap_ok(&tap, !IS_ERR(set), "a set of hardware and software is built")) {
		tally_set_enable(set);
		preempt_disable();
		err = tally_section_begin(set, &mixed.section) ?:
		      tally_section_end(set, &mixed.section, out);
		preempt_enable();
		tap_is(&tap, err, 0, "a section of it");
		tap_ok(&tap, out[0] && out[0] < NSEC_PER_SEC, "has counted %llu cycles", out[0]);
		tap_is(&tap, out[1], 0, "and no page fault");
		tally_set_release(set);
	}
	kvfree(b);
}

/* @want: whether the register is to be read here. */
void test_register(bool want, bool nmi)
{
	struct tally_builder b;
	unsigned int width;

	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	tally_builder_on_cpu(&b, 0);
	subject = build(&b, "cycles of CPU 0");
	if (!subject)
		return;
	width = subject->counter->slots[0].width;
	tap_line(&tap, "# a register of %u bits", width);
	if (tap_is(&tap, !!width, want, "its register is read in place of the driver") && want)
		test_reads(nmi);
	test_mixed();
	tally_event_release(subject);
}
