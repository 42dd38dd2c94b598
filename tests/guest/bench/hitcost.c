// SPDX-License-Identifier: GPL-2.0
/*
 * hitcost: prints the cost of 100 system calls getppid(), the least of 2000 rounds, in
 * instructions with icount. An interrupt or another processor's turn costs more.
 */
#define _GNU_SOURCE
#include "bench.h"

int main(void)
{
	unsigned long long begin, cost, least = ~0ULL;
	int round, call;

	for (round = 0; round < 2000; round++) {
		begin = now_ns();
		for (call = 0; call < 100; call++)
			syscall(SYS_getppid);
		cost = now_ns() - begin;
		if (cost < least)
			least = cost;
	}
	printf("%llu\n", least);
	return 0;
}
