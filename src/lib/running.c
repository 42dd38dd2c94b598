// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Records of tasks and mappings that exist already. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "events.h"
#include "perfdata.h"

/* A record in the making. */
struct making {
	union {
		struct perf_event_header header;
		__u64 words[8192];
	} record;
	size_t size;
};

static void begin(struct making *m, __u32 type, __u16 misc)
{
	m->record.header.type = type;
	m->record.header.misc = misc;
	m->size = sizeof(m->record.header);
}

static void add(struct making *m, const void *bytes, size_t size)
{
	memcpy((char *)m->record.words + m->size, bytes, size);
	m->size += size;
}

static void add_u32(struct making *m, __u32 value)
{
	add(m, &value, sizeof(value));
}

static void add_u64(struct making *m, __u64 value)
{
	add(m, &value, sizeof(value));
}

/* Adds a text with its NUL, and zeros up to a multiple of 8. */
static void add_text(struct making *m, const char *text)
{
	size_t length = strnlen(text, 4095);

	add(m, text, length);
	do
		add(m, "", 1);
	while (m->size % 8);
}

/* Adds the trailer of the first event, with time 0 and CPU 0, and writes the record. */
static int end(struct libtally_perfdata *d, struct making *m, __u32 pid, __u32 tid)
{
	const struct libtally_format *f = libtally_events_format(d->events, 0);
	__u64 type = f->sample_id_all ? f->sample_type : 0, id = 0;
	size_t i;

	for (i = 0; i < d->events->nr_ids && !id; i++)
		if (d->events->ids[i].number == 0)
			id = d->events->ids[i].id;
	if (type & PERF_SAMPLE_TID) {
		add_u32(m, pid);
		add_u32(m, tid);
	}
	if (type & PERF_SAMPLE_TIME)
		add_u64(m, 0);
	if (type & PERF_SAMPLE_ID)
		add_u64(m, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		add_u64(m, id);
	if (type & PERF_SAMPLE_CPU)
		add_u64(m, 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		add_u64(m, id);
	m->record.header.size = m->size;
	return libtally_perfdata_write(d, &m->record.header);
}

static int put_comm(struct libtally_perfdata *d, struct making *m, int pid, int tid)
{
	char path[64], comm[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	file = fopen(path, "re");
	/* The task may have exited. */
	if (!file)
		return 0;
	if (fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = 0;
	fclose(file);
	begin(m, PERF_RECORD_COMM, 0);
	add_u32(m, pid);
	add_u32(m, tid);
	add_text(m, comm);
	return end(d, m, pid, tid);
}

static int put_mapping(struct libtally_perfdata *d, struct making *m, int pid, const char *line)
{
	unsigned long long from, to, offset, ino;
	unsigned int maj, min;
	char rights[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &from, &to, rights, &offset, &maj,
		   &min, &ino, &at) < 7 || !at || rights[2] != 'x')
		return 0;
	begin(m, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	add_u32(m, pid);
	add_u32(m, pid);
	add_u64(m, from);
	add_u64(m, to - from);
	add_u64(m, offset);
	add_u32(m, maj);
	add_u32(m, min);
	add_u64(m, ino);
	add_u64(m, 0);
	add_u32(m, (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
		   PROT_EXEC);
	add_u32(m, rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
	add_text(m, line[at] ? line + at : "//anon");
	return end(d, m, pid, pid);
}

static int put_mappings(struct libtally_perfdata *d, struct making *m, int pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int error = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!error && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		error = put_mapping(d, m, pid, line);
	}
	free(line);
	fclose(file);
	return error;
}

/* Calls a function for each name in a folder that is a number. */
static int each_number(struct libtally_perfdata *d, struct making *m, const char *path, int pid,
		       int (*call)(struct libtally_perfdata *d, struct making *m, int pid, int n))
{
	struct dirent *entry;
	DIR *folder = opendir(path);
	int error = 0;

	if (!folder)
		return 0;
	while (!error && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			error = call(d, m, pid, atoi(entry->d_name));
	closedir(folder);
	return error;
}

static int put_process(struct libtally_perfdata *d, struct making *m, int unused, int pid)
{
	char path[64];
	int error;

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	error = each_number(d, m, path, pid, put_comm);
	return error ? error : put_mappings(d, m, pid);
}

/* Writes the kernel's mapping as perf does: pgoff is the address of the first symbol. */
static int put_kernel(struct libtally_perfdata *d, struct making *m)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address, text = 0;
	char name[256];

	while (file && !text && fscanf(file, "%llx %*c %255s%*[^\n]", &address, name) == 2)
		if (!strcmp(name, "_text") || !strcmp(name, "_stext"))
			text = address;
	if (file)
		fclose(file);
	/* The file has zeros for callers who may not see addresses. */
	if (!text)
		return 0;
	begin(m, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	add_u32(m, -1);
	add_u32(m, 0);
	add_u64(m, text);
	add_u64(m, ~0ULL - text);
	add_u64(m, text);
	add_text(m, "[kernel.kallsyms]_text");
	return end(d, m, -1, 0);
}

int libtally_perfdata_write_running(struct libtally_perfdata *data, int pid)
{
	struct making *m;
	int error;

	if (!libtally_events_nr(data->events))
		return -EINVAL;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	error = put_kernel(data, m);
	if (!error && pid >= 0)
		error = put_process(data, m, 0, pid);
	else if (!error)
		error = each_number(data, m, "/proc", 0, put_process);
	free(m);
	return error;
}
