/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CGROUP_H
#define TALLY_CGROUP_H

#include <linux/cgroup.h>
#include <linux/string_helpers.h>
#include <linux/types.h>

/*
 * Flags and characters for string_escape_mem(). In a line, and in the files of
 * an event, the path of a cgroup has \OOO, an octal number, for each byte that
 * ends a word or a line, that is not printable ASCII, or that is a backslash.
 * tally_cgroup_unescape() reads such a path, and keeps a backslash without an
 * octal digit behind it: systemd's "a\x2db.slice" is a path as it stands.
 */
#define TALLY_CGROUP_ESCAPES	(ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND)
#define TALLY_CGROUP_ESCAPED	" ;\\"

int tally_cgroup_by_path(const char *path, u64 *id);
int tally_cgroup_by_fd(int fd, u64 *id);
struct cgroup_subsys_state *tally_cgroup_find(u64 id);
void tally_cgroup_get(struct cgroup_subsys_state *css);
void tally_cgroup_put(struct cgroup_subsys_state *css);
char *tally_cgroup_path(struct cgroup_subsys_state *css);
u64 tally_cgroup_id(const struct cgroup_subsys_state *css);
bool tally_cgroup_unescape(char *path);

/* Returns whether the cgroup, if any, is removed: it has no task any more. Any context. */
static inline bool tally_cgroup_is_removed(const struct cgroup_subsys_state *css)
{
#ifdef CONFIG_CGROUP_PERF
	return css && css_is_dying((struct cgroup_subsys_state *)css);
#else
	return false;
#endif
}

/* Returns whether a task is in the cgroup or below it; true for NULL. Under RCU. */
static inline bool tally_cgroup_has(const struct cgroup_subsys_state *css, struct task_struct *task)
{
#ifdef CONFIG_CGROUP_PERF
	return !css || cgroup_is_descendant(task_css_check(task, perf_event_cgrp_id, true)->cgroup,
					    css->cgroup);
#else
	return true;
#endif
}

#endif /* TALLY_CGROUP_H */
