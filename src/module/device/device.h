/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEVICE_H
#define TALLY_DEVICE_H

int tally_device_init(void);
void tally_device_exit(void);

#endif /* TALLY_DEVICE_H */
