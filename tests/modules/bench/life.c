// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of making and releasing one more event, with few and with many other events,
 * of tally and of perf.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include "bench.h"

#define MOST	1000

/* The same three calls for the events of tally and of perf. */
struct peer {
	const char *name;
	void *(*create)(bool enabled);
	void (*read)(void *event);
	void (*release)(void *event);
};

static void *tally_create(bool enabled)
{
	struct tally_builder b;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_on_cpu(&b, 0);
	if (!enabled)
		tally_builder_disabled(&b);
	return tally_build(&b);
}

static void tally_read(void *event)
{
	struct tally_count count;

	tally_event_read(event, &count);
}

static void tally_release(void *event)
{
	tally_event_release(event);
}

static void *perf_create(bool enabled)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.disabled = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	if (!IS_ERR(event) && enabled)
		perf_event_enable(event);
	return event;
}

static void perf_read(void *event)
{
	u64 enabled, running;

	perf_event_read_value(event, &enabled, &running);
}

static void perf_release(void *event)
{
	perf_event_release_kernel(event);
}

static const struct peer tally_peer = {
	"tally", tally_create, tally_read, tally_release
};

static const struct peer perf_peer = {
	"perf", perf_create, perf_read, perf_release
};

struct cost {
	u64 create;
	u64 read;
	u64 release;
};

/* Returns the cost of an event of MOST that are made, and then released, one after the other. */
static u64 measure_row(const struct peer *peer, void **events)
{
	u64 begin = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < MOST; i++)
		events[i] = peer->create(true);
	for (i = 0; i < MOST; i++)
		peer->release(events[i]);
	return div_u64((ktime_get_ns() - begin) * 10, MOST);
}

static const unsigned int populations[] = { 10, 100, MOST };

static int measure_once(const struct peer *peer, bool enabled,
			struct cost *cost)
{
	u64 t[4];
	void *event;

	t[0] = ktime_get_ns();
	event = peer->create(enabled);
	t[1] = ktime_get_ns();
	if (IS_ERR(event))
		return PTR_ERR(event);
	peer->read(event);
	t[2] = ktime_get_ns();
	peer->release(event);
	t[3] = ktime_get_ns();
	cost->create = min(cost->create, t[1] - t[0]);
	cost->read = min(cost->read, t[2] - t[1]);
	cost->release = min(cost->release, t[3] - t[2]);
	return 0;
}

static int measure_life(const struct peer *peer, bool enabled, struct cost *cost)
{
	unsigned int i;
	int err = 0;

	memset(cost, 0xff, sizeof(*cost));
	for (i = 0; i < ROUNDS && !err; i++)
		err = measure_once(peer, enabled, cost);
	return err;
}

static int populate(const struct peer *peer, bool enabled, void **events,
		    unsigned int *have, unsigned int want)
{
	for (; *have < want; (*have)++) {
		events[*have] = peer->create(enabled);
		if (IS_ERR(events[*have]))
			return PTR_ERR(events[*have]);
	}
	return 0;
}

/* Fills @costs for each number of events, and releases all events. */
static int grow(const struct peer *peer, bool enabled, struct cost *costs)
{
	unsigned int have = 0, i;
	void **events;
	int err = 0;

	events = kvcalloc(MOST, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(populations) && !err; i++) {
		err = populate(peer, enabled, events, &have, populations[i]);
		if (!err)
			err = measure_life(peer, enabled, &costs[i]);
	}
	while (have)
		peer->release(events[--have]);
	kvfree(events);
	return err;
}

static void print(const struct peer *peer, const char *kind, const struct cost *costs)
{
	unsigned int i;
	char name[32];

	for (i = 0; i < ARRAY_SIZE(populations); i++) {
		scnprintf(name, sizeof(name), "%s_create_%u", peer->name,
			  populations[i]);
		figure(&tap, kind, name, costs[i].create * 10);
		scnprintf(name, sizeof(name), "%s_read_%u", peer->name,
			  populations[i]);
		figure(&tap, kind, name, costs[i].read * 10);
		scnprintf(name, sizeof(name), "%s_release_%u", peer->name,
			  populations[i]);
		figure(&tap, kind, name, costs[i].release * 10);
	}
}

static void compare(const char *kind, bool enabled)
{
	struct cost costs[ARRAY_SIZE(populations)];

	if (tap_ok(&tap, !grow(&perf_peer, enabled, costs),
		   "1000 bare perf events"))
		print(&perf_peer, kind, costs);
	if (tap_ok(&tap, !grow(&tally_peer, enabled, costs),
		   "1000 events of tally"))
		print(&tally_peer, kind, costs);
}

/* For a tally without debugfs, where events have no folder. */
void measure_lives_alone(void)
{
	void **events = kvcalloc(MOST, sizeof(*events), GFP_KERNEL);

	compare("alone", true);
	if (tap_ok(&tap, events, "memory")) {
		figure(&tap, "alone", "perf_row", measure_row(&perf_peer, events));
		figure(&tap, "alone", "tally_row", measure_row(&tally_peer, events));
	}
	kvfree(events);
}

void measure_lives(void)
{
	compare("disabled", false);
	compare("enabled", true);
}
