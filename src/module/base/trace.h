/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of tally's own, for ftrace, perf, bpf and triggers in tracefs.
 *
 * @event is the name of the event. @cpu is -1 for what concerns all CPUs of the event together,
 * or a task, which has no CPU of its own. While nobody listens, a tracepoint costs a static branch.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally

#if !defined(TALLY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TALLY_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <tally/tally.h>

/* The argument of __assign_str() differs between kernels, so names are copied by memcpy(). */
#define TALLY_TRACE_NAME	__dynamic_array(char, event, strlen(name) + 1)
#define TALLY_STATE_LEN		12	/* room for the longest name of a state */
#define TALLY_TRACE_COPY()	memcpy(__get_dynamic_array(event), name, strlen(name) + 1)

/*
 * trace_overflow - an overflow was counted
 *
 * @ip is the instruction pointer of the interrupted code; 0 if the event
 * excludes the kernel and the overflow came late, in the kernel. @period is
 * what perf counted for this overflow. @missed is how many overflows of the
 * event on this CPU so far did not get to the direct handler or, without a
 * direct handler, to the queue of the other handlers.
 *
 * Called by perf's callback, also in NMI. A software event, a tracepoint or a
 * probe overflows while perf guards itself against recursion: ftrace and bpf's
 * raw tracepoints see that, but perf counts no tracepoint then.
 */
TRACE_EVENT(overflow,
	    TP_PROTO(const char *name, int cpu, unsigned long ip, u64 period, u64 missed),
	    TP_ARGS(name, cpu, ip, period, missed),
	    TP_STRUCT__entry(TALLY_TRACE_NAME
			     __field(int, cpu)
			     __field(unsigned long, ip)
			     __field(u64, period)
			     __field(u64, missed)),
	    TP_fast_assign(TALLY_TRACE_COPY();
			   __entry->cpu = cpu;
			   __entry->ip = ip;
			   __entry->period = period;
			   __entry->missed = missed;),
	    TP_printk("event=%s cpu=%d ip=%pS period=%llu missed=%llu", __get_str(event),
		      __entry->cpu, (void *)__entry->ip, __entry->period, __entry->missed));

/*
 * trace_state - the state of an event changed
 *
 * tally reports its own changes at once: the event is enabled, disabled or
 * removed, a CPU comes or goes, or too many overflows pause the event on a CPU.
 * tally_event_read() and tally_event_state() report what perf has changed on
 * its own (the task has exited, the PMU has no room).
 *
 * Called with tally_counter::lock held.
 */
TRACE_EVENT(state,
	    TP_PROTO(const char *name, int cpu, enum tally_state from, enum tally_state to),
	    TP_ARGS(name, cpu, from, to),
	    TP_STRUCT__entry(TALLY_TRACE_NAME
			     __field(int, cpu)
			     __array(char, from, TALLY_STATE_LEN)
			     __array(char, to, TALLY_STATE_LEN)),
	    TP_fast_assign(TALLY_TRACE_COPY();
			   __entry->cpu = cpu;
			   strscpy(__entry->from, tally_state_name(from), TALLY_STATE_LEN);
			   strscpy(__entry->to, tally_state_name(to), TALLY_STATE_LEN);),
	    TP_printk("event=%s cpu=%d from=%s to=%s", __get_str(event), __entry->cpu,
		      __entry->from, __entry->to));

/*
 * trace_count - a count was published: a read returned it, or it was copied to memory
 *
 * Reads by files of debugfs, by programs and by modules report counts, of events and of members of
 * sets, and so does each copy of tally_event_publish(), tally_set_publish() and mapped pages. Reads
 * that run in any context report none. @value is not scaled.
 *
 * Called with interrupts disabled for copies, also in NMI; else in process context.
 */
TRACE_EVENT(count,
	    TP_PROTO(const char *name, int cpu, u64 value, u64 enabled, u64 running),
	    TP_ARGS(name, cpu, value, enabled, running),
	    TP_STRUCT__entry(TALLY_TRACE_NAME
			     __field(int, cpu)
			     __field(u64, value)
			     __field(u64, enabled)
			     __field(u64, running)),
	    TP_fast_assign(TALLY_TRACE_COPY();
			   __entry->cpu = cpu;
			   __entry->value = value;
			   __entry->enabled = enabled;
			   __entry->running = running;),
	    TP_printk("event=%s cpu=%d value=%llu enabled=%llu running=%llu", __get_str(event),
		      __entry->cpu, __entry->value, __entry->enabled, __entry->running));

#endif /* TALLY_TRACE_H */

/* The folder is searched below src/module. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
