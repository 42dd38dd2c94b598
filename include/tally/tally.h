/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tally: counters that live in the kernel, for other modules.
 *
 * A builder says what to count, where and how. tally_build() checks all of it
 * and yields an event. An event counts until it is released; CPUs may come and
 * go and tasks may exit while it does, and its totals never fall.
 *
 *	struct tally_builder b;
 *	struct tally_event *ev;
 *	struct tally_count c;
 *
 *	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
 *	tally_builder_on_all_cpus(&b);
 *	ev = tally_build(&b);
 *	if (IS_ERR(ev)) {
 *		pr_err("page faults: %s\n", tally_builder_why(&b));
 *		return PTR_ERR(ev);
 *	}
 *	...
 *	if (!tally_event_read(ev, &c))
 *		pr_info("%llu faults\n", c.value);
 *	...
 *	tally_event_release(ev);
 *
 * All functions are exported to GPL modules in the symbol namespace TALLY:
 * a user says MODULE_IMPORT_NS(TALLY), or MODULE_IMPORT_NS("TALLY") from
 * Linux 6.13 on.
 *
 * Counting only: an event here has no overflow handler, so a builder that was
 * given a period or a frequency is refused.
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct task_struct;
struct tally_event;

/** define TALLY_NAME_LEN - Room for the name of an event, its NUL included. */
#define TALLY_NAME_LEN 64

/* Room for what an event is called in lines of text, its NUL included. */
#define TALLY_EVENT_NAME_LEN 96

/**
 * struct tally_what - what to count
 * @type:	PERF_TYPE_*, or the number of a PMU
 * @bp_type:	HW_BREAKPOINT_*, for breakpoints
 * @config:	which event of that type
 * @config1:	first extension; the address of a breakpoint
 * @config2:	second extension; the length of a breakpoint, the address of
 *		a kprobe
 * @pmu:	name of a PMU, used instead of @type when it is not NULL
 * @symbol:	kernel symbol to probe, looked up by tally_builder_init();
 *		@config2 is the offset from it
 *
 * Made by the macros TALLY_HARDWARE() to TALLY_KRETPROBE_SYMBOL(); the strings
 * are used by tally_builder_init() alone and may go afterwards.
 */
struct tally_what {
	u32 type;
	u32 bp_type;
	u64 config;
	u64 config1;
	u64 config2;
	const char *pmu;
	const char *symbol;
};

/** define TALLY_HARDWARE - A generic hardware event, PERF_COUNT_HW_*. */
#define TALLY_HARDWARE(id) \
	((struct tally_what){ .type = PERF_TYPE_HARDWARE, .config = (id) })

/**
 * define TALLY_SOFTWARE - A software event.
 * @id: PERF_COUNT_SW_*
 *
 * PERF_COUNT_SW_BPF_OUTPUT can be created and counts nothing: BPF reaches such
 * events only through a file descriptor in a map, and kernel events have none.
 */
#define TALLY_SOFTWARE(id) \
	((struct tally_what){ .type = PERF_TYPE_SOFTWARE, .config = (id) })

/**
 * define TALLY_CACHE - A cache event.
 * @cache: PERF_COUNT_HW_CACHE_*
 * @op: PERF_COUNT_HW_CACHE_OP_*
 * @result: PERF_COUNT_HW_CACHE_RESULT_*
 */
#define TALLY_CACHE(cache, op, result)					\
	((struct tally_what){ .type = PERF_TYPE_HW_CACHE,		\
			      .config = (u64)(cache) | (u64)(op) << 8 |	\
					(u64)(result) << 16 })

/** define TALLY_RAW - An event code of this CPU's own PMU. */
#define TALLY_RAW(code) \
	((struct tally_what){ .type = PERF_TYPE_RAW, .config = (code) })

/**
 * define TALLY_TRACEPOINT - A tracepoint by number.
 * @id: what its "id" file in tracefs says
 *
 * ftrace:function is refused: without a filter it would hook every function
 * of the kernel.
 */
#define TALLY_TRACEPOINT(id) \
	((struct tally_what){ .type = PERF_TYPE_TRACEPOINT, .config = (id) })

/**
 * define TALLY_BREAKPOINT - A hardware breakpoint.
 * @addr: the address, a multiple of @len
 * @len: in bytes, 1 to 8; 0 for the machine's own length of an instruction's
 * @access: HW_BREAKPOINT_R, _W, _RW or _X; R where the machine has it (not x86)
 */
#define TALLY_BREAKPOINT(addr, len, access)				\
	((struct tally_what){ .type = PERF_TYPE_BREAKPOINT,		\
			      .bp_type = (access),			\
			      .config1 = (u64)(unsigned long)(addr),	\
			      .config2 = (len) })

/** define TALLY_PMU - An event of any PMU, by the PMU's number. */
#define TALLY_PMU(number, code) \
	((struct tally_what){ .type = (number), .config = (code) })

/** define TALLY_PMU_NAMED - An event of any PMU, by the PMU's name. */
#define TALLY_PMU_NAMED(name, code) \
	((struct tally_what){ .pmu = (name), .config = (code) })

/** define TALLY_KPROBE - Executions of the kernel instruction at @addr. */
#define TALLY_KPROBE(addr)					\
	((struct tally_what){ .pmu = "kprobe",			\
			      .config2 = (u64)(unsigned long)(addr) })

/** define TALLY_KRETPROBE - Returns from the kernel function at @addr. */
#define TALLY_KRETPROBE(addr)					\
	((struct tally_what){ .pmu = "kprobe", .config = 1,	\
			      .config2 = (u64)(unsigned long)(addr) })

/** define TALLY_KPROBE_SYMBOL - As TALLY_KPROBE(), by symbol and offset. */
#define TALLY_KPROBE_SYMBOL(name, offset)			\
	((struct tally_what){ .pmu = "kprobe", .symbol = (name),	\
			      .config2 = (offset) })

/** define TALLY_KRETPROBE_SYMBOL - As TALLY_KRETPROBE(), by symbol. */
#define TALLY_KRETPROBE_SYMBOL(name)				\
	((struct tally_what){ .pmu = "kprobe", .config = 1, .symbol = (name) })

/**
 * enum tally_exclude - what not to count, for tally_builder_exclude()
 * @TALLY_EXCLUDE_USER: user space
 * @TALLY_EXCLUDE_KERNEL: the kernel
 * @TALLY_EXCLUDE_HV: the hypervisor, where the machine tells it apart
 * @TALLY_EXCLUDE_IDLE: the idle task, where the PMU can
 * @TALLY_EXCLUDE_HOST: everything outside virtual machines
 * @TALLY_EXCLUDE_GUEST: virtual machines
 */
enum tally_exclude {
	TALLY_EXCLUDE_USER	= BIT(0),
	TALLY_EXCLUDE_KERNEL	= BIT(1),
	TALLY_EXCLUDE_HV	= BIT(2),
	TALLY_EXCLUDE_IDLE	= BIT(3),
	TALLY_EXCLUDE_HOST	= BIT(4),
	TALLY_EXCLUDE_GUEST	= BIT(5),
};

/**
 * enum tally_state - what an event, or its part on one CPU, is doing
 * @TALLY_STATE_OFF: disabled by its owner
 * @TALLY_STATE_INACTIVE: enabled, but not counting at this moment: its task is
 *	not running, or other events hold the PMU
 * @TALLY_STATE_ACTIVE: counting
 * @TALLY_STATE_ERROR: a pinned event lost its place, or a CPU that came online
 *	could not be given its part; tally_event_enable() tries again
 * @TALLY_STATE_OFFLINE: the CPU is offline; counting resumes with it
 * @TALLY_STATE_EXITED: the task has exited; the final count stays readable, and
 *	that of an inherited event may grow as long as there are children
 *
 * An event on all CPUs has the first of these states that one of its parts is
 * in: error, active, inactive, off, offline.
 */
enum tally_state {
	TALLY_STATE_OFF,
	TALLY_STATE_INACTIVE,
	TALLY_STATE_ACTIVE,
	TALLY_STATE_ERROR,
	TALLY_STATE_OFFLINE,
	TALLY_STATE_EXITED,
};

/**
 * struct tally_count - what tally_event_read() tells
 * @value:	how much was counted; nanoseconds for clock events
 * @enabled_ns:	how long the event was enabled, in nanoseconds, summed over the
 *		CPUs of an event on all CPUs
 * @running_ns:	how long it really counted; less than @enabled_ns when it had
 *		to share the PMU
 * @state:	what it is doing now
 */
struct tally_count {
	u64 value;
	u64 enabled_ns;
	u64 running_ns;
	enum tally_state state;
};

/**
 * enum tally_sample_flags - what is to be known of an overflow
 * @TALLY_SAMPLE_NMI: it came in an NMI
 * @TALLY_SAMPLE_USER: the CPU was in user space
 * @TALLY_SAMPLE_EXACT_IP: the ip is that of the cause; else it may be later
 * @TALLY_SAMPLE_ADDR: the addr is valid
 * @TALLY_SAMPLE_TIME: the time is valid
 * @TALLY_SAMPLE_THROTTLED: perf switched the event off until the next tick
 * @TALLY_SAMPLE_CHILD: it is of an inherited event of a child
 */
enum tally_sample_flags {
	TALLY_SAMPLE_NMI	= BIT(0),
	TALLY_SAMPLE_USER	= BIT(1),
	TALLY_SAMPLE_EXACT_IP	= BIT(2),
	TALLY_SAMPLE_ADDR	= BIT(3),
	TALLY_SAMPLE_TIME	= BIT(4),
	TALLY_SAMPLE_THROTTLED	= BIT(5),
	TALLY_SAMPLE_CHILD	= BIT(6),
};

/**
 * struct tally_sample - one overflow
 * @ip:		where the CPU was; 0 if that is excluded from the event
 * @addr:	the data's address, if TALLY_SAMPLE_ADDR is set, else 0
 * @period:	how many counts this overflow stands for
 * @sequence:	which overflow of the event on this CPU it is, from 1 on, those
 *		while throttled not counted. In a copy of one that came while the
 *		direct handler was running, the number of the one before.
 * @time:	local_clock() in nanoseconds, if TALLY_SAMPLE_TIME is set: always
 *		in copies, elsewhere after tally_builder_sample_time()
 * @missed:	in copies: how many overflows of this CPU found the queue full
 *		since the last one that did not
 * @cpu:	the CPU
 * @flags:	of enum tally_sample_flags
 * @tid:	the thread that was running, in the initial PID namespace; 0 idle
 * @pid:	its process
 * @regs:	its registers, for the duration of a direct handler; NULL in
 *		copies, and if the CPU was where the event does not count
 * @branches:	the last branches, for the duration of a direct handler; NULL if
 *		there are none or they were not asked for
 */
struct tally_sample {
	u64 ip;
	u64 addr;
	u64 period;
	u64 sequence;
	u64 time;
	u64 missed;
	u32 cpu;
	u32 flags;
	pid_t tid;
	pid_t pid;
	struct pt_regs *regs;
	struct perf_branch_stack *branches;
};

/**
 * struct tally_builder - what was asked for
 *
 * Lives on the caller's stack, holds no reference and needs no clean-up: it may
 * be dropped, or built from any number of times. Its members are private.
 * Setters never fail: the first bad setting is kept, and tally_build() returns
 * it; tally_builder_why() has the sentence.
 */
struct tally_builder {
	/* private: */
	struct perf_event_attr attr;
	struct module *owner;
	struct task_struct *task;
	u64 period;
	u64 freq;
	int cpu;
	pid_t pid;
	int err;
	u16 given;
	u16 flags;
	char name[TALLY_NAME_LEN];
	char event[TALLY_EVENT_NAME_LEN];
	char why[96];
};

void __tally_builder_init(struct tally_builder *b, struct tally_what what,
			  struct module *owner);

/**
 * tally_builder_init - begin to describe an event
 * @b: the builder
 * @what: one of TALLY_HARDWARE() ... TALLY_KRETPROBE_SYMBOL()
 *
 * Sets every other setting to its default: all CPUs, enabled once built, no
 * name, virtual machines not counted by hardware, cache and raw events. The
 * calling module is recorded as the owner: what it forgets to release is
 * released, with a warning in the log, when it is unloaded.
 *
 * Context: Process context; a name of a PMU or symbol is looked up, which may
 * sleep.
 */
#define tally_builder_init(b, what) \
	__tally_builder_init(b, what, THIS_MODULE)

void __tally_builder_init_attr(struct tally_builder *b,
			       const struct perf_event_attr *attr,
			       struct module *owner);

/**
 * tally_builder_init_attr - begin from a ready struct perf_event_attr
 * @b: the builder
 * @attr: copied; checked as everything else is. What belongs to samples and
 *	records is refused by tally_build() with EOPNOTSUPP, reserved bits with
 *	EINVAL. @attr->disabled has the meaning of tally_builder_disabled().
 *
 * Context: Any context.
 */
#define tally_builder_init_attr(b, attr) \
	__tally_builder_init_attr(b, attr, THIS_MODULE)

int __tally_builder_parse(struct tally_builder *b, const char *line,
			  struct module *owner);

/**
 * tally_builder_parse - begin from a line of text
 * @b: the builder
 * @line: an event as perf names it, then options, separated by blanks:
 *	"cycles:k cpu=1 name=kcycles". The README lists all of them.
 *
 * Context: Process context, may sleep. pid= is looked up by tally_build() in
 * the caller's PID namespace.
 * Return: 0 if the line could be read; tally_build() checks the rest. EINVAL
 * for what cannot be read, ENOENT for a name that this machine does not know,
 * and so on; tally_build() returns the same, and tally_builder_why() has the
 * sentence.
 */
#define tally_builder_parse(b, line) \
	__tally_builder_parse(b, line, THIS_MODULE)

void tally_builder_name(struct tally_builder *b, const char *name);
void tally_builder_config(struct tally_builder *b, u64 config1, u64 config2,
			  u64 config3);
void tally_builder_on_cpu(struct tally_builder *b, int cpu);
void tally_builder_on_all_cpus(struct tally_builder *b);
void tally_builder_on_task(struct tally_builder *b, struct task_struct *task);
void tally_builder_on_pid(struct tally_builder *b, pid_t pid);
void tally_builder_period(struct tally_builder *b, u64 period);
void tally_builder_freq(struct tally_builder *b, u64 hz);
void tally_builder_disabled(struct tally_builder *b);
void tally_builder_inherit(struct tally_builder *b);
void tally_builder_inherit_thread(struct tally_builder *b);
void tally_builder_pinned(struct tally_builder *b);
void tally_builder_exclusive(struct tally_builder *b);
void tally_builder_exclude(struct tally_builder *b, u32 mask);
void tally_builder_precise(struct tally_builder *b, unsigned int level);
void tally_builder_require(struct tally_builder *b);
const char *tally_builder_why(const struct tally_builder *b);

struct tally_event *__must_check tally_build(struct tally_builder *b);

int tally_event_enable(struct tally_event *ev);
void tally_event_disable(struct tally_event *ev);
void tally_event_reset(struct tally_event *ev);
int tally_event_read(struct tally_event *ev, struct tally_count *count);
int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count);
enum tally_state tally_event_state(struct tally_event *ev);
const char *tally_event_name(const struct tally_event *ev);
void tally_event_release(struct tally_event *ev);

u64 tally_count_scaled(const struct tally_count *count);
const char *tally_state_name(enum tally_state state);

#endif /* TALLY_TALLY_H */
