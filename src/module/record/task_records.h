/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_RECORDS_H
#define TALLY_TASK_RECORDS_H

struct perf_event_attr;
struct tally_budget;
struct tally_output;

unsigned int tally_task_records_kinds(const struct perf_event_attr *attr);
int tally_task_records_add(struct tally_output *out, const struct perf_event_attr *attr,
			   struct tally_budget *budget);

#endif /* TALLY_TASK_RECORDS_H */
