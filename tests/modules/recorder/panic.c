// SPDX-License-Identifier: GPL-2.0
/*
 * Flight recorders after a panic. The records are found as in a dump of the memory: by
 * the address of tally_flight_recorders, list=ADDRESS, and the structs that it links.
 *
 *	insmod tally_recorder.ko mode=panic list=ADDRESS	20 records on each CPU
 *	insmod tally_recorder.ko mode=gone list=ADDRESS		the recorder is released
 *	insmod tally_recorder.ko mode=inside list=ADDRESS	panics in the 4th record
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/panic_notifier.h>
#include "event/event.h"
#include "record/output.h"
#include "record/recorder.h"
#include "record/ring.h"
#include "recorder.h"

static unsigned long list;
module_param(list, ulong, 0444);
MODULE_PARM_DESC(list, "Where tally_flight_recorders is");

/* Prints the first words of each record of this module. */
static void show_ring(const struct tally_recorder *rec, unsigned int slot,
		      const struct tally_ring *r)
{
	unsigned long head = r->page->data_head, left = min(-head, r->size);
	const void *at = r->data + (head & (r->size - 1));
	unsigned int good = 0, strange = 0;
	const struct sample *s;

	for (; left >= sizeof(*s); at += sizeof(*s), left -= sizeof(*s)) {
		s = at;
		if (s->h.type == PERF_RECORD_SAMPLE && s->h.size == sizeof(*s) &&
		    s->cpu == slot && s->ip && s->time)
			good++;
		else
			strange++;
	}
	pr_emerg("%s on cpu %u: %u records, %u strange\n", rec->out->ev->name, slot, good,
		 strange);
}

/* This notifier runs after the rings are frozen: its calls are not recorded. */
static int show(struct notifier_block *nb, unsigned long unused, void *text)
{
	const struct tally_recorder *rec;
	const struct tally_ring *r;
	unsigned int i, nr = 0;

	call_probed(5);
	list_for_each_entry(rec, (struct list_head *)list, node) {
		nr++;
		for (i = 0; i < rec->out->nr_slots; i++) {
			/* A CPU that the panic has stopped may be offline. */
			r = rcu_access_pointer(rec->out->slots[i].ring);
			if (r)
				show_ring(rec, i, r);
		}
	}
	pr_emerg("%u recorders\n", nr);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = show,
	.priority = -1,
};

static struct tally_event *build_flight(struct tally_what what, const char *name, u64 period)
{
	struct tally_builder b;

	tally_builder_init(&b, what);
	tally_builder_name(&b, name);
	tally_builder_period(&b, period);
	tally_builder_sample_type(&b, TYPE);
	tally_builder_ring(&b, PAGE_SIZE, TALLY_RING_BACKWARD | TALLY_RING_PANIC);
	return tally_build(&b);
}

int before_panic(struct tally_event **ev)
{
	int cpu;

	*ev = build_flight(probe(), "flight", 1);
	if (IS_ERR(*ev))
		return PTR_ERR(*ev);
	for_each_online_cpu(cpu)
		call_probed_on(cpu, 20);
	atomic_notifier_chain_register(&panic_notifier_list, &notifier);
	return 0;
}

int gone_before_panic(void)
{
	struct tally_event *ev;
	int err = before_panic(&ev);

	return err ?: tally_event_release(ev);
}

static void on_commit(struct tally_event *ev, const struct tally_sample *s, void *context)
{
	if (s->sequence == 4)
		panic("tally_recorder: in the middle of the 4th record of cpu %u", s->cpu);
}

int panic_inside(struct tally_event **ev)
{
	struct tally_builder b;
	struct tally_event *watch;

	/* This event is built first, so that it overflows in each record. */
	tally_builder_init(&b, inside_probe());
	tally_builder_period(&b, 1);
	tally_builder_on_overflow(&b, on_commit, NULL);
	watch = tally_build(&b);
	if (IS_ERR(watch)) {
		pr_err("no probe in tally: %s\n", tally_builder_why(&b));
		return PTR_ERR(watch);
	}
	atomic_notifier_chain_register(&panic_notifier_list, &notifier);
	*ev = build_flight(TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK), "clock",
			   10 * NSEC_PER_MSEC);
	if (IS_ERR(*ev))
		return PTR_ERR(*ev);
	msleep(20000);
	return 0;
}

void after_panic(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &notifier);
}
