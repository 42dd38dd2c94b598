/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_INFO_H
#define TALLY_INFO_H

#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct tally_next;

/* Bits of struct tally_open's perf_flags, without those that some kernels lack. */
#define TALLY_PERF_FLAGS	((u64)(PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
				       PERF_FLAG_FD_CLOEXEC))

int tally_ioc_info(void __user *arg);
int tally_ioc_next(struct tally_next __user *arg);

#endif /* TALLY_INFO_H */
