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
 *	u64 out[2];
 *
 *	tally_builder_init(&b[0], TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
 *	tally_builder_init(&b[1], TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
 *	set = tally_set_build(b, 2);
 *	...
 *	preempt_disable();
 *	err = tally_section_begin(set);
 *	what_is_measured();
 *	if (!err)
 *		err = tally_section_end(set, out);
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
 * - Sections have no error but those of a local read, and EAGAIN from the end if
 *   perf has had to do with a member meanwhile, for then it may have been away.
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
void tally_builder_on_overflow(struct tally_builder *b, tally_overflow_fn fn,
			       void *context);
void tally_builder_on_overflow_irq(struct tally_builder *b,
				   tally_overflow_fn fn, void *context);
void tally_builder_on_overflow_work(struct tally_builder *b,
				    tally_overflow_fn fn, void *context);
void tally_builder_queue(struct tally_builder *b, unsigned int samples);
void tally_builder_max_rate(struct tally_builder *b, u32 per_second);
void tally_builder_one_shot(struct tally_builder *b);
void tally_builder_sample_time(struct tally_builder *b);
void tally_builder_branches(struct tally_builder *b, u64 mask);
void tally_builder_ring(struct tally_builder *b, size_t bytes, u32 flags);
void tally_builder_sample_type(struct tally_builder *b, u64 sample_type);
void tally_builder_enable_on_exec(struct tally_builder *b);
void tally_builder_remove_on_exec(struct tally_builder *b);
void tally_builder_sigtrap(struct tally_builder *b, u64 data);
const char *tally_builder_why(const struct tally_builder *b);

struct tally_event *__must_check tally_build(struct tally_builder *b);

int tally_event_enable(struct tally_event *ev);
void tally_event_disable(struct tally_event *ev);
void tally_event_reset(struct tally_event *ev);
int tally_event_read(struct tally_event *ev, struct tally_count *count);
int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count);
int tally_event_read_local(struct tally_event *ev, u64 *value);
int tally_event_read_local_count(struct tally_event *ev,
				 struct tally_count *count);
int tally_event_publish(struct tally_event *ev, u64 interval_ns);
int tally_event_published(struct tally_event *ev, int cpu,
			  struct tally_count *count, u64 *age_ns);
enum tally_state tally_event_state(struct tally_event *ev);
const char *tally_event_name(const struct tally_event *ev);
int tally_event_set_period(struct tally_event *ev, u64 value);
int tally_event_refresh(struct tally_event *ev, unsigned int overflows);
int tally_event_rearm(struct tally_event *ev, u64 period);
int tally_event_modify(struct tally_event *ev, unsigned long addr,
		       unsigned int len, u32 access);
int tally_event_overflow_stats(struct tally_event *ev,
			       struct tally_overflow_stats *stats);
ssize_t tally_ring_read(struct tally_event *ev, int cpu, void *buf, size_t size);
int tally_ring_wait(struct tally_event *ev, unsigned long timeout);
int tally_event_snapshot(struct tally_event *ev);
ssize_t tally_snapshot_read(struct tally_event *ev, int cpu, void *buf, size_t size);
int tally_event_resume(struct tally_event *ev);
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

/* private: where a member of a set stood when a section began */
struct tally_mark {
	u64 value;
	u64 stamp;
};

/* private: what every section begins with */
struct tally_section {
	struct tally_set *set;
	u64 where;
	struct tally_view **views;
	const void **reading;
	u64 time;
	struct tally_mark marks[];
};

/**
 * define TALLY_SECTION - Declares a section: a variable, or a member of a struct.
 * @name: the name of the section
 * @members: the number of members of the set, or more: a constant
 *
 * A section is 40 bytes and 16 for each member. It needs no initialization, and no
 * end: tally_section_begin() begins it anew, whatever it was.
 */
#define TALLY_SECTION(name, members)					\
	union {								\
		struct tally_section head;				\
		struct {						\
			u8 before[sizeof(struct tally_section)];	\
			struct tally_mark marks[members];		\
		};							\
	} name

struct tally_set *__must_check tally_set_build(struct tally_builder *builders,
					       unsigned int n);
int tally_set_failed(const struct tally_builder *builders, unsigned int n);
int tally_set_enable(struct tally_set *set);
void tally_set_disable(struct tally_set *set);
void tally_set_reset(struct tally_set *set);
void tally_set_read(struct tally_set *set, struct tally_set_window *window,
		    struct tally_count *counts);
int tally_set_read_cpu(struct tally_set *set, int cpu,
		       struct tally_set_window *window,
		       struct tally_count *counts);
int tally_set_read_local(struct tally_set *set, struct tally_set_window *window,
			 struct tally_count *counts);
int tally_set_publish(struct tally_set *set, u64 interval_ns);
int tally_set_published(struct tally_set *set, int cpu,
			struct tally_count *counts, u64 *age_ns);
int __tally_section_begin(struct tally_set *set, struct tally_section *section,
			  unsigned int room);
int __tally_section_end(struct tally_set *set, struct tally_section *section, u64 *out);

/*
 * Whether a pointer may be NULL or an ERR_PTR. The compiler knows that the address of a
 * variable is not, which then costs nothing.
 */
#define __tally_may_be_bad(ptr)						\
	(__builtin_object_size(ptr, 0) == (size_t)-1 && IS_ERR_OR_NULL(ptr))

#define tally_section_begin(set, section)				\
	(__tally_may_be_bad(section) ? -EINVAL :			\
	 __tally_section_begin(set, &(section)->head, ARRAY_SIZE((section)->marks)))

#define tally_section_end(set, section, out)				\
	(__tally_may_be_bad(section) || __tally_may_be_bad(out) ? -EINVAL : \
	 __tally_section_end(set, &(section)->head, out))

unsigned int tally_set_size(const struct tally_set *set);
struct tally_event *tally_set_event(struct tally_set *set, unsigned int index);
int tally_set_release(struct tally_set *set);

u64 tally_count_scaled(const struct tally_count *count);
const char *tally_state_name(enum tally_state state);

#endif /* TALLY_TALLY_H */
