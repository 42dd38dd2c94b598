// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of trace.h are defined here. */
#define CREATE_TRACE_POINTS
#include "base/trace.h"
