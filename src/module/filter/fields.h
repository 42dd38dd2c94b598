/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of a tracepoint's records.
 */
#ifndef TALLY_FIELDS_H
#define TALLY_FIELDS_H

#include <linux/types.h>

struct trace_event_call;

/**
 * struct tally_field - a field of a record
 * @kind: kind of the field, one of the kernel's FILTER_*
 * @offset: offset in the record, in bytes
 * @size: size in bytes; 0 for a field that is not in the record, such as the CPU
 * @is_signed: numbers in the field are signed
 */
struct tally_field {
	int kind;
	unsigned int offset;
	unsigned int size;
	bool is_signed;
};

int tally_field_find(struct trace_event_call *call, const char *name, size_t len,
		     struct tally_field *field);
bool tally_field_is_string(const struct tally_field *field);

#endif /* TALLY_FIELDS_H */
