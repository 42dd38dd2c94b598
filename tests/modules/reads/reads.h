/* SPDX-License-Identifier: GPL-2.0 */
#ifndef READS_H
#define READS_H

#include <linux/types.h>
#include <tally/tally.h>
#include "tap.h"

extern struct tap tap;
extern bool has_pmu, has_nmi;

/* Counts exactly as often as it is called, for a kprobe on it. */
void step(void);
void *step_point(void);
void steps(unsigned int n);
struct tally_event *build(struct tally_builder *b, const char *what);
void on_target(struct tally_builder *b, int target);
const char *target_name(int target);

/* Where an event counts. */
enum { ON_CPU, ON_ALL, ON_TASK, NR_TARGETS };

void test_local(void);
void test_sets(void);
void test_bad_sets(void);
/* Steps, and writes to a word that is watched; whether so many of those are right. */
void cause(unsigned int n);
bool is_writes(u64 got, u64 want);

int measure_section(struct tally_set *set, unsigned int n, u64 *out);
/* Of five members: steps, writes, steps, and two more; disabled. */
void test_sections(struct tally_set *set, const char *what);
void test_stranded(void);
void test_publish(unsigned long reads);

/* A set that is published: 0, or why it cannot be had. */
int once_begin(void);
void once_end(void);

/* Readers that go on until they are told to stop; their results are in the log. */
int hotplug_start(void);
void hotplug_stop(void);

/* A great many reads, of three events of the one who opened them. */
struct many *many_open(void);
void many_read(struct many *many, unsigned int calls);
unsigned int many_failed(const struct many *many);
void many_close(struct many *many);

#endif /* READS_H */
