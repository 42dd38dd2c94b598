// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: the readers that are woken, and when.
 *
 *	devwake wakeup|sleeper|redirected|epoll_late|by_signal|feedback
 */
#define _GNU_SOURCE
#include <sys/signalfd.h>
#include "devring.h"

/* Time limit for an expected wake-up; a busy machine may need long. */
#define PATIENCE_MS 60000

/* ---- wake-ups ---- */

/* The child calls a function for each let_one_go(), and exits when this pipe is closed. */
static int gate[2];

static pid_t at_the_gate(void (*something)(void))
{
	pid_t child;
	char byte;

	if (pipe(gate))
		err(2, "pipe");
	child = fork();
	if (child) {
		close(gate[0]);
		return child;
	}
	close(gate[1]);
	while (read(gate[0], &byte, 1) == 1)
		something();
	_exit(0);
}

static void let_one_go(void)
{
	if (write(gate[1], "", 1) != 1)
		err(2, "the child");
}

static void one_fault(void)
{
	touch(1);
}

/* Prepares an event of a child that faults once for each let_one_go(). */
static pid_t child_that_faults(void)
{
	faults(PERF_SAMPLE_IP);
	attr.disabled = 0;
	o.pid = at_the_gate(one_fault);
	return o.pid;
}

static void wakes(const char *what, int after)
{
	int i, first[2] = { 0 };

	run_on(0);
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	for (i = 1; i <= 2 * after && !(first[0] && first[1]); i++) {
		switch_both(1);
		touch(1);
		switch_both(0);
		/* poll() waits only for a wake-up that is expected. */
		if (polled_for(perf_ring.fd, i < after ? 0 : PATIENCE_MS) && !first[0])
			first[0] = i;
		if (polled_for(tally_ring.fd, i < after ? 0 : PATIENCE_MS) == POLLIN && !first[1])
			first[1] = i;
	}
	tell(first[0] == first[1] && first[1] == after, "%s: woken after %d samples, perf %d",
	     what, first[1], first[0]);
	tell(!polled(tally_ring.fd), "%s: and not again", what);
	neither();
}

static void wakeup(void)
{
	faults(PERF_SAMPLE_IP);
	wakes("wakeup_events 1", 1);
	faults(PERF_SAMPLE_IP);
	attr.wakeup_events = 7;
	wakes("wakeup_events 7", 7);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 1;
	wakes("a watermark of 1 byte", 1);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 100;
	wakes("a watermark of 100 bytes", 7);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 0;
	wakes("half of the ring", page_size / 2 / 16 + 1);
	faults(PERF_SAMPLE_IP);
	attr.wakeup_events = 0;
	wakes("no number: half of the ring", page_size / 2 / 16 + 1);
}

/* A task sleeps in poll() while another one causes samples. */
static void sleeper(void)
{
	int fd, woken = 0;
	pid_t child;

	child = child_that_faults();
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "%m");
		return;
	}
	let_one_go();
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, PATIENCE_MS) != 1 || p.revents & POLLHUP)
			break;
		woken++;
		tally_ring.tail = tally_ring.page->data_head;
		done(&tally_ring);
		if (woken < 20)
			let_one_go();
		else
			close(gate[1]);
	}
	tell(woken >= 20, "a sleeper was woken %d times, and then told that the task is gone",
	     woken);
	unmap_ring(&tally_ring);
	waitpid(child, NULL, 0);
}

/* A task that polls the file of an event that writes to another ring is woken. */
static void redirected(void)
{
	struct pollfd p = { .events = POLLIN };
	int fd, t, nr;
	pid_t child;

	child = child_that_faults();
	fd = open_it();
	t = open_it();
	if (map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0) ||
	    ioctl(t, PERF_EVENT_IOC_SET_OUTPUT, fd))
		tell(0, "SET_OUTPUT: %m");
	p.fd = t;
	let_one_go();
	nr = poll(&p, 1, PATIENCE_MS);
	tell(nr == 1 && p.revents == POLLIN, "it is woken: %#x", p.revents);
	close(gate[1]);
	unmap_ring(&tally_ring);
	close(t);
	waitpid(child, NULL, 0);
}

/* ---- epoll, when there are news before ---- */

static int add_errno(int set, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) ? errno : 0;
}

/* Makes an epoll set with perf's file and one with tally's. */
static void add_both(int *sets, const char *what)
{
	int p, t;

	sets[0] = epoll_create1(EPOLL_CLOEXEC);
	sets[1] = epoll_create1(EPOLL_CLOEXEC);
	p = add_errno(sets[0], perf_ring.fd);
	t = add_errno(sets[1], tally_ring.fd);
	tell(p == t && !t, "epoll: %s: %s, perf %s", what, errno_name(t), errno_name(p));
}

/* Returns the events that a set reports for its file; 0 for none, -1 for wrong ones. */
static int told_by(int set, int fd, int ms)
{
	struct epoll_event e = { 0 };
	int nr = epoll_wait(set, &e, 1, ms);

	if (!nr)
		return 0;
	return nr == 1 && e.data.fd == fd && e.events ? (int)e.events : -1;
}

static void told_alike(const int *sets, int wanted, const char *what)
{
	/* On a busy machine, a thread with a higher priority may delay a wake-up. */
	int ms = wanted ? PATIENCE_MS : 100;
	int p = told_by(sets[0], perf_ring.fd, ms), t = told_by(sets[1], tally_ring.fd, ms);

	tell(p == t && t == wanted, "epoll: %s: %#x, perf %#x", what, t, p);
}

/* Writes a record to each ring, and waits until the wake-up is over. */
static void wake_both(void)
{
	fault_both(1);
	wait_ms(50);
}

/*
 * epoll_ctl() polls a file that is added, and epoll_wait() polls it again before it
 * reports it. The file of a ring returns EPOLLIN only once for each wake-up, so the
 * second poll returns nothing: until the next wake-up, a set does not report records that
 * were there when the file was added. perf does the same, and so must tally.
 */
static void epoll_late(void)
{
	int first[2], second[2];

	/* The timers of one CPU expire in order, however late they are. */
	run_on(0);
	faults(PERF_SAMPLE_IP);
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	wake_both();
	tell(perf_ring.page->data_head == 16 && tally_ring.page->data_head == 16,
	     "epoll: %llu bytes are there before, perf's %llu",
	     (unsigned long long)tally_ring.page->data_head,
	     (unsigned long long)perf_ring.page->data_head);
	add_both(first, "added late");
	told_alike(first, 0, "nothing of what was before");
	wake_both();
	told_alike(first, EPOLLIN, "the next wake-up is told");
	told_alike(first, 0, "and only once");
	/* Adding the file to another set polls it, and the first set misses EPOLLIN. */
	wake_both();
	add_both(second, "added to another set, late");
	told_alike(second, 0, "which has nothing to tell");
	told_alike(first, 0, "nor has the first one now");
	wake_both();
	told_alike(second, EPOLLIN, "who asks first is told the next wake-up");
	told_alike(first, 0, "and who asks second is not");
	neither();
}

/* ---- signals ---- */

/* Asks for a signal for each wake-up: @sig, or SIGIO if it is 0. */
static int asked(int fd, int sig)
{
	return fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETSIG, sig) ||
	       fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

/*
 * Waits for a signal for at most @ms, and returns how many report that the file can be
 * read. Kernels without CONFIG_COMPAT_32BIT_TIME, such as the debug kernels, have no
 * sigtimedwait() for programs of 32 bits.
 */
static int signals_of(int fd, int sig, int ms)
{
	struct signalfd_siginfo info;
	int signals, nr = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		err(2, "signalfd");
	while (polled_for(signals, ms)) {
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			err(2, "read a signal");
		nr += info.ssi_fd == fd && info.ssi_code == POLL_IN;
		ms = 100;
	}
	close(signals);
	return nr;
}

/* A record that is no sample sends a signal, too. perf does so in 6.12, not in 6.1. */
static void by_signal(void)
{
	const int sig[] = { SIGRTMIN + 1, SIGRTMIN + 2 };
	int i, from_perf, from_tally;
	sigset_t set;

	run_on(0);
	sigemptyset(&set);
	sigaddset(&set, sig[0]);
	sigaddset(&set, sig[1]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	faults(0);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = 0;
	attr.comm = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = 1;
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	if (asked(perf_ring.fd, sig[0]) || asked(tally_ring.fd, sig[1]))
		tell(0, "fcntl: %m");
	switch_both(1);
	for (i = 0; i < 3; i++) {
		prctl(PR_SET_NAME, "renamed");
		from_tally = signals_of(tally_ring.fd, sig[1], PATIENCE_MS);
		from_perf = signals_of(perf_ring.fd, sig[0], 100);
		tell(from_tally == 1 && from_perf <= 1,
		     "COMM %d: %d signal, perf %d", i, from_tally, from_perf);
	}
	switch_both(0);
	prctl(PR_SET_NAME, "again");
	tell(!signals_of(tally_ring.fd, sig[1], 100), "and none while it is disabled");
	neither();
}

/* ---- samples of signals and of wake-ups ---- */

#define WHILE_MS 300

/* Waits until @fd has counted @many since @before, or for PATIENCE_MS. */
static uint64_t wait_for_many(int fd, uint64_t before, uint64_t many)
{
	uint64_t end = now_ns() + PATIENCE_MS * 1000000ULL, now;

	do {
		wait_ms(WHILE_MS);
		now = value_of(fd) - before;
	} while (now < many && now_ns() < end);
	return now;
}

static int open_tracepoint(const char *name, int pages)
{
	int fd;

	faults(PERF_SAMPLE_IP);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id(name);
	o.pid = -1;
	o.cpu = 0;
	fd = open_it();
	if (fd < 0 || map_pages(fd, 1 + pages, PROT_READ | PROT_WRITE, 0) == MAP_FAILED)
		tell(0, "%s: %m: %s", name, why.text);
	return fd;
}

/*
 * The event samples signals, and each sample sends a signal, so each signal causes the
 * next one: in one file, or alternately in two. The brake slows them down, so that other
 * tasks run (see base/kick.c).
 */
static void signals_of_signals(int files)
{
	sigset_t set;
	int fd[2], i;
	uint64_t before[2], after, begin, most;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run_on(0);
	for (i = 0; i < files; i++) {
		fd[i] = open_tracepoint("signal/signal_generate", 16);
		if (asked(fd[i], 0))
			tell(0, "fcntl: %m");
	}
	for (i = 0; i < files; i++)
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	kill(getpid(), SIGUSR1);
	begin = now_ns();
	for (i = 0; i < files; i++)
		before[i] = value_of(fd[i]);
	for (i = 0; i < files; i++) {
		after = wait_for_many(fd[i], before[i], 3);
		/* At most two signals of each file are allowed in a millisecond. */
		most = files * 2 * (now_ns() - begin + 1);
		tell(after >= 3 && after <= most, "%d files: %llu signals of %llu at most",
		     files, (unsigned long long)after, (unsigned long long)most);
	}
	for (i = 0; i < files; i++)
		close(fd[i]);
}

/* A probe samples the end of interrupts, and each sample wakes by an interrupt. */
static void ends_of_interrupts(void)
{
	uint64_t before, after;
	int fd;

	run_on(0);
	faults(PERF_SAMPLE_IP);
	attr.type = type_of("kprobe");
	attr.config = 0;
	attr.config2 = address_of("irq_exit_rcu") ?: address_of("irq_exit");
	o.pid = -1;
	o.cpu = 0;
	fd = open_it();
	/* The ring is overwritten, so it never fills, and each sample wakes. */
	if (fd < 0 || map_pages(fd, 17, PROT_READ, 0) == MAP_FAILED)
		tell(0, "the end of interrupts: %m: %s", why.text);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = value_of(fd);
	after = wait_for_many(fd, before, 100);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	tell(after >= 100, "%llu interrupts, each of which woke", (unsigned long long)after);
	close(fd);
}

static void feedback(void)
{
	signals_of_signals(1);
	signals_of_signals(2);
	ends_of_interrupts();
}

static const struct devtest tests[] = {
	{ "wakeup", .run = wakeup },
	{ "sleeper", .run = sleeper },
	{ "redirected", .run = redirected },
	{ "epoll_late", .run = epoll_late },
	{ "by_signal", .run = by_signal },
	{ "feedback", .run = feedback },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
