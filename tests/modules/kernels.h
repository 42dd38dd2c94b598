/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels differ in these for the test modules. The modules call functions by the names
 * of newer kernels; this header defines those that tally's probes have not found.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <linux/hrtimer.h>
#include <linux/module.h>
#include "probes.h"

#ifdef TALLY_HAVE_IMPORT_TOKEN
#define IMPORT_TALLY()	MODULE_IMPORT_NS(TALLY)
#else
#define IMPORT_TALLY()	MODULE_IMPORT_NS("TALLY")
#endif

#ifndef TALLY_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

static inline void hrtimer_setup_on_stack(struct hrtimer *timer,
					  enum hrtimer_restart (*function)(struct hrtimer *),
					  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* KERNELS_H */
