// SPDX-License-Identifier: GPL-2.0
/* Flight recorders: a snapshot has the newest records, and whole ones. */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/jiffies.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "recorder.h"

/* Context of a handler that freezes a recorder once. */
struct freezer {
	struct tally_event *recorder;	/* NULL for the handler's own event */
	u64 at;			/* number of the call that freezes */
	u64 calls;
	u64 before;		/* time of the call before that */
	u64 when;		/* time of the freeze */
	int err;
	bool nmi;
	ssize_t read;
};

static struct tally_event *fly(struct tally_builder *b, size_t bytes, const char *what)
{
	tally_builder_period(b, 1);
	tally_builder_sample_type(b, TYPE);
	tally_builder_ring(b, bytes, TALLY_RING_BACKWARD);
	return build(b, what);
}

static void freeze(struct tally_event *ev, const struct tally_sample *s, void *context)
{
	struct freezer *f = context;

	if (++f->calls == f->at) {
		f->nmi = in_nmi();
		f->err = tally_event_snapshot(f->recorder ?: ev);
		f->when = local_clock();
	} else if (f->calls < f->at) {
		f->before = local_clock();
	}
}

static void write_words(unsigned int n)
{
	while (n--)
		WRITE_ONCE(word, n);
}

/*
 * A handler freezes its own event. The snapshot has whole records, the newest first,
 * which is that of the overflow that called the handler. Then the recorder goes on.
 */
static void by_handler(struct tally_what what_to, void (*make)(unsigned int n), bool nmi,
		       const char *what)
{
	struct freezer fr = { .at = 700, .err = -1 };
	struct found f = { }, again = { };
	struct tally_builder b;
	struct tally_event *ev;
	ssize_t n;

	tally_builder_init(&b, what_to);
	tally_builder_on_pid(&b, 0);
	tally_builder_on_overflow(&b, freeze, &fr);
	ev = fly(&b, PAGE_SIZE, what);
	if (!ev)
		return;
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, BUF_SIZE), -EBUSY, "not frozen yet");
	make(1000);
	tap_is(&tap, fr.err, 0, "a handler froze it");
	/* A probe may be a breakpoint or a jump. */
	if (nmi)
		tap_ok(&tap, fr.nmi, "in NMI");
	n = tally_snapshot_read(ev, -1, buf, BUF_SIZE);
	walk(&f, buf, n, -1, true);
	tap_is(&tap, f.samples, PAGE_SIZE / sizeof(struct sample), "it is full");
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "whole, the newest first");
	tap_ok(&tap, f.first.time >= fr.before && f.first.time <= fr.when,
	       "the first is of the overflow that froze it");
	tap_is(&tap, lost_of(ev), 300, "what came later is lost");
	walk(&again, buf, tally_snapshot_read(ev, -1, buf, BUF_SIZE), -1, true);
	tap_is(&tap, again.samples, f.samples, "they can be read again");
	tap_is(&tap, again.first.time, f.first.time, "the same ones");
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, 3 * sizeof(struct sample) + 1),
	       3 * sizeof(struct sample), "or some of them");
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, 8), -EMSGSIZE, "or none, if too small");
	tap_is(&tap, tally_event_snapshot(ev), 0, "frozen twice");
	tap_is(&tap, tally_event_resume(ev), 0, "it goes on");
	tap_is(&tap, tally_event_resume(ev), 0, "and on");
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, BUF_SIZE), -EBUSY, "no more frozen");
	make(1);
	tally_event_snapshot(ev);
	memset(&again, 0, sizeof(again));
	walk(&again, buf, tally_snapshot_read(ev, -1, buf, BUF_SIZE), -1, true);
	tap_is(&tap, again.lost_records, 1, "one record tells of the lost ones");
	tap_is(&tap, again.lost, 300, "of all of them");
	tap_ok(&tap, again.first.time >= fr.when, "the newest is the new one");
	tap_is(&tap, again.wrong + again.others, 0, "all are whole");
	tally_event_release(ev);
}

static void call_a_few(unsigned int n)
{
	call_probed(n);
}

/* Fewer records than the ring has room for. */
static void test_few(void)
{
	struct found f = { };
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, probe());
	tally_builder_on_cpu(&b, 0);
	ev = fly(&b, PAGE_SIZE, "a flight recorder of a CPU");
	if (!ev)
		return;
	tally_event_snapshot(ev);
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, BUF_SIZE), 0, "there is nothing");
	tap_is(&tap, tally_snapshot_read(ev, 0, buf, BUF_SIZE), 0, "by its number, too");
	tap_is(&tap, tally_snapshot_read(ev, 1, buf, BUF_SIZE), -EINVAL, "not of another CPU");
	tally_event_resume(ev);
	call_probed_on(0, 3);
	tally_event_snapshot(ev);
	walk(&f, buf, tally_snapshot_read(ev, 0, buf, BUF_SIZE), 0, true);
	tap_is(&tap, f.samples, 3, "three");
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "and nothing else");
	tally_event_release(ev);
}

/* The rings are frozen while all CPUs write. */
static void test_while_writing(void)
{
	unsigned int i, torn = 0, empty = 0, refused = 0, told_lost = 0;
	struct tally_builder b;
	struct tally_event *ev;
	unsigned long end = jiffies + 60 * HZ;
	int cpu;

	tally_builder_init(&b, probe());
	ev = fly(&b, PAGE_SIZE, "flight recorders of all CPUs");
	if (!ev)
		return;
	tap_is(&tap, tally_snapshot_read(ev, -1, buf, BUF_SIZE), -EINVAL,
	       "of one CPU at a time");
	if (!tap_is(&tap, producers_start(U32_MAX), 0, "all write"))
		goto release;
	for (i = 0; i < 20 && time_before(jiffies, end); i++) {
		/* Fills each CPU's ring, also if its producer has not run yet. */
		for_each_online_cpu(cpu)
			call_probed_on(cpu, PAGE_SIZE / sizeof(struct sample));
		usleep_range(5000, 10000);
		refused += !!tally_event_snapshot(ev);
		for_each_online_cpu(cpu) {
			struct found f = { };
			ssize_t n = tally_snapshot_read(ev, cpu, buf, BUF_SIZE);

			walk(&f, buf, n, cpu, true);
			/* Less than one record's bytes of the ring are not used. */
			torn += f.wrong || f.others ||
				n > (ssize_t)PAGE_SIZE || n <= (ssize_t)(PAGE_SIZE - 64);
			empty += !f.samples;
			told_lost += !!f.lost_records;
		}
		refused += !!tally_event_resume(ev);
	}
	producers_stop();
	tap_line(&tap, "# %u snapshots of each CPU, %u with lost ones told", i, told_lost);
	tap_ok(&tap, i >= 5, "it was frozen often enough");
	tap_is(&tap, refused, 0, "always");
	tap_is(&tap, empty, 0, "there was always something");
	tap_is(&tap, torn, 0, "and always whole records, as many as there is room for");
release:
	tally_event_release(ev);
}

/* A freeze in the middle of a record: a read waits until the record is complete. */
static void test_inside(void)
{
	struct freezer fr = { .at = 5, .err = -1 };
	struct found f = { };
	struct tally_builder b;
	struct tally_event *ev, *inside;
	unsigned long end = jiffies + 10 * HZ;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, 5 * NSEC_PER_MSEC);
	tally_builder_sample_type(&b, TYPE);
	tally_builder_ring(&b, PAGE_SIZE, TALLY_RING_BACKWARD);
	ev = build(&b, "a clock");
	if (!ev)
		return;
	fr.recorder = ev;
	tally_builder_init(&b, inside_probe());
	tally_builder_period(&b, 1);
	tally_builder_on_overflow(&b, freeze, &fr);
	inside = build(&b, "a probe inside of its writer");
	if (!inside)
		goto release;
	while (READ_ONCE(fr.err) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	tap_is(&tap, READ_ONCE(fr.err), 0, "which froze the ring");
	tally_event_release(inside);
	walk(&f, buf, tally_snapshot_read(ev, 0, buf, BUF_SIZE), 0, true);
	tap_ok(&tap, f.samples >= 5, "%llu records are there", f.samples);
	/* The clock of some guests advances by ticks. */
	if (!tap_ok(&tap, f.first.time >= fr.before && f.first.time <= fr.when,
		    "the newest is the one in whose middle that was"))
		tap_line(&tap, "# before %llu, record %llu, frozen %llu", fr.before,
			 f.first.time, fr.when);
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "all are whole");
release:
	tally_event_release(ev);
}

static void freeze_and_read(struct tally_event *ev, const struct tally_sample *s, void *context)
{
	struct freezer *f = context;

	f->err = tally_event_snapshot(ev);
	f->read = tally_snapshot_read(ev, s->cpu, buf, BUF_SIZE);
	f->calls++;
}

/* The handlers in interrupt and in process context. */
static void test_deferred(void)
{
	struct freezer irq = { .at = 1, .err = -1 }, work = { .err = -1 };
	unsigned long end = jiffies + 10 * HZ;
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, probe());
	tally_builder_on_overflow_irq(&b, freeze, &irq);
	tally_builder_on_overflow_work(&b, freeze_and_read, &work);
	ev = fly(&b, PAGE_SIZE, "a recorder with the other handlers");
	if (!ev)
		return;
	call_probed_on(0, 2);
	while (READ_ONCE(work.calls) < 2 && time_before(jiffies, end))
		usleep_range(1000, 2000);
	tap_is(&tap, irq.err, 0, "an interrupt may freeze");
	tap_is(&tap, work.err, 0, "a work may");
	tap_ok(&tap, work.read > 0, "and read: %zd bytes", work.read);
	/* Records, snapshots and reads go on while the event is released. */
	tally_event_resume(ev);
	call_probed_on(0, 200);
	tap_is(&tap, tally_event_release(ev), 0, "released while they do");
	tap_ok(&tap, work.read > 0 || work.read == -ESRCH, "the last one says %zd", work.read);
}

void test_snapshot(void)
{
	if (IS_ENABLED(CONFIG_X86))
		by_handler(TALLY_BREAKPOINT(&word, sizeof(word), HW_BREAKPOINT_W), write_words,
			   true, "a recorder of writes");
	by_handler(probe(), call_a_few, false, "a recorder of calls");
	test_few();
	test_while_writing();
	test_inside();
	test_deferred();
}
