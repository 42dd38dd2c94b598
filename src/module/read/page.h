/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PAGE_H
#define TALLY_PAGE_H

#include <linux/types.h>

struct tally_count;
struct tally_event;
struct tally_mapping;
struct tally_totals;
struct vm_area_struct;

/* How often, if a program does not say: 10 ms. */
#define TALLY_PUBLISH_DEFAULT	10000000ULL

void tally_mapping_init(struct tally_mapping *m, u64 interval);
void tally_mapping_end(struct tally_mapping *m);
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr);
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base);
void tally_mapping_refresh(struct tally_mapping *m);
void tally_mapping_last(struct tally_mapping *m, const struct tally_count *count);
int tally_mapping_mmap(struct tally_mapping *m, struct vm_area_struct *vma);

#endif /* TALLY_PAGE_H */
