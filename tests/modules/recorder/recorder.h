/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RECORDER_H
#define RECORDER_H

#include <linux/atomic.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <tally/tally.h>
#include "tap.h"

/* The fields of all records of these tests. */
#define TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |	\
		 PERF_SAMPLE_PHYS_ADDR)

#define BUF_SIZE	(256 * 1024)

/* A sample of that type. */
struct sample {
	struct perf_event_header h;
	u64 ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 phys;
};

/* The result of a walk through records. */
struct found {
	u64 samples;
	u64 lost_records;
	u64 lost;
	u64 others;
	u64 wrong;		/* samples with a wrong size, ip, CPU or order */
	u64 time[16];		/* time of the last sample of each CPU */
	struct sample first;	/* first sample of all CPUs */
};

extern struct tap tap;
extern unsigned long word;
extern void *buf;

void probed(void);
void call_probed(unsigned int n);
void call_probed_on(int cpu, unsigned int n);
struct tally_what probe(void);
struct tally_what inside_probe(void);

/* @cpu: CPU of all records, -1 for any. @newest_first: records of a snapshot. */
void walk(struct found *f, const void *at, ssize_t n, int cpu, bool newest_first);
u64 lost_of(struct tally_event *ev);
u64 overflows_of(struct tally_event *ev);
struct tally_event *build(struct tally_builder *b, const char *what);

/* Threads that call the probed function, one on each CPU. */
int producers_start(unsigned int n);
void producers_stop(void);
bool producers_are_done(void);

int before_panic(struct tally_event **ev);
int gone_before_panic(void);
int panic_inside(struct tally_event **ev);
void after_panic(void);

void test_forward(void);
void test_snapshot(void);
void test_refusals(void);

#endif /* RECORDER_H */
