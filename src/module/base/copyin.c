// SPDX-License-Identifier: GPL-2.0
/*
 * Structs that programs know with another size than we do.
 */
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>
#include "base/copyin.h"

/*
 * What is longer must be 0 beyond what is known: else E2BIG, with the size that is
 * known written back to where the program has its own.
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
 * tally_copyin_attr - a perf_event_attr of any size, as perf's system call takes it
 * @attr: receives it, with the size that this kernel knows
 * @user: where the program has it
 *
 * Return: 0; E2BIG for a size that was never published, or more than this kernel
 * knows, EFAULT.
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

/* tally_copyin_request() for another size than is known. */
int tally_copyin_sized(void *to, size_t known, void __user *from, size_t least, u32 size)
{
	u32 __user *size_at = from;

	if (size < least)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return put_user((u32)known, size_at) ? -EFAULT : -E2BIG;
	return copy(to, known, from, size, size_at);
}
