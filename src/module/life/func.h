/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_FUNC_H
#define TALLY_FUNC_H

#include <linux/types.h>

struct module;
struct tally_func;
struct tally_set;

/* Buckets of a histogram: of 0, and of each power of two. */
#define TALLY_FUNC_BUCKETS	65

struct tally_func *tally_func_attach(struct tally_set *set, const char *symbol,
				     struct module *owner, char *why, size_t size);
void tally_func_detach(struct tally_func *func);
u64 tally_func_bucket(const struct tally_func *func, unsigned int member, unsigned int bucket);
void tally_funcs_module_came(const struct module *mod);
void tally_funcs_release_owned(struct module *owner);

#endif /* TALLY_FUNC_H */
