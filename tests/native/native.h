/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the other files here that kunit.c calls. */
#ifndef TALLY_NATIVE_H
#define TALLY_NATIVE_H

const char *native_skips(const char *name);
u64 native_passes(void);
double native_seconds(void);

#endif /* TALLY_NATIVE_H */
