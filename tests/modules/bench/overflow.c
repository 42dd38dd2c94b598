// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of an overflow with tally's handlers, and with a handler of perf on the same
 * event.
 *
 * On x86 the event is a breakpoint on a word: a write overflows at once. If the machine has a PMU,
 * instructions are measured after that: they overflow in the middle of a loop, by an NMI.
 * Elsewhere the event is cycles, which overflow with interrupts disabled. The interrupts of the
 * PMU and of tally's handler come when interrupts are enabled for a moment.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hw_breakpoint.h>
#include <linux/sort.h>
#include "bench.h"

#define HITS	640
#define PERIOD	200000

static unsigned long calls;
static u32 costs[HITS];

static void bare(struct perf_event *event, struct perf_sample_data *data,
		 struct pt_regs *regs)
{
	WRITE_ONCE(calls, calls + 1);
}

static void handler(struct tally_event *ev, const struct tally_sample *sample,
		    void *context)
{
	WRITE_ONCE(calls, calls + 1);
}

static void let_interrupts_in(void)
{
	local_irq_enable();
	cpu_relax();
	local_irq_disable();
}

/**
 * struct cause - how the event overflows
 * @name: the name of the figures
 * @what: the event
 * @period: its period
 * @hit: makes an overflow, and lets interrupts in
 * @may_miss: @hit makes one in a part of the calls only, and the event overflows before it, too
 */
struct cause {
	const char *name;
	struct tally_what what;
	u64 period;
	void (*hit)(void);
	bool may_miss;
};

static const struct cause *cause;

#ifdef CONFIG_X86
static unsigned long word;

static void write_word(void)
{
	WRITE_ONCE(word, 1);
	let_interrupts_in();
}

/* The loop takes half a period: each second call has an overflow. */
static void turn(void)
{
	unsigned long turns = PERIOD / 4;

	asm volatile("1:	dec	%0\n"
		     "		jnz	1b\n" : "+r" (turns) : : "cc");
	let_interrupts_in();
}
#endif

/*
 * Waits until cycles have overflowed, and for more than GAP_NS of base/kick.c, so that no
 * brake holds the works. The clock advances in steps of several instructions. Each round
 * begins at another place in a step, so that the mean is finer than a step.
 */
static void between(unsigned int round)
{
	u64 end = ktime_get_ns() + PERIOD;

	while (ktime_get_ns() < end)
		cpu_relax();
	for (round = round * 7 % 32; round; round--)
		cpu_relax();
}

static int compare_costs(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

/*
 * Returns the mean in tenths, without costs that have other interrupts. All others differ by a
 * step of the clock, and to leave some of these out would move the mean.
 */
static u64 mean(void)
{
	unsigned int i;
	u64 sum = 0;

	sort(costs, HITS, sizeof(*costs), compare_costs, NULL);
	for (i = 0; i < HITS && costs[i] < costs[HITS / 2] + 64; i++)
		sum += costs[i];
	return sum * 10 / i;
}

/* Measures overflows that make @each calls of the handler, and ignores all others. */
static bool measure_hits(u64 *result, unsigned long each)
{
	unsigned int got = 0, tries;
	unsigned long before;
	u64 t;

	local_irq_disable();
	for (tries = 0; got < HITS && tries < 3 * HITS; tries++) {
		between(tries);
		/* Interrupts of earlier overflows come now. */
		if (cause->may_miss)
			let_interrupts_in();
		before = calls;
		t = ktime_get_ns();
		cause->hit();
		t = ktime_get_ns() - t;
		if (calls == before + each)
			costs[got++] = t;
	}
	local_irq_enable();
	*result = mean();
	return got == HITS;
}

static bool measure_perf(u64 *result)
{
	struct perf_event *event = new_bare(&cause->what, 0, cause->period, bare);
	bool ok;

	if (IS_ERR(event))
		return false;
	ok = measure_hits(result, 1);
	perf_event_release_kernel(event);
	return ok;
}

enum half { DIRECT, IRQ, WORK };

static bool measure_tally(enum half half, u64 *result)
{
	struct tally_builder b;
	struct tally_event *ev;
	bool ok;

	tally_builder_init(&b, cause->what);
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, cause->period);
	if (half != DIRECT)
		tally_builder_queue(&b, 2 * HITS);
	if (half == DIRECT)
		tally_builder_on_overflow(&b, handler, NULL);
	else if (half == IRQ)
		tally_builder_on_overflow_irq(&b, handler, NULL);
	else
		tally_builder_on_overflow_work(&b, handler, NULL);
	ev = tally_build(&b);
	if (IS_ERR(ev)) {
		tap_line(&tap, "# %s", tally_builder_why(&b));
		return false;
	}
	/* A handler in process context is called later. */
	ok = measure_hits(result, half != WORK);
	tally_event_release(ev);
	return ok;
}

static bool measure_none(u64 *result)
{
	return measure_hits(result, 0);
}

static void measure_cause(const struct cause *c)
{
	u64 none, perf, direct, irq, work;

	cause = c;
	if (!tap_ok(&tap, measure_none(&none), "%s: no event", c->name) ||
	    !tap_ok(&tap, measure_perf(&perf), "%s: a bare handler", c->name) ||
	    !tap_ok(&tap, measure_tally(DIRECT, &direct), "%s: a direct handler", c->name) ||
	    !tap_ok(&tap, measure_tally(IRQ, &irq), "%s: one in interrupt", c->name))
		return;
	figure(&tap, c->name, "none", none);
	figure(&tap, c->name, "bare", perf);
	figure(&tap, c->name, "direct", direct);
	figure(&tap, c->name, "irq", irq);
	/* Only the call of a handler shows that there was an overflow. A work's comes later. */
	if (!c->may_miss && tap_ok(&tap, measure_tally(WORK, &work), "%s: one in a work", c->name))
		figure(&tap, c->name, "work", work);
}

void measure_overflows(bool has_pmu)
{
#ifdef CONFIG_X86
	struct cause writes = {
		"overflow", TALLY_BREAKPOINT(&word, sizeof(word), HW_BREAKPOINT_W), 1, write_word
	};
	struct cause instructions = {
		"pmi", TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS), PERIOD, turn, true
	};

	measure_cause(&writes);
	if (has_pmu)
		measure_cause(&instructions);
#else
	struct cause cycles = {
		"overflow", TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES), PERIOD, let_interrupts_in
	};

	measure_cause(&cycles);
#endif
}
