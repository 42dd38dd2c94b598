// SPDX-License-Identifier: GPL-2.0
/*
 * sampling perf|tally: a program that samples with files of perf or of tally (see
 * same.h): rings, signals, wake-ups, filters, and records sent to another ring.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include "same.h"

/* ---- a ring, and its records ---- */

#define RING_PAGES 8

static struct ring ring;

/* The id of an event whose samples have raw data. */
static uint64_t raw_id;

static const char *result(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "0";
}

static int begin_ring(int fd, int prot)
{
	raw_id = 0;
	if (!map_ring(&ring, fd, RING_PAGES, prot, 0))
		return 0;
	printf("not ok a ring: %s\n", strerrorname_np(errno));
	return -1;
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

static void show_sample(const struct sample *s)
{
	printf("sample: misc %u, %u bytes, own %s, cpu %s, time %s", s->header.misc,
	       s->header.size, yes(s->pid == (uint32_t)getpid() && s->tid == s->pid),
	       yes(s->cpu < 1024 && !s->reserved), yes(s->time >= last_time));
	last_time = s->time;
	if (s->id == raw_id) {
		/* pid, oldcomm and newcomm follow the common fields. */
		printf(", raw %u, own %s, '%.16s' to '%.16s'\n", s->raw_size,
		       yes(*(const uint32_t *)(s->raw + 8) == (uint32_t)getpid()), s->raw + 12,
		       s->raw + 28);
		return;
	}
	check(s->id == ring.id, "a sample's id is that of an event");
	printf(", page %ld, in user space %s", ((char *)(unsigned long)s->addr - area) / page_size,
	       yes(s->ip && s->ip < 1ULL << 56));
	if (s->header.size > SAMPLE_SIZE)
		printf(", period %llu", (unsigned long long)s->period);
	printf("\n");
}

static void show_lost(const struct perf_event_header *h)
{
	const uint64_t *v = (const void *)(h + 1);

	printf("lost: %u bytes, own %s, %llu, trailer: own %s, id %s\n", h->size,
	       yes(v[0] == ring.id), (unsigned long long)v[1],
	       yes((uint32_t)v[2] == (uint32_t)getpid()), yes(v[4] == ring.id));
}

/* Reads all records, prints up to @shown samples, and counts the records of each type. */
static void drain(int shown)
{
	int nr[PERF_RECORD_MAX] = { 0 }, i;
	struct perf_event_header *h;
	uint64_t head = head_of(&ring);

	while (ring.tail < head) {
		h = copy_record(&ring, ring.tail, head);
		if (!h || h->type >= PERF_RECORD_MAX) {
			printf("not ok a record at %llu of %llu\n", (unsigned long long)ring.tail,
			       (unsigned long long)head);
			break;
		}
		ring.tail += h->size;
		nr[h->type]++;
		if (h->type == PERF_RECORD_LOST)
			show_lost(h);
		else if (h->type == PERF_RECORD_SAMPLE && shown-- > 0)
			show_sample((void *)h);
	}
	printf("read to the end: %s", yes(ring.tail == head));
	ring.tail = head;
	done(&ring);
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
	int id = trace_id("task/task_rename");

	if (id < 0)
		errx(1, "task_rename");
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	return attr;
}

static int open_sampling(struct perf_event_attr *attr, pid_t pid)
{
	int fd = open_own(attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

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

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	if (begin_ring(open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	printf("ring: data at %s, size %s, head %llu\n",
	       yes(ring.page->data_offset == (uint64_t)page_size),
	       yes(ring.page->data_size == ring.size),
	       (unsigned long long)ring.page->data_head);
	show_poll("nothing yet", ring.fd, 0);
	sample_faults(ring.fd, 5);
	show_poll("five", ring.fd, 1000);
	show_poll("again", ring.fd, 0);
	drain(5);
	/* The ring wraps several times. */
	sample_faults(ring.fd, 500);
	drain(1);
	sample_faults(ring.fd, 500);
	drain(1);
	printf("more than there is room for\n");
	sample_faults(ring.fd, 2000);
	show_lost_count(ring.fd);
	drain(1);
	sample_faults(ring.fd, 1);
	drain(1);
	show_lost_count(ring.fd);
	unmap_ring(&ring);
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
	wait_ms(20);
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
	int i;

	if (side == PERF)
		return;
	for (i = 0; i < 60000; i++) {
		if (read_first(fd, -1, &value)) {
			printf("not ok TALLY_IOC_READ: %s\n", strerrorname_np(errno));
			return;
		}
		if (value.state == TALLY_IS_OFF)
			return;
		wait_ms(1);
	}
	printf("not ok the event is off: state %u\n", value.state);
}

/* PERF_EVENT_IOC_PERIOD begins a new period. */
static void begin_anew(uint64_t period)
{
	printf("period %lld: %s\n", (long long)period,
	       result(ioctl(ring.fd, PERF_EVENT_IOC_PERIOD, &period)));
}

static void refresh_by(int nr, int counted)
{
	uint64_t before = value_of(ring.fd);

	printf("refresh %d: %s\n", nr, result(ioctl(ring.fd, PERF_EVENT_IOC_REFRESH, nr)));
	touch(100);
	wait_until_off(ring.fd);
	show_signals("signals");
	check(value_of(ring.fd) - before >= (uint64_t)counted &&
	      value_of(ring.fd) - before <= 108 && (side == TALLY ||
	      value_of(ring.fd) - before <= (uint64_t)counted + 8), "so much is counted");
	show_poll("poll", ring.fd, 0);
	drain(5);
}

static void signals(void)
{
	struct perf_event_attr attr = sampling(10);
	uint64_t before;

	if (begin_ring(open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	ask_for_signals(ring.fd, SIGRTMIN + 1);
	refresh_by(3, 30);
	/* The event is disabled, and stays disabled. */
	before = value_of(ring.fd);
	touch(100);
	printf("off: %s\n", yes(value_of(ring.fd) == before));
	show_signals("afterwards");
	begin_anew(10);
	refresh_by(1, 10);
	begin_anew(7);
	refresh_by(4, 28);
	begin_anew(0);
	begin_anew(1ULL << 63);
	begin_anew(8);
	/* The second refresh adds to the first one, which has not ended. */
	printf("refresh: %s\n", result(ioctl(ring.fd, PERF_EVENT_IOC_REFRESH, 1)));
	refresh_by(2, 24);
	fcntl(ring.fd, F_SETFL, fcntl(ring.fd, F_GETFL) & ~O_ASYNC);
	begin_anew(7);
	refresh_by(2, 14);
	ask_for_signals(ring.fd, 0);
	begin_anew(7);
	refresh_by(1, 7);
	unmap_ring(&ring);
}

/* Prints how many pages the last two samples are apart. */
static void show_distance(void)
{
	uint64_t head = head_of(&ring), last = 0, distance = 0;
	struct sample *s;

	for (; ring.tail < head; ring.tail += s->header.size) {
		s = (void *)copy_record(&ring, ring.tail, head);
		if (!s)
			errx(1, "a record");
		distance = s->addr - last;
		last = s->addr;
	}
	done(&ring);
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

	if (begin_ring(open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	touch(1);
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(40);
	show_distance();
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		uint64_t period = each[i];

		printf("period %llu: %s, ", (unsigned long long)period,
		       result(ioctl(ring.fd, PERF_EVENT_IOC_PERIOD, &period)));
		touch(40);
		show_distance();
	}
	unmap_ring(&ring);
}

/* ---- who is woken, and when ---- */

static void woken_after(const char *what, struct perf_event_attr *attr, int most)
{
	struct pollfd p = { .events = POLLIN };
	int i;

	if (begin_ring(open_sampling(attr, 0), PROT_READ | PROT_WRITE))
		return;
	p.fd = ring.fd;
	printf("%s: woken after", what);
	for (i = 1; i <= most; i++) {
		sample_faults(ring.fd, 1);
		if (poll(&p, 1, i == most ? 1000 : 5) == 1)
			printf(" %d (%#x)", i, p.revents);
	}
	printf("\n");
	unmap_ring(&ring);
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
	pid_t child;
	int go[2];

	fflush(stdout);
	child = fork_waiting(go);
	if (!child)
		_exit(0);
	/* The event stays disabled: the child faults when it begins and ends. */
	if (begin_ring(open_sampling(&attr, child), PROT_READ | PROT_WRITE))
		return;
	show_poll("its task is there", ring.fd, 0);
	let_go_on(go);
	waitpid(child, NULL, 0);
	show_poll("its task is gone", ring.fd, 1000);
	unmap_ring(&ring);
}

/* ---- filters ---- */

static void filter(const char *text, uint64_t period)
{
	struct perf_event_attr attr = renames(period);

	if (begin_ring(open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	raw_id = ring.id;
	ask_for_signals(ring.fd, SIGRTMIN + 1);
	printf("filter %s, period %llu: %s", text, (unsigned long long)period,
	       result(ioctl(ring.fd, PERF_EVENT_IOC_SET_FILTER, text)));
	printf(", another one: %s\n", result(ioctl(ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid > 0")));
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	rename_to("odd", 5);
	rename_to("even", 5);
	rename_to("odd", 5);
	ioctl(ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	rename_to("sampling", 1);
	show_lost_count(ring.fd);
	show_signals("signals");
	drain(20);
	unmap_ring(&ring);
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
	int fd;

	if (!has_tracepoints())
		return;
	other = renames(1);
	if (begin_ring(open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	fd = open_sampling(&other, 0);
	printf("to a file: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 1)));
	printf(", to none: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999)));
	printf(", to itself: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", of a ring: %s", result(ioctl(ring.fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", to a ring: %s\n", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd)));
	ioctl(fd, PERF_EVENT_IOC_ID, &raw_id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sample_faults(ring.fd, 2);
	rename_to("other", 2);
	show_poll("two events", ring.fd, 1000);
	sample_faults(ring.fd, 1);
	rename_to("other", 1);
	show_poll("by the other", fd, 1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain(10);
	show_lost_count(fd);

	printf("pause of no ring: ");
	other.disabled = 1;
	close(fd);
	fd = open_sampling(&other, 0);
	printf("%s, pause: ", result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	printf("%s\n", result(ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	sample_faults(ring.fd, 5);
	drain(10);
	printf("go on: %s\n", result(ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
	sample_faults(ring.fd, 2);
	drain(10);
	show_lost_count(ring.fd);
	close(fd);
	unmap_ring(&ring);
}

/* The newest sample comes first. The bytes behind the last whole one are no record. */
static void backward(void)
{
	struct perf_event_attr attr = sampling(1);
	struct perf_event_header *h;
	uint64_t at, end, last;
	int nr, wrong;

	attr.write_backward = 1;
	if (begin_ring(open_sampling(&attr, 0), PROT_READ))
		return;
	sample_faults(ring.fd, 3000);
	printf("pause: %s\n", result(ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	at = ring.page->data_head;
	end = at + ring.size;
	printf("head %lld\n", (long long)at);
	last = (unsigned long)area + 3000 * page_size;
	for (nr = 0, wrong = 0; end - at >= SAMPLE_SIZE; nr++) {
		h = copy_record(&ring, at, end);
		if (!h)
			errx(1, "a record");
		at += h->size;
		wrong += h->type != PERF_RECORD_SAMPLE || ((struct sample *)h)->id != ring.id ||
			 ((struct sample *)h)->addr != last - page_size;
		last -= page_size;
	}
	printf("the newest: %d, others: %d\n", nr, wrong);
	sample_faults(ring.fd, 10);
	printf("paused: head %lld\n", (long long)ring.page->data_head);
	show_lost_count(ring.fd);
	unmap_ring(&ring);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	/* The timers of one CPU expire in order, however late they are. */
	run_on(0);
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
