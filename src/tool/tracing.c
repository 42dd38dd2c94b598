// SPDX-License-Identifier: GPL-2.0
/*
 * Formats of tracepoints as a feature of perf.data, in the layout of trace-cmd's files, version
 * 0.6: perf parses the raw data of samples by them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "datafile.h"
#include "tool.h"

#define HEADER_TRACING_DATA	1

static const char *tracing;

static void write_u32(FILE *f, __u32 value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void write_u64(FILE *f, __u64 value)
{
	fwrite(&value, sizeof(value), 1, f);
}

/* Reads a file of tracefs, whose size is not known before. */
static char *read_all(const char *path, size_t *size)
{
	char whole[512], *content = NULL;
	FILE *from, *to = need(open_memstream(&content, size));
	int c;

	snprintf(whole, sizeof(whole), "%s/%s", tracing, path);
	from = fopen(whole, "re");
	while (from && (c = getc(from)) != EOF)
		putc(c, to);
	if (from)
		fclose(from);
	if (fclose(to))
		need(NULL);
	return content;
}

/* Writes a file with its size, in 64 or 32 bits, in front of it. */
static void write_file(FILE *f, const char *path, bool is_short)
{
	size_t size;
	char *content = read_all(path, &size);

	if (is_short)
		write_u32(f, size);
	else
		write_u64(f, size);
	fwrite(content, size, 1, f);
	free(content);
}

static bool has_id(const char *system, const char *event, __u64 id)
{
	char path[512], line[32];

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracing, system, event);
	return read_line(path, line, sizeof(line)) && strtoull(line, NULL, 10) == id;
}

/* Returns whether a tracepoint is among the wanted events, and marks each of those that it is. */
static bool is_wanted(struct wanted_list *events, const char *system, const char *event)
{
	bool wanted = false;
	struct wanted *w;

	for (w = events->list; w < events->list + events->nr; w++) {
		if (w->attr.type != PERF_TYPE_TRACEPOINT ||
		    !has_id(system, event, w->attr.config))
			continue;
		w->has_format = true;
		wanted = true;
	}
	return wanted;
}

/* Writes the formats of a system's wanted events. Returns their number. */
static __u32 write_system(FILE *f, struct wanted_list *events, const char *system)
{
	char path[512], *formats = NULL;
	struct dirent *entry;
	size_t size;
	FILE *to;
	__u32 nr = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/events/%s", tracing, system);
	folder = opendir(path);
	if (!folder)
		return 0;
	to = need(open_memstream(&formats, &size));
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || !is_wanted(events, system, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/format", system, entry->d_name);
		write_file(to, path, false);
		nr++;
	}
	closedir(folder);
	if (fclose(to))
		need(NULL);
	if (nr) {
		fwrite(system, strlen(system) + 1, 1, f);
		write_u32(f, nr);
		fwrite(formats, size, 1, f);
	}
	free(formats);
	return nr;
}

static void write_systems(FILE *f, struct wanted_list *events)
{
	char path[512], *systems = NULL;
	struct dirent *entry;
	size_t size;
	FILE *to = need(open_memstream(&systems, &size));
	__u32 nr = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/events", tracing);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			nr += write_system(to, events, entry->d_name) > 0;
	if (folder)
		closedir(folder);
	if (fclose(to))
		need(NULL);
	write_u32(f, nr);
	fwrite(systems, size, 1, f);
	free(systems);
}

/* Returns the first tracepoint that has no format; NULL if there is none. */
static const struct wanted *first_without(const struct wanted_list *events)
{
	int e;

	for (e = 0; e < events->nr; e++)
		if (events->list[e].attr.type == PERF_TYPE_TRACEPOINT &&
		    !events->list[e].has_format)
			return &events->list[e];
	return NULL;
}

void perfdata_add_formats(struct libtally_perfdata *data, struct wanted_list *events)
{
	static const char magic[] = { 23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	static const __u16 one = 1;
	const struct wanted *w;
	char *content = NULL;
	size_t size;
	FILE *f;

	if (!first_without(events))
		return;
	tracing = tracefs();
	f = need(open_memstream(&content, &size));
	fwrite(magic, sizeof(magic), 1, f);
	fwrite("0.6", sizeof("0.6"), 1, f);
	/* 1 on a big-endian machine; then the size of a long */
	putc(*(const char *)&one ? 0 : 1, f);
	putc(sizeof(long), f);
	write_u32(f, sysconf(_SC_PAGESIZE));
	fwrite("header_page", sizeof("header_page"), 1, f);
	write_file(f, "events/header_page", false);
	fwrite("header_event", sizeof("header_event"), 1, f);
	write_file(f, "events/header_event", false);
	/* No formats of ftrace itself */
	write_u32(f, 0);
	write_systems(f, events);
	/* No copy of kallsyms */
	write_u32(f, 0);
	write_file(f, "printk_formats", true);
	write_file(f, "saved_cmdlines", false);
	if (fclose(f))
		need(NULL);
	libtally_perfdata_feature(data, HEADER_TRACING_DATA, content, size);
	free(content);
	w = first_without(events);
	if (!w)
		return;
	say("%s: its format cannot be read in tracefs, and perf reads nothing without it", w->name);
	fprintf(stderr, "  remedy: make %s/events readable\n", tracing);
	exit(STATUS_FAILED);
}
