// SPDX-License-Identifier: GPL-2.0
/* tally list: what can be counted here, and what is counted now. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pfm.h"
#include "attached.h"
#include "tool.h"

#define DEVICES	"/sys/bus/event_source/devices"

enum { KEY_RUNNING = 256, KEY_JSON, KEY_NAMES };

static const struct argp_option options[] = {
	{ "running", KEY_RUNNING, NULL, 0, "The events that are counted now, with their rates", 0 },
	{ "names", KEY_NAMES, NULL, 0, "Print names alone, without rates", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print JSON, an object a line", 0 },
	{ 0 }
};

/**
 * struct list - what is listed
 * @pattern:	shell pattern of the names; '*' is around an argument without '*', '?' and '['
 * @running:	--running
 * @json:	--json
 * @names:	--names
 * @nr:		number of names printed
 * @left_out:	number of events that match, but that no PMU counts
 */
struct list {
	char *pattern;
	bool running;
	bool json;
	bool names;
	int nr;
	int left_out;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct list *l = state->input;

	switch (key) {
	case KEY_RUNNING:
		l->running = true;
		break;
	case KEY_NAMES:
		l->names = true;
		break;
	case KEY_JSON:
		l->json = true;
		break;
	case ARGP_KEY_ARG:
		if (l->pattern)
			argp_error(state, "one pattern is enough");
		if (asprintf(&l->pattern, strpbrk(argument, "*?[") ? "%s" : "*%s*", argument) < 0)
			need(NULL);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool matches(const struct list *l, const char *name)
{
	return !l->pattern || !fnmatch(l->pattern, name, FNM_CASEFOLD);
}

static void print(struct list *l, const char *name, const char *kind, const char *what)
{
	if (!matches(l, name))
		return;
	l->nr++;
	if (l->names) {
		puts(name);
		return;
	}
	if (l->json) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "event", json_object_new_string(name));
		json_object_object_add(o, "kind", json_object_new_string(kind));
		json_object_object_add(o, "description", json_object_new_string(what));
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(o);
		return;
	}
	printf("  %-44s [%s]\n", name, kind);
	if (what[0])
		printf("        %s\n", what);
}

/*
 * Returns whether the kernel says that no PMU counts an event. It does not say so to a user who may
 * not count at all: the event is listed then.
 */
static bool is_refused(__u32 type, __u64 config)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	struct perf_event_attr attr;
	int fd;

	libtally_attr_init(&attr, type, config);
	attr.disabled = 1;
	target.pid = 0;
	fd = libtally_open_event(&attr, &target);
	if (fd == -EACCES) {
		attr.exclude_kernel = 1;
		fd = libtally_open_event(&attr, &target);
	}
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT || fd == -EINVAL || fd == -EOPNOTSUPP || fd == -ENXIO ||
	       fd == -ENODEV;
}

/* Prints a hardware or cache event, unless the PMUs refuse it. */
static void print_hardware(struct list *l, const char *name, const char *what, __u32 type,
			   __u64 config)
{
	if (!matches(l, name))
		return;
	if (is_refused(type, config))
		l->left_out++;
	else
		print(l, name, type == PERF_TYPE_HARDWARE ? "hardware" : "cache", what);
}

static void list_hardware(struct list *l)
{
	static const struct {
		const char *name, *what;
		__u64 config;
	} events[] = {
		{ "cycles", "cycles of the CPU, at its present frequency",
		  PERF_COUNT_HW_CPU_CYCLES },
		{ "instructions", "retired instructions", PERF_COUNT_HW_INSTRUCTIONS },
		{ "cache-references", "accesses to the last-level cache",
		  PERF_COUNT_HW_CACHE_REFERENCES },
		{ "cache-misses", "misses of the last-level cache", PERF_COUNT_HW_CACHE_MISSES },
		{ "branches", "retired branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ "branch-misses", "mispredicted branches", PERF_COUNT_HW_BRANCH_MISSES },
		{ "bus-cycles", "cycles of the bus", PERF_COUNT_HW_BUS_CYCLES },
		{ "stalled-cycles-frontend", "cycles without instructions to issue",
		  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
		{ "stalled-cycles-backend", "cycles that wait for results",
		  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
		{ "ref-cycles", "cycles at a fixed frequency", PERF_COUNT_HW_REF_CPU_CYCLES },
		{ "cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES },
		{ "branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ "idle-cycles-frontend", "stalled-cycles-frontend",
		  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
		{ "idle-cycles-backend", "stalled-cycles-backend",
		  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	};
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		print_hardware(l, events[i].name, events[i].what, PERF_TYPE_HARDWARE,
			       events[i].config);
}

/* The names are in the order of the numbers of <linux/perf_event.h>. */
static void list_caches(struct list *l)
{
	static const char *const caches[] = {
		"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
	};
	static const char *const operations[] = {
		"loads", "load-misses", "stores", "store-misses", "prefetches", "prefetch-misses",
	};
	char name[64];
	size_t i, j;

	for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		for (j = 0; j < sizeof(operations) / sizeof(operations[0]); j++) {
			snprintf(name, sizeof(name), "%s-%s", caches[i], operations[j]);
			print_hardware(l, name, "", PERF_TYPE_HW_CACHE,
				       i | (j / 2) << 8 | (j % 2) << 16);
		}
	}
}

static void list_generic(struct list *l)
{
	static const struct {
		const char *name, *what;
	} events[] = {
		{ "cpu-clock", "time of CPUs" },
		{ "task-clock", "time that tasks run" },
		{ "page-faults", "faults of memory accesses" },
		{ "minor-faults", "faults that need no disk" },
		{ "major-faults", "faults that wait for a disk" },
		{ "context-switches", "switches from task to task" },
		{ "cpu-migrations", "moves of tasks to another CPU" },
		{ "alignment-faults", "accesses that the kernel aligns" },
		{ "emulation-faults", "instructions that the kernel emulates" },
		{ "bpf-output", "records of BPF programs" },
		{ "cgroup-switches", "switches to a task of another cgroup" },
		{ "dummy", "nothing" },
		{ "faults", "page-faults" },
		{ "cs", "context-switches" },
		{ "migrations", "cpu-migrations" },
	};
	size_t i;

	list_hardware(l);
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		print(l, events[i].name, "software", events[i].what);
	list_caches(l);
	print(l, "rNNN", "raw", "a code in hexadecimal digits");
	print(l, "mem:ADDRESS/LENGTH:rwx", "breakpoint", "");
	print(l, "kprobe:SYMBOL+OFFSET", "probe", "");
	print(l, "kretprobe:SYMBOL", "probe", "");
	print(l, "func:SYMBOL{EVENT,...}", "function", "tally create only: counts of a function");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Calls a function for each name in a folder, sorted. Returns false without the folder. */
static bool each_name(const char *path, struct list *l,
		      void (*call)(struct list *l, const char *path, const char *name))
{
	struct dirent **names;
	int nr = scandir(path, &names, is_visible, by_name), i;

	if (nr < 0)
		return false;
	for (i = 0; i < nr; i++) {
		call(l, path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return true;
}

static void list_pmu_event(struct list *l, const char *path, const char *event)
{
	static const char *const parts[] = { ".scale", ".unit", ".snapshot", ".per-pkg" };
	char name[512], file[4096], terms[256] = "", unit[64] = "", what[512];
	const char *dot = strrchr(event, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(dot, parts[i]))
			return;
	/* path is DEVICES/PMU/events. */
	snprintf(name, sizeof(name), "%.*s/%s/",
		 (int)(strlen(path) - strlen(DEVICES "/") - strlen("/events")),
		 path + strlen(DEVICES "/"), event);
	snprintf(file, sizeof(file), "%s/%s", path, event);
	read_line(file, terms, sizeof(terms));
	snprintf(file, sizeof(file), "%s/%s.unit", path, event);
	read_line(file, unit, sizeof(unit));
	snprintf(file, sizeof(file), "%s/%s.snapshot", path, event);
	snprintf(what, sizeof(what), "%s%s%s%s%s", terms, unit[0] ? " (in " : "", unit,
		 unit[0] ? ")" : "", access(file, F_OK) ? "" : ", a gauge");
	print(l, name, "PMU", what);
}

static void list_pmu(struct list *l, const char *path, const char *pmu)
{
	char events[4096];

	snprintf(events, sizeof(events), "%s/%s/events", path, pmu);
	each_name(events, l, list_pmu_event);
}

static void list_tracepoint(struct list *l, const char *path, const char *event)
{
	char name[512], file[4096];

	snprintf(file, sizeof(file), "%s/%s/id", path, event);
	if (access(file, F_OK))
		return;
	snprintf(name, sizeof(name), "%s:%s", path + strlen(tracefs()) + strlen("/events/"),
		 event);
	print(l, name, "tracepoint", "");
}

static void list_system(struct list *l, const char *path, const char *system)
{
	char events[4096];

	snprintf(events, sizeof(events), "%s/%s", path, system);
	each_name(events, l, list_tracepoint);
}

static void list_pfm_event(void *data, const char *name, const char *what)
{
	print(data, name, "libpfm4", what);
}

static void print_running_json(const struct running *r, const char *target)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(running_name(r)));
	json_object_object_add(o, "event", json_object_new_string(r->about.what));
	json_object_object_add(o, "owner", json_object_new_string(r->about.owner));
	json_object_object_add(o, "target", json_object_new_string(target));
	json_object_object_add(o, "state",
			       json_object_new_string(libtally_state_name(r->about.state)));
	if (r->rate >= 0)
		json_object_object_add(o, "rate", json_object_new_double(r->rate));
	if (r->about.has_more)
		json_object_object_add(o, "missed", json_object_new_uint64(r->about.missed));
	if (r->unit.gauge && r->seen)
		json_object_object_add(o, "gauge", json_object_new_double(running_count(r)));
	if (r->unit.unit[0])
		json_object_object_add(o, "unit", json_object_new_string(r->unit.unit));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* Lists the events of all owners. Their rates are those of one second. */
static void list_running(struct list *l)
{
	struct running_list events = { .device = device_or_die() };
	const struct running *r;
	char target[RUNNING_TARGET], rate[32], state[RUNNING_STATE];
	int i;

	running_look(&events);
	if (!l->names) {
		running_read(&events);
		sleep(1);
		/* The states are those at the end of the second, as the rates are. */
		running_look(&events);
		running_read(&events);
	}
	if (!l->json && !l->names && events.nr)
		printf("%-32s %-20s %-10s %12s %-8s %s\n", "NAME", "TARGET", "STATE", "RATE/s",
		       "UNIT", "OWNER");
	for (i = 0; i < events.nr; i++) {
		r = events.list[i];
		if (!matches(l, running_name(r)))
			continue;
		l->nr++;
		running_target(r, target);
		if (l->names) {
			puts(running_name(r));
			continue;
		}
		if (l->json) {
			print_running_json(r, target);
			continue;
		}
		running_rate(r, rate, sizeof(rate));
		running_state(r, state);
		printf("%-32s %-20s %-10s %12s %-8s %s\n", running_name(r), target, state, rate,
		       r->unit.unit, r->about.owner);
	}
	if (!l->names)
		running_say_lacking(&events);
	running_free(&events);
	close(events.device);
	if (!l->nr && !l->pattern)
		say("no event is counted");
}

static void list_possible(struct list *l)
{
	char events[64];

	list_generic(l);
	each_name(DEVICES, l, list_pmu);
	pfm_each(list_pfm_event, l);
	snprintf(events, sizeof(events), "%s/events", tracefs());
	if (!each_name(events, l, list_system))
		say("tracepoints are left out: %s: %s", events, strerror(errno));
	if (l->left_out && !l->names && !l->json)
		say("no PMU here counts %d hardware and cache events, which are left out",
		    l->left_out);
}

int command_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[PATTERN]",
		.doc = "Lists what can be counted on this machine. A PATTERN is a shell pattern, "
		       "or "
		       "a part of a name.\v"
		       "Hardware and cache events that the kernel refuses are left out. The exit "
		       "status is 1 if nothing matches the pattern.",
	};
	struct list l = { 0 };

	parse_arguments(&argp, argc, argv, 0, &l);
	if (l.running)
		list_running(&l);
	else
		list_possible(&l);
	if (l.pattern && !l.nr)
		say("nothing matches %s", l.pattern);
	return l.pattern && !l.nr ? STATUS_FAILED : 0;
}
