// SPDX-License-Identifier: GPL-2.0
/* A library that latelib maps after its start. */

__attribute__((noinline))
int late_function(int rounds)
{
	volatile int sum = 0;

	while (rounds--)
		sum += rounds;
	return sum;
}
