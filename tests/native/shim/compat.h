/* SPDX-License-Identifier: GPL-2.0 */
/* src/module/compat.h, as far as the sources under test use it. */
#ifndef TALLY_COMPAT_H
#define TALLY_COMPAT_H

#define EXPORT_SYMBOL_TALLY(symbol)		struct module
#define EXPORT_SYMBOL_TALLY_KUNIT(symbol)	struct module
#define TALLY_IMPORT_NS()			struct module

#define TALLY_FILTER_STACKTRACE	FILTER_STACKTRACE
#define TALLY_FILTER_CPUMASK	FILTER_CPUMASK
#define TALLY_WQ_PERCPU		0
#define tally_event_time(event, now)	((void)(event), (now))

static inline bool tally_attr_has_aux_action(void)
{
	return false;
}

/* The headers of this machine decide. */
static inline bool tally_attr_set_config3(struct perf_event_attr *attr, u64 v)
{
#ifdef PERF_ATTR_SIZE_VER8
	attr->config3 = v;
	return true;
#else
	return !v;
#endif
}

static inline u64 tally_attr_config3(const struct perf_event_attr *attr)
{
#ifdef PERF_ATTR_SIZE_VER8
	return attr->config3;
#else
	return 0;
#endif
}

#define tally_hrtimer_setup(timer, fn, clock, mode)				\
	do {									\
		(timer)->function = (fn);					\
		(timer)->source.run = shim_run_timer;				\
	} while (0)
void shim_run_timer(struct shim_source *source);

#endif /* TALLY_COMPAT_H */
