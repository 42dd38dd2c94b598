/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SET_H
#define TALLY_SET_H

struct module;

void tally_sets_forget(struct module *owner);

#endif /* TALLY_SET_H */
