// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: who is woken, and when.
 *
 *	devwake wakeup|sleeper|redirected
 */
#define _GNU_SOURCE
#include "devring.h"

/* ---- wake-ups ---- */

static void wakes(const char *what, int after)
{
	int i, first[2] = { 0 };

	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	for (i = 1; i <= 2 * after && !(first[0] && first[1]); i++) {
		switch_both(1);
		touch(1);
		switch_both(0);
		if (polled(perf_ring.fd) && !first[0])
			first[0] = i;
		if (polled(tally_ring.fd) == POLLIN && !first[1])
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

/* Somebody sleeps in poll() while the other one writes. */
static void sleeper(void)
{
	int fd, i, woken = 0;
	pid_t child;

	faults(PERF_SAMPLE_IP);
	attr.disabled = 0;
	child = fork();
	if (!child) {
		for (i = 0; i < 20; i++) {
			touch(1);
			wait_ms(20);
		}
		_exit(0);
	}
	o.pid = child;
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "%m");
		return;
	}
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 10000) != 1 || p.revents & POLLHUP)
			break;
		woken++;
		tally_ring.tail = tally_ring.page->data_head;
		done(&tally_ring);
	}
	tell(woken >= 10, "a sleeper was woken %d times, and then told that the task is gone",
	     woken);
	unmap_ring(&tally_ring);
	waitpid(child, NULL, 0);
}

/* Who polls the file of an event that writes to another one's ring is woken, too. */
static void redirected(void)
{
	struct pollfd p = { .events = POLLIN };
	int fd, t;
	pid_t child;

	faults(PERF_SAMPLE_IP);
	attr.disabled = 0;
	child = fork();
	if (!child) {
		wait_ms(300);
		touch(3);
		wait_ms(300);
		_exit(0);
	}
	o.pid = child;
	fd = open_it();
	t = open_it();
	if (map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0) ||
	    ioctl(t, PERF_EVENT_IOC_SET_OUTPUT, fd))
		tell(0, "SET_OUTPUT: %m");
	p.fd = t;
	tell(poll(&p, 1, 200000) == 1 && p.revents == POLLIN, "it is woken: %#x", p.revents);
	unmap_ring(&tally_ring);
	close(t);
	waitpid(child, NULL, 0);
}

static const struct devtest tests[] = {
	{ "wakeup", .run = wakeup },
	{ "sleeper", .run = sleeper },
	{ "redirected", .run = redirected },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
