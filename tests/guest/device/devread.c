// SPDX-License-Identifier: GPL-2.0
/*
 * devread attach NAME: a file that is attached to event NAME of another owner.
 * devread gone NAME COMMAND: the same, while COMMAND has the event released.
 * devread owners: what readers see when the owner resets or disables its event.
 * devread poll: files are woken when their task ends.
 * devread page: the published page.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- another one's event ---- */

static void attach(const char *name)
{
	struct tally_next next = { .size = sizeof(next) };
	struct tally_attach at = { .size = sizeof(at) };
	struct tally_value value;
	uint64_t id = 0, period = 1, first;
	int fd, other, found = 0;

	fd = attach_to(name);
	tell(fd >= 0, "attached to %s", name);
	first = value_of(fd);
	tell(first < 100, "it counts from now on: %llu", (unsigned long long)first);
	touch(200);
	tell(value_of(fd) - first >= 200, "and counts: %llu", (unsigned long long)value_of(fd));
	other = attach_to(name);
	expect(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0, "its value begins again");
	touch(50);
	tell(value_of(fd) >= 50 && value_of(fd) < 200, "from there: %llu",
	     (unsigned long long)value_of(fd));
	tell(value_of(other) >= 50 && value_of(other) < 250, "another reader's does not: %llu",
	     (unsigned long long)value_of(other));
	expect(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), EPERM, "enable");
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), EPERM, "disable");
	expect(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EPERM, "refresh");
	expect(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EPERM, "period");
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EPERM, "modify");
	expect(ioctl(fd, PERF_EVENT_IOC_ID, &id), 0, "its id");
	expect(read_first(fd, 0, &value), 0, "one CPU's part");
	tell(value.id == id && value.state == TALLY_IS_ACTIVE, "state %u, %llu", value.state,
	     (unsigned long long)value.value);

	while (!ioctl(device, TALLY_IOC_NEXT, &next)) {
		if (strcmp(next.name, name))
			continue;
		found = 1;
		tell(next.id == id && !strcmp(next.owner, "tally") && next.cpu == -1 &&
		     next.pid == -1 && next.state == TALLY_IS_ACTIVE &&
		     strstr(next.what, "page-faults"), "next: %s of %s counts %s",
		     next.name, next.owner, next.what);
	}
	tell(found, "it is among all");
	close(other);
	at.id = id;
	other = ioctl(device, TALLY_IOC_ATTACH, &at);
	expect(other, 0, "attached to by its id");
	usual();
	o.group_fd = other;
	refused(EINVAL, TALLY_FIELD_GROUP_FD, "it is no leader");
	close(other);
	close(fd);
}

static void gone(const char *name, const char *command)
{
	struct perf_event_mmap_page *page;
	struct pollfd p = { .events = POLLIN };
	struct tally_value value;
	uint64_t last;
	int ret;

	p.fd = attach_to(name);
	tell(p.fd >= 0, "attached to %s", name);
	page = map(p.fd, PROT_READ);
	tell(page != MAP_FAILED, "its page is mapped");
	touch(100);
	tell(!poll(&p, 1, 0), "nothing to be told yet");
	if (!fork()) {
		wait_ms(100);
		_exit(system(command) ? 1 : 0);
	}
	ret = poll(&p, 1, 60000);
	tell(ret == 1 && p.revents == POLLHUP, "its owner releases it: %d, %#x", ret, p.revents);
	wait(&ret);
	tell(!ret, "as it was told to");
	last = value_of(p.fd);
	tell(last >= 100 && last == value_of(p.fd), "the final count stays: %llu",
	     (unsigned long long)last);
	touch(100);
	tell(last == value_of(p.fd), "and is final");
	tell(page->offset == (long long)last, "the page has it, too: %lld", page->offset);
	expect(read_first(p.fd, -1, &value), 0, "read");
	tell(value.state == TALLY_IS_RELEASED && value.value == last, "state %u, %llu",
	     value.state, (unsigned long long)value.value);
	munmap(page, page_size);
	page = map(p.fd, PROT_READ);
	expect(page == MAP_FAILED ? -1 : 0, ENODEV, "mapped again");
	expect(ioctl(p.fd, PERF_EVENT_IOC_RESET, 0), 0, "reset");
	tell(!value_of(p.fd), "its value is 0");
	close(p.fd);
}

/* ---- readers, and what the owner does ---- */

static void owners(void)
{
	struct tally_attach at = {
		.size = sizeof(at), .flags = TALLY_ATTACH_TOTAL, .name = "reset",
	};
	struct perf_event_mmap_page *page, *total_page;
	int mine, other, total;
	uint64_t before;

	usual();
	strcpy(o.name, "reset");
	mine = open_it();
	touch(1000);
	other = attach_to("reset");
	page = map(other, PROT_READ);
	touch(100);
	before = value_of(other);
	tell(before >= 100 && before < 200, "a reader counts from when it came: %llu",
	     (unsigned long long)before);
	total = ioctl(device, TALLY_IOC_ATTACH, &at);
	expect(total, 0, "a reader of the total");
	total_page = map(total, PROT_READ);
	ioctl(mine, PERF_EVENT_IOC_RESET, 0);
	tell(value_of(total) >= 1100, "it has all counts, whatever the owner resets: %llu",
	     (unsigned long long)value_of(total));
	tell(while_busy(total_page->offset >= 1100), "and so has its page: %lld",
	     total_page->offset);
	close(total);
	tell(value_of(mine) < 50 && value_of(other) >= before && value_of(other) < before + 50,
	     "its owner resets it, for itself alone: %llu, %llu",
	     (unsigned long long)value_of(mine), (unsigned long long)value_of(other));
	touch(50);
	tell(while_busy(page->offset >= (long long)before + 50) &&
	     page->offset < (long long)before + 200, "the page goes on, too: %lld", page->offset);
	ioctl(mine, PERF_EVENT_IOC_DISABLE, 0);
	before = value_of(other);
	ioctl(mine, PERF_EVENT_IOC_RESET, 0);
	tell(value_of(other) == before && !value_of(mine), "the same while it is disabled");
	ioctl(other, PERF_EVENT_IOC_RESET, 0);
	tell(!value_of(other) && !page->offset, "a reader resets it, for itself");
	ioctl(mine, PERF_EVENT_IOC_ENABLE, 0);
	touch(30);
	tell(value_of(other) >= 30 && value_of(other) < 80, "from there: %llu",
	     (unsigned long long)value_of(other));
	munmap(page, page_size);
	close(other);
	close(mine);
}

/* ---- poll ---- */

/*
 * A child that touches pages when it reads a byte from @go, and then ends: @how is 'e' to
 * exit, 'x' to exec(), and 'f' to leave a child of its own for a while.
 */
static pid_t child(int go[2], int how)
{
	pid_t pid = fork_waiting(go);

	if (pid)
		return pid;
	touch(100);
	if (how == 'x') {
		execl("/bin/busybox", "sleep", "60", NULL);
		_exit(1);
	}
	if (how == 'f' && !fork()) {
		wait_ms(700);
		touch(50);
		_exit(0);
	}
	_exit(0);
}

static void poll_one(int how, const char *what)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct pollfd p = { .events = POLLIN };
	int go[2], ep, ret;
	uint64_t start, last;
	pid_t pid;

	pid = child(go, how);
	usual();
	o.pid = pid;
	attr.inherit = how == 'f';
	attr.remove_on_exec = how == 'x';
	p.fd = open_it();
	tell(p.fd >= 0, "%s: %s", what, why.text);
	ep = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(ep, EPOLL_CTL_ADD, p.fd, &e);
	tell(!poll(&p, 1, 50), "%s: nothing yet", what);
	start = now_ns();
	let_go_on(go);
	ret = poll(&p, 1, 60000);
	tell(ret == 1 && p.revents == POLLHUP, "%s: told: %d, %#x after %llu ms", what, ret,
	     p.revents, (unsigned long long)(now_ns() - start) / 1000000);
	if (how == 'f')
		tell(now_ns() - start >= 600000000, "%s: not before its child", what);
	memset(&e, 0, sizeof(e));
	ret = epoll_wait(ep, &e, 1, 1000);
	tell(ret == 1 && e.events == EPOLLHUP, "%s: by epoll: %d, %#x", what, ret, e.events);
	last = value_of(p.fd);
	tell(last >= (how == 'f' ? 150 : 100), "%s: its count stays: %llu", what,
	     (unsigned long long)last);
	expect(ioctl(p.fd, PERF_EVENT_IOC_ENABLE, 0), 0, "enable does nothing");
	expect(ioctl(p.fd, PERF_EVENT_IOC_RESET, 0), 0, "reset");
	tell(!value_of(p.fd), "%s: its value is 0", what);
	/* After exec() the task still runs, but its event was removed. */
	usual();
	o.group_fd = p.fd;
	o.pid = pid;
	attr.inherit = how == 'f';
	refused(ENODEV, TALLY_FIELD_GROUP_FD, "it is no leader");
	if (how == 'x')
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ep);
	close(p.fd);
}

/* Who attaches to an inherited event does not see the fork of a child that is there. */
static void poll_attached(void)
{
	struct pollfd at = { .events = POLLIN };
	int orders[2], answers[2], end[2], fd, ret;
	pid_t pid;
	char c;

	if (pipe(orders) || pipe(answers) || pipe(end))
		err(2, "pipe");
	pid = fork();
	if (!pid) {
		if (read(orders[0], &c, 1) == 1 && !fork()) {
			close(end[1]);
			_exit(read(end[0], &c, 1));
		}
		_exit(write(answers[1], "", 1) != 1 || read(orders[0], &c, 1) != 1);
	}
	usual();
	o.pid = pid;
	attr.inherit = 1;
	strcpy(o.name, "family");
	fd = open_it();
	if (write(orders[1], "", 1) != 1 || read(answers[0], &c, 1) != 1)
		err(2, "the parent");
	at.fd = attach_to("family");
	expect(at.fd, 0, "attached to an event whose child is there");
	if (write(orders[1], "", 1) != 1)
		err(2, "the parent");
	waitpid(pid, NULL, 0);
	tell(!poll(&at, 1, 50), "attached: nothing at the end of the parent");
	close(end[1]);
	ret = poll(&at, 1, 60000);
	tell(ret == 1 && at.revents == POLLHUP, "attached: told at the end of the child: %#x",
	     at.revents);
	close(at.fd);
	close(fd);
}

/* Who attaches after exec() has removed the event does not see that exec(). */
static void poll_removed(void)
{
	struct pollfd p = { .events = POLLIN };
	int go[2], fd, other;
	pid_t pid;

	pid = child(go, 'x');
	usual();
	o.pid = pid;
	other = open_it();
	attr.remove_on_exec = 1;
	strcpy(o.name, "removed");
	fd = open_it();
	let_go_on(go);
	p.fd = fd;
	tell(poll(&p, 1, 60000) == 1 && p.revents == POLLHUP, "exec removes an event: %#x",
	     p.revents);
	p.fd = other;
	tell(!poll(&p, 1, 0), "the task has another one");
	p.fd = attach_to("removed");
	tell(poll(&p, 1, 0) == 1 && p.revents == POLLHUP, "who attaches then is told at once: %#x",
	     p.revents);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(p.fd);
	close(fd);
	close(other);
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

static void polls(void)
{
	int go[2], fd;
	pid_t pid;

	poll_one('e', "exit");
	poll_one('x', "exec");
	poll_one('f', "inherit");
	poll_attached();
	poll_removed();

	/* The end of a task sends a signal, and nothing opens an event of it then. */
	signal(SIGIO, count_signal);
	pid = child(go, 'e');
	usual();
	o.pid = pid;
	fd = open_it();
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	let_go_on(go);
	waitpid(pid, NULL, 0);
	eventually(signals);
	tell(signals == 1, "a signal at the end: %d", (int)signals);
	close(fd);
	usual();
	o.pid = pid;
	refused(ESRCH, TALLY_FIELD_PID, "a task that is gone");
}

/* ---- the page ---- */

static uint64_t page_read(volatile struct perf_event_mmap_page *page)
{
	return read_page(page).value;
}

/* Reads a page while another CPU writes to it at the shortest interval. */
static void page_race(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t i, last = 0, last_time = 0, end = now_ns() + 60000000000ULL;
	struct shown s;
	int fd, torn = 0, fell = 0, changes = 0;
	pid_t pid;

	usual();
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	o.pid = -1;
	o.cpu = 0;
	o.publish_ns = 10000;
	fd = open_it();
	page = map(fd, PROT_READ);
	pid = fork();
	if (!pid) {
		run_on(0);
		for (;;)
			touch(100);
	}
	run_on(1);
	/* Where one thread emulates all CPUs, many reads come before the next copy. */
	for (i = 0; i < 300000 || (changes < 2 && now_ns() < end); i++) {
		s = read_page(page);
		changes += (uint64_t)s.value != last;
		torn += s.enabled != s.running;
		fell += (uint64_t)s.value < last || s.enabled < last_time;
		last = s.value;
		last_time = s.enabled;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tell(!torn && !fell && changes >= 2, "whole, whenever it is read: %d torn, %d less, %llu ns",
	     torn, fell, (unsigned long long)last);
	munmap((void *)page, page_size);
	close(fd);
}

static void pages(void)
{
	struct perf_event_mmap_page *page, *again;
	const struct tally_page_value *value;
	const struct tally_page *more;
	uint64_t count, last = 0;
	int fd, i, fell = 0;

	usual();
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	o.publish_ns = 1000000;
	fd = open_it();
	page = map(fd, PROT_READ | PROT_WRITE);
	expect(page == MAP_FAILED ? -1 : 0, EACCES, "to be written to");
	page = map(fd, PROT_READ);
	tell(page != MAP_FAILED, "to be read");
	expect(mprotect(page, page_size, PROT_READ | PROT_WRITE), EACCES, "and nothing else");
	again = map(fd, PROT_READ);
	tell(again != MAP_FAILED, "twice");
	munmap(again, page_size);
	more = tally_page_of(page);
	tell(more->size == sizeof(*more) && more->value_size == sizeof(*value) && more->nr == 1 &&
	     more->time_ns, "%u value", more->nr);
	value = tally_page_nth_value(more, 0);
	tell(value->id == o.id && value->state == TALLY_IS_ACTIVE, "its id, and state %u",
	     value->state);
	for (i = 0; i < 50; i++) {
		run_on(i % nr_online());
		touch(100);
		wait_ms(4);
		count = page_read(page);
		fell += count < last;
		last = count;
	}
	tell(!fell && while_busy((last = page_read(page)) >= 5000),
	     "it grows on all CPUs, and never falls: %llu", (unsigned long long)last);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	tell(page_read(page) == value_of(fd), "the same as read, when it is off: %llu",
	     (unsigned long long)page_read(page));
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	tell(!page_read(page), "0, when it is reset");
	i = open_all(PERF_COUNT_SW_CONTEXT_SWITCHES, fd, TALLY_OPEN_MEMBER);
	tell(!i && more->nr == 2, "a member comes: %u values", more->nr);
	value = tally_page_nth_value(more, 1);
	tell(value->id == o.id && value->state == TALLY_IS_OFF, "its id, and state %u",
	     value->state);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	wait_ms(50);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	tell(value->value > 0 && value->running_ns > 0, "and is published, too: %llu",
	     (unsigned long long)value->value);
	i = open_all(PERF_COUNT_SW_CPU_CLOCK, fd, 0);
	tell(more->nr == 3, "one with a file of its own: %u", more->nr);
	close(i);
	tell(more->nr == 2, "it goes again: %u", more->nr);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	close(fd);
	count = page_read(page);
	touch(100);
	tell(while_busy(page_read(page) >= count + 100),
	     "the page outlives its descriptor: %llu, %llu", (unsigned long long)count,
	     (unsigned long long)page_read(page));
	madvise(page, page_size, MADV_DONTNEED);
	tell(page_read(page) >= count + 100, "and is there again when it was let go");
	munmap(page, page_size);

	usual();
	attr.inherit = 1;
	fd = open_it();
	expect(map(fd, PROT_READ) == MAP_FAILED ? -1 : 0, EINVAL, "of an inherited event");
	close(fd);
	page_race();
}

static void test_attach(char **arguments)
{
	attach(arguments[0]);
}

static void test_gone(char **arguments)
{
	gone(arguments[0], arguments[1]);
}

static const struct devtest tests[] = {
	{ "attach", .arguments = 1, .with = test_attach },
	{ "gone", .arguments = 2, .with = test_gone },
	{ "owners", .run = owners },
	{ "poll", .run = polls },
	{ "page", .run = pages },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
