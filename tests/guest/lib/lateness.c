// SPDX-License-Identifier: GPL-2.0
/*
 * lateness SECONDS: one thread on each CPU sleeps 10 ms again and again. Prints by how
 * many microseconds the latest wake-up was late.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "either.h"

#define PERIOD_NS	10000000L
#define MOST_CPUS	64

static int seconds;

static void *sleeper(void *arg)
{
	struct timespec ten_ms = { .tv_nsec = PERIOD_NS };
	long long end, before, late, *worst = arg;

	run_on(*worst);
	*worst = 0;
	end = now_ns() + seconds * 1000000000LL;
	while ((before = now_ns()) < end) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ten_ms, NULL);
		late = now_ns() - before - PERIOD_NS;
		if (late > *worst)
			*worst = late;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long n = nr_online(), i;
	long long worst[MOST_CPUS], most = 0;
	pthread_t threads[MOST_CPUS];

	if (argc != 2 || n > MOST_CPUS)
		return 2;
	seconds = atoi(argv[1]);
	for (i = 0; i < n; i++) {
		worst[i] = i;
		if (pthread_create(&threads[i], NULL, sleeper, &worst[i]))
			return 2;
	}
	for (i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		if (worst[i] > most)
			most = worst[i];
	}
	printf("%lld\n", most / 1000);
	return 0;
}
