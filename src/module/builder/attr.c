// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of the bits and members of perf_event_attr, and of sample_type.
 *
 * perf's entry point for the kernel accepts all of them. perf would ignore
 * some, and drop the records that others ask for, as events of the kernel have
 * no ring; a later kernel may give reserved bits a meaning. So tally refuses
 * what it cannot do, and names it.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "builder/builder.h"
#include "builder/sample_fields.h"
#include "compat.h"
#include "base/clock.h"
#include "arch/regs.h"

#define OF_REGISTERS	(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
			 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR)

/* Checks sample_type, and the members that belong to it, as perf's system call does. */
static int check_sample_type(struct tally_builder *b, const struct perf_event_attr *attr)
{
	u64 branches = attr->branch_sample_type;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		if (branches & ~(u64)(PERF_SAMPLE_BRANCH_MAX - 1))
			return tally_bad_attr(b, branch_sample_type, -EINVAL,
					      "unknown bits in branch_sample_type");
		if (!(branches & ~(u64)PERF_SAMPLE_BRANCH_PLM_ALL))
			return tally_bad_attr(b, branch_sample_type, -EINVAL,
					      "no kind of branch");
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER &&
	    (attr->sample_stack_user >= USHRT_MAX ||
	     !IS_ALIGNED(attr->sample_stack_user, sizeof(u64))))
		return tally_bad_attr(b, sample_stack_user, -EINVAL,
				      "sample_stack_user is too large or no multiple of 8");
	if (attr->sample_type & PERF_SAMPLE_REGS_USER && tally_regs_exist() &&
	    tally_regs_validate(attr->sample_regs_user))
		return tally_bad_attr(b, sample_regs_user, -EINVAL,
				      "sample_regs_user has no register or an unknown one");
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR && tally_regs_exist() &&
	    tally_regs_validate(attr->sample_regs_intr))
		return tally_bad_attr(b, sample_regs_intr, -EINVAL,
				      "sample_regs_intr has no register or an unknown one");
	if (attr->sample_type & PERF_SAMPLE_WEIGHT &&
	    attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return tally_bad_attr(b, sample_type, -EINVAL, "both kinds of weight");
	if (attr->sample_type & PERF_SAMPLE_CGROUP &&
	    !IS_ENABLED(CONFIG_CGROUP_PERF))
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "this kernel has no cgroup events");
	return 0;
}

/* Handlers get a struct tally_sample. Records can have all fields but PERF_SAMPLE_AUX. */
static int check_samples(struct tally_builder *b, const struct perf_event_attr *attr)
{
	bool records = b->flags & TALLY_BUILDER_RECORDS;
	u64 left = attr->sample_type;

	if (left & OF_REGISTERS && !tally_regs_exist())
		return tally_bad_attr(b, sample_type, -EOPNOTSUPP,
				      "PERF_SAMPLE_%s: tally does not know the registers of this architecture",
				      tally_sample_field_name(left & OF_REGISTERS));
	if (left & PERF_SAMPLE_CALLCHAIN && attr->sample_max_stack > PERF_MAX_STACK_DEPTH)
		return tally_bad_attr(b, sample_max_stack, -EOVERFLOW,
				      "sample_max_stack is above %u", PERF_MAX_STACK_DEPTH);
	/* As perf before 6.12. Later, perf accepts PERF_SAMPLE_READ with PERF_SAMPLE_TID here. */
	if (left & PERF_SAMPLE_READ && attr->inherit)
		return tally_bad_bit(b, TALLY_BIT_INHERIT, -EINVAL,
				     "PERF_SAMPLE_READ of an inherited event");
	left &= ~tally_sample_fields(left, records ? TALLY_IN_RECORDS : TALLY_IN_HANDLER);
	if (!left)
		return 0;
	return tally_bad_attr(b, sample_type, -EOPNOTSUPP,
			      records ? "PERF_SAMPLE_%s: kernel events have no AUX area" :
					"PERF_SAMPLE_%s: it is for records, not for handlers",
			      tally_sample_field_name(left));
}

/* A bit that is refused, its name, and the reason. */
struct unbuilt {
	u8 bit;
	const char *name;
	const char *why;
};

static const char no_ring[] = "it is for records, and there is no ring";
static const char no_hook[] = "no module is told of this";
static const char no_aux[] = "kernel events have no AUX area";

static const struct unbuilt unbuilt_bits[] = {
	{ TALLY_BIT_MMAP, "mmap", no_hook },
	{ TALLY_BIT_INHERIT_STAT, "inherit_stat", no_hook },
	{ TALLY_BIT_MMAP_DATA, "mmap_data", no_hook },
	{ TALLY_BIT_MMAP2, "mmap2", no_hook },
	{ TALLY_BIT_NAMESPACES, "namespaces", no_hook },
	{ TALLY_BIT_KSYMBOL, "ksymbol", no_hook },
	{ TALLY_BIT_BPF_EVENT, "bpf_event", no_hook },
	{ TALLY_BIT_AUX_OUTPUT, "aux_output", no_aux },
	{ TALLY_BIT_TEXT_POKE, "text_poke", no_hook },
	{ TALLY_BIT_BUILD_ID, "build_id", no_hook },
};

/* Bits that affect records only: refused for an event without a ring. */
static const struct unbuilt ring_bits[] = {
	{ TALLY_BIT_COMM, "comm", no_ring },
	{ TALLY_BIT_TASK, "task", no_ring },
	{ TALLY_BIT_WATERMARK, "watermark", no_ring },
	{ TALLY_BIT_SAMPLE_ID_ALL, "sample_id_all", no_ring },
	{ TALLY_BIT_EXCLUDE_CALLCHAIN_KERNEL, "exclude_callchain_kernel", no_ring },
	{ TALLY_BIT_EXCLUDE_CALLCHAIN_USER, "exclude_callchain_user", no_ring },
	{ TALLY_BIT_COMM_EXEC, "comm_exec", no_ring },
	{ TALLY_BIT_USE_CLOCKID, "use_clockid", no_ring },
	{ TALLY_BIT_CONTEXT_SWITCH, "context_switch", no_ring },
	{ TALLY_BIT_WRITE_BACKWARD, "write_backward", no_ring },
	{ TALLY_BIT_CGROUP, "cgroup", no_ring },
};

#define RING_BITS	(BIT_ULL(TALLY_BIT_WATERMARK) | BIT_ULL(TALLY_BIT_SAMPLE_ID_ALL) |	\
			 BIT_ULL(TALLY_BIT_EXCLUDE_CALLCHAIN_KERNEL) |			\
			 BIT_ULL(TALLY_BIT_EXCLUDE_CALLCHAIN_USER) |			\
			 BIT_ULL(TALLY_BIT_USE_CLOCKID) | BIT_ULL(TALLY_BIT_COMM) |	\
			 BIT_ULL(TALLY_BIT_COMM_EXEC) | BIT_ULL(TALLY_BIT_TASK) |	\
			 BIT_ULL(TALLY_BIT_CONTEXT_SWITCH) | BIT_ULL(TALLY_BIT_CGROUP) | \
			 BIT_ULL(TALLY_BIT_WRITE_BACKWARD))

/* Bits that any event may have. All others are in a table above, or are reserved. */
#define BUILT_BITS	(BIT_ULL(TALLY_BIT_DISABLED) | BIT_ULL(TALLY_BIT_INHERIT) |		\
			 BIT_ULL(TALLY_BIT_PINNED) | BIT_ULL(TALLY_BIT_EXCLUSIVE) |		\
			 BIT_ULL(TALLY_BIT_EXCLUDE_USER) |					\
			 BIT_ULL(TALLY_BIT_EXCLUDE_KERNEL) |					\
			 BIT_ULL(TALLY_BIT_EXCLUDE_HV) | BIT_ULL(TALLY_BIT_EXCLUDE_IDLE) |	\
			 BIT_ULL(TALLY_BIT_FREQ) | BIT_ULL(TALLY_BIT_ENABLE_ON_EXEC) |		\
			 3ULL << TALLY_BIT_PRECISE_IP | BIT_ULL(TALLY_BIT_EXCLUDE_HOST) |	\
			 BIT_ULL(TALLY_BIT_EXCLUDE_GUEST) |					\
			 BIT_ULL(TALLY_BIT_INHERIT_THREAD) |					\
			 BIT_ULL(TALLY_BIT_REMOVE_ON_EXEC) | BIT_ULL(TALLY_BIT_SIGTRAP))

static_assert(HWEIGHT64(RING_BITS) == ARRAY_SIZE(ring_bits));
static_assert(HWEIGHT64(BUILT_BITS | RING_BITS) + ARRAY_SIZE(unbuilt_bits) ==
	      TALLY_BIT_RESERVED);

/* Bits for records of tasks, which are written at tracepoints. */
#define TASK_BITS	(BIT_ULL(TALLY_BIT_COMM) | BIT_ULL(TALLY_BIT_TASK) |		\
			 BIT_ULL(TALLY_BIT_CONTEXT_SWITCH) | BIT_ULL(TALLY_BIT_CGROUP))

/* Returns the one-bit members that an event of a file may have, for tally_info::attr_bits. */
u64 tally_attr_bits(void)
{
	u64 bits = BUILT_BITS | RING_BITS;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		bits &= ~TASK_BITS;
	if (!IS_ENABLED(CONFIG_CGROUP_PERF))
		bits &= ~BIT_ULL(TALLY_BIT_CGROUP);
	return bits;
}

/* Returns the bits of sample_type that an event of a file may have. */
u64 tally_attr_sample_type(void)
{
	u64 fields = tally_sample_fields(TALLY_SAMPLE_KNOWN, TALLY_IN_RECORDS);

	if (!tally_regs_exist())
		fields &= ~(u64)OF_REGISTERS;
	if (!IS_ENABLED(CONFIG_CGROUP_PERF))
		fields &= ~(u64)PERF_SAMPLE_CGROUP;
	return fields;
}

/* The first one-bit member is the lowest bit; on big-endian machines the highest one. */
static u64 from_lowest(u64 bits)
{
#ifdef __BIG_ENDIAN_BITFIELD
	u64 reversed = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (bits & BIT_ULL(i))
			reversed |= BIT_ULL(63 - i);
	return reversed;
#else
	return bits;
#endif
}

/* Returns the word of all one-bit members, in the bit order of a little-endian machine. */
static u64 bits_of(const struct perf_event_attr *attr)
{
	size_t at = offsetofend(struct perf_event_attr, read_format);
	u64 bits;

	static_assert(offsetofend(struct perf_event_attr, read_format) + 8 ==
		      offsetof(struct perf_event_attr, wakeup_events));
	memcpy(&bits, (const char *)attr + at, sizeof(bits));
	return from_lowest(bits);
}

/* Bits that have no name here. A newer kernel may have names for some of them. */
static bool has_reserved_1(const struct perf_event_attr *attr)
{
	return bits_of(attr) >> TALLY_BIT_RESERVED;
}

static int find_bit(struct tally_builder *b, u64 bits, const struct unbuilt *u, size_t nr)
{
	for (; nr--; u++)
		if (bits & BIT_ULL(u->bit))
			return tally_bad_bit(b, u->bit, -EOPNOTSUPP, "%s: %s",
					     u->name, u->why);
	return 0;
}

static int check_attr_bits(struct tally_builder *b, const struct perf_event_attr *attr)
{
	bool records = b->flags & TALLY_BUILDER_RECORDS;
	u64 bits = bits_of(attr) & ~(records ? tally_attr_bits() : BUILT_BITS);

	if (!bits)
		return 0;
	if (records && bits & TASK_BITS)
		return tally_bad_bit(b, __ffs64(bits & TASK_BITS), -EOPNOTSUPP,
				     "this kernel has no tracepoints or no cgroups for such records");
	return find_bit(b, bits, unbuilt_bits, ARRAY_SIZE(unbuilt_bits)) ?:
	       find_bit(b, bits, ring_bits, ARRAY_SIZE(ring_bits)) ?:
	       tally_bad_bit(b, __ffs64(bits), -EINVAL, "reserved bits are set");
}

/*
 * The four bytes in front of sig_data hold aux_action and __reserved_3 from
 * 6.13 on (18d92bb57c39, backported to 6.12.y). Before, all four were reserved.
 */
#define AUX_ACTION_AT	(offsetof(struct perf_event_attr, sig_data) - 4)
#ifdef __BIG_ENDIAN_BITFIELD
#define AUX_ACTIONS	(7U << 29)
#else
#define AUX_ACTIONS	7U
#endif

static bool has_reserved_3(const struct perf_event_attr *attr)
{
	u32 known = tally_attr_has_aux_action() ? AUX_ACTIONS : 0;

	return *(const u32 *)((const char *)attr + AUX_ACTION_AT) & ~known;
}

/*
 * Members of struct perf_event_attr that must be 0, and why: all between
 * sample_regs_user and sig_data, and wakeup_events. has_members() tests all of
 * them at once. An event that records may have those with the reason no_ring.
 */
static const struct unbuilt_member {
	u8 at;
	u8 size;
	const char *name;
	const char *why;
} unbuilt_members[] = {
	{ offsetof(struct perf_event_attr, aux_watermark), 4, "aux_watermark", no_ring },
	{ offsetof(struct perf_event_attr, aux_sample_size), 4, "aux_sample_size", no_aux },
	{ AUX_ACTION_AT, 4, "aux_action", no_aux },
	{ offsetof(struct perf_event_attr, sample_regs_user), 8, "sample_regs_user", no_ring },
	{ offsetof(struct perf_event_attr, sample_regs_intr), 8, "sample_regs_intr", no_ring },
	{ offsetof(struct perf_event_attr, sample_stack_user), 4, "sample_stack_user", no_ring },
	{ offsetof(struct perf_event_attr, sample_max_stack), 2, "sample_max_stack", no_ring },
	{ offsetof(struct perf_event_attr, clockid), 4, "clockid", no_ring },
	{ offsetof(struct perf_event_attr, wakeup_events), 4, "wakeup_events", no_ring },
};

static bool has_member(const struct perf_event_attr *attr, const struct unbuilt_member *m)
{
	const void *at = (const char *)attr + m->at;

	switch (m->size) {
	case 2:
		return *(const u16 *)at;
	case 4:
		return *(const u32 *)at;
	default:
		return *(const u64 *)at;
	}
}

static bool has_members(const struct perf_event_attr *attr)
{
	const u64 *word = &attr->sample_regs_user;
	u64 any = attr->wakeup_events;

	while (word < (const u64 *)&attr->sig_data)
		any |= *word++;
	return any;
}

static int check_unbuilt_members(struct tally_builder *b, const struct perf_event_attr *attr)
{
	const struct unbuilt_member *m = unbuilt_members;

	if (!has_members(attr))
		return 0;
	for (; m < unbuilt_members + ARRAY_SIZE(unbuilt_members); m++)
		if (has_member(attr, m) &&
		    !(b->flags & TALLY_BUILDER_RECORDS && m->why == no_ring))
			return tally_bad_in(b, TALLY_FIELD_ATTR_AT(m->at), -EOPNOTSUPP,
					    "%s: %s", m->name, m->why);
	return 0;
}

/* Returns whether all reserved and unknown bits are 0. */
bool tally_attr_is_known(const struct perf_event_attr *attr)
{
	return !has_reserved_1(attr) && !attr->__reserved_2 && !has_reserved_3(attr) &&
	       !(attr->sample_type & ~TALLY_SAMPLE_KNOWN) &&
	       !(attr->read_format & ~TALLY_FORMAT_KNOWN);
}

/* Returns whether everybody may see what an event counts. Other types may tell a kernel address. */
bool tally_attr_is_public(const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_RAW:
		return true;
	default:
		return false;
	}
}

/* Returns whether a counting event has nothing that only records and overflows use. */
bool tally_attr_is_plain(const struct perf_event_attr *attr)
{
	return !(bits_of(attr) & ~BUILT_BITS) && !has_members(attr) && !attr->sample_type &&
	       !attr->branch_sample_type && !attr->precise_ip && !attr->sigtrap && !attr->sig_data;
}

/* Only records use the clock. perf checks clockid in its system call only. */
static int check_clock(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (tally_clock_of(attr))
		return 0;
	return tally_bad_attr(b, clockid, -EINVAL, "this clockid cannot be read in NMI");
}

/* Only the samples of files' events can have the counts of a group. */
static int check_read_format(struct tally_builder *b, const struct perf_event_attr *attr)
{
	bool samples = attr->sample_period || b->period || b->freq;

	if (!samples || b->flags & TALLY_BUILDER_FILE ||
	    !tally_read_format_of_group(attr->sample_type, attr->read_format))
		return 0;
	return tally_bad_attr(b, read_format, -EOPNOTSUPP,
			      "PERF_FORMAT_GROUP: only events of files have groups");
}

static int check_together(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (attr->inherit_thread && !attr->inherit)
		return tally_bad_bit(b, TALLY_BIT_INHERIT_THREAD, -EINVAL,
				     "inherit_thread without inherit");
	if (attr->remove_on_exec && attr->enable_on_exec)
		return tally_bad_bit(b, TALLY_BIT_REMOVE_ON_EXEC, -EINVAL,
				     "both remove_on_exec and enable_on_exec");
	if (attr->sigtrap && !attr->remove_on_exec)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EINVAL,
				     "sigtrap without remove_on_exec");
	return 0;
}

/**
 * tally_builder_check_attr - make the checks that perf makes when it copies the attributes
 * @b: the builder
 * @attr: attributes that the builder was given
 *
 * Context: Any context.
 * Return: 0; EINVAL for reserved bits, and for settings that are invalid or
 * contradict each other.
 */
int tally_builder_check_attr(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (has_reserved_1(attr))
		return tally_bad_bit(b, TALLY_BIT_RESERVED, -EINVAL,
				     "reserved bits are set");
	if (attr->__reserved_2)
		return tally_bad_attr(b, __reserved_2, -EINVAL,
				      "reserved bits are set");
	if (has_reserved_3(attr))
		return tally_bad_in(b, TALLY_FIELD_ATTR_AT(AUX_ACTION_AT), -EINVAL,
				    "reserved bits are set");
	if (attr->sample_type & ~TALLY_SAMPLE_KNOWN)
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "unknown bits in sample_type");
	if (attr->read_format & ~TALLY_FORMAT_KNOWN)
		return tally_bad_attr(b, read_format, -EINVAL,
				      "unknown bits in read_format");
	return check_sample_type(b, attr) ?: check_together(b, attr);
}

/**
 * tally_builder_check_bits - check the bits and members of perf_event_attr
 * @b: the builder
 * @attr: attributes that the builder was given
 *
 * Context: Any context.
 * Return: 0; EINVAL as tally_builder_check_attr(), for PERF_SAMPLE_READ with
 * inherit and for a clock that NMI cannot read; EOVERFLOW for too long a call
 * chain; EOPNOTSUPP for what tally cannot do.
 */
int tally_builder_check_bits(struct tally_builder *b, const struct perf_event_attr *attr)
{
	return tally_builder_check_attr(b, attr) ?: check_unbuilt_members(b, attr) ?:
	       check_samples(b, attr) ?: check_attr_bits(b, attr) ?:
	       check_clock(b, attr) ?: check_read_format(b, attr);
}
