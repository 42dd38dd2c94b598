/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PTR_H
#define TALLY_PTR_H

#include <linux/compiler.h>
#include <linux/err.h>

/*
 * Returns whether an argument of an exported function is no pointer: NULL, or
 * the error that another function returned. IS_ERR_OR_NULL() in one comparison.
 */
static inline bool tally_bad_ptr(const void *ptr)
{
	return unlikely((unsigned long)ptr + MAX_ERRNO <= MAX_ERRNO);
}

#endif /* TALLY_PTR_H */
