// SPDX-License-Identifier: GPL-2.0
/*
 * Opening events, of a fake kernel whose files are memory. It counts its calls, and they
 * fail when the test wants it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <linux/tally.h>
#include "test.h"

static size_t page_size;

static struct {
	int device;		/* descriptor of the fake device; -1 for none */
	__u64 id, id_step;	/* id of the next file, and the step to the one after */
	int id_fails;
	int cpus_fail;
	const char *online, *possible;	/* lists of CPUs; NULL for those of this machine */
	int maps_left;		/* shared mappings until they are EPERM; -1 for no limit */
	int map_fails;		/* a writable mapping is EPERM */
	int opened, last_fd;
	int pauses, resumes;
	int pause_fails;
	int outputs;		/* files that write to the ring of another one */
	int output_fails;
} kernel;

/* These functions replace the C library's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *data;

	va_start(list, request);
	data = va_arg(list, void *);
	va_end(list);
	if (kernel.device >= 0 && fd == kernel.device && request == TALLY_IOC_OPEN) {
		struct tally_open *o = data;

		o->id = 7;
		if (o->flags & TALLY_OPEN_MEMBER)
			return 0;
		kernel.opened++;
		kernel.last_fd = memfd_create("event", MFD_ALLOW_SEALING);
		/* The file has room for a ring of each CPU, of any number of pages. */
		if (ftruncate(kernel.last_fd, TALLY_RING_AT(1024)) ||
		    (kernel.map_fails && fcntl(kernel.last_fd, F_ADD_SEALS, F_SEAL_WRITE)))
			exit(2);
		return kernel.last_fd;
	}
	if (kernel.device >= 0 && request == PERF_EVENT_IOC_ID) {
		if (kernel.id_fails) {
			errno = EIO;
			return -1;
		}
		*(__u64 *)data = kernel.id;
		kernel.id += kernel.id_step;
		return 0;
	}
	if (kernel.device >= 0 && request == PERF_EVENT_IOC_PAUSE_OUTPUT) {
		if (kernel.pause_fails) {
			errno = EINVAL;
			return -1;
		}
		if (data)
			kernel.pauses++;
		else
			kernel.resumes++;
		return 0;
	}
	if (kernel.device >= 0 && request == PERF_EVENT_IOC_SET_OUTPUT) {
		if (kernel.output_fails) {
			errno = EINVAL;
			return -1;
		}
		kernel.outputs++;
		return 0;
	}
	return syscall(SYS_ioctl, fd, request, data);
}

FILE *fopen(const char *path, const char *mode)
{
	const char *list;
	int fd;

	if (kernel.cpus_fail) {
		errno = EMFILE;
		return NULL;
	}
	list = strstr(path, "/online") ? kernel.online :
	       strstr(path, "/possible") ? kernel.possible : NULL;
	if (list)
		return fmemopen((void *)list, strlen(list), "r");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, mode[0] == 'r' ? "r" : "w");
}

void *mmap(void *start, size_t size, int protection, int flags, int fd, off_t at)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);

	if (!real)
		real = dlsym(RTLD_NEXT, "mmap");
	if (kernel.device >= 0 && fd == kernel.last_fd && !kernel.maps_left--) {
		kernel.maps_left = 0;
		errno = EPERM;
		return MAP_FAILED;
	}
	return real(start, size, protection, flags, fd, at);
}

static void kernel_begin(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.last_fd = -1;
	kernel.maps_left = -1;
	kernel.device = open("/dev/null", O_RDWR);
	kernel.id = 1;
	kernel.id_step = 1;
}

static void kernel_end(void)
{
	close(kernel.device);
	kernel.device = -1;
}

static struct libtally_target target_of(int pid, int cpu)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;

	target.via = LIBTALLY_VIA_DEVICE;
	target.device = kernel.device;
	target.pid = pid;
	target.cpu = cpu;
	strcpy(target.error, "of another time");
	return target;
}

static struct perf_event_attr usual(void)
{
	struct perf_event_attr attr;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	attr.sample_period = 1000000;
	attr.exclude_kernel = 1;
	return attr;
}

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int nr_open(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1000; fd++)
		nr += is_open(fd);
	return nr;
}

/* The open of a member returns its place in the set, not a file to close. */
static void member(void)
{
	struct perf_event_attr attr = usual();
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_target target;
	int before;

	kernel_begin();
	before = nr_open();
	target = target_of(-1, 0);
	target.flags = TALLY_OPEN_MEMBER;
	target.group_fd = kernel.device;
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "member"),
	      (unsigned long long)-EINVAL);
	CHECK(strstr(target.error, "TALLY_OPEN_MEMBER"));
	EQUAL(libtally_events_nr(libtally_reader_events(reader)), 0);
	/* The reader does not close the descriptor with the number of the place. */
	if (!test_failures)
		libtally_reader_free(reader);
	EQUAL(nr_open(), before);
	EQUAL(libtally_open_event(&attr, &target), 0);
	EQUAL(target.id, 7);
	kernel_end();
	test_end("an event that has no file is none for a reader");
}

/* A failed attempt leaves nothing: neither files, nor the event, nor its ids. */
static void leaves_nothing(void)
{
	struct perf_event_attr attr = usual(), odd;
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_events *events = libtally_reader_events(reader);
	struct libtally_target target;
	int before;

	kernel_begin();
	before = nr_open();
	for (int round = 0; round < 3; round++) {
		/* A ring of three pages is refused. */
		target = target_of(0, -1);
		CHECK(libtally_reader_open(reader, &attr, &target, 3, "three") < 0);
		CHECK(!strncmp(target.error, "mmap", 4));
		EQUAL(libtally_events_nr(events), 0);
		EQUAL(nr_open(), before);
		/* The reader has no event, so poll reports the end. */
		EQUAL(libtally_reader_poll(reader, 0), (unsigned long long)-EPIPE);
	}
	kernel.id = 1;
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "one"), 0);
	EQUAL(nr_open(), before + 1);
	/* An id that another event has, and an id that cannot be read. */
	kernel.id = 1;
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "two"), (unsigned long long)-EINVAL);
	CHECK(target.error[0]);
	EQUAL(libtally_events_nr(events), 1);
	kernel.id_fails = 1;
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "two"), (unsigned long long)-EIO);
	kernel.id_fails = 0;
	EQUAL(libtally_events_nr(events), 1);
	EQUAL(nr_open(), before + 1);
	/* After the failures, an event with another layout can still be opened. */
	odd = attr;
	odd.sample_type = PERF_SAMPLE_IP;
	EQUAL(libtally_reader_open(reader, &odd, &target, 3, "two"), (unsigned long long)-EINVAL);
	EQUAL(libtally_reader_open(reader, &odd, &target, 1, "two"), 1);
	EQUAL(libtally_reader_poll(reader, 0), 2);
	CHECK(!libtally_reader_next(reader));
	EQUAL(nr_open(), before + 2);
	libtally_reader_free(reader);
	EQUAL(nr_open(), before);
	kernel_end();
	test_end("what cannot be opened leaves nothing in the reader");
}

/* Each failure has a message, which is not that of an earlier failure. */
static void in_words(void)
{
	struct perf_event_attr attr = usual();
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_target target;
	char name[65];

	kernel_begin();
	memset(name, 'n', 64);
	name[64] = 0;
	target = target_of(0, -1);
	target.name = name;
	EQUAL(libtally_open_event(&attr, &target), (unsigned long long)-ENAMETOOLONG);
	CHECK(strstr(target.error, "63"));
	name[63] = 0;
	CHECK(libtally_open_event(&attr, &target) >= 0);
	EQUAL(target.error[0], 0);
	close(kernel.last_fd);

	attr.size = 63;
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, NULL), (unsigned long long)-EINVAL);
	CHECK(!strcmp(target.error, strerror(EINVAL)));
	attr.size = sizeof(attr);

	kernel.id_fails = 1;
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, NULL), (unsigned long long)-EIO);
	CHECK(!strcmp(target.error, strerror(EIO)));
	kernel.id_fails = 0;

	kernel.cpus_fail = 1;
	target = target_of(-1, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, NULL), (unsigned long long)-EMFILE);
	CHECK(!strcmp(target.error, strerror(EMFILE)));
	kernel.cpus_fail = 0;

	kernel.map_fails = 1;
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, NULL), (unsigned long long)-EPERM);
	CHECK(strstr(target.error, "RLIMIT_MEMLOCK"));
	kernel.map_fails = 0;
	libtally_reader_free(reader);
	kernel_end();
	test_end("whatever fails says why, in words");
}

/* A file with a backward ring for each CPU is paused once, and resumed once. */
static void snapshot(void)
{
	struct perf_event_attr attr = usual();
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_target target;

	kernel_begin();
	attr.write_backward = 1;
	target = target_of(-1, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "all"), 0);
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "task"), 1);
	EQUAL(kernel.opened, 2);
	EQUAL(libtally_reader_snapshot(reader), 0);
	EQUAL(kernel.pauses, 2);
	EQUAL(kernel.resumes, 2);
	kernel.pause_fails = 1;
	EQUAL(libtally_reader_snapshot(reader), 0);
	kernel.pause_fails = 0;
	EQUAL(kernel.resumes, 2);
	libtally_reader_free(reader);
	kernel_end();
	test_end("a file of many rings is paused once");
}

/* CPUs that are offline have rings as far as the limits allow, but take none from others. */
static void offline(void)
{
	static const int maps[] = { -1, 4, 3, 2, 1, 0 };
	struct perf_event_attr attr = usual();

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		struct libtally_reader *reader = libtally_reader_new();
		struct libtally_target target;

		kernel_begin();
		kernel.online = "1,3\n";
		kernel.possible = "0-3\n";
		kernel.maps_left = maps[i];
		target = target_of(-1, -1);
		EQUAL(libtally_reader_open(reader, &attr, &target, 1, "all"),
		      maps[i] >= 0 && maps[i] < 2 ? (unsigned long long)-EPERM : 0);
		EQUAL(!target.error[0], maps[i] < 0 || maps[i] >= 2);
		/* Without a limit, each CPU has one ring. */
		EQUAL(kernel.maps_left, maps[i] < 0 ? -1 - 4 : 0);
		libtally_reader_free(reader);
		kernel_end();
	}
	test_end("CPUs that are offline need no rings");
}

/* All tasks and events of a CPU share a ring, and those on all CPUs share all rings. */
static void share(void)
{
	struct perf_event_attr attr = usual(), odd = usual();
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_target target;
	int pid;

	kernel_begin();
	kernel.online = "0-1\n";
	kernel.possible = "0-2\n";
	attr.inherit = 1;
	for (pid = 1; pid <= 4; pid++) {
		target = target_of(pid, -1);
		EQUAL(libtally_reader_share(reader, pid == 1 ? -1 : 0, &attr, &target, 1, "a"), 0);
	}
	target = target_of(1, -1);
	EQUAL(libtally_reader_share(reader, -1, &attr, &target, 1, "b"), 1);
	EQUAL(kernel.opened, 10);
	EQUAL(kernel.maps_left, -1 - 2);
	EQUAL(kernel.outputs, 8);
	/* A CPU that came online has no ring yet. */
	target = target_of(-1, 2);
	EQUAL(libtally_reader_share(reader, 0, &attr, &target, 1, "a"), 0);
	EQUAL(kernel.maps_left, -1 - 3);
	EQUAL(libtally_reader_share(reader, 0, &attr, &target, 1, "a"), 0);
	EQUAL(kernel.maps_left, -1 - 3);
	/* Neither has a task without a CPU, nor an event with one file for all of them. */
	attr.inherit = 0;
	for (pid = 1; pid <= 2; pid++) {
		target = target_of(pid, -1);
		EQUAL(libtally_reader_share(reader, 0, &attr, &target, 1, "a"), 0);
		EQUAL(libtally_reader_share(reader, 1, &attr, &target, 1, "b"), 1);
		target = target_of(-1, -1);
		EQUAL(libtally_reader_share(reader, 1, &attr, &target, 1, "b"), 1);
	}
	EQUAL(kernel.maps_left, -1 - 3 - 2 - 3);
	kernel.outputs = 0;
	kernel.output_fails = 1;
	target = target_of(-1, 2);
	EQUAL(libtally_reader_share(reader, 0, &attr, &target, 1, "a"), 0);
	EQUAL(kernel.maps_left, -1 - 9);
	/* libtally_reader_open() makes rings of its own, and nobody shares them. */
	kernel.output_fails = 0;
	EQUAL(libtally_reader_open(reader, &attr, &target, 1, "c"), 2);
	EQUAL(kernel.maps_left, -1 - 10);
	EQUAL(kernel.outputs, 0);
	odd.sample_type |= PERF_SAMPLE_ADDR;
	EQUAL(libtally_reader_share(reader, 0, &odd, &target, 1, "a"), (unsigned long long)-EINVAL);
	CHECK(target.error[0]);
	EQUAL(libtally_reader_share(reader, 3, &attr, &target, 1, "a"), (unsigned long long)-EINVAL);
	libtally_reader_free(reader);
	kernel_end();
	test_end("files of a CPU share a ring");
}

static void put_backward(char *map, size_t size, uint64_t *head, uint64_t nr)
{
	struct perf_event_mmap_page *page = (void *)map;
	static struct bytes b;

	begin(&b, PERF_RECORD_SAMPLE, 0);
	for (int i = 0; i < 3; i++)
		put64(&b, nr);
	end(&b);
	*head -= b.n;
	memcpy(map + page_size + (*head & (size - 1)), b.u.b, b.n);
	page->data_head = *head;
}

/* Maps the data of a ring twice: that of a file, and of perf if this kernel allows it. */
static void twice(void)
{
	const struct perf_event_header *h;
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	struct perf_event_attr attr = usual();
	struct perf_event_mmap_page *page;
	size_t size = 4 * page_size;
	struct libtally_ring ring;
	static struct bytes b;
	int fd, error, told = 0;
	char *map;

	fd = memfd_create("ring", 0);
	if (ftruncate(fd, page_size + size))
		exit(2);
	map = mmap(NULL, page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page = (void *)map;
	error = libtally_ring_map(&ring, fd, 4, 0, LIBTALLY_RING_TWICE);
	EQUAL(error, 0);
	for (int i = 0; !error && i < 2000; i++) {
		begin(&b, PERF_RECORD_SAMPLE, 0);
		for (int n = 0; n < 6; n++)
			put64(&b, i);
		end(&b);
		for (size_t n = 0; n < b.n; n++)
			map[page_size + ((page->data_head + n) & (size - 1))] = b.u.b[n];
		page->data_head += b.n;
		h = libtally_ring_next(&ring);
		CHECK(h && !memcmp(h, b.u.b, b.n));
		CHECK((const unsigned char *)h >= ring.data);
		told += h && (const unsigned char *)h + h->size > ring.data + size;
	}
	/* Some records ended in the second mapping. */
	CHECK(told > 2);
	if (!error)
		libtally_ring_unmap(&ring);
	munmap(map, page_size + size);
	close(fd);

	target.pid = 0;
	fd = libtally_open_event(&attr, &target);
	if (fd < 0) {
		printf("# no event of perf: %s\n", target.error);
	} else {
		error = libtally_ring_map(&ring, fd, 4, 0, LIBTALLY_RING_TWICE);
		printf("# of perf: %s\n", strerror(-error));
		CHECK(!error || error == -EOPNOTSUPP);
		if (!error) {
			EQUAL(ring.size, size);
			for (volatile int i = 0; i < 100000000; i++)
				;
			h = libtally_ring_next(&ring);
			CHECK(h && !memcmp(ring.data, ring.data + size, size));
			libtally_ring_unmap(&ring);
		}
		/* The failed attempt does not hinder the next one. */
		EQUAL(libtally_ring_map(&ring, fd, 2, 0, 0), 0);
		if (!test_failures)
			libtally_ring_unmap(&ring);
		close(fd);
	}
	test_end("a ring is mapped with its data twice");
}

/* Makes membarrier(2) fail, as on kernels with nohz_full. */
static void no_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* A paused ring has all records if the writers are known to have ended, else half. */
static void paused(void)
{
	static const unsigned int flags = LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_BACKWARD;
	struct perf_event_attr attr = usual();
	struct libtally_reader *reader = libtally_reader_new();
	size_t size = 2 * page_size;
	struct libtally_target target;
	struct libtally_ring ring;
	int all = size / 32, waits;
	uint64_t head = 0;
	char *map;

	kernel_begin();
	attr.write_backward = 1;
	target = target_of(0, -1);
	EQUAL(libtally_reader_open(reader, &attr, &target, 2, "task"), 0);
	map = mmap(NULL, page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.last_fd, 0);
	for (int i = 0; i < 1000; i++)
		put_backward(map, size, &head, i);
	waits = !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	EQUAL(libtally_ring_attach(&ring, map, page_size + size, kernel.last_fd, flags), 0);
	EQUAL(libtally_ring_snapshot(&ring), waits ? all : all / 2);
	no_membarrier();
	EQUAL(libtally_ring_snapshot(&ring), all / 2);
	libtally_ring_unmap(&ring);
	EQUAL(libtally_ring_attach(&ring, map, page_size + size, kernel.last_fd,
				   flags | LIBTALLY_RING_PAUSE_WAITS), 0);
	EQUAL(libtally_ring_snapshot(&ring), all);
	EQUAL(libtally_reader_snapshot(reader), all);
	kernel.pause_fails = 1;
	EQUAL(libtally_ring_snapshot(&ring), all / 2);
	EQUAL(libtally_reader_snapshot(reader), all / 2);
	libtally_ring_unmap(&ring);
	munmap(map, page_size + size);
	libtally_reader_free(reader);
	kernel_end();
	test_end("a paused ring has all records only if nobody writes");
}

int main(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	kernel.device = -1;
	member();
	leaves_nothing();
	in_words();
	snapshot();
	offline();
	share();
	twice();
	/* paused() comes last: membarrier(2) fails from then on. */
	paused();
	return 0;
}
