// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of another module's event, for files that are attached to it.
 *
 *	devshare samples		of tally_recorder.ko mode=share
 *	devshare released COMMAND	which has its owner release it
 */
#define _GNU_SOURCE
#include "devtest.h"

#define PAGES 8

struct user {
	int fd;
	char *base;
	volatile struct perf_event_mmap_page *page;
	uint64_t tail;
};

static struct tally_attach at;

static int attach_with(const char *name, uint64_t type, unsigned int wakeup, unsigned int flags)
{
	memset(&at, 0, sizeof(at));
	at.size = sizeof(at);
	at.sample_type = type;
	at.wakeup = wakeup;
	at.flags = flags;
	at.read_format = PERF_FORMAT_LOST;
	snprintf(at.name, sizeof(at.name), "%s", name);
	return ioctl(device, TALLY_IOC_ATTACH, &at);
}

static void not_attached(int error, unsigned int field, const char *what)
{
	int got = errno;

	tell(got == error && (int)at.error.error == error && at.error.field == field &&
	     at.error.text[0], "%s: %s, field %u: %s", what, strerrorname_np(got), at.error.field,
	     at.error.text);
}

static int open_user(struct user *u, uint64_t type, unsigned int wakeup, int prot, int cpu)
{
	u->tail = 0;
	u->fd = attach_with("shared", type, wakeup, 0);
	if (u->fd < 0) {
		tell(0, "attach: %m: %s", at.error.text);
		return -1;
	}
	u->base = mmap64(NULL, (1 + PAGES) * page_size, prot, MAP_SHARED, u->fd,
			 TALLY_RING_AT(cpu));
	u->page = (void *)u->base;
	if (u->base == MAP_FAILED) {
		tell(0, "mmap: %m");
		return -1;
	}
	return 0;
}

static void close_user(struct user *u)
{
	munmap(u->base, (1 + PAGES) * page_size);
	close(u->fd);
}

/* So many overflows, by this task. */
static void calls(int n)
{
	int fd = open("/sys/module/tally_recorder/parameters/calls", O_WRONLY);
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tell(0, "calls: %m");
	close(fd);
}

/* The samples that are there, of the size that they all have, and of this task. */
static int drain(struct user *u, unsigned int size, int pid_at)
{
	uint64_t head = __atomic_load_n(&u->page->data_head, __ATOMIC_ACQUIRE);
	int nr = 0;

	while (u->tail < head) {
		char *record = u->base + page_size + u->tail % (PAGES * page_size);
		struct perf_event_header *h = (void *)record;
		uint32_t pid = *(uint32_t *)(record + pid_at);

		if (h->type == PERF_RECORD_SAMPLE && (!size || h->size == size) &&
		    (!pid_at || pid == (uint32_t)getpid()))
			nr++;
		u->tail += h->size;
	}
	u->page->data_tail = head;
	return nr;
}

static void samples(void)
{
	uint64_t values[2];
	struct user a, b;
	struct pollfd p;
	int fd, nr;

	fd = attach_with("unshared", PERF_SAMPLE_IP, 0, 0);
	tell(fd < 0, "its owner shares nothing");
	not_attached(EACCES, TALLY_FIELD_SAMPLE_TYPE, "of one that is not shared");
	fd = attach_with("shared", PERF_SAMPLE_IP | PERF_SAMPLE_ADDR, 0, 0);
	tell(fd < 0, "nor another field");
	not_attached(EACCES, TALLY_FIELD_SAMPLE_TYPE, "a field that is not shared");
	fd = attach_with("shared", PERF_SAMPLE_IP, 0, 4);
	tell(fd < 0, "no such flag");
	not_attached(EINVAL, TALLY_FIELD_FLAGS, "an unknown flag");
	fd = attach_with("shared", 0, 1, 0);
	tell(fd < 0, "a number of samples without samples");
	not_attached(EINVAL, TALLY_FIELD_SAMPLE_TYPE, "no samples");
	fd = attach_with("shared", 0, 0, 0);
	expect(mmap(NULL, 2 * page_size, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0,
	       EINVAL, "a ring of a file without samples");
	close(fd);

	/* The caller's CPU alone, so that it is known which ring. */
	run_on(0);
	if (open_user(&a, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, 3,
		      PROT_READ | PROT_WRITE, 0) ||
	    open_user(&b, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN, 0,
		      PROT_READ | PROT_WRITE, 0))
		return;
	calls(2);
	p.fd = a.fd;
	p.events = POLLIN;
	tell(poll(&p, 1, 100) == 0, "two do not wake who wants three");
	calls(1);
	tell(poll(&p, 1, 5000) == 1 && p.revents == POLLIN, "three do");
	calls(7);
	nr = drain(&a, 8 + 3 * 8, 16);
	tell(nr == 10, "one has %d of 10, ip, tid and time", nr);
	nr = drain(&b, 0, 16);
	tell(nr == 10, "another one %d, with call chains", nr);
	ioctl(b.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	calls(5);
	ioctl(b.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	nr = drain(&a, 8 + 3 * 8, 16);
	tell(nr == 5 && !drain(&b, 0, 16), "one may pause its own: %d", nr);
	if (read(b.fd, values, sizeof(values)) != sizeof(values))
		tell(0, "read: %m");
	tell(values[0] == 15 && values[1] == 5, "that counts %llu, and has lost %llu",
	     (unsigned long long)values[0], (unsigned long long)values[1]);
	expect(ioctl(a.fd, PERF_EVENT_IOC_SET_OUTPUT, b.fd), EPERM, "SET_OUTPUT");
	expect(ioctl(a.fd, PERF_EVENT_IOC_DISABLE, 0), EPERM, "DISABLE");
	close_user(&b);
	calls(5);
	nr = drain(&a, 8 + 3 * 8, 16);
	tell(nr == 5, "it goes on when the other one is gone: %d", nr);
	close_user(&a);
	calls(5);

	if (open_user(&a, PERF_SAMPLE_IP, 0, PROT_READ, 0))
		return;
	calls(5000);
	tell(a.page->data_head == 5000 * 16, "read only, it is overwritten: %llu bytes",
	     (unsigned long long)a.page->data_head);
	close_user(&a);

	/* Files that come and go while it overflows. */
	if (!fork()) {
		for (nr = 0; nr < 200; nr++)
			calls(100);
		_exit(0);
	}
	for (nr = 0; nr < 100; nr++) {
		if (open_user(&a, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, 1,
			      PROT_READ | PROT_WRITE, nr & 1))
			return;
		close_user(&a);
	}
	wait(NULL);
	tell(1, "files came and went");
	if (setgid(12345) || setuid(12345))
		tell(0, "setuid: %m");
	fd = attach_with("shared", PERF_SAMPLE_IP, 0, 0);
	tell(fd < 0, "without rights");
	not_attached(EACCES, TALLY_FIELD_SAMPLE_TYPE, "without CAP_PERFMON");
}

static void released(char **arguments)
{
	struct pollfd p = { .events = POLLIN };
	struct user u;
	int nr;

	run_on(0);
	if (open_user(&u, PERF_SAMPLE_IP | PERF_SAMPLE_TID, 0, PROT_READ | PROT_WRITE, 0))
		return;
	calls(4);
	if (system(arguments[0]))
		tell(0, "%s", arguments[0]);
	p.fd = u.fd;
	tell(poll(&p, 1, 5000) == 1 && p.revents & POLLHUP, "it tells that its owner released it");
	nr = drain(&u, 8 + 2 * 8, 16);
	tell(nr == 4, "%d samples of before are there", nr);
	close_user(&u);
}

static const struct devtest tests[] = {
	{ "samples", .run = samples },
	{ "released", .arguments = 1, .with = released },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
