/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEVICE_H
#define TALLY_DEVICE_H

#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct tally_builder;
struct tally_next;

int tally_device_init(void);
void tally_device_exit(void);

/* line.c */
int tally_ioc_line(void __user *arg);
int tally_ioc_parse(void __user *arg);

/* info.c */
/* Bits of struct tally_open's perf_flags, without those that some kernels lack. */
#define TALLY_PERF_FLAGS	((u64)(PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
				       PERF_FLAG_FD_CLOEXEC))

int tally_ioc_info(void __user *arg);
int tally_ioc_next(struct tally_next __user *arg);

/* explain.c */
int tally_bad_request(struct tally_builder *b, u32 field, int err, const char *why);
int tally_explained(void *request, u64 address,
		    int (*take)(void *request, struct tally_builder *b));

#endif /* TALLY_DEVICE_H */
