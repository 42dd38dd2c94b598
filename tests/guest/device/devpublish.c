// SPDX-License-Identifier: GPL-2.0
/*
 * devpublish task CPU: counts the caller on a CPU, and the copies that are published, until
 *	it is told to end by SIGTERM.
 * devpublish all: publishes an event on all CPUs each millisecond until then.
 * devpublish shared: the rate of many pages of one user.
 * devpublish follow: the count of a task that goes from CPU to CPU.
 * devpublish reader NAME N: attaches to event NAME, reads it N times in each way, and waits for
 *	the end of its input before and afterwards.
 * devpublish weak: what a reader without CAP_PERFMON sees of the events "all", "one" on CPU 0,
 *	"elsewhere" on CPU 2, and "inherited".
 * devpublish gone: what it sees of the event "ending", which its owner releases.
 * devpublish hog: keeps its CPU busy.
 */
#define _GNU_SOURCE
#include "devtest.h"

#define FILES	20

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static uint64_t time_of(const struct tally_page *page)
{
	return __atomic_load_n(&page->time_ns, __ATOMIC_RELAXED);
}

/* A task that never sleeps. */
static void test_task(char **arguments)
{
	const struct tally_page *page;
	uint64_t time, last = 0;
	int fd, copies = 0;

	signal(SIGTERM, end);
	run_on(atoi(arguments[0]));
	usual();
	fd = open_it();
	page = tally_page_of(map(fd, PROT_READ));
	while (!ended) {
		time = time_of(page);
		copies += time != last;
		last = time;
	}
	tell(copies > 1, "%d copies of its count", copies);
}

/* Returns how many copies the caller sees while it keeps a CPU busy for a second. */
static int copies_of(const struct tally_page *page)
{
	uint64_t last = 0, time, end = now_ns() + 1000000000;
	int copies = 0;

	do {
		time = time_of(page);
		copies += time != last;
		last = time;
	} while (now_ns() < end);
	return copies;
}

/* Tries for a minute to see @enough copies in a second: the machine may be busy. */
static int most_copies(const struct tally_page *page, int enough)
{
	int turn, copies = 0;

	for (turn = 0; turn < 60 && copies < enough; turn++)
		copies = copies_of(page);
	return copies;
}

/*
 * Each page takes 0.4 ms of an interval, so 400 pages have an interval of 160 ms, and each of
 * two timers makes at most 8 copies a second. A short interval takes CAP_PERFMON, and is kept.
 */
static void shared(void)
{
	enum { PAGES = 400 };
	const struct tally_page *page, *fast;
	void *pages[PAGES];
	int i, fd, copies;

	run_on(1);
	usual();
	page = tally_page_of(map(open_it(), PROT_READ));
	usual();
	o.publish_ns = 1000000;
	fast = tally_page_of(map(open_it(), PROT_READ));
	for (i = 0; i < PAGES; i++) {
		usual();
		fd = open_it();
		pages[i] = map(fd, PROT_READ);
		close(fd);
	}
	copies = most_copies(page, 2);
	tell(copies >= 2 && copies <= 16, "one of %d pages: %d copies a second", PAGES, copies);
	copies = most_copies(fast, 53);
	tell(copies > 52, "one with a short interval: %d", copies);
	for (i = 0; i < PAGES; i++)
		munmap(pages[i], page_size);
	copies = most_copies(page, 53);
	tell(copies > 52, "the first one, when it is alone: %d", copies);
}

static void test_all(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	usual();
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	o.publish_ns = 1000000;
	tell(map(open_it(), PROT_READ) != MAP_FAILED, "the page of an event on all CPUs");
	sigwait(&set, &sig);
}

/*
 * Whether the page shows the caller's count, while the caller runs, for a minute of its own
 * time: other tasks may hold the CPU.
 */
static int shows(const struct perf_event_mmap_page *page, int64_t count)
{
	do {
		if (__atomic_load_n(&page->offset, __ATOMIC_RELAXED) >= count)
			return 1;
	} while (ns_of(CLOCK_PROCESS_CPUTIME_ID) < 60000000000ULL);
	return 0;
}

/* The task sleeps before it goes on, so each CPU is idle when the task leaves it. */
static void follow(void)
{
	const struct perf_event_mmap_page *page;
	int fd, cpu, i, seen = 0;

	usual();
	fd = open_it();
	page = map(fd, PROT_READ);
	for (i = 0; i < 30; i++) {
		cpu = i % 3;
		run_on(cpu);
		touch(10);
		seen += shows(page, value_of(fd));
		wait_ms(i % 5 * 10);
	}
	tell(seen == i, "its count follows a task in %d of %d places", seen, i);
	run_on(0);
	close(fd);
}

/* ---- readers ---- */

/* Lets the script look at what this process has done so far. */
static void wait_for_order(const char *done)
{
	char c;

	printf("%s\n", done);
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		err(2, "no order");
}

static void test_reader(char **arguments)
{
	int n = atoi(arguments[1]), i, fd, failed = 0;
	struct pollfd p = { .events = POLLIN };
	struct tally_value value;
	void *page;

	wait_for_order("ready");
	fd = attach_to(arguments[0]);
	p.fd = fd;
	for (i = 0; i < n; i++)
		failed += value_of(fd) == ~0ULL || read_values(fd, &value, NULL) != 1;
	for (i = 0; i < n; i++) {
		page = map(fd, PROT_READ);
		failed += page == MAP_FAILED || ioctl(fd, PERF_EVENT_IOC_RESET, 0) ||
			  poll(&p, 1, 0) || !fdinfo(fd);
		munmap(page, page_size);
		close(attach_to(arguments[0]));
	}
	printf("failed %d\n", failed);
	wait_for_order("done");
}

static uint64_t time_read(int fd, struct tally_value *value)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1, .nr = 1, .values = (unsigned long)value,
		.value_size = sizeof(struct tally_value),
	};

	return ioctl(fd, TALLY_IOC_READ, &r) ? ~0ULL : r.time_ns;
}

/*
 * The event counts on CPU 0 alone, so each time is that of another copy of one count, whichever of
 * the files shows it. Of several files, every other one is closed and made again before it is read.
 */
static void ages(int *fds, int nr)
{
	uint64_t time, last = 0, least = ~0ULL, fell = 0, before[FILES] = { 0 };
	struct tally_value value;
	int copies = 0, i;

	run_on(0);
	for (i = 0; copies < 50; i = (i + 1) % nr) {
		if (nr > 1 && i % 2) {
			close(fds[i]);
			fds[i] = attach_to("one");
			if (fds[i] < 0)
				err(2, "attach");
			before[i] = 0;
		}
		time = time_read(fds[i], &value);
		fell += value.value < before[i];
		before[i] = value.value;
		if (time <= last)
			continue;
		if (last && time - last < least)
			least = time - last;
		last = time;
		copies++;
	}
	tell(least >= 10000000 && !fell, "%d copies in %d files, at least %llu ns old", copies, nr,
	     (unsigned long long)least);
}

/* Files that were made at different times. */
static void many_ages(void)
{
	int fds[FILES], i;

	for (i = 0; i < FILES; i++) {
		fds[i] = attach_to("one");
		value_of(fds[i]);
		usleep(700);
	}
	ages(fds, FILES);
	for (i = 0; i < FILES; i++)
		close(fds[i]);
}

static void weak(void)
{
	const struct perf_event_mmap_page *page;
	struct tally_value value;
	int all, one, elsewhere;
	uint64_t time, last;
	clock_t first;

	run_on(0);
	all = attach_to("all");
	one = attach_to("one");
	tell(all >= 0 && one >= 0, "attached without CAP_PERFMON");
	tell(value_of(all) < 100, "it counts from now on: %llu",
	     (unsigned long long)value_of(all));
	touch(200);
	tell(while_busy(value_of(all) >= 200), "and counts");
	expect(read_first(all, 0, &value), EACCES, "one CPU's part");
	page = map(all, PROT_READ);
	last = page->offset;
	touch(100);
	tell(while_busy(page->offset >= (long long)last + 100), "so does its page");
	munmap((void *)page, page_size);
	last = value_of(all);
	expect(ioctl(all, PERF_EVENT_IOC_RESET, 0), 0, "reset");
	tell(value_of(all) < last, "its value begins again: %llu, %llu",
	     (unsigned long long)value_of(all), (unsigned long long)last);
	ages(&one, 1);
	many_ages();

	elsewhere = attach_to("elsewhere");
	time = time_read(elsewhere, &value);
	tell(time || (!value.value && !value.running_ns && value.state == TALLY_IS_INACTIVE),
	     "before the first copy: state %u, %llu", value.state,
	     (unsigned long long)value.value);
	run_on(2);
	first = clock();
	while (!value_of(elsewhere) && clock() - first < 60 * CLOCKS_PER_SEC)
		;
	time = time_read(elsewhere, &value);
	tell(time && value.value && value.running_ns && value.state == TALLY_IS_ACTIVE,
	     "and afterwards: state %u, %llu", value.state, (unsigned long long)value.value);
	tell(attach_to("inherited") < 0 && errno == EACCES, "none to an inherited event: %s",
	     strerrorname_np(errno));
}

/* The event of this process ends while another process reads it. */
static void weak_gone(void)
{
	struct pollfd p = { .events = POLLIN };
	struct tally_value value;
	uint64_t last, time;

	p.fd = attach_to("ending");
	touch(100);
	wait_for_order("attached");
	tell(poll(&p, 1, 60000) == 1 && p.revents == POLLHUP, "its owner releases it");
	last = value_of(p.fd);
	tell(last >= 100 && last == value_of(p.fd), "the last count stays: %llu",
	     (unsigned long long)last);
	time = time_read(p.fd, &value);
	tell(time && value.state == TALLY_IS_RELEASED && value.value == last, "state %u, %llu",
	     value.state, (unsigned long long)value.value);
	expect(ioctl(p.fd, PERF_EVENT_IOC_RESET, 0), 0, "reset");
	tell(!value_of(p.fd), "its value is 0");
	close(p.fd);
}

static void hog(void)
{
	for (;;)
		relax();
}

static const struct devtest tests[] = {
	{ "task", .arguments = 1, .with = test_task },
	{ "all", .run = test_all },
	{ "shared", .run = shared },
	{ "follow", .run = follow },
	{ "reader", .arguments = 2, .with = test_reader },
	{ "weak", .run = weak },
	{ "gone", .run = weak_gone },
	{ "hog", .run = hog },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
