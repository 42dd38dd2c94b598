/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for the tests of /dev/tally. Each test program has several tests,
 *
 *	PROGRAM TEST [ARGUMENTS]
 *
 * and prints "ok TEXT" or "bad TEXT" for each result.
 */
#ifndef DEVTEST_H
#define DEVTEST_H

#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "either.h"

static inline void tell(int good, const char *fmt, ...)
{
	va_list args;

	printf(good ? "ok " : "bad ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static inline const char *outcome(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "OK";
}

/* Checks that a call failed with errno @error, or succeeded if @error is 0. */
static inline void expect(long ret, int error, const char *what)
{
	int got = ret < 0 ? errno : 0;

	tell(got == error, "%s: %s", what, outcome(ret));
}

/*
 * Sleeps until the task was switched out. On a busy machine a short sleep may be over before
 * the kernel switches.
 */
static inline void switch_out(void)
{
	struct rusage before, now;

	getrusage(RUSAGE_THREAD, &before);
	do {
		wait_ms(5);
		getrusage(RUSAGE_THREAD, &now);
	} while (now.ru_nvcsw == before.ru_nvcsw);
}

/* Whether the condition becomes true within a minute; a busy machine is slow. */
#define eventually(condition) ({		\
	int tries = 6000;			\
						\
	while (!(condition) && --tries)		\
		wait_ms(10);			\
	tries > 0;				\
})

/* Runs for 20 ms of the caller's own time on a CPU, if that is online. */
static inline void busy_on(int cpu)
{
	if (!go_to(cpu))
		spin(CLOCK_PROCESS_CPUTIME_ID, 20);
}

/*
 * Whether the condition becomes true while the caller keeps one CPU after the other busy:
 * counts of an idle CPU are not published.
 */
#define while_busy(condition) ({		\
	int turn;				\
						\
	for (turn = 0; !(condition) && turn < 3000; turn++)	\
		busy_on(turn % sysconf(_SC_NPROCESSORS_CONF));	\
	turn < 3000;				\
})

static struct perf_event_attr attr;
static struct tally_open o;

/* Sets up @attr and @o for the usual event: page faults of the caller. */
static inline void usual(void)
{
	attr = (struct perf_event_attr) { PAGE_FAULTS };
	o = request(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	why.text[0] = '\0';
}

static inline int open_it(void)
{
	return open_as(TALLY, &o);
}

static inline int open_errno(int kind)
{
	int fd = open_as(kind, &o);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static inline const char *errno_name(int error)
{
	return error ? strerrorname_np(error) : "OK";
}

/*
 * Checks that TALLY_IOC_OPEN fails with @error, and that the cause it gives has @error, @field,
 * a stage and a text. The stage of EDQUOT is the user's limits.
 */
static inline void refused(int error, unsigned int field, const char *what)
{
	int fd = open_it();

	tell(fd < 0 && errno == error && (o.size < sizeof(o) ||
	     ((int)why.error == error && why.field == field && why.stage &&
	      (error == EDQUOT) == (why.stage == TALLY_STAGE_LIMIT) && why.text[0])),
	     "%s: %s, field %#x, stage %u: %s", what, outcome(fd), why.field,
	     why.stage, why.text);
	if (fd >= 0)
		close(fd);
}

static inline void made(const char *what)
{
	int fd = open_it();

	tell(fd >= 0, "%s: %s %s", what, outcome(fd), fd < 0 ? why.text : "");
	if (fd >= 0)
		close(fd);
}

static inline int open_all(uint64_t config, int leader, unsigned int flags)
{
	usual();
	attr.config = config;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	o.pid = -1;
	o.group_fd = leader;
	o.flags = TALLY_OPEN_ALL_CPUS | flags;
	return open_it();
}

static inline int read_values(int fd, struct tally_value *values, unsigned int *flags)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1, .nr = 64, .values = (unsigned long)values,
		.value_size = sizeof(*values),
	};
	int ret = ioctl(fd, TALLY_IOC_READ, &r);

	if (flags)
		*flags = r.flags;
	return ret ? -1 : (int)r.nr;
}

static inline int attach_to(const char *name)
{
	struct tally_attach at = { .size = sizeof(at) };

	snprintf(at.name, sizeof(at.name), "%s", name);
	return ioctl(device, TALLY_IOC_ATTACH, &at);
}

/* Whether the kernel has something to say of a file. */
static inline int fdinfo(int fd)
{
	char path[64], text[256];
	int info, got;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	got = read(info, text, sizeof(text));
	close(info);
	return got > 0;
}

/* TALLY_IOC_LINE with a line or a name. */
static inline int line_it(unsigned int op, const char *line)
{
	struct tally_line l = {
		.size = sizeof(l), .op = op, .line = (unsigned long)line,
		.error = (unsigned long)&why,
	};

	why.text[0] = '\0';
	return ioctl(device, TALLY_IOC_LINE, &l);
}

/* TALLY_IOC_PARSE, which fills in @attr. */
static inline int parse_it(const char *name)
{
	struct tally_parse p = {
		.size = sizeof(p), .name = (unsigned long)name, .attr = (unsigned long)&attr,
		.error = (unsigned long)&why,
	};

	why.text[0] = '\0';
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	return ioctl(device, TALLY_IOC_PARSE, &p);
}

/* Address of the kernel's first symbol of that name; 0 if there is none. */
static inline uint64_t address_of(const char *symbol)
{
	unsigned long long at, found = 0;
	char name[256], line[512];
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %255s", &at, name) == 2 && !strcmp(name, symbol))
			found = at;
	if (f)
		fclose(f);
	return found;
}

#define BIT(cap)	(1ULL << (cap))
#define NOBODY		65534

/* Programs of 32 bits: kernels may lack the call for group numbers of 16 bits. */
#ifndef SYS_setgroups32
#define SYS_setgroups32	SYS_setgroups
#endif

/* Takes all other capabilities from the caller. */
static inline void keep_only(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	if (syscall(SYS_capset, &head, data))
		err(2, "capabilities");
}

/* Makes the caller the user nobody, in no other group, who has only these capabilities. */
static inline void become(uint64_t caps)
{
	if (prctl(PR_SET_KEEPCAPS, 1) || syscall(SYS_setgroups32, 0, NULL) || setgid(NOBODY) ||
	    setuid(NOBODY))
		err(2, "nobody");
	keep_only(caps);
}

/*
 * A test: @run takes no arguments; @with takes @arguments of them. An array of tests ends
 * with one that has no name.
 */
struct devtest {
	const char *name;
	void (*run)(void);
	int arguments;
	void (*with)(char **arguments);
};

static inline int run_test(const struct devtest *t, int argc, char **argv)
{
	begin_area();
	need_device();
	for (; t->name; t++) {
		if (argc != 2 + t->arguments || strcmp(t->name, argv[1]))
			continue;
		if (t->run)
			t->run();
		else
			t->with(argv + 2);
		return 0;
	}
	errx(2, "usage: %s TEST [ARGUMENTS]", argv[0]);
}

#endif /* DEVTEST_H */
