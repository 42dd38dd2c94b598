/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_REGISTER_H
#define TALLY_REGISTER_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#if defined(CONFIG_X86_64)
#include <asm/asm.h>
#elif defined(CONFIG_ARM64) && defined(CONFIG_ARM_PMUV3)
#include <linux/perf/arm_pmu.h>
#include <linux/perf/arm_pmuv3.h>
#ifdef ARMV8_PMU_CYCLE_IDX
#include <asm/arm_pmuv3.h>
#endif
#endif

/*
 * The register of this CPU that counts an event. tally_register_read() returns its value;
 * tally_register_exists() whether it is known where the value is, for an event of a PMU of cores;
 * tally_register_answers() whether this CPU has the register.
 */
#if defined(CONFIG_X86_64)

static __always_inline u64 tally_register_read(const struct hw_perf_event *hw)
{
	u32 low, high;

	/* A register that is not there, as under Xen, faults: then the value is any. */
	asm volatile("1: rdpmc\n2:\n" _ASM_EXTABLE(1b, 2b)
		     : "=a" (low), "=d" (high) : "c" (hw->event_base_rdpmc));
	return low | (u64)high << 32;
}

/* No register has 64 bits. After a fault, @high is as it was. */
static inline bool tally_register_answers(const struct hw_perf_event *hw)
{
	u32 low, high = U32_MAX;

	asm volatile("1: rdpmc\n2:\n" _ASM_EXTABLE(1b, 2b)
		     : "=a" (low), "+d" (high) : "c" (hw->event_base_rdpmc));
	return high != U32_MAX;
}

/*
 * Returns false for a precise event, whose counts are in a buffer; for one that other events reload
 * (config2); and for the topdown events, slots and metrics, which share a register.
 */
static inline bool tally_register_exists(const struct perf_event *event)
{
	u64 config = event->hw.config;

	return !event->attr.precise_ip && !event->attr.config2 &&
	       (config & 0xff || (config & 0xff00) < 0x400);
}

#elif defined(ARMV8_PMU_CYCLE_IDX)

static __always_inline u64 tally_register_read(const struct hw_perf_event *hw)
{
	/* As read_pmevcntrn(), which is a call. */
	if (likely((unsigned int)hw->idx < ARMV8_PMU_CYCLE_IDX))
		PMEVN_SWITCH(hw->idx, RETURN_READ_PMEVCNTRN);
	if (hw->idx == ARMV8_PMU_CYCLE_IDX)
		return read_pmccntr();
	return hw->idx == ARMV8_PMU_INSTR_IDX ? read_pmicntr() : 0;
}

static inline bool tally_register_answers(const struct hw_perf_event *hw)
{
	return true;
}

/* Returns false for an event that may have two registers, and where the PMU is no PMUv3. */
static inline bool tally_register_exists(const struct perf_event *event)
{
	return !(event->hw.flags & ARMPMU_EVT_64BIT) && pmuv3_implemented(read_pmuver());
}

#else

static inline u64 tally_register_read(const struct hw_perf_event *hw)
{
	return 0;
}

static inline bool tally_register_answers(const struct hw_perf_event *hw)
{
	return false;
}

static inline bool tally_register_exists(const struct perf_event *event)
{
	return false;
}

#endif

#endif /* TALLY_REGISTER_H */
