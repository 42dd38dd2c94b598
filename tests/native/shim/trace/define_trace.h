/* SPDX-License-Identifier: GPL-2.0 */
/* Includes the header of a trace event once more: makes its table of fields, and the event. */
#ifdef CREATE_TRACE_POINTS
#undef CREATE_TRACE_POINTS
#define TRACE_HEADER_MULTI_READ
#undef TRACE_EVENT
#undef __field
#undef __array
#undef __string
#undef __rel_string
#undef __dynamic_array
#undef __cpumask
#undef TRACE_INCLUDE_PATH

#define SHIM_FIELD(type_, name_, size_, element)				\
	{									\
		.type = type_, .name = #name_, .size = size_,			\
		.align = _Alignof(element),					\
		.is_signed = (element)(-1) < (element)1,			\
	},
#define __field(type, name)		SHIM_FIELD(#type, name, sizeof(type), type)
#define __array(type, name, n)		SHIM_FIELD(#type "[" #n "]", name, sizeof(type[n]), type)
#define SHIM_LOC(type, name)		SHIM_FIELD(type, name, sizeof(u32), u32)
#define __string(name, from)		SHIM_LOC("__data_loc char[]", name)
#define __rel_string(name, from)	SHIM_LOC("__rel_loc char[]", name)
#define __dynamic_array(type, name, n)	SHIM_LOC("__data_loc " #type "[]", name)
#define __cpumask(name)			SHIM_LOC("__data_loc cpumask_t", name)
#define TRACE_EVENT(name_, proto, args, fields_, assign, print)			\
	static const struct trace_event_fields fields_of_##name_[] = { fields_ { } }; \
	static struct trace_event_class class_of_##name_ = {			\
		.system = "tally_kunit", .fields_array = fields_of_##name_,	\
	};									\
	static struct trace_event_call event_##name_ = {			\
		.class = &class_of_##name_, .name = #name_,			\
	}

#include "filter_event.h"
#undef TRACE_HEADER_MULTI_READ
#endif
