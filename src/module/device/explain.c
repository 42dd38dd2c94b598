// SPDX-License-Identifier: GPL-2.0
/* The causes of failures, which the device's ioctls write to struct tally_error. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/copyin.h"
#include "builder/builder.h"
#include "device/device.h"

/* The least size that an ioctl takes: that of the struct in the first header of this ABI. */
#define ERROR_SIZE_1	offsetofend(struct tally_error, text)

/* Records an error of the call itself in @b. Returns the builder's first error. Any context. */
int tally_bad_request(struct tally_builder *b, u32 field, int err, const char *why)
{
	b->stage = TALLY_STAGE_REQUEST;
	return tally_bad_in(b, field, err, "%s", why);
}

/**
 * tally_explain_check - check the address to which a failing ioctl writes its cause
 * @address: the program's address; 0 for none
 * @size: receives the size of the program's struct; 0 without one
 *
 * Called before anything is made.
 *
 * Context: Process context, may sleep.
 * Return: 0; EFAULT; EINVAL for too small a struct.
 */
int tally_explain_check(u64 address, u32 *size)
{
	struct tally_error __user *to = u64_to_user_ptr(address);

	*size = 0;
	if (!address)
		return 0;
	if (get_user(*size, &to->size))
		return -EFAULT;
	return *size < ERROR_SIZE_1 ? -EINVAL : 0;
}

/**
 * tally_explain_as - write the cause of a failure to the program
 * @address: address that tally_explain_check() accepted
 * @size: size of the program's struct, by tally_explain_check()
 * @e: the cause
 *
 * Context: Process context, may sleep.
 */
void tally_explain_as(u64 address, u32 size, struct tally_error *e)
{
	/* An error is ignored: the program may have unmapped the struct, and has the errno. */
	if (address)
		tally_copyin_answer(u64_to_user_ptr(address), e, sizeof(*e), size);
}

/**
 * tally_explain - write the cause of a failure that a builder has
 * @address: address that tally_explain_check() accepted
 * @size: size of the program's struct, by tally_explain_check()
 * @b: builder with the cause
 * @err: the error that the ioctl returns
 *
 * Context: Process context, may sleep.
 */
void tally_explain(u64 address, u32 size, const struct tally_builder *b, int err)
{
	struct tally_error e = {
		.error = -err,
		.stage = b->stage,
		.field = b->err_field,
		.cpu = b->err_cpu,
	};

	strscpy(e.text, b->why, sizeof(e.text));
	tally_explain_as(address, size, &e);
}
