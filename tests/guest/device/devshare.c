// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of another module's event, mapped from files that are attached to it.
 *
 *	devshare rings			reads rings of tally_recorder.ko mode=share
 *	devshare released COMMAND	reads a ring after COMMAND ended its event
 */
#define _GNU_SOURCE
#include "devtest.h"

#define PAGES	8
#define BYTES	(PAGES * page_size)
#define TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |	\
		 PERF_SAMPLE_PHYS_ADDR)

struct sample {
	struct perf_event_header h;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, cpu, phys;
};

static void refused_map(int fd, int pages, int prot, int flags, uint64_t at, int error,
			const char *what)
{
	void *mapped = mmap64(NULL, pages * page_size, prot, flags, fd, at);

	expect(mapped == MAP_FAILED ? -1 : 0, error, what);
}

static void map_cpu(struct ring *r, int fd, int cpu)
{
	if (map_ring(r, fd, PAGES, PROT_READ, TALLY_RING_AT(cpu))) {
		tell(0, "mmap: %m");
		exit(1);
	}
}

static int info_of(int fd, struct tally_ring_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return ioctl(fd, TALLY_IOC_RING_INFO, info);
}

/* Causes @n overflows, with this task as the current one. */
static void calls(int n)
{
	int fd = open("/sys/module/tally_recorder/parameters/calls", O_WRONLY);
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tell(0, "calls: %m");
	close(fd);
}

/* Counts the samples of this task in @size bytes from @from, up to any other record. */
static int samples_at(const struct ring *r, uint64_t from, uint64_t size)
{
	int nr = 0;

	for (; size >= sizeof(struct sample); size -= sizeof(struct sample), nr++) {
		struct sample s;

		copy_from_ring(r, from, &s, sizeof(s));
		from += sizeof(s);
		if (s.h.type != PERF_RECORD_SAMPLE || s.h.size != sizeof(s) ||
		    s.pid != (uint32_t)getpid() || s.cpu || !s.ip)
			break;
	}
	return nr;
}

static void refusals(void)
{
	struct tally_ring_info info;
	int fd = attach_to("unshared");

	expect(info_of(fd, &info), EACCES, "a ring that its owner does not share");
	refused_map(fd, 1 + PAGES, PROT_READ, MAP_SHARED, 0, EACCES, "mapped");
	close(fd);
	usual();
	fd = open_it();
	expect(info_of(fd, &info), ENOTTY, "of an event of one's own");
	close(fd);

	fd = attach_to("shared");
	expect(info_of(fd, &info), 0, "of one that is shared");
	tell(info.size == sizeof(info) && info.flags == TALLY_RING_INFO_BACKWARD &&
	     info.sample_type == TYPE && info.pages == PAGES && info.rings >= 1,
	     "flags %#x, sample_type %#llx, %u rings of %u pages", info.flags,
	     (unsigned long long)info.sample_type, info.rings, info.pages);
	info.size = 16;
	expect(ioctl(fd, TALLY_IOC_RING_INFO, &info), EINVAL, "in too little room");
	expect(ioctl(fd, TALLY_IOC_RING_INFO, 8), EFAULT, "nowhere");
	refused_map(fd, 1 + PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EACCES,
		    "mapped to be written to");
	refused_map(fd, 1 + PAGES, PROT_READ, MAP_PRIVATE, 0, EINVAL, "mapped privately");
	refused_map(fd, 1 + PAGES / 2, PROT_READ, MAP_SHARED, 0, EINVAL, "half of it");
	refused_map(fd, 1 + 2 * PAGES, PROT_READ, MAP_SHARED, 0, EINVAL, "twice of it");
	refused_map(fd, 1 + PAGES, PROT_READ, MAP_SHARED, page_size, EINVAL, "from its data on");
	refused_map(fd, 1 + PAGES, PROT_READ, MAP_SHARED, TALLY_RING_AT(info.rings), EINVAL,
		    "of a CPU that there is not");
	expect(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EPERM, "PAUSE_OUTPUT");
	expect(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd), EPERM, "SET_OUTPUT");
	close(fd);
}

static void backward(void)
{
	int fd = attach_to("shared"), again = attach_to("shared"), nr;
	static struct ring a, b;
	uint64_t head;

	map_cpu(&a, fd, 0);
	map_cpu(&b, again, 0);
	expect(mprotect(a.base, page_size, PROT_READ | PROT_WRITE), EACCES, "made writable");
	calls(10);
	head = head_of(&a);
	nr = samples_at(&a, head, -head);
	tell(nr == 10, "%d samples of 10, the newest first", nr);
	tell(head_of(&b) == head && !memcmp(a.base + page_size, b.base + page_size, BYTES),
	     "another one sees the same");
	tell(!polled_for(fd, 100), "poll tells of no record");
	calls(5000);
	head = head_of(&a);
	nr = samples_at(&a, head, BYTES);
	tell(-head >= 5010 * sizeof(struct sample) && nr == (int)(BYTES / sizeof(struct sample)),
	     "it is written over all the time, and full: %d samples", nr);
	close(fd);
	unmap_ring(&b);
	calls(1);
	tell(head_of(&a) == head - sizeof(struct sample), "it is there when its file is closed");
	munmap(a.base, (1 + PAGES) * page_size);
}

/* A ring that is not overwritten, and whose owner reads nothing. */
static void forward(void)
{
	static struct ring ring;
	uint64_t head;
	int nr;

	map_cpu(&ring, attach_to("forward"), 0);
	/* The calls of the tests before have filled the ring. */
	head = head_of(&ring);
	nr = samples_at(&ring, 0, head);
	tell(nr > 100 && head == nr * sizeof(struct sample) && !ring.page->data_tail,
	     "forward: all %d are whole", nr);
	calls(10);
	tell(head_of(&ring) == head, "and stay");
	unmap_ring(&ring);
}

/* Rings that are mapped and unmapped while they are written to. */
static void come_and_go(void)
{
	struct tally_ring_info info;
	static struct ring ring;
	int nr, fd;

	if (!fork()) {
		for (nr = 0; nr < 200; nr++)
			calls(100);
		_exit(0);
	}
	for (nr = 0; nr < 100; nr++) {
		map_cpu(&ring, attach_to("shared"), nr & 1);
		if (nr & 2)
			munmap(ring.base + 2 * page_size, page_size);
		close(ring.fd);
		munmap(ring.base, (1 + PAGES) * page_size);
	}
	wait(NULL);
	tell(1, "they came and went");
	if (setgid(12345) || setuid(12345))
		tell(0, "setuid: %m");
	fd = attach_to("faults");
	tell(fd >= 0, "without rights: attached to one of the usual kinds");
	expect(info_of(fd, &info), EACCES, "what its rings are like");
	refused_map(fd, 1 + PAGES, PROT_READ, MAP_SHARED, 0, EACCES, "mapped");
}

static void rings(void)
{
	/* All samples are in the ring of CPU 0. */
	run_on(0);
	refusals();
	backward();
	forward();
	come_and_go();
}

static void released(char **arguments)
{
	struct pollfd p = { .events = POLLIN };
	struct tally_ring_info info;
	static struct ring ring;
	uint64_t head;

	run_on(0);
	p.fd = attach_to("shared");
	map_cpu(&ring, p.fd, 0);
	calls(4);
	head = head_of(&ring);
	if (system(arguments[0]))
		tell(0, "%s", arguments[0]);
	tell(poll(&p, 1, 5000) == 1 && p.revents == POLLHUP, "poll tells that it was released");
	tell(head_of(&ring) == head && samples_at(&ring, head, 4 * sizeof(struct sample)) == 4,
	     "the samples of before are there");
	expect(info_of(p.fd, &info), ENODEV, "what the rings are like");
	refused_map(p.fd, 1 + PAGES, PROT_READ, MAP_SHARED, 0, ENODEV, "mapped once more");
	unmap_ring(&ring);
}

static const struct devtest tests[] = {
	{ "rings", .run = rings },
	{ "released", .arguments = 1, .with = released },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
