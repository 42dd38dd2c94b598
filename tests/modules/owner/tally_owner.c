// SPDX-License-Identifier: GPL-2.0
/*
 * Builds an event, "owned", and releases it when the module is unloaded.
 *
 *	insmod tally_owner.ko kind=event|set|group|overflow [forget=1]
 *
 * With forget, the module does not release the event: tally does when it is unloaded.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "kernels.h"

static char *kind = "event";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "event (default), set, group or overflow");

static bool forget;
module_param(forget, bool, 0444);
MODULE_PARM_DESC(forget, "Do not release it");

static struct tally_event *event;
static struct tally_set *set;
static struct tally_builder builders[3];

static void count(struct tally_event *ev, const struct tally_sample *sample,
		  void *context)
{
}

static int __init owner_init(void)
{
	struct tally_builder *b = builders;

	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_name(b, "owned");
	if (!strcmp(kind, "set")) {
		tally_builder_init(b + 1, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
		set = tally_set_build(b, 2);
		return PTR_ERR_OR_ZERO(set);
	}
	if (!strcmp(kind, "group")) {
		tally_builder_init(b, TALLY_RAW(0x11));
		tally_builder_init(b + 1, TALLY_RAW(0x23));
		tally_builder_init(b + 2, TALLY_RAW(0x24));
		tally_builder_name(b, "owned");
		set = tally_set_build(b, 3);
		return PTR_ERR_OR_ZERO(set);
	}
	if (!strcmp(kind, "overflow")) {
		tally_builder_period(b, 10);
		tally_builder_on_overflow(b, count, NULL);
	}
	event = tally_build(b);
	return PTR_ERR_OR_ZERO(event);
}

static void __exit owner_exit(void)
{
	if (forget)
		return;
	tally_set_release(set);
	tally_event_release(event);
}

module_init(owner_init);
module_exit(owner_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("The owner of an event, for tests");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
