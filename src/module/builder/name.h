/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_NAME_H
#define TALLY_NAME_H

#include <linux/perf_event.h>
#include <linux/types.h>

/* Bytes of the longest name that tally_name_format() writes, which has five numbers. */
#define TALLY_EVENT_LEN 192

int tally_name_parse(struct perf_event_attr *attr, char *text,
		     size_t *modifiers_at, char *why, size_t size);
int tally_name_modify(struct perf_event_attr *attr, const char *text, char *why, size_t size);
void tally_attr_defaults(struct perf_event_attr *attr);
void tally_name_format(const struct perf_event_attr *attr, const char *given,
		       char *buf, size_t size);
int tally_name_check(const char *name, char *why, size_t size);
char *tally_name_trim(char *text);
char *tally_name_next(char **list, char separator);
char *tally_name_members(char *text, char **members, char *why, size_t size);
char tally_name_separator(const char *list);

#endif /* TALLY_NAME_H */
