// SPDX-License-Identifier: GPL-2.0
/*
 * sampling perf|tally: a program that samples with files of perf or of tally (see
 * either.h): rings, signals, wake-ups, filters, and records sent to another ring.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include "either.h"

/* ---- a ring, as the manual page reads it ---- */

struct ring {
	int fd;
	char *data;
	uint64_t size;
	uint64_t id;
	uint64_t trace_id;	/* of an event whose samples have raw data */
	volatile struct perf_event_mmap_page *page;
};

#define RING_PAGES 8

static const char *result(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "0";
}

static int map_ring(struct ring *r, int fd, int prot)
{
	char *at = mmap(NULL, (1 + RING_PAGES) * page_size, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		printf("not ok a ring: %s\n", strerrorname_np(errno));
		return -1;
	}
	r->fd = fd;
	r->page = (void *)at;
	r->data = at + page_size;
	r->size = RING_PAGES * page_size;
	r->id = 0;
	r->trace_id = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &r->id);
	return 0;
}

static void unmap_ring(struct ring *r)
{
	munmap((void *)r->page, (1 + RING_PAGES) * page_size);
	close(r->fd);
}

/* Copies the record at *@at into one piece, and moves *@at behind it. */
static struct perf_event_header *record_at(const struct ring *r, uint64_t *at)
{
	static uint64_t record[65536 / 8];
	struct perf_event_header *h = (void *)record;
	unsigned int i, size = sizeof(*h);

	for (i = 0; i < size; i++) {
		((char *)record)[i] = r->data[(*at + i) & (r->size - 1)];
		if (i + 1 == sizeof(*h) && h->size > size)
			size = h->size;
	}
	*at += size;
	return h;
}

/* The fields that all samples have, in the order of struct sample. */
#define WORDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	       PERF_SAMPLE_ID | PERF_SAMPLE_CPU)

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, addr, id;
	uint32_t cpu, reserved;
	/* The period of page faults, if sample_type has it; raw data of tracepoints. */
	union {
		uint64_t period;
		struct {
			uint32_t raw_size;
			char raw[60];
		};
	};
};

#define SAMPLE_SIZE offsetof(struct sample, period)

static uint64_t last_time;

static void show_sample(const struct sample *s, const struct ring *r)
{
	printf("sample: misc %u, %u bytes, own %s, cpu %s, time %s", s->header.misc,
	       s->header.size, yes(s->pid == (uint32_t)getpid() && s->tid == s->pid),
	       yes(s->cpu < 1024 && !s->reserved), yes(s->time >= last_time));
	last_time = s->time;
	if (s->id == r->trace_id) {
		/* pid, oldcomm and newcomm follow the common fields. */
		printf(", raw %u, own %s, '%.16s' to '%.16s'\n", s->raw_size,
		       yes(*(const uint32_t *)(s->raw + 8) == (uint32_t)getpid()), s->raw + 12,
		       s->raw + 28);
		return;
	}
	check(s->id == r->id, "a sample's id is that of an event");
	printf(", page %ld, in user space %s", ((char *)(unsigned long)s->addr - area) / page_size,
	       yes(s->ip && s->ip < 1ULL << 56));
	if (s->header.size > SAMPLE_SIZE)
		printf(", period %llu", (unsigned long long)s->period);
	printf("\n");
}

static void show_lost(const struct perf_event_header *h, const struct ring *r)
{
	const uint64_t *v = (const void *)(h + 1);

	printf("lost: %u bytes, own %s, %llu, trailer: own %s, id %s\n", h->size,
	       yes(v[0] == r->id), (unsigned long long)v[1],
	       yes((uint32_t)v[2] == (uint32_t)getpid()), yes(v[4] == r->id));
}

/* Reads all records, prints up to @shown samples, and counts the records of each type. */
static void drain(struct ring *r, int shown)
{
	uint64_t head = r->page->data_head, at = r->page->data_tail;
	int nr[PERF_RECORD_MAX] = { 0 }, i;
	struct perf_event_header *h;

	__sync_synchronize();
	while (at < head) {
		h = record_at(r, &at);
		if (h->size < sizeof(*h) || h->type >= PERF_RECORD_MAX) {
			printf("not ok a record of type %u, %u bytes\n", h->type, h->size);
			break;
		}
		nr[h->type]++;
		if (h->type == PERF_RECORD_LOST)
			show_lost(h, r);
		else if (h->type == PERF_RECORD_SAMPLE && shown-- > 0)
			show_sample((void *)h, r);
	}
	__sync_synchronize();
	r->page->data_tail = head;
	printf("read to the end: %s", yes(at == head));
	for (i = 0; i < PERF_RECORD_MAX; i++)
		if (nr[i])
			printf(", %d of type %d", nr[i], i);
	printf("\n");
}

static struct perf_event_attr sampling(uint64_t period)
{
	struct perf_event_attr attr = page_faults(PERF_FORMAT_LOST, 1);

	attr.sample_period = period;
	attr.sample_type = WORDS;
	attr.sample_id_all = 1;
	attr.wakeup_events = 1;
	return attr;
}

/* bare.sh runs without tracepoints; device.sh checks that there are some. */
static int has_tracepoints(void)
{
	return !access("/sys/kernel/tracing/events", F_OK);
}

static struct perf_event_attr renames(uint64_t period)
{
	struct perf_event_attr attr = sampling(period);
	FILE *f = fopen("/sys/kernel/tracing/events/task/task_rename/id", "r");
	int id;

	if (!f || fscanf(f, "%d", &id) != 1)
		err(1, "task_rename");
	fclose(f);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	return attr;
}

static int open_sampling(struct perf_event_attr *attr, pid_t pid)
{
	int fd = open_event(attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		err(1, "an event that samples");
	return fd;
}

/* Samples @pages faults. The first touch() keeps other faults out of the enabled time. */
static void sample_faults(int fd, int pages)
{
	touch(1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(pages);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void rename_to(const char *name, int nr)
{
	char text[16];
	int i;

	for (i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "%s %d", name, i);
		prctl(PR_SET_NAME, text);
	}
}

static void show_poll(const char *what, int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret;

	do
		ret = poll(&p, 1, ms);
	while (ret < 0 && errno == EINTR);
	printf("%s: poll %d, events %#x\n", what, ret, p.revents);
}

static void show_lost_count(int fd)
{
	uint64_t v[2] = { 0 };

	if (read(fd, v, sizeof(v)) != sizeof(v))
		printf("not ok read: %s\n", strerrorname_np(errno));
	printf("count %llu, lost %llu\n", (unsigned long long)v[0], (unsigned long long)v[1]);
}

static void samples(void)
{
	struct perf_event_attr attr = sampling(1);
	struct ring r;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	printf("ring: data at %s, size %s, head %llu\n",
	       yes(r.page->data_offset == (uint64_t)page_size), yes(r.page->data_size == r.size),
	       (unsigned long long)r.page->data_head);
	show_poll("nothing yet", r.fd, 0);
	sample_faults(r.fd, 5);
	show_poll("five", r.fd, 1000);
	show_poll("again", r.fd, 0);
	drain(&r, 5);
	/* The ring wraps several times. */
	sample_faults(r.fd, 500);
	drain(&r, 1);
	sample_faults(r.fd, 500);
	drain(&r, 1);
	printf("more than there is room for\n");
	sample_faults(r.fd, 2000);
	show_lost_count(r.fd);
	drain(&r, 1);
	sample_faults(r.fd, 1);
	drain(&r, 1);
	show_lost_count(r.fd);
	unmap_ring(&r);
}

/* ---- signals ---- */

static volatile int awaited, nr_in, nr_hup, nr_plain, nr_strange;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGIO && info->si_code == SI_KERNEL)
		nr_plain++;
	else if (info->si_fd != awaited)
		nr_strange++;
	else if (info->si_code == POLL_IN && info->si_band == (POLLIN | POLLRDNORM))
		nr_in++;
	else if (info->si_code == POLL_HUP && info->si_band == (POLLHUP | POLLERR))
		nr_hup++;
	else
		nr_strange++;
}

static void show_signals(const char *what)
{
	/* A signal may still be on its way. */
	poll(NULL, 0, 20);
	printf("%s: %d POLL_IN, %d POLL_HUP, %d plain, %d others\n", what, nr_in, nr_hup,
	       nr_plain, nr_strange);
	nr_in = 0;
	nr_hup = 0;
	nr_plain = 0;
	nr_strange = 0;
}

static void ask_for_signals(int fd, int sig)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(sig ? sig : SIGIO, &act, NULL);
	awaited = fd;
	printf("O_ASYNC: %s", result(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC)));
	printf(", F_SETSIG: %s", result(fcntl(fd, F_SETSIG, sig)));
	printf(", F_SETOWN: %s", result(fcntl(fd, F_SETOWN, getpid())));
	printf(", there: %s\n", yes(fcntl(fd, F_GETFL) & O_ASYNC && fcntl(fd, F_GETSIG) == sig &&
				    fcntl(fd, F_GETOWN) == getpid()));
	/* The handler's first run faults its pages in, so that no test counts those. */
	raise(sig ? sig : SIGIO);
	show_signals("by raise()");
}

/*
 * The last overflow disables perf's event at once; that of tally counts on until a thread of
 * the kernel disables it, into its next period.
 */
static void wait_until_off(int fd)
{
	struct tally_value value;
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1, .nr = 1, .values = (unsigned long)&value,
		.value_size = sizeof(struct tally_value),
	};
	int i;

	if (device < 0)
		return;
	for (i = 0; i < 60000; i++) {
		if (ioctl(fd, TALLY_IOC_READ, &r)) {
			printf("not ok TALLY_IOC_READ: %s\n", strerrorname_np(errno));
			return;
		}
		if (value.state == TALLY_IS_OFF)
			return;
		poll(NULL, 0, 1);
	}
	printf("not ok the event is off: state %u\n", value.state);
}

/* PERF_EVENT_IOC_PERIOD begins a new period. */
static void begin_anew(const struct ring *r, uint64_t period)
{
	printf("period %lld: %s\n", (long long)period,
	       result(ioctl(r->fd, PERF_EVENT_IOC_PERIOD, &period)));
}

static void refresh_by(struct ring *r, int nr, int counted)
{
	uint64_t before = value_of(r->fd);

	printf("refresh %d: %s\n", nr, result(ioctl(r->fd, PERF_EVENT_IOC_REFRESH, nr)));
	touch(100);
	wait_until_off(r->fd);
	show_signals("signals");
	check(value_of(r->fd) - before >= (uint64_t)counted &&
	      value_of(r->fd) - before <= 108 && (device >= 0 ||
	      value_of(r->fd) - before <= (uint64_t)counted + 8), "so much is counted");
	show_poll("poll", r->fd, 0);
	drain(r, 5);
}

static void signals(void)
{
	struct perf_event_attr attr = sampling(10);
	struct ring r;
	uint64_t before;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	ask_for_signals(r.fd, SIGRTMIN + 1);
	refresh_by(&r, 3, 30);
	/* The event is disabled, and stays disabled. */
	before = value_of(r.fd);
	touch(100);
	printf("off: %s\n", yes(value_of(r.fd) == before));
	show_signals("afterwards");
	begin_anew(&r, 10);
	refresh_by(&r, 1, 10);
	begin_anew(&r, 7);
	refresh_by(&r, 4, 28);
	begin_anew(&r, 0);
	begin_anew(&r, 1ULL << 63);
	begin_anew(&r, 8);
	/* The second refresh adds to the first one, which has not ended. */
	printf("refresh: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_REFRESH, 1)));
	refresh_by(&r, 2, 24);
	fcntl(r.fd, F_SETFL, fcntl(r.fd, F_GETFL) & ~O_ASYNC);
	begin_anew(&r, 7);
	refresh_by(&r, 2, 14);
	ask_for_signals(r.fd, 0);
	begin_anew(&r, 7);
	refresh_by(&r, 1, 7);
	unmap_ring(&r);
}

/* Prints how many pages the last two samples are apart. */
static void show_distance(struct ring *r)
{
	uint64_t head = r->page->data_head, at = r->page->data_tail, last = 0, distance = 0;
	struct sample *s;

	__sync_synchronize();
	while (at < head) {
		s = (void *)record_at(r, &at);
		distance = s->addr - last;
		last = s->addr;
	}
	r->page->data_tail = head;
	printf("one in %lld\n", (long long)distance / page_size);
}

/*
 * The period is changed while the event counts. A software event of perf then samples at
 * once, and once more after the old period; that of tally samples after the new period.
 */
static void periods(void)
{
	static const uint64_t each[] = { 3, 1, 8, 5 };
	struct perf_event_attr attr = sampling(10);
	unsigned int i;
	struct ring r;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	touch(1);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(40);
	show_distance(&r);
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		uint64_t period = each[i];

		printf("period %llu: %s, ", (unsigned long long)period,
		       result(ioctl(r.fd, PERF_EVENT_IOC_PERIOD, &period)));
		touch(40);
		show_distance(&r);
	}
	unmap_ring(&r);
}

/* ---- who is woken, and when ---- */

static void woken_after(const char *what, struct perf_event_attr *attr, int most)
{
	struct pollfd p = { .events = POLLIN };
	struct ring r;
	int i;

	if (map_ring(&r, open_sampling(attr, 0), PROT_READ | PROT_WRITE))
		return;
	p.fd = r.fd;
	printf("%s: woken after", what);
	for (i = 1; i <= most; i++) {
		sample_faults(r.fd, 1);
		if (poll(&p, 1, i == most ? 1000 : 5) == 1)
			printf(" %d (%#x)", i, p.revents);
	}
	printf("\n");
	unmap_ring(&r);
}

static void wakeups(void)
{
	struct perf_event_attr attr = sampling(1);

	woken_after("each", &attr, 4);
	attr.wakeup_events = 3;
	woken_after("three", &attr, 10);
	attr.watermark = 1;
	attr.wakeup_watermark = 200;
	woken_after("200 bytes", &attr, 12);
	attr.wakeup_watermark = 1 << 30;
	woken_after("more than there is", &attr, 5);
}

static void end_of_task(void)
{
	struct perf_event_attr attr = sampling(1);
	int go[2], status;
	struct ring r;
	pid_t child;
	char c;

	fflush(stdout);
	if (pipe(go))
		err(1, "pipe");
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	/* The event stays disabled: the child faults when it begins and ends. */
	if (map_ring(&r, open_sampling(&attr, child), PROT_READ | PROT_WRITE))
		return;
	show_poll("its task is there", r.fd, 0);
	close(go[1]);
	waitpid(child, &status, 0);
	show_poll("its task is gone", r.fd, 1000);
	close(go[0]);
	unmap_ring(&r);
}

/* ---- filters ---- */

static void filter(const char *text, uint64_t period)
{
	struct perf_event_attr attr = renames(period);
	struct ring r;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	r.trace_id = r.id;
	ask_for_signals(r.fd, SIGRTMIN + 1);
	printf("filter %s, period %llu: %s", text, (unsigned long long)period,
	       result(ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, text)));
	printf(", another one: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, "pid > 0")));
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	rename_to("odd", 5);
	rename_to("even", 5);
	rename_to("odd", 5);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	rename_to("sampling", 1);
	show_lost_count(r.fd);
	show_signals("signals");
	drain(&r, 20);
	unmap_ring(&r);
}

static void filters(void)
{
	struct perf_event_attr attr = sampling(1);
	int fd = open_sampling(&attr, 0);

	printf("a filter of page faults: %s\n",
	       result(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "pid > 0")));
	close(fd);
	if (!has_tracepoints())
		return;
	filter("newcomm ~ \"odd*\"", 1);
	filter("newcomm ~ \"odd*\"", 3);
	filter("newcomm == \"even 3\" || newcomm == \"odd 4\"", 1);
	filter("pid == 0", 1);
	filter("oom_score_adj >= -1000", 4);
	filter("newcomm", 5);
	filter("there is none", 5);
}

/* ---- where it goes ---- */

static void outputs(void)
{
	struct perf_event_attr attr = sampling(1), other;
	struct ring r;
	int fd;

	if (!has_tracepoints())
		return;
	other = renames(1);
	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	fd = open_sampling(&other, 0);
	printf("to a file: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 1)));
	printf(", to none: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999)));
	printf(", to itself: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", of a ring: %s", result(ioctl(r.fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", to a ring: %s\n", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r.fd)));
	ioctl(fd, PERF_EVENT_IOC_ID, &r.trace_id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sample_faults(r.fd, 2);
	rename_to("other", 2);
	show_poll("two events", r.fd, 1000);
	sample_faults(r.fd, 1);
	rename_to("other", 1);
	show_poll("by the other", fd, 1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain(&r, 10);
	show_lost_count(fd);

	printf("pause of no ring: ");
	other.disabled = 1;
	close(fd);
	fd = open_sampling(&other, 0);
	printf("%s, pause: ", result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	printf("%s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	sample_faults(r.fd, 5);
	drain(&r, 10);
	printf("go on: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
	sample_faults(r.fd, 2);
	drain(&r, 10);
	show_lost_count(r.fd);
	close(fd);
	unmap_ring(&r);
}

/* The newest sample comes first. The bytes behind the last whole one are no record. */
static void backward(void)
{
	struct perf_event_attr attr = sampling(1);
	struct perf_event_header *h;
	uint64_t at, end, last;
	struct ring r;
	int nr, wrong;

	attr.write_backward = 1;
	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ))
		return;
	sample_faults(r.fd, 3000);
	printf("pause: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	at = r.page->data_head;
	end = at + r.size;
	printf("head %lld\n", (long long)at);
	last = (unsigned long)area + 3000 * page_size;
	for (nr = 0, wrong = 0; end - at >= SAMPLE_SIZE; nr++) {
		h = record_at(&r, &at);
		wrong += h->type != PERF_RECORD_SAMPLE || ((struct sample *)h)->id != r.id ||
			 ((struct sample *)h)->addr != last - page_size;
		last -= page_size;
	}
	printf("the newest: %d, others: %d\n", nr, wrong);
	sample_faults(r.fd, 10);
	printf("paused: head %lld\n", (long long)r.page->data_head);
	show_lost_count(r.fd);
	unmap_ring(&r);
}

/* Stays on one CPU: its timers expire in order, however late they are. */
static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity");
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	stay_here();
	samples();
	signals();
	periods();
	wakeups();
	end_of_task();
	filters();
	outputs();
	backward();
	printf("done\n");
	return 0;
}
