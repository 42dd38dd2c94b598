// SPDX-License-Identifier: GPL-2.0
/*
 * as nobody COMMAND...: runs the command as user and group 1000.
 * as powerless COMMAND...: runs the command as root without CAP_SYS_ADMIN, CAP_PERFMON
 *	and CAP_BPF; the command cannot get them back.
 * as perfmon COMMAND...: runs the command as root with CAP_PERFMON, without
 *	CAP_SYS_ADMIN.
 * as nokill COMMAND...: runs the command as root without CAP_KILL.
 * as cpu N COMMAND...: runs the command on CPU N only.
 * as fifo COMMAND...: runs the command as a real-time task of the lowest priority.
 * as nice COMMAND...: runs the command only while no other task needs the CPU, or nearly so.
 */
#define _GNU_SOURCE
#include <err.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* exec() gives root the capabilities of the bounding set only. */
static void drop(int cap)
{
	if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
		err(125, "cannot drop capability %d", cap);
}

int main(int argc, char **argv)
{
	int next = 2;

	if (argc < 3)
		errx(125, "usage: as nobody|powerless|perfmon|nokill|fifo|nice|cpu N COMMAND...");
	if (!strcmp(argv[1], "nobody")) {
		if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
			err(125, "cannot become nobody");
	} else if (!strcmp(argv[1], "powerless")) {
		drop(CAP_SYS_ADMIN);
		drop(CAP_PERFMON);
		drop(CAP_BPF);
	} else if (!strcmp(argv[1], "perfmon")) {
		drop(CAP_SYS_ADMIN);
	} else if (!strcmp(argv[1], "nokill")) {
		drop(CAP_KILL);
	} else if (!strcmp(argv[1], "fifo")) {
		struct sched_param p = { .sched_priority = 1 };

		if (sched_setscheduler(0, SCHED_FIFO, &p))
			err(125, "cannot run in real time");
	} else if (!strcmp(argv[1], "nice")) {
		if (setpriority(PRIO_PROCESS, 0, 19))
			err(125, "cannot be nice");
	} else if (!strcmp(argv[1], "cpu") && argc > 3) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(atoi(argv[2]), &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			err(125, "cannot run on cpu %s", argv[2]);
		next = 3;
	} else {
		errx(125, "unknown role '%s'", argv[1]);
	}
	execvp(argv[next], argv + next);
	err(127, "%s", argv[next]);
}
