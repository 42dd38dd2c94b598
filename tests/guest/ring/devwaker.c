// SPDX-License-Identifier: GPL-2.0
/*
 * Who writes to a task's ring. A program on one CPU wakes a task that runs there or on another
 * CPU. perf gives the sched_waking of the program to events of the woken task, too, on the CPU
 * of the program; the task's switches are recorded on the CPU of the task. A ring must not get
 * both at a time.
 *
 *	devwaker outputs	no event writes to the ring of an event that another CPU may
 *				write to
 *	devwaker wakings ROUNDS	each ring has the records of its own CPU, or of its task, and
 *				goes on to the end
 */
#define _GNU_SOURCE
#include "devring.h"

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

/* The events count the task on any CPU, on CPU 0, and on the waker's CPU. */
static const int cpus[] = { -1, 0, 1 };
#define NR 3
#define WAKERS 2	/* index of the waker's CPU */

/* Records of an event, with its count; the waker has made @waker of the samples. */
struct records {
	uint64_t value, lost, samples, waker, switches, strange;
};

static struct ring rings[2][NR];
static struct records seen[2][NR];

static pid_t task;
static int to_task[2], from_task[2];

/* ---- the task ---- */

/* Answers each byte; 'm' moves it to the other CPU first. */
static void answer(void)
{
	int cpu = 0;
	char c;

	while (read(to_task[0], &c, 1) == 1) {
		if (c == 'm') {
			cpu = !cpu;
			run_on(cpu);
		}
		if (write(from_task[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_task(void)
{
	if (pipe(to_task) || pipe(from_task))
		err(2, "pipe");
	run_on(0);
	task = fork();
	if (!task) {
		close(to_task[1]);
		answer();
	}
	close(to_task[0]);
	run_on(cpus[WAKERS]);
}

static void end_task(void)
{
	close(to_task[1]);
	waitpid(task, NULL, 0);
}

static void wake(char c)
{
	if (write(to_task[1], &c, 1) != 1 || read(from_task[0], &c, 1) != 1)
		err(2, "pipe");
}

static int sleeps(void)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", task);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		err(2, "%s", path);
	fclose(f);
	return state == 'S';
}

/* ---- its events ---- */

static void of_wakings(int cpu)
{
	usual();
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("sched/sched_waking");
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.context_switch = 1;
	attr.read_format = PERF_FORMAT_LOST;
	attr.disabled = 1;
	o.pid = task;
	o.cpu = cpu;
}

static int open_rings(void)
{
	int kind, i, fd;

	for (kind = TALLY; kind >= PERF; kind--) {
		for (i = 0; i < NR; i++) {
			of_wakings(cpus[i]);
			fd = open_as(kind, &o);
			if (fd >= 0 &&
			    !map_ring(&rings[kind][i], fd, 16, PROT_READ | PROT_WRITE, 0))
				continue;
			tell(0, "%s, cpu %d: %m: %s", maker(kind), cpus[i], why.text);
			return -1;
		}
	}
	return 0;
}

static void switch_all(unsigned long request)
{
	int kind, i;

	tell(eventually(sleeps()), "the task sleeps");
	for (kind = TALLY; kind >= PERF; kind--)
		for (i = 0; i < NR; i++)
			ioctl(rings[kind][i].fd, request, 0);
}

/* A sample begins with the fields of the event, and any other record ends with them. */
static void take(const struct perf_event_header *h, int cpu, struct records *r)
{
	const uint64_t *at = h->type == PERF_RECORD_SAMPLE ? (const uint64_t *)(h + 1) :
			     (const uint64_t *)((const char *)h + h->size) - 3;
	pid_t tid = at[0] >> 32;

	if (h->type == PERF_RECORD_SAMPLE)
		r->samples++;
	else if (h->type == PERF_RECORD_SWITCH)
		r->switches++;
	else if (h->type != PERF_RECORD_LOST)
		r->strange++;
	r->waker += tid == getpid();
	/* The ring that is on no CPU has records of the task alone, so of where it ran. */
	if (cpu < 0 ? tid != task : (uint32_t)at[2] != (uint32_t)cpu)
		r->strange++;
}

static void drain(void)
{
	struct perf_event_header *h;
	int kind, i;

	for (kind = TALLY; kind >= PERF; kind--) {
		for (i = 0; i < NR; i++) {
			while ((h = next(&rings[kind][i])))
				take(h, cpus[i], &seen[kind][i]);
			done(&rings[kind][i]);
		}
	}
}

static void check_ring(int kind, int i)
{
	struct records *r = &seen[kind][i];
	uint64_t counts[2] = { 0 }, others;

	if (read(rings[kind][i].fd, counts, sizeof(counts)) != sizeof(counts))
		tell(0, "read: %m");
	r->value = counts[0];
	r->lost = counts[1];
	/*
	 * An event on a CPU also counts wakings of the task by others there. They overflow
	 * only on kernels that lack perf's check that the event is active.
	 */
	others = r->value - (r->samples - r->waker + r->lost);
	tell(r->samples && !r->strange && (i == WAKERS ? others >= 1 : !r->waker) &&
	     (cpus[i] < 0 ? !others : r->value >= r->samples + r->lost),
	     "%s, cpu %d: counted %llu, %llu samples, %llu by the waker, %llu lost, %llu switches, %llu strange",
	     maker(kind), cpus[i], (unsigned long long)r->value,
	     (unsigned long long)r->samples, (unsigned long long)r->waker,
	     (unsigned long long)r->lost, (unsigned long long)r->switches,
	     (unsigned long long)r->strange);
}

static void wakings(char **arguments)
{
	int rounds = atoi(arguments[0]), kind, i;

	start_task();
	if (open_rings())
		return;
	switch_all(PERF_EVENT_IOC_ENABLE);
	for (i = 1; i <= rounds; i++) {
		wake(i % 16 ? 'w' : 'm');
		if (!(i % 64))
			drain();
	}
	switch_all(PERF_EVENT_IOC_DISABLE);
	drain();
	for (kind = TALLY; kind >= PERF; kind--)
		for (i = 0; i < NR; i++)
			check_ring(kind, i);
	for (i = 0; i < NR; i++)
		tell(!memcmp(&seen[0][i], &seen[1][i], sizeof(seen[0][i])),
		     "perf's ring of cpu %d has as many of each", cpus[i]);
	for (kind = TALLY; kind >= PERF; kind--)
		for (i = 0; i < NR; i++)
			unmap_ring(&rings[kind][i]);
	end_task();
}

/* ---- outputs ---- */

/* Whether one reader may have the records of both, from one writer at a time. */
static int one_at_a_time(int pid, int cpu, int to_pid, int to_cpu)
{
	return cpu == to_cpu && (cpu >= 0 || pid == to_pid);
}

static void outputs(void)
{
	/* The waker itself, and all that runs on a CPU. */
	int pids[] = { 0, -1, -1 }, on[] = { -1, 0, 1 };
	int kind, i, k, fd, got, nr = 0, all = 0;

	start_task();
	if (open_rings())
		return;
	for (kind = TALLY; kind >= PERF; kind--) {
		for (i = 0; i < 2 * NR; i++) {
			for (k = 0; k < NR; k++) {
				of_wakings(i < NR ? cpus[i] : on[i - NR]);
				if (i >= NR)
					o.pid = pids[i - NR];
				fd = open_as(kind, &o);
				got = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings[kind][k].fd) ?
				      errno : 0;
				nr += got == (one_at_a_time(o.pid, o.cpu, task, cpus[k]) ? 0 :
					      EINVAL);
				all++;
				close(fd);
			}
		}
	}
	tell(nr == all, "%d of %d outputs are set or refused as they should be", nr, all);
	end_task();
}

static const struct devtest tests[] = {
	{ "outputs", .run = outputs },
	{ "wakings", .with = wakings, .arguments = 1 },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
