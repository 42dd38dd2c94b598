// SPDX-License-Identifier: GPL-2.0
/*
 * A program with call chains, for tally_chain. In a deep call it computes, makes system
 * calls, faults, writes a watched variable, and uses frame pointers that lead nowhere.
 *
 *	chains SECONDS [watch]	has its variable watched, too
 *	chains			prints the offset of probed() in its file
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

extern char __executable_start[];

static volatile int watched;
static volatile unsigned long sink;
static int poke = -1, zero = -1;
static char *page_end;

/* Runs a loop whose frame pointer register contains @fp. */
static void with_frame_pointer(unsigned long fp)
{
	unsigned long n = 200000;

#if defined(__x86_64__)
	asm volatile("pushq %%rbp\n\tmovq %1, %%rbp\n1:\tdecq %0\n\tjnz 1b\n\tpopq %%rbp"
		     : "+c" (n) : "d" (fp) : "memory");
#elif defined(__i386__)
	asm volatile("pushl %%ebp\n\tmovl %1, %%ebp\n1:\tdecl %0\n\tjnz 1b\n\tpopl %%ebp"
		     : "+c" (n) : "d" (fp) : "memory");
#elif defined(__riscv)
	asm volatile("mv t0, s0\n\tmv s0, %1\n1:\taddi %0, %0, -1\n\tbnez %0, 1b\n\tmv s0, t0"
		     : "+r" (n) : "r" (fp) : "t0", "memory");
#else
	asm volatile("mov x9, x29\n\tmov x29, %1\n1:\tsubs %0, %0, #1\n\tb.ne 1b\n\tmov x29, x9"
		     : "+r" (n) : "r" (fp) : "x9", "memory", "cc");
#endif
}

FRAMED void leaf(int round)
{
	static const unsigned long nowhere[] = {
		0, 1, 8, 0x1000, (unsigned long)-16, (unsigned long)-1,
#if __SIZEOF_LONG__ == 8
		0x00007fffffffeff8, 0x00007ffffffffff8, 0x8000000000000000,
		0xffff888000000000, 0xdead000000000100,
#endif
	};
	char *map, c;
	unsigned int i;

	for (i = 0; i < 200000; i++)
		sink += i;
	watched = round;
	map = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(map, 1, 1 << 16);
	munmap(map, 1 << 16);
	for (i = 0; i < 200; i++)
		sink += read(zero, &c, 1);
	sink += syscall(SYS_getppid);
	if (write(poke, "1", 1) != 1)
		exit(2);
	sched_yield();
	with_frame_pointer(nowhere[round % (sizeof(nowhere) / sizeof(*nowhere))]);
	with_frame_pointer((unsigned long)page_end - 8);
	with_frame_pointer((unsigned long)page_end - 16);
	with_frame_pointer((unsigned long)page_end - 4);
	with_frame_pointer((unsigned long)page_end);
	with_frame_pointer((unsigned long)page_end + 8);
}

FRAMED void probed(int depth, int round)
{
	if (depth)
		probed(depth - 1, round);
	else
		leaf(round);
	sink++;
}

FRAMED void deeper(int depth, int round)
{
	if (depth)
		deeper(depth - 1, round);
	else
		probed(3, round);
	sink++;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	char text[32];
	int watch, round;

	if (argc < 2) {
		printf("%ld\n", (long)((char *)probed - __executable_start));
		return 0;
	}
	poke = open("/sys/kernel/debug/tally_chain/poke", O_WRONLY);
	watch = open("/sys/kernel/debug/tally_chain/watch", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	page_end = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page_end, 0, 8192);
	page_end += 4096;
	munmap(page_end, 4096);
	snprintf(text, sizeof(text), "%lu", (unsigned long)(uintptr_t)&watched);
	if (poke < 0 || watch < 0 || zero < 0 ||
	    (argc > 2 && write(watch, text, strlen(text)) < 0)) {
		perror("chains");
		return 1;
	}
	for (round = 0; time(NULL) < end; round++)
		deeper(round % 160, round);
	printf("%d rounds\n", round);
	return 0;
}
