/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_END_H
#define TALLY_END_H

struct list_head;
struct module;
struct tally_event;

void tally_event_destroy(struct tally_event *ev);
void tally_events_destroy(struct list_head *doomed);
void tally_events_release_owned(struct module *owner);

#endif /* TALLY_END_H */
