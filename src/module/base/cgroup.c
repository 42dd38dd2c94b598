// SPDX-License-Identifier: GPL-2.0
/*
 * Cgroups of the hierarchy that has perf's controller: cgroup2, or a hierarchy of cgroup1.
 *
 * The kernel exports no search by path or file for cgroup1. The searches by path and by number here
 * go through the controller's cgroups, under RCU, and compare.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernfs.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include "base/cgroup.h"

/* Unescapes a path in place. Returns whether it is a path: it has no NUL inside. */
bool tally_cgroup_unescape(char *path)
{
	size_t len = string_unescape_inplace(path, UNESCAPE_OCTAL);

	return len == strlen(path);
}

#ifdef CONFIG_CGROUP_PERF

/* Returns perf's state of the root: the same one, whichever hierarchy has perf's controller. */
static struct cgroup_subsys_state *root_state(void)
{
	return task_css_check(&init_task, perf_event_cgrp_id, 1);
}

/* Cgroups after which a search lets others have the CPU: there may be tens of thousands. */
#define STEPS	256

/* As css_next_descendant_pre(), under RCU, which is given up for a moment at times. */
static struct cgroup_subsys_state *next_state(struct cgroup_subsys_state *css, unsigned int *steps)
{
	if (css && !(++*steps % STEPS) && css_tryget(css)) {
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
		/* The state is freed after a grace period. */
		css_put(css);
	}
	return css_next_descendant_pre(css, root_state());
}

/* How many cgroups are above the one at a path, which neither begins nor ends with a slash. */
static int level_of(const char *path, size_t len)
{
	int level = !!len;

	while (len--)
		level += *path++ == '/';
	return level;
}

/**
 * tally_cgroup_by_path - find a cgroup by its path
 * @path: path from the root of the hierarchy; slashes at either end are ignored
 * @id: receives the number of the cgroup
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT; ENOMEM; EINVAL in a kernel without CONFIG_CGROUP_PERF.
 */
int tally_cgroup_by_path(const char *path, u64 *id)
{
	struct cgroup_subsys_state *css = NULL;
	unsigned int steps = 0;
	int err = -ENOENT, level;
	size_t len;
	char *buf;

	buf = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	path += strspn(path, "/");
	for (len = strlen(path); len && path[len - 1] == '/'; len--)
		;
	level = level_of(path, len);
	rcu_read_lock();
	while ((css = next_state(css, &steps))) {
		/* A cgroup that is removed stays in the list while it has events. */
		if (css->cgroup->level != level || css_is_dying(css) ||
		    cgroup_path(css->cgroup, buf, PATH_MAX) < 0 ||
		    strlen(buf + 1) != len || strncmp(buf + 1, path, len))
			continue;
		*id = cgroup_id(css->cgroup);
		err = 0;
		break;
	}
	rcu_read_unlock();
	kfree(buf);
	return err;
}

/**
 * tally_cgroup_by_fd - find a cgroup by a descriptor of its directory
 * @fd: the descriptor, of the current task
 * @id: receives the number of the cgroup
 *
 * Context: Process context, may sleep.
 * Return: 0, also for a removed cgroup that is not freed yet, which tally_cgroup_find() refuses;
 * EBADF if @fd is no directory of a cgroup; ENOENT if the cgroup is freed, or perf's controller is
 * in another hierarchy; EINVAL in a kernel without CONFIG_CGROUP_PERF.
 */
int tally_cgroup_by_fd(int fd, u64 *id)
{
	struct file *file = fget(fd);
	struct kernfs_node *node;
	struct cgroup *cgroup;
	struct inode *inode;
	int err = -EBADF;

	if (!file)
		return -EBADF;
	inode = file_inode(file);
	if ((inode->i_sb->s_magic == CGROUP_SUPER_MAGIC ||
	     inode->i_sb->s_magic == CGROUP2_SUPER_MAGIC) && S_ISDIR(inode->i_mode)) {
		node = inode->i_private;
		rcu_read_lock();
		cgroup = rcu_dereference(*(void __rcu __force **)&node->priv);
		err = cgroup && cgroup->root == root_state()->cgroup->root ? 0 : -ENOENT;
		if (!err)
			*id = cgroup_id(cgroup);
		rcu_read_unlock();
	}
	fput(file);
	return err;
}

/**
 * tally_cgroup_find - find a cgroup by its number
 * @id: number of the cgroup
 *
 * Context: Process context, may sleep.
 * Return: perf's state of the cgroup, with a reference; ENOENT if the cgroup is
 * removed; EINVAL in a kernel without CONFIG_CGROUP_PERF.
 */
struct cgroup_subsys_state *tally_cgroup_find(u64 id)
{
	struct cgroup_subsys_state *css = NULL, *found = ERR_PTR(-ENOENT);
	unsigned int steps = 0;

	rcu_read_lock();
	while ((css = next_state(css, &steps))) {
		if (cgroup_id(css->cgroup) != id)
			continue;
		if (css_tryget_online(css))
			found = css;
		break;
	}
	rcu_read_unlock();
	return found;
}

void tally_cgroup_get(struct cgroup_subsys_state *css)
{
	if (css)
		css_get(css);
}

void tally_cgroup_put(struct cgroup_subsys_state *css)
{
	if (css)
		css_put(css);
}

/* Returns the number of the cgroup. Any context. */
u64 tally_cgroup_id(const struct cgroup_subsys_state *css)
{
	return cgroup_id(css->cgroup);
}

/* Returns the path, also of a cgroup that is removed, for kfree(); NULL without memory. */
char *tally_cgroup_path(struct cgroup_subsys_state *css)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL);

	if (path && cgroup_path(css->cgroup, path, PATH_MAX) < 0)
		strscpy(path, "?", PATH_MAX);
	return path;
}

#else /* !CONFIG_CGROUP_PERF */

int tally_cgroup_by_path(const char *path, u64 *id)
{
	return -EINVAL;
}

int tally_cgroup_by_fd(int fd, u64 *id)
{
	return -EINVAL;
}

struct cgroup_subsys_state *tally_cgroup_find(u64 id)
{
	return ERR_PTR(-EINVAL);
}

void tally_cgroup_get(struct cgroup_subsys_state *css)
{
}

void tally_cgroup_put(struct cgroup_subsys_state *css)
{
}

u64 tally_cgroup_id(const struct cgroup_subsys_state *css)
{
	return 0;
}

char *tally_cgroup_path(struct cgroup_subsys_state *css)
{
	return NULL;
}

#endif
