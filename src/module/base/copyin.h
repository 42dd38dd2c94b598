/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COPYIN_H
#define TALLY_COPYIN_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uaccess.h>

struct perf_event_attr;

int tally_copyin_attr(struct perf_event_attr *attr,
		      struct perf_event_attr __user *user);
int tally_copyin_sized(void *to, size_t known, void __user *from, size_t least, u32 size);

/**
 * tally_copyin_request - what an ioctl is given, which begins with its size
 * @to: receives it
 * @known: the size of that
 * @from: where the program has it
 * @given: how much of it the program fills in, if its size is @known; what is behind
 *	that is for the answer, and not copied
 * @least: the first size that there was
 * @size: receives the program's
 *
 * A constant size is checked by the compiler, which is why this is here.
 *
 * Return: 0; EINVAL for a size below @least, E2BIG for more than is known, EFAULT.
 */
static __always_inline int tally_copyin_request(void *to, size_t known,
						void __user *from, size_t given,
					      size_t least, u32 *size)
{
	u32 __user *size_at = from;

	if (get_user(*size, size_at))
		return -EFAULT;
	if (*size == known)
		return copy_from_user(to, from, given) ? -EFAULT : 0;
	return tally_copyin_sized(to, known, from, least, *size);
}

#endif /* TALLY_COPYIN_H */
