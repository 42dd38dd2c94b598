/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PMU_H
#define PMU_H

#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct dentry;
struct pt_regs;

#define PMU_COUNTERS	8	/* most counters of the core PMU on one CPU */

/* Events of the core PMU by number, as perf's raw ones. */
enum {
	PMU_EVENT_WRITTEN = 0x01,	/* a test writes its total */
	PMU_EVENT_CYCLES = 0x3c,	/* one each nanosecond */
	PMU_EVENT_INSTRUCTIONS = 0xc0,	/* one each 2 nanoseconds */
	PMU_EVENT_SLOTS = 0x400,	/* as Intel's, the leader of the next one */
	PMU_EVENT_METRIC = 0x8000,	/* refused without that leader */
	/* Each of these is a multiple of PMU_EVENT_WRITTEN: multiple_of(). */
	PMU_EVENT_GENERIC = 0x10000,	/* perf's other generic events of hardware */
	PMU_EVENT_CACHE = 0x20000,	/* perf's events of caches */
};

/* The functions of the core PMU in which an interrupt can come. */
enum { PMU_IN_ADD, PMU_IN_DEL, PMU_IN_START, PMU_IN_STOP, PMU_IN_READ };
#define PMU_IN_ALL	31

/* ---- core.c ---- */

int core_init(struct dentry *dir);
void core_exit(void);
/* Lets the sampled events of this CPU overflow, if their periods are over. Called in NMI. */
void core_interrupt(struct pt_regs *regs);
/* Sets the total of PMU_EVENT_WRITTEN on a CPU, in any context. */
void core_set(int cpu, u64 total);
/* The same, and makes an interrupt there. */
int core_write(int cpu, u64 total);

/* ---- uncore.c ---- */

int uncore_init(struct dentry *dir);
void uncore_exit(void);

/* ---- odd.c ---- */

int odd_init(struct dentry *dir);
void odd_exit(void);

/* ---- precise.c ---- */

int precise_init(void);
void precise_exit(void);
/* Lets the precise events of this CPU overflow. Called in NMI. */
void precise_interrupt(struct pt_regs *regs);

/* ---- pmi.c ---- */

int pmi_init(struct dentry *dir);
void pmi_exit(void);
/* The functions in which an interrupt comes: bits PMU_IN_*. */
extern unsigned long pmi_functions;
/* Makes an interrupt on this CPU, if the test wants one in that function. */
void pmi_in(unsigned int function);
/* Makes an interrupt on this CPU. */
void pmi(void);
/* Lets an event overflow. Called in an interrupt. */
void pmi_overflow(struct perf_event *event, struct perf_sample_data *data,
		  struct pt_regs *regs);
/* Called in each interrupt, before the events overflow. */
extern void (*pmi_hook)(struct pt_regs *regs);

#endif /* PMU_H */
