// SPDX-License-Identifier: GPL-2.0
/*
 * failnth create LINE...: makes each event, with the first allocation failing,
 *	then with the second, and so on until it is made without a failure.
 * failnth insmod FILE PARAMETERS STEP: loads the module the same way, trying
 *	every STEP-th allocation only.
 * failnth device: what is done with /dev/tally and its files, the same way.
 *
 * Each time it either fails with ENOMEM and leaves nothing, or the kernel did
 * without, and what was made is removed again. Prints "ok TEXT" or "bad TEXT"
 * for each, behind notes.
 * To be started with no other event of tally; for another module than it, with
 * tally loaded. A program, for thousands of rounds
 * take a shell too long.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/tally.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIR "/sys/kernel/debug/tally"

static int nth_fd;

static void arm(int n)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%d", n);

	if (pwrite(nth_fd, buf, len, 0) != len)
		err(2, "cannot write fail-nth");
}

/* Whether the N-th allocation was reached. */
static int disarm(void)
{
	char buf[16] = "";
	int left;

	if (pread(nth_fd, buf, sizeof(buf) - 1, 0) < 0)
		err(2, "cannot read fail-nth");
	left = atoi(buf);
	arm(0);
	return !left;
}

static const char *outcome(int error)
{
	return error ? strerrorname_np(error) : "OK";
}

static char text[4096];

static const char *contents(const char *file)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd < 0)
		err(2, "%s", file);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	return text;
}

static int put(int fd, const char *line)
{
	return write(fd, line, strlen(line)) < 0 ? errno : 0;
}

static int bad;

static void complain(int n, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	printf("# allocation %d: ", n);
	vprintf(what, args);
	printf("\n");
	va_end(args);
	bad++;
}

/* "events 0", "counters 0", "perf_events 0" */
static int clean(void)
{
	static const char *const none[] = {
		"events 0\n", "counters 0\n", "perf_events 0\n"
	};
	size_t i;

	contents(DIR "/stats");
	for (i = 0; i < 3; i++)
		if (!strstr(text, none[i]))
			return 0;
	return !*contents(DIR "/events");
}

static void create(const char *line)
{
	int create_fd = open(DIR "/create", O_WRONLY);
	int remove_fd = open(DIR "/remove", O_WRONLY);
	int n, error, hit = 1, enomem = 0, without = 0, last = 0;
	char named[256];

	if (create_fd < 0 || remove_fd < 0)
		err(2, DIR);
	snprintf(named, sizeof(named), "%s name=x", line);
	bad = 0;
	for (n = 1; hit && n < 5000; n++) {
		arm(n);
		error = put(create_fd, named);
		hit = disarm();
		last = error;
		if (!error) {
			without += hit;
			if (strncmp(contents(DIR "/events"), "x ", 2))
				complain(n, "made, but not listed: %s", text);
			error = put(remove_fd, "x");
			if (error)
				complain(n, "cannot be removed: %s", outcome(error));
		} else if (error == ENOMEM && hit) {
			enomem++;
		} else {
			complain(n, "%s", outcome(error));
		}
		if (!clean()) {
			complain(n, "something is left: %s", text);
			put(remove_fd, "x");
			break;
		}
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	if (enomem < 3)
		complain(n, "only %d failures were noticed", enomem);
	printf("# %d allocations: %d times ENOMEM, %d times it did without\n",
	       n - 2, enomem, without);
	printf("%s create: %s\n", bad ? "bad" : "ok", line);
	close(create_fd);
	close(remove_fd);
}

/* Of the module NAME and, if it is another one, of what it made with tally. */
static int gone(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (!access(path, F_OK))
		return 0;
	return strcmp(name, "tally") ? clean() : !!access(DIR, F_OK);
}

static void insmod(const char *file, const char *parameters, int step)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	char *name = strndup(base, strcspn(base, "."));
	int fd = open(file, O_RDONLY);
	int n, error, hit = 1, enomem = 0, without = 0, others = 0, last = 0;

	if (fd < 0)
		err(2, "%s", file);
	for (n = 1; hit && n < 50000; n += step) {
		arm(n);
		error = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
		hit = disarm();
		last = error;
		if (!error) {
			without += hit;
			if (gone(name))
				complain(n, "loaded, but not there");
			if (syscall(SYS_delete_module, name, O_NONBLOCK))
				complain(n, "cannot be unloaded: %s", outcome(errno));
		} else if (error == ENOMEM && hit) {
			enomem++;
		} else {
			/* The module loader has answers of its own. */
			printf("# allocation %d: %s\n", n, outcome(error));
			others++;
		}
		if (!gone(name)) {
			complain(n, "%s, and %s is still there", outcome(error), name);
			break;
		}
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	/* The kernel does without most: an event that cannot be had is only told. */
	if (enomem * step < 5)
		complain(n, "only %d failures were noticed", enomem);
	if (others > 20)
		complain(n, "%d answers are not ENOMEM", others);
	printf("# %d allocations: %d times ENOMEM, %d times it did without, %d others\n",
	       n - step - 1, enomem, without, others);
	printf("%s insmod: %s %s\n", bad ? "bad" : "ok", name, parameters);
	free(name);
	close(fd);
}

/* ---- /dev/tally ---- */

static int device = -1, made = -1, group = -1;
static void *page;
static struct perf_event_attr attr;
static struct tally_open o;
static struct tally_value values[64];
static char buf[4096];

static int open_event(int leader, unsigned int flags, int all)
{
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.read_format = PERF_FORMAT_GROUP;
	o.size = sizeof(o);
	o.attr = (unsigned long)&attr;
	o.pid = all ? -1 : 0;
	o.cpu = -1;
	o.group_fd = leader;
	o.flags = flags | (all ? TALLY_OPEN_ALL_CPUS : 0);
	return ioctl(device, TALLY_IOC_OPEN, &o);
}

static int do_device(void)
{
	made = open("/dev/tally", O_RDWR);
	return made;
}

static int do_task(void)
{
	made = open_event(-1, 0, 0);
	return made;
}

static int do_all(void)
{
	strcpy(o.name, "named");
	made = open_event(-1, 0, 1);
	memset(o.name, 0, sizeof(o.name));
	return made;
}

static int do_overflow(void)
{
	attr.sample_period = 1000;
	made = open_event(-1, 0, 1);
	attr.sample_period = 0;
	return made;
}

static int do_sibling(void)
{
	made = open_event(group, 0, 1);
	return made;
}

/* It stays, so its group is made anew each time. */
static int do_member(void)
{
	return open_event(made, TALLY_OPEN_MEMBER, 1);
}

static int do_attach(void)
{
	struct tally_attach at = { .size = sizeof(at), .name = "leader" };

	made = ioctl(device, TALLY_IOC_ATTACH, &at);
	return made;
}

static int do_next(void)
{
	struct tally_next next = { .size = sizeof(next) };

	return ioctl(device, TALLY_IOC_NEXT, &next);
}

static int do_read(void)
{
	return read(group, buf, sizeof(buf)) < 0 ? -1 : 0;
}

static int do_values(void)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1, .nr = 64, .values = (unsigned long)values,
	};

	return ioctl(group, TALLY_IOC_READ, &r);
}

static int do_map(void)
{
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, made, 0);
	if (page != MAP_FAILED)
		return 0;
	page = NULL;
	return -1;
}

static int do_off(void)
{
	return ioctl(group, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static int do_on(void)
{
	return ioctl(group, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static int do_zero(void)
{
	return ioctl(group, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

static void undo(void)
{
	if (page)
		munmap(page, sysconf(_SC_PAGESIZE));
	if (made >= 0)
		close(made);
	page = NULL;
	made = -1;
}

static const struct op {
	const char *name;
	int (*run)(void);
	int (*first)(void);
	int least;
} ops[] = {
	{ "the device opened", do_device, NULL, 1 },
	{ "a file for a task", do_task, NULL, 5 },
	{ "a file for all CPUs, with a name", do_all, NULL, 5 },
	{ "one that overflows", do_overflow, NULL, 5 },
	{ "a sibling", do_sibling, NULL, 5 },
	{ "a member", do_member, do_all, 1 },
	{ "attached to", do_attach, NULL, 3 },
	{ "the next one", do_next, NULL, 0 },
	{ "a group read", do_read, NULL, 0 },
	{ "all values", do_values, NULL, 1 },
	{ "a page mapped", do_map, do_all, 3 },
	{ "a group disabled", do_off, NULL, 0 },
	{ "and enabled", do_on, NULL, 0 },
	{ "and reset", do_zero, NULL, 0 },
};

/* What there is without it: ten events of one file. */
static int only_the_group(void)
{
	contents(DIR "/stats");
	return !!strstr(text, "events 10\n");
}

static void try(const struct op *op)
{
	int n, error, hit = 1, enomem = 0, without = 0, last = 0;

	bad = 0;
	for (n = 1; hit && n < 5000; n++) {
		if (op->first && op->first() < 0)
			err(2, "%s", op->name);
		arm(n);
		error = op->run() < 0 ? errno : 0;
		hit = disarm();
		last = error;
		if (!error)
			without += hit;
		else if (error == ENOMEM && hit)
			enomem++;
		else
			complain(n, "%s: %s", outcome(error), o.error.text);
		undo();
		if (!only_the_group()) {
			complain(n, "%s, and something is left: %s", outcome(error), text);
			break;
		}
		if (do_read())
			complain(n, "the group cannot be read: %s", outcome(errno));
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	if (enomem < op->least)
		complain(n, "only %d failures were noticed", enomem);
	printf("# %d allocations: %d times ENOMEM, %d times it did without\n",
	       n - 2, enomem, without);
	printf("%s device: %s\n", bad ? "bad" : "ok", op->name);
}

static int failing_device(void)
{
	int failed = 0;
	size_t i;

	device = open("/dev/tally", O_RDWR);
	if (device < 0)
		err(2, "/dev/tally");
	strcpy(o.name, "leader");
	group = open_event(-1, 0, 1);
	memset(o.name, 0, sizeof(o.name));
	for (i = 1; i < 10; i++)
		if (open_event(group, TALLY_OPEN_MEMBER, 1) < 0)
			err(2, "%s", o.error.text);
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		try(&ops[i]);
		failed += !!bad;
	}
	close(group);
	close(device);
	printf("%s device: nothing is left\n", clean() ? "ok" : "bad");
	return !!failed;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_fd < 0)
		err(2, "fail-nth");
	/* Reading it needs memory: of another kind than what is tested. */
	disarm();
	if (argc == 5 && !strcmp(argv[1], "insmod")) {
		insmod(argv[2], argv[3], atoi(argv[4]));
		return !!bad;
	}
	if (argc == 2 && !strcmp(argv[1], "device"))
		return failing_device();
	if (argc < 3 || strcmp(argv[1], "create")) {
		fprintf(stderr, "usage: failnth create LINE... | device | insmod FILE PARAMETERS STEP\n");
		return 2;
	}
	for (i = 2; i < argc; i++) {
		create(argv[i]);
		failed += !!bad;
	}
	return !!failed;
}
