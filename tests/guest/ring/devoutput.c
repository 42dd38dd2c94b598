// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: the events that write to them, and their mappings.
 *
 *	devoutput outputs|pauses|percpu|members|strangers|mappings|memory
 */
#define _GNU_SOURCE
#include "devring.h"
#include <setjmp.h>
#include <sys/resource.h>

static struct ring third_ring;

static void not_mapped(int fd, int pages, uint64_t at, int error, const char *what)
{
	expect(map_pages(fd, 1 + pages, PROT_READ, at) == MAP_FAILED ? -1 : 0, error, what);
}

/* ---- outputs ---- */

static int output_errno(int fd, int to)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)to) ? errno : 0;
}

static void outputs_alike(int p, int p_to, int t, int t_to, const char *what)
{
	int perfs = output_errno(p, p_to), tallys = output_errno(t, t_to);

	tell(perfs == tallys, "SET_OUTPUT %s: %s, perf %s", what,
	     errno_name(tallys), errno_name(perfs));
}

/* Opens a pair of events with attr, and redirects both to the pair that has rings. */
static void new_outputs_alike(const char *what)
{
	int p = open_as(PERF, &o), t = open_it();

	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, what);
	close(p);
	close(t);
}

/* How often the caller has left its CPU. */
static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void forget(struct ring *r)
{
	while (next(r))
		;
	done(r);
}

/*
 * Both pairs of events write to their rings. perf's event @p of context switches is on a little
 * longer than tally's @t. Returns whether the caller left its CPU in that time: then only perf
 * has seen it.
 */
static int write_both(int p, int t)
{
	int apart;
	long before;

	begin_both();
	before = switches();
	ioctl(p, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(t, PERF_EVENT_IOC_ENABLE, 0);
	apart = switches() != before;
	touch(2);
	switch_out();
	touch(2);
	before = switches();
	ioctl(t, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(p, PERF_EVENT_IOC_DISABLE, 0);
	apart |= switches() != before;
	switch_both(0);
	return apart;
}

static void outputs(void)
{
	int p, t, pipes[2], tries = 100;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	if (pipe(pipes))
		tell(0, "pipe");
	/* Another pair, of context switches, which the test makes by sleeping. */
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	p = open_as(PERF, &o);
	t = open_it();
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to one that has a ring");
	outputs_alike(p, p, t, t, "to itself");
	outputs_alike(p, 12345, t, 12345, "to no file");
	outputs_alike(p, pipes[0], t, pipes[0], "to a pipe");
	outputs_alike(p, t, t, p, "to the other kind");
	/* perf does not take the -1 of a 32-bit program for none. */
	if (sizeof(long) == 8) {
		outputs_alike(p, -1, t, -1, "to none");
		outputs_alike(p, -1, t, -1, "to none, again");
	} else {
		expect(ioctl(t, PERF_EVENT_IOC_SET_OUTPUT, -1L), 0, "SET_OUTPUT to none");
	}
	outputs_alike(perf_ring.fd, p, tally_ring.fd, t, "of one that is mapped");
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to it, again");
	while (write_both(p, t) && --tries) {
		forget(&perf_ring);
		forget(&tally_ring);
	}
	compare("two events in one ring", 5);
	/* The ring is unmapped, and the other event loses its output. */
	munmap(perf_ring.base, page_size + perf_ring.size);
	munmap(tally_ring.base, page_size + tally_ring.size);
	perf_ring.base = NULL;
	tally_ring.base = NULL;
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to one whose ring is gone");
	ioctl(t, PERF_EVENT_IOC_ENABLE, 0);
	switch_out();
	tell(1, "and it goes on without");
	close(p);
	close(t);

	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.write_backward = 1;
	tell(map_ring(&perf_ring, perf_ring.fd, 1, PROT_READ | PROT_WRITE, 0) == 0 &&
	     map_ring(&tally_ring, tally_ring.fd, 1, PROT_READ | PROT_WRITE, 0) == 0,
	     "a ring again");
	new_outputs_alike("of one that writes backward");
	attr.write_backward = 0;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	new_outputs_alike("of one with another clock");
	attr.use_clockid = 0;
	attr.clockid = 0;
	o.cpu = 0;
	new_outputs_alike("of one on a CPU");
	o.cpu = -1;
	o.perf_flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	o.group_fd = tally_ring.fd;
	t = open_it();
	expect(t, 0, "PERF_FLAG_FD_OUTPUT");
	close(t);
	neither();
	close(pipes[0]);
	close(pipes[1]);
}

/* A paused ring takes no record, and counts those that come as lost. */
static void pauses(void)
{
	uint64_t told = 0;
	int nr;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	begin_both();
	touch(2);
	pause_both(1);
	touch(5);
	pause_both(0);
	touch(2);
	switch_both(0);
	perf_ring.tail = 0;
	compare("before and after a pause", 5);
	tally_ring.tail = 0;
	nr = count_samples(&tally_ring, &told);
	tell(nr == 4 && told == 5, "%d were seen, %llu lost", nr, (unsigned long long)told);
	neither();
}

/* ---- all CPUs, and members ---- */

static void map_all(int fd)
{
	int cpu;

	for (cpu = 0; cpu < nr_online(); cpu++)
		if (map_pages(fd, 2, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu)) == MAP_FAILED)
			tell(0, "cpu %d: %m", cpu);
}

static void percpu(void)
{
	int cpu, fd, nr = 0, wrong = 0, i;
	struct perf_event_header *h;
	uint64_t *at;

	faults(PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
	o.pid = -1;
	o.cpu = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	if (fd < 0) {
		tell(0, "%m: %s", why.text);
		return;
	}
	not_mapped(fd, 1, TALLY_RING_AT(4096), EINVAL, "no such CPU");
	not_mapped(fd, 1, TALLY_RING_AT(0) + page_size, EINVAL, "in between");
	for (cpu = 0; cpu < nr_online(); cpu++) {
		nr = 0;
		wrong = 0;
		if (map_ring(&third_ring, fd, 64, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu))) {
			tell(0, "cpu %d: %m", cpu);
			continue;
		}
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (i = 0; i < nr_online(); i++) {
			run_on(i);
			touch(10);
		}
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = next(&third_ring))) {
			at = (uint64_t *)(h + 1);
			wrong += h->type != PERF_RECORD_SAMPLE || (uint32_t)at[1] != (uint32_t)cpu;
			nr += (uint32_t)at[0] == (uint32_t)getpid();
		}
		tell(nr >= 10 && !wrong, "the ring of CPU %d: %d of ours, %d of other CPUs", cpu, nr,
		     wrong);
		munmap(third_ring.base, page_size + third_ring.size);
	}
	/* One poll() waits for the rings of all CPUs. */
	map_all(fd);
	while (polled(fd))
		;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	run_on(nr_online() - 1);
	touch(2);
	tell(polled_for(fd, 60000) & POLLIN, "the last CPU's wakes who polls the file");
	close(fd);
}

static void members(void)
{
	uint64_t ids[3];
	int fd, i, seen[3] = { 0 }, strange = 0;
	struct perf_event_header *h;

	faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR);
	fd = open_it();
	ioctl(fd, PERF_EVENT_IOC_ID, &ids[0]);
	o.group_fd = fd;
	o.flags = TALLY_OPEN_MEMBER;
	attr.disabled = 0;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	expect(open_it(), 0, "a member before the ring");
	ids[1] = o.id;
	if (map_ring(&third_ring, fd, 16, PROT_READ | PROT_WRITE, 0))
		tell(0, "map: %m");
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	expect(open_it(), 0, "a member behind it");
	ids[2] = o.id;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(5);
	switch_out();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	while ((h = next(&third_ring))) {
		for (i = 0; i < 3 && ids[i] != *(uint64_t *)(h + 1); i++)
			;
		if (i < 3 && h->type == PERF_RECORD_SAMPLE)
			seen[i]++;
		else
			strange++;
	}
	tell(seen[0] >= 5 && seen[1] >= 5 && seen[2] >= 1 && !strange,
	     "all write to the leader's ring: %d %d %d, %d others", seen[0], seen[1], seen[2],
	     strange);
	unmap_ring(&third_ring);
}

/* A member with another target is refused, although the leader has rings. */
static void strangers(void)
{
	int fd, i, nr;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	map_all(fd);
	o.flags = TALLY_OPEN_MEMBER;
	o.group_fd = fd;
	for (i = 0; i < 20; i++) {
		o.cpu = 0;
		o.pid = -1;
		nr = open_it();
		if (nr >= 0 || errno != EINVAL)
			break;
		o.cpu = -1;
		o.pid = 0;
		nr = open_it();
		if (nr >= 0 || errno != EINVAL)
			break;
	}
	tell(i == 20, "a member on another target is refused: %s, %s", outcome(nr), why.text);
	o.pid = -1;
	o.cpu = -1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	o.flags = TALLY_OPEN_MEMBER | TALLY_OPEN_ALL_CPUS;
	nr = open_it();
	tell(nr < 0 && errno == EINVAL, "and with another clock: %s, %s", outcome(nr),
	     why.text);
	attr.use_clockid = 0;
	attr.clockid = 0;
	expect(open_it(), 0, "but another one is not");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(5);
	close(fd);
}

/* ---- memory ---- */

static sigjmp_buf back;

static void caught(int sig)
{
	siglongjmp(back, sig);
}

/* Whether a byte can be written. */
static int writable(volatile char *at)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*at = *at;
	return !sig;
}

/* A mapping with PROT_WRITE alone can be read. */
static void only_to_write(void)
{
	int fd, i, sum = 0;
	char *at;

	faults(PERF_SAMPLE_IP);
	fd = open_it();
	at = map_pages(fd, 5, PROT_WRITE, 0);
	/* A read of a page that is mapped write-only would fault for ever. */
	alarm(60);
	for (i = 0; i < 5 && at != MAP_FAILED; i++)
		sum += *(volatile char *)(at + i * page_size + 8);
	alarm(0);
	tell(at != MAP_FAILED, "a ring that is mapped to be written to can be read: %d", sum);
	if (at != MAP_FAILED)
		munmap(at, 5 * page_size);
	close(fd);
}

static void mappings(void)
{
	struct sigaction act = { .sa_handler = caught };
	char *at;
	int i;

	only_to_write();
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	faults(PERF_SAMPLE_IP);
	if (both(4, PROT_READ | PROT_WRITE))
		return;
	at = tally_ring.base;
	for (i = 0; i < 5; i++)
		tell(writable(at + i * page_size) == !i &&
		     writable(perf_ring.base + i * page_size) == !i,
		     "page %d is %s", i, i ? "read only" : "to be written to");
	expect(munmap(at + page_size, page_size), EINVAL, "a hole");
	expect(mprotect(at + 2 * page_size, page_size, PROT_READ), EINVAL, "a page protected");
	tell(!mprotect(at, 5 * page_size, PROT_READ) &&
	     !mprotect(at, 5 * page_size, PROT_READ | PROT_WRITE) &&
	     writable(at) && !writable(at + 2 * page_size), "nor when protection was changed");
	switch_both(1);
	touch(50);
	switch_both(0);
	tell(tally_ring.page->data_head >= 50 * 16, "it is still written to");
	tell(mremap(at, 5 * page_size, 9 * page_size, MREMAP_MAYMOVE) == MAP_FAILED,
	     "it does not grow");
	tell(!munmap(at, 5 * page_size), "it is unmapped as a whole");
	tally_ring.base = NULL;
	/* A second mapping of the same size works; another size is refused. */
	at = map_pages(tally_ring.fd, 5, PROT_READ | PROT_WRITE, 0);
	tell(at != MAP_FAILED, "it can be mapped again");
	not_mapped(tally_ring.fd, 8, 0, EINVAL, "another size");
	tell(map_pages(tally_ring.fd, 5, PROT_READ, 0) != MAP_FAILED, "the same size, twice");
	close(tally_ring.fd);
	tally_ring.fd = -1;
	tell(((volatile struct perf_event_mmap_page *)at)->data_size == (uint64_t)(4 * page_size),
	     "it outlives the descriptor");
	/* A reader writes anything to the header page: the kernel goes on. */
	memset(at, 0xff, page_size);
	neither();
	faults(PERF_SAMPLE_IP);
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	for (i = 0; i < 200; i++) {
		memset(tally_ring.base, i * 37, page_size);
		touch(20);
	}
	switch_both(0);
	tell(1, "a header full of anything");
	neither();
}

static void memory(void)
{
	struct rlimit limit = { 0, 0 };
	int fd, fds[8], i;
	char *at;

	faults(PERF_SAMPLE_IP);
	open_both();
	fd = tally_ring.fd;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		tell(0, "setrlimit: %m");
	at = map_pages(fd, 4097, PROT_READ, 0);
	tell(at != MAP_FAILED, "with CAP_IPC_LOCK there is no limit");
	munmap(at, 4097 * page_size);
	for (i = 0; i < 8; i++)
		fds[i] = open_it();
	if (setgid(12345) || setuid(12345))
		tell(0, "setuid: %m");
	not_mapped(fd, 4096, 0, EPERM, "16 MiB without any right");
	not_mapped(perf_ring.fd, 4096, 0, EPERM, "perf's");
	at = map_pages(fd, 65, PROT_READ, 0);
	tell(at != MAP_FAILED, "but what is allowed");
	for (i = 0; i < 8; i++)
		if (map_pages(fds[i], 129, PROT_READ, 0) == MAP_FAILED)
			break;
	tell(i >= 1 && i < 8 && errno == EPERM, "%d more", i);
	tell(map_pages(perf_ring.fd, 129, PROT_READ, 0) == MAP_FAILED, "and perf has none left");
	munmap(at, 65 * page_size);
	close(fds[0]);
	tell(map_pages(fd, 33, PROT_READ, 0) != MAP_FAILED, "what is given back can be had again");
}

static const struct devtest tests[] = {
	{ "outputs", .run = outputs },
	{ "pauses", .run = pauses },
	{ "percpu", .run = percpu },
	{ "members", .run = members },
	{ "strangers", .run = strangers },
	{ "mappings", .run = mappings },
	{ "memory", .run = memory },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
