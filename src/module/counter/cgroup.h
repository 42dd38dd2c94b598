/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNTER_CGROUP_H
#define TALLY_COUNTER_CGROUP_H

#include <linux/perf_event.h>

struct perf_event *tally_cgroup_create(const struct perf_event_attr *attr, int cpu,
				       struct cgroup_subsys_state *css,
				       perf_overflow_handler_t handler, void *context);
void tally_cgroup_exit(void);

#endif /* TALLY_COUNTER_CGROUP_H */
