// SPDX-License-Identifier: GPL-2.0
/* Writes what `tally export` writes, of two invented events: one with all labels, one with few. */
#include <string.h>
#include "openmetrics.h"

int main(int argc, char **argv)
{
	struct running full = {
		.about = {
			.id = 1, .cpu = 2, .pid = 3, .state = LIBTALLY_IS_ACTIVE, .has_more = 1,
			.name = "set/member", .owner = "tally", .what = "cycles", .cgroup = "/a",
		},
		.seen = 1,
	};
	struct running plain = {
		.about = { .id = 2, .cpu = -1, .pid = -1, .has_more = 1, .owner = "tally" },
		.seen = 1,
	};
	struct running *list[] = { &full, &plain };
	struct running_list events = { .device = -1, .list = list, .nr = 2 };

	openmetrics_write(stdout, &events, argc > 1 && !strcmp(argv[1], "open"));
	return 0;
}
