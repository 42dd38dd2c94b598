// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of another one's event, for the files that are attached to it: each has
 * an output of its own, with its own rings, beside what the owner makes of them.
 *
 * The owner says which fields others may have.
 */
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include "builder/builder.h"
#include "event/event.h"
#include "record/output.h"
#include "event/overflow.h"
#include "record/record.h"
#include "record/share.h"

/* What needs no more to be said than that it is wanted, and is the event's own. */
#define SHAREABLE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |	\
		   PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER |		\
		   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |		\
		   PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |		\
		   PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |	\
		   PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

/* Guards the lists of all events; inside that of an attachment. */
static DEFINE_MUTEX(shares_lock);

/* Whether others can have these. */
int tally_share_check(struct tally_builder *b, u64 sample_type)
{
	if (!(sample_type & ~(u64)SHAREABLE))
		return 0;
	return tally_bad(b, -EOPNOTSUPP,
			 "others cannot have such samples: sample_type %#llx",
			 sample_type & ~(u64)SHAREABLE);
}

/**
 * tally_share_begin - samples of an event, also for somebody else
 * @ev: the event, which is not released meanwhile
 * @attr: what the samples are to be like
 *
 * Context: Process context, may sleep.
 * Return: where they go; EACCES for what the owner does not allow, ENOMEM, as an
 * ERR_PTR.
 */
struct tally_output *tally_share_begin(struct tally_event *ev,
				       const struct perf_event_attr *attr)
{
	struct tally_overflow *of = ev->overflow;
	struct tally_output *out;

	if (!of || attr->sample_type & ~ev->shared_type)
		return ERR_PTR(-EACCES);
	if (tally_record_prepare(attr))
		return ERR_PTR(-ENOMEM);
	out = tally_output_new(attr, &ev->counter->target, ev);
	if (!out)
		return ERR_PTR(-ENOMEM);
	out->strip = ev->attr.exclude_kernel;
	mutex_lock(&shares_lock);
	list_add_rcu(&out->share, &of->shares);
	out->shared = true;
	mutex_unlock(&shares_lock);
	mutex_lock(&ev->counter->lock);
	tally_overflow_special(of, TALLY_SPECIAL_SHARED, 0);
	mutex_unlock(&ev->counter->lock);
	return out;
}

static void unlink_share(struct tally_output *out)
{
	lockdep_assert_held(&shares_lock);
	if (out->shared)
		list_del_rcu(&out->share);
	out->shared = false;
}

/* It is gone, and with it the pointer to the event. */
void tally_share_end(struct tally_output *out)
{
	mutex_lock(&shares_lock);
	unlink_share(out);
	mutex_unlock(&shares_lock);
	tally_output_end(out);
	synchronize_rcu();
	tally_output_free(out);
}

/* Nobody can attach to it any more, and a grace period is to follow. */
void tally_shares_end(struct tally_event *ev)
{
	struct tally_output *out, *next;

	if (!ev->overflow || !ev->shared_type)
		return;
	mutex_lock(&shares_lock);
	list_for_each_entry_safe(out, next, &ev->overflow->shares, share)
		unlink_share(out);
	mutex_unlock(&shares_lock);
}
