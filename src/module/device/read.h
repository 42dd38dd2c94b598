/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEVICE_READ_H
#define TALLY_DEVICE_READ_H

#include <linux/types.h>

struct tally_file;

ssize_t tally_file_read(struct tally_file *f, char __user *buf, size_t size);
long tally_file_ioc_read(struct tally_file *f, void __user *arg);

#endif /* TALLY_DEVICE_READ_H */
