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
int tally_copyin_answer(void __user *to, void *answer, size_t known, u32 size);

/**
 * tally_copyin_request - copy the struct of an ioctl, which begins with its size
 * @to: receives the struct
 * @known: size of @to, in bytes
 * @from: the program's struct
 * @given: bytes of the struct that the program fills in, if its size is @known;
 *	the kernel writes the others, and they are not copied
 * @least: size of the first version of the struct
 * @size: receives the size of the program's struct
 *
 * The function is inline because the compiler checks copies of a constant size.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL for a size below @least; E2BIG for a struct with more than
 * is known here; EFAULT.
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
