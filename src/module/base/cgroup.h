/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CGROUP_H
#define TALLY_CGROUP_H

#include <linux/cgroup.h>
#include <linux/types.h>

int tally_cgroup_by_path(const char *path, u64 *id);
int tally_cgroup_by_fd(int fd, u64 *id);
struct cgroup_subsys_state *tally_cgroup_find(u64 id);
void tally_cgroup_get(struct cgroup_subsys_state *css);
void tally_cgroup_put(struct cgroup_subsys_state *css);
char *tally_cgroup_path(struct cgroup_subsys_state *css);

/* Whether the cgroup, if any, is removed: it has no task any more. Any context. */
static inline bool tally_cgroup_is_removed(const struct cgroup_subsys_state *css)
{
#ifdef CONFIG_CGROUP_PERF
	return css && css_is_dying((struct cgroup_subsys_state *)css);
#else
	return false;
#endif
}

#endif /* TALLY_CGROUP_H */
