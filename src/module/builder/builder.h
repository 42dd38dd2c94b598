/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BUILDER_H
#define TALLY_BUILDER_H

#include <linux/stddef.h>
#include <linux/types.h>
#include <uapi/linux/tally.h>
#include <tally/tally.h>
#include "base/target.h"

struct file;
struct perf_event_attr;
struct task_struct;

/* Bits of tally_builder::given: settings that the builder was given. */
#define TALLY_GIVEN_CPU		BIT(0)
#define TALLY_GIVEN_ALL_CPUS	BIT(1)
#define TALLY_GIVEN_TASK	BIT(2)
#define TALLY_GIVEN_PID		BIT(3)
#define TALLY_GIVEN_NAME	BIT(4)
#define TALLY_GIVEN_EVENT	BIT(5)	/* the name is the text of the event */
#define TALLY_GIVEN_CGROUP	BIT(6)

#define TALLY_GIVEN_NOT_CPUS	(TALLY_GIVEN_TASK | TALLY_GIVEN_PID | TALLY_GIVEN_CGROUP)

/* Bits of tally_builder::flags: settings that are not in the attr. */
#define TALLY_BUILDER_REQUIRE	BIT(0)
#define TALLY_BUILDER_ONE_SHOT	BIT(1)
#define TALLY_BUILDER_TIME	BIT(2)
#define TALLY_BUILDER_FILE	BIT(3)	/* the event is for a program's file */
#define TALLY_BUILDER_AT_ONCE	BIT(4)	/* built disabled, and enabled next */
#define TALLY_BUILDER_RECORDS	BIT(5)	/* the event may have a ring */
#define TALLY_BUILDER_PANIC	BIT(6)	/* a panic freezes the ring */
#define TALLY_BUILDER_SHARED	BIT(7)	/* programs may map the ring */
#define TALLY_BUILDER_ONE_KIND	BIT(8)	/* a raw event counts on one kind of cores */
#define TALLY_BUILDER_PRECISE_MAX BIT(9)	/* precise_ip is lowered until the PMU accepts it */
#define TALLY_BUILDER_WEAK	BIT(10)	/* without room in its group, the event begins another */
#define TALLY_BUILDER_MEMBER	BIT(11)	/* of a set, which is enabled or disabled when complete */
#define TALLY_BUILDER_OWN	BIT(12)	/* the event shares no counter */
#define TALLY_BUILDER_ALONE	BIT(13)	/* the event is in no group of perf */
#define TALLY_BUILDER_HIDE_NAME	BIT(14)	/* becomes tally_event::name_hidden */

/* Units of lengths of time in lines, from the longest on. */
#define TALLY_TIME_UNITS 4

struct tally_time_unit {
	const char *name;
	u64 ns;
};

extern const struct tally_time_unit tally_time_units[TALLY_TIME_UNITS];

/*
 * Records an error, the field at fault and a sentence, unless the builder has
 * an error already. Fields are those of <uapi/linux/tally.h>: a TALLY_FIELD_*,
 * a member of perf_event_attr, or the number of one of its bits. Returns the
 * builder's first error.
 */
__printf(4, 5)
int tally_bad_in(struct tally_builder *b, u32 field, int err, const char *fmt, ...);

#define tally_bad(b, err, ...) tally_bad_in(b, TALLY_FIELD_NONE, err, __VA_ARGS__)
/* As tally_bad(), but leaves @b->err as it was: a second call with the builder may succeed. */
#define tally_refuse(b, error, ...)						\
({										\
	struct tally_builder *__b = (b);					\
	int __before = __b->err, __error = tally_bad(__b, error, __VA_ARGS__);	\
										\
	__b->err = __before;							\
	__error;								\
})
#define tally_bad_attr(b, member, err, ...)					\
	tally_bad_in(b, TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, member)), \
		     err, __VA_ARGS__)
#define tally_bad_bit(b, bit, err, ...)						\
	tally_bad_in(b, TALLY_FIELD_ATTR_BIT(bit), err, __VA_ARGS__)

/* The numbers of perf_event_attr's one-bit members. */
enum {
	TALLY_BIT_DISABLED,
	TALLY_BIT_INHERIT,
	TALLY_BIT_PINNED,
	TALLY_BIT_EXCLUSIVE,
	TALLY_BIT_EXCLUDE_USER,
	TALLY_BIT_EXCLUDE_KERNEL,
	TALLY_BIT_EXCLUDE_HV,
	TALLY_BIT_EXCLUDE_IDLE,
	TALLY_BIT_MMAP,
	TALLY_BIT_COMM,
	TALLY_BIT_FREQ,
	TALLY_BIT_INHERIT_STAT,
	TALLY_BIT_ENABLE_ON_EXEC,
	TALLY_BIT_TASK,
	TALLY_BIT_WATERMARK,
	TALLY_BIT_PRECISE_IP,
	TALLY_BIT_MMAP_DATA = 17,
	TALLY_BIT_SAMPLE_ID_ALL,
	TALLY_BIT_EXCLUDE_HOST,
	TALLY_BIT_EXCLUDE_GUEST,
	TALLY_BIT_EXCLUDE_CALLCHAIN_KERNEL,
	TALLY_BIT_EXCLUDE_CALLCHAIN_USER,
	TALLY_BIT_MMAP2,
	TALLY_BIT_COMM_EXEC,
	TALLY_BIT_USE_CLOCKID,
	TALLY_BIT_CONTEXT_SWITCH,
	TALLY_BIT_WRITE_BACKWARD,
	TALLY_BIT_NAMESPACES,
	TALLY_BIT_KSYMBOL,
	TALLY_BIT_BPF_EVENT,
	TALLY_BIT_AUX_OUTPUT,
	TALLY_BIT_CGROUP,
	TALLY_BIT_TEXT_POKE,
	TALLY_BIT_BUILD_ID,
	TALLY_BIT_INHERIT_THREAD,
	TALLY_BIT_REMOVE_ON_EXEC,
	TALLY_BIT_SIGTRAP,
	TALLY_BIT_RESERVED,
};

/* Returns whether samples have the counts of a group. */
static inline bool tally_read_format_of_group(u64 sample_type, u64 read_format)
{
	return sample_type & PERF_SAMPLE_READ && read_format & PERF_FORMAT_GROUP;
}

void tally_builder_clear(struct tally_builder *b, struct module *owner);
int tally_builder_parse_member(struct tally_builder *b, const char *line, const char *more,
			       struct module *owner);
int tally_builder_check(struct tally_builder *b, struct perf_event_attr *attr);
int tally_builder_check_attr(struct tally_builder *b, const struct perf_event_attr *attr);
int tally_builder_check_first(struct tally_builder *b);
int tally_builder_check_bits(struct tally_builder *b, const struct perf_event_attr *attr);
bool tally_attr_is_known(const struct perf_event_attr *attr);
bool tally_attr_is_public(const struct perf_event_attr *attr);
bool tally_attr_is_plain(const struct perf_event_attr *attr);
u64 tally_attr_bits(void);
u64 tally_attr_sample_type(void);
int tally_check_breakpoint(struct perf_event_attr *attr);
int tally_breakpoint_failed(struct tally_builder *b, int err);
int tally_builder_target(struct tally_builder *b, struct tally_target *target);
int tally_builder_failed(struct tally_builder *b, int err, int cpu);

/* generic.c */
bool tally_generic_parse(struct perf_event_attr *attr, const char *text);
bool tally_generic_format(const struct perf_event_attr *attr, char *buf, size_t size);

/* levels.c */
const char *tally_levels_why(const struct perf_event_attr *attr, const char *system,
			     const char *event, bool counts);

/* rights.c */
bool tally_perfmon_capable(void);
bool tally_perfmon_opened(const struct file *file);
int tally_builder_allow(struct tally_builder *b, const struct perf_event_attr *attr);
int tally_builder_allow_task(struct tally_builder *b, struct task_struct *task);

#endif /* TALLY_BUILDER_H */
