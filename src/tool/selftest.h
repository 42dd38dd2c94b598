/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The checks of `tally doctor --self-test`.
 *
 * The checks of events by name, of a group and of each CPU open the same event three times: perf's
 * file, tally's, and perf's again. They are enabled in this order, and disabled in the reverse one.
 * So tally's window lies in that of the outer file of perf, and that of the inner one lies in
 * tally's: a count that never falls lies between perf's two, whatever else the machine does. When a
 * task is switched, the PMU stops and starts all events at once, and task-clock has one time for
 * all; cpu-clock has not, and so it is not compared.
 */
#ifndef TALLY_TOOL_SELFTEST_H
#define TALLY_TOOL_SELFTEST_H

#include <stdbool.h>
#include <libtally.h>
#include "target.h"

/* Layers of windows, from the outer one to the inner one, and the number of them. */
enum { OUTER, TALLY, INNER, LAYERS };

/* Length of a window in which something is counted. */
#define WINDOW_MS	100
/* Greatest number of events in a group. */
#define MEMBERS		3
/* Room for the names of events in one line, in bytes. */
#define NAMES		256
/* Room for a line of the report, in bytes. */
#define LINE_SIZE	256

/**
 * struct selftest - what the checks share
 * @device:	open device
 * @cpu:	CPU that the command runs on
 * @hotplug:	the caller allows a CPU to be taken offline
 * @user_only:	the caller may not count the kernel: no event counts it
 * @on_cpus:	the caller may count CPUs
 * @event:	name of the hardware event that is sampled; NULL if perf counts none
 * @attr:	attributes of @event
 * @per_ms:	counts of @event in a millisecond of the work
 * @ids:	ids of tally's events that were made
 * @nr_ids:	number of these
 * @times:	number of comparisons of times
 * @wrong:	the first comparison of times that failed; empty for none
 * @absent:	names of events that perf does not have here
 * @failed:	layer of the last failure; LAYERS for neither perf nor tally
 * @error:	its errno; 0 for none
 * @why:	its sentence
 */
struct selftest {
	int device;
	int cpu;
	bool hotplug;
	bool user_only;
	bool on_cpus;
	const char *event;
	struct perf_event_attr attr;
	double per_ms;
	__u64 ids[512];
	int nr_ids;
	int times;
	char wrong[160];
	char absent[NAMES];
	int failed;
	int error;
	char why[LIBTALLY_ERROR_SIZE];
};

/* A count, as read. */
struct counted {
	__u64 value, enabled, running;
};

/* Bounds of the section tally_loop, which has the loop; the linker sets them by its name. */
extern const char __start_tally_loop[] __attribute__((visibility("hidden")));
extern const char __stop_tally_loop[] __attribute__((visibility("hidden")));

/* This process, wherever it runs. */
extern const struct place selftest_own;

/* Sets a disabled event with times in its reads; without the kernel if t->user_only. */
void selftest_attr(const struct selftest *t, struct perf_event_attr *attr, __u32 type,
		   __u64 config);
/* Opens an event by perf_event_open(2), for TALLY by the device. Returns a file or an error. */
int selftest_open(struct selftest *t, int layer, const struct perf_event_attr *attr,
		  const struct place *place, int group_fd);
/* Reads a file with nr events: one, or a whole group. Returns false, with t->why, on failure. */
bool selftest_read(struct selftest *t, int layer, int fd, struct counted *counted, int nr);
/* Records a layer's failure: a positive errno or 0, and a sentence for t->why. */
void selftest_fail(struct selftest *t, int layer, int error, const char *why);
/*
 * Returns the mark of the last failure: BAD for tally's. It is a note if tally has not failed, or
 * if it refuses a right to a user who is not root: by design, it grants less than perf to some.
 */
const char *selftest_mark(const struct selftest *t);
/* Prints a line about the last failure. */
void selftest_refused(const struct selftest *t, const char *what);
void selftest_close(int *fds, int nr);
void selftest_enable(int fd, bool on);

/* Occupies the CPU for so long: it calculates, misses caches, faults, calls and sleeps. */
void selftest_work(int ms);
/* Works in the loop alone, so that samples lie in it: no faults, system calls and sleeps. */
void selftest_run(int ms);
/* Returns whether an address lies in the loop. */
bool selftest_in_loop(__u64 ip);
/* Runs on a CPU from now on; false if that cannot be. */
bool selftest_go_to(int cpu);
/* Returns whether a list in /sys/devices/system/cpu, such as "nohz_full", has a CPU. */
bool selftest_lists(const char *name, int cpu);

/*
 * Compares a count with perf's two. @what says what is counted. Returns "ok"; "BAD"; or "note" if
 * perf's own two contradict each other, or for less than a thousandth: counters of one CPU may
 * differ by some counts. The text of LINE_SIZE bytes, which "ok" leaves alone, says what differs.
 */
const char *selftest_compare(char *text, const char *what, __u64 low, __u64 value, __u64 high);
/* As selftest_compare(), but prints the text. Returns whether the count lies between perf's. */
bool selftest_lies(const char *what, __u64 low, __u64 value, __u64 high);

/* The checks, each of which prints at least one line. */
void check_counts(struct selftest *t);
void check_exclusion(struct selftest *t);
void check_group(struct selftest *t);
void check_cpus(struct selftest *t);
void check_hotplug(struct selftest *t);
void check_page(struct selftest *t);
void check_software_samples(struct selftest *t);
void check_samples(struct selftest *t);
void check_precise(struct selftest *t);
void check_nmi_reads(struct selftest *t);
void check_multiplexing(struct selftest *t);

#endif /* TALLY_TOOL_SELFTEST_H */
