/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RIGHTS_H
#define TALLY_RIGHTS_H

#include <linux/types.h>

struct file;
struct perf_event_attr;
struct tally_builder;
struct task_struct;

bool tally_perfmon_capable(void);
bool tally_perfmon_opened(const struct file *file);
int tally_builder_allow(struct tally_builder *b, const struct perf_event_attr *attr);
int tally_builder_allow_task(struct tally_builder *b, struct task_struct *task);

#endif /* TALLY_RIGHTS_H */
