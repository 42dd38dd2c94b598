/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tally: counters that live in the kernel, for other modules.
 *
 * A builder describes what to count, where and how. tally_build() checks the
 * description and makes an event. An event counts until it is released. CPUs may go
 * offline and come online, and tasks may exit, while it counts: its totals do not fall then.
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
 * Functions return negative errors: this file says EINVAL for -EINVAL. A function that
 * receives NULL or an ERR_PTR instead of an object returns EINVAL, or does nothing if it
 * returns nothing, unless its description says otherwise. A builder keeps the error for
 * tally_build().
 *
 * All functions are exported to GPL modules in the symbol namespace TALLY: a module
 * that uses them has MODULE_IMPORT_NS(TALLY), or MODULE_IMPORT_NS("TALLY") from
 * Linux 6.13 on.
 */

/**
 * DOC: Overflow handlers
 *
 * An event with a period or a frequency overflows. Each overflow calls the handlers of
 * the event's builder. A builder may have all three kinds:
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
 * runs in                the context that     hard interrupt,   a kernel thread,
 *                        overflowed, on its   the same CPU,     any CPU, some time
 *                        CPU: expect NMI      soon              later
 * use per-CPU data       if NMI-safe          yes               as any thread
 * atomics, irq_work      yes                  yes               yes
 * raw_spin_lock          trylock only         yes               irqsave, if the irq
 *                                                               handler takes it
 * spin_lock              no                   not PREEMPT_RT    yes
 * wake_up, kill_fasync   no                   not PREEMPT_RT    yes
 * complete, queue_work   no                   yes               yes
 * printk                 no                   sparingly         yes
 * allocate, free         no                   GFP_ATOMIC, not   GFP_KERNEL
 *                                             PREEMPT_RT
 * sleep, take a mutex    no                   no                yes
 * tally_event_rearm()    yes                  yes               yes
 * tally_event_snapshot() yes                  yes               yes
 * read_local, published  yes                  yes               yes
 * others that may sleep  no                   no                yes
 * tally_event_release()  no: EDEADLK          no: EDEADLK       no: EDEADLK
 * read sample->regs      yes, if not NULL     NULL              NULL
 * =====================  ===================  ================  ===================
 *
 * - A direct handler (on_overflow) runs in the PMU's interrupt for hardware events, which is
 *   an NMI on x86. It runs in NMI for kernel breakpoints of x86, and in hard interrupt for
 *   clocks. For software events and tracepoints it runs in any context that they happen in;
 *   the scheduler's happen with a runqueue locked. So write each direct handler as for NMI.
 *   TALLY_SAMPLE_NMI is set in the samples of overflows in NMI.
 * - Also on PREEMPT_RT, on_overflow_irq runs in hard interrupt, with interrupts disabled,
 *   and so do the direct handlers of clocks. A handler that has to wake a wait queue, to
 *   take a spinlock_t or to allocate there uses queue_work() or irq_work_queue(): an
 *   irq_work of init_irq_work() runs in a thread there. wake_up_process() and
 *   complete() take raw locks only.
 * - A direct handler never interrupts itself on one CPU. An overflow that comes on
 *   that CPU while the handler runs is counted in tally_overflow_stats::skipped. The
 *   handler of an event on all CPUs, or of an inherited event, may run on several CPUs
 *   at the same time.
 * - The handlers in interrupt and in process context get copies of the samples, from a
 *   queue on each CPU, in the order in which the overflows came on that CPU. An
 *   overflow that finds the queue full is counted in tally_overflow_stats::missed, and
 *   in tally_sample::missed of the next copy. tally_builder_queue() sets the size of
 *   the queue. If an event has both handlers, the one in interrupt gets a sample
 *   first, and the sample stays in the queue until both have handled it.
 * - These two handlers may still be called for some time after
 *   tally_event_disable(). tally_event_release() waits until all queued samples are
 *   handled; no handler is called after that.
 * - An event is disabled until tally_build() is about to return. Its handlers may run
 *   before the caller has stored the pointer to the event, and get it as an argument.
 * - A handler is a function of the module that built the event. When a module is
 *   unloaded, the events that its exit function did not release are released before
 *   the module's memory is freed. So the exit function must not free what a handler
 *   uses without releasing the event first.
 * - An event that overflows more often on a CPU than tally_builder_max_rate() allows is stopped
 *   there for 10 ms, or for a second. Meanwhile its state is TALLY_STATE_THROTTLED.
 */

/**
 * DOC: Reads and sets
 *
 * =========================  ==============  =====================================
 * call                       context         approximate cost, in instructions
 * =========================  ==============  =====================================
 * tally_event_read()         may sleep       as perf_event_read_value(); all CPUs:
 *                                            one interrupt on each, at one time
 * tally_event_read_local()   any             30 more than pmu->read() and a load; 65
 *                                            if the counter's register is read
 * tally_set_read()           may sleep       one interrupt on each CPU, for any
 *                                            number of members
 * tally_set_read_local()     any             200 for each member
 * tally_section_begin/end()  any with a      twice pmu->read() and a load of each
 *                            fixed CPU       member, or twice its register
 * tally_event_published()    any             150, no interrupt on any CPU
 * =========================  ==============  =====================================
 *
 * A local read returns the count of the CPU, or the task, that calls it; it returns
 * EINVAL on another CPU than the event's, or in another task. It never waits, and never
 * returns an old count: it returns EAGAIN if the event is not counting at this moment,
 * or if the caller has interrupted perf at work on the event. A caller in NMI, in a
 * kprobe or at a tracepoint may have interrupted perf; the NMI of an event may have,
 * right after the event was enabled. Any other caller gets EAGAIN for an event that counts, too,
 * but only while another CPU makes perf work on the same task or CPU.
 *
 * A set has several events on one target. Either all of them are built or none:
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
 * (struct tally_builder is large: allocate the builders of a set with many members.)
 *
 * - On x86 and arm64, the members that the PMU of the cores counts are a group of perf: they are
 *   on the PMU together, or none of them is. If the PMU has no counters for all of them,
 *   tally_set_build() returns EINVAL, and tally_builder_why() of the member that has no room says
 *   how many fit. A set with members of several PMUs, and with tally_builder_weak(), is cut into
 *   groups instead. As in perf, a group that needs a counter which others hold for good never
 *   counts.
 * - Since Linux 6.2, the software events, tracepoints and kernel probes of a set are in its group,
 *   too, unless cores are of several kinds. They need no counter of the PMU.
 * - The first member of a group may overflow, be pinned or be exclusive: its group goes on the
 *   PMU first, or alone. The others do not count while a first member that overflows is disabled.
 * - Other members are in no group: those of other PMUs (as precise ones on AMD), breakpoints,
 *   others that overflow, pinned and exclusive ones whose first member is not, those with
 *   remove_on_exec, and those of a task on a machine with several kinds of cores.
 * - If all members are one group, or were all on the PMU for the whole window, their ratios are
 *   valid: see struct tally_set_window. With tally_builder_require(), tally_set_build()
 *   fails if the PMU has no room for all members at that moment. The value of a member that
 *   has never been on the PMU is TALLY_NOT_COUNTED, not 0.
 * - The window of a set begins and ends at one moment on each CPU, at which all
 *   members are read. The moments of several CPUs are some microseconds apart.
 * - A section is the caller's variable. tally_section_end() returns EINVAL on another
 *   CPU or in another task than tally_section_begin(). A section that is never ended
 *   costs nothing. The set may be released as soon as nobody uses it any more.
 * - Published counts are written by timers of busy CPUs, and by the event's overflows. A
 *   reader gets their age, and interrupts no CPU.
 */

/**
 * DOC: Rings
 *
 * An event with a period or a frequency may record its overflows in rings, as perf
 * does for user programs. An event on all CPUs has one ring for each CPU, any other
 * event has one ring. A record has perf's layout: a struct perf_event_header, then the
 * fields that tally_builder_sample_type() asks for, in perf's order:
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
 * That is a forward ring: it becomes full if nobody reads it. A ring with
 * TALLY_RING_BACKWARD is a flight recorder: the newest records overwrite the oldest,
 * and nobody reads the ring until something went wrong:
 *
 *	static void wrong(struct tally_event *watch,
 *			  const struct tally_sample *sample, void *context)
 *	{
 *		tally_event_snapshot(recorder);
 *		schedule_work(&look);
 *	}
 *
 * (as on_overflow_irq; a direct handler calls irq_work_queue() instead of
 * schedule_work()) and then, in process context,
 *
 *	n = tally_snapshot_read(recorder, cpu, buf, size);
 *	...
 *	tally_event_resume(recorder);
 *
 * ======================  =============  =========================================
 * call                    context        ring
 * ======================  =============  =========================================
 * tally_ring_read()       may sleep      forward: removes records, oldest first
 * tally_ring_wait()       may sleep      forward: waits for records
 * tally_event_snapshot()  any            backward: freezes it
 * tally_snapshot_read()   may sleep      backward and frozen: copies records, newest
 *                                        first
 * tally_event_resume()    may sleep      backward: ends the freeze
 * ======================  =============  =========================================
 *
 * - A ring has whole records, in the order in which they were written. An overflow that
 *   is not recorded because its ring is full or frozen is counted in
 *   tally_overflow_stats::lost. In forward and backward rings, the next record has a
 *   PERF_RECORD_LOST before it. An overflow that comes while the event is throttled is
 *   neither recorded nor counted as lost; it is counted in tally_overflow_stats::skipped
 *   if the event has a direct handler.
 * - The record is written before the event's handlers are called.
 * - With TALLY_RING_PANIC, a kernel panic freezes the rings, and a dump of the memory has
 *   the records that were written before it. The list tally_flight_recorders links each
 *   struct tally_recorder by its "node". In a recorder, out->slots[n].ring is the ring
 *   of CPU n; an event on one CPU or one task has out->nr_slots 1, and its ring in
 *   out->slots[0].ring. out->type is the sample_type, out->ev->name is the name of the
 *   event. A struct tally_ring has "size" bytes of records at "data". The newest record
 *   begins at data + (page->data_head & (size - 1)), the older ones follow it. The
 *   bytes at "data" are mapped twice in a row, so each record is in one piece. A crash
 *   kernel, if one is loaded, runs before the rings are frozen, and finds them the same
 *   way.
 * - With TALLY_RING_SHARED, programs may map the rings and read them while the event goes
 *   on: see TALLY_IOC_RING_INFO in <linux/tally.h>. They read the same memory as the
 *   module, and cannot write to it.
 * - An event on all CPUs has rings for all possible CPUs, also while these are offline.
 *   The rings end with the event: by tally_event_release() or when its module is
 *   unloaded.
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

/* Room for the description of an event in lines of text, its NUL included. */
#define TALLY_EVENT_NAME_LEN 96

/**
 * struct tally_what - the thing that an event counts
 * @type:	PERF_TYPE_*, or the number of a PMU
 * @bp_type:	HW_BREAKPOINT_*, for breakpoints
 * @config:	event code of that type
 * @config1:	first extension; the address of a breakpoint
 * @config2:	second extension; the length of a breakpoint, the address of
 *		a kprobe
 * @pmu:	name of a PMU, used instead of @type when it is not NULL
 * @symbol:	kernel symbol to probe, looked up by tally_builder_init();
 *		@config2 is the offset from it
 *
 * The macros TALLY_HARDWARE() to TALLY_KRETPROBE_SYMBOL() make it. Only
 * tally_builder_init() uses the strings; they may be freed when it has returned.
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

/** define TALLY_RAW - An event by its code for the PMU of the CPU, on all kinds of cores. */
#define TALLY_RAW(code) \
	((struct tally_what){ .type = PERF_TYPE_RAW, .config = (code) })

/**
 * define TALLY_TRACEPOINT - A tracepoint by number.
 * @id: the number in its "id" file in tracefs
 *
 * tally_build() refuses ftrace:function, which would hook every function of the kernel
 * if it has no filter.
 */
#define TALLY_TRACEPOINT(id) \
	((struct tally_what){ .type = PERF_TYPE_TRACEPOINT, .config = (id) })

/**
 * define TALLY_BREAKPOINT - A hardware breakpoint.
 * @addr: the address, a multiple of @len
 * @len: length in bytes, 1 to 8; 0 for the machine's length of an instruction breakpoint
 * @access: HW_BREAKPOINT_R, _W, _RW or _X; x86 has no HW_BREAKPOINT_R
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

/** define TALLY_KPROBE_SYMBOL - TALLY_KPROBE() by symbol and offset. */
#define TALLY_KPROBE_SYMBOL(name, offset)			\
	((struct tally_what){ .pmu = "kprobe", .symbol = (name),	\
			      .config2 = (offset) })

/** define TALLY_KRETPROBE_SYMBOL - TALLY_KRETPROBE() by symbol. */
#define TALLY_KRETPROBE_SYMBOL(name)				\
	((struct tally_what){ .pmu = "kprobe", .config = 1, .symbol = (name) })

/**
 * enum tally_exclude - the parts of a machine that tally_builder_exclude() leaves out
 * @TALLY_EXCLUDE_USER: user space
 * @TALLY_EXCLUDE_KERNEL: the kernel
 * @TALLY_EXCLUDE_HV: the hypervisor, if the PMU can distinguish it
 * @TALLY_EXCLUDE_IDLE: the idle task, if the PMU can leave it out
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
 * enum tally_ring_flags - properties of a ring, for tally_builder_ring()
 * @TALLY_RING_BACKWARD: the newest records overwrite the oldest
 * @TALLY_RING_PANIC: a panic freezes the ring, so that a dump has its records;
 *	tally_build() returns EINVAL without TALLY_RING_BACKWARD
 * @TALLY_RING_SHARED: programs with CAP_PERFMON may map the ring and read it, from a
 *	file that TALLY_IOC_ATTACH made; tally_build() returns EOPNOTSUPP for counts,
 *	branches, registers and stacks in the samples
 */
enum tally_ring_flags {
	TALLY_RING_BACKWARD	= BIT(0),
	TALLY_RING_PANIC	= BIT(1),
	TALLY_RING_SHARED	= BIT(2),
};

/**
 * enum tally_state - state of an event, or of its part on one CPU
 * @TALLY_STATE_OFF: disabled by its owner; or waiting for exec() after
 *	tally_builder_enable_on_exec(), for tally_event_rearm(), or for another
 *	tally_event_refresh()
 * @TALLY_STATE_INACTIVE: enabled, but not counting at this moment: its task is
 *	not running, or other events hold the PMU
 * @TALLY_STATE_ACTIVE: counting
 * @TALLY_STATE_ERROR: a pinned event has no place on the PMU; or perf could not make the part
 *	for a CPU that came online: then that part is in this state, and the whole event only if
 *	all its other CPUs are offline. tally_event_enable() tries again
 * @TALLY_STATE_OFFLINE: the CPU is offline, or a kernel probe is in a module that is not loaded;
 *	counting resumes with the CPU or the module
 * @TALLY_STATE_EXITED: the task has exited, or called exec() with
 *	tally_builder_remove_on_exec(), or of a program with more rights; or the cgroup or the PMU
 *	is removed; or a kernel probe, of which only the address is known, was in a module that is
 *	unloaded. The final count stays readable, and that of an inherited event may grow as long
 *	as there are children
 * @TALLY_STATE_THROTTLED: stopped after too many overflows: by tally for 10 ms or a second, or
 *	by perf until the next tick
 * @TALLY_STATE_SILENT: counting on a PMU, but no overflow has come while the count passed
 *	the period twice or, with a frequency, ten times since the event was enabled: the PMU's
 *	interrupt does not reach the CPU. Reads that sleep and tally_event_state() find this out,
 *	within three calls. Not for inherited events and budgets, and not if the idle task is
 *	excluded.
 *
 * The state of an event on all CPUs is the first of these that one of its parts has: error (of
 * a pinned event), silent, throttled, active, inactive, off, exited, offline. 7 is
 * %TALLY_IS_RELEASED.
 */
enum tally_state {
	TALLY_STATE_OFF,
	TALLY_STATE_INACTIVE,
	TALLY_STATE_ACTIVE,
	TALLY_STATE_ERROR,
	TALLY_STATE_OFFLINE,
	TALLY_STATE_EXITED,
	TALLY_STATE_THROTTLED,
	TALLY_STATE_SILENT = 8,
};

/**
 * struct tally_count - the count of an event
 * @value:	value of the count; nanoseconds for clock events
 * @enabled_ns:	nanoseconds the event was enabled, summed over CPUs
 * @running_ns:	nanoseconds the event was on the PMU, summed over CPUs; less than
 *		@enabled_ns if the event was multiplexed
 * @state:	state of the event
 */
struct tally_count {
	u64 value;
	u64 enabled_ns;
	u64 running_ns;
	enum tally_state state;
};

/**
 * enum tally_sample_flags - properties of an overflow
 * @TALLY_SAMPLE_NMI: the overflow came in an NMI
 * @TALLY_SAMPLE_USER: the CPU was in user space
 * @TALLY_SAMPLE_EXACT_IP: tally_sample::ip is the instruction that caused the overflow;
 *	without this flag it may be a later one
 * @TALLY_SAMPLE_ADDR: tally_sample::addr is valid
 * @TALLY_SAMPLE_TIME: tally_sample::time is valid
 * @TALLY_SAMPLE_THROTTLED: perf stopped the event until the next tick
 * @TALLY_SAMPLE_CHILD: the overflow is of a child's inherited event
 * @TALLY_SAMPLE_GUEST: the task was running a guest of KVM (PF_VCPU). The sample has the
 *	address and the registers of the host's code that entered the guest, which perf would
 *	not show.
 * @TALLY_SAMPLE_TRUNCATED: the raw data had more than TALLY_RAW_MOST bytes, or the branches of
 *	a copy were more than TALLY_BRANCHES_MOST: the sample has the first of them
 */
enum tally_sample_flags {
	TALLY_SAMPLE_NMI	= BIT(0),
	TALLY_SAMPLE_USER	= BIT(1),
	TALLY_SAMPLE_EXACT_IP	= BIT(2),
	TALLY_SAMPLE_ADDR	= BIT(3),
	TALLY_SAMPLE_TIME	= BIT(4),
	TALLY_SAMPLE_THROTTLED	= BIT(5),
	TALLY_SAMPLE_CHILD	= BIT(6),
	TALLY_SAMPLE_GUEST	= BIT(7),
	TALLY_SAMPLE_TRUNCATED	= BIT(8),
};

/** define TALLY_RAW_MOST - The largest number of bytes of raw data in a payload. */
#define TALLY_RAW_MOST 512

/** define TALLY_BRANCHES_MOST - The largest number of branches in the copy of a sample. */
#define TALLY_BRANCHES_MOST 32

/**
 * struct tally_payload - fields of a sample that tally_builder_sample_type() asks for
 * @present:	fields that the sample has, as bits: PERF_SAMPLE_WEIGHT,
 *		PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_PHYS_ADDR and
 *		PERF_SAMPLE_RAW. All other fields are absent, and 0.
 * @weight:	cost of the access, in the PMU's unit; with PERF_SAMPLE_WEIGHT_STRUCT a
 *		union perf_sample_weight
 * @data_src:	source of the data, a union perf_mem_data_src
 * @phys_addr:	physical address of tally_sample::addr. It is absent for memory of vmalloc(),
 *		for memory of a user that is not mapped at that moment, and in the kernel if the
 *		event excludes it.
 * @raw_size:	bytes in @raw
 * @raw_full:	bytes of raw data that perf had; more than @raw_size if they were cut
 * @raw:	raw data; of a tracepoint, the entry that its format in tracefs describes,
 *		with padding
 */
struct tally_payload {
	u64 present;
	u64 weight;
	u64 data_src;
	u64 phys_addr;
	u32 raw_size;
	u32 raw_full;
	void *raw;
	/* private: memory for a copy of the branches */
	struct perf_branch_stack *room;
};

/**
 * struct tally_sample - one overflow
 * @ip:		instruction pointer of the CPU; 0 in the kernel if the event excludes it
 * @addr:	address of the data, if TALLY_SAMPLE_ADDR is set, else 0
 * @period:	number of counts that the overflow stands for
 * @sequence:	number of the overflow among those of the event on this CPU, from 1 on;
 *		overflows while throttled have no number. The copy of an overflow that
 *		came while the direct handler was running has the number of the overflow
 *		that the handler was called for.
 * @time:	local_clock() in nanoseconds, if TALLY_SAMPLE_TIME is set: always in
 *		copies, and for a direct handler after tally_builder_sample_time()
 * @missed:	in copies, number of overflows on this CPU that found the queue full
 *		since the previous copy
 * @cpu:	CPU that the overflow came on
 * @flags:	flags of enum tally_sample_flags
 * @tid:	thread that was running, in the initial PID namespace; 0 for the idle task
 * @pid:	process of that thread
 * @regs:	registers of the CPU, valid until a direct handler returns; NULL in copies,
 *		and in the kernel if the event excludes it
 * @branches:	last branches; NULL if the PMU recorded none, in the kernel if the event
 *		excludes it, and without tally_builder_branches()
 * @payload:	fields of struct tally_payload that tally_builder_sample_type() asks for; if it
 *		asks for none, NULL, or in copies with branches a payload with @present 0. As
 *		@branches, it is valid until the handler returns.
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
	struct tally_payload *payload;
};

/**
 * typedef tally_overflow_fn - a handler of overflows
 * @ev: the event, also if a child's inherited event overflowed
 * @sample: the overflow, valid during the call
 * @context: the pointer that the builder was given with the handler
 *
 * Context: See "Overflow handlers" above.
 */
typedef void (*tally_overflow_fn)(struct tally_event *ev,
				  const struct tally_sample *sample,
				  void *context);

/**
 * struct tally_handler - a handler of overflows and its argument
 * @fn: the handler; NULL for none
 * @context: last argument of @fn
 */
struct tally_handler {
	tally_overflow_fn fn;
	void *context;
};

/* define TALLY_RATE_UNLIMITED - For tally_builder_max_rate(). */
#define TALLY_RATE_UNLIMITED U32_MAX

/**
 * struct tally_overflow_stats - statistics of an event's overflows, summed over CPUs
 * @overflows:	 number of overflows, without those after the limit of
 *		 tally_event_refresh(), later ones in the window of a budget, and those of the
 *		 idle task if it is excluded
 * @skipped:	 number of overflows without a call of the direct handler, because it
 *		 was running on the same CPU or the event was throttled
 * @missed:	 number of overflows without a call of the handlers in interrupt and in
 *		 process context, because the queue was full or the event was throttled
 * @lost:	 number of records lost, because a ring was full, frozen or paused
 * @throttled:	 number of times that perf or tally stopped the event
 * @handler_ns:	 nanoseconds in all handlers, estimated from the first call and at least
 *		 every 64th
 * @handler_max_ns: nanoseconds of the longest of those calls
 * @guest:	 number of overflows in a guest of KVM: TALLY_SAMPLE_GUEST
 */
struct tally_overflow_stats {
	u64 overflows;
	u64 skipped;
	u64 missed;
	u64 lost;
	u64 throttled;
	u64 handler_ns;
	u64 handler_max_ns;
	u64 guest;
};

/* define TALLY_FUNC_MEMBERS - The greatest number of members of tally_func_build(). */
#define TALLY_FUNC_MEMBERS 8

/**
 * struct tally_func_stats - calls of a function
 * @calls: calls that began and were not missed
 * @counted: calls that returned, and were counted
 * @moved: calls that are left out, because they returned on another CPU
 * @switched: calls that are left out, because their task was switched away meanwhile
 * @uncounted: calls that are left out, because a member was not counting
 * @missed: calls that were not seen: within the handler of a probe, or too many at a time. A
 *	kretprobe also misses those of interrupts that come in such a handler.
 * @state: TALLY_STATE_ACTIVE; TALLY_STATE_OFFLINE while the function's module is not loaded
 *
 * @calls is the sum of the next four and of the calls that have not returned yet.
 */
struct tally_func_stats {
	u64 calls;
	u64 counted;
	u64 moved;
	u64 switched;
	u64 uncounted;
	u64 missed;
	enum tally_state state;
};

/* define TALLY_BUDGET_LATEST - Number of windows whose numbers struct tally_budget_stats has. */
#define TALLY_BUDGET_LATEST 8

/**
 * struct tally_budget_stats - the windows of an event with a budget, on one CPU
 * @window:	 number of the current window: CLOCK_MONOTONIC divided by the length,
 *		 plus 1
 * @windows:	 number of windows that have ended, also while the CPU was offline
 * @exceeded:	 number of windows that counted more than the budget, with the current one
 * @latest:	 numbers of the latest of these, the last one first; 0 for none
 */
struct tally_budget_stats {
	u64 window;
	u64 windows;
	u64 exceeded;
	u64 latest[TALLY_BUDGET_LATEST];
};

/**
 * struct tally_builder - the description of an event
 *
 * A builder is a variable of the caller, for example on the stack. It holds no
 * reference and needs no clean-up, and any number of events can be built from it. Its
 * members are private. Setters never fail: the builder keeps the error of the first bad
 * setting. tally_build() returns that error, and tally_builder_why() describes it.
 */
struct tally_builder {
	/* private: */
	struct perf_event_attr attr;
	struct module *owner;
	struct task_struct *task;
	struct tally_account *account;
	struct tally_event *leader;
	u64 cgroup;
	u64 period;
	u64 freq;
	u64 budget;
	u64 window_ns;
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
	char why[112];
};

void __tally_builder_init(struct tally_builder *b, struct tally_what what,
			  struct module *owner);

/**
 * tally_builder_init - begin to describe an event
 * @b: the builder
 * @what: the thing to count, by TALLY_HARDWARE() ... TALLY_KRETPROBE_SYMBOL()
 *
 * All other settings get their defaults: all CPUs, enabled once built, no name;
 * events of the CPUs' own PMUs do not count virtual machines. The calling module
 * becomes the owner. When it is unloaded, the events that it did not release are
 * released, with a warning in the log.
 *
 * Context: Process context, may sleep to look up the name of a PMU or symbol.
 */
#define tally_builder_init(b, what) \
	__tally_builder_init(b, what, THIS_MODULE)

void __tally_builder_init_attr(struct tally_builder *b,
			       const struct perf_event_attr *attr,
			       struct module *owner);

/**
 * tally_builder_init_attr - begin from a ready struct perf_event_attr
 * @b: the builder
 * @attr: the attributes, which are copied. @attr->disabled is as
 *	tally_builder_disabled().
 *
 * tally_build() checks the attributes as all other settings. sample_type may have the
 * fields of struct tally_sample, and with tally_builder_ring() the fields of records;
 * tally_build() returns EOPNOTSUPP for other fields and records, EINVAL for reserved
 * bits.
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
 * @line: an event by perf's name, then options, separated by blanks:
 *	"cycles:k cpu=1 name=kcycles". tally-events(7) lists all of them.
 *
 * Without name= the event gets a unique name, as after tally_builder_init(): any number
 * of events can be built from the same line. tally_build() looks up pid= in the caller's
 * PID namespace.
 *
 * Context: Process context, may sleep.
 * Return: 0 if the line is well formed; tally_build() checks the settings. EINVAL for a
 * line that is not, ENOENT for a name that this machine does not have, and other errors.
 * tally_build() then returns the same error, and tally_builder_why() describes it.
 */
#define tally_builder_parse(b, line) \
	__tally_builder_parse(b, line, THIS_MODULE)

/**
 * tally_builder_name - set the name of the event
 * @b: the builder
 * @name: the name, also of the event's folder in debugfs: fewer than TALLY_NAME_LEN
 *	printable ASCII characters, no blank and no '/'. The name is copied.
 *
 * tally_build() returns EEXIST for a name that is taken. Without this call the event
 * gets a unique name that consists of its module, the thing it counts and a number.
 *
 * Context: Any context.
 */
void tally_builder_name(struct tally_builder *b, const char *name);

/**
 * tally_builder_config - set the extensions of a PMU's event code
 * @b: the builder
 * @config1: perf_event_attr::config1
 * @config2: perf_event_attr::config2
 * @config3: perf_event_attr::config3; tally_build() returns EOPNOTSUPP for another value
 *	than 0 before Linux 6.3
 *
 * Context: Any context.
 */
void tally_builder_config(struct tally_builder *b, u64 config1, u64 config2,
			  u64 config3);

/**
 * tally_builder_on_cpu - count on one CPU
 * @b: the builder
 * @cpu: number of the CPU
 *
 * With a task, the event counts the task while it runs on @cpu. tally_build() returns EINVAL
 * for a CPU that cannot exist and, without a task, ENODEV for a CPU that is offline.
 *
 * Context: Any context.
 */
void tally_builder_on_cpu(struct tally_builder *b, int cpu);

/**
 * tally_builder_on_all_cpus - count on all CPUs, also on those that come online later
 * @b: the builder
 *
 * This is the default. A PMU that serves only some CPUs counts on these.
 *
 * Context: Any context.
 */
void tally_builder_on_all_cpus(struct tally_builder *b);

/**
 * tally_builder_on_task - count one task, on any CPU
 * @b: the builder
 * @task: the task, to which the caller holds a reference until tally_build() has
 *	returned. tally_build() returns ESRCH for a task that is exiting.
 *
 * Context: Any context.
 */
void tally_builder_on_task(struct tally_builder *b, struct task_struct *task);

/**
 * tally_builder_on_pid - count one task by its number
 * @b: the builder
 * @pid: number of the task in the PID namespace of the caller of tally_build(), which
 *	returns ESRCH if there is no such task; 0 for the caller itself
 *
 * Context: Any context.
 */
void tally_builder_on_pid(struct tally_builder *b, pid_t pid);

/**
 * tally_builder_on_cgroup - count the tasks of a cgroup and of all cgroups below it
 * @b: the builder
 * @path: path of the cgroup from the root of the hierarchy that has perf's controller, as
 *	for perf stat -G: cgroup2, unless perf_event is mounted as cgroup1; "/" for the root
 *
 * The event counts on one CPU or on all CPUs, and is one of perf's own for cgroups. So perf
 * switches it when the CPU switches between tasks of different cgroups, and at once when a
 * task moves. It counts the interrupts of a task, but not what an idle CPU does, unless the
 * cgroup is the root. On a CPU that runs no task of the cgroup, the event is
 * TALLY_STATE_INACTIVE, its times stand still, and a local read returns EAGAIN. A period is
 * made up of what the event counts, so each overflow is one of a task of the cgroup.
 *
 * The builder keeps the cgroup's number. tally_build() returns ENOENT if the cgroup is
 * removed by then, and EINVAL for a PMU that counts for several CPUs. A cgroup that is
 * removed later keeps its count.
 *
 * Errors of tally_build(): ENOENT if there is no such cgroup; EINVAL for a task besides the
 * cgroup, and in a kernel without CONFIG_CGROUP_PERF; ENOMEM.
 *
 * Context: Process context, may sleep.
 */
void tally_builder_on_cgroup(struct tally_builder *b, const char *path);

/**
 * tally_builder_on_cgroup_fd - as tally_builder_on_cgroup(), by a descriptor
 * @b: the builder
 * @fd: descriptor of the cgroup's directory, of the calling task
 *
 * tally_build() returns EBADF for a descriptor of anything else, and ENOENT also for a cgroup
 * of another hierarchy.
 *
 * Context: Process context, may sleep.
 */
void tally_builder_on_cgroup_fd(struct tally_builder *b, int fd);

/**
 * tally_builder_period - set the period of an event that overflows
 * @b: the builder
 * @period: counts from one overflow to the next, 1 to 2^63 - 1; 0 for an event that only
 *	counts
 *
 * An event with a period has no tally_builder_freq(), and has something that receives
 * the overflows: a handler, a ring or tally_builder_sigtrap(). perf takes a period of a
 * clock below 10 microseconds for 10 microseconds.
 *
 * Context: Any context.
 */
void tally_builder_period(struct tally_builder *b, u64 period);

/**
 * tally_builder_freq - set the number of overflows per second
 * @b: the builder
 * @hz: overflows per second, at most kernel.perf_event_max_sample_rate; 0 for an event
 *	that only counts
 *
 * An event with a frequency has no tally_builder_period(), and has something that
 * receives the overflows: a handler, a ring or tally_builder_sigtrap(). perf adapts the
 * period to the frequency, and may begin with a burst of overflows.
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
 * tally_builder_pinned - have the event always on the PMU while it is enabled
 * @b: the builder
 *
 * If the PMU has no room, the event goes to the state TALLY_STATE_ERROR.
 *
 * Context: Any context.
 */
void tally_builder_pinned(struct tally_builder *b);

/**
 * tally_builder_exclusive - let no other event count on the PMU while this one does
 * @b: the builder
 *
 * Pinned events, such as that of the NMI watchdog, count all the same, unless this event is pinned,
 * too.
 *
 * Context: Any context.
 */
void tally_builder_exclusive(struct tally_builder *b);

/**
 * tally_builder_exclude - set the parts of the machine that are not counted
 * @b: the builder
 * @mask: flags of enum tally_exclude, instead of the default; 0 counts everything.
 *	tally_build() returns EINVAL for unknown bits.
 *
 * perf lets a software event, tracepoint or kernel probe exclude anything. Its count is then 0 if
 * the event never happens in what is left, as a context switch in user space. Or perf counts what
 * is excluded, because it cannot tell: a clock counts all time, and no such event leaves out the
 * host. tally_build() returns EINVAL where perf would count 0 or too much, and for a tracepoint by
 * its number that excludes the kernel: only its name says where it happens. A clock that samples
 * may exclude user space, the kernel or the idle task. What a hardware event counts is left to the
 * driver of its PMU. Those of x86's cores take anything, so tally_build() returns EINVAL if such an
 * event excludes both user space and the kernel, both the host and its guests or, unless it
 * samples, the idle task.
 *
 * Context: Any context.
 */
void tally_builder_exclude(struct tally_builder *b, u32 mask);

/** define TALLY_PRECISE_MAX - The highest level of precision that the PMU accepts. */
#define TALLY_PRECISE_MAX	(~0U)

/**
 * tally_builder_precise - set how precise the instruction pointer of a sample is
 * @b: the builder
 * @level: perf_event_attr::precise_ip, 0 to 3, which the PMU accepts or refuses; or
 *	TALLY_PRECISE_MAX: the highest level that the PMU accepts, which
 *	tally_event_precise() returns. tally_build() returns EINVAL for another level than 0
 *	if the event only counts.
 *
 * Context: Any context.
 */
void tally_builder_precise(struct tally_builder *b, unsigned int level);

/**
 * tally_builder_require - fail if the PMU has no room for the event
 * @b: the builder
 *
 * tally_build() returns EBUSY if the event cannot count at once on one of its CPUs. It
 * does not wait for a task that is not running at this moment.
 *
 * Context: Any context.
 */
void tally_builder_require(struct tally_builder *b);

/**
 * tally_builder_weak - let a set be cut before this member
 * @b: the builder
 *
 * If the group of perf has no room for this member beside those before, the member begins another
 * group, which takes turns with the first one. tally_set_window::ratio_valid is then false while
 * they do. For a member without this setting, tally_set_build() returns EINVAL.
 *
 * Context: Any context.
 */
void tally_builder_weak(struct tally_builder *b);

/**
 * tally_builder_on_overflow - call a function at each overflow
 * @b: the builder
 * @fn: the direct handler, which runs in the context that overflowed, NMI included: see
 *	"Overflow handlers" above. NULL for none; tally_build() returns EINVAL for a
 *	function that is not of the builder's module.
 * @context: last argument of @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow(struct tally_builder *b, tally_overflow_fn fn,
			       void *context);

/**
 * tally_builder_on_overflow_irq - call a function in hard interrupt
 * @b: the builder
 * @fn: the handler, which gets a copy of each sample, on the same CPU, shortly
 *	after the overflow, in hard interrupt also on PREEMPT_RT. NULL, and a function of
 *	another module, as for tally_builder_on_overflow()
 * @context: last argument of @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_irq(struct tally_builder *b,
				   tally_overflow_fn fn, void *context);

/**
 * tally_builder_on_overflow_work - call a function in process context
 * @b: the builder
 * @fn: the handler, which gets a copy of each sample, in an unbound workqueue, and may sleep.
 *	NULL, and a function of another module, as for tally_builder_on_overflow()
 * @context: last argument of @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_work(struct tally_builder *b,
				    tally_overflow_fn fn, void *context);

/**
 * tally_builder_queue - set the size of the queues of samples
 * @b: the builder
 * @samples: size of each CPU's queue in samples, 1 to 65536, rounded up to a power of
 *	two; 0 for the default, 256. tally_build() returns EINVAL without a handler that reads it.
 *
 * A queue holds the samples that wait for the handlers of
 * tally_builder_on_overflow_irq() and tally_builder_on_overflow_work().
 *
 * Context: Any context.
 */
void tally_builder_queue(struct tally_builder *b, unsigned int samples);

/**
 * tally_builder_max_rate - limit the rate of overflows
 * @b: the builder
 * @per_second: overflows per second on each CPU, or TALLY_RATE_UNLIMITED; 0 for the
 *	default, which is 10,000 for clocks and hardware, and no limit for all others
 *
 * The rate is measured over 10 ms, a rate below 1,000 over a second. An event that
 * overflows more often is stopped for the same time, in the state
 * TALLY_STATE_THROTTLED. perf cannot stop the children of an inherited event: instead,
 * the handlers of such an event are not called for that time. tally_build() returns EINVAL
 * for an event that only counts.
 *
 * Context: Any context.
 */
void tally_builder_max_rate(struct tally_builder *b, u32 per_second);

/**
 * tally_builder_budget - allow so many counts in each window of time
 * @b: the builder; tally_build() returns EINVAL together with a period, a frequency or
 *	tally_builder_one_shot(), for another @max, and if nothing receives the overflows; ERANGE
 *	for another @window_ns; and EOPNOTSUPP for an event of a task, if the trick "times" or
 *	"reload" is off, and for a PMU that counts only at overflows
 * @max: counts that are allowed in one window, 1 to 2^62
 * @window_ns: length of a window in nanoseconds, 100 microseconds to 10 seconds
 *
 * Each CPU has a budget of its own, and windows that begin at multiples of their length on
 * CLOCK_MONOTONIC. If a CPU counts more than @max in a window, the event overflows there,
 * once in this window, and calls its handlers of any kind. When the window ends, the
 * budget is whole again: a timer in hard interrupt begins a new period on the spot, and no
 * thread has a part in it. All budgets with windows of the same length share one timer of
 * each CPU. If interrupts are off for whole windows, these count as one that has their number of
 * budgets: at most one of them is found exceeded. No handler is called for an excess that is found
 * only at the end of the window: while perf throttles the event, or if the budget is used up in the
 * few steps in which the window begins.
 *
 * Context: Any context.
 */
void tally_builder_budget(struct tally_builder *b, u64 max, u64 window_ns);

/**
 * tally_builder_one_shot - let the event overflow once, until tally_event_rearm()
 * @b: the builder; tally_build() returns EINVAL for an event that is not on one CPU or
 *	one task, only counts, has a frequency, is inherited or waits for exec()
 *
 * Context: Any context.
 */
void tally_builder_one_shot(struct tally_builder *b);

/**
 * tally_builder_sample_time - give a direct handler the time of each overflow
 * @b: the builder; tally_build() returns EINVAL for an event that only counts
 *
 * The time costs as much as all the rest of a sample. Copies always have it.
 *
 * Context: Any context.
 */
void tally_builder_sample_time(struct tally_builder *b);

/**
 * tally_builder_branches - give handlers the last branches before each overflow
 * @b: the builder
 * @mask: perf_event_attr::branch_sample_type, with at least one kind of branch. A mask
 *	without privilege levels gets those of the event. tally_build() returns
 *	EOPNOTSUPP if the PMU does not record branches, and EINVAL for an event that only counts.
 *
 * A direct handler gets all branches. The handlers in interrupt and in process context get
 * a copy of the first TALLY_BRANCHES_MOST, for which each place of the queue has memory.
 *
 * Context: Any context.
 */
void tally_builder_branches(struct tally_builder *b, u64 mask);

/**
 * tally_builder_ring - record the overflows in rings
 * @b: the builder; tally_build() returns EINVAL without a period or frequency, without
 *	a sample_type, and with tally_builder_inherit() but no tally_builder_on_cpu()
 * @bytes: size of each ring's records, rounded up to a power of two of pages.
 *	tally_build() returns EINVAL for 0, and for more than 2^20 pages. No user is
 *	charged for them.
 * @flags: flags of enum tally_ring_flags; tally_build() returns EINVAL for others
 *
 * The event needs no handler, and may have all of them. An event on all CPUs has a ring
 * for each possible CPU, any other event has one. See "Rings" above.
 * TALLY_RING_BACKWARD is the same as perf_event_attr::write_backward.
 *
 * Context: Any context.
 */
void tally_builder_ring(struct tally_builder *b, size_t bytes, u32 flags);

/**
 * tally_builder_sample_type - set the fields of records, and of the handlers' samples
 * @b: the builder
 * @sample_type: PERF_SAMPLE_*, instead of those of tally_builder_init_attr() and
 *	tally_builder_branches(). tally_build() returns EINVAL for unknown bits, and
 *	EOPNOTSUPP for fields that records do not have or, without
 *	tally_builder_ring(), that struct tally_sample does not have.
 *
 * PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_DATA_SRC,
 * PERF_SAMPLE_PHYS_ADDR and PERF_SAMPLE_RAW give the handlers a struct tally_payload. A PMU
 * or a tracepoint need not have such data: tally_payload::present has the fields of a sample. For
 * PERF_SAMPLE_PHYS_ADDR tally_build() returns EACCES where perf does. Each place of
 * the queue has memory for the payload, with PERF_SAMPLE_RAW of TALLY_RAW_MOST bytes.
 *
 * With PERF_SAMPLE_PERIOD, a period and a ring, perf's software events and tracepoints overflow
 * at each occurrence, and the record has the number of counts.
 *
 * Context: Any context.
 */
void tally_builder_sample_type(struct tally_builder *b, u64 sample_type);

/**
 * tally_builder_enable_on_exec - start counting when the task calls exec()
 * @b: the builder; tally_build() returns EINVAL without a task, or with
 *	tally_builder_require()
 *
 * Only the first exec() enables the event. tally_builder_disabled() is needed, too: an
 * event that is not built disabled is enabled at once.
 *
 * Context: Any context.
 */
void tally_builder_enable_on_exec(struct tally_builder *b);

/**
 * tally_builder_remove_on_exec - stop for good when the task calls exec()
 * @b: the builder; tally_build() returns EINVAL without a task, or with
 *	tally_builder_enable_on_exec()
 *
 * Context: Any context.
 */
void tally_builder_remove_on_exec(struct tally_builder *b);

/**
 * tally_builder_sigtrap - send the task a SIGTRAP at each overflow
 * @b: the builder; tally_build() returns EINVAL without a task, without
 *	tally_builder_remove_on_exec() and without a period or frequency; EACCES for a
 *	task of another process without CAP_KILL; EOPNOTSUPP with
 *	tally_builder_inherit(), with tally_builder_one_shot(), and with both
 *	tally_builder_require() and tally_builder_disabled()
 * @data: value of siginfo_t::si_perf_data
 *
 * Context: Any context.
 */
void tally_builder_sigtrap(struct tally_builder *b, u64 data);

/**
 * tally_builder_why - return the description of the builder's error
 * @b: the builder, after tally_build() or tally_builder_parse() failed
 *
 * Context: Any context.
 * Return: the description, without a full stop; "" if there was no error, "no builder" for NULL
 * and ERR_PTRs.
 */
const char *tally_builder_why(const struct tally_builder *b);

/**
 * tally_build - make the event that the builder describes
 * @b: the builder; a successful call does not change it, and it can be built again
 *
 * tally checks all that perf's system call checks, for the rights of the current task:
 * see builder/rights.c for what modules cannot see. An event that overflows is
 * complete, with its folder in debugfs, before it is enabled. An event that only counts
 * may count a part of its own making. Events that count the same thing on the same
 * target share one counter. The members of a set share theirs only with those of an equal
 * set.
 *
 * Handlers may run before this function returns. They may use the event, but nobody may
 * release it before this function has returned.
 *
 * Context: Process context, may sleep. Not from a CPU hotplug callback, and not
 * with cpu_hotplug_lock held: perf takes it for software events.
 * Return: the event, or an ERR_PTR, which tally_builder_why() describes: EINVAL, ERANGE,
 * EADDRNOTAVAIL, ENAMETOOLONG, EOVERFLOW, EBADF and EOPNOTSUPP for settings, EACCES and EPERM
 * without the right, EEXIST for a name that is taken, ESRCH for a task that has exited, EINTR for a
 * signal while the task is in exec(). From perf: ENOENT for an event that this machine does not
 * have, ENODEV for a CPU that is offline, ENOSPC if no breakpoint is free, EBUSY if the PMU
 * has no room, ENOMEM, and others. EOPNOTSUPP also for what does not work on this kernel, or what
 * an administrator has switched off: see the file tricks in debugfs.
 */
struct tally_event *__must_check tally_build(struct tally_builder *b);

/**
 * tally_event_enable - start counting, or try again after an error
 * @ev: the event; enabling an enabled event changes nothing
 *
 * An event that went off after tally_event_refresh() goes on without a limit.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, also while the CPU is offline: counting starts when it comes online.
 * ENODATA if the event is in the error state, ESRCH if it is in the state TALLY_STATE_EXITED, or is
 * being released.
 */
int tally_event_enable(struct tally_event *ev);

/**
 * tally_event_disable - stop counting, and keep the count
 * @ev: the event; disabling a disabled event changes nothing
 *
 * The children of an inherited event stop with it. When this function has returned, no
 * direct handler starts until the event is enabled, but for one on another CPU that an
 * inherited event was about to call. The handlers in interrupt and in process context may
 * still be called, for overflows that came before.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_event_disable(struct tally_event *ev);

/**
 * tally_event_reset - set the value to 0
 * @ev: the event; its times go on, as with PERF_EVENT_IOC_RESET
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
 * tally_event_read_scaled - read the count so far, with its estimate for all the time enabled
 * @ev: the event
 * @count: receives the count, as tally_event_read() returns it
 * @estimate: receives the sum of tally_count_scaled() of all CPUs; U64_MAX if it is larger than
 *	that. A CPU on which the event had no part of the PMU adds 0.
 *
 * On each CPU, the event may have another share of the PMU. So tally_count_scaled() of the sum over
 * CPUs is wrong by as much as these shares differ.
 *
 * Context: As tally_event_read().
 * Return: As tally_event_read().
 */
int tally_event_read_scaled(struct tally_event *ev, struct tally_count *count, u64 *estimate);

/**
 * tally_event_read_cpu - read the count of one CPU so far
 * @ev: the event
 * @cpu: the CPU
 * @count: receives the count, and the state on this CPU
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Interrupts the CPU if it is counting.
 * Return: 0, also for a CPU that is offline; EINVAL for a CPU that does not exist or that the
 * event does not count on, and for an event of a task on any CPU; ENODEV for a CPU that its
 * PMU does not serve, ENODATA as tally_event_read().
 */
int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count);

/**
 * tally_event_read_local - read the count of this CPU or task
 * @ev: the event
 * @value: receives the value, for an event on all CPUs that of this CPU; unchanged after
 *	an error
 *
 * Context: Any context, NMI and the event's own handlers included. Takes no
 * lock, interrupts no CPU, does not sleep. With preemption enabled, the caller may be on
 * another CPU when the function returns.
 * Return: 0; EINVAL on another CPU than the event's, or in another task; EAGAIN if
 * the event is not counting at this moment: the event is disabled, off the PMU or
 * throttled, its CPU is going offline or coming online, or the caller has interrupted
 * perf at work on the event, or a read of its group. ENODEV if the PMU does not serve this
 * CPU. EOPNOTSUPP for an inherited event, because its children count elsewhere; if the file
 * tricks in debugfs has "times" off or wrong; for an event whose PMU brings the count up to
 * date by overflows only, as AMD's IBS does, except in its direct handler; and in NMI for an
 * uncore event, because the driver takes a lock, and for a precise event.
 */
int tally_event_read_local(struct tally_event *ev, u64 *value);

/**
 * tally_event_read_local_count - read the count of this CPU or task, with its times
 * @ev: the event
 * @count: receives the count; unchanged after an error
 *
 * This is tally_event_read_local() with perf's times.
 *
 * Context: Any context.
 * Return: as tally_event_read_local().
 */
int tally_event_read_local_count(struct tally_event *ev,
				 struct tally_count *count);

/**
 * tally_event_publish - publish the count regularly, for reads from any CPU
 * @ev: the event, which is no member of a set
 * @interval_ns: nanoseconds from one publication to the next, from 10,000 (10 us) to an
 *	hour; 0 ends publishing
 *
 * On each busy CPU that the event counts on, or on the CPU that the event's task runs on, a
 * timer reads the count and publishes it. The timer runs in hard interrupt, also on
 * PREEMPT_RT. It ends when it finds its CPU idle, and begins again at a tick that finds the
 * CPU busy, an interval later at the earliest. So an idle CPU keeps the count that was
 * published last, and so does a CPU that is busy between its ticks only. CPUs of nohz_full=
 * have no timer.
 *
 * Each overflow publishes the count, too, except in NMI if the event cannot be read there.
 * The first count is published at once, by an interrupt on each CPU that is counting.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; ERANGE for another interval, EBUSY if the event is published already,
 * EOPNOTSUPP for an inherited event, because its children count elsewhere, and if the file tricks
 * in debugfs has "times" off or wrong; ESRCH if the event is being released, ENOMEM.
 */
int tally_event_publish(struct tally_event *ev, u64 interval_ns);

/**
 * tally_event_published - read the count that was published last
 * @ev: the event
 * @cpu: CPU whose count is read; -1 if the event counts one CPU or one task
 * @count: receives the count
 * @age_ns: receives the age of the count in nanoseconds
 *
 * The count is the one that tally_event_read_local_count() would have returned when it
 * was published. While the event is not counting, and while its CPU is idle, the age grows.
 * When the CPU has gone offline, its last count is published in the state
 * TALLY_STATE_OFFLINE.
 *
 * Context: Any context. Takes no lock and interrupts no CPU.
 * Return: 0; EINVAL for a CPU that does not exist or that the event does not count on,
 * ENODATA if the event is not published, or no count has been published yet.
 */
int tally_event_published(struct tally_event *ev, int cpu,
			  struct tally_count *count, u64 *age_ns);

/**
 * tally_event_state - return the state of the event
 * @ev: the event
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: the state; TALLY_STATE_ERROR for NULL and ERR_PTRs.
 */
enum tally_state tally_event_state(struct tally_event *ev);

/**
 * tally_event_name - return the name of the event
 * @ev: the event
 *
 * Context: Any context.
 * Return: the name, valid until the event is released; "" for NULL and ERR_PTRs.
 */
const char *tally_event_name(const struct tally_event *ev);

/**
 * tally_event_set_period - change the period or the frequency of an event
 * @ev: the event, which has a period or a frequency
 * @value: the period in counts, or the frequency in Hz, whichever the builder was given
 *
 * The next overflow comes a whole new period after this call, on each CPU. perf takes a
 * period of a clock below 10 microseconds for 10 microseconds.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for an event that only counts or has a budget, a value of 0, a value with
 * bit 63 set, and a frequency above kernel.perf_event_max_sample_rate; EOPNOTSUPP for an
 * inherited event, because perf would not change its children. After an error nothing has
 * changed.
 */
int tally_event_set_period(struct tally_event *ev, u64 value);

/**
 * tally_event_period - return the period that is in effect
 * @ev: the event, which has a period or a frequency
 * @cpu: a CPU, if the event is on all CPUs; else ignored
 *
 * For a frequency perf changes the period at overflows and ticks. A clock has a period of at
 * least 10,000 nanoseconds. The driver of a PMU may still round the period that it is given.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: number of counts from one overflow to the next; 0 for an event that only counts, for
 * a CPU that is offline or that the event does not count on, NULL and ERR_PTRs.
 */
u64 tally_event_period(struct tally_event *ev, int cpu);

/**
 * tally_event_precise - return the precision that was obtained
 * @ev: the event
 *
 * A PMU that does not know of precision accepts any level. TALLY_SAMPLE_EXACT_IP says of each
 * sample whether its instruction pointer is exact.
 *
 * Context: Any context.
 * Return: perf_event_attr::precise_ip, 0 to 3, as the PMU accepted it; 0 for NULL and
 * ERR_PTRs.
 */
unsigned int tally_event_precise(const struct tally_event *ev);

/**
 * tally_event_refresh - enable an event for a number of overflows
 * @ev: the event; it may be enabled already
 * @overflows: number of overflows, on all CPUs together. If the event is enabled, the
 *	number is added to the rest of an earlier call.
 *
 * The direct handler is called exactly that often, and so are the others unless a queue is full.
 * The event is disabled some time after the last overflow, in the state TALLY_STATE_OFF; its count
 * may go on until then.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for 0, and for an event that only counts, is one-shot, or sends
 * signals, because perf sends signals without a limit; else as tally_event_enable().
 */
int tally_event_refresh(struct tally_event *ev, unsigned int overflows);

/**
 * tally_event_rearm - let a one-shot event overflow once more
 * @ev: the event, see tally_builder_one_shot()
 * @period: counts until the overflow, from when the call takes effect; 0 for as many as
 *	before
 *
 * In hard interrupt, on the CPU that the event counts on, the call takes effect at once unless the
 * event has been switched off after its overflow; so it does in the handler of
 * tally_builder_on_overflow_irq(). Elsewhere it takes effect shortly after its return, from a work
 * of high priority. An event that is armed and has not overflowed begins a new period. Of two calls
 * before the work runs, the later one takes effect. If the PMU refuses the period in the work,
 * there is a line in the log and the period stays as it was. A disabled event stays disabled, and
 * has the period when it is enabled.
 *
 * Context: Any context, NMI and the event's own handlers included.
 * Return: 0; EINVAL for a period with bit 63 set, for one that the PMU refuses if the call
 * would take effect at once, and for an event that is not one-shot.
 */
int tally_event_rearm(struct tally_event *ev, u64 period);

/**
 * tally_event_reload - begin a new period, of another length
 * @ev: the event, which has a period
 * @period: counts until the next overflow, from when the call takes effect
 *
 * In hard interrupt, on a CPU that the event counts on, the call takes effect at once, on
 * this CPU. Other CPUs keep their period; a CPU that comes online gets the latest. Elsewhere
 * it takes effect shortly after its return, on all CPUs, from a work of high priority; if
 * the PMU refuses the period in the work, there is a line in the log and the period stays
 * as it was.
 *
 * Context: Any context, NMI and the event's own handlers included.
 * Return: 0; EINVAL for an event that only counts, has a frequency or a budget or is
 * one-shot (see tally_event_rearm()), for a period of 0, one with bit 63 set, and one that the
 * PMU refuses if the call would take effect at once; EOPNOTSUPP for an inherited event.
 */
int tally_event_reload(struct tally_event *ev, u64 period);

/**
 * tally_event_budget - return the windows of an event with a budget
 * @ev: the event, see tally_builder_budget()
 * @cpu: the CPU
 * @stats: receives the windows
 *
 * Context: Any context.
 * Return: 0; EINVAL for an event without a budget, and for a CPU that it does not count on.
 */
int tally_event_budget(struct tally_event *ev, int cpu, struct tally_budget_stats *stats);

/**
 * tally_event_budget_used - return what was counted in the current window on this CPU
 * @ev: the event, see tally_builder_budget()
 * @used: receives the number of counts
 *
 * Context: Any context, NMI and the event's own handlers included.
 * Return: 0; EINVAL for an event without a budget, and on a CPU that it does not count on;
 * EAGAIN if the event counts and cannot be read here, or is being disabled. Of an event that is
 * disabled, or not on the PMU, it is the last number.
 */
int tally_event_budget_used(struct tally_event *ev, u64 *used);

/**
 * tally_event_modify - change what a breakpoint watches
 * @ev: the event of a breakpoint, which overflows or only counts
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
 * offline; ENOSPC, EPERM and others as tally_build(). After an error nothing has changed.
 */
int tally_event_modify(struct tally_event *ev, unsigned long addr,
		       unsigned int len, u32 access);

/**
 * tally_event_overflow_stats - read the statistics of an event's overflows
 * @ev: the event
 * @stats: receives the statistics; an overflow that comes during the call may be in some
 *	of the numbers only
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
 * This function returns at once if there is any record. Otherwise it returns when the
 * ring of a CPU is half full, or as full as perf_event_attr's wakeup_watermark or
 * wakeup_events says; or after @timeout. The waiter is woken in hard interrupt; on
 * PREEMPT_RT by the thread for irq_works of the CPU that wrote the record, whose priority
 * is SCHED_FIFO 1.
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
 * No record is overwritten from now on, on any CPU. Records that come until
 * tally_event_resume() are lost, and counted. If the direct handler of @ev calls this function,
 * the record of its own overflow is in the ring; if another handler does, newer records may have
 * overwritten that record. A frozen recorder stays frozen.
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
 * Return: 0, also if the recorder was not frozen; EINVAL for an event without such a
 * ring.
 */
int tally_event_resume(struct tally_event *ev);

/**
 * tally_event_release - end an event and free it
 * @ev: the event; NULL and ERR_PTRs are ignored
 *
 * When this function has returned, the event's files are gone, its counting has ended, no
 * handler of it runs on any CPU, and its memory is freed. All queued samples have been
 * handled, but for those of a handler in interrupt on a CPU that went offline: these are
 * missed.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback, and not under a
 * lock that a handler of the event waits for, or a user of a file in its folder.
 * Return: 0; EDEADLK in interrupt, with interrupts or softirqs disabled, in a handler in process
 * context of any event, and in the direct handler of @ev, where the release would wait for the
 * caller: the event then goes on. It is EDEADLK with preemption disabled, too, but only in a kernel
 * with CONFIG_PREEMPT_COUNT.
 */
int tally_event_release(struct tally_event *ev);

/** define TALLY_SET_MOST - The largest number of members of a set. */
#define TALLY_SET_MOST 64

/** define TALLY_NOT_COUNTED - The value of a member that was not counted. */
#define TALLY_NOT_COUNTED U64_MAX

/**
 * struct tally_set_window - the window that the counts of a set have in common
 * @time_ns: time at which the counts were read, by local_clock() of the CPU that counts;
 *	the latest of these for a set on all CPUs
 * @ratio_valid: all members are one group of perf; or they were on the PMU for the whole time that
 *	the set was enabled, none was in error, and no CPU came back that was offline. In both
 *	cases, they began at one moment, and none was throttled: their values have the same window,
 *	and can be divided by each other
 */
struct tally_set_window {
	u64 time_ns;
	bool ratio_valid;
};

/* Value and times of a member when a section began; private. */
struct tally_mark {
	u64 value;
	u64 stamp;
};

/* The head of a section; private. */
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
 * @builders: builders of the members, all with the same target; they may have handlers
 * @n: number of members, 1 to TALLY_SET_MOST
 *
 * Either all members are built or none. Members are events like others, with names and
 * files, but only the set enables, disables, resets and releases them. The set is enabled
 * once built, unless the first builder has tally_builder_disabled(); in the other
 * builders that setting is ignored. tally_builder_require() in one builder applies to
 * all: the function returns EBUSY unless all members count at the same time.
 *
 * Context: Process context, may sleep; as tally_build().
 * Return: the set, or an ERR_PTR: EINVAL for another number of members, and for a member
 * with another target or owner than the first or with tally_builder_enable_on_exec();
 * EOPNOTSUPP for an inherited member, and for one with tally_builder_sigtrap() if a set
 * that begins disabled has tally_builder_require(); ENOMEM; or the error of tally_build()
 * for the member that tally_set_failed() returns.
 */
struct tally_set *__must_check tally_set_build(struct tally_builder *builders,
					       unsigned int n);

/**
 * tally_set_failed - return the member that tally_set_build() could not make
 * @builders: the builders that tally_set_build() was given
 * @n: number of builders
 *
 * Context: Any context.
 * Return: the index of the builder, whose error tally_builder_why() describes; -1 if no
 * builder has an error, and for NULL and ERR_PTRs.
 */
int tally_set_failed(const struct tally_builder *builders, unsigned int n);

/**
 * tally_set_enable - begin the window, or try again after an error
 * @set: the set; enabling an enabled set does not begin the window anew
 *
 * perf enables one event after the other. When all are enabled, they are read at one
 * moment on each CPU, and the window begins: counts and overflows from before that moment
 * are left out. If a member is not on the PMU at that moment, the ratio is not valid unless
 * all members are one group. The ratio is not valid either if a task was scheduled in and out
 * so often that its members could not begin together, or if a member was enabled before: that
 * member goes on.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, or the first error that tally_event_enable() returns for a member.
 */
int tally_set_enable(struct tally_set *set);

/**
 * tally_set_disable - end the window, and keep the counts
 * @set: the set
 *
 * perf disables the members that overflow first. Then all members are read at one moment on each
 * CPU, the window ends, and perf disables the others. If any member overflows, the ratios stay
 * valid only if all members are one group.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_set_disable(struct tally_set *set);

/**
 * tally_set_reset - set the values of all members to 0
 * @set: the set; its times go on
 *
 * The values begin at one moment on each CPU, so that their ratios are valid again, unless a member
 * has waited for the PMU while others counted, before that or after.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_set_reset(struct tally_set *set);

/**
 * tally_set_read - read all members, at one moment
 * @set: the set
 * @window: receives the window of the counts
 * @counts: receives a count for each member, in the order of the builders; the
 *	sums over all CPUs for a set on all CPUs. A member that has not been on the
 *	PMU has the value TALLY_NOT_COUNTED.
 *
 * Each CPU that is counting is interrupted once, all of them at the same time, for any
 * number of members; once more, up to four times, if a member begins to count meanwhile. If a
 * pointer is NULL or an ERR_PTR, nothing is read.
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
 * Return: 0, also for a CPU that is offline; EINVAL for a CPU that does not exist or
 * that the set does not count on.
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
 * The call succeeds if at least one member could be read. Each member that could not be
 * read, because it is not counting at this moment, then has the value TALLY_NOT_COUNTED,
 * which is U64_MAX, the times 0 and the state TALLY_STATE_INACTIVE; and
 * tally_set_window::ratio_valid is false. So a caller that wants all members checks each
 * value, or ratio_valid.
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
 * @interval_ns: nanoseconds from one publication to the next, from 10,000 (10 us) for
 *	each eight members or part of eight, to an hour; 0 ends publishing
 *
 * This is tally_event_publish() for all members. On each CPU, all members are read at
 * one moment.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: as tally_event_publish().
 */
int tally_set_publish(struct tally_set *set, u64 interval_ns);

/**
 * tally_set_published - read the counts that were published last
 * @set: the set
 * @cpu: CPU whose counts are read; -1 if the set counts one CPU or one task
 * @counts: receives a count for each member, all of one moment. A member that was not
 *	counting at that moment has the state TALLY_STATE_INACTIVE, and the values that
 *	were published before.
 * @age_ns: receives the age of the counts in nanoseconds
 *
 * Context: Any context. Takes no lock and interrupts no CPU.
 * Return: as tally_event_published().
 */
int tally_set_published(struct tally_set *set, int cpu,
			struct tally_count *counts, u64 *age_ns);

int __tally_section_begin(struct tally_set *set, struct tally_section *section,
			  unsigned int room);
int __tally_section_end(struct tally_set *set, struct tally_section *section, u64 *out);

/* The compiler knows the addresses of variables: checking these costs nothing. */
#define __tally_may_be_bad(ptr)						\
	(__builtin_object_size(ptr, 0) == (size_t)-1 && IS_ERR_OR_NULL(ptr))

/**
 * tally_section_begin - begin to count in a section of code on this CPU
 * @set: the set, on this CPU, on all CPUs or on this task
 * @section: the caller's section, see TALLY_SECTION(). A section that was begun
 *	before begins anew.
 *
 * Sections may overlap, and there may be any number of them. The caller sees to it
 * that nobody else uses @section until it has ended: an interrupt has a section of
 * its own. Neither the set nor the CPU keeps a list of sections.
 *
 * Context: Any context in which the caller stays on its CPU until
 * tally_section_end(): with preemption disabled, in hard interrupts, in NMI. On PREEMPT_RT
 * neither spin_lock() nor local_bh_disable() disables preemption. Takes no lock and
 * interrupts no CPU.
 * Return: 0; EINVAL with preemption enabled (in a kernel with CONFIG_PREEMPT_COUNT), on a CPU or in
 * a task that the set does not count, and for a section with fewer members than the set; EAGAIN if
 * a member is not counting at this moment; EOPNOTSUPP for a member that cannot be read here, and
 * ENODEV on a CPU that its PMU does not serve. After an error tally_section_end() returns EINVAL.
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
 * tally_section_end - end a section, and return the counts of its members
 * @set: the set that the section was begun with
 * @section: the section
 * @out: receives a value for each member, in the order of the builders
 *
 * The values include a part of the work of the two calls, the same part each time.
 *
 * The call compares perf's times of the members, which come from local_clock(). On x86
 * without a stable TSC this clock may stand still until the next tick. A member that stops
 * and starts again while the clock stands still may go unnoticed.
 *
 * A section that was never begun is an error that the call recognizes in zeroed memory
 * only: it returns EINVAL. Other memory may hold the remains of an older section, so the
 * caller must not end a section there that it never began.
 *
 * Context: As tally_section_begin().
 * Return: 0 if all members counted throughout, as far as perf's clock shows; their ratios
 * are then valid. EAGAIN if a member did not, or may not have, because perf changed it
 * meanwhile. EINVAL for a section that has ended, that could not begin, that began on
 * another CPU or in another task, or that began with another set; in the last case the
 * section goes on, in all others it has ended. After an error @out means nothing.
 */
#define tally_section_end(set, section, out)				\
({									\
	typeof(section) __section = (section);				\
	u64 *__out = (out);						\
									\
	__tally_may_be_bad(__section) || __tally_may_be_bad(__out) ? -EINVAL :	\
	__tally_section_end(set, &__section->head, __out);		\
})

struct tally_func;

/**
 * tally_func_build - count events between the entry and the return of a kernel function
 * @builders: one for each member, all on all CPUs
 * @nr: number of @builders, up to TALLY_FUNC_MEMBERS
 * @symbol: name of the function
 *
 * The members are a set (tally_set_build()). Each call counts all that happens on its CPU from
 * its entry to its return, interrupts and inner calls of the same function included, and
 * some instructions of the probe. A call that changes the CPU, or that is switched away, is
 * left out, and counted as such. A function of a module that is unloaded is probed again when the
 * module is loaded again.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: the counts, for tally_func_release(); or an ERR_PTR, with a sentence in the builder
 * of the member at fault, or in the first one: EACCES without CAP_PERFMON, EPERM under lockdown,
 * ENOENT without such a function, EADDRNOTAVAIL if several have the name, EINVAL if it cannot be
 * probed, a member is not on all CPUs or counts a cgroup, or the first builder is disabled, E2BIG
 * for too many members, EDEADLK in interrupt, with interrupts or softirqs disabled, and in handlers
 * in process context, EOPNOTSUPP in a kernel without kretprobes and fprobe, and if the trick
 * "times" is off, ENOMEM, and the errors of tally_set_build().
 */
struct tally_func *tally_func_build(struct tally_builder *builders, unsigned int nr,
				    const char *symbol);

/**
 * tally_func_read - read the counts of a function
 * @func: the counts
 * @stats: receives the numbers of calls
 * @sums: receives for each member, in the order of the builders, what it counted in the calls
 *	that were counted
 *
 * Calls that return meanwhile may be in some of the numbers only.
 *
 * Context: Any context.
 * Return: 0; EINVAL for NULL and ERR_PTRs.
 */
int tally_func_read(struct tally_func *func, struct tally_func_stats *stats, u64 *sums);

/**
 * tally_func_release - end the counts of a function
 * @func: the counts; NULL and ERR_PTRs are ignored
 *
 * Calls that have not returned are not counted any more.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EDEADLK as tally_event_release(), of any member: the counts go on.
 */
int tally_func_release(struct tally_func *func);

/**
 * tally_set_size - return the number of members
 * @set: the set
 *
 * Context: Any context.
 * Return: the number; 0 for NULL and ERR_PTRs.
 */
unsigned int tally_set_size(const struct tally_set *set);

/**
 * tally_set_event - return a member
 * @set: the set
 * @index: index of the member, in the order of the builders
 *
 * The caller may use the member's name, counts and overflows. It must not enable,
 * disable, reset or release the member.
 *
 * Context: Any context.
 * Return: the event; NULL if there is no such member, and for NULL and ERR_PTRs.
 */
struct tally_event *tally_set_event(struct tally_set *set, unsigned int index);

/**
 * tally_set_release - end a set and its members, and free them
 * @set: the set; NULL and ERR_PTRs are ignored
 *
 * This is tally_event_release() for all members at once.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback. Nobody else uses
 * the set, or a section of it, any more.
 * Return: 0; EDEADLK as tally_event_release(), of any member: the set goes on.
 */
int tally_set_release(struct tally_set *set);

/**
 * tally_count_scaled - estimate the value of an event that was multiplexed
 * @count: the count of a task or of one CPU; see tally_event_read_scaled() for several CPUs
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
 * tally_state_name - return the name of a state
 * @state: the state
 *
 * Context: Any context.
 * Return: "off", "inactive", "active", "error", "offline", "exited", "throttled" or "silent";
 * "unknown" for another number.
 */
const char *tally_state_name(enum tally_state state);

#endif /* TALLY_TALLY_H */
