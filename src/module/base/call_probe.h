/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CALL_PROBE_H
#define TALLY_CALL_PROBE_H

#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/types.h>
#include "compat.h"

/* No kretprobe is registered: the module is back, but its function could not be probed. */
#define TALLY_CALL_PROBE_LOST	BIT_ULL(63)

/**
 * struct tally_call_probe - probe of the entries and the returns of a function
 * @entered: called at each entry, with memory for the call
 * @returned: called at the return of that call, with the same memory. Since Linux 6.14, also called
 *	for a call of an earlier probe at the same address, with that call's memory or NULL.
 * @data_size: bytes of memory for a call
 * @at_once: calls that can go on at the same time
 * @by_fprobe: fprobe calls @entered and @returned; else a kretprobe does
 * @before: entries that were missed before the module was loaded again, and TALLY_CALL_PROBE_LOST
 * @fprobe: used with @by_fprobe
 * @kretprobe: used otherwise
 *
 * The caller sets the first four. The two functions run with preemption
 * disabled, in the context of the function that is probed, NMI included.
 */
struct tally_call_probe {
	void (*entered)(struct tally_call_probe *probe, void *data);
	void (*returned)(struct tally_call_probe *probe, void *data);
	size_t data_size;
	unsigned int at_once;
	bool by_fprobe;
	u64 before;
#ifdef tally_fprobe_regs
	struct fprobe fprobe;
#endif
#ifdef CONFIG_KRETPROBES
	struct kretprobe kretprobe;
#endif
};

int tally_call_probe_start(struct tally_call_probe *probe, const char *symbol);
void tally_call_probe_again(struct tally_call_probe *probe, const char *symbol);
void tally_call_probe_stop(struct tally_call_probe *probe);
bool tally_call_probe_is_gone(const struct tally_call_probe *probe);
u64 tally_call_probe_missed(const struct tally_call_probe *probe);

#endif /* TALLY_CALL_PROBE_H */
