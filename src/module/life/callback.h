/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CALLBACK_H
#define TALLY_CALLBACK_H

struct perf_event;
struct perf_sample_data;
struct pt_regs;

/* perf's callback. overflow_handler_context is the struct tally_overflow. */
void tally_overflow_callback(struct perf_event *event,
			     struct perf_sample_data *data,
			     struct pt_regs *regs);

#endif /* TALLY_CALLBACK_H */
