/* SPDX-License-Identifier: GPL-2.0 */
/* The files of `tally doctor` share these functions. */
#ifndef TALLY_TOOL_DOCTOR_H
#define TALLY_TOOL_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

/* Number of lines that begin with BAD. */
extern int doctor_bad;

/* Prints a line behind its mark: "ok", "note" or "BAD". */
void finding(const char *mark, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define good(...)	finding("ok", __VA_ARGS__)
#define note(...)	finding("note", __VA_ARGS__)
#define fault(...)	finding("BAD", __VA_ARGS__)

/* Returns a number that a file has; fallback without the file. */
long number_in(const char *path, long fallback);
/* Returns whether the NMI watchdog holds a counter of each CPU. */
bool watchdog_counts(void);
/* Returns whether this is a virtual machine, as far as it says so. */
bool is_virtual(void);

/* Runs the checks of --self-test; with hotplug, one of them takes a CPU offline for a moment. */
void self_test(int device, bool hotplug);
/* Prints the processor, its PMUs and what the kernel says of them: nothing that names a machine. */
void print_machine(void);
/* Returns whether the log that print_machine() has read says that the PMU overflows in NMI. */
bool pmu_uses_nmi(void);

#endif /* TALLY_TOOL_DOCTOR_H */
