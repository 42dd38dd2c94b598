/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally_bench

#if !defined(BENCH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(tally_bench_hit, TP_PROTO(int nr), TP_ARGS(nr),
	    TP_STRUCT__entry(__field(int, nr)),
	    TP_fast_assign(__entry->nr = nr;),
	    TP_printk("nr=%d", __entry->nr));

#endif /* BENCH_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
