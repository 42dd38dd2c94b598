// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A PMU for x86 CPUs of QEMU's TCG, so that Linux runs the drivers of Intel and AMD on it.
 *
 * The vendor, family and model of the CPU select what it has:
 *
 *	Intel	architectural perfmon 2: 4 general and 3 fixed counters of 48 bits, writes of
 *		their full width, freezing at an interrupt; model 94 (Skylake) has PEBS, too, with
 *		records of format 2
 *	AMD	6 core counters of 48 bits with the global registers of version 2
 *
 * With -icount, a counter of cycles or of instructions counts the instructions that its CPU has
 * executed, exactly. Without it, it counts the nanoseconds in which its CPU was not halted. Other
 * events are a fraction of that, so that they move.
 *
 * A counter is brought up to date only when the guest reads or writes a register of the PMU, when
 * the ring changes, when the CPU halts or wakes, and when a timer expires at the moment that was
 * predicted for the counter's overflow. All of this happens in the thread of the CPU; the timer only
 * queues work for it.
 *
 * A record of PEBS has the registers of the moment at which the overflow is found: if that is at a
 * change of the ring, some of them may be of the other ring.
 *
 * INIT, with which a CPU comes back online, clears the registers as a reset does; real CPUs keep
 * them.
 *
 * There is no LBR, no IBS, no uncore PMU, no AnyThread and no edge detection. A guest must not be
 * saved: QEMU would leave the counters out.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "cpu.h"
#include "system/cpu-timers.h"
#include "tcg/helper-tcg.h"
#include "tally_pmu.h"

#define WIDTH		48
#define MASK		MAKE_64BIT_MASK(0, WIDTH)
#define GENERAL		6	/* at most; Intel has 4 */
#define FIXED		3
#define COUNTERS	(GENERAL + FIXED)

/* An event selector. */
#define SELECT_USER	BIT_ULL(16)
#define SELECT_KERNEL	BIT_ULL(17)
#define SELECT_INT	BIT_ULL(20)
#define SELECT_ANY	BIT_ULL(21)
#define SELECT_ENABLE	BIT_ULL(22)
#define SELECT_INVERT	BIT_ULL(23)
#define SELECT_CMASK	MAKE_64BIT_MASK(24, 8)

/* Four bits for each fixed counter. */
#define FIXED_KERNEL	BIT(0)
#define FIXED_USER	BIT(1)
#define FIXED_INT	BIT(3)

#define STATUS_BUFFER	BIT_ULL(62)	/* records of PEBS have reached the threshold */
#define STATUS_CHANGED	BIT_ULL(63)
#define DEBUGCTL_FREEZE	BIT_ULL(12)

enum tally_kind { TALLY_GENERIC, TALLY_SKYLAKE, TALLY_AMD };

/**
 * struct tally_counter - a counter
 * @select: the event selector; unused by fixed counters
 * @value: the count
 * @part: instructions that were executed since @value grew, if an event takes several of them
 */
struct tally_counter {
	uint64_t select;
	uint64_t value;
	uint64_t part;
};

/**
 * struct tally_pmu - the PMU of one CPU
 * @cs: the CPU
 * @kind: what it has
 * @counter: the general counters, then the fixed ones
 * @active: a bit for each counter that counts in some ring
 * @since: the moment of now() up to which the counters have counted
 * @ring: the privilege level in which the CPU has run since then
 * @halted: the CPU waits for an interrupt, and so counts nothing
 * @pmi: an interrupt waits for delivery
 * @queued: work() is queued; the timer's thread sets it, too
 * @timer: expires when the next interrupt is due, or before that
 */
struct tally_pmu {
	CPUState *cs;
	enum tally_kind kind;
	struct tally_counter counter[COUNTERS];
	uint64_t fixed_control;
	uint64_t global_control;
	uint64_t global_status;
	uint64_t debugctl;
	uint64_t pebs_enable;
	uint64_t ds_area;
	unsigned int active;
	int64_t since;
	int ring;
	bool halted;
	bool pmi;
	bool queued;
	QEMUTimer *timer;
};

static bool is_amd(const struct tally_pmu *pmu)
{
	return pmu->kind == TALLY_AMD;
}

static unsigned int general(const struct tally_pmu *pmu)
{
	return is_amd(pmu) ? 6 : 4;
}

static bool is_fixed(unsigned int i)
{
	return i >= GENERAL;
}

/* Returns the bit of a counter in the global registers. */
static uint64_t global_bit(unsigned int i)
{
	return is_fixed(i) ? BIT_ULL(32 + i - GENERAL) : BIT_ULL(i);
}

static unsigned int fixed_control(const struct tally_pmu *pmu, unsigned int i)
{
	return pmu->fixed_control >> 4 * (i - GENERAL) & 0xf;
}

/* Returns the instructions, or without -icount the nanoseconds, of this CPU until now. */
static int64_t now(const struct tally_pmu *pmu)
{
	return icount_enabled() ? tally_icount_of(pmu->cs) : qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- events ------------------------------------------------------------- */

/* An event, the low 16 bits of a selector, and how many instructions it takes. */
struct tally_event {
	uint16_t code;
	uint16_t each;
};

static const struct tally_event intel_events[] = {
	{ 0x003c, 1 },		/* cycles */
	{ 0x013c, 1 },		/* cycles of the bus */
	{ 0x00c0, 1 },		/* instructions */
	{ 0x01c0, 1 },		/* instructions, precisely distributed */
	{ 0x4f2e, 32 },		/* references to the last cache */
	{ 0x412e, 64 },		/* misses of it */
	{ 0x00c4, 8 },		/* branches */
	{ 0x00c5, 128 },	/* branches that were mispredicted */
	{ }
};

static const struct tally_event amd_events[] = {
	{ 0x0076, 1 },		/* cycles */
	{ 0x00c0, 1 },		/* instructions */
	{ 0xff60, 32 },		/* references to the second cache */
	{ 0x0964, 64 },		/* misses of it */
	{ 0x00c2, 8 },		/* branches */
	{ 0x00c3, 128 },	/* branches that were mispredicted */
	{ }
};

static unsigned int instructions_each(const struct tally_pmu *pmu, unsigned int i)
{
	const struct tally_event *event = is_amd(pmu) ? amd_events : intel_events;
	uint64_t select = pmu->counter[i].select;

	if (is_fixed(i))
		return 1;
	/* The event happens less often in a cycle than the mask says, so each cycle counts. */
	if ((select & SELECT_CMASK) && (select & SELECT_INVERT))
		return 1;
	for (; event->each; event++) {
		if (event->code == (select & 0xffff))
			return event->each;
	}
	return 32;
}

/* ---- counting ----------------------------------------------------------- */

static bool counts_in(const struct tally_pmu *pmu, unsigned int i, int ring)
{
	if (!(pmu->global_control & global_bit(i)))
		return false;
	if (is_fixed(i))
		return fixed_control(pmu, i) & (ring ? FIXED_USER : FIXED_KERNEL);
	return (pmu->counter[i].select & SELECT_ENABLE) &&
	       (pmu->counter[i].select & (ring ? SELECT_USER : SELECT_KERNEL));
}

static bool has_pebs(const struct tally_pmu *pmu, unsigned int i)
{
	return !is_fixed(i) && (pmu->pebs_enable & BIT_ULL(i));
}

/* Returns whether an overflow of a counter is waited for. */
static bool interrupts(const struct tally_pmu *pmu, unsigned int i)
{
	if (is_fixed(i))
		return fixed_control(pmu, i) & FIXED_INT;
	return has_pebs(pmu, i) || (pmu->counter[i].select & SELECT_INT);
}

static void find_active(struct tally_pmu *pmu)
{
	unsigned int i;

	pmu->active = 0;
	for (i = 0; i < COUNTERS; i++) {
		if (counts_in(pmu, i, 0) || counts_in(pmu, i, 3))
			pmu->active |= 1u << i;
	}
}

/* The part of the debug store that PEBS uses, 32 bytes from its begin. */
struct tally_store {
	uint64_t base;
	uint64_t index;
	uint64_t maximum;
	uint64_t threshold;
	uint64_t reset[4];
};

/* A record of format 2. */
struct tally_record {
	uint64_t flags, ip;
	uint64_t ax, bx, cx, dx, si, di, bp, sp, r[8];
	uint64_t status, address, source, latency;
	uint64_t event_ip, transaction;
};

static bool guest_memory(struct tally_pmu *pmu, uint64_t address, void *data, size_t size, bool write)
{
	return !cpu_memory_rw_debug(pmu->cs, address, data, size, write);
}

/*
 * Writes records of a counter that has overflowed, and has counted @value since. Returns the
 * counter's new value. A record beyond the end of the buffer is lost.
 */
static uint64_t write_records(struct tally_pmu *pmu, unsigned int i, uint64_t value)
{
	CPUX86State *env = &X86_CPU(pmu->cs)->env;
	const target_ulong *reg = env->regs;
	struct tally_record record = {
		.flags = cpu_compute_eflags(env), .ip = env->eip,
		.ax = reg[R_EAX], .bx = reg[R_EBX], .cx = reg[R_ECX], .dx = reg[R_EDX],
		.si = reg[R_ESI], .di = reg[R_EDI], .bp = reg[R_EBP], .sp = reg[R_ESP],
		.status = BIT_ULL(i), .event_ip = env->eip,
	};
	struct tally_store store;

	memcpy(record.r, &reg[R_R8], sizeof(record.r));
	if (!guest_memory(pmu, pmu->ds_area + 32, &store, sizeof(store), false))
		return value & MASK;
	do {
		if (store.index + sizeof(record) <= store.maximum) {
			guest_memory(pmu, store.index, &record, sizeof(record), true);
			store.index += sizeof(record);
		}
		value = (value & MASK) + (store.reset[i] & MASK);
	} while (value > MASK);
	guest_memory(pmu, pmu->ds_area + 40, &store.index, sizeof(store.index), true);
	if (store.index >= store.threshold) {
		pmu->global_status |= STATUS_BUFFER;
		pmu->pmi = true;
	}
	return value & MASK;
}

static void overflow(struct tally_pmu *pmu, unsigned int i)
{
	struct tally_counter *c = &pmu->counter[i];

	c->value &= MASK;
	if (has_pebs(pmu, i)) {
		c->value = write_records(pmu, i, c->value);
		return;
	}
	pmu->global_status |= global_bit(i);
	if (interrupts(pmu, i))
		pmu->pmi = true;
}

/* Brings the counters up to date. */
static void count(struct tally_pmu *pmu)
{
	int64_t to = now(pmu), by = to - pmu->since;
	unsigned int i;

	if (by <= 0)
		return;
	pmu->since = to;
	if (!pmu->active || pmu->halted)
		return;
	for (i = 0; i < COUNTERS; i++) {
		struct tally_counter *c = &pmu->counter[i];
		unsigned int each;

		if (!(pmu->active & 1u << i) || !counts_in(pmu, i, pmu->ring))
			continue;
		each = instructions_each(pmu, i);
		c->value += (c->part + by) / each;
		c->part = (c->part + by) % each;
		if (c->value > MASK)
			overflow(pmu, i);
	}
}

/* ---- interrupts --------------------------------------------------------- */

static void work(CPUState *cs, run_on_cpu_data data);

/* Lets the CPU call work() before its next instruction. */
static void queue_work(struct tally_pmu *pmu)
{
	if (!qatomic_xchg(&pmu->queued, true))
		async_run_on_cpu(pmu->cs, work, RUN_ON_CPU_HOST_PTR(pmu));
}

static void expired(void *opaque)
{
	queue_work(opaque);
}

/* Returns whether the time can be read here. With -icount that is so between instructions. */
static bool has_time(const struct tally_pmu *pmu)
{
	return !icount_enabled() || !pmu->cs->running || pmu->cs->neg.can_do_io;
}

/*
 * Sets the timer for the next interrupt. A timer that is set for an earlier moment stays, because
 * rings change often: it finds nothing, and is set again. With -icount it may also come early
 * because other CPUs have executed instructions meanwhile.
 */
static void set_timer(struct tally_pmu *pmu)
{
	uint64_t soonest = UINT64_MAX;
	unsigned int i;
	int64_t at;

	if (pmu->halted)
		return;
	for (i = 0; i < COUNTERS; i++) {
		const struct tally_counter *c = &pmu->counter[i];

		if (!(pmu->active & 1u << i) || !interrupts(pmu, i) || !counts_in(pmu, i, pmu->ring))
			continue;
		soonest = MIN(soonest, (MASK + 1 - c->value) * instructions_each(pmu, i) - c->part);
	}
	if (soonest == UINT64_MAX)
		return;
	if (!has_time(pmu)) {
		queue_work(pmu);
		return;
	}
	at = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
	     (icount_enabled() ? icount_to_ns(soonest) : soonest);
	if (!timer_pending(pmu->timer) || timer_expire_time_ns(pmu->timer) > at)
		timer_mod(pmu->timer, at);
}

/* Does what follows from a change: an interrupt is queued, or the timer is set. */
static void follow(struct tally_pmu *pmu)
{
	if (pmu->pmi)
		queue_work(pmu);
	else if (pmu->active)
		set_timer(pmu);
}

/* Runs in the CPU's thread between two instructions, with QEMU's big lock held. */
static void work(CPUState *cs, run_on_cpu_data data)
{
	struct tally_pmu *pmu = data.host_ptr;

	qatomic_set(&pmu->queued, false);
	count(pmu);
	/*
	 * Intel's local APIC masks its entry with the interrupt. An overflow meanwhile waits until
	 * the entry is unmasked, or until its status is cleared.
	 */
	if (pmu->pmi && tally_apic_deliver(X86_CPU(cs)->apic_state, !is_amd(pmu))) {
		pmu->pmi = false;
		if (pmu->debugctl & DEBUGCTL_FREEZE) {
			pmu->global_control = 0;
			find_active(pmu);
		}
	} else if (is_amd(pmu)) {
		pmu->pmi = false;
	}
	set_timer(pmu);
}

void tally_pmu_lvt_written(CPUX86State *env)
{
	if (env->tally_pmu && env->tally_pmu->pmi)
		queue_work(env->tally_pmu);
}

void tally_pmu_set_ring(CPUX86State *env, int ring)
{
	struct tally_pmu *pmu = env->tally_pmu;

	if (!pmu || pmu->ring == ring)
		return;
	if (pmu->active)
		count(pmu);
	pmu->ring = ring;
	follow(pmu);
}

void tally_pmu_set_halted(CPUX86State *env, bool halted)
{
	struct tally_pmu *pmu = env->tally_pmu;

	if (!pmu || pmu->halted == halted)
		return;
	count(pmu);
	pmu->halted = halted;
	if (halted)
		timer_del(pmu->timer);
	follow(pmu);
}

/* ---- registers ---------------------------------------------------------- */

/* How a register is written. */
enum tally_write { TALLY_PLAIN, TALLY_EXTENDED, TALLY_CLEARS, TALLY_NEVER };

/**
 * struct tally_register - a model specific register
 * @value: where it is kept
 * @writable: the bits that may be set; others raise #GP
 * @how: TALLY_EXTENDED: the low 32 bits are written, with their sign; TALLY_CLEARS: the bits
 *	are cleared in @value, and the register reads as 0
 */
struct tally_register {
	uint64_t *value;
	uint64_t writable;
	enum tally_write how;
};

#define ALL_BITS	(~0ULL)

static bool in(uint32_t msr, uint32_t first, unsigned int n)
{
	return msr - first < n;
}

static bool intel_register(struct tally_pmu *pmu, uint32_t msr, struct tally_register *r)
{
	struct tally_counter *c = pmu->counter;
	uint64_t globals = 0xf | 0x7ULL << 32;

	if (in(msr, 0xc1, 4))			/* IA32_PMC */
		*r = (struct tally_register) { &c[msr - 0xc1].value, ALL_BITS, TALLY_EXTENDED };
	else if (in(msr, 0x4c1, 4))		/* IA32_A_PMC */
		*r = (struct tally_register) { &c[msr - 0x4c1].value, MASK };
	else if (in(msr, 0x186, 4))		/* IA32_PERFEVTSEL */
		*r = (struct tally_register) { &c[msr - 0x186].select, UINT32_MAX & ~SELECT_ANY };
	else if (in(msr, 0x309, FIXED))		/* IA32_FIXED_CTR */
		*r = (struct tally_register) { &c[GENERAL + msr - 0x309].value, MASK };
	else if (msr == 0x38d)			/* IA32_FIXED_CTR_CTRL */
		*r = (struct tally_register) { &pmu->fixed_control, 0xbbb };
	else if (msr == 0x38e)			/* IA32_PERF_GLOBAL_STATUS */
		*r = (struct tally_register) { &pmu->global_status, 0, TALLY_NEVER };
	else if (msr == 0x38f)			/* IA32_PERF_GLOBAL_CTRL */
		*r = (struct tally_register) { &pmu->global_control, globals };
	else if (msr == 0x390)			/* IA32_PERF_GLOBAL_OVF_CTRL */
		*r = (struct tally_register) { &pmu->global_status,
			globals | STATUS_BUFFER | STATUS_CHANGED, TALLY_CLEARS };
	else if (msr == 0x1d9)			/* IA32_DEBUGCTL */
		*r = (struct tally_register) { &pmu->debugctl, 0xffff };
	else if (pmu->kind == TALLY_SKYLAKE && msr == 0x3f1)	/* IA32_PEBS_ENABLE */
		*r = (struct tally_register) { &pmu->pebs_enable, 0xf | 0xfULL << 32 };
	else if (pmu->kind == TALLY_SKYLAKE && msr == 0x600)	/* IA32_DS_AREA */
		*r = (struct tally_register) { &pmu->ds_area, ALL_BITS };
	else
		return false;
	return true;
}

static bool amd_register(struct tally_pmu *pmu, uint32_t msr, struct tally_register *r)
{
	/* The number of the event has 12 bits; two more bits select the host or a guest. */
	uint64_t select = 0x30f00000000 | (UINT32_MAX & ~(SELECT_ANY | BIT_ULL(19)));
	struct tally_counter *c = pmu->counter;
	uint32_t n = msr - 0xc0010200;

	if (in(msr, 0xc0010200, 12) && !(n & 1))	/* PERF_CTL */
		*r = (struct tally_register) { &c[n / 2].select, select };
	else if (in(msr, 0xc0010200, 12))		/* PERF_CTR */
		*r = (struct tally_register) { &c[n / 2].value, MASK };
	else if (in(msr, 0xc0010000, 4))		/* the first four by their older names */
		*r = (struct tally_register) { &c[msr - 0xc0010000].select, select };
	else if (in(msr, 0xc0010004, 4))
		*r = (struct tally_register) { &c[msr - 0xc0010004].value, MASK };
	else if (msr == 0xc0000300)			/* PerfCntrGlobalStatus */
		*r = (struct tally_register) { &pmu->global_status, 0, TALLY_NEVER };
	else if (msr == 0xc0000301)			/* PerfCntrGlobalCtl */
		*r = (struct tally_register) { &pmu->global_control, 0x3f };
	else if (msr == 0xc0000302)			/* PerfCntrGlobalStatusClr */
		*r = (struct tally_register) { &pmu->global_status, ALL_BITS, TALLY_CLEARS };
	else
		return false;
	return true;
}

static bool find_register(struct tally_pmu *pmu, uint32_t msr, struct tally_register *r)
{
	return is_amd(pmu) ? amd_register(pmu, msr, r) : intel_register(pmu, msr, r);
}

/*
 * Does what follows from a read. If the read has found an overflow, the timer of that overflow is
 * late, and will deliver the interrupt. The read must not do so: on a real CPU, an interrupt seldom
 * comes right after a read.
 */
static void follow_read(struct tally_pmu *pmu)
{
	if (!timer_pending(pmu->timer))
		follow(pmu);
}

static void set_result(CPUX86State *env, uint64_t value)
{
	env->regs[R_EAX] = (uint32_t)value;
	env->regs[R_EDX] = (uint32_t)(value >> 32);
}

bool tally_pmu_rdmsr(CPUX86State *env, uint32_t msr)
{
	struct tally_pmu *pmu = env->tally_pmu;
	struct tally_register r;

	if (!pmu)
		return false;
	if (!is_amd(pmu) && msr == 0x1a0) {
		/* IA32_MISC_ENABLE: there is a PMU, there is no BTS, and there may be PEBS. */
		set_result(env, env->msr_ia32_misc_enable | BIT_ULL(7) | BIT_ULL(11) |
			   (pmu->kind == TALLY_SKYLAKE ? 0 : BIT_ULL(12)));
		return true;
	}
	if (!is_amd(pmu) && msr == 0x345) {
		/* IA32_PERF_CAPABILITIES: writes of the full width; PEBS of format 2, as a trap. */
		set_result(env, BIT_ULL(13) |
			   (pmu->kind == TALLY_SKYLAKE ? 2 << 8 | BIT_ULL(6) | BIT_ULL(7) : 0));
		return true;
	}
	if (!find_register(pmu, msr, &r))
		return false;
	count(pmu);
	set_result(env, r.how == TALLY_CLEARS ? 0 : *r.value);
	follow_read(pmu);
	return true;
}

bool tally_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value, uintptr_t ra)
{
	struct tally_pmu *pmu = env->tally_pmu;
	struct tally_register r;
	unsigned int i;

	if (!pmu || !find_register(pmu, msr, &r))
		return false;
	if (r.how == TALLY_NEVER || (value & ~r.writable))
		raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
	count(pmu);
	switch (r.how) {
	case TALLY_CLEARS:
		*r.value &= ~value;
		/* An interrupt that has not been delivered has lost its cause. */
		if (!pmu->global_status)
			pmu->pmi = false;
		break;
	case TALLY_EXTENDED:
		*r.value = (int32_t)value & MASK;
		break;
	default:
		*r.value = value;
	}
	/* A part of another event, or of another count, is dropped. */
	for (i = 0; i < GENERAL; i++) {
		if (r.value == &pmu->counter[i].select || r.value == &pmu->counter[i].value)
			pmu->counter[i].part = 0;
	}
	find_active(pmu);
	follow(pmu);
	return true;
}

void tally_pmu_rdpmc(CPUX86State *env, uintptr_t ra)
{
	struct tally_pmu *pmu = env->tally_pmu;
	uint32_t i = env->regs[R_ECX];

	if (!pmu)
		raise_exception_err_ra(env, EXCP06_ILLOP, 0, ra);
	if (!is_amd(pmu) && in(i, 1u << 30, FIXED))
		i = GENERAL + i - (1u << 30);
	else if (i >= general(pmu))
		raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
	count(pmu);
	set_result(env, pmu->counter[i].value);
	follow_read(pmu);
}

/* ---- the CPU ------------------------------------------------------------ */

#define CPUID_LAST_AMD	0x80000022

void cpu_x86_cpuid(CPUX86State *env, uint32_t index, uint32_t n, uint32_t *eax, uint32_t *ebx,
		   uint32_t *ecx, uint32_t *edx)
{
	struct tally_pmu *pmu = env->tally_pmu;
	bool amd = pmu && is_amd(pmu);

	tally_plain_cpuid(env, index, n, eax, ebx, ecx, edx);
	if (pmu && !amd && index == 1) {
		*ecx |= BIT(15);			/* IA32_PERF_CAPABILITIES exists */
		if (pmu->kind == TALLY_SKYLAKE) {
			*ecx |= BIT(2);			/* a debug store of 64 bits */
			*edx |= BIT(21);
		}
	} else if (pmu && !amd && index == 0xa) {
		*eax = 2 | general(pmu) << 8 | WIDTH << 16 | 7 << 24;
		*ebx = 0;				/* all 7 events exist */
		*ecx = 0;
		*edx = FIXED | WIDTH << 5;
	} else if (amd && index == 0x80000000) {
		*eax = CPUID_LAST_AMD;
	} else if (amd && index == 0x80000001) {
		*ecx |= BIT(23);			/* 6 core counters */
	} else if (amd && (index == CPUID_LAST_AMD ||
			   (index > env->cpuid_xlevel && index < CPUID_LAST_AMD))) {
		*eax = index == CPUID_LAST_AMD;		/* version 2 */
		*ebx = index == CPUID_LAST_AMD ? general(pmu) : 0;
		*ecx = 0;
		*edx = 0;
	}
}

static enum tally_kind kind_of(const CPUX86State *env)
{
	unsigned int model = (env->cpuid_version >> 4 & 0xf) | (env->cpuid_version >> 12 & 0xf0);

	if (IS_AMD_CPU(env))
		return TALLY_AMD;
	return model == 94 ? TALLY_SKYLAKE : TALLY_GENERIC;
}

void tally_pmu_reset(CPUX86State *env)
{
	struct tally_pmu *pmu = env->tally_pmu;

	if (!env_archcpu(env)->enable_pmu)
		return;
	if (!pmu) {
		pmu = g_new0(struct tally_pmu, 1);
		pmu->cs = env_cpu(env);
		pmu->kind = kind_of(env);
		pmu->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, expired, pmu);
		env->tally_pmu = pmu;
	}
	timer_del(pmu->timer);
	memset(pmu->counter, 0, sizeof(pmu->counter));
	pmu->fixed_control = 0;
	pmu->global_control = MAKE_64BIT_MASK(0, general(pmu));
	pmu->global_status = 0;
	pmu->debugctl = 0;
	pmu->pebs_enable = 0;
	pmu->ds_area = 0;
	pmu->active = 0;
	pmu->ring = 0;
	pmu->halted = false;
	pmu->pmi = false;
}
