// SPDX-License-Identifier: GPL-2.0
/* The kinds of events that overflow, and the code that makes them overflow. */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/hw_breakpoint.h>
#include <linux/sched.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif
#include "soak.h"

/* The most events of clocks and cycles at a time: more would take a slow machine. */
#define MOST_INTERRUPTING	3

static atomic_t interrupting = ATOMIC_INIT(0);

static const struct {
	const char *name;
	u64 periods[4];
	/* Period that a machine can handle without a limit of the rate. */
	u64 slow_period;
	bool interrupts;
} kinds[SOAK_KINDS] = {
	[SOAK_BREAKPOINT] = { "breakpoint", { 1, 1, 2, 7 }, 1 },
	[SOAK_KPROBE] = { "kprobe", { 1, 1, 2, 7 }, 1 },
	[SOAK_CLOCK] = {
		"clock", { 1000, 1000, 100000, 3000000 }, 2000000, true,
	},
	[SOAK_SOFTWARE] = { "software", { 1, 1, 2, 3 }, 1 },
	[SOAK_SCHED] = { "sched", { 1, 1, 2, 7 }, 1 },
	[SOAK_IRQ] = { "irq", { 1, 1, 2, 7 }, 1 },
	[SOAK_CYCLES] = {
		"cycles", { 5000, 20000, 200000, 3000000 }, 2000000, true,
	},
	[SOAK_INHERITED] = { "inherited", { 1, 1, 2, 3 }, 1 },
};

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

static noinline void probed(void)
{
	asm volatile("nop");
}

void *soak_probe_point(void)
{
	char *function = (char *)probed;

	/* Without this, objtool takes the sum for the address of a function. */
	OPTIMIZER_HIDE_VAR(function);
	return function + BEGINNING;
}

const char *soak_kind_name(enum soak_kind kind)
{
	return kinds[kind].name;
}

bool soak_kind_take(enum soak_kind kind)
{
	return !kinds[kind].interrupts ||
	       atomic_add_unless(&interrupting, 1, MOST_INTERRUPTING);
}

void soak_kind_give(enum soak_kind kind)
{
	if (kinds[kind].interrupts)
		atomic_dec(&interrupting);
}

static void begin_software(struct tally_builder *b, struct soak_thread *t)
{
	static const u8 ids[] = {
		PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CPU_MIGRATIONS,
		PERF_COUNT_SW_CONTEXT_SWITCHES,
	};

	tally_builder_init(b, TALLY_SOFTWARE(ids[soak_below(t, ARRAY_SIZE(ids))]));
}

static void begin_sched(struct tally_builder *b, struct soak_thread *t)
{
	static const char *const lines[] = {
		"sched:sched_switch", "sched:sched_waking",
		"sched:sched_wakeup", "workqueue:workqueue_execute_start",
	};

	tally_builder_parse(b, lines[soak_below(t, ARRAY_SIZE(lines))]);
}

static void begin_irq(struct tally_builder *b, struct soak_thread *t)
{
	static const char *const lines[] = {
		"irq:softirq_entry", "irq:softirq_raise",
		"irq:irq_handler_entry", "timer:hrtimer_expire_entry",
	};

	tally_builder_parse(b, lines[soak_below(t, ARRAY_SIZE(lines))]);
}

static void begin_inherited(struct tally_builder *b, struct soak_thread *t)
{
	static const u8 ids[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
	};

	tally_builder_init(b, TALLY_SOFTWARE(ids[soak_below(t, ARRAY_SIZE(ids))]));
}

void soak_kind_begin(struct tally_builder *b, enum soak_kind kind,
		     struct soak_thread *t)
{
	switch (kind) {
	case SOAK_BREAKPOINT:
		tally_builder_init(b, TALLY_BREAKPOINT(&t->words[soak_below(t, 2)],
						       8, HW_BREAKPOINT_W));
		break;
	case SOAK_KPROBE:
		tally_builder_init(b, TALLY_KPROBE(soak_probe_point()));
		break;
	case SOAK_CLOCK:
		tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
		break;
	case SOAK_SOFTWARE:
		begin_software(b, t);
		break;
	case SOAK_SCHED:
		begin_sched(b, t);
		break;
	case SOAK_IRQ:
		begin_irq(b, t);
		break;
	case SOAK_CYCLES:
		tally_builder_init(b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
		break;
	default:
		begin_inherited(b, t);
		break;
	}
}

u64 soak_kind_period(const struct soak_context *ctx, u32 random)
{
	u64 period = kinds[ctx->kind].periods[random % 4];

	return ctx->slow ? max(period, kinds[ctx->kind].slow_period) : period;
}

/* Does what the kinds of events count, so that they overflow. */
void soak_stir(struct soak_thread *t)
{
	unsigned int i, n = 5 + soak_below(t, 40);

	for (i = 0; i < n; i++) {
		WRITE_ONCE(t->words[0], i);
		probed();
		WRITE_ONCE(t->words[1], i);
		if (i % 8 == 7)
			cond_resched();
	}
	udelay(soak_below(t, 200));
	if (soak_below(t, 4))
		usleep_range(50, 500);
	else
		schedule_timeout_uninterruptible(1);
}
