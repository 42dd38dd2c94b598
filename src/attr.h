/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ATTR_H
#define TALLY_ATTR_H

#include <linux/types.h>

struct perf_event_attr;

int tally_copy_attr(struct perf_event_attr *attr,
		    struct perf_event_attr __user *user);
int tally_copy_request(void *to, size_t known, void __user *from, size_t least,
		       u32 *size);

#endif /* TALLY_ATTR_H */
