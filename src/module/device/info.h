/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_INFO_H
#define TALLY_INFO_H

#include <linux/compiler.h>

struct tally_next;

int tally_ioc_info(void __user *arg);
int tally_ioc_next(struct tally_next __user *arg);

#endif /* TALLY_INFO_H */
