/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_EXPLAIN_H
#define TALLY_EXPLAIN_H

#include <linux/types.h>

struct tally_builder;
struct tally_error;

int tally_bad_request(struct tally_builder *b, u32 field, int err, const char *why);
int tally_explain_check(u64 address, u32 *size);
void tally_explain(u64 address, u32 size, const struct tally_builder *b, int err);
void tally_explain_as(u64 address, u32 size, struct tally_error *e);

#endif /* TALLY_EXPLAIN_H */
