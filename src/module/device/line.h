/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEVICE_LINE_H
#define TALLY_DEVICE_LINE_H

#include <linux/compiler.h>

int tally_ioc_line(void __user *arg);
int tally_ioc_parse(void __user *arg);

#endif /* TALLY_DEVICE_LINE_H */
