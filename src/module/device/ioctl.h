/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_IOCTL_H
#define TALLY_IOCTL_H

#include <linux/fs.h>

struct tally_file;

extern const struct file_operations tally_file_ops;

struct tally_file *tally_file_get(struct file *file);

#endif /* TALLY_IOCTL_H */
