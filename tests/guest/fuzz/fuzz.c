// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz SECONDS PROCESSES SEED: makes random calls on /dev/tally and its files, with
 * structs that are nearly right.
 * fuzz memory: afterwards, checks that all memory that rings had locked is given back.
 *
 * Each process has files of its own, and its own random numbers, from SEED on. Results of
 * calls are counted by call and errno, in memory that all processes share, and printed at
 * the end. Allocations fail now and then if the kernel can do that.
 *
 * The kernel complains if something is wrong. This program only fails if a call never
 * succeeded, if one of the things from SIGNALS to FAULTS never happened, if a page was
 * written to that no program may write to, or if a process did not live to the end.
 *
 * Helpers are in fuzz.h, and calls on rings in fuzzring.h. If tally_recorder.ko is loaded
 * with mode=share, files are attached to its event.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include "fuzz.h"
#include "fuzzring.h"
#include "mlock.h"

#define ERRNOS	134

enum call {
	OPEN, SAMPLES, TASKS, MEMBER, ATTACH, SHARE, NEXT, INFO, ALL, READ, IOC_READ, ENABLE,
	DISABLE, RESET, REFRESH, PERIOD, ID, MODIFY, OUTPUT, PAUSE, FILTER, OTHER, MMAP, MUNMAP,
	RING, PART, SCRIBBLE, POLL, ASYNC, CLOSE, FORK, WORK, LINE, PARSE, CALLS
};

static const char *const names[CALLS] = {
	"open", "samples", "tasks", "member", "attach", "share", "next", "info", "all", "read",
	"ioc_read", "enable", "disable", "reset", "refresh", "period", "id", "modify", "output",
	"pause", "filter", "other", "mmap", "munmap", "ring", "part of a ring", "scribble",
	"poll", "async", "close", "fork", "work", "line", "parse"
};

static unsigned long (*outcomes)[ERRNOS];	/* shared by all processes */
static int fault_fd = -1, calls_fd = -1;
static void *pages[FILES];

/* The id of the tracepoint sched:sched_switch; -1 if there is none. */
static int switch_id;

/*
 * Raises periods with which a CPU would do nothing but overflows. The period of a clock
 * is nanoseconds. A tracepoint may be hit in each interrupt, also in that of irq_work: if
 * each hit overflows, and each overflow queues irq_work, there is no end. perf's own
 * wake-ups have no end either.
 */
static void slow_down(struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT && (int)attr->config != switch_id &&
	    attr->sample_period && attr->sample_period < 100)
		attr->sample_period += 100;
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK &&
	    attr->sample_period < 1000000 && attr->sample_period && !one_in(20))
		attr->sample_period += 1000000;
}

static void any_attr(struct perf_event_attr *attr)
{
	static const struct {
		uint32_t type;
		uint32_t configs;
	} kinds[] = {
		{ PERF_TYPE_SOFTWARE, 12 }, { PERF_TYPE_SOFTWARE, 12 },
		{ PERF_TYPE_HARDWARE, 10 }, { PERF_TYPE_BREAKPOINT, 1 },
		{ PERF_TYPE_TRACEPOINT, 600 }, { PERF_TYPE_HW_CACHE, 0x20106 },
	};
	unsigned int k = below(sizeof(kinds) / sizeof(*kinds));
	uint64_t bits = 0;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = kinds[k].type;
	attr->config = below(kinds[k].configs);
	if (attr->type == PERF_TYPE_BREAKPOINT) {
		attr->bp_type = below(5);
		attr->bp_addr = (unsigned long)&word;
		attr->bp_len = 1U << below(4);
		attr->config = 0;
	}
	if (one_in(2))
		attr->read_format = below(32);
	if (one_in(3))
		attr->sample_period = one_in(2) ? 100 + below(100000) : odd_number();
	/*
	 * disabled to exclude_idle, freq, enable_on_exec, exclude_host, exclude_guest,
	 * inherit_thread, remove_on_exec and sigtrap.
	 */
	if (one_in(2))
		bits = rnd() & (0xffULL | 1 << 10 | 1 << 12 | 3ULL << 19 | 7ULL << 35);
	if (one_in(2))
		bits &= rnd() & rnd();
	memcpy((char *)attr + 40, &bits, 8);
	slow_down(attr);
	spoil(attr, sizeof(*attr));
}

/*
 * spoil() may change a part of a pointer to this buffer, to which the kernel writes. So the
 * buffer is not on the stack, where the kernel would overwrite something else. If the lower 16
 * bits change, the pointer still points into the buffer, which has room for 64 values of up to a
 * page behind that, and then for the attr, whose size the kernel writes with E2BIG.
 */
static union {
	struct tally_value values[64];
	struct tally_error why;
	struct {
		char before[5 << 16];
		struct perf_event_attr attr;
	};
	char all[7 << 16];
} room __attribute__((aligned(1 << 16)));

static unsigned long any_error(void)
{
	if (one_in(4))
		return 0;
	room.why.size = sizeof(room.why);
	return (unsigned long)&room.why;
}

static void any_target(struct tally_open *o)
{
	switch (below(4)) {
	case 0:
		o->pid = -1;
		o->cpu = -1;
		o->flags = TALLY_OPEN_ALL_CPUS;
		break;
	case 1:
		o->pid = -1;
		o->cpu = below(nr_cpus);
		break;
	case 2:
		o->pid = one_in(2) ? 0 : getpid() - 2 + (int)below(5);
		o->cpu = -1;
		break;
	default:
		o->pid = 0;
		o->cpu = (int)below(nr_cpus + 1) - 1;
	}
}

static void want_samples(struct perf_event_attr *attr)
{
	if (one_in(4)) {
		attr->type = PERF_TYPE_TRACEPOINT;
		attr->config = switch_id;
	}
	attr->sample_period = one_in(4) ? 1 : 1 + below(10000);
	attr->sample_type = rnd() & rnd() & (PERF_SAMPLE_MAX - 1);
	if (!one_in(10))
		attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_AUX | PERF_SAMPLE_BRANCH_STACK |
						 PERF_SAMPLE_WEIGHT_STRUCT);
	attr->sample_regs_user = 0xff;
	attr->sample_regs_intr = 0xff;
	attr->sample_stack_user = 8 * below(300);
	attr->sample_max_stack = one_in(4) ? below(128) : 0;
	attr->watermark = one_in(3);
	attr->wakeup_events = one_in(2) ? below(5) : below(10000);
	attr->write_backward = one_in(5);
	attr->sample_id_all = one_in(2);
	attr->use_clockid = one_in(10);
	attr->clockid = one_in(2) ? 1 : below(12);
	slow_down(attr);
	spoil(attr, sizeof(*attr));
}

static void want_tasks(struct perf_event_attr *attr)
{
	attr->comm = one_in(2);
	attr->comm_exec = one_in(3);
	attr->task = one_in(2);
	attr->context_switch = one_in(2);
	attr->cgroup = one_in(2);
	attr->sample_id_all = one_in(2);
	attr->inherit = one_in(3);
	attr->inherit_thread = attr->inherit && one_in(3);
	if (!attr->comm && !attr->task)
		attr->context_switch = 1;
}

static int try_open(enum call call)
{
	struct perf_event_attr *attr = &room.attr;
	uint64_t none = one_in(2);
	int member = call == MEMBER;
	struct tally_open o;
	int ret;

	memset(&o, 0, sizeof(o));
	o.size = sizeof(o);
	any_attr(attr);
	if (call == SAMPLES || one_in(10))
		want_samples(attr);
	if (call == TASKS || one_in(10))
		want_tasks(attr);
	o.attr = (unsigned long)attr;
	any_target(&o);
	o.group_fd = member || one_in(3) ? any_file() : -1;
	/* The target of most groups here. */
	if (o.group_fd >= 0 && !one_in(4) && call != TASKS) {
		memcpy((char *)attr + 40, &none, 8);
		o.pid = 0;
		o.cpu = -1;
		o.flags = 0;
	}
	if (member)
		o.flags |= TALLY_OPEN_MEMBER;
	if (one_in(10))
		o.flags |= TALLY_OPEN_REQUIRE;
	if (one_in(10))
		o.flags |= TALLY_OPEN_WEAK;
	if (one_in(3))
		o.perf_flags = PERF_FLAG_FD_CLOEXEC;
	if (o.group_fd >= 0 && !member && one_in(3))
		o.perf_flags |= PERF_FLAG_FD_OUTPUT | (one_in(2) ? PERF_FLAG_FD_NO_GROUP : 0);
	if (one_in(3))
		o.publish_ns = 10000 + below(100000000);
	if (one_in(5))
		snprintf(o.name, sizeof(o.name), "fuzz%u", below(10));
	o.error = any_error();
	spoil(&o, sizeof(o));
	ret = ioctl(device, TALLY_IOC_OPEN, one_in(500) ? (void *)8 : &o);
	if (ret >= 0 && !(o.flags & TALLY_OPEN_MEMBER))
		keep(ret, attr);
	return ret;
}

static int try_attach(void)
{
	struct tally_attach a;
	int ret;

	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	if (one_in(2))
		snprintf(a.name, sizeof(a.name), one_in(3) ? "kept" : "fuzz%u", below(10));
	else
		a.id = one_in(2) ? below(2000) : odd_number();
	a.read_format = one_in(2) ? 0 : below(32);
	if (one_in(3))
		a.publish_ns = 10000 + below(100000000);
	a.error = any_error();
	spoil(&a, sizeof(a));
	ret = ioctl(device, TALLY_IOC_ATTACH, &a);
	if (ret >= 0)
		keep(ret, NULL);
	return ret;
}

/* Attaches to an event of another module, which shares its rings. */
static int try_share(void)
{
	struct tally_attach a = { .size = sizeof(a), .name = "shared" };
	struct tally_ring_info info = { .size = sizeof(info) };
	int ret;

	a.read_format = one_in(2) ? 0 : below(32);
	spoil(&a, sizeof(a));
	ret = ioctl(device, TALLY_IOC_ATTACH, &a);
	if (ret >= 0) {
		spoil(&info, sizeof(info));
		ioctl(ret, TALLY_IOC_RING_INFO, &info);
		keep(ret, NULL);
	}
	return ret;
}

static int try_next(void)
{
	struct tally_next n = { .size = sizeof(n) };
	int ret, i;

	n.id = one_in(2) ? 0 : odd_number();
	spoil(&n, sizeof(n));
	for (i = 0, ret = 0; i < 50 && !ret; i++) {
		n.flags = 0;
		ret = ioctl(device, TALLY_IOC_NEXT, &n);
	}
	return i > 1 ? 0 : ret;
}

static const char *const words[] = {
	"page-faults", "cs", "cpu-clock", "cycles", "sched:sched_switch", "software/config=2/",
	"{cs,page-faults}", "func:vfs_read{cs}", "kprobe:do_exit", "mem:0x1000/8:w", "r1", ":u",
	" ", " cpu=0", " cpu=all", " pid=1", " period=100000", " freq=100", " budget=9/10ms",
	" disabled", " inherit", " require", " name=", "=", "/", "{", "}", ",", "no-such-event",
};

/* Makes a text of words and, now and then, other bytes. Few names are shared by all processes. */
static const char *odd_text(char *text, bool name)
{
	size_t used = 0;
	int i, nr = 1 + below(name ? 1 : 5);

	for (i = 0; i < nr; i++)
		used += sprintf(text + used, "%s", words[one_in(2) ? below(6) :
							  below(sizeof(words) / sizeof(*words))]);
	if (name)
		sprintf(text, "fuzz%u", (unsigned int)below(6));
	else if (!one_in(4))
		sprintf(text + used, " name=fuzz%u", (unsigned int)below(6));
	if (one_in(10))
		text[below(strlen(text))] = below(256);
	return text;
}

static int try_line(void)
{
	char text[512];
	struct tally_line l = { .size = sizeof(l), .op = below(4) };

	l.line = (unsigned long)odd_text(text, l.op != TALLY_LINE_CREATE);
	spoil(&l, sizeof(l));
	return ioctl(device, TALLY_IOC_LINE, &l);
}

static int try_parse(void)
{
	char text[512];
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct tally_parse p = { .size = sizeof(p), .attr = (unsigned long)&attr };

	p.name = (unsigned long)odd_text(text, false);
	text[strcspn(text, " ")] = 0;
	if (one_in(10))
		attr.size = below(300);
	spoil(&p, sizeof(p));
	return ioctl(device, TALLY_IOC_PARSE, &p);
}

/* Lines make events that no process owns. */
static void remove_lines(void)
{
	struct tally_next n = { .size = sizeof(n) };
	struct tally_line l = { .size = sizeof(l), .op = TALLY_LINE_REMOVE };
	char name[sizeof(n.name)];

	while (!ioctl(device, TALLY_IOC_NEXT, &n)) {
		strcpy(name, n.name);
		name[strcspn(name, "/")] = 0;
		l.line = (unsigned long)name;
		if (!strcmp(n.owner, "tally") && strcmp(name, "kept"))
			ioctl(device, TALLY_IOC_LINE, &l);
	}
}

static int try_info(void)
{
	struct tally_info info = { .size = sizeof(info) };
	char text[256];
	int fd;

	if (one_in(3)) {
		snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", any_file());
		fd = open(text, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -1;
		if (read(fd, text, sizeof(text)) < 0)
			text[0] = 0;
		return close(fd);
	}
	spoil(&info, sizeof(info));
	return ioctl(device, TALLY_IOC_INFO, &info);
}

static int try_ioc_read(void)
{
	struct tally_read r = {
		.size = sizeof(r), .nr = 64, .value_size = sizeof(struct tally_value),
	};

	r.values = (unsigned long)room.values;
	r.cpu = (int)below(nr_cpus + 2) - 1;
	spoil(&r, sizeof(r));
	return ioctl(any_file(), TALLY_IOC_READ, &r);
}

static int try_read(void)
{
	uint64_t values[200];

	return read(any_file(), values, one_in(4) ? below(sizeof(values)) : sizeof(values));
}

static int try_modify(void)
{
	struct perf_event_attr attr;
	int i, ret = -1;

	any_attr(&attr);
	if (one_in(2))
		return ioctl(any_file(), PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
	/* Few files have breakpoints, and few attributes of these can be changed. */
	for (i = 0; i < FILES && ret; i++) {
		attr = attrs[i];
		if (attr.type != PERF_TYPE_BREAKPOINT)
			continue;
		attr.bp_type = 1 + below(3);
		attr.bp_addr = (unsigned long)&word;
		attr.bp_len = 4;
		attr.disabled = one_in(2);
		spoil(&attr, sizeof(attr));
		ret = ioctl(files[i], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
	}
	return ret;
}

static int try_mmap(void)
{
	int i = any_slot(), prot = one_in(10) ? (int)below(8) : PROT_READ;
	size_t size = (one_in(10) ? below(10) : 1) * page_size;
	off_t at = one_in(20) ? below(5) * page_size : 0;
	void *page = mmap(NULL, size, prot, one_in(10) ? MAP_PRIVATE : MAP_SHARED,
			  any_file(), at);

	if (page == MAP_FAILED)
		return -1;
	if (pages[i])
		munmap(pages[i], page_size);
	pages[i] = page;
	if (prot & PROT_READ)
		word += *(volatile unsigned char *)page;
	if (one_in(10))
		mprotect(page, page_size, PROT_READ | PROT_WRITE);
	return 0;
}

/* Moves the page of an event to another address, or unmaps it. */
static int try_munmap(void)
{
	int i = any_slot();
	void *page = pages[i], *spot;

	if (!page)
		return 0;
	if (one_in(3)) {
		spot = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (spot == MAP_FAILED)
			return -1;
		spot = mremap(page, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, spot);
		if (spot == MAP_FAILED)
			return -1;
		pages[i] = spot;
		return 0;
	}
	pages[i] = NULL;
	return munmap(page, page_size);
}

static int try_poll(void)
{
	struct pollfd p[3];
	int i, ret;

	for (i = 0; i < 3; i++) {
		p[i].fd = any_file();
		p[i].events = POLLIN;
	}
	ret = poll(p, 3, below(3));
	for (i = 0; i < 3 && ret > 0; i++)
		if (p[i].revents & POLLIN)
			see(WAKEUPS);
	return ret;
}

static int try_close(void)
{
	int i = any_slot(), fd = files[i];

	files[i] = -1;
	return fd < 0 ? 0 : close(fd);
}

/* Forks a child that inherits the files and exits soon, maybe after exec(). */
static int try_fork(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(5);
	word++;
	if (one_in(3))
		execl("/bin/busybox", "true", NULL);
	if (one_in(2)) {
		int fd = any_file();

		ioctl(fd, PERF_EVENT_IOC_RESET, below(2));
		/* Rings are not inherited, but can be mapped. */
		try_scribble();
		try_ring();
		try_scribble();
		close(fd);
	}
	_exit(0);
}

static int try_work(void)
{
	char *area = mmap(NULL, 8 * page_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (area == MAP_FAILED)
		return -1;
	for (i = 0; i < 8; i++)
		area[i * page_size] = 1;
	for (i = 0; i < 20; i++)
		word = i;
	if (calls_fd >= 0 && pwrite(calls_fd, one_in(2) ? "003" : "100", 3, 0) < 0)
		word = 0;
	go_to(below(nr_cpus));
	return munmap(area, 8 * page_size);
}

static int try(enum call call)
{
	uint64_t n = odd_number();

	switch (call) {
	case OPEN:
	case SAMPLES:
	case TASKS:
	case MEMBER:
		return try_open(call);
	case ATTACH:
		return try_attach();
	case SHARE:
		return try_share();
	case NEXT:
		return try_next();
	case INFO:
		return try_info();
	case LINE:
		return try_line();
	case PARSE:
		return try_parse();
	case ALL:
		return ioctl(device, one_in(2) ? TALLY_IOC_ENABLE_ALL : TALLY_IOC_DISABLE_ALL, n);
	case READ:
		return try_read();
	case IOC_READ:
		return try_ioc_read();
	case ENABLE:
		return ioctl(any_file(), PERF_EVENT_IOC_ENABLE, one_in(4) ? n : below(2));
	case DISABLE:
		return ioctl(any_file(), PERF_EVENT_IOC_DISABLE, one_in(4) ? n : below(2));
	case RESET:
		return ioctl(any_file(), PERF_EVENT_IOC_RESET, one_in(4) ? n : below(2));
	case REFRESH:
		return ioctl(any_file(), PERF_EVENT_IOC_REFRESH, one_in(2) ? n : below(5));
	case PERIOD:
		n = one_in(2) ? 1 + below(100000) : n;
		return ioctl(any_file(), PERF_EVENT_IOC_PERIOD, one_in(50) ? NULL : &n);
	case ID:
		return ioctl(any_file(), PERF_EVENT_IOC_ID, one_in(50) ? NULL : &n);
	case MODIFY:
		return try_modify();
	case OUTPUT:
		return try_output();
	case PAUSE:
		return try_pause();
	case FILTER:
		return try_filter();
	case OTHER:
		return ioctl(any_file(), one_in(2) ? _IO('$', below(16)) : (unsigned int)n, n);
	case MMAP:
		return try_mmap();
	case MUNMAP:
		return try_munmap();
	case RING:
		return try_ring();
	case PART:
		return try_part();
	case SCRIBBLE:
		return try_scribble();
	case POLL:
		return try_poll();
	case ASYNC:
		return try_async();
	case CLOSE:
		return try_close();
	case FORK:
		return try_fork();
	default:
		return try_work();
	}
}

/* Calls that make files are frequent, and calls that take long are rare. */
static enum call any_call(void)
{
	static const enum call often[] = {
		OPEN, OPEN, SAMPLES, SAMPLES, TASKS, MEMBER, MEMBER, SHARE, READ, READ, IOC_READ,
		ENABLE, ENABLE, DISABLE, MMAP, RING, RING, RING, SCRIBBLE, SCRIBBLE, POLL, CLOSE,
		WORK, WORK, WORK
	};

	if (one_in(2))
		return often[below(sizeof(often) / sizeof(*often))];
	return below(20) ? below(CALLS) : FORK;
}

static int maybe_fail(void)
{
	char text[16];
	int n;

	if (fault_fd < 0 || !one_in(8))
		return 0;
	n = snprintf(text, sizeof(text), "%u", 1 + below(40));
	return pwrite(fault_fd, text, n, 0) == n;
}

/* Whether each call has succeeded, and each of the things in @seen has happened. */
static int all_seen(void)
{
	int i;

	for (i = 0; i < CALLS; i++)
		if (!__atomic_load_n(&outcomes[i][0], __ATOMIC_RELAXED))
			return 0;
	for (i = 0; i < SEEN; i++)
		if (!__atomic_load_n(&seen[i], __ATOMIC_RELAXED))
			return 0;
	return 1;
}

/* Runs for @seconds, and on a busy machine for up to 5 minutes more, until all_seen(). */
static void run(int seconds)
{
	time_t end = time(NULL) + seconds, late = end + 300;
	enum call call;
	long ret;
	int i, failing;

	for (i = 0; i < FILES; i++)
		files[i] = -1;
	fault_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	catch_signals();
	while (time(NULL) < end || (time(NULL) < late && !all_seen())) {
		/* Now and then run as nobody, who has fewer rights. */
		if (seteuid(one_in(8) ? 65534 : 0))
			_exit(4);
		for (i = 0; i < 50; i++) {
			call = any_call();
			failing = call != FORK && call != WORK ? maybe_fail() : 0;
			/* The errno of a call that finds nothing to be made with. */
			errno = ENODATA;
			ret = try(call);
			__atomic_add_fetch(&outcomes[call][ret < 0 ? errno % ERRNOS : 0], 1,
					   __ATOMIC_RELAXED);
			if (failing && pwrite(fault_fd, "0", 1, 0) != 1)
				_exit(3);
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		}
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static int open_counting(void)
{
	struct perf_event_attr attr = { SW(0) };
	struct tally_open o = request(&attr, -1, -1, -1, 0);

	o.flags = TALLY_OPEN_ALL_CPUS;
	return must_open(TALLY, &o);
}

/* No other process has rings any more. The allowance is that of mlock_kbytes. */
static int check_memory(void)
{
	int kbytes = number_in("/sys/module/tally/parameters/mlock_kbytes", 0);
	const char *wrong;

	limit_memory();
	wrong = wrong_allowance(open_counting(), open_counting(), kbytes * 1024 / page_size);
	printf("%s locked memory is given back%s%s\n", wrong ? "bad" : "ok",
	       wrong ? ": " : "", wrong ?: "");
	return 0;
}

/* Something that never happened has not been tested, so it is a failure. */
static void tell_seen(void)
{
	static const char *const what[SEEN] = {
		"signals", "wake-ups", "looks at new records", "rings of other files",
		"accesses that fault"
	};
	int i;

	for (i = 0; i < SEEN; i++)
		printf("%s %s: %lu\n", seen[i] ? "ok" : "bad", what[i], seen[i]);
	printf("%s pages that no program may write to: %lu were\n", seen[WRITTEN] ? "bad" : "ok",
	       seen[WRITTEN]);
}

int main(int argc, char **argv)
{
	int seconds, processes, i, status, bad = 0;
	unsigned long calls = 0, of_one;
	time_t begin = time(NULL);
	enum call call;

	if (argc != 4 && (argc != 2 || strcmp(argv[1], "memory")))
		errx(2, "usage: fuzz SECONDS PROCESSES SEED | memory");
	page_size = getpagesize();
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	need_device();
	if (argc == 2)
		return check_memory();
	seconds = atoi(argv[1]);
	processes = atoi(argv[2]);
	switch_id = trace_id("sched/sched_switch");
	calls_fd = open("/sys/module/tally_recorder/parameters/calls", O_WRONLY | O_CLOEXEC);
	outcomes = mmap(NULL, sizeof(*outcomes) * CALLS, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	seen = mmap(NULL, sizeof(*seen) * (SEEN + 1), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes == MAP_FAILED || seen == MAP_FAILED)
		err(2, "mmap");
	/* Children inherit this: they may own a file, and so receive its signals, too. */
	signal(SIGTRAP, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	signal(OTHER_SIGNAL, SIG_IGN);
	for (i = 0; i < processes; i++) {
		if (fork())
			continue;
		state = strtoull(argv[3], NULL, 0) * 1000003 + i + 1;
		rnd();
		run(seconds);
	}
	for (i = 0; i < processes; i++) {
		wait(&status);
		if (status) {
			printf("# a process ended with %#x\n", status);
			bad += !WIFSIGNALED(status) || WTERMSIG(status) != SIGTRAP;
		}
	}
	remove_lines();
	for (call = 0; call < CALLS; call++) {
		of_one = 0;
		printf("# %s:", names[call]);
		for (i = 0; i < ERRNOS; i++) {
			if (!outcomes[call][i])
				continue;
			of_one += outcomes[call][i];
			printf(" %s %lu", i ? strerrorname_np(i) : "OK", outcomes[call][i]);
		}
		printf("\n");
		printf("%s %s: %lu calls, %lu of them succeeded\n",
		       outcomes[call][0] ? "ok" : "bad", names[call], of_one, outcomes[call][0]);
		calls += of_one;
	}
	tell_seen();
	printf("%s %lu calls by %d processes in %ld s\n", bad ? "bad" : "ok", calls, processes,
	       (long)(time(NULL) - begin));
	return 0;
}
