/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RECORD_H
#define TALLY_RECORD_H

#include <linux/types.h>

struct perf_event;
struct perf_event_attr;
struct perf_sample_data;
struct pt_regs;
struct task_struct;
struct tally_output;
struct tally_output_slot;
struct tally_ring;

void tally_record_sample(struct tally_output *out, struct perf_event *event,
			 struct perf_sample_data *data, struct pt_regs *regs);
u64 *tally_record_lost(const struct tally_output *out, u64 *to,
		       const struct perf_event *event, u64 lost);
void tally_record_throttle(struct tally_output *out, struct tally_output_slot *s,
			   struct tally_ring *r, const struct perf_event *event);
void tally_record_task_event(struct tally_output *out, u32 type, u16 misc,
			     struct task_struct *task, const void *body, size_t size);
u32 tally_output_pid(const struct tally_output *out, struct task_struct *p);
u32 tally_output_tid(const struct tally_output *out, struct task_struct *p);
int tally_record_prepare(const struct perf_event_attr *attr);
void tally_record_exit(void);

#endif /* TALLY_RECORD_H */
