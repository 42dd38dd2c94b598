// SPDX-License-Identifier: GPL-2.0
/*
 * What was asked for -> a checked perf_event_attr.
 *
 * perf's entry point for the kernel trusts its caller: every check that the
 * system call makes before it is made again here.
 */
#include <linux/bitops.h>
#include <linux/hw_breakpoint.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/string.h>
#include "builder.h"
#include "compat.h"
#include "pmu.h"

/* The trace event id of ftrace:function, TRACE_FN in kernel/trace/trace.h. */
#define FTRACE_FUNCTION_ID 1

static int breakpoint_why(struct perf_event_attr *attr, const char **why,
			  u32 *field)
{
	if (attr->bp_type == HW_BREAKPOINT_X && !attr->bp_len)
		attr->bp_len = sizeof(long);

	*field = TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, bp_type));
	switch (attr->bp_type) {
	case HW_BREAKPOINT_R:
		*why = "x86 cannot watch reads alone; use rw";
		if (IS_ENABLED(CONFIG_X86))
			return -EINVAL;
		break;
	case HW_BREAKPOINT_W:
	case HW_BREAKPOINT_RW:
	case HW_BREAKPOINT_X:
		break;
	default:
		*why = "a breakpoint is on r, w, rw or x alone";
		return -EINVAL;
	}
	*field = TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, bp_len));
	*why = "a breakpoint is on 1 to 8 bytes";
	if (!attr->bp_len || attr->bp_len > HW_BREAKPOINT_LEN_8)
		return -EINVAL;
	*field = TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, bp_addr));
	*why = "the address is no multiple of the length";
	if (attr->bp_type != HW_BREAKPOINT_X && is_power_of_2(attr->bp_len) &&
	    !IS_ALIGNED(attr->bp_addr, attr->bp_len))
		return -EINVAL;
	/*
	 * Elsewhere the arch code steps over a breakpoint only for perf's own
	 * handler: with another one the CPU would run into it for ever.
	 */
	*field = TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, sample_period));
	*why = "a breakpoint on this architecture can count, but not overflow";
	if (attr->sample_period && !IS_ENABLED(CONFIG_X86))
		return -EOPNOTSUPP;
	return 0;
}

/* For one that is there: 0, or the errno. Fills in a length that was left out. */
int tally_check_breakpoint(struct perf_event_attr *attr)
{
	const char *why;
	u32 field;

	return breakpoint_why(attr, &why, &field);
}

static int check_breakpoint(struct tally_builder *b,
			    struct perf_event_attr *attr)
{
	const char *why;
	u32 field;
	int err = breakpoint_why(attr, &why, &field);

	return err ? tally_bad_in(b, field, err, "%s", why) : 0;
}

/*
 * perf reads the name of a symbol or program from the memory of whoever creates
 * the event; for a CPU that comes back, that is not the one who asked for it.
 */
static int check_probe(struct tally_builder *b,
		       const struct perf_event_attr *attr)
{
	if (attr->type < PERF_TYPE_MAX || !attr->config1)
		return 0;
	if ((int)attr->type == tally_pmu_type("kprobe"))
		return tally_bad_attr(b, config1, -EOPNOTSUPP,
				      "a kprobe is by symbol or address: kprobe:SYMBOL");
	if ((int)attr->type == tally_pmu_type("uprobe"))
		return tally_bad_attr(b, config1, -EOPNOTSUPP,
				      "count a uprobe by its tracepoint: see tracefs' uprobe_events");
	return 0;
}

static int check_what(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return check_breakpoint(b, attr);
	if (attr->bp_type)
		return tally_bad_attr(b, bp_type, -EINVAL,
				      "bp_type without a breakpoint");
	if (attr->type == PERF_TYPE_TRACEPOINT &&
	    attr->config == FTRACE_FUNCTION_ID)
		return tally_bad_attr(b, config, -EOPNOTSUPP,
				      "ftrace:function would hook every function");
	/* They happen in the kernel, so perf would count none. */
	if (attr->type == PERF_TYPE_SOFTWARE && attr->exclude_kernel &&
	    (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
	     attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
	     attr->config == PERF_COUNT_SW_CGROUP_SWITCHES))
		return tally_bad_bit(b, TALLY_BIT_EXCLUDE_KERNEL, -EINVAL,
				     "switches and migrations happen in the kernel only");
	return check_probe(b, attr);
}

/* What a struct tally_sample has, or perf fills in for it. */
static const u64 taken = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK;

/* What perf's system call says of a sample_type that cannot be. */
static int check_sample_type(struct tally_builder *b,
			     const struct perf_event_attr *attr)
{
	u64 branches = attr->branch_sample_type;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		if (branches & ~(u64)(PERF_SAMPLE_BRANCH_MAX - 1))
			return tally_bad_attr(b, branch_sample_type, -EINVAL,
					      "unknown bits in branch_sample_type");
		if (!(branches & ~(u64)PERF_SAMPLE_BRANCH_PLM_ALL))
			return tally_bad_attr(b, branch_sample_type, -EINVAL,
					      "no kind of branch");
	} else if (branches) {
		return tally_bad_attr(b, branch_sample_type, -EINVAL,
				      "branch_sample_type without branches");
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER &&
	    (attr->sample_stack_user >= USHRT_MAX ||
	     !IS_ALIGNED(attr->sample_stack_user, sizeof(u64))))
		return tally_bad_attr(b, sample_stack_user, -EINVAL,
				      "sample_stack_user is too large or no multiple of 8");
	if (attr->sample_type & PERF_SAMPLE_WEIGHT &&
	    attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return tally_bad_attr(b, sample_type, -EINVAL, "both kinds of weight");
	if (attr->sample_type & PERF_SAMPLE_CGROUP &&
	    !IS_ENABLED(CONFIG_CGROUP_PERF))
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "this kernel has no cgroup events");
	return 0;
}

/* What is told of in samples, by the names of its bits. */
static const char *const sample_names[] = {
	"IP", "TID", "TIME", "ADDR", "READ", "CALLCHAIN", "ID", "CPU", "PERIOD",
	"STREAM_ID", "RAW", "BRANCH_STACK", "REGS_USER", "STACK_USER", "WEIGHT",
	"DATA_SRC", "IDENTIFIER", "TRANSACTION", "REGS_INTR", "PHYS_ADDR", "AUX",
	"CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE", "WEIGHT_STRUCT",
};

/* Nothing receives samples yet but handlers, which get a struct tally_sample. */
static int check_unbuilt_samples(struct tally_builder *b,
				 const struct perf_event_attr *attr)
{
	u64 left = attr->sample_type;

	if (!(b->flags & TALLY_BUILDER_FILE))
		left &= ~taken;
	if (!left)
		return 0;
	return tally_bad_attr(b, sample_type, -EOPNOTSUPP,
			      "PERF_SAMPLE_%s: samples are not built yet",
			      sample_names[__ffs64(left)]);
}

/* Settings of what is not built, or cannot be; each one is refused by its name. */
struct unbuilt {
	u8 bit;
	const char *name;
	const char *why;
};

static const char no_samples[] = "samples are not built yet";
static const char no_records[] = "records are not built yet";
static const char no_aux[] = "kernel events have no AUX area";

static const struct unbuilt unbuilt_bits[] = {
	{ TALLY_BIT_MMAP, "mmap", no_records },
	{ TALLY_BIT_COMM, "comm", no_records },
	{ TALLY_BIT_INHERIT_STAT, "inherit_stat", no_records },
	{ TALLY_BIT_TASK, "task", no_records },
	{ TALLY_BIT_WATERMARK, "watermark", no_samples },
	{ TALLY_BIT_MMAP_DATA, "mmap_data", no_records },
	{ TALLY_BIT_SAMPLE_ID_ALL, "sample_id_all", no_samples },
	{ TALLY_BIT_EXCLUDE_CALLCHAIN_KERNEL, "exclude_callchain_kernel", no_samples },
	{ TALLY_BIT_EXCLUDE_CALLCHAIN_USER, "exclude_callchain_user", no_samples },
	{ TALLY_BIT_MMAP2, "mmap2", no_records },
	{ TALLY_BIT_COMM_EXEC, "comm_exec", no_records },
	{ TALLY_BIT_USE_CLOCKID, "use_clockid", no_samples },
	{ TALLY_BIT_CONTEXT_SWITCH, "context_switch", no_records },
	{ TALLY_BIT_WRITE_BACKWARD, "write_backward", no_samples },
	{ TALLY_BIT_NAMESPACES, "namespaces", no_records },
	{ TALLY_BIT_KSYMBOL, "ksymbol", no_records },
	{ TALLY_BIT_BPF_EVENT, "bpf_event", no_records },
	{ TALLY_BIT_AUX_OUTPUT, "aux_output", no_aux },
	{ TALLY_BIT_CGROUP, "cgroup", no_records },
	{ TALLY_BIT_TEXT_POKE, "text_poke", no_records },
	{ TALLY_BIT_BUILD_ID, "build_id", no_records },
};

/* All others have names above, or are reserved. */
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

static_assert(HWEIGHT64(BUILT_BITS) + ARRAY_SIZE(unbuilt_bits) == TALLY_BIT_RESERVED);

/* The word that has all of the one-bit members. */
static u64 bits_of(const struct perf_event_attr *attr)
{
	size_t at = offsetofend(struct perf_event_attr, read_format);
	u64 bits;

	static_assert(offsetofend(struct perf_event_attr, read_format) + 8 ==
		      offsetof(struct perf_event_attr, wakeup_events));
	memcpy(&bits, (const char *)attr + at, sizeof(bits));
	return bits;
}

/* A newer kernel may have names for some of them. */
static bool has_reserved_1(const struct perf_event_attr *attr)
{
	return bits_of(attr) >> TALLY_BIT_RESERVED;
}

static int check_unbuilt_bits(struct tally_builder *b,
			      const struct perf_event_attr *attr)
{
	u64 bits = bits_of(attr) & ~BUILT_BITS;
	const struct unbuilt *u;

	if (!bits)
		return 0;
	for (u = unbuilt_bits; u < unbuilt_bits + ARRAY_SIZE(unbuilt_bits); u++)
		if (bits & BIT_ULL(u->bit))
			return tally_bad_bit(b, u->bit, -EOPNOTSUPP, "%s: %s",
					     u->name, u->why);
	return tally_bad_bit(b, __ffs64(bits), -EINVAL, "reserved bits are set");
}

/*
 * aux_action and __reserved_3 share four bytes from 6.13 on (18d92bb57c39, backported
 * to 6.12.y), those in front of sig_data; before, all of them were reserved.
 */
#define AUX_ACTION_AT	(offsetof(struct perf_event_attr, sig_data) - 4)
#define AUX_ACTIONS	7U

static bool has_reserved_3(const struct perf_event_attr *attr)
{
	return *(const u32 *)((const char *)attr + AUX_ACTION_AT) & ~AUX_ACTIONS;
}

/*
 * The same, of members that have bytes: all from sample_regs_user up to sig_data, and
 * one more; has_members() looks at all of them at once.
 */
static const struct unbuilt_member {
	u8 at;
	u8 size;
	const char *name;
	const char *why;
} unbuilt_members[] = {
	{ offsetof(struct perf_event_attr, aux_watermark), 4, "aux_watermark", no_aux },
	{ offsetof(struct perf_event_attr, aux_sample_size), 4, "aux_sample_size", no_aux },
	{ AUX_ACTION_AT, 4, "aux_action", no_aux },
	{ offsetof(struct perf_event_attr, sample_regs_user), 8, "sample_regs_user", no_samples },
	{ offsetof(struct perf_event_attr, sample_regs_intr), 8, "sample_regs_intr", no_samples },
	{ offsetof(struct perf_event_attr, sample_stack_user), 4, "sample_stack_user", no_samples },
	{ offsetof(struct perf_event_attr, sample_max_stack), 2, "sample_max_stack", no_samples },
	{ offsetof(struct perf_event_attr, clockid), 4, "clockid", no_samples },
	{ offsetof(struct perf_event_attr, wakeup_events), 4, "wakeup_events", no_samples },
};

static bool has_member(const struct perf_event_attr *attr,
		       const struct unbuilt_member *m)
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

static int check_unbuilt_members(struct tally_builder *b,
				 const struct perf_event_attr *attr)
{
	const struct unbuilt_member *m = unbuilt_members;

	if (!has_members(attr))
		return 0;
	for (; m < unbuilt_members + ARRAY_SIZE(unbuilt_members); m++)
		if (has_member(attr, m))
			return tally_bad_in(b, TALLY_FIELD_ATTR_AT(m->at), -EOPNOTSUPP,
					    "%s: %s", m->name, m->why);
	return 0;
}

/* Whether there is nothing in it that no kernel has a name for. */
bool tally_attr_is_known(const struct perf_event_attr *attr)
{
	return !has_reserved_1(attr) && !attr->__reserved_2 && !has_reserved_3(attr) &&
	       !(attr->sample_type & ~(u64)(PERF_SAMPLE_MAX - 1)) &&
	       !(attr->read_format & ~(u64)(PERF_FORMAT_MAX - 1));
}

/*
 * perf would take all of this and, without a ring, drop what it leads to; or
 * ignore it; or, for the bits that are reserved, misread it one day.
 */
static int check_unbuilt(struct tally_builder *b,
			 const struct perf_event_attr *attr)
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
	if (attr->sample_type & ~(u64)(PERF_SAMPLE_MAX - 1))
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "unknown bits in sample_type");
	if (attr->read_format & ~(u64)(PERF_FORMAT_MAX - 1))
		return tally_bad_attr(b, read_format, -EINVAL,
				      "unknown bits in read_format");
	return check_sample_type(b, attr) ?: check_unbuilt_members(b, attr) ?:
	       check_unbuilt_samples(b, attr) ?: check_unbuilt_bits(b, attr);
}

/*
 * perf sends the signal by itself, whatever we think of the overflow: also while
 * an inherited event, which perf has always on, is disabled.
 */
static int check_sigtrap(struct tally_builder *b,
			 const struct perf_event_attr *attr)
{
	if (attr->inherit)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EOPNOTSUPP,
				     "sigtrap with inherit");
	if (b->flags & TALLY_BUILDER_ONE_SHOT)
		return tally_bad(b, -EOPNOTSUPP, "sigtrap with one_shot");
	if (b->flags & TALLY_BUILDER_REQUIRE && attr->disabled)
		return tally_bad(b, -EOPNOTSUPP,
				 "sigtrap of an event that is to be tried only");
	return 0;
}

static int check_exec(struct tally_builder *b,
		      const struct perf_event_attr *attr)
{
	bool task = b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID);

	if (attr->remove_on_exec && attr->enable_on_exec)
		return tally_bad_bit(b, TALLY_BIT_REMOVE_ON_EXEC, -EINVAL,
				     "both remove_on_exec and enable_on_exec");
	if (attr->sigtrap && !attr->remove_on_exec)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EINVAL,
				     "sigtrap without remove_on_exec");
	if (attr->sig_data && !attr->sigtrap)
		return tally_bad_attr(b, sig_data, -EINVAL,
				      "sig_data without sigtrap");
	if ((attr->remove_on_exec || attr->enable_on_exec) && !task)
		return tally_bad_bit(b, attr->remove_on_exec ? TALLY_BIT_REMOVE_ON_EXEC :
							       TALLY_BIT_ENABLE_ON_EXEC,
				     -EINVAL, "an action on exec without a task");
	if (attr->enable_on_exec && b->flags & TALLY_BUILDER_REQUIRE)
		return tally_bad_bit(b, TALLY_BIT_ENABLE_ON_EXEC, -EINVAL,
				     "require, of an event that waits for exec()");
	return attr->sigtrap ? check_sigtrap(b, attr) : 0;
}

static int check_exclude(struct tally_builder *b,
			 const struct perf_event_attr *attr)
{
	if (attr->exclude_user && attr->exclude_kernel && attr->exclude_hv)
		return tally_bad_bit(b, TALLY_BIT_EXCLUDE_USER, -EINVAL,
				     "user, kernel and hypervisor excluded: nothing left");
	if (attr->exclude_host && attr->exclude_guest)
		return tally_bad_bit(b, TALLY_BIT_EXCLUDE_HOST, -EINVAL,
				     "host and guest excluded: nothing left");
	return 0;
}

static int check_freq(struct tally_builder *b, struct perf_event_attr *attr)
{
	bool clock = tally_attr_is_clock(attr);
	int err = tally_pmu_check_freq(attr->sample_freq);

	if (err == -EINVAL || (clock && attr->sample_freq > NSEC_PER_SEC))
		return tally_bad_attr(b, sample_freq, -EINVAL,
				      "frequency %llu is above kernel.perf_event_max_sample_rate",
				      attr->sample_freq);
	if (err)
		return tally_bad(b, err,
				 "the limit of frequencies cannot be read");
	/*
	 * perf does the same, but forgets that it did: a later change of the
	 * frequency would be taken for nanoseconds.
	 */
	if (clock) {
		attr->sample_period = div64_u64(NSEC_PER_SEC, attr->sample_freq);
		attr->freq = 0;
	}
	return 0;
}

/* What only an event that overflows can have. */
static int check_counting(struct tally_builder *b,
			  struct perf_event_attr *attr)
{
	attr->freq = 0;
	if (attr->precise_ip)
		return tally_bad_bit(b, TALLY_BIT_PRECISE_IP, -EINVAL,
				     "precise is for sampled events");
	if (b->direct.fn || b->irq.fn || b->work.fn)
		return tally_bad(b, -EINVAL,
				 "a handler without a period or frequency");
	if (attr->sigtrap)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EINVAL,
				     "sigtrap without a period or frequency");
	if (attr->sample_type || b->flags & TALLY_BUILDER_TIME)
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "samples are of sampled events");
	if (b->flags & TALLY_BUILDER_ONE_SHOT || b->max_rate || b->queue)
		return tally_bad(b, -EINVAL,
				 "one_shot, max_rate and queue are for sampled events");
	return 0;
}

static int check_one_shot(struct tally_builder *b,
			  const struct perf_event_attr *attr)
{
	if (!(b->flags & TALLY_BUILDER_ONE_SHOT))
		return 0;
	if (!(b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID)) && b->cpu < 0)
		return tally_bad(b, -EINVAL, "one_shot is for one cpu or one task");
	if (b->freq || (b->attr.freq && !b->period))
		return tally_bad(b, -EINVAL, "one_shot with a frequency");
	if (attr->inherit)
		return tally_bad(b, -EINVAL, "one_shot with inherit");
	if (attr->enable_on_exec)
		return tally_bad(b, -EINVAL, "one_shot with enable_on_exec");
	return 0;
}

/*
 * What perf is to know of samples. Not of PERF_SAMPLE_PERIOD, which makes every
 * event of software overflow. And a wake-up for each keeps Intel's drivers from
 * collecting many, of which a handler would see the last one only.
 */
static void set_samples(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (attr->sample_type & PERF_SAMPLE_TIME)
		b->flags |= TALLY_BUILDER_TIME;
	attr->sample_type &= PERF_SAMPLE_ADDR | PERF_SAMPLE_BRANCH_STACK;
	attr->wakeup_events = 1;
	if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK) ||
	    attr->branch_sample_type & PERF_SAMPLE_BRANCH_PLM_ALL)
		return;
	/* As perf's system call does. */
	if (!attr->exclude_user)
		attr->branch_sample_type |= PERF_SAMPLE_BRANCH_USER;
	if (!attr->exclude_kernel)
		attr->branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
	if (!attr->exclude_hv)
		attr->branch_sample_type |= PERF_SAMPLE_BRANCH_HV;
}

static bool foreign(const struct tally_builder *b, const struct tally_handler *h)
{
	return b->owner && h->fn &&
	       !within_module((unsigned long)h->fn, b->owner);
}

/* Who is unloaded takes its events along, and with them the last to call it. */
static int check_handlers(struct tally_builder *b)
{
	if (foreign(b, &b->direct) || foreign(b, &b->irq) ||
	    foreign(b, &b->work))
		return tally_bad(b, -EINVAL,
				 "a handler of another module than the builder's");
	return 0;
}

static int check_sampling(struct tally_builder *b,
			  struct perf_event_attr *attr)
{
	if (b->period && b->freq)
		return tally_bad(b, -EINVAL, "both a period and a frequency");
	if (b->period || b->freq) {
		attr->freq = !!b->freq;
		attr->sample_period = b->period ?: b->freq;
	}
	if (!attr->sample_period)
		return check_counting(b, attr);
	if (attr->freq) {
		if (check_freq(b, attr))
			return b->err;
	} else if (attr->sample_period >> 63) {
		return tally_bad_attr(b, sample_period, -EINVAL,
				      "period above 2^63 - 1");
	}
	if (!b->direct.fn && !b->irq.fn && !b->work.fn && !attr->sigtrap)
		return tally_bad(b, -EINVAL,
				 "a period or frequency, but nothing receives the overflows");
	if (b->queue && !b->irq.fn && !b->work.fn)
		return tally_bad(b, -EINVAL, "a queue, but no handler for it");
	if (check_handlers(b))
		return b->err;
	set_samples(b, attr);
	return check_one_shot(b, attr);
}

static int check_inherit(struct tally_builder *b,
			 const struct perf_event_attr *attr)
{
	if (attr->inherit_thread && !attr->inherit)
		return tally_bad_bit(b, TALLY_BIT_INHERIT_THREAD, -EINVAL,
				     "inherit_thread without inherit");
	if (attr->inherit && !(b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID)))
		return tally_bad_bit(b, TALLY_BIT_INHERIT, -EINVAL,
				     "inherit without a task");
	return 0;
}

static int check_given(struct tally_builder *b)
{
	if (b->given & TALLY_GIVEN_TASK && b->given & TALLY_GIVEN_PID)
		return tally_bad(b, -EINVAL, "both a task and a pid");
	if (!(b->given & TALLY_GIVEN_ALL_CPUS))
		return 0;
	if (b->given & TALLY_GIVEN_CPU)
		return tally_bad(b, -EINVAL, "both one cpu and all cpus");
	if (b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID))
		return tally_bad(b, -EINVAL,
			   "a task is counted wherever it runs, not on all cpus");
	return 0;
}

/**
 * tally_builder_check - every rule that needs neither the target nor the PMU
 * @b: the builder
 * @attr: receives what perf is to be given, which is always created disabled
 *
 * Context: Process context, may sleep.
 * Return: 0, or the builder's first error.
 */
int tally_builder_check(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (b->err)
		return b->err;
	*attr = b->attr;
	if (check_given(b) || check_unbuilt(b, attr) || check_exec(b, attr) ||
	    check_exclude(b, attr) || check_inherit(b, attr) ||
	    check_sampling(b, attr) || check_what(b, attr))
		return b->err;
	attr->disabled = 1;
	attr->read_format = 0;
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_builder_check);
