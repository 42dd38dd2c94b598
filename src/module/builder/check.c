// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of a builder's settings, and the perf_event_attr that perf is given.
 *
 * perf's entry point for the kernel trusts its caller. So tally makes the checks of perf's system
 * call: those of bits and members are in attr.c, those of the caller's rights in rights.c.
 */
#include <linux/hw_breakpoint.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/string.h>
#include "arch/breakpoint.h"
#include "builder/builder.h"
#include "builder/sample_fields.h"
#include "compat.h"
#include "base/payload.h"
#include "base/pmu.h"

/* The trace event id of ftrace:function, TRACE_FN in kernel/trace/trace.h. */
#define FTRACE_FUNCTION_ID 1

static int breakpoint_why(const struct perf_event_attr *attr, const char **why, u32 *field)
{
	*field = TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr, bp_type));
	switch (attr->bp_type) {
	case HW_BREAKPOINT_R:
		*why = "x86 cannot watch reads alone; use rw";
		if (!tally_breakpoint_can_read())
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
	return 0;
}

/* Checks a changed breakpoint. One for x whose length is 0 gets a length. Returns 0 or EINVAL. */
int tally_check_breakpoint(struct perf_event_attr *attr)
{
	const char *why;
	u32 field;

	if (attr->bp_type == HW_BREAKPOINT_X && !attr->bp_len)
		attr->bp_len = sizeof(long);
	return breakpoint_why(attr, &why, &field);
}

/*
 * perf alone checks the breakpoint of an event that a program opens. Says why perf has refused it
 * with @err. Returns the builder's error, or 0 if no reason was found.
 */
int tally_breakpoint_failed(struct tally_builder *b, int err)
{
	const char *why;
	u32 field;

	if (b->attr.type == PERF_TYPE_BREAKPOINT && err == -EINVAL &&
	    breakpoint_why(&b->attr, &why, &field))
		tally_bad_in(b, field, err, "%s", why);
	return b->err;
}

static int check_breakpoint(struct tally_builder *b, struct perf_event_attr *attr)
{
	const char *why;
	u32 field;
	int err;

	if (!tally_breakpoint_exists())
		return tally_bad_attr(b, type, -ENOENT,
				      "the kernel has no breakpoints on this architecture");
	if (attr->sample_period && !tally_breakpoint_can_overflow())
		return tally_bad_attr(b, sample_period, -EOPNOTSUPP,
				      "a breakpoint on this architecture can count, but not overflow");
	if (b->flags & TALLY_BUILDER_FILE)
		return 0;
	if (attr->bp_type == HW_BREAKPOINT_X && !attr->bp_len)
		attr->bp_len = sizeof(long);
	err = breakpoint_why(attr, &why, &field);
	return err ? tally_bad_in(b, field, err, "%s", why) : 0;
}

/*
 * config1 points to the name of a symbol or program. perf reads it from the memory of the
 * task that creates the event: for a CPU that comes back online, a kernel thread.
 */
static int check_probe(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (!attr->config1)
		return 0;
	if (tally_attr_is_of(attr, "kprobe"))
		return tally_bad_attr(b, config1, -EOPNOTSUPP,
				      "a kprobe is by symbol or address: kprobe:SYMBOL");
	if (tally_attr_is_of(attr, "uprobe"))
		return tally_bad_attr(b, config1, -EOPNOTSUPP,
				      "count a uprobe by its tracepoint: see tracefs' uprobe_events");
	return 0;
}

static int check_what(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return check_breakpoint(b, attr);
	if (attr->type == PERF_TYPE_TRACEPOINT &&
	    attr->config == FTRACE_FUNCTION_ID)
		return tally_bad_attr(b, config, -EOPNOTSUPP,
				      "ftrace:function would hook every function");
	return check_probe(b, attr);
}

/*
 * perf sends the signal itself, before the callback can refuse the overflow.
 * For an inherited event it would send signals even while the event is
 * disabled: in perf, an inherited event is always on.
 */
static int check_sigtrap(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (attr->inherit)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EOPNOTSUPP,
				     "sigtrap with inherit");
	if (b->flags & TALLY_BUILDER_ONE_SHOT)
		return tally_bad(b, -EOPNOTSUPP, "sigtrap with one_shot");
	if (b->flags & TALLY_BUILDER_REQUIRE && attr->disabled)
		return tally_bad(b, -EOPNOTSUPP,
				 "sigtrap: to try the event would send it");
	return 0;
}

static int check_exec(struct tally_builder *b, const struct perf_event_attr *attr)
{
	bool task = b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID);

	if ((attr->remove_on_exec || attr->enable_on_exec) && !task)
		return tally_bad_bit(b, attr->remove_on_exec ? TALLY_BIT_REMOVE_ON_EXEC :
							       TALLY_BIT_ENABLE_ON_EXEC,
				     -EINVAL, "an action on exec without a task");
	if (attr->enable_on_exec && b->flags & TALLY_BUILDER_REQUIRE)
		return tally_bad_bit(b, TALLY_BIT_ENABLE_ON_EXEC, -EINVAL,
				     "require, of an event that waits for exec()");
	return attr->sigtrap ? check_sigtrap(b, attr) : 0;
}

static int check_period(struct tally_builder *b, u64 period)
{
	return period >> 63 ? tally_bad_attr(b, sample_period, -EINVAL,
					     "period above 2^63 - 1") : 0;
}

static int check_limit(struct tally_builder *b, u64 freq)
{
	int err = tally_pmu_check_freq(freq);

	if (err == -EINVAL)
		return tally_bad_attr(b, sample_freq, err,
				      "frequency %llu is above kernel.perf_event_max_sample_rate",
				      freq);
	return err ? tally_bad(b, err, "the limit of frequencies cannot be read") : 0;
}

/**
 * tally_builder_check_first - make the checks that perf makes before it looks at the target
 * @b: the builder of a file's event, with its attr
 *
 * A program that makes two mistakes gets the same error as from perf.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL; another one if the limit of frequencies cannot be read.
 */
int tally_builder_check_first(struct tally_builder *b)
{
	const struct perf_event_attr *attr = &b->attr;

	if (tally_builder_check_attr(b, attr))
		return b->err;
	if (!attr->freq)
		return check_period(b, attr->sample_period);
	return attr->sample_freq ? check_limit(b, attr->sample_freq) : 0;
}

static int check_freq(struct tally_builder *b, struct perf_event_attr *attr)
{
	bool clock = tally_attr_is_clock(attr);

	/* The event of a file has passed this check already. */
	if (!(b->flags & TALLY_BUILDER_FILE) && check_limit(b, attr->sample_freq))
		return b->err;
	if (clock && attr->sample_freq > NSEC_PER_SEC)
		return tally_bad_attr(b, sample_freq, -EINVAL,
				      "a clock has at most one sample in a nanosecond");
	/*
	 * perf makes the same conversion, and would take a later change of the frequency
	 * for nanoseconds. tally remembers the frequency in tally_event::hz.
	 */
	if (clock) {
		attr->sample_period = div64_u64(NSEC_PER_SEC, attr->sample_freq);
		attr->freq = 0;
	}
	return 0;
}

/* Clears settings that affect records only: tally writes the records, not perf. */
static void forget_ring(struct perf_event_attr *attr)
{
	attr->sample_id_all = 0;
	attr->use_clockid = 0;
	attr->clockid = 0;
	attr->watermark = 0;
	attr->write_backward = 0;
	attr->comm = 0;
	attr->comm_exec = 0;
	attr->task = 0;
	attr->context_switch = 0;
	attr->cgroup = 0;
}

/* Clears settings of records and samples, for an event that has no overflows. */
static void forget_samples(struct perf_event_attr *attr)
{
	forget_ring(attr);
	/* perf still refuses branches where the PMU has none. */
	attr->sample_type &= PERF_SAMPLE_BRANCH_STACK;
	attr->wakeup_events = 0;
	attr->sample_stack_user = 0;
	attr->sample_max_stack = 0;
	attr->exclude_callchain_kernel = 0;
	attr->exclude_callchain_user = 0;
}

/* Checks a counting event. Settings for overflows are refused; for a file, they are cleared. */
static int check_counting(struct tally_builder *b, struct perf_event_attr *attr)
{
	attr->freq = 0;
	if (b->flags & TALLY_BUILDER_FILE) {
		forget_samples(attr);
		return 0;
	}
	if (attr->precise_ip)
		return tally_bad_bit(b, TALLY_BIT_PRECISE_IP, -EINVAL,
				     "precise is for sampled events");
	if (b->direct.fn || b->irq.fn || b->work.fn)
		return tally_bad(b, -EINVAL,
				 "a handler without a period or frequency");
	if (attr->sigtrap)
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EINVAL,
				     "sigtrap without a period or frequency");
	if ((attr->sample_type && !(b->flags & TALLY_BUILDER_RECORDS)) ||
	    b->flags & TALLY_BUILDER_TIME)
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "samples are of sampled events");
	if (b->ring_pages)
		return tally_bad(b, -EINVAL, "a ring without a period or frequency");
	if (b->flags & TALLY_BUILDER_ONE_SHOT || b->max_rate || b->queue)
		return tally_bad(b, -EINVAL,
				 "one_shot, max_rate and queue are for sampled events");
	return 0;
}

static int check_one_shot(struct tally_builder *b, const struct perf_event_attr *attr)
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
 * Where sample_max_stack is 0, perf's system call sets it to the limit of the
 * kernel. A driver that writes the address of a precise sample to the registers
 * first unwinds the call chain, up to sample_max_stack entries. Later kernels
 * limit the branches in a sample by it, too.
 */
static int set_max_stack(struct tally_builder *b, struct perf_event_attr *attr)
{
	bool unwinds = attr->precise_ip || attr->type >= PERF_TYPE_MAX;
	u64 limited = PERF_SAMPLE_BRANCH_STACK | (unwinds ? PERF_SAMPLE_CALLCHAIN : 0);
	int most;

	if (!(attr->sample_type & limited) || attr->sample_max_stack)
		return 0;
	most = tally_pmu_max_stack();
	if (most < 0)
		return tally_bad(b, most, "the limit of call chains cannot be read");
	attr->sample_max_stack = most;
	return 0;
}

/*
 * Sets what perf needs to know of samples.
 *
 * With PERF_SAMPLE_PERIOD, software events overflow at every occurrence. Programs that
 * set it expect that. Handlers do not, so perf is not given it for them.
 *
 * wakeup_events = 1 keeps Intel's drivers from collecting samples in a buffer,
 * of which the callback would see only the last one.
 */
static void set_samples(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (!(b->flags & TALLY_BUILDER_RECORDS))
		attr->sample_type &= PERF_SAMPLE_ADDR | PERF_SAMPLE_BRANCH_STACK |
				     TALLY_PAYLOAD_FIELDS;
	forget_ring(attr);
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

static bool is_foreign(const struct tally_builder *b, const struct tally_handler *h)
{
	return b->owner && h->fn &&
	       !within_module((unsigned long)h->fn, b->owner);
}

/*
 * When a module is unloaded, its events are released, and nothing calls its
 * handlers any more. A handler of another module would not be protected.
 */
static int check_handlers(struct tally_builder *b)
{
	if (is_foreign(b, &b->direct) || is_foreign(b, &b->irq) ||
	    is_foreign(b, &b->work))
		return tally_bad(b, -EINVAL,
				 "a handler of another module than the builder's");
	return 0;
}

/* Checks a ring that a module reads. Files get their rings later. */
static int check_ring(struct tally_builder *b, const struct perf_event_attr *attr)
{
	u64 unshared = attr->sample_type &
		       ~tally_sample_fields(attr->sample_type, TALLY_IN_SHARED);

	if (!attr->sample_type)
		return tally_bad_attr(b, sample_type, -EINVAL,
				      "a ring, but no sample_type: nothing to be recorded");
	if (b->flags & TALLY_BUILDER_PANIC && !attr->write_backward)
		return tally_bad(b, -EINVAL, "a panic freezes backward rings only");
	if (b->flags & TALLY_BUILDER_SHARED && unshared)
		return tally_bad_attr(b, sample_type, -EOPNOTSUPP,
				      "a shared ring cannot have such samples: %#llx",
				      unshared);
	/* Children on several CPUs would write to the ring at the same time. */
	if (attr->inherit && b->cpu < 0)
		return tally_bad_bit(b, TALLY_BIT_INHERIT, -EINVAL,
				     "a ring of an inherited event that is not on one cpu");
	return 0;
}

static int check_budget(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (!b->window_ns)
		return 0;
	if (b->period || b->freq || attr->sample_period)
		return tally_bad(b, -EINVAL, "both a budget and a period or frequency");
	if (b->flags & TALLY_BUILDER_ONE_SHOT)
		return tally_bad(b, -EINVAL, "one_shot with a budget");
	if (b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID))
		return tally_bad(b, -EOPNOTSUPP, "a budget is for CPUs, not for a task");
	/* The overflow says that the event has counted more than its budget. */
	attr->freq = 0;
	attr->sample_period = b->budget + 1;
	return 0;
}

static int check_sampling(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (check_budget(b, attr))
		return b->err;
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
	} else if (check_period(b, attr->sample_period)) {
		return b->err;
	}
	if (!b->direct.fn && !b->irq.fn && !b->work.fn && !attr->sigtrap && !b->ring_pages)
		return tally_bad(b, -EINVAL,
				 "a period or frequency, but nothing receives the overflows");
	if (b->queue && !b->irq.fn && !b->work.fn)
		return tally_bad(b, -EINVAL, "a queue, but no handler for it");
	if (check_handlers(b))
		return b->err;
	if (b->ring_pages && check_ring(b, attr))
		return b->err;
	set_samples(b, attr);
	return set_max_stack(b, attr) ?: check_one_shot(b, attr);
}

static int check_inherit(struct tally_builder *b, const struct perf_event_attr *attr)
{
	if (attr->inherit && !(b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID)))
		return tally_bad_bit(b, TALLY_BIT_INHERIT, -EINVAL,
				     "inherit without a task");
	return 0;
}

static int check_given(struct tally_builder *b)
{
	if (b->given & TALLY_GIVEN_TASK && b->given & TALLY_GIVEN_PID)
		return tally_bad(b, -EINVAL, "both a task and a pid");
	if (b->given & TALLY_GIVEN_CGROUP && b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID))
		return tally_bad(b, -EINVAL, "both a cgroup and a task");
	if (!(b->given & TALLY_GIVEN_ALL_CPUS))
		return 0;
	if (b->given & TALLY_GIVEN_CPU)
		return tally_bad(b, -EINVAL, "both one cpu and all cpus");
	if (b->given & (TALLY_GIVEN_TASK | TALLY_GIVEN_PID))
		return tally_bad(b, -EINVAL,
			   "a task is counted wherever it runs, not on all cpus");
	return 0;
}

/* Refuses levels that an event cannot leave out. As in perf, a file's event may have any. */
static int check_levels(struct tally_builder *b, const struct perf_event_attr *attr)
{
	char copy[sizeof(b->event)];
	char *event = copy;
	const char *system, *why;

	if (b->flags & TALLY_BUILDER_FILE)
		return 0;
	strscpy(copy, b->event, sizeof(copy));
	system = strsep(&event, strchr(copy, '/') ? "" : ":");
	why = tally_levels_why(attr, system, event, !attr->sample_period || b->window_ns);
	return why ? tally_bad(b, -EINVAL, "%s", why) : 0;
}

/**
 * tally_builder_check - check all settings that need neither the target nor the PMU
 * @b: the builder
 * @attr: receives the attributes for perf's events, with the disabled bit set
 *
 * Context: Process context, may sleep.
 * Return: 0, or the builder's first error.
 */
int tally_builder_check(struct tally_builder *b, struct perf_event_attr *attr)
{
	if (b->err)
		return b->err;
	*attr = b->attr;
	if (check_given(b) || tally_builder_check_bits(b, attr) || check_exec(b, attr) ||
	    check_inherit(b, attr) || check_sampling(b, attr) || check_what(b, attr) ||
	    check_levels(b, attr))
		return b->err;
	/* An event that is enabled at once does not wait for exec(). */
	attr->enable_on_exec &= attr->disabled;
	attr->disabled = 1;
	attr->read_format = 0;
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_builder_check);
