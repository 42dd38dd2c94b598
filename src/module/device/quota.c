// SPDX-License-Identifier: GPL-2.0
/*
 * Quotas of users: how many files, perf events and bytes their files may take.
 *
 *	insmod tally.ko files_per_user=100
 *	echo 1000 > /sys/module/tally/parameters/files_per_user
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <uapi/linux/tally.h>
#include "base/account.h"
#include "builder/builder.h"
#include "device/quota.h"

static unsigned int files_per_user = 1024;
module_param(files_per_user, uint, 0644);
MODULE_PARM_DESC(files_per_user, "Files of events that one user may have open (default 1024, 0: any number)");

static unsigned int events_per_user = 65536;
module_param(events_per_user, uint, 0644);
MODULE_PARM_DESC(events_per_user, "perf events that the files of one user may have, one for each event and CPU (default 65536, 0: any number)");

/**
 * struct tally_quota - what the files of a user take
 * @node: node in the list of quotas
 * @uid: the user
 * @charges: number of charges; the last one that is given back frees the quota
 * @files: number of files
 * @events: number of perf events
 * @account: memory: of the charges, and of what files take later
 * @rcu: frees the quota after the tracepoints that may still charge @account
 */
struct tally_quota {
	struct list_head node;
	kuid_t uid;
	unsigned long charges;
	u64 files;
	u64 events;
	struct tally_account account;
	struct rcu_head rcu;
};

/* Guards the list, which is short, the numbers in it, and those of charges. */
static DEFINE_SPINLOCK(quotas_lock);
static LIST_HEAD(quotas);

static struct tally_quota *find(kuid_t uid)
{
	struct tally_quota *q;

	lockdep_assert_held(&quotas_lock);
	list_for_each_entry(q, &quotas, node)
		if (uid_eq(q->uid, uid))
			return q;
	return NULL;
}

static void forget_unused(struct tally_quota *q)
{
	lockdep_assert_held(&quotas_lock);
	if (q->charges)
		return;
	list_del(&q->node);
	kfree_rcu(q, rcu);
}

/*
 * Returns the user who pays. A user has many uids in user namespaces of his own, and pays for
 * all of them. Those in a namespace that root made are other users.
 */
static kuid_t payer(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? current_uid() : ns->owner;
}

/* Keeps the error, and returns it. Only the user who pays learns what he takes. */
static int refuse(const struct tally_quota *q, u64 wanted, const char *limit, u64 most,
		  struct tally_builder *b)
{
	if (!uid_eq(q->uid, payer()))
		return tally_bad(b, -EDQUOT, "the user of the leader's file would exceed %s=%llu",
				 limit, most);
	return tally_bad(b, -EDQUOT, "user %u would take %llu, of %s=%llu",
			 from_kuid_munged(current_user_ns(), q->uid), wanted, limit, most);
}

/* Takes more for a charge, within the module parameters, which may change any time. */
static int grow(struct tally_quota *q, unsigned int more_files, unsigned int more_events,
		u64 more_bytes, struct tally_builder *b)
{
	unsigned int files = READ_ONCE(files_per_user);
	unsigned int events = READ_ONCE(events_per_user);

	lockdep_assert_held(&quotas_lock);
	b->stage = TALLY_STAGE_LIMIT;
	if (files && more_files && q->files + more_files > files)
		return refuse(q, q->files + more_files, "files_per_user", files, b);
	if (events && more_events && q->events + more_events > events)
		return refuse(q, q->events + more_events, "events_per_user", events, b);
	if (!tally_account_charge(&q->account, more_bytes))
		return refuse(q, (atomic64_read(&q->account.bytes) + more_bytes) >> 10,
			       "kbytes_per_user", tally_account_limit() >> 10, b);
	q->files += more_files;
	q->events += more_events;
	return 0;
}

/**
 * tally_quota_charge - charge the current user, or who made the user's namespace
 * @charge: receives the charge; tally_quota_uncharge() does nothing after an error
 * @files: number of files
 * @events: number of perf events
 * @bytes: memory in bytes
 * @b: receives the error message
 *
 * Context: Process context, may sleep.
 * Return: 0; EDQUOT if it exceeds the quota, ENOMEM.
 */
int tally_quota_charge(struct tally_charge *charge, unsigned int files,
		       unsigned int events, u64 bytes, struct tally_builder *b)
{
	struct tally_quota *q, *new = NULL;
	int err;

	charge->quota = NULL;
	charge->files = files;
	charge->events = events;
	charge->bytes = bytes;
	spin_lock(&quotas_lock);
	q = find(payer());
	if (!q) {
		spin_unlock(&quotas_lock);
		new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
		if (!new)
			return tally_builder_failed(b, -ENOMEM, -1);
		new->uid = payer();
		spin_lock(&quotas_lock);
		q = find(new->uid);
	}
	if (!q) {
		list_add(&new->node, &quotas);
		q = new;
		new = NULL;
	}
	err = grow(q, files, events, bytes, b);
	if (!err) {
		q->charges++;
		charge->quota = q;
	}
	forget_unused(q);
	spin_unlock(&quotas_lock);
	kfree(new);
	return err;
}

/**
 * tally_quota_add - charge more to the user of a charge, who need not be the current user
 * @charge: the charge, which tally_quota_uncharge() gives back with what was added
 * @events: number of perf events more
 * @bytes: memory in bytes more
 * @b: receives the error message
 *
 * Context: Process context.
 * Return: 0; EDQUOT if it exceeds the quota.
 */
int tally_quota_add(struct tally_charge *charge, unsigned int events, u64 bytes,
		    struct tally_builder *b)
{
	int err;

	spin_lock(&quotas_lock);
	err = grow(charge->quota, 0, events, bytes, b);
	if (!err) {
		charge->events += events;
		charge->bytes += bytes;
	}
	spin_unlock(&quotas_lock);
	return err;
}

/* Gives a part of a charge back. */
void tally_quota_sub(struct tally_charge *charge, unsigned int events, u64 bytes)
{
	spin_lock(&quotas_lock);
	charge->events -= events;
	charge->bytes -= bytes;
	charge->quota->events -= events;
	tally_account_uncharge(&charge->quota->account, bytes);
	spin_unlock(&quotas_lock);
}

/* Gives a charge back. A second call does nothing. */
void tally_quota_uncharge(struct tally_charge *charge)
{
	struct tally_quota *q = charge->quota;

	if (!q)
		return;
	spin_lock(&quotas_lock);
	q->charges--;
	q->files -= charge->files;
	q->events -= charge->events;
	tally_account_uncharge(&q->account, charge->bytes);
	forget_unused(q);
	spin_unlock(&quotas_lock);
	charge->quota = NULL;
}

/* The account for memory that is taken later, and given back before @charge is. */
struct tally_account *tally_quota_account(const struct tally_charge *charge)
{
	return charge->quota ? &charge->quota->account : NULL;
}

void tally_quota_limits(struct tally_info *info)
{
	info->files_per_user = READ_ONCE(files_per_user);
	info->events_per_user = READ_ONCE(events_per_user);
	info->memory_per_user = tally_account_limit();
}
