/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that recorded and sampled share. They write the records of events to a
 * perf.data file, and print that file in the words of `perf script -D`. Results are
 * printed as "ok TEXT" or "bad TEXT" on standard error.
 */
#ifndef RECORDED_H
#define RECORDED_H

#include <sys/stat.h>
#include "either.h"
/* Each program of this folder is built from one file, so it includes the library. */
#include "../../../src/lib/format.c"
#include "../../../src/lib/sample.c"
#include "../../../src/lib/counts.c"
#include "../../../src/lib/events.c"
#include "../../../src/lib/text.c"
#include "../../../src/lib/print.c"
#include "../../../src/lib/ring.c"
#include "../../../src/lib/reader.c"
#include "../../../src/lib/open.c"
#include "../../../src/lib/perfdata.c"
#include "../../../src/lib/running.c"

static void tell(int good, const char *what)
{
	fprintf(stderr, "%s %s\n", good ? "ok" : "bad", what);
}

/* ---- events and their records ------------------------------------------- */

/* How events are opened, of enum libtally_via. */
static int via;
static struct libtally_reader *reader;
static struct libtally_perfdata *out;
static unsigned long long seen[64], nr_bad, nr_all;

static struct perf_event_attr usual(__u64 config)
{
	struct perf_event_attr attr;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, config);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_TID |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	attr.sample_id_all = 1;
	return attr;
}

static void open_for(const struct perf_event_attr *attr, int pid, int cpu, size_t pages,
		     const char *name)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	int error;

	target.via = via;
	target.pid = pid;
	target.cpu = cpu;
	error = libtally_reader_open(reader, attr, &target, pages, name);
	if (error < 0)
		fprintf(stderr, "# %s: %s (%s)\n", name, target.error, strerror(-error));
	tell(error >= 0, name);
}

static void keep(const struct perf_event_header *header)
{
	struct libtally_record r;
	int error = libtally_reader_parse(reader, header, &r);

	nr_all++;
	if (error < 0 || !r.known || r.extra.size || libtally_record_time(&r) == 0) {
		if (!nr_bad++)
			fprintf(stderr, "# type %u: %s, extra %zu\n", header->type,
				libtally_record_strerror(error < 0 ? error : 0), r.extra.size);
	} else if (header->type < 64) {
		seen[header->type]++;
	}
	if (libtally_perfdata_write(out, header))
		err(2, "write");
}

static void drain(void (*with)(const struct perf_event_header *))
{
	const struct perf_event_header *header;

	while ((header = libtally_reader_next(reader)))
		with(header);
}

/* Records from this type on are made by perf's tools, as the end of a round. */
#define OF_TOOLS	64

/* ---- dump --------------------------------------------------------------- */

static void *file_bytes;
static struct libtally_events *file_events;

/* Reads the file by the layout in perf's header.h, without the library's code. */
static void read_file(const char *path, size_t *begin, size_t *end)
{
	int fd = open(path, O_RDONLY);
	const __u64 *header;
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", path);
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	file_bytes = bytes;
	header = file_bytes;
	/* The header has magic, size, attr_size, attrs and data. */
	if (memcmp(bytes, "PERFILE2", 8) || header[1] != 104)
		errx(2, "%s: no perf.data", path);
	file_events = libtally_events_new();
	for (__u64 at = header[3]; at < header[3] + header[4]; at += header[2]) {
		const __u64 *ids = (void *)(bytes + at + header[2] - 16);

		if (libtally_events_add(file_events, (void *)(bytes + at),
					(void *)(bytes + ids[0]), ids[1] / 8, NULL) < 0)
			errx(2, "%s: bad attr", path);
	}
	*begin = header[5];
	*end = header[5] + header[6];
}

#define U(x) ((unsigned long long)(x))

static void dump_mmap(const struct libtally_record *r)
{
	const struct libtally_mmap *m = &r->u.mmap;

	printf(" %d/%d: [%#llx(%#llx) @ %#llx", m->pid, m->tid, U(m->addr), U(m->len),
	       U(m->pgoff));
	if (r->type == PERF_RECORD_MMAP) {
		printf("]: %c %s", r->misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x', m->filename);
		return;
	}
	if (m->build_id) {
		printf(" <");
		for (unsigned int i = 0; i < m->build_id_size; i++)
			printf("%02x", m->build_id[i]);
		printf(">]: ");
	} else {
		printf(" %02x:%02x %llu %llu]: ", m->maj, m->min, U(m->ino),
		       U(m->ino_generation));
	}
	printf("%c%c%c%c %s", m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
	       m->prot & PROT_EXEC ? 'x' : '-', m->flags & MAP_SHARED ? 's' : 'p', m->filename);
}

static void dump_namespaces(const struct libtally_namespaces *n)
{
	static const char * const words[] = { "net", "uts", "ipc", "pid", "user", "mnt",
					      "cgroup" };

	printf(" %d/%d - nr_namespaces: %llu|\t\t[", n->pid, n->tid, U(n->nr));
	for (__u64 i = 0; i < n->nr; i++)
		printf("%s%llu/%s: %llu/%#llx%s", i && i % 4 == 0 ? "|\t\t " : "", U(i),
		       i < 7 ? words[i] : "unknown", U(n->links[i].dev), U(n->links[i].ino),
		       i + 1 < n->nr ? ", " : "]");
}

static void dump_bytes(const char *name, const unsigned char *byte, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (i % 16 == 0)
			printf("|            %s bytes:", name);
		printf(" %02x", byte[i]);
	}
}

static void dump_regs(const char *name, const struct libtally_regs *regs)
{
	__u64 value;

	if (!regs->abi)
		return;
	printf("|... %s regs: mask 0x%llx ABI %s", name, U(regs->mask),
	       regs->abi == 2 ? "64-bit" : "32-bit");
	for (unsigned int i = 0; i < 64; i++)
		if (!libtally_regs_get(regs, i, &value))
			printf("|.... 0x%016llx", U(value));
}

static void dump_counts(const struct libtally_counts *c)
{
	struct libtally_count_entry e;

	printf("|... sample_read:");
	if (c->format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		printf("|...... time enabled %016llx", U(c->enabled));
	if (c->format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		printf("|...... time running %016llx", U(c->running));
	if (c->format & PERF_FORMAT_GROUP)
		printf("|.... group nr %llu", U(c->nr));
	for (__u64 i = 0; !libtally_counts_get(c, i, &e); i++) {
		printf("|..... id %016llx, value %016llx", U(e.id), U(e.value));
		if (c->format & LIBTALLY_FORMAT_LOST)
			printf(", lost %llu", U(e.lost));
	}
}

static const char *page_name(__u64 size)
{
	static char name[32];

	if (!size)
		return "N/A";
	/* A sample that the kernel wrote wrongly may have any number (see src/lib/README.md). */
	if (size >= 1 << 30)
		snprintf(name, sizeof(name), "%lluG", U(size >> 30));
	else if (size >= 1 << 20)
		snprintf(name, sizeof(name), "%lluM", U(size >> 20));
	else
		snprintf(name, sizeof(name), "%lluK", U(size >> 10));
	return name;
}

/* perf prints the event's period for a sample without one. */
static __u64 period_of(const struct libtally_record *r)
{
	for (int e = 0; e < libtally_events_nr(file_events); e++)
		if (r->format == libtally_events_format(file_events, e))
			return ((struct perf_event_attr *)file_events->list[e].attr)->sample_period;
	return 0;
}

static void dump_sample(const struct libtally_record *r)
{
	const struct libtally_sample *s = &r->u.sample;

	printf("(IP, 0x%x): %d/%d: %#llx period: %llu addr: %#llx", r->misc, s->pid, s->tid,
	       U(s->ip), U(s->has & PERF_SAMPLE_PERIOD ? s->period : period_of(r)), U(s->addr));
	if (s->has & PERF_SAMPLE_CALLCHAIN) {
		printf("|... FP chain: nr:%llu", U(s->nr_ips));
		for (__u64 i = 0; i < s->nr_ips; i++)
			printf("|..... %2llu: %016llx", U(i), U(s->ips[i]));
	}
	if (s->has & PERF_SAMPLE_REGS_USER)
		dump_regs("user", &s->regs_user);
	if (s->has & PERF_SAMPLE_REGS_INTR)
		dump_regs("intr", &s->regs_intr);
	if (s->has & PERF_SAMPLE_STACK_USER)
		printf("|... ustack: size %llu", U(s->stack_used));
	if (s->has & PERF_SAMPLE_WEIGHT)
		printf("|... weight: %llu", U(s->weight));
	if (s->has & PERF_SAMPLE_DATA_SRC)
		printf("| . data_src: 0x%llx", U(s->data_src));
	if (s->has & PERF_SAMPLE_PHYS_ADDR)
		printf("| .. phys_addr: 0x%llx", U(s->phys_addr));
	if (s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		printf("| .. data page size: %s", page_name(s->data_page_size));
	if (s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		printf("| .. code page size: %s", page_name(s->code_page_size));
	if (s->has & PERF_SAMPLE_TRANSACTION)
		printf("|... transaction: %llx", U(s->transaction));
	if (s->has & PERF_SAMPLE_READ)
		dump_counts(&s->counts);
}

static void dump_read(const struct libtally_read_record *r)
{
	struct libtally_count_entry e;

	libtally_counts_get(&r->counts, 0, &e);
	printf(": %d %d EVENT %llu", r->pid, r->tid, U(e.value));
	printf("|... time enabled : %llu|... time running : %llu|... id           : %llu|... lost         : %llu",
	       U(e.enabled), U(e.running), U(e.id), U(e.lost));
}

static void dump_switch(const struct libtally_record *r)
{
	int out_of = r->misc & PERF_RECORD_MISC_SWITCH_OUT;

	printf(" %s", !out_of ? "IN         " : r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ?
			      "OUT preempt" : "OUT        ");
	if (r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		printf("  %s pid/tid: %5d/%-5d", out_of ? "next" : "prev",
		       r->u.switch_cpu_wide.pid, r->u.switch_cpu_wide.tid);
}

static void dump_one(const struct libtally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		dump_mmap(r);
		break;
	case PERF_RECORD_COMM:
		printf("%s: %s:%d/%d", r->misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "",
		       r->u.comm.comm, r->u.comm.pid, r->u.comm.tid);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf("(%d:%d):(%d:%d)", r->u.task.pid, r->u.task.tid, r->u.task.ppid,
		       r->u.task.ptid);
		break;
	case PERF_RECORD_LOST:
		printf(": id:%llu: lost:%llu", U(r->u.lost.id), U(r->u.lost.lost));
		break;
	case PERF_RECORD_READ:
		dump_read(&r->u.read);
		break;
	case PERF_RECORD_SAMPLE:
		dump_sample(r);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		dump_switch(r);
		break;
	case PERF_RECORD_NAMESPACES:
		dump_namespaces(&r->u.namespaces);
		break;
	case PERF_RECORD_KSYMBOL:
		printf(" addr %llx len %u type %u flags 0x%x name %s", U(r->u.ksymbol.addr),
		       r->u.ksymbol.len, r->u.ksymbol.ksym_type, r->u.ksymbol.flags,
		       r->u.ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		printf(" type %u, flags %u, id %u", r->u.bpf_event.type, r->u.bpf_event.flags,
		       r->u.bpf_event.id);
		break;
	case PERF_RECORD_CGROUP:
		printf(" cgroup: %llu %s", U(r->u.cgroup.id), r->u.cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		printf(" %llx old len %u new len %u", U(r->u.text_poke.addr),
		       r->u.text_poke.old_len, r->u.text_poke.new_len);
		dump_bytes("Old", r->u.text_poke.old_bytes, r->u.text_poke.old_len);
		dump_bytes("New", r->u.text_poke.new_bytes, r->u.text_poke.new_len);
		break;
	}
}

/* Checks members of a record that perf does not print, by the trailer. */
static int is_sound(const struct libtally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_LOST:
		return r->u.lost.id == r->id.id;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return r->u.throttle.id == r->id.id && r->u.throttle.stream_id &&
		       r->u.throttle.time <= r->id.time;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return r->u.task.time <= r->id.time + 1000000000;
	case PERF_RECORD_BPF_EVENT:
		return r->u.bpf_event.type == 1 || r->u.bpf_event.type == 2;
	case PERF_RECORD_SAMPLE:
		return !(r->u.sample.has & PERF_SAMPLE_RAW) || r->u.sample.raw_size % 8 == 4;
	default:
		return r->id.stream_id != 0;
	}
}

static int dump(const char *path, int own_words)
{
	const struct perf_event_header *header;
	unsigned long long unsound = 0;
	size_t at, end_at;
	struct libtally_record r;

	read_file(path, &at, &end_at);
	for (; at < end_at; at += header->size) {
		header = (void *)((char *)file_bytes + at);
		if (header->type >= OF_TOOLS)
			continue;
		if (libtally_events_parse(file_events, &r, header, end_at - at) < 0)
			errx(2, "record at %#zx", at);
		if (own_words) {
			libtally_record_print(stdout, &r);
			continue;
		}
		if (!is_sound(&r) && !unsound++) {
			fprintf(stderr, "# at %#zx\n", at);
			libtally_record_print(stderr, &r);
		}
		printf("%#zx [%#x]: %u %llu PERF_RECORD_%s", at, r.size, r.id.cpu,
		       U(r.id.time), libtally_record_name(r.type));
		dump_one(&r);
		putchar('\n');
	}
	if (!own_words)
		tell(!unsound, "what perf does not tell is sound");
	return 0;
}

#endif /* RECORDED_H */
