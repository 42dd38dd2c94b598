/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BUILDER_H
#define TALLY_BUILDER_H

#include <tally/tally.h>
#include "cpus.h"

/* What was given, in tally_builder::given. */
#define TALLY_GIVEN_CPU		BIT(0)
#define TALLY_GIVEN_ALL_CPUS	BIT(1)
#define TALLY_GIVEN_TASK	BIT(2)
#define TALLY_GIVEN_PID		BIT(3)
#define TALLY_GIVEN_NAME	BIT(4)

/* What was asked for besides the attr, in tally_builder::flags. */
#define TALLY_BUILDER_REQUIRE	BIT(0)
#define TALLY_BUILDER_ONE_SHOT	BIT(1)
#define TALLY_BUILDER_TIME	BIT(2)

__printf(3, 4)
int tally_bad(struct tally_builder *b, int err, const char *fmt, ...);
void tally_builder_clear(struct tally_builder *b, struct module *owner);
int tally_builder_check(struct tally_builder *b, struct perf_event_attr *attr);
int tally_check_breakpoint(struct perf_event_attr *attr);
int tally_builder_target(struct tally_builder *b, struct tally_target *target);
int tally_builder_allow(struct tally_builder *b,
			const struct tally_target *target);
int tally_builder_failed(struct tally_builder *b, int err, int cpu);

#endif /* TALLY_BUILDER_H */
