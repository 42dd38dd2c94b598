// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Parsing of records that are no samples, and of their trailer. */
#include <stdint.h>
#include "cursor.h"

#define ID_FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
		   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

void libtally_format_init(struct libtally_format *format, const struct perf_event_attr *attr)
{
	struct perf_event_attr all;
	size_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER0;

	memset(&all, 0, sizeof(all));
	memcpy(&all, attr, size < sizeof(all) ? size : sizeof(all));

	memset(format, 0, sizeof(*format));
	format->sample_type = all.sample_type;
	format->read_format = all.read_format;
	format->branch_sample_type = all.branch_sample_type;
	format->regs_user = all.sample_regs_user;
	format->regs_intr = all.sample_regs_intr;
	format->sample_id_all = all.sample_id_all;
	/* Each member of the trailer is a word. */
	if (all.sample_id_all)
		format->id_size = sizeof(__u64) *
				  __builtin_popcountll(all.sample_type & ID_FIELDS);
}

int libtally_format_sample_time(const struct libtally_format *format)
{
	__u64 before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	if (!(format->sample_type & PERF_SAMPLE_TIME))
		return -1;
	return sizeof(struct perf_event_header) +
	       sizeof(__u64) * __builtin_popcountll(format->sample_type & before);
}

int libtally_format_trailer_time(const struct libtally_format *format)
{
	__u64 behind = ID_FIELDS & ~(__u64)PERF_SAMPLE_TID;

	if (!format->sample_id_all || !(format->sample_type & PERF_SAMPLE_TIME))
		return -1;
	return sizeof(__u64) * __builtin_popcountll(format->sample_type & behind);
}

const char *libtally_record_strerror(int error)
{
	switch (error) {
	case 0: return "no error";
	case LIBTALLY_RECORD_SHORT: return "there are fewer bytes than the record's header says";
	case LIBTALLY_RECORD_BAD_SIZE: return "the record's size is less than its header's";
	case LIBTALLY_RECORD_UNALIGNED: return "the record does not begin at a multiple of 8";
	case LIBTALLY_RECORD_TRUNCATED: return "the record is too short for its type";
	case LIBTALLY_RECORD_BAD_LENGTH: return "a length in the record leads out of it";
	case LIBTALLY_RECORD_NO_END: return "a text in the record does not end";
	case LIBTALLY_RECORD_NO_EVENT: return "the record is of none of the events";
	default: return "unknown error";
	}
}

static const char * const names[] = {
	[PERF_RECORD_MMAP] = "MMAP",
	[PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM",
	[PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE",
	[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK",
	[PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE",
	[PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_AUX] = "AUX",
	[PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_RECORD_SWITCH] = "SWITCH",
	[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL",
	[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
	[PERF_RECORD_CGROUP] = "CGROUP",
	[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
};

const char *libtally_record_name(__u32 type)
{
	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static int take_text(struct cursor *c, const char **text)
{
	const unsigned char *end = memchr(c->at, 0, left(c));

	if (!end)
		return left(c) ? LIBTALLY_RECORD_NO_END : LIBTALLY_RECORD_TRUNCATED;
	*text = (const char *)c->at;
	/* The kernel pads with zeros to a multiple of 8. */
	c->at = c->end;
	return 0;
}

static int take_pid_tid(struct cursor *c, __u32 *pid, __u32 *tid)
{
	return take_u32(c, pid) | take_u32(c, tid);
}

static int take_mmap(struct cursor *c, struct libtally_mmap *m)
{
	int error = take_pid_tid(c, &m->pid, &m->tid);

	error |= take_u64(c, &m->addr);
	error |= take_u64(c, &m->len);
	error |= take_u64(c, &m->pgoff);
	return error;
}

/* A build id may stand in place of the inode's numbers. */
static int take_build_id(struct cursor *c, struct libtally_mmap *m)
{
	const unsigned char *bytes = take(c, 24);

	if (!bytes)
		return LIBTALLY_RECORD_TRUNCATED;
	if (bytes[0] > 20)
		return LIBTALLY_RECORD_BAD_LENGTH;
	m->build_id_size = bytes[0];
	m->build_id = bytes + 4;
	return 0;
}

static int take_inode(struct cursor *c, struct libtally_mmap *m)
{
	int error = take_u32(c, &m->maj) | take_u32(c, &m->min);

	error |= take_u64(c, &m->ino);
	error |= take_u64(c, &m->ino_generation);
	return error;
}

static int take_mmap2(struct cursor *c, struct libtally_mmap *m, __u16 misc)
{
	int error = take_mmap(c, m);

	if (!error && misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		error = take_build_id(c, m);
	else if (!error)
		error = take_inode(c, m);
	if (!error)
		error = take_u32(c, &m->prot) | take_u32(c, &m->flags);
	return error ? error : take_text(c, &m->filename);
}

static int take_task(struct cursor *c, struct libtally_task *t)
{
	int error = take_pid_tid(c, &t->pid, &t->ppid) | take_pid_tid(c, &t->tid, &t->ptid);

	return error | take_u64(c, &t->time);
}

static int take_three(struct cursor *c, __u64 *a, __u64 *b, __u64 *d)
{
	return take_u64(c, a) | take_u64(c, b) | take_u64(c, d);
}

static int take_namespaces(struct cursor *c, struct libtally_namespaces *n)
{
	int error = take_pid_tid(c, &n->pid, &n->tid) | take_u64(c, &n->nr);

	if (error)
		return error;
	n->links = take_array(c, n->nr, sizeof(*n->links));
	return n->links ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

static int take_ksymbol(struct cursor *c, struct libtally_ksymbol *k)
{
	int error = take_u64(c, &k->addr) | take_u32(c, &k->len);

	error |= take_copy(c, &k->ksym_type, sizeof(k->ksym_type));
	error |= take_copy(c, &k->flags, sizeof(k->flags));
	return error ? error : take_text(c, &k->name);
}

static int take_bpf_event(struct cursor *c, struct libtally_bpf_event *b)
{
	int error = take_copy(c, &b->type, sizeof(b->type));

	error |= take_copy(c, &b->flags, sizeof(b->flags));
	error |= take_u32(c, &b->id);
	b->tag = take(c, 8);
	return b->tag ? error : LIBTALLY_RECORD_TRUNCATED;
}

static int take_text_poke(struct cursor *c, struct libtally_text_poke *t)
{
	int error = take_u64(c, &t->addr);

	error |= take_copy(c, &t->old_len, sizeof(t->old_len));
	error |= take_copy(c, &t->new_len, sizeof(t->new_len));
	if (error)
		return error;
	t->old_bytes = take(c, t->old_len);
	t->new_bytes = take(c, t->new_len);
	if (!t->old_bytes || !t->new_bytes)
		return LIBTALLY_RECORD_BAD_LENGTH;
	/* The kernel pads with zeros to a multiple of 8. */
	c->at = c->end;
	return 0;
}

static int take_body(struct cursor *c, struct libtally_record *r)
{
	int error;

	switch (r->type) {
	case PERF_RECORD_MMAP:
		error = take_mmap(c, &r->u.mmap);
		return error ? error : take_text(c, &r->u.mmap.filename);
	case PERF_RECORD_MMAP2:
		return take_mmap2(c, &r->u.mmap, r->misc);
	case PERF_RECORD_LOST:
		return take_u64(c, &r->u.lost.id) | take_u64(c, &r->u.lost.lost);
	case PERF_RECORD_LOST_SAMPLES:
		return take_u64(c, &r->u.lost.lost);
	case PERF_RECORD_COMM:
		error = take_pid_tid(c, &r->u.comm.pid, &r->u.comm.tid);
		return error ? error : take_text(c, &r->u.comm.comm);
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		return take_task(c, &r->u.task);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return take_three(c, &r->u.throttle.time, &r->u.throttle.id,
				  &r->u.throttle.stream_id);
	case PERF_RECORD_READ:
		error = take_pid_tid(c, &r->u.read.pid, &r->u.read.tid);
		return error ? error : libtally_counts_take(c, &r->u.read.counts,
							    r->format->read_format);
	case PERF_RECORD_AUX:
		return take_three(c, &r->u.aux.offset, &r->u.aux.size, &r->u.aux.flags);
	case PERF_RECORD_ITRACE_START:
		return take_pid_tid(c, &r->u.itrace_start.pid, &r->u.itrace_start.tid);
	case PERF_RECORD_SWITCH:
		return 0;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_pid_tid(c, &r->u.switch_cpu_wide.pid, &r->u.switch_cpu_wide.tid);
	case PERF_RECORD_NAMESPACES:
		return take_namespaces(c, &r->u.namespaces);
	case PERF_RECORD_KSYMBOL:
		return take_ksymbol(c, &r->u.ksymbol);
	case PERF_RECORD_BPF_EVENT:
		return take_bpf_event(c, &r->u.bpf_event);
	case PERF_RECORD_CGROUP:
		error = take_u64(c, &r->u.cgroup.id);
		return error ? error : take_text(c, &r->u.cgroup.path);
	case PERF_RECORD_TEXT_POKE:
		return take_text_poke(c, &r->u.text_poke);
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return take_u64(c, &r->u.aux_output_hw_id);
	default:
		return 0;
	}
}

/* Takes the trailer from the end of the record: its size is known. */
static int take_trailer(struct cursor *c, struct libtally_id *id,
			const struct libtally_format *format)
{
	struct cursor trailer = { c->end - format->id_size, c->end };

	if (format->id_size > left(c))
		return LIBTALLY_RECORD_TRUNCATED;
	c->end = trailer.at;
	if (!format->id_size)
		return 0;
	id->has = format->sample_type & ID_FIELDS;
	if (id->has & PERF_SAMPLE_TID)
		take_pid_tid(&trailer, &id->pid, &id->tid);
	if (id->has & PERF_SAMPLE_TIME)
		take_u64(&trailer, &id->time);
	if (id->has & PERF_SAMPLE_ID)
		take_u64(&trailer, &id->id);
	if (id->has & PERF_SAMPLE_STREAM_ID)
		take_u64(&trailer, &id->stream_id);
	if (id->has & PERF_SAMPLE_CPU) {
		take_u32(&trailer, &id->cpu);
		take_u32(&trailer, &id->reserved);
	}
	if (id->has & PERF_SAMPLE_IDENTIFIER)
		take_u64(&trailer, &id->id);
	return 0;
}

static void id_of_sample(struct libtally_id *id, const struct libtally_sample *s)
{
	id->has = s->has & ID_FIELDS;
	id->pid = s->pid;
	id->tid = s->tid;
	id->time = s->time;
	id->id = s->id;
	id->stream_id = s->stream_id;
	id->cpu = s->cpu;
	id->reserved = s->cpu_reserved;
}

/* Records of unknown types have a trailer; types from 64 on are perf's own and have none. */
static int parse_unknown(struct libtally_record *r, struct cursor *c)
{
	if (r->type < 64)
		take_trailer(c, &r->id, r->format);
	r->extra.data = c->at;
	r->extra.size = left(c);
	return 0;
}

static int parse_body(struct libtally_record *r, struct cursor *c)
{
	int error;

	r->known = 1;
	if (r->type == PERF_RECORD_SAMPLE) {
		error = libtally_sample_take(c, &r->u.sample, r->format);
		id_of_sample(&r->id, &r->u.sample);
		return error;
	}
	error = take_trailer(c, &r->id, r->format);
	if (!error)
		error = take_body(c, r);
	r->extra.data = c->at;
	r->extra.size = left(c);
	return error;
}

int libtally_record_parse(struct libtally_record *record, const void *data, size_t size,
			  const struct libtally_format *format)
{
	struct perf_event_header header;
	struct cursor c;

	if (size < sizeof(header))
		return LIBTALLY_RECORD_SHORT;
	memcpy(&header, data, sizeof(header));
	if (header.size < sizeof(header))
		return LIBTALLY_RECORD_BAD_SIZE;
	if (header.size > size)
		return LIBTALLY_RECORD_SHORT;
	if ((uintptr_t)data % sizeof(__u64))
		return LIBTALLY_RECORD_UNALIGNED;

	memset(record, 0, offsetof(struct libtally_record, u));
	/* libtally_sample_take() clears the sample, the largest member. */
	if (header.type != PERF_RECORD_SAMPLE)
		memset(&record->u, 0, sizeof(record->u));
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->header = data;
	record->format = format;
	c.at = (const unsigned char *)data + sizeof(header);
	c.end = (const unsigned char *)data + header.size;
	record->raw.data = c.at;
	record->raw.size = left(&c);
	if (!libtally_record_name(header.type))
		return parse_unknown(record, &c);
	return parse_body(record, &c);
}

__u64 libtally_record_time(const struct libtally_record *record)
{
	if (record->id.has & PERF_SAMPLE_TIME)
		return record->id.time;
	switch (record->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return record->u.task.time;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return record->u.throttle.time;
	default:
		return 0;
	}
}
