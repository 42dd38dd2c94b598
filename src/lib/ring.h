/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Calls of a reader of many rings. */
#ifndef LIBTALLY_RING_H
#define LIBTALLY_RING_H

#include "libtally.h"

/* From now on only libtally_ring_refresh() reads data_head. */
void libtally_ring_hold(struct libtally_ring *ring);
void libtally_ring_refresh(struct libtally_ring *ring);
/* Ends libtally_ring_hold(). The last bytes that were taken are unread again. */
void libtally_ring_let_go(struct libtally_ring *ring, __u64 bytes);

/* Waits after a pause. Returns 1 if no record is being written any more, 0 if unknown. */
int libtally_ring_wait(const struct libtally_ring *ring);
/* libtally_ring_snapshot() without the pause. still: no record is being written. */
int libtally_ring_copy(struct libtally_ring *ring, int still);

#endif /* LIBTALLY_RING_H */
