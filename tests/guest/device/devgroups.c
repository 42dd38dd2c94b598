// SPDX-License-Identifier: GPL-2.0
/*
 * devgroups cpus: all CPUs and many events in one file.
 * devgroups groups: sessions, ratios, pages and leaders of groups.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- all CPUs ---- */

static void cpus(void)
{
	static const uint64_t configs[8] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK,
		PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
		PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS,
	};
	uint64_t v[3 + 2 * 64], before[2] = { 0 }, ids[8], sum = 0;
	struct tally_value values[64], later[64];
	struct tally_read r;
	int fd, i, ret, cpu;

	fd = open_all(configs[0], -1, 0);
	ids[0] = o.id;
	tell(fd >= 0, "an event on all CPUs: %s", why.text);
	for (i = 1; i < 8; i++) {
		ret = open_all(configs[i], fd, TALLY_OPEN_MEMBER);
		ids[i] = o.id;
		tell(!ret && ids[i] > ids[i - 1], "member %d: %d %s", i, ret, why.text);
	}
	ret = read(fd, v, sizeof(v));
	tell(ret == (3 + 8 * 2) * 8 && v[0] == 8,
	     "all of them in one read: %llu", (unsigned long long)v[0]);
	for (i = 0; i < 8 && v[4 + 2 * i] == ids[i]; i++)
		;
	tell(i == 8, "%d have the ids that the calls wrote", i);

	for (cpu = 0; cpu < nr_online(); cpu++) {
		memset(&r, 0, sizeof(r));
		r.size = sizeof(r);
		r.value_size = sizeof(*values);
		r.cpu = cpu;
		r.nr = 64;
		r.values = (unsigned long)values;
		ret = ioctl(fd, TALLY_IOC_READ, &r);
		before[cpu & 1] = values[0].value;
		run_on(cpu);
		touch(300);
		r.flags = 0;
		r.time_ns = 0;
		r.nr = 64;
		ret |= ioctl(fd, TALLY_IOC_READ, &r);
		tell(!ret && r.nr == 8 && values[0].value - before[cpu & 1] >= 300 &&
		     values[0].state == TALLY_IS_ACTIVE,
		     "cpu %d: %u values, %llu faults", cpu, r.nr,
		     (unsigned long long)(values[0].value - before[cpu & 1]));
		tell(r.flags & TALLY_READ_RATIO ? 0 : 1,
		     "cpu %d: they did not begin together, and that is told", cpu);
		sum += values[0].value;
	}
	ret = read(fd, v, sizeof(v));
	tell(ret > 0 && v[3] >= sum, "the sum has both: %llu of %llu",
	     (unsigned long long)v[3], (unsigned long long)sum);
	r.cpu = 4000;
	r.flags = 0;
	r.time_ns = 0;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "no such CPU");
	close(fd);

	/* 64 events in one file, all enabled at the same time. */
	usual();
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_GROUP;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	for (i = 1; i < 64; i++)
		if (open_all(configs[i % 8], fd, TALLY_OPEN_MEMBER))
			break;
	tell(i == 64, "%d events in one file %s", i, i < 64 ? why.text : "");
	expect(open_all(configs[0], fd, TALLY_OPEN_MEMBER), E2BIG, "one more");
	tell(why.field == TALLY_FIELD_GROUP_FD, "and why: %s", why.text);
	expect(ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0, "all enabled");
	wait_ms(50);
	memset(&r, 0, sizeof(r));
	r.size = sizeof(r);
	r.value_size = sizeof(*values);
	r.cpu = -1;
	r.nr = 64;
	r.values = (unsigned long)values;
	ret = ioctl(fd, TALLY_IOC_READ, &r);
	tell(!ret && r.nr == 64 && r.flags & TALLY_READ_RATIO,
	     "%u values, of the same time: %s", r.nr, r.flags & TALLY_READ_RATIO ? "yes" : "no");
	for (i = 1; i < 64; i++)
		if (values[i].enabled_ns != values[0].enabled_ns)
			break;
	tell(i == 64, "enabled equally long, %llu ns", (unsigned long long)values[0].enabled_ns);
	/* read(2) returns values between those of two TALLY_IOC_READ around it. */
	ret = read(fd, v, sizeof(v));
	tell(ret == 65 * 8 && v[0] == 64, "read(2) of them: %d bytes", ret);
	read_values(fd, later, NULL);
	for (i = 0; i < 64; i++)
		if (v[1 + i] < values[i].value || v[1 + i] > later[i].value)
			break;
	tell(i == 64, "and says the same, %d of them", i);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	read_values(fd, later, NULL);
	ret = read(fd, v, sizeof(v));
	for (i = 0; i < 64; i++)
		if (v[1 + i] != later[i].value)
			break;
	tell(ret == 65 * 8 && i == 64, "as it does when they are off, %d of them", i);
	close(fd);
}

/* ---- groups ---- */

/* Opens an event of the caller's page faults; with TALLY_OPEN_MEMBER, adds a member. */
static int open_in(int dev, int leader, int disabled, unsigned int flags)
{
	usual();
	attr.disabled = disabled;
	o.group_fd = leader;
	o.flags = flags;
	return ioctl(dev, TALLY_IOC_OPEN, &o);
}

/* Stores in @growth what each event of a group counts of 100 faults, in tens. */
static int grown(int fd, int *growth)
{
	struct tally_value before[64], after[64];
	int nr = read_values(fd, before, NULL), i;

	touch(100);
	if (read_values(fd, after, NULL) != nr)
		return -1;
	for (i = 0; i < nr; i++)
		growth[i] = (after[i].value - before[i].value) / 10;
	return nr;
}

static void whole_session(void)
{
	int other = device_file(), leader, sibling, alone, theirs, g[64], nr;

	leader = open_in(device, -1, 1, 0);
	expect(open_in(device, leader, 1, TALLY_OPEN_MEMBER), 0, "a member");
	sibling = open_in(device, leader, 1, 0);
	theirs = open_in(other, leader, 1, 0);
	alone = open_in(other, -1, 1, 0);
	expect(ioctl(device, TALLY_IOC_ENABLE_ALL), 0, "all of a session");
	nr = grown(leader, g);
	tell(nr == 4 && g[0] >= 10 && g[1] >= 10 && g[2] >= 10 && !g[3],
	     "all of it count, and no other: %d: %d %d %d %d", nr, g[0], g[1], g[2], g[3]);
	tell(!value_of(alone), "nor one of another session");
	ioctl(theirs, PERF_EVENT_IOC_ENABLE, 0);
	expect(ioctl(device, TALLY_IOC_DISABLE_ALL), 0, "none of a session");
	nr = grown(leader, g);
	tell(nr == 4 && !g[0] && !g[1] && !g[2] && !g[3], "none counts: %d", nr);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	grown(leader, g);
	tell(g[0] >= 10 && !g[1] && !g[2] && g[3] >= 10,
	     "the other one goes on with its leader: %d %d %d %d", g[0], g[1], g[2], g[3]);
	ioctl(other, TALLY_IOC_ENABLE_ALL);
	tell(value_of(alone) < 10, "the other session: %llu", (unsigned long long)value_of(alone));
	touch(100);
	tell(value_of(alone) >= 100, "counts by itself: %llu",
	     (unsigned long long)value_of(alone));
	close(other);
	touch(100);
	tell(value_of(alone) >= 200, "also when its device is closed: %llu",
	     (unsigned long long)value_of(alone));
	close(leader);
	nr = grown(sibling, g);
	tell(nr == 1 && !g[0], "without its leader, what is disabled stays so");
	grown(theirs, g);
	tell(g[0] >= 10, "and what is not, too: %d", g[0]);
	ioctl(device, TALLY_IOC_ENABLE_ALL);
	grown(sibling, g);
	tell(g[0] >= 10, "it is still of its session: %d", g[0]);
	close(sibling);
	close(theirs);
	close(alone);
}

static void ratio(int fd, int valid, const char *what)
{
	struct tally_value values[64];
	unsigned int flags = 0;
	int nr = read_values(fd, values, &flags);

	tell(nr >= 1 && !!(flags & TALLY_READ_RATIO) == valid, "%s: %s", what,
	     flags & TALLY_READ_RATIO ? "a ratio" : "no ratio");
}

static int has_ratio(int fd)
{
	struct tally_value values[64];
	unsigned int flags = 0;

	read_values(fd, values, &flags);
	return flags & TALLY_READ_RATIO;
}

static void ratios(void)
{
	int leader = open_in(device, -1, 1, 0);
	int sibling = open_in(device, leader, 0, 0), late;

	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	ratio(leader, 1, "begun together");
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	touch(10);
	ratio(leader, 1, "and ended");
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	ratio(leader, 1, "and begun again");
	ioctl(sibling, PERF_EVENT_IOC_RESET, 0);
	touch(10);
	ratio(leader, 0, "one reset alone");
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	touch(10);
	ratio(leader, 1, "all reset");
	ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0);
	touch(10);
	ioctl(sibling, PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	ratio(leader, 0, "one disabled for a time");
	late = open_in(device, leader, 0, 0);
	touch(10);
	ratio(leader, 0, "and one came late");
	close(late);
	close(sibling);
	close(leader);

	leader = open_in(device, -1, 1, 0);
	usual();
	attr.sample_period = 10;
	attr.disabled = 1;
	o.group_fd = leader;
	sibling = open_it();
	ioctl(sibling, PERF_EVENT_IOC_REFRESH, 2);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(15);
	ratio(leader, 1, "one that will end");
	touch(100);
	/* The last overflow disables the event from a task, some time later. */
	eventually(!has_ratio(leader));
	ratio(leader, 0, "and has");
	ioctl(sibling, PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	ratio(leader, 0, "and begun again");
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	touch(10);
	ratio(leader, 1, "and all reset");
	close(sibling);
	close(leader);

	leader = open_in(device, -1, 0, 0);
	touch(10);
	ratio(leader, 1, "alone");
	expect(open_in(device, leader, 0, TALLY_OPEN_MEMBER), 0, "a member");
	touch(10);
	ratio(leader, 0, "one that came late");
	close(leader);
}

/* A sibling has a page of its own, and each change of its state updates the page. */
static void sibling_pages(void)
{
	int leader = open_in(device, -1, 1, 0), sibling;
	struct perf_event_mmap_page *page;
	uint64_t count;

	usual();
	attr.sample_period = 1000000;
	o.group_fd = leader;
	o.publish_ns = 3600000000000ULL;
	sibling = open_it();
	page = map(sibling, PROT_READ);
	tell(page != MAP_FAILED, "the page of a sibling");
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(100);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	count = value_of(sibling);
	tell(count >= 100 && page->offset == (long long)count,
	     "disabled by its leader: %lld, %llu", page->offset, (unsigned long long)count);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(100);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	count = value_of(sibling);
	tell(count >= 200 && page->offset == (long long)count,
	     "disabled with its group: %lld, %llu", page->offset, (unsigned long long)count);
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	tell(!page->offset && !value_of(sibling), "reset with its group: %lld", page->offset);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect(ioctl(sibling, PERF_EVENT_IOC_REFRESH, 1), 0, "and refreshed");
	touch(100);
	ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0);
	count = value_of(sibling);
	tell(count >= 100 && page->offset == (long long)count, "disabled by itself: %lld, %llu",
	     page->offset, (unsigned long long)count);
	munmap(page, page_size);
	close(sibling);
	close(leader);
}

static void leaders(void)
{
	int leader, fd;
	uint64_t value;

	usual();
	attr.pinned = 1;
	leader = open_it();
	tell(leader >= 0, "a pinned leader: %s", why.text);
	usual();
	o.group_fd = leader;
	fd = open_it();
	touch(100);
	tell(fd >= 0 && value_of(fd) >= 100, "its sibling counts: %llu",
	     (unsigned long long)value_of(fd));
	close(fd);
	attr.pinned = 1;
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(2), "a sibling that asks for it");
	close(leader);
	usual();
	attr.exclusive = 1;
	leader = open_it();
	tell(leader >= 0, "an exclusive event: %s", why.text);
	usual();
	o.group_fd = leader;
	fd = open_it();
	touch(100);
	if (fd < 0)
		tell(errno == EOPNOTSUPP && why.field == TALLY_FIELD_GROUP_FD,
		     "a sibling that perf would keep off is refused: %s", why.text);
	else
		tell(value_of(fd) >= 100, "a sibling that needs no PMU counts: %llu",
		     (unsigned long long)value_of(fd));
	close(fd);
	close(leader);

	usual();
	attr.inherit = 1;
	leader = open_it();
	tell(leader >= 0, "an inherited leader: %s", why.text);
	usual();
	o.group_fd = leader;
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(1), "a sibling that is not");
	usual();
	attr.inherit = 1;
	o.group_fd = leader;
	fd = open_it();
	tell(fd >= 0, "one that is: %s", why.text);
	touch_in_child(200);
	value = value_of(fd);
	tell(value >= 200 && value_of(leader) >= 200, "both have what a child counted: %llu",
	     (unsigned long long)value);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	touch_in_child(200);
	tell(value_of(fd) < value + 200, "the leader is disabled: %llu",
	     (unsigned long long)value_of(fd));
	close(leader);
	close(fd);

	usual();
	o.flags = TALLY_OPEN_REQUIRE;
	made("one that is required");
	usual();
	attr.disabled = 1;
	o.flags = TALLY_OPEN_REQUIRE;
	made("required and disabled");
	attr.enable_on_exec = 1;
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(12), "required, and waiting");
}

static void groups(void)
{
	whole_session();
	ratios();
	sibling_pages();
	leaders();
}

static const struct devtest tests[] = {
	{ "cpus", .run = cpus },
	{ "groups", .run = groups },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
