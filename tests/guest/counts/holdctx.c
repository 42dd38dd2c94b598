// SPDX-License-Identifier: GPL-2.0
/*
 * holdctx PID: keeps perf from creating and releasing events of a task, as a grace period
 * or a slow task does, but for as long as the test wants.
 *
 * perf copies the argument of PERF_EVENT_IOC_PERIOD with the lock of the task's events
 * held. Here the argument lies in a page that userfaultfd(2) keeps away. The program prints
 * "held" when perf waits for the page, and gives it at the end of standard input.
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <pthread.h>
#include "either.h"

static int event;
static void *page;

static void *wait_in_perf(void *unused)
{
	/* The period is 0 when it is there at last: EINVAL. */
	ioctl(event, PERF_EVENT_IOC_PERIOD, page);
	return unused;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		SW(PERF_COUNT_SW_DUMMY), .sample_period = 1, .disabled = 1,
	};
	struct tally_open r;
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_zeropage zero = { 0 };
	struct uffd_msg fault;
	pthread_t thread;
	int faults;
	char c;

	if (argc != 2)
		errx(2, "usage: holdctx PID");
	r = request(&attr, atoi(argv[1]), -1, -1, 0);
	event = must_open(PERF, &r);
	page = new_area(1);
	faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0)
		err(1, "userfaultfd");
	range.range.start = (unsigned long)page;
	range.range.len = getpagesize();
	if (ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range))
		err(1, "a page that is kept away");
	if (pthread_create(&thread, NULL, wait_in_perf, NULL))
		errx(1, "pthread_create");
	if (read(faults, &fault, sizeof(fault)) != sizeof(fault))
		err(1, "no fault");
	printf("held\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	zero.range = range.range;
	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
		err(1, "UFFDIO_ZEROPAGE");
	return !!pthread_join(thread, NULL);
}
