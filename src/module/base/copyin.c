// SPDX-License-Identifier: GPL-2.0
/*
 * Copies from and to structs of user programs, whose size may be that of an
 * older or newer header.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>
#include "base/copyin.h"

/*
 * The part of a longer struct that is not known here must be 0. If it is not, the size
 * known here is written to the program's struct, and E2BIG is returned.
 */
static int copy(void *to, size_t known, const void __user *from, u32 size,
		u32 __user *size_at)
{
	int err = copy_struct_from_user(to, known, from, size);

	if (err == -E2BIG && put_user((u32)known, size_at))
		return -EFAULT;
	return err;
}

/**
 * tally_copyin_attr - copy a perf_event_attr of any size, as perf's system call does
 * @attr: receives the attributes, with the size that this kernel knows
 * @user: the program's attributes
 *
 * Context: Process context, may sleep.
 * Return: 0; E2BIG for a size below PERF_ATTR_SIZE_VER0 or above a page, or for
 * attributes that this kernel does not know; EFAULT.
 */
int tally_copyin_attr(struct perf_event_attr *attr,
		      struct perf_event_attr __user *user)
{
	u32 size;
	int err;

	if (get_user(size, &user->size))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return put_user((u32)sizeof(*attr), &user->size) ? -EFAULT : -E2BIG;
	/* A constant size is checked by the compiler. */
	if (size == sizeof(*attr))
		err = copy_from_user(attr, user, sizeof(*attr)) ? -EFAULT : 0;
	else
		err = copy(attr, sizeof(*attr), user, size, &user->size);
	attr->size = sizeof(*attr);
	return err;
}

/* The part of tally_copyin_request() for a struct of another size than the known one. */
int tally_copyin_sized(void *to, size_t known, void __user *from, size_t least, u32 size)
{
	u32 __user *size_at = from;

	if (size < least)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return put_user((u32)known, size_at) ? -EFAULT : -E2BIG;
	return copy(to, known, from, size, size_at);
}

/**
 * tally_copyin_answer - write a struct back to the program that gave it
 * @to: the program's struct
 * @answer: the struct, which begins with its size; receives the size that is written
 * @known: size of @answer, in bytes
 * @size: size of the program's struct
 *
 * The written size is never greater than @size. So a program may give the struct again.
 *
 * Context: Process context, may sleep.
 * Return: 0, or EFAULT.
 */
int tally_copyin_answer(void __user *to, void *answer, size_t known, u32 size)
{
	u32 *written = answer;

	*written = min_t(size_t, known, size);
	return copy_to_user(to, answer, *written) ? -EFAULT : 0;
}
