/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What a reader of many rings does with one of them. */
#ifndef LIBTALLY_RING_H
#define LIBTALLY_RING_H

#include "libtally.h"

/* From now on the head is only looked at by tally_ring_refresh(). */
void tally_ring_hold(struct tally_ring *ring);
void tally_ring_refresh(struct tally_ring *ring);
/* No more of that; what was taken last is given back, so many bytes, or 0. */
void tally_ring_let_go(struct tally_ring *ring, __u64 bytes);

/* After a pause: 1 if those are through who were in the middle of a record; or 0. */
int tally_ring_wait(const struct tally_ring *ring);
/* tally_ring_snapshot() without the pause; still: nobody writes, as the caller knows. */
int tally_ring_copy(struct tally_ring *ring, int still);

#endif /* LIBTALLY_RING_H */
