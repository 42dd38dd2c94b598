/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_HOLDER_H
#define TALLY_HOLDER_H

struct tally_builder;
struct tally_event;

int tally_build_busy(struct tally_builder *b, struct tally_event *ev);

#endif /* TALLY_HOLDER_H */
