// SPDX-License-Identifier: GPL-2.0
/* Targets: the options that name them, and the places that they stand for. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "target.h"
#include "tool.h"

enum { KEY_TID = 't' };

static const struct argp_option options[] = {
	{ "all-cpus", 'a', NULL, 0, "All CPUs, also those that come online later", 0 },
	{ "cpu", 'C', "CPUS", 0, "These CPUs: 0-2,5", 0 },
	{ "pid", 'p', "PIDS", 0, "These processes, with all their threads and children", 0 },
	{ "tid", KEY_TID, "TIDS", 0, "These threads, with their children", 0 },
	{ "cgroup", 'G', "PATHS", 0, "The tasks of these cgroups, on all CPUs", 0 },
	{ 0 }
};

/* perf pairs the second -G with the events before it; here all events have all targets. */
static void set_once(struct argp_state *state, int key, char **list, char *argument)
{
	if (*list)
		argp_error(state, "give -%c once, with a list: -%c %s,%s", key, key, *list,
			   argument);
	*list = argument;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct targets *t = state->input;

	switch (key) {
	case 'a':
		t->all = true;
		break;
	case 'C':
		set_once(state, key, &t->cpus, argument);
		break;
	case 'p':
		set_once(state, key, &t->pids, argument);
		break;
	case KEY_TID:
		set_once(state, key, &t->tids, argument);
		break;
	case 'G':
		set_once(state, key, &t->cgroups, argument);
		break;
	case ARGP_KEY_ARGS:
		t->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		/* -a changes nothing for CPUs and cgroups. */
		if (!!t->cpus + !!t->pids + !!t->tids + !!t->cgroups > 1 ||
		    (t->all && (t->pids || t->tids)))
			argp_error(state, "give one of -a, -C, -p, -t and -G");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp target_argp = { .options = options, .parser = parse };

bool each_number(const char *list, void (*call)(void *data, int number), void *data)
{
	long first, last;
	char *end;

	do {
		if (!isdigit((unsigned char)*list))
			return false;
		first = strtol(list, &end, 10);
		last = first;
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return false;
			last = strtol(end + 1, &end, 10);
		}
		if ((*end && *end != ',') || first > last || last > 1 << 22)
			return false;
		for (; first <= last; first++)
			call(data, first);
		list = end + 1;
	} while (*end);
	return true;
}

static void each_cpu(const char *path, void (*call)(void *data, int cpu), void *data)
{
	char list[4096];

	if (!read_line(path, list, sizeof(list)) || !each_number(list, call, data))
		die("%s: the list of CPUs cannot be read", path);
}

void each_online(void (*call)(void *data, int cpu), void *data)
{
	each_cpu("/sys/devices/system/cpu/online", call, data);
}

void each_possible(void (*call)(void *data, int cpu), void *data)
{
	each_cpu("/sys/devices/system/cpu/possible", call, data);
}

static void add(struct targets *t, int pid, int cpu, const char *cgroup)
{
	int i;

	/* A CPU or task that is named twice is counted once; each cgroup has a file of its own. */
	for (i = 0; !cgroup && i < t->nr; i++)
		if (t->places[i].pid == pid && t->places[i].cpu == cpu)
			return;
	t->places = need(realloc(t->places, (t->nr + 1) * sizeof(*t->places)));
	t->places[t->nr].pid = pid;
	t->places[t->nr].cpu = cpu;
	t->places[t->nr].cgroup = cgroup;
	t->nr++;
}

static void add_cpu(void *data, int cpu)
{
	add(data, -1, cpu, NULL);
}

static void add_tid(void *data, int tid)
{
	add(data, tid, -1, NULL);
}

static void add_pid(void *data, int pid)
{
	struct targets *t = data;
	struct dirent *entry;
	char path[64];
	int before = t->nr;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			add_tid(t, atoi(entry->d_name));
	if (folder)
		closedir(folder);
	if (t->nr == before) {
		snprintf(path, sizeof(path), "%d", pid);
		say_failed(path, ESRCH, "there is no such process");
		exit(STATUS_FAILED);
	}
}

/* Opens the directory of a cgroup, which cgroup2 or cgroup1's perf_event has. */
static int open_cgroup(const char *path)
{
	static const char *const roots[] = {
		"/sys/fs/cgroup", "/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified",
	};
	char whole[4096];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(whole, sizeof(whole), "%s/cgroup.procs", roots[i]);
		if (access(whole, F_OK))
			continue;
		snprintf(whole, sizeof(whole), "%s/%s", roots[i], path);
		fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT && errno != ENOTDIR) {
			say_failed(path, errno, NULL);
			exit(STATUS_FAILED);
		}
	}
	say("%s: there is no such cgroup", path);
	fprintf(stderr, "  remedy: give its path below /sys/fs/cgroup\n");
	exit(STATUS_FAILED);
}

static void add_cgroups(struct targets *t)
{
	char *path, *rest = t->cgroups;

	while ((path = strsep(&rest, ","))) {
		/* An empty path below the root of cgroups would be the whole machine. */
		if (!*path) {
			say("a path in the list of cgroups is empty; / is the whole machine");
			exit(STATUS_USAGE);
		}
		add(t, open_cgroup(path), -1, path);
	}
}

void targets_find(struct targets *t)
{
	bool good = true;

	if (t->cpus)
		good = each_number(t->cpus, add_cpu, t);
	else if (t->pids)
		good = each_number(t->pids, add_pid, t);
	else if (t->tids)
		good = each_number(t->tids, add_tid, t);
	else if (t->cgroups)
		add_cgroups(t);
	else if (t->all)
		add(t, -1, -1, NULL);
	if (good)
		return;
	say("'%s' is no list of numbers", t->cpus ? t->cpus : t->pids ? t->pids : t->tids);
	exit(STATUS_USAGE);
}

/* For targets_split(): a place, and the targets that its parts are added to. */
struct split {
	const struct place *place;
	struct targets *parts;
};

/* Adds the part of a place on a CPU. */
static void add_part(void *data, int cpu)
{
	const struct split *s = data;
	int pid = s->place->pid;

	if (s->place->cgroup) {
		pid = fcntl(pid, F_DUPFD_CLOEXEC, 0);
		if (pid < 0)
			die("%s: %s", s->place->cgroup, strerror(errno));
	}
	add(s->parts, pid, cpu, s->place->cgroup);
}

void targets_split(const struct targets *t, struct targets *parts)
{
	struct split s = { .parts = parts };
	int i;

	for (i = 0; i < t->nr; i++) {
		s.place = &t->places[i];
		if (s.place->cpu < 0 && (s.place->pid < 0 || s.place->cgroup))
			each_online(add_part, &s);
		else
			add_part(&s, s.place->cpu);
	}
}

bool targets_exist(const struct targets *t)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (t->places[i].cgroup || t->places[i].pid < 0 ||
		    !kill(t->places[i].pid, 0) || errno == EPERM)
			return true;
	return false;
}

void targets_free(struct targets *t)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (t->places[i].cgroup)
			close(t->places[i].pid);
	free(t->places);
	t->places = NULL;
	t->nr = 0;
}

void target_at(struct libtally_target *target, int device, const struct place *place)
{
	static const struct libtally_target init = LIBTALLY_TARGET_INIT;

	*target = init;
	target->via = LIBTALLY_VIA_DEVICE;
	target->device = device;
	target->pid = place->pid;
	target->cpu = place->cpu;
	if (place->cgroup) {
		target->perf_flags = PERF_FLAG_PID_CGROUP;
		target->flags = place->cpu < 0 ? LIBTALLY_OPEN_ALL_CPUS : 0;
	}
}
