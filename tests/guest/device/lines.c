// SPDX-License-Identifier: GPL-2.0
/*
 * lines events: TALLY_IOC_LINE makes, disables, enables and removes events and sets.
 * lines names: TALLY_IOC_PARSE has the attributes of events.
 * lines mistakes: wrong calls have their errno and a sentence.
 * lines cgroup PATH: TALLY_IOC_NEXT has the path of an event's cgroup.
 * lines locked: under lockdown for integrity, lines are taken.
 * lines confidential: under lockdown for confidentiality, but for counts of functions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "devtest.h"

/* Finds an event by its name. */
static int find(const char *name, struct tally_next *n)
{
	memset(n, 0, sizeof(*n));
	n->size = sizeof(*n);
	while (!ioctl(device, TALLY_IOC_NEXT, n))
		if (!strcmp(n->name, name))
			return 1;
	return 0;
}

static int state_of(const char *name)
{
	struct tally_next n;

	return find(name, &n) ? (int)n.state : -1;
}

static void one_event(void)
{
	struct tally_next n;
	uint64_t value;
	int fd;

	expect(line_it(TALLY_LINE_CREATE, "  page-faults:u cpu=all name=lines period=1\n"), 0,
	       "an event is made");
	fd = attach_to("lines");
	touch(100);
	tell(value_of(fd) >= 100, "it counts: %llu", (unsigned long long)value_of(fd));
	tell(find("lines", &n) && n.size == sizeof(n) && n.overflows >= 100 && !n.cgroup[0] &&
	     !n.missed && !n.lost, "and overflows: %llu", (unsigned long long)n.overflows);
	expect(line_it(TALLY_LINE_DISABLE, "lines"), 0, "it is disabled");
	tell(state_of("lines") == TALLY_IS_OFF, "its state is off");
	value = value_of(fd);
	touch(100);
	tell(value_of(fd) == value, "it stands still");
	expect(line_it(TALLY_LINE_DISABLE, "lines"), 0, "it is disabled again");
	expect(line_it(TALLY_LINE_ENABLE, "lines"), 0, "it is enabled");
	touch(100);
	tell(value_of(fd) >= value + 100, "it counts on: %llu", (unsigned long long)value_of(fd));
	close(fd);
	expect(line_it(TALLY_LINE_REMOVE, "lines"), 0, "it is removed");
	tell(state_of("lines") < 0, "and gone");
}

static void one_set(void)
{
	expect(line_it(TALLY_LINE_CREATE, "{cs,page-faults}:k name=pair disabled"), 0, "a set");
	tell(state_of("pair/cs") == TALLY_IS_OFF && state_of("pair/page-faults") == TALLY_IS_OFF,
	     "which is made disabled");
	expect(line_it(TALLY_LINE_ENABLE, "pair"), 0, "it is enabled");
	tell(state_of("pair/cs") == TALLY_IS_ACTIVE &&
	     state_of("pair/page-faults") == TALLY_IS_ACTIVE, "both members count");
	expect(line_it(TALLY_LINE_DISABLE, "pair/cs"), EPERM, "a member alone");
	expect(line_it(TALLY_LINE_REMOVE, "pair/cs"), EPERM, "a member alone, removed");
	expect(line_it(TALLY_LINE_DISABLE, "pair"), 0, "it is disabled");
	tell(state_of("pair/cs") == TALLY_IS_OFF, "the members are off");
	expect(line_it(TALLY_LINE_REMOVE, "pair"), 0, "it is removed");
}

static void of_cgroup(char **path)
{
	struct tally_next n;
	char line[256];

	snprintf(line, sizeof(line), "page-faults cgroup=%s name=grouped", *path);
	expect(line_it(TALLY_LINE_CREATE, line), 0, "an event of a cgroup");
	tell(find("grouped", &n) && !strcmp(n.cgroup, *path), "NEXT has its path: %s", n.cgroup);
	expect(line_it(TALLY_LINE_REMOVE, "grouped"), 0, "it goes");
}

static void *remove_it(void *result)
{
	*(int *)result = line_it(TALLY_LINE_REMOVE, "race") ? errno : 0;
	return NULL;
}

static void *enable_it(void *end)
{
	int i;

	for (i = 0; !__atomic_load_n((int *)end, __ATOMIC_RELAXED); i++)
		line_it(i & 1 ? TALLY_LINE_ENABLE : TALLY_LINE_DISABLE, "race");
	return NULL;
}

/* Removes an event in two threads while a third one turns it on and off. */
static void races(void)
{
	int rounds = 200, good = 0, first, second, end;
	pthread_t one, two, three;

	while (rounds--) {
		if (line_it(TALLY_LINE_CREATE, rounds & 1 ? "cs name=race" :
			    "{cs,page-faults} name=race"))
			break;
		end = 0;
		pthread_create(&one, NULL, enable_it, &end);
		pthread_create(&two, NULL, remove_it, &first);
		pthread_create(&three, NULL, remove_it, &second);
		pthread_join(two, NULL);
		pthread_join(three, NULL);
		__atomic_store_n(&end, 1, __ATOMIC_RELAXED);
		pthread_join(one, NULL);
		good += (!first && second == ENOENT) || (!second && first == ENOENT);
	}
	tell(good == 200, "of two who remove it one succeeds: %d of 200", good);
}

static void events(void)
{
	one_event();
	one_set();
	races();
}

/* ---- TALLY_IOC_PARSE ---- */

static struct tally_parse units;

/* Parses a name into @units, of which the kernel knows @size bytes. */
static int unit_it(const char *name, size_t size)
{
	memset(&units, 'x', sizeof(units));
	memset(&units, 0, 32);
	units.size = size;
	units.name = (unsigned long)name;
	units.attr = (unsigned long)&attr;
	attr.size = sizeof(attr);
	return ioctl(device, TALLY_IOC_PARSE, &units);
}

static void names(void)
{
	expect(parse_it("cycles:u"), 0, "cycles:u");
	tell(attr.type == PERF_TYPE_HARDWARE && attr.config == PERF_COUNT_HW_CPU_CYCLES &&
	     attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user && attr.exclude_guest &&
	     attr.size == sizeof(attr), "has its attributes");
	expect(parse_it(" LLC-load-misses "), 0, "a cache event with blanks around it");
	tell(attr.type == PERF_TYPE_HW_CACHE && attr.config == 0x10002, "is %#llx", attr.config);
	expect(parse_it("mem:0x1000/8:w"), 0, "a breakpoint");
	tell(attr.type == PERF_TYPE_BREAKPOINT && attr.bp_addr == 0x1000 && attr.bp_len == 8 &&
	     attr.bp_type == 2, "has its address");
	expect(parse_it("task:task_rename"), 0, "a tracepoint");
	tell(attr.type == PERF_TYPE_TRACEPOINT && (int)attr.config == trace_id("task/task_rename"),
	     "has its number");
	expect(parse_it("software/config=0x2/"), 0, "an event of a PMU");
	tell(attr.type == PERF_TYPE_SOFTWARE && attr.config == 2, "has its terms");
	expect(parse_it("cycles:P"), 0, "cycles:P");
	tell(attr.precise_ip == 3, "has the highest precision");
	expect(unit_it("task-clock:u", sizeof(struct tally_parse)), 0, "a clock");
	tell(!strcmp(units.scale, "1e-6") && !strcmp(units.unit, "msec"), "has a unit: %s %s",
	     units.scale, units.unit);
	expect(unit_it("cs", sizeof(struct tally_parse)), 0, "another event");
	tell(!units.scale[0] && !units.unit[0] && units.size == sizeof(units), "has none");
	expect(unit_it("task-clock", 32), 0, "a clock for a program without units");
	tell(units.unit[0] == 'x' && units.size == 32, "has none either");
	expect(parse_it("kprobe:do_exit"), 0, "a kprobe");
	tell((int)attr.type == type_of("kprobe") && attr.config2, "has an address");
}

/* ---- mistakes ---- */

static void bad_line(int error, unsigned int op, const char *line, const char *what)
{
	int ret = line_it(op, line);

	tell(ret < 0 && errno == error && (int)why.error == error && why.text[0], "%s: %s: %s",
	     what, outcome(ret), why.text);
}

static void bad_name(int error, const char *name)
{
	int ret = parse_it(name);

	tell(ret < 0 && errno == error && (int)why.error == error && why.text[0],
	     "the name '%.30s': %s: %s", name, outcome(ret), why.text);
}

static void bad_structs(void)
{
	struct tally_line l = { .size = sizeof(l), .line = (unsigned long)"cs" };
	struct tally_parse p = {
		.size = sizeof(p), .name = (unsigned long)"cs", .attr = (unsigned long)&attr,
	};
	struct { struct tally_line l; uint64_t more; } longer = { { .size = sizeof(longer) }, 1 };

	l.size = 8;
	expect(ioctl(device, TALLY_IOC_LINE, &l), EINVAL, "LINE: too small a size");
	expect(ioctl(device, TALLY_IOC_LINE, &longer), E2BIG, "LINE: more than is known");
	tell(longer.l.size == sizeof(l), "and the known size: %u", longer.l.size);
	l.size = sizeof(l);
	l.line = 8;
	expect(ioctl(device, TALLY_IOC_LINE, &l), EFAULT, "LINE: a wild address");
	l.error = 8;
	expect(ioctl(device, TALLY_IOC_LINE, &l), EFAULT, "LINE: a wild address of the cause");
	expect(ioctl(device, TALLY_IOC_LINE, 8), EFAULT, "LINE: a wild struct");
	p.reserved = 1;
	expect(ioctl(device, TALLY_IOC_PARSE, &p), EINVAL, "PARSE: reserved");
	p.reserved = 0;
	attr.size = 8;
	expect(ioctl(device, TALLY_IOC_PARSE, &p), EINVAL, "PARSE: too small an attr");
	attr.size = PERF_ATTR_SIZE_VER0;
	expect(ioctl(device, TALLY_IOC_PARSE, &p), 0, "PARSE: an attr of the first size");
	tell(attr.size == PERF_ATTR_SIZE_VER0, "keeps its size: %u", attr.size);
	attr.size = PERF_ATTR_SIZE_VER0;
	p.name = (unsigned long)"kprobe:do_exit";
	expect(ioctl(device, TALLY_IOC_PARSE, &p), type_of("kprobe") ? E2BIG : EOPNOTSUPP,
	       "PARSE: a kprobe in an attr that is too small for it");
	p.attr = 8;
	expect(ioctl(device, TALLY_IOC_PARSE, &p), EFAULT, "PARSE: a wild address");
}

static void mistakes(void)
{
	char text[2048];

	bad_line(EINVAL, 4, "cs", "an unknown op");
	bad_line(EINVAL, TALLY_LINE_CREATE, " \n", "an empty line");
	bad_line(ENOENT, TALLY_LINE_CREATE, "no-such-event", "an unknown event");
	bad_line(EINVAL, TALLY_LINE_CREATE, "cs wrong=1", "an unknown option");
	bad_line(EINVAL, TALLY_LINE_CREATE, "{cs", "half a set");
	bad_line(EINVAL, TALLY_LINE_CREATE, "cs\n name=forged", "two lines");
	bad_line(EINVAL, TALLY_LINE_CREATE, "{cs\n}", "a set of two lines");
	bad_line(ENOENT, TALLY_LINE_REMOVE, "nobody", "the name of nothing, removed");
	bad_line(ENOENT, TALLY_LINE_ENABLE, "nobody", "the name of nothing, enabled");
	bad_line(EINVAL, TALLY_LINE_DISABLE, "", "no name");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	bad_line(EINVAL, TALLY_LINE_CREATE, text, "a line that is too long");
	expect(line_it(TALLY_LINE_CREATE, "cs name=twice"), 0, "an event");
	bad_line(EEXIST, TALLY_LINE_CREATE, "cs name=twice", "another one of its name");
	expect(line_it(TALLY_LINE_REMOVE, "twice"), 0, "it goes");
	usual();
	strcpy(o.name, "filed");
	tell(open_it() >= 0, "a file with a name");
	bad_line(EPERM, TALLY_LINE_REMOVE, "filed", "the event of a file, removed");
	bad_line(EPERM, TALLY_LINE_DISABLE, "filed", "the event of a file, disabled");

	bad_name(EINVAL, "");
	bad_name(ENOENT, "no-such-event");
	bad_name(ENOENT, "nopmu/config=1/");
	bad_name(EINVAL, "cs:x");
	bad_name(EINVAL, "cs name=a");
	bad_name(EINVAL, text);
	bad_structs();
}

static void locked(void)
{
	expect(line_it(TALLY_LINE_CREATE, "cs name=later"), 0, "LINE makes an event");
	expect(line_it(TALLY_LINE_REMOVE, "later"), 0, "and removes it");
	tell(state_of("later") < 0, "it is gone");
}

static void confidential(void)
{
	bad_line(EPERM, TALLY_LINE_CREATE, "func:vfs_read{cs}", "counts of a function");
	tell(strstr(why.text, "locked down") != NULL, "and it says why");
	bad_name(EPERM, "kprobe:do_exit");
	locked();
}

static const struct devtest tests[] = {
	{ "events", .run = events },
	{ "names", .run = names },
	{ "mistakes", .run = mistakes },
	{ "cgroup", .arguments = 1, .with = of_cgroup },
	{ "locked", .run = locked },
	{ "confidential", .run = confidential },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
