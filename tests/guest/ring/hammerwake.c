// SPDX-License-Identifier: GPL-2.0
/*
 * No wake-up is missed. A thread, on another CPU if there is one, makes exactly as many
 * page faults as wake the reader. The reader sleeps or is just about to sleep. The thread
 * then waits for the reader.
 *
 *	hammerwake poll|epoll|sigio|refresh WHAT ROUNDS
 *
 * WHAT is the number of samples that wake the reader, or bytesN: more than N bytes of
 * records wake it.
 */
#define _GNU_SOURCE
#include "devtest.h"
#include <inttypes.h>
#include <pthread.h>

#define PAGES 512
/* A wake-up that takes longer counts as missed. */
#define TOO_LONG_MS 20000
/* A header and an address, in bytes. */
#define SAMPLE_SIZE 16

static struct ring ring;
static uint64_t samples;
static volatile uint64_t asked, faulted;
static volatile int waits, ends, producer_tid;
static int signal_nr, one_cpu;

/* On one CPU, a busy loop must let the other thread run. */
static void others_turn(void)
{
	if (one_cpu)
		sched_yield();
}

/* Faults as often as it is asked to, each time after a different number of loops. */
static void *producer(void *unused)
{
	char *mine = new_area(PAGES);
	uint64_t n = 0;
	volatile int i;

	run_on(nr_online() - 1);
	producer_tid = syscall(SYS_gettid);
	while (!ends) {
		if (n == asked) {
			others_turn();
			continue;
		}
		for (i = 0; i < waits; i++)
			;
		while (n < asked) {
			if (n % PAGES == 0)
				madvise(mine, PAGES * page_size, MADV_DONTNEED);
			mine[n % PAGES * page_size] = 1;
			n++;
		}
		faulted = n;
	}
	return unused;
}

/* Keeps CPU 0 from idling, so that it takes an interrupt at once, at idle priority. */
static void *burner(void *unused)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	run_on(0);
	while (!ends && !one_cpu)
		;
	return unused;
}

static int take(void)
{
	uint64_t head = head_of(&ring);
	struct perf_event_header *h;
	int nr = 0;

	for (; ring.tail != head; ring.tail += SAMPLE_SIZE, nr++) {
		h = (void *)(ring.base + page_size + (ring.tail & (ring.size - 1)));
		if (h->type != PERF_RECORD_SAMPLE || h->size != SAMPLE_SIZE) {
			tell(0, "a record of type %u, size %u", h->type, h->size);
			_exit(1);
		}
	}
	done(&ring);
	samples += nr;
	return nr;
}

static int by_poll(int fd)
{
	return polled_for(fd, TOO_LONG_MS) == POLLIN;
}

static int epoll_fd;

/*
 * Adds the file before there are samples: epoll_ctl() polls it, and a poll takes the
 * wake-up away, in perf's rings as in tally's (see devwake.c).
 */
static void want_epoll(int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	epoll_fd = epoll_create1(0);
	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e))
		tell(0, "epoll: %m");
}

static int by_epoll(__attribute__((unused)) int fd)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, TOO_LONG_MS) == 1 && e.events == EPOLLIN;
}

/* Returns the si_code of the next signal; 0 if none comes. */
static int next_signal(int fd)
{
	struct timespec wait = { .tv_sec = TOO_LONG_MS / 1000 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_nr);
	while (sigtimedwait(&set, &info, &wait) != signal_nr)
		if (errno != EINTR)
			return 0;
	return info.si_fd == fd ? info.si_code : 0;
}

static int by_sigio(int fd)
{
	return next_signal(fd) == POLL_IN;
}

/* Overflows send POLL_IN, one signal perhaps for several. The last one sends POLL_HUP. */
static int by_refresh(int fd)
{
	int code;

	do {
		code = next_signal(fd);
	} while (code == POLL_IN);
	return code == POLL_HUP;
}

static void want_signals(int fd)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = syscall(SYS_gettid) };

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, signal_nr) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC))
		tell(0, "fcntl: %m");
}

static void rounds(const char *how, int (*sleep)(int fd), char **arguments)
{
	uint64_t bytes = 0, told = 0, needed, number = atoi(arguments[0]), n = atol(arguments[1]);
	int fd, refresh = sleep == by_refresh;
	uint64_t round, got, begin, early = 0;
	pthread_t thread, other;
	sigset_t set;

	signal_nr = SIGRTMIN;
	sigemptyset(&set);
	sigaddset(&set, signal_nr);
	sigprocmask(SIG_BLOCK, &set, NULL);
	one_cpu = nr_online() == 1;
	run_on(0);
	if (pthread_create(&thread, NULL, producer, NULL) ||
	    pthread_create(&other, NULL, burner, NULL))
		err(2, "thread");
	while (!producer_tid)
		wait_ms(1);
	usual();
	o.pid = producer_tid;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	attr.wakeup_events = number;
	attr.disabled = refresh;
	if (!strncmp(arguments[0], "bytes", 5)) {
		bytes = atoi(arguments[0] + 5);
		attr.watermark = 1;
		attr.wakeup_watermark = bytes;
	}
	fd = must_open(TALLY, &o);
	must_map(&ring, fd, 16);
	if (sleep == by_sigio || refresh)
		want_signals(fd);
	if (sleep == by_epoll)
		want_epoll(fd);
	begin = now_ns();
	for (round = 0; round < n; round++) {
		needed = number;
		if (bytes) {
			/* Each round wakes with the first byte beyond the next @bytes. */
			needed = (told + bytes) / SAMPLE_SIZE + 1 - samples;
			told += bytes;
		}
		if (refresh)
			ioctl(fd, PERF_EVENT_IOC_REFRESH, (int)number);
		waits = round * 7 % 401;
		asked += needed;
		/* As in perf, each half of the ring wakes, too, which may be sooner. */
		for (got = 0; got < needed; ) {
			if (!sleep(fd))
				break;
			got += take();
			early += got < needed;
		}
		if (got != needed)
			break;
		/* A signal may come before the last samples of the round. */
		while (faulted != asked)
			others_turn();
	}
	tell(round == n && early <= 2 * samples * SAMPLE_SIZE / ring.size,
	     "%s, %s: %" PRIu64 " rounds of %" PRIu64 ", %" PRIu64 " samples, woken early %"
	     PRIu64 " times, %.0f us each", how, arguments[0], round, n, samples, early,
	     (now_ns() - begin) / 1e3 / (round + 1));
	if (round < n)
		tell(0, "asked for %" PRIu64 ", done %" PRIu64 ", head %llu", asked, faulted,
		     (unsigned long long)ring.page->data_head);
	ends = 1;
	pthread_join(thread, NULL);
	pthread_join(other, NULL);
	close(fd);
}

static void poll_rounds(char **arguments)
{
	rounds("poll", by_poll, arguments);
}

static void epoll_rounds(char **arguments)
{
	rounds("epoll", by_epoll, arguments);
}

static void sigio_rounds(char **arguments)
{
	rounds("SIGIO", by_sigio, arguments);
}

static void refresh_rounds(char **arguments)
{
	rounds("POLL_HUP", by_refresh, arguments);
}

static const struct devtest tests[] = {
	{ "poll", .with = poll_rounds, .arguments = 2 },
	{ "epoll", .with = epoll_rounds, .arguments = 2 },
	{ "sigio", .with = sigio_rounds, .arguments = 2 },
	{ "refresh", .with = refresh_rounds, .arguments = 2 },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
