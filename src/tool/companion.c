// SPDX-License-Identifier: GPL-2.0
/*
 * The companion of `tally record`. tally's events have no records of mappings, symbols and BPF
 * programs. These records, and those of names of programs, come from an event of perf that counts
 * nothing, on the same clock. On a CPU that comes online, events of tally count, but perf's event
 * ended with the CPU and does not come back: it is opened anew there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include "companion.h"
#include "tool.h"

/* Whether the place is gone: its task has ended, or a CPU that was online has gone offline. */
static bool is_gone(const struct companion *c, int error)
{
	return error == -ESRCH || (error == -ENODEV && c->number >= 0);
}

/* Opens the event at a place. If that fails, samples lack names of programs and functions. */
static int open_at(struct companion *c, const struct place *place)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	struct perf_event_attr attr;
	int got;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	attr.sample_period = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.build_id = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.ksymbol = !geteuid();
	attr.bpf_event = attr.ksymbol;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.inherit = place->pid >= 0 && !place->cgroup && c->inherit;
	if (!place->cgroup) {
		target.pid = place->pid;
		target.cpu = place->cpu;
	}
	got = libtally_reader_share(c->reader, c->number, &attr, &target, c->pages, "dummy:u");
	if (got == -EINVAL && attr.ksymbol) {
		attr.ksymbol = 0;
		attr.bpf_event = 0;
		got = libtally_reader_share(c->reader, c->number, &attr, &target, c->pages,
					    "dummy:u");
	}
	if (got >= 0)
		c->number = got;
	else if (!is_gone(c, got))
		say("no names of programs and their functions: perf: %s", target.error);
	return got;
}

static int open_uevents(void)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || !bind(fd, (const struct sockaddr *)&kernel, sizeof(kernel)))
		return fd;
	close(fd);
	return -1;
}

void companion_open(struct companion *c, pid_t pid)
{
	const struct place child = { .pid = pid, .cpu = -1 };
	int p, got;

	c->number = -1;
	c->uevents = open_uevents();
	if (!c->targets->nr) {
		open_at(c, &child);
		return;
	}
	for (p = 0; p < c->targets->nr; p++) {
		/* All cgroups have one companion. */
		if (p && c->targets->places[p].cgroup)
			return;
		got = open_at(c, &c->targets->places[p]);
		if (got < 0 && !is_gone(c, got))
			return;
	}
}

static bool samples_cpu(const struct targets *t, int cpu)
{
	int p;

	for (p = 0; p < t->nr; p++)
		if (t->places[p].cgroup || (t->places[p].pid < 0 &&
					    (t->places[p].cpu < 0 || t->places[p].cpu == cpu)))
			return true;
	return false;
}

/* Returns false without a message. The error for lost messages comes before those that are left. */
static bool next_uevent(const struct companion *c, char *message, size_t size)
{
	ssize_t got = recv(c->uevents, message, size - 1, 0);

	if (got < 0 && errno == ENOBUFS) {
		say("the kernel lost messages: programs on a CPU that came online may lack names");
		got = recv(c->uevents, message, size - 1, 0);
	}
	if (got > 0)
		message[got] = 0;
	return got > 0;
}

void companion_follow(struct companion *c)
{
	struct place place = { .pid = -1 };
	char message[4096];

	while (next_uevent(c, message, sizeof(message)))
		if (sscanf(message, "online@/devices/system/cpu/cpu%d", &place.cpu) == 1 &&
		    c->number >= 0 && samples_cpu(c->targets, place.cpu))
			open_at(c, &place);
}
