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
 * A pointer that is NULL or an ERR_PTR is an error, wherever a function wants an
 * object: the function returns EINVAL, or does nothing if it returns nothing, unless
 * its description says otherwise. A builder keeps the error for tally_build().
 *
 * All functions are exported to GPL modules in the symbol namespace TALLY:
 * a user says MODULE_IMPORT_NS(TALLY), or MODULE_IMPORT_NS("TALLY") from
 * Linux 6.13 on.
 */

/**
 * DOC: Overflow handlers
 *
 * An event with a period or a frequency overflows, and calls the handlers that
 * its builder was given. One builder may have all three:
 *
 *	static void over_budget(struct tally_event *ev,
 *				const struct tally_sample *sample, void *context)
 *	{
 *		atomic_inc(context);
 *	}
 *
 *	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
 *	tally_builder_period(&b, 1000000);
 *	tally_builder_on_overflow(&b, over_budget, &nr_overflows);
 *
 * =====================  ===================  ================  ===================
 * a handler may ...      on_overflow          on_overflow_irq   on_overflow_work
 * =====================  ===================  ================  ===================
 * runs in                what overflowed, on  hard interrupt,   a kernel thread,
 *                        its CPU: expect NMI  the same CPU, at  any CPU, some time
 *                                             most 1 ms later   later
 * use per-CPU data       if NMI-safe          yes               as any thread
 * atomics, irq_work      yes                  yes               yes
 * raw_spin_lock          trylock only         yes               irqsave, if irq has
 *                                                               it too
 * spin_lock              no                   not PREEMPT_RT    yes
 * wake_up, queue_work    no                   yes               yes
 * printk                 no                   sparingly         yes
 * allocate               no                   GFP_ATOMIC        GFP_KERNEL
 * sleep, take a mutex    no                   no                yes
 * tally_event_rearm()    yes                  yes               yes
 * tally_event_snapshot() yes                  yes               yes
 * read_local, published  yes                  yes               yes
 * other tally_event_*()  no                   no                yes
 * tally_event_release()  no: EDEADLK          no: EDEADLK       no: EDEADLK
 * read sample->regs      yes, if not NULL     NULL              NULL
 * =====================  ===================  ================  ===================
 *
 * - A direct handler is not only in NMI for hardware events: kernel breakpoints
 *   of x86 are NMIs, clocks are hard interrupts, and software events and
 *   tracepoints come wherever they happen, the scheduler's with its runqueue
 *   locked. So treat all of it as NMI: TALLY_SAMPLE_NMI tells.
 * - A direct handler never interrupts itself on one CPU; what overflows meanwhile
 *   is counted in tally_overflow_stats::skipped. On several CPUs it runs at the
 *   same time, and so does that of an inherited event.
 * - The other two get copies, from a queue on each CPU, in the order in which the
 *   overflows came on that CPU. What finds the queue full is counted in
 *   tally_overflow_stats::missed and in tally_sample::missed of the next one.
 *   tally_builder_queue() sizes it. If there are both, a sample goes to the
 *   interrupt's first, and stays in the queue until both have seen it.
 * - They may still be called for some time after tally_event_disable(). After
 *   tally_event_release() none is: it waits until all that was queued is handled.
 * - An event is disabled until tally_build() is about to return; its handlers may
 *   run before the caller has stored the pointer, and get it as an argument.
 * - A handler is a function of the module that built the event. Unloading the
 *   module releases what its exit function left, before its memory is freed; so
 *   what a handler uses must not go earlier, in that function, than the event.
 * - An event that overflows more than tally_builder_max_rate() allows is switched
 *   off for some milliseconds and on again, in the state TALLY_STATE_THROTTLED.
 */

/**
 * DOC: Reads and sets
 *
 * =========================  ==============  =====================================
 * to read ...                may be called   costs, in instructions, about
 * =========================  ==============  =====================================
 * tally_event_read()         asleep          as perf_event_read_value(); all CPUs:
 *                                            one interrupt on each, at one time
 * tally_event_read_local()   anywhere        30 more than pmu->read() and a load
 * tally_set_read()           asleep          one interrupt on each CPU, however
 *                                            many members
 * tally_set_read_local()     anywhere        200 for each member
 * tally_section_begin/end()  anywhere, CPU   twice pmu->read() and a load of each
 *                            cannot change   member
 * tally_event_published()    anywhere        150, no interrupt anywhere
 * =========================  ==============  =====================================
 *
 * A local read is of the CPU, or the task, that it is made on: EINVAL elsewhere. It
 * never waits, and never tells an old count for a new one: EAGAIN if the event is
 * not counting at this moment, or if what the caller has interrupted is perf
 * itself, at work on the event. That can be so in NMI, in kprobes and at
 * tracepoints; where interrupts were enabled, and in other interrupts, it is so for
 * moments, when another CPU asks perf for the same task or CPU. So an event's own
 * NMI may find it right after it was enabled.
 *
 * A set is several events on one target, built all or none:
 *
 *	struct tally_builder b[2];
 *	struct tally_set *set;
 *	TALLY_SECTION(section, 2);
 *	u64 out[2];
 *
 *	tally_builder_init(&b[0], TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
 *	tally_builder_init(&b[1], TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
 *	set = tally_set_build(b, 2);
 *	...
 *	preempt_disable();
 *	err = tally_section_begin(set, &section);
 *	what_is_measured();
 *	if (!err)
 *		err = tally_section_end(set, &section, out);
 *	preempt_enable();
 *
 * (struct tally_builder is large: not on the stack, for more than a few.)
 *
 * - perf does not group the kernel's events: it puts each on the PMU when there is
 *   room. If all members were there for the whole window, the set says so:
 *   tally_set_window::ratio_valid. tally_builder_require() refuses a set that has
 *   no room; a member that has never had any is TALLY_NOT_COUNTED, not 0.
 * - The window of a set begins and ends at one moment on each CPU, at which all
 *   members are read; on several CPUs these are some microseconds apart.
 * - The caller holds its sections. A section that ends on another CPU or in another
 *   task than it began is refused with EINVAL; a section that never ends costs nothing.
 *   The set may be released as soon as nobody uses it any more.
 * - Counts that are published are those of a timer on each CPU, and of the event's
 *   overflows; with their age. They are what costs a reader nothing elsewhere.
 */

/**
 * DOC: Rings
 *
 * An event with a period or a frequency may have its overflows recorded, as perf
 * does for user programs: in rings, one for each CPU of an event on all CPUs, else
 * one. A record is perf's, from its struct perf_event_header on, and its fields are
 * those of PERF_SAMPLE_* that were asked for, in perf's order:
 *
 *	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
 *	tally_builder_period(&b, 1);
 *	tally_builder_sample_type(&b, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
 *	tally_builder_ring(&b, 65536, 0);
 *	ev = tally_build(&b);
 *	...
 *	while (!tally_ring_wait(ev, HZ)) {
 *		n = tally_ring_read(ev, -1, buf, 65536);
 *		for (at = 0; at < n; at += h->size) {
 *			h = buf + at;
 *			if (h->type == PERF_RECORD_SAMPLE)
 *				...
 *		}
 *	}
 *
 * That is a forward ring: it is full if nobody reads. One with TALLY_RING_BACKWARD
 * is a flight recorder: the newest records take the place of the oldest, and nobody
 * reads until something went wrong:
 *
 *	static void wrong(struct tally_event *watch,
 *			  const struct tally_sample *sample, void *context)
 *	{
 *		tally_event_snapshot(recorder);
 *		schedule_work(&look);
 *	}
 *
 * (as on_overflow_irq; in an NMI it would be irq_work_queue()) and then, asleep,
 *
 *	n = tally_snapshot_read(recorder, cpu, buf, size);
 *	...
 *	tally_event_resume(recorder);
 *
 * ======================  =============  =========================================
 * call                    may be called  ring
 * ======================  =============  =========================================
 * tally_ring_read()       asleep         forward: oldest records first, and away
 * tally_ring_wait()       asleep         forward
 * tally_event_snapshot()  anywhere       backward: nothing is written from now on
 * tally_snapshot_read()   asleep         backward, frozen: newest first, they stay
 * tally_event_resume()    asleep         backward
 * ======================  =============  =========================================
 *
 * - Records are whole, and those of one CPU in the order in which they came. An
 *   overflow that is not recorded, because a ring is full or frozen, is in
 *   tally_overflow_stats::lost; and the next one that is, in that ring, has a
 *   PERF_RECORD_LOST in front of it, in both kinds of ring. Not recorded, and not
 *   in there, is what comes while the event is throttled: that is in
 *   tally_overflow_stats::skipped if there is a direct handler.
 * - The record is written before the event's handlers are called.
 * - With TALLY_RING_PANIC, a panic of the kernel freezes the rings, and a dump of its
 *   memory has what came before. The list tally_flight_recorders links the recorders, as
 *   struct tally_recorder, by "node". Of each, out->slots[n].ring is the ring of CPU n;
 *   out->slots[0].ring the only one of an event on one CPU or one task, for which
 *   out->nr_slots is 1. A struct tally_ring has its records at "data", of "size" bytes:
 *   the newest begins at data + (page->data_head & (size - 1)), the others behind it; the
 *   bytes at "data" are mapped twice in a row, so that no record is in two pieces.
 *   out->type is the sample_type, out->ev->name the name of the event. A crash kernel
 *   that is loaded runs before the rings are frozen, and finds them the same way.
 * - With TALLY_RING_SHARED, programs may look into the rings while the event goes on:
 *   see TALLY_IOC_RING_INFO in <linux/tally.h>. They see it as the module does, and can
 *   change nothing in it.
 * - Rings are there for all CPUs that can be, also while they are offline, and go
 *   with the event: tally_event_release(), or the unloading of its module.
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct task_struct;
struct tally_event;
struct tally_set;
struct tally_view;

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
 * enum tally_ring_flags - what a ring is like, for tally_builder_ring()
 * @TALLY_RING_BACKWARD: the newest records take the place of the oldest
 * @TALLY_RING_PANIC: a panic freezes it, for a dump to find; EINVAL from tally_build() for
 *	one that is not backward
 * @TALLY_RING_SHARED: programs with CAP_PERFMON may map the ring and read it, from a
 *	file that TALLY_IOC_ATTACH made; EOPNOTSUPP from tally_build() for counts,
 *	branches, registers and stacks in the samples
 */
enum tally_ring_flags {
	TALLY_RING_BACKWARD	= BIT(0),
	TALLY_RING_PANIC	= BIT(1),
	TALLY_RING_SHARED	= BIT(2),
};

/**
 * enum tally_state - what an event, or its part on one CPU, is doing
 * @TALLY_STATE_OFF: disabled by its owner, or waiting: for exec() after
 *	tally_builder_enable_on_exec(), for tally_event_rearm(), or for more
 *	after tally_event_refresh()
 * @TALLY_STATE_INACTIVE: enabled, but not counting at this moment: its task is
 *	not running, or other events hold the PMU
 * @TALLY_STATE_ACTIVE: counting
 * @TALLY_STATE_ERROR: a pinned event lost its place, or a CPU that came online
 *	could not be given its part; tally_event_enable() tries again
 * @TALLY_STATE_OFFLINE: the CPU is offline; counting resumes with it
 * @TALLY_STATE_EXITED: the task has exited, or called exec() with
 *	tally_builder_remove_on_exec(); the final count stays readable, and
 *	that of an inherited event may grow as long as there are children
 * @TALLY_STATE_THROTTLED: overflowed too often, and is off for some milliseconds
 *
 * An event on all CPUs has the first of these states that one of its parts is
 * in: error, throttled, active, inactive, off, offline.
 */
enum tally_state {
	TALLY_STATE_OFF,
	TALLY_STATE_INACTIVE,
	TALLY_STATE_ACTIVE,
	TALLY_STATE_ERROR,
	TALLY_STATE_OFFLINE,
	TALLY_STATE_EXITED,
	TALLY_STATE_THROTTLED,
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
 * typedef tally_overflow_fn - a handler of overflows
 * @ev: the event, also if a child of it overflowed
 * @sample: valid during the call
 * @context: as given to the builder
 *
 * Context: See "Overflow handlers" above.
 */
typedef void (*tally_overflow_fn)(struct tally_event *ev,
				  const struct tally_sample *sample,
				  void *context);

/**
 * struct tally_handler - a handler and what it is given
 * @fn: NULL for none
 * @context: handed through
 */
struct tally_handler {
	tally_overflow_fn fn;
	void *context;
};

/* define TALLY_RATE_UNLIMITED - For tally_builder_max_rate(). */
#define TALLY_RATE_UNLIMITED U32_MAX

/**
 * struct tally_overflow_stats - what became of an event's overflows
 * @overflows:	 how many there were; without those past tally_event_refresh(),
 *		 and those of the idle task if that is excluded
 * @skipped:	 how many of them a direct handler was not called for: they came
 *		 while it was running on the same CPU, or while throttled
 * @missed:	 how many of them the other handlers were not called for: the queue
 *		 was full, or they came while throttled
 * @lost:	 how many records found no room in a ring, or came while that was paused
 * @throttled:	 how often the event was switched off, by perf or by tally
 * @handler_ns:	 nanoseconds in all handlers, estimated from the first call and
 *		 every 64th
 * @handler_max_ns: the longest call among those
 */
struct tally_overflow_stats {
	u64 overflows;
	u64 skipped;
	u64 missed;
	u64 lost;
	u64 throttled;
	u64 handler_ns;
	u64 handler_max_ns;
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
	struct tally_handler direct;
	struct tally_handler irq;
	struct tally_handler work;
	u32 queue;
	u32 max_rate;
	u32 ring_pages;
	int cpu;
	pid_t pid;
	int err;
	int err_cpu;
	u32 err_field;
	u8 stage;
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
 * @attr: copied; checked as everything else is. Of sample_type, what struct
 *	tally_sample holds is taken, and what records hold if there is a
 *	tally_builder_ring(); other samples and records are refused by
 *	tally_build() with EOPNOTSUPP, reserved bits with EINVAL.
 *	@attr->disabled has the meaning of tally_builder_disabled().
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
 * Without name= the event gets a unique name from its module and what it counts, as
 * after tally_builder_init(): the same line can be built any number of times.
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

/**
 * tally_builder_name - name the event
 * @b: the builder
 * @name: its folder in debugfs; fewer than TALLY_NAME_LEN printable characters,
 *	no blank and no '/'. Copied.
 *
 * tally_build() returns EEXIST for a name that is taken. Without a name the event
 * gets a unique one, of its module, what it counts and a number.
 *
 * Context: Any context.
 */
void tally_builder_name(struct tally_builder *b, const char *name);

/**
 * tally_builder_config - the extensions of a PMU's event code
 * @b: the builder
 * @config1: perf_event_attr::config1
 * @config2: perf_event_attr::config2
 * @config3: perf_event_attr::config3; EOPNOTSUPP if not 0 before Linux 6.3
 *
 * Context: Any context.
 */
void tally_builder_config(struct tally_builder *b, u64 config1, u64 config2,
			  u64 config3);

/**
 * tally_builder_on_cpu - count on one CPU
 * @b: the builder
 * @cpu: its number; EINVAL if it cannot exist, ENODEV from tally_build() while
 *	it is offline. With tally_builder_on_task(): the task, while it is there.
 *
 * Context: Any context.
 */
void tally_builder_on_cpu(struct tally_builder *b, int cpu);

/**
 * tally_builder_on_all_cpus - count on every CPU, those still to come included
 * @b: the builder
 *
 * The default. A PMU that serves only some CPUs counts on those.
 *
 * Context: Any context.
 */
void tally_builder_on_all_cpus(struct tally_builder *b);

/**
 * tally_builder_on_task - count one task, wherever it runs
 * @b: the builder
 * @task: the caller keeps it alive until tally_build() is done; ESRCH from
 *	there if it is exiting
 *
 * Context: Any context.
 */
void tally_builder_on_task(struct tally_builder *b, struct task_struct *task);

/**
 * tally_builder_on_pid - count one task by its number
 * @b: the builder
 * @pid: looked up by tally_build() in the caller's PID namespace, ESRCH if it
 *	is gone; 0 for the caller itself
 *
 * Context: Any context.
 */
void tally_builder_on_pid(struct tally_builder *b, pid_t pid);

/**
 * tally_builder_period - set the counts from one overflow to the next
 * @b: the builder
 * @period: 1 to 2^63 - 1; 0 only counts
 *
 * Not with tally_builder_freq(), nor without something that receives the
 * overflows: a handler, a ring or tally_builder_sigtrap(). perf takes a period of a clock
 * below 10 microseconds for 10 microseconds.
 *
 * Context: Any context.
 */
void tally_builder_period(struct tally_builder *b, u64 period);

/**
 * tally_builder_freq - set the number of overflows per second
 * @b: the builder
 * @hz: overflows per second, at most kernel.perf_event_max_sample_rate; 0 only
 *	counts
 *
 * Not with tally_builder_period(), nor without something that receives the
 * overflows: a handler, a ring or tally_builder_sigtrap(). perf looks for the period:
 * it may begin with a burst of overflows.
 *
 * Context: Any context.
 */
void tally_builder_freq(struct tally_builder *b, u64 hz);

/**
 * tally_builder_disabled - build the event without starting it
 * @b: the builder
 *
 * Context: Any context.
 */
void tally_builder_disabled(struct tally_builder *b);

/**
 * tally_builder_inherit - count the task's future children too
 * @b: the builder; EINVAL from tally_build() without a task
 *
 * Context: Any context.
 */
void tally_builder_inherit(struct tally_builder *b);

/**
 * tally_builder_inherit_thread - count the task's future threads only
 * @b: the builder; EINVAL from tally_build() without tally_builder_inherit()
 *
 * Context: Any context.
 */
void tally_builder_inherit_thread(struct tally_builder *b);

/**
 * tally_builder_pinned - keep the event on the PMU always, or else in error
 * @b: the builder
 *
 * Context: Any context.
 */
void tally_builder_pinned(struct tally_builder *b);

/**
 * tally_builder_exclusive - let the event be alone on the PMU while it counts
 * @b: the builder
 *
 * Context: Any context.
 */
void tally_builder_exclusive(struct tally_builder *b);

/**
 * tally_builder_exclude - set what is not counted
 * @b: the builder
 * @mask: of enum tally_exclude; replaces the default, so 0 counts everything.
 *	EINVAL for unknown bits, and for a mask that leaves nothing to count.
 *
 * Clock events count all time whatever is excluded, as they do for perf.
 *
 * Context: Any context.
 */
void tally_builder_exclude(struct tally_builder *b, u32 mask);

/**
 * tally_builder_precise - set how far an overflow may be from its cause
 * @b: the builder
 * @level: perf_event_attr::precise_ip, 0 to 3; EINVAL from tally_build() if it
 *	is not 0 and the event only counts
 *
 * Context: Any context.
 */
void tally_builder_precise(struct tally_builder *b, unsigned int level);

/**
 * tally_builder_require - fail rather than wait for room on the PMU
 * @b: the builder
 *
 * tally_build() returns EBUSY if the event cannot count right now on one of its
 * CPUs. It does not wait for a task that is not running at the moment.
 *
 * Context: Any context.
 */
void tally_builder_require(struct tally_builder *b);

/**
 * tally_builder_on_overflow - call a function at each overflow
 * @b: the builder
 * @fn: the handler, which runs in the context that overflowed, NMI included: see
 *	"Overflow handlers" above. NULL for none; tally_build() returns EINVAL for a
 *	function that is not of the builder's module.
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow(struct tally_builder *b, tally_overflow_fn fn,
			       void *context);

/**
 * tally_builder_on_overflow_irq - call a function in hard interrupt
 * @b: the builder
 * @fn: the handler, which gets a copy of each sample, on the same CPU, shortly
 *	after the overflow; as for tally_builder_on_overflow()
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_irq(struct tally_builder *b,
				   tally_overflow_fn fn, void *context);

/**
 * tally_builder_on_overflow_work - call a function in process context
 * @b: the builder
 * @fn: the handler, which gets a copy of each sample, in a workqueue, and may
 *	sleep; as for tally_builder_on_overflow()
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_work(struct tally_builder *b,
				    tally_overflow_fn fn, void *context);

/**
 * tally_builder_queue - set how many overflows may wait for the last two handlers
 * @b: the builder
 * @samples: on each CPU, 1 to 65536, rounded up to a power of two; 0 for the
 *	default, 256
 *
 * Context: Any context.
 */
void tally_builder_queue(struct tally_builder *b, unsigned int samples);

/**
 * tally_builder_max_rate - set how many overflows are too many
 * @b: the builder
 * @per_second: on each CPU; 0 for the default, 10,000 for clocks and hardware
 *	and any number for all others; or TALLY_RATE_UNLIMITED
 *
 * An event that overflows more often, over 10 ms or, below 1,000, over a second,
 * is switched off for as long, in the state TALLY_STATE_THROTTLED. That cannot be
 * done to the children of an inherited event: its handlers are not called.
 *
 * Context: Any context.
 */
void tally_builder_max_rate(struct tally_builder *b, u32 per_second);

/**
 * tally_builder_one_shot - let the event overflow once, until tally_event_rearm()
 * @b: the builder; EINVAL from tally_build() if it is not for one CPU or one
 *	task, has a frequency, is inherited or waits for exec()
 *
 * Context: Any context.
 */
void tally_builder_one_shot(struct tally_builder *b);

/**
 * tally_builder_sample_time - give a direct handler the time, too
 * @b: the builder
 *
 * The time costs as much as all the rest of a sample. Copies always have it.
 *
 * Context: Any context.
 */
void tally_builder_sample_time(struct tally_builder *b);

/**
 * tally_builder_branches - give a direct handler the last branches, too
 * @b: the builder
 * @mask: perf_event_attr::branch_sample_type, at least one kind of branch. If
 *	it has no privilege, it gets that of the event. EOPNOTSUPP from
 *	tally_build() where the PMU does not record branches.
 *
 * Context: Any context.
 */
void tally_builder_branches(struct tally_builder *b, u64 mask);

/**
 * tally_builder_ring - record the overflows in rings
 * @b: the builder; EINVAL from tally_build() without a period or frequency, without
 *	a sample_type, and with tally_builder_inherit() but no tally_builder_on_cpu()
 * @bytes: of records, for each CPU that can be there, or of the one CPU or task;
 *	rounded up to a power of two of pages. EINVAL for 0, and for more than 2^20
 *	pages. It is charged to nobody.
 * @flags: of enum tally_ring_flags; EINVAL for others
 *
 * The event needs no handler, and may have all of them. See "Rings" above.
 * TALLY_RING_BACKWARD is the same as perf_event_attr::write_backward.
 *
 * Context: Any context.
 */
void tally_builder_ring(struct tally_builder *b, size_t bytes, u32 flags);

/**
 * tally_builder_sample_type - set the fields of a record
 * @b: the builder
 * @sample_type: PERF_SAMPLE_*, in the place of what perf_event_attr or
 *	tally_builder_branches() said. EINVAL from tally_build() for unknown bits,
 *	EOPNOTSUPP for what no record has, and, without tally_builder_ring(), for
 *	what struct tally_sample has no room for.
 *
 * With PERF_SAMPLE_PERIOD perf has each event of software overflow, and the period
 * is in the record.
 *
 * Context: Any context.
 */
void tally_builder_sample_type(struct tally_builder *b, u64 sample_type);

/**
 * tally_builder_enable_on_exec - start counting when the task calls exec()
 * @b: the builder; EINVAL from tally_build() without a task, or with
 *	tally_builder_require(). For an event that is built disabled; only the
 *	first exec() does it.
 *
 * Context: Any context.
 */
void tally_builder_enable_on_exec(struct tally_builder *b);

/**
 * tally_builder_remove_on_exec - stop for good when the task calls exec()
 * @b: the builder; EINVAL from tally_build() without a task, and with
 *	tally_builder_enable_on_exec()
 *
 * Context: Any context.
 */
void tally_builder_remove_on_exec(struct tally_builder *b);

/**
 * tally_builder_sigtrap - send the task a SIGTRAP at each overflow
 * @b: the builder; EINVAL from tally_build() without a task, without
 *	tally_builder_remove_on_exec() and without a period or frequency, EACCES
 *	for another process without CAP_KILL; EOPNOTSUPP with
 *	tally_builder_inherit() and tally_builder_one_shot()
 * @data: goes to siginfo_t::si_perf_data
 *
 * Context: Any context.
 */
void tally_builder_sigtrap(struct tally_builder *b, u64 data);

/**
 * tally_builder_why - return the sentence for the builder's error
 * @b: the builder, after tally_build() or tally_builder_parse() failed
 *
 * Context: Any context.
 * Return: the sentence, without a full stop; empty if nothing was wrong.
 */
const char *tally_builder_why(const struct tally_builder *b);

/**
 * tally_build - make the event that the builder describes
 * @b: the builder; it stays as it is, and may be built again
 *
 * tally makes all checks of perf's system call, for the caller's rights; only what
 * security modules say of perf, no module can ask. The event is complete, with its
 * folder in debugfs, before it can overflow. An event that does not overflow may count
 * a part of its own making. Events that count the same thing on the same target
 * share one counter.
 *
 * Handlers may run before this returns. They may use the event, but nobody may
 * release it before.
 *
 * Context: Process context, may sleep. Not from a CPU hotplug callback, and not
 * with cpu_hotplug_lock held: perf takes it for software events.
 * Return: the event, or an ERR_PTR with the reason; tally_builder_why() has the
 * sentence. EINVAL, ENAMETOOLONG and EOPNOTSUPP for settings, EACCES without
 * CAP_PERFMON, EEXIST for a name that is taken, ESRCH for a task that is gone,
 * EINTR for a signal while the task is in exec(); and from perf, ENOENT no such
 * event on this machine, ENODEV CPU offline, ENOSPC no breakpoint free, EPERM
 * kernel breakpoints without CAP_SYS_ADMIN, EBUSY no room on the PMU, ENOMEM.
 */
struct tally_event *__must_check tally_build(struct tally_builder *b);

/**
 * tally_event_enable - start counting, or try again after an error
 * @ev: the event; enabling an enabled event changes nothing
 *
 * An event that is off after tally_event_refresh() goes on without a limit.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, also while the CPU is offline: counting starts when it comes;
 * ENODATA if the event is in the error state, ESRCH if its task has exited.
 */
int tally_event_enable(struct tally_event *ev);

/**
 * tally_event_disable - stop counting; the count stays
 * @ev: the event; disabling a disabled event changes nothing
 *
 * Children of an inherited event stop with it. On return no direct handler
 * starts until the event is enabled, but for one on another CPU that an inherited
 * event was about to call; bottom halves may still be called for what overflowed
 * before.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_event_disable(struct tally_event *ev);

/**
 * tally_event_reset - let the value begin at 0 again
 * @ev: the event; its times go on, as they do for PERF_EVENT_IOC_RESET
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_event_reset(struct tally_event *ev);

/**
 * tally_event_read - read the count so far
 * @ev: the event
 * @count: receives the count; for an event on all CPUs, the sum over all CPUs
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Interrupts the CPUs that are counting.
 * Return: 0; ENODATA if the event is in the error state: @count then receives the
 * last value before the error.
 */
int tally_event_read(struct tally_event *ev, struct tally_count *count);

/**
 * tally_event_read_cpu - read the count of one CPU so far
 * @ev: the event
 * @cpu: the CPU
 * @count: receives the count, and the state on this CPU
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Interrupts the CPU if it is counting.
 * Return: 0, also for a CPU that is offline; EINVAL for a CPU that does not
 * exist or that the event is not on, ENODEV for one that its PMU does not
 * serve, ENODATA as tally_event_read().
 */
int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count);

/**
 * tally_event_read_local - read the count so far, of this CPU or task
 * @ev: the event
 * @value: receives the value; for an event on all CPUs, this CPU's part. Unchanged
 *	after an error.
 *
 * Context: Any context, NMI and the event's own handlers included. Takes no
 * lock, interrupts no CPU, does not sleep. With preemption enabled, the caller may be
 * on another CPU afterwards.
 * Return: 0; EINVAL on another CPU than the event's, or in another task; EAGAIN if
 * the event is not counting at this moment: the event is disabled, off the PMU or
 * throttled, its CPU is coming or going, or the caller has interrupted perf at work on
 * the event. ENODEV if the PMU does not serve this CPU. EOPNOTSUPP for an inherited
 * event, because its children count elsewhere; and in NMI for an uncore event, because
 * the driver takes a lock, and for a precise event.
 */
int tally_event_read_local(struct tally_event *ev, u64 *value);

/**
 * tally_event_read_local_count - read the count so far, with its times
 * @ev: the event
 * @count: receives the count of this CPU or task; unchanged after an error
 *
 * As tally_event_read_local(), with perf's times.
 *
 * Context: Any context.
 * Return: as tally_event_read_local().
 */
int tally_event_read_local_count(struct tally_event *ev,
				 struct tally_count *count);

/**
 * tally_event_publish - publish the count regularly, for reads from any CPU
 * @ev: the event, which is no member of a set
 * @interval_ns: nanoseconds from one time to the next, 10,000 to an hour; 0 ends it
 *
 * On each CPU that the event counts on, a timer reads the count and publishes it; so
 * does each overflow, except in NMI of an event that cannot be read there. The timer
 * wakes idle CPUs.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; ERANGE for another interval, EBUSY if it is published, EOPNOTSUPP for
 * an inherited event, whose children count elsewhere, ESRCH if it is being
 * released, ENOMEM.
 */
int tally_event_publish(struct tally_event *ev, u64 interval_ns);

/**
 * tally_event_published - read the count that was published last
 * @ev: the event
 * @cpu: the CPU, for an event on all CPUs; else -1
 * @count: receives the count
 * @age_ns: receives the age of the count in nanoseconds
 *
 * The count is the one that tally_event_read_local() would have returned at that
 * moment. While the event is not counting, the age grows. When the CPU has gone
 * offline, its last count is published in the state TALLY_STATE_OFFLINE.
 *
 * Context: Any context. Takes no lock and interrupts nobody.
 * Return: 0; EINVAL for a CPU that does not exist or that the event is not on,
 * ENODATA if it is not published, or has not been yet.
 */
int tally_event_published(struct tally_event *ev, int cpu,
			  struct tally_count *count, u64 *age_ns);

/**
 * tally_event_state - return the state of the event
 * @ev: the event
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: its state, see enum tally_state for an event on all CPUs;
 * TALLY_STATE_ERROR for NULL and ERR_PTRs.
 */
enum tally_state tally_event_state(struct tally_event *ev);

/**
 * tally_event_name - return the name of the event
 * @ev: the event
 *
 * Context: Any context.
 * Return: its name, valid until it is released; "" for NULL and ERR_PTRs.
 */
const char *tally_event_name(const struct tally_event *ev);

/**
 * tally_event_set_period - change the period or the frequency of an event
 * @ev: the event, which has a period or a frequency
 * @value: the period in counts, or the frequency in Hz, whichever the builder was given
 *
 * The next overflow comes a whole new period after this call, on each CPU. perf
 * takes 10 microseconds for a period of a clock below that.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for an event that only counts, 0, bit 63, and a frequency
 * above kernel.perf_event_max_sample_rate; EOPNOTSUPP for an inherited event,
 * whose children perf would not change. On an error nothing has changed.
 */
int tally_event_set_period(struct tally_event *ev, u64 value);

/**
 * tally_event_refresh - enable an event for a number of overflows
 * @ev: the event; it may be enabled already
 * @overflows: number of overflows, on all CPUs together. If the event is enabled, the
 *	number is added to the rest of an earlier call.
 *
 * The handlers are called exactly that often. The event goes off some time after the
 * last overflow, to the state TALLY_STATE_OFF; its count may go on until then.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for 0 and for an event that only counts, is one-shot, or
 * sends signals, which perf does without asking; else as tally_event_enable().
 */
int tally_event_refresh(struct tally_event *ev, unsigned int overflows);

/**
 * tally_event_rearm - have a one-shot event overflow once more
 * @ev: the event, see tally_builder_one_shot()
 * @period: counts until the overflow, from when the call takes effect; 0 for as many as
 *	before
 *
 * The call takes effect shortly after its return, from a work of high priority. An
 * event that is armed and has not overflowed begins a new period. Of two calls before
 * the work runs, the later one takes effect. If the PMU refuses the period then, there is
 * a line in the log and the period stays as it was. A disabled event stays disabled, and
 * has the period when it is enabled.
 *
 * Context: Any context, NMI and the event's own handlers included.
 * Return: 0; EINVAL for bit 63 and for an event that is not one-shot.
 */
int tally_event_rearm(struct tally_event *ev, u64 period);

/**
 * tally_event_modify - change what a breakpoint watches
 * @ev: a breakpoint, which overflows or only counts
 * @addr: as for TALLY_BREAKPOINT()
 * @len: as for TALLY_BREAKPOINT()
 * @access: as for TALLY_BREAKPOINT()
 *
 * The event stays enabled or disabled, and its count goes on. It changes on one CPU
 * after the other.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EOPNOTSUPP for an event that is no breakpoint, or is inherited; EINVAL for
 * an address, length or access that no breakpoint can have; ENODEV while its CPU is
 * offline; ENOSPC, EPERM and others as tally_build(). On an error nothing has changed.
 */
int tally_event_modify(struct tally_event *ev, unsigned long addr,
		       unsigned int len, u32 access);

/**
 * tally_event_overflow_stats - read the statistics of an event's overflows
 * @ev: the event
 * @stats: receives the statistics; an overflow meanwhile may be in some of the numbers
 *	only
 *
 * Context: Process context.
 * Return: 0; EINVAL for an event that only counts.
 */
int tally_event_overflow_stats(struct tally_event *ev,
			       struct tally_overflow_stats *stats);

/**
 * tally_ring_read - take records out of a forward ring
 * @ev: the event, built with tally_builder_ring() and without TALLY_RING_BACKWARD
 * @cpu: CPU whose records are taken; -1 for the records of all rings, ring by ring
 * @buf: receives the records, one behind the other, each with its perf_event_header
 * @size: bytes of @buf; 65536 is enough for any record
 *
 * The oldest records are taken, and only whole ones; their room in the ring becomes
 * free. Records of one CPU are in the order in which they were written. Readers wait for
 * each other.
 *
 * Context: Process context, may sleep.
 * Return: bytes written to @buf, 0 if there are no records; EINVAL for an event without
 * such a ring and for a CPU that does not exist or that the event does not count on,
 * EMSGSIZE if @size is too small for the next record, ESRCH in a handler of an event that
 * is being released.
 */
ssize_t tally_ring_read(struct tally_event *ev, int cpu, void *buf, size_t size);

/**
 * tally_ring_wait - wait until there are records for tally_ring_read()
 * @ev: the event, built as for tally_ring_read(); it must not be released meanwhile
 * @timeout: the longest time to wait, in jiffies
 *
 * This returns at once if there is any record. Otherwise it returns when the ring of a CPU
 * is half full, or as full as perf_event_attr's wakeup_watermark or wakeup_events says; or
 * after @timeout.
 *
 * Context: Process context, may sleep.
 * Return: 0 if there are records; ETIMEDOUT, EINTR for a signal, EINVAL for an event
 * without such a ring.
 */
int tally_ring_wait(struct tally_event *ev, unsigned long timeout);

/**
 * tally_event_snapshot - freeze a flight recorder
 * @ev: the event, built with tally_builder_ring() and TALLY_RING_BACKWARD
 *
 * From now on nothing is overwritten, on any CPU. Records that come until
 * tally_event_resume() are lost, and counted. When a handler of @ev calls this, the record
 * of its own overflow is in the ring. A recorder that is frozen already stays so.
 *
 * Context: Any context, NMI included, and handlers of this event and of others.
 * Return: 0; EINVAL for an event without such a ring.
 */
int tally_event_snapshot(struct tally_event *ev);

/**
 * tally_snapshot_read - read the newest records of a frozen flight recorder
 * @ev: the event, after tally_event_snapshot()
 * @cpu: CPU whose records are read; -1 if the event counts one CPU or one task
 * @buf: receives the records, the newest first, each with its perf_event_header
 * @size: bytes of @buf; the size of the ring is enough for all records
 *
 * The records stay in the ring, and can be read again.
 *
 * Context: Process context, may sleep; the first call after a freeze waits for an RCU
 * grace period.
 * Return: bytes written to @buf, 0 if there are no records; EBUSY if the recorder is not
 * frozen, EINVAL for an event without such a ring and for a CPU that does not exist or
 * that the event does not count on, EMSGSIZE if @size is too small for the newest record,
 * ESRCH in a handler of an event that is being released.
 */
ssize_t tally_snapshot_read(struct tally_event *ev, int cpu, void *buf, size_t size);

/**
 * tally_event_resume - let a frozen flight recorder go on
 * @ev: the event
 *
 * The records in its rings stay until they are overwritten. A tally_event_snapshot() at
 * the same time takes effect either before this or after it.
 *
 * Context: Process context, may sleep.
 * Return: 0, also if the recorder was not frozen; EINVAL for an event without such a ring.
 */
int tally_event_resume(struct tally_event *ev);

/**
 * tally_event_release - end an event and free it
 * @ev: the event; NULL and ERR_PTRs are ignored
 *
 * On return its files are gone, nothing counts for it, no handler of it is
 * running or will be, on any CPU, and its memory is free. What was queued for
 * its bottom halves has been handed to them; what an interrupt was to be given on
 * a CPU that went offline has not, and was missed.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback, nor
 * under a lock that an open file of the event's folder may wait for, or one of
 * its handlers.
 * Return: 0; EDEADLK in any event's handler or in atomic context: the event
 * would wait for the caller, and goes on as it was.
 */
int tally_event_release(struct tally_event *ev);

/** define TALLY_SET_MOST - How many members a set may have. */
#define TALLY_SET_MOST 64

/** define TALLY_NOT_COUNTED - The value of a member that was not counted. */
#define TALLY_NOT_COUNTED U64_MAX

/**
 * struct tally_set_window - what the counts of a set have in common
 * @time_ns: when they were read, by local_clock() of the CPU that counts; of a
 *	set on all CPUs, the latest of these
 * @ratio_valid: all members were on the PMU for the whole time that the set was
 *	enabled, and none was throttled: their values are of the same window, and
 *	can be divided by each other
 */
struct tally_set_window {
	u64 time_ns;
	bool ratio_valid;
};

/* Where a member of a set stood when a section began; private. */
struct tally_mark {
	u64 value;
	u64 stamp;
};

/* The beginning of each section; private. */
struct tally_section {
	struct tally_set *set;
	u64 where;
	struct tally_view **views;
	const void **reading;
	u64 time;
	struct tally_mark marks[];
};

/**
 * define TALLY_SECTION - A section, as a variable or as a member of a struct.
 * @name: name of the section
 * @members: a constant, at least the number of members of the set
 *
 * A section takes 40 bytes, and 16 bytes for each member. It needs no
 * initialization. A section that was begun need not be ended.
 */
#define TALLY_SECTION(name, members)					\
	union {								\
		struct tally_section head;				\
		struct {						\
			u8 before[sizeof(struct tally_section)];	\
			struct tally_mark marks[members];		\
		};							\
	} name

/**
 * tally_set_build - make several events that are read in one window
 * @builders: of the members, all for the same target, with handlers if wanted
 * @n: how many, up to TALLY_SET_MOST
 *
 * Either all members are built or none. Members are events like others, with names
 * and files, but only the set enables, disables, resets and releases them. The set is
 * enabled once built, unless the first builder is disabled; the others do not
 * matter. tally_builder_require() of one of them is for all: EBUSY unless all of
 * them count at the same time.
 *
 * Context: Process context, may sleep; as tally_build().
 * Return: the set, or an ERR_PTR: EINVAL for no or too many members, or another
 * target or owner than the first member's; EOPNOTSUPP for an inherited member, ENOMEM, or
 * what tally_build() says of a member; tally_set_failed() tells which.
 */
struct tally_set *__must_check tally_set_build(struct tally_builder *builders,
					       unsigned int n);

/**
 * tally_set_failed - return which member tally_set_build() could not make
 * @builders: as given to it
 * @n: as given to it
 *
 * Context: Any context.
 * Return: its index, for which tally_builder_why() has the sentence; -1 if it
 * was none of them.
 */
int tally_set_failed(const struct tally_builder *builders, unsigned int n);

/**
 * tally_set_enable - begin the window, or try again after an error
 * @set: the set; enabling an enabled set does not begin anew
 *
 * perf enables one event after the other. When all are, they are read at one
 * moment, on each CPU, from which they count: what a member counted before the
 * others were there is left out. A member that is not on the PMU at that moment
 * begins with its own enabling, and the ratio is not valid; nor is it if a task
 * was so busy coming and going that its members could not begin together.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, or the first of what tally_event_enable() returns for the members.
 */
int tally_set_enable(struct tally_set *set);

/**
 * tally_set_disable - end the window; the counts stay
 * @set: the set
 *
 * All members are read at one moment, on each CPU, and count no further; then
 * perf disables one after the other. Their overflows go on until that is done.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_set_disable(struct tally_set *set);

/**
 * tally_set_reset - let the values of all members begin at 0 again
 * @set: the set; times go on
 *
 * The values begin at one moment on each CPU, so that their ratios are valid again.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_set_reset(struct tally_set *set);

/**
 * tally_set_read - read all members, at one moment
 * @set: the set
 * @window: receives what they have in common
 * @counts: receives a count for each member, in the order of the builders; the
 *	sums over all CPUs for a set on all CPUs. A member that has not been on the
 *	PMU has the value TALLY_NOT_COUNTED.
 *
 * Each CPU that is counting is interrupted once, all of them at the same time, however
 * many members there are. If a pointer is NULL or an ERR_PTR, nothing is read.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_set_read(struct tally_set *set, struct tally_set_window *window,
		    struct tally_count *counts);

/**
 * tally_set_read_cpu - read all members on one CPU, at one moment
 * @set: the set
 * @cpu: the CPU
 * @window: as for tally_set_read()
 * @counts: as for tally_set_read()
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Interrupts the CPU once if it is counting.
 * Return: 0, also for a CPU that is offline; EINVAL for a CPU that does not
 * exist or that the set is not on.
 */
int tally_set_read_cpu(struct tally_set *set, int cpu,
		       struct tally_set_window *window,
		       struct tally_count *counts);

/**
 * tally_set_read_local - read all members on this CPU, at one moment
 * @set: the set, on this CPU, on all CPUs or on this task
 * @window: receives the time of the read, and whether the ratios are valid
 * @counts: receives a count for each member, in the order of the builders
 *
 * The call succeeds if at least one member could be read. A member that could not,
 * because it is not counting at this moment, then has the value TALLY_NOT_COUNTED,
 * which is U64_MAX, the times 0 and the state TALLY_STATE_INACTIVE; and
 * tally_set_window::ratio_valid is false. So a caller that wants all members looks at
 * each value, or at ratio_valid.
 *
 * Context: Any context, NMI and the members' handlers included. Takes no lock,
 * interrupts no CPU, does not sleep.
 * Return: 0 if at least one member could be read; else the error that
 * tally_event_read_local() returns for the first member: EAGAIN for a set that is
 * disabled. @window and @counts mean nothing then.
 */
int tally_set_read_local(struct tally_set *set, struct tally_set_window *window,
			 struct tally_count *counts);

/**
 * tally_set_publish - publish the counts regularly, for reads from any CPU
 * @set: the set
 * @interval_ns: how often, from 10,000 (10 us) for every eight members begun to an
 *	hour; 0 ends it
 *
 * As tally_event_publish(). All members of a CPU are read at one moment.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: as tally_event_publish().
 */
int tally_set_publish(struct tally_set *set, u64 interval_ns);

/**
 * tally_set_published - read the counts that were published last
 * @set: the set
 * @cpu: which CPU, for a set on all CPUs; else -1
 * @counts: receives a count for each member, all of one moment; one that was not
 *	counting at that moment is in the state TALLY_STATE_INACTIVE, and has what
 *	was published before
 * @age_ns: receives the age of the count in nanoseconds
 *
 * Context: Any context. Takes no lock and interrupts nobody.
 * Return: as tally_event_published().
 */
int tally_set_published(struct tally_set *set, int cpu,
			struct tally_count *counts, u64 *age_ns);

int __tally_section_begin(struct tally_set *set, struct tally_section *section,
			  unsigned int room);
int __tally_section_end(struct tally_set *set, struct tally_section *section, u64 *out);

/* The compiler knows the addresses of variables: the check of those costs nothing. */
#define __tally_may_be_bad(ptr)						\
	(__builtin_object_size(ptr, 0) == (size_t)-1 && IS_ERR_OR_NULL(ptr))

/**
 * tally_section_begin - begin to measure what this CPU does
 * @set: the set, on this CPU, on all CPUs or on this task
 * @section: the caller's section, see TALLY_SECTION(). A section that was begun
 *	before begins anew.
 *
 * Sections may overlap, and there may be any number of them. The caller sees to it
 * that nobody else uses @section until it has ended: an interrupt has a section of
 * its own. Neither the set nor the CPU knows which sections there are.
 *
 * Context: Any context in which the caller stays on its CPU until
 * tally_section_end(): with preemption disabled, in interrupts, in NMI. Takes no lock
 * and interrupts no CPU.
 * Return: 0; EINVAL with preemption enabled, on a CPU or in a task that the set is not
 * on, or for a section with fewer members than the set; EAGAIN if a member is not
 * counting at this moment. After an error tally_section_end() returns EINVAL.
 */
#define tally_section_begin(set, section)				\
({									\
	typeof(section) __section = (section);				\
									\
	__tally_may_be_bad(__section) ? -EINVAL :			\
	__tally_section_begin(set, &__section->head,			\
			      ARRAY_SIZE(__section->marks));		\
})

/**
 * tally_section_end - end a section, and return what was counted in it
 * @set: the set that the section was begun with
 * @section: the section
 * @out: receives a value for each member, in the order of the builders
 *
 * The values contain a part of what the two calls do, the same part each time.
 *
 * Context: As tally_section_begin().
 * Return: 0: all members counted throughout, and their ratios are valid. EAGAIN if a
 * member did not, or may not have, because perf changed it meanwhile. EINVAL for a
 * section that did not begin or has ended, that began on another CPU or in another
 * task, or that began with another set; in the last case the section goes on, in all
 * others it has ended. After an error @out means nothing.
 */
#define tally_section_end(set, section, out)				\
({									\
	typeof(section) __section = (section);				\
	u64 *__out = (out);						\
									\
	__tally_may_be_bad(__section) || __tally_may_be_bad(__out) ? -EINVAL :	\
	__tally_section_end(set, &__section->head, __out);		\
})

/**
 * tally_set_size - the number of members
 * @set: the set
 *
 * Context: Any context.
 * Return: the number; 0 for NULL and ERR_PTRs.
 */
unsigned int tally_set_size(const struct tally_set *set);

/**
 * tally_set_event - return a member
 * @set: the set
 * @index: which, in the order of the builders
 *
 * The member is for what concerns one event alone: its name, its counts, its
 * overflows. The caller must not enable, disable, reset or release it.
 *
 * Context: Any context.
 * Return: the event; NULL if there is no such member, and for NULL and ERR_PTRs.
 */
struct tally_event *tally_set_event(struct tally_set *set, unsigned int index);

/**
 * tally_set_release - end a set and its members, and free them
 * @set: the set; NULL and ERR_PTRs are ignored
 *
 * As tally_event_release(), for all members at once.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback. Nobody uses
 * the set, or a section of it, any more.
 * Return: 0; EDEADLK in any event's handler or in atomic context.
 */
int tally_set_release(struct tally_set *set);

/**
 * tally_count_scaled - estimate the value of an event that was multiplexed
 * @count: a count of tally_event_read()
 *
 * The estimate is value * enabled_ns / running_ns, rounded down, computed in 128 bits.
 * perf reads the two times one after the other, so running_ns may be larger; then the
 * value is not scaled.
 *
 * Context: Any context.
 * Return: the estimate; U64_MAX if it is larger than that; 0 if running_ns is 0, which
 * means that the event has not counted at all, and for NULL and ERR_PTRs.
 */
u64 tally_count_scaled(const struct tally_count *count);

/**
 * tally_state_name - name a state
 * @state: the state
 *
 * Context: Any context.
 * Return: "off", "inactive", "active", "error", "offline", "exited" or
 * "throttled".
 */
const char *tally_state_name(enum tally_state state);

#endif /* TALLY_TALLY_H */
