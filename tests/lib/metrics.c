// SPDX-License-Identifier: GPL-2.0
/*
 * Writes what `tally export` writes, of three invented events: one with all labels, one with few, and
 * one whose name and line hold an address.
 */
#include <string.h>
#include "openmetrics.h"

int main(int argc, char **argv)
{
	struct running full = {
		.about = {
			.id = 1, .cpu = 2, .pid = 3, .state = LIBTALLY_IS_ACTIVE, .has_more = 1,
			.name = "set/member", .owner = "tally", .what = "power/dram/",
			.cgroup = "/a\\x2d\377\303\244",
		},
		.unit = { 0.0009765625, "MiB" }, .value = { .value = 3 }, .seen = 1,
	};
	struct running plain = {
		.about = { .id = 2, .cpu = -1, .pid = -1, .has_more = 1, .owner = "tally" },
		.unit = { .scale = 1 }, .seen = 1,
	};
	struct running address = {
		.about = {
			.id = 3, .cpu = -1, .pid = -1, .state = LIBTALLY_IS_SILENT,
			.name = "kprobe:0xffffffff81234567", .owner = "tally",
			.what = "kprobe:0xffffffff81234567/config=0x1234/",
		},
		.unit = { .scale = 1 }, .seen = 1,
	};
	struct running *list[] = { &full, &plain, &address };
	struct running_list events = { .device = -1, .list = list, .nr = 3 };

	openmetrics_write(stdout, &events, argc > 1 && !strcmp(argv[1], "open"));
	return 0;
}
