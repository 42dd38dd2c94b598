// SPDX-License-Identifier: GPL-2.0
/* The causes of failures, which the device's ioctls write to struct tally_error. */
#include <linux/errno.h>
#include <linux/export.h>
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
 * tally_explained - call a function with an ioctl's struct, and write why it failed
 * @request: the struct
 * @address: address of the program's struct tally_error, which is checked first; 0 for none
 * @take: the function, which gets a cleared builder and leaves the cause there
 *
 * Context: Process context, may sleep.
 * Return: what @take returns, which has failed if that is below 0; EFAULT, or
 * EINVAL for too small a struct tally_error, if @take was not called.
 */
int tally_explained(void *request, u64 address,
		    int (*take)(void *request, struct tally_builder *b))
{
	struct tally_error __user *to = u64_to_user_ptr(address);
	struct tally_error e = { };
	u32 size = ERROR_SIZE_1;
	struct tally_builder b;
	int ret;

	if (address && get_user(size, &to->size))
		return -EFAULT;
	if (size < ERROR_SIZE_1)
		return -EINVAL;
	tally_builder_clear(&b, THIS_MODULE);
	ret = take(request, &b);
	if (ret >= 0 || !address)
		return ret;
	e.error = -ret;
	e.stage = b.stage;
	e.field = b.err_field;
	e.cpu = b.err_cpu;
	strscpy(e.text, b.why, sizeof(e.text));
	/* An error is ignored: the program may have unmapped the struct, and has the errno. */
	tally_copyin_answer(to, &e, sizeof(e), size);
	return ret;
}
