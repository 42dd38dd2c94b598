/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU's own files call of pmu.c, and what pmu.c calls of them. insert.pl puts the calls into
 * QEMU's source.
 */
#ifndef TALLY_PMU_H
#define TALLY_PMU_H

/* Called in the thread of the virtual CPU. They do nothing for a CPU without pmu=on. */
bool tally_pmu_rdmsr(CPUX86State *env, uint32_t msr);
bool tally_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value, uintptr_t ra);
void tally_pmu_rdpmc(CPUX86State *env, uintptr_t ra);
void tally_pmu_set_ring(CPUX86State *env, int ring);
void tally_pmu_set_halted(CPUX86State *env, bool halted);
void tally_pmu_lvt_written(CPUX86State *env);

/* Called when the CPU is made and each time that it is reset. */
void tally_pmu_reset(CPUX86State *env);

/* QEMU's own function cpu_x86_cpuid(), which pmu.c wraps. */
void tally_plain_cpuid(CPUX86State *env, uint32_t index, uint32_t count, uint32_t *eax,
		       uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/*
 * Added to apic.c. Delivers an interrupt by the entry for performance counters, and masks the
 * entry if @masks. Returns false if the entry is masked already.
 */
bool tally_apic_deliver(DeviceState *apic, bool masks);

/* Added to icount-common.c. Returns the instructions that a CPU has executed so far. */
int64_t tally_icount_of(CPUState *cs);

#endif
