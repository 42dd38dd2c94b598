/* SPDX-License-Identifier: GPL-2.0 */
#ifndef READS_H
#define READS_H

#include <linux/types.h>
#include <tally/tally.h>
#include "tap.h"

extern struct tap tap;
extern bool has_pmu, has_nmi;

/* A function for a kprobe, which counts exactly its calls. */
void step(void);
void *step_point(void);
void steps(unsigned int n);
struct tally_event *build(struct tally_builder *b, const char *what);
void on_target(struct tally_builder *b, int target);
const char *target_name(int target);

/* Targets of events. */
enum { ON_CPU, ON_ALL, ON_TASK, NR_TARGETS };

void test_local(void);
void test_sets(void);
void test_bad_sets(void);
/* Makes @n steps, and @n writes to a watched word. is_writes() checks their count. */
void cause(unsigned int n);
bool is_writes(u64 got, u64 want);

int measure_section(struct tally_set *set, unsigned int n, u64 *out);
/* @set: a disabled set of five members: steps, writes, steps, and two others. */
void test_sections(struct tally_set *set, const char *what);
void test_stranded(void);
void test_publish(unsigned long reads);
void test_register(bool want, bool nmi);

/* Builds and publishes a set; returns 0 or an error. */
int once_begin(void);
void once_end(void);

/* Starts and stops readers, which print their results to the log. */
int hotplug_start(void);
void hotplug_stop(void);

/* Many reads of three events, which many_open() makes. */
struct many *many_open(void);
void many_read(struct many *many, unsigned int calls);
unsigned int many_failed(const struct many *many);
void many_close(struct many *many);

#endif /* READS_H */
