/* SPDX-License-Identifier: GPL-2.0 */
/* A tracepoint with a field of each kind that filters know. No code ever hits it. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally_kunit

#if !defined(FILTER_EVENT_H) || defined(TRACE_HEADER_MULTI_READ)
#define FILTER_EVENT_H

#include <linux/tracepoint.h>

TRACE_EVENT(tally_filter_kinds,
	    TP_PROTO(const char *text),
	    TP_ARGS(text),
	    TP_STRUCT__entry(__field(s8, s8)
			     __field(u8, u8)
			     __field(s16, s16)
			     __field(u16, u16)
			     __field(s32, s32)
			     __field(u32, u32)
			     __field(s64, s64)
			     __field(u64, u64)
			     __array(char, name, 12)
			     __array(u32, pair, 2)
			     __array(u8, odd, 3)
			     __string(dyn, text)
			     __rel_string(rel, text)
			     __dynamic_array(u32, numbers, 2)
			     __cpumask(mask)
			     __field(const char *, ptr)
			     __field(char *, user)
			     __field(unsigned long, ip)),
	    TP_fast_assign(__entry->ptr = text;),
	    TP_printk("%d", __entry->s32)
);

#endif /* FILTER_EVENT_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE filter_event
#include <trace/define_trace.h>
