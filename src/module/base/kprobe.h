/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_KPROBE_H
#define TALLY_KPROBE_H

#include <linux/perf_event.h>
#include <linux/types.h>

struct module;
struct tally_kprobe;

/* The sentence for a name that tally_kprobe_check() refuses with EADDRNOTAVAIL */
#define TALLY_SEVERAL	"several functions are called '%.40s'"

bool tally_attr_is_kprobe(const struct perf_event_attr *attr);
int tally_kprobe_check(const char *symbol, u64 offset, u64 addr);
struct tally_kprobe *tally_kprobe_create(const struct perf_event_attr *attr);
void tally_kprobe_delete(struct tally_kprobe *kp);
unsigned int tally_kprobe_id(const struct tally_kprobe *kp);
u64 tally_kprobe_missed(struct tally_kprobe *kp);
bool tally_kprobe_is_gone(const struct tally_kprobe *kp);
bool tally_kprobe_may_return(const struct tally_kprobe *kp);
bool tally_kprobe_stays(const struct tally_kprobe *kp);
void tally_kprobes_module_came(const struct module *mod);
void tally_kprobe_exit(void);

#endif /* TALLY_KPROBE_H */
