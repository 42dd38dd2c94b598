// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting of the pages of rings, together with those of perf's own rings.
 *
 * As for perf, a user may lock an amount of memory for each online CPU, and
 * each process may pin as much as RLIMIT_MEMLOCK says beyond that. Modules
 * cannot read perf's amount, kernel.perf_event_mlock_kb: the parameter
 * mlock_kbytes has the same default. Modules cannot read
 * kernel.perf_event_paranoid either: the limits hold also where it is -1, which
 * lifts them for perf.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/ratelimit.h>
#include <linux/resource.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/user_namespace.h>
#include "base/mlock.h"
#include "compat.h"

static unsigned int mlock_kbytes = 512 + PAGE_SIZE / 1024;
module_param(mlock_kbytes, uint, 0644);
MODULE_PARM_DESC(mlock_kbytes,
		 "KiB of rings that a user may map for each online CPU, beside RLIMIT_MEMLOCK [as kernel.perf_event_mlock_kb]");

/* Pages that a user may lock for all CPUs together. */
static unsigned long allowance(void)
{
	return ((unsigned long)READ_ONCE(mlock_kbytes) >> (PAGE_SHIFT - 10)) *
	       num_online_cpus();
}

/**
 * tally_mlock - charge the current user and process for the pages of a ring
 * @m: receives the charge, for tally_munlock()
 * @pages: number of pages
 *
 * Context: Process context of the process that maps the ring.
 * Return: 0; EPERM, and a line in the log, if the limits do not allow that many.
 */
int tally_mlock(struct tally_mlock *m, unsigned long pages)
{
	unsigned long most = allowance(), limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct user_struct *user = current_user();
	struct mm_struct *mm = current->mm;
	unsigned long had = min_t(unsigned long, atomic_long_read(tally_user_mlock(user)), most);
	unsigned long locked = min(pages, most - had), pinned;

	pinned = atomic64_read(&mm->pinned_vm) + pages - locked;
	if (pages > locked && pinned > limit && !capable(CAP_IPC_LOCK)) {
		pr_info_ratelimited("uid %u: a ring of %lu KiB: %lu KiB of mlock_kbytes are left, and RLIMIT_MEMLOCK is %lu KiB, of which %llu are taken\n",
				    from_kuid(&init_user_ns, user->uid),
				    pages << (PAGE_SHIFT - 10),
				    (most - had) << (PAGE_SHIFT - 10),
				    limit << (PAGE_SHIFT - 10),
				    (u64)atomic64_read(&mm->pinned_vm) << (PAGE_SHIFT - 10));
		return -EPERM;
	}
	/* Not all kernels export free_uid(). */
	m->cred = get_current_cred();
	m->locked = locked;
	m->pinned = pages - locked;
	atomic_long_add(m->locked, tally_user_mlock(user));
	m->mm = mm;
	mmgrab(mm);
	atomic64_add(m->pinned, &mm->pinned_vm);
	return 0;
}

/* Gives a charge back. Nothing happens if there is none. */
void tally_munlock(struct tally_mlock *m)
{
	if (!m->cred)
		return;
	atomic_long_sub(m->locked, tally_user_mlock(m->cred->user));
	put_cred(m->cred);
	atomic64_sub(m->pinned, &m->mm->pinned_vm);
	mmdrop(m->mm);
	m->cred = NULL;
}
