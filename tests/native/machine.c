// SPDX-License-Identifier: GPL-2.0
/*
 * The machine that the sources under test ask: its PMUs, functions and tracepoints, all made
 * up. And the cases that need a real one.
 */
#include <kunit/test.h>
#include "arch/addr.h"
#include "arch/regs.h"
#include "base/cgroup.h"
#include "base/clock.h"
#include "base/kick.h"
#include "base/kprobe.h"
#include "base/pmu.h"
#include "base/pmu_files.h"
#include "builder/builder.h"
#include "record/ring.h"
#include "native.h"

/* Why a case is left out here; NULL if it is not. */
const char *native_skips(const char *name)
{
	static const char *const skips[][2] = {
		{ "tally_name.name_kprobe", "needs a kernel probe on a function of the test" },
		{ "tally_line.line_long_event", "needs perf, to build an event" },
		{ "tally_line.line_builds", "needs perf, to build an event" },
		{ "tally_filter.filter_left_out", "needs the kernel's filters" },
		{ "tally_filter.filter_events", "needs the kernel's trace events" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(skips); i++)
		if (!strcmp(skips[i][0], name))
			return skips[i][1];
	return NULL;
}

/* ---- PMUs and their files ---- */

#define CORE	10	/* a PMU of the CPUs */

struct device {
	const char *name;
	u32 type;
	struct attribute files[9];
	const char *texts[9];
};

static struct device pmus[] = {
	{ "software", PERF_TYPE_SOFTWARE },
	{ "kprobe", 8, { { "format/retprobe" } }, { "config:0" } },
	{ "made", 9, {
		{ "format/event" }, { "format/umask" }, { "format/far" }, { "format/two" },
		{ "events/loads" }, { "events/loads.scale" }, { "events/loads.unit" },
		{ "events/tuned" },
	}, {
		"config:0-7,32-35", "config:8-15", "config2:4-7,60-63", "config1:0-1",
		"event=0xcd,umask=0x2", "6.1e-5", "MiB", "event=1,far=?",
	} },
	{ "core", CORE, { { "format/event" } }, { "config:0-7" } },
};

int tally_pmu_type(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pmus); i++)
		if (!strcmp(pmus[i].name, name))
			return pmus[i].type;
	return -ENOENT;
}

bool tally_attr_is_of(const struct perf_event_attr *attr, const char *pmu)
{
	int type = attr->type < PERF_TYPE_MAX ? -ENOENT : tally_pmu_type(pmu);

	return type >= 0 && attr->type == type;
}

int tally_pmu_files_open(struct tally_pmu_files *files, u32 type)
{
	size_t i;

	memset(files, 0, sizeof(*files));
	for (i = 0; i < ARRAY_SIZE(pmus); i++)
		if (pmus[i].type == type)
			files->dev = &pmus[i];
	files->text = kmalloc(PAGE_SIZE, GFP_KERNEL);
	files->page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	return files->dev ? 0 : -ENOENT;
}

void tally_pmu_files_close(struct tally_pmu_files *files)
{
	kfree(files->text);
	kfree(files->page);
}

int tally_pmu_walk(struct device *dev, const char *folder, tally_pmu_file_fn take, void *data)
{
	struct attribute file;
	size_t i, len = strlen(folder);
	int ret = 0;

	for (i = 0; !ret && dev->files[i].name; i++) {
		if (strncmp(dev->files[i].name, folder, len))
			continue;
		file.name = dev->files[i].name + len + 1;
		ret = take(dev, &file, data);
	}
	return ret;
}

bool tally_pmu_read(struct device *dev, const char *folder, const char *name, char *page)
{
	size_t i, len = strlen(folder);

	for (i = 0; dev->files[i].name; i++) {
		if (!strncmp(dev->files[i].name, folder, len) &&
		    !strcmp(dev->files[i].name + len + 1, name)) {
			strscpy(page, dev->texts[i], PAGE_SIZE);
			return true;
		}
	}
	return false;
}

bool tally_pmu_has_event(struct device *dev, const char *name)
{
	char page[PAGE_SIZE];

	return !strchr(name, '.') && tally_pmu_read(dev, "events", name, page);
}

/* ---- other questions to the kernel ---- */

bool tally_pmu_is_core(u32 type)
{
	return type == CORE;
}

int tally_pmu_check_freq(u64 hz)
{
	return hz > 100000 ? -EINVAL : 0;
}

int tally_pmu_max_stack(void)
{
	return PERF_MAX_STACK_DEPTH;
}

int tally_tracepoint_id(const char *system, const char *event)
{
	return strcmp(system, "sched") || strcmp(event, "sched_switch") ? -ENOENT : 314;
}

bool tally_tracepoint_is_uprobe(const char *system, const char *event)
{
	return false;
}

/* Instructions have 4 bytes. There can be no probe on notify_die(). */
int tally_symbol_address(const char *symbol, u64 offset, u64 *addr)
{
	if (!strcmp(symbol, "notify_die") || offset > UINT_MAX || offset % 4)
		return -EINVAL;
	*addr = 0xffffffff81000000ULL + offset;
	return strcmp(symbol, "vfs_read") && strcmp(symbol, "probe_me") ? -ENOENT : 0;
}

void tally_symbol_suggest(const char *symbol, char *text, size_t size)
{
}

int tally_kprobe_check(const char *symbol, u64 offset, u64 addr)
{
	return 0;
}

u64 tally_addr_phys(u64 addr)
{
	return addr;
}

u64 tally_regs_reserved(void)
{
	return 0;
}

int tally_regs_validate(u64 mask)
{
	return mask ? 0 : -EINVAL;
}

static u64 no_time(void)
{
	return 0;
}

tally_clock_fn tally_clock_of(const struct perf_event_attr *attr)
{
	return attr->use_clockid ? NULL : no_time;
}

int tally_cgroup_by_fd(int fd, u64 *id)
{
	return -EBADF;
}

const char *tally_event_name(const struct tally_event *ev)
{
	return "";
}

enum tally_state tally_event_state(struct tally_event *ev)
{
	return TALLY_STATE_OFF;
}

void tally_kick_init(struct tally_kick *kick, void (*run)(struct tally_kick *kick), bool hard)
{
	kick->run = run;
}

void tally_kick(struct tally_kick *kick)
{
	kick->run(kick);
}

void tally_kick_sync(struct tally_kick *kick)
{
}

static void woken(struct tally_ring *r)
{
}

__attribute__((constructor)) static void init(void)
{
	tally_ring_init(woken);
}
