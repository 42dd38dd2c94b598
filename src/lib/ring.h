/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* The functions of ring.c that the reader of many rings in reader.c calls. */
#ifndef LIBTALLY_RING_H
#define LIBTALLY_RING_H

#include "libtally.h"

/* From now on, libtally_ring_next() returns only records that libtally_ring_refresh() saw. */
void libtally_ring_hold(struct libtally_ring *ring);
void libtally_ring_refresh(struct libtally_ring *ring);
/* Ends libtally_ring_hold(). The last record is unread again: bytes is its size, or 0. */
void libtally_ring_let_go(struct libtally_ring *ring, __u64 bytes);

/* Waits after a pause. Returns 1 if no record is being written any more, 0 if unknown. */
int libtally_ring_wait(const struct libtally_ring *ring);
/* Takes a snapshot without a pause. still is 1 if no record is being written. */
int libtally_ring_copy(struct libtally_ring *ring, int still);

#endif /* LIBTALLY_RING_H */
