/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What a reader of many rings does with one of them. */
#ifndef LIBTALLY_RING_H
#define LIBTALLY_RING_H

#include "libtally.h"

/* From now on the head is only looked at by libtally_ring_refresh(). */
void libtally_ring_hold(struct libtally_ring *ring);
void libtally_ring_refresh(struct libtally_ring *ring);
/* No more of that; what was taken last is given back, so many bytes, or 0. */
void libtally_ring_let_go(struct libtally_ring *ring, __u64 bytes);

/* After a pause: 1 if those are through who were in the middle of a record; or 0. */
int libtally_ring_wait(const struct libtally_ring *ring);
/* libtally_ring_snapshot() without the pause; still: nobody writes, as the caller knows. */
int libtally_ring_copy(struct libtally_ring *ring, int still);

#endif /* LIBTALLY_RING_H */
