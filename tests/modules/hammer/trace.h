/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally_hammer

#if !defined(HAMMER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HAMMER_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(tally_hammer_hit, TP_PROTO(u64 seq, u32 level, u32 cpu), TP_ARGS(seq, level, cpu),
	    TP_STRUCT__entry(__field(u64, seq)
			     __field(u32, level)
			     __field(u32, cpu)),
	    TP_fast_assign(__entry->seq = seq;
			   __entry->level = level;
			   __entry->cpu = cpu;),
	    TP_printk("seq=%llu level=%u cpu=%u", __entry->seq, __entry->level, __entry->cpu));

#endif /* HAMMER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
