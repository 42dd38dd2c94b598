// SPDX-License-Identifier: GPL-2.0
/*
 * Writes what `tally export` writes, of five invented events: one with all labels, one with few, two
 * whose names and lines hold addresses, and a gauge.
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
	struct running gauge = {
		.about = {
			.id = 4, .cpu = 0, .pid = -1, .state = LIBTALLY_IS_ACTIVE, .name = "level",
			.owner = "tally", .what = "thermal/zone/",
		},
		.unit = { 0.5, "C", 1 }, .value = { .value = -21, .running = 1 }, .seen = 1,
	};
	struct running decimal = {
		.about = {
			.id = 5, .cpu = -1, .pid = -1, .name = "mem:18446744071581173095", .owner = "tally",
			.what = "mem:0XFFFFFFFF81234567,18446744071581173095,1234567890",
		},
		.unit = { .scale = 1 },
	};
	struct running *list[] = { &full, &plain, &address, &gauge, &decimal };
	struct running_list events = { .device = -1, .list = list, .nr = 5 };

	openmetrics_write(stdout, &events, argc > 1 && !strcmp(argv[1], "open"));
	return 0;
}
