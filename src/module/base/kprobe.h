/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_KPROBE_H
#define TALLY_KPROBE_H

#include <linux/perf_event.h>
#include <linux/types.h>

/**
 * struct tally_kprobe - trace event of a kernel probe
 * @id: number of the trace event, as config of PERF_TYPE_TRACEPOINT; 0 if there is none
 * @number: number in the name of the trace event
 */
struct tally_kprobe {
	unsigned int id;
	unsigned int number;
};

/* The sentence for a name that tally_kprobe_check() refuses with EADDRNOTAVAIL */
#define TALLY_SEVERAL	"several functions are called '%.40s'"

bool tally_attr_is_kprobe(const struct perf_event_attr *attr);
bool tally_kprobe_wanted(const struct perf_event_attr *attr, bool all_cpus);
int tally_kprobe_check(const char *symbol, u64 offset, u64 addr);
int tally_kprobe_create(struct tally_kprobe *kp, const struct perf_event_attr *attr);
void tally_kprobe_delete(struct tally_kprobe *kp);
void tally_kprobe_exit(void);

#endif /* TALLY_KPROBE_H */
