/* SPDX-License-Identifier: GPL-2.0 */
/* What kunit.c uses of the other files here. */
#ifndef TALLY_NATIVE_H
#define TALLY_NATIVE_H

const char *native_skips(const char *name);
u64 native_passes(void);
double native_seconds(void);

#endif /* TALLY_NATIVE_H */
