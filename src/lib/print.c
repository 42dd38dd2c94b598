// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Printing of records. */
#include <stdarg.h>
#include "libtally_record.h"
#include "text.h"

#define WORD(x) ((unsigned long long)(x))

__attribute__((format(printf, 3, 4)))
static void field(FILE *file, const char *name, const char *format, ...)
{
	va_list args;

	fprintf(file, "  %s: ", name);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	putc('\n', file);
}

static void number(FILE *file, const char *name, __u64 value)
{
	field(file, name, "%llu", WORD(value));
}

static void hex(FILE *file, const char *name, __u64 value)
{
	field(file, name, "%#llx", WORD(value));
}

static void pid_tid(FILE *file, __u32 pid, __u32 tid)
{
	field(file, "pid", "%d", (int)pid);
	field(file, "tid", "%d", (int)tid);
}

static void text(FILE *file, const char *name, const char *value)
{
	size_t length;

	fprintf(file, "  %s: ", name);
	while (*value) {
		length = *value == '\\' ? 0 : libtally_printable(value);
		if (length)
			fwrite(value, length, 1, file);
		else
			fprintf(file, "\\x%02x", (unsigned char)*value);
		value += length ? length : 1;
	}
	putc('\n', file);
}

static void bytes(FILE *file, const char *name, const void *data, size_t size)
{
	const unsigned char *byte = data;
	size_t i;

	fprintf(file, "  %s: %zu bytes", name, size);
	for (i = 0; i < size; i++) {
		if (i % 16 == 0)
			fprintf(file, "\n    %04zx:", i);
		fprintf(file, " %02x", byte[i]);
	}
	putc('\n', file);
}

static void hex_string(FILE *file, const char *name, const unsigned char *byte, size_t size)
{
	size_t i;

	fprintf(file, "  %s: ", name);
	for (i = 0; i < size; i++)
		fprintf(file, "%02x", byte[i]);
	putc('\n', file);
}

static void print_counts(FILE *file, const struct libtally_counts *counts)
{
	struct libtally_count_entry entry;
	__u64 i;

	number(file, "nr_counts", counts->nr);
	if (counts->format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		number(file, "time_enabled", counts->enabled);
	if (counts->format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		number(file, "time_running", counts->running);
	for (i = 0; libtally_counts_get(counts, i, &entry) == 0; i++) {
		fprintf(file, "  count: %llu", WORD(entry.value));
		if (counts->format & PERF_FORMAT_ID)
			fprintf(file, " id %llu", WORD(entry.id));
		if (counts->format & LIBTALLY_FORMAT_LOST)
			fprintf(file, " lost %llu", WORD(entry.lost));
		putc('\n', file);
	}
}

static void print_mmap(FILE *file, const struct libtally_record *r)
{
	const struct libtally_mmap *m = &r->u.mmap;

	pid_tid(file, m->pid, m->tid);
	hex(file, "addr", m->addr);
	hex(file, "len", m->len);
	hex(file, "pgoff", m->pgoff);
	if (r->type == PERF_RECORD_MMAP2) {
		if (m->build_id) {
			hex_string(file, "build_id", m->build_id, m->build_id_size);
		} else {
			number(file, "maj", m->maj);
			number(file, "min", m->min);
			number(file, "ino", m->ino);
			number(file, "ino_generation", m->ino_generation);
		}
		hex(file, "prot", m->prot);
		hex(file, "flags", m->flags);
	}
	text(file, "filename", m->filename);
}

static void print_task(FILE *file, const struct libtally_task *t)
{
	field(file, "pid", "%d", (int)t->pid);
	field(file, "ppid", "%d", (int)t->ppid);
	field(file, "tid", "%d", (int)t->tid);
	field(file, "ptid", "%d", (int)t->ptid);
	number(file, "time", t->time);
}

static const char *context(__u64 ip)
{
	switch (ip) {
	case PERF_CONTEXT_HV: return "hypervisor";
	case PERF_CONTEXT_KERNEL: return "kernel";
	case PERF_CONTEXT_USER: return "user";
	case PERF_CONTEXT_GUEST: return "guest";
	case PERF_CONTEXT_GUEST_KERNEL: return "guest kernel";
	case PERF_CONTEXT_GUEST_USER: return "guest user";
	default: return NULL;
	}
}

static void print_callchain(FILE *file, const struct libtally_sample *s)
{
	__u64 i;

	number(file, "nr_ips", s->nr_ips);
	for (i = 0; i < s->nr_ips; i++) {
		const char *name = context(s->ips[i]);

		if (name)
			fprintf(file, "    %llu: (%s)\n", WORD(i), name);
		else
			fprintf(file, "    %llu: %#llx\n", WORD(i), WORD(s->ips[i]));
	}
}

static void print_branches(FILE *file, const struct libtally_sample *s)
{
	struct libtally_branch_flags f;
	__u64 i;

	number(file, "nr_branches", s->nr_branches);
	if (s->has_hw_idx)
		number(file, "hw_idx", s->hw_idx);
	for (i = 0; i < s->nr_branches; i++) {
		const struct libtally_branch *b = &s->branches[i];

		libtally_branch_decode(b->flags, &f);
		fprintf(file, "    %llu: %#llx -> %#llx cycles %u type %u", WORD(i),
			WORD(b->from), WORD(b->to), f.cycles, f.type);
		fprintf(file, " spec %u new_type %u priv %u%s%s%s%s", f.spec, f.new_type,
			f.priv, f.mispred ? " mispred" : "",
			f.predicted ? " predicted" : "", f.in_tx ? " in_tx" : "",
			f.abort ? " abort" : "");
		if (s->branch_counters)
			fprintf(file, " counters %#llx", WORD(s->branch_counters[i]));
		putc('\n', file);
	}
}

static void print_regs(FILE *file, const char *name, const struct libtally_regs *regs)
{
	unsigned int i;
	__u64 value;

	field(file, name, "abi %llu mask %#llx", WORD(regs->abi), WORD(regs->mask));
	for (i = 0; i < 64; i++)
		if (libtally_regs_get(regs, i, &value) == 0)
			fprintf(file, "    %u: %#llx\n", i, WORD(value));
}

static void print_data_src(FILE *file, __u64 data_src)
{
	struct libtally_data_src d;

	libtally_data_src_decode(data_src, &d);
	field(file, "data_src",
	      "%#llx op %#x lvl %#x snoop %#x lock %#x dtlb %#x lvl_num %#x "
	      "remote %u snoopx %#x blk %#x hops %u",
	      WORD(data_src), d.op, d.lvl, d.snoop, d.lock, d.dtlb, d.lvl_num, d.remote,
	      d.snoopx, d.blk, d.hops);
}

static void print_weight(FILE *file, const struct libtally_sample *s)
{
	if (s->has & PERF_SAMPLE_WEIGHT_STRUCT)
		field(file, "weight", "%u %u %u", LIBTALLY_WEIGHT_VAR1(s->weight),
		      LIBTALLY_WEIGHT_VAR2(s->weight), LIBTALLY_WEIGHT_VAR3(s->weight));
	else
		number(file, "weight", s->weight);
}

/* Prints the members that are lists. */
static void print_lists(FILE *file, const struct libtally_sample *s)
{
	if (s->has & PERF_SAMPLE_READ)
		print_counts(file, &s->counts);
	if (s->has & PERF_SAMPLE_CALLCHAIN)
		print_callchain(file, s);
	if (s->has & PERF_SAMPLE_RAW)
		bytes(file, "raw", s->raw, s->raw_size);
	if (s->has & PERF_SAMPLE_BRANCH_STACK)
		print_branches(file, s);
	if (s->has & PERF_SAMPLE_REGS_USER)
		print_regs(file, "regs_user", &s->regs_user);
	if (s->has & PERF_SAMPLE_STACK_USER) {
		number(file, "stack_size", s->stack_size);
		bytes(file, "stack", s->stack, s->stack_used);
	}
}

static void print_sample(FILE *file, const struct libtally_sample *s)
{
	if (s->has & PERF_SAMPLE_IP)
		hex(file, "ip", s->ip);
	if (s->has & PERF_SAMPLE_ADDR)
		hex(file, "addr", s->addr);
	if (s->has & PERF_SAMPLE_PERIOD)
		number(file, "period", s->period);
	print_lists(file, s);
	if (s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		print_weight(file, s);
	if (s->has & PERF_SAMPLE_DATA_SRC)
		print_data_src(file, s->data_src);
	if (s->has & PERF_SAMPLE_TRANSACTION)
		hex(file, "transaction", s->transaction);
	if (s->has & PERF_SAMPLE_REGS_INTR)
		print_regs(file, "regs_intr", &s->regs_intr);
	if (s->has & PERF_SAMPLE_PHYS_ADDR)
		hex(file, "phys_addr", s->phys_addr);
	if (s->has & PERF_SAMPLE_CGROUP)
		number(file, "cgroup", s->cgroup);
	if (s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		hex(file, "data_page_size", s->data_page_size);
	if (s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		hex(file, "code_page_size", s->code_page_size);
	if (s->has & PERF_SAMPLE_AUX)
		bytes(file, "aux", s->aux, s->aux_size);
	if (s->rest.size)
		bytes(file, "rest", s->rest.data, s->rest.size);
}

static void print_namespaces(FILE *file, const struct libtally_namespaces *n)
{
	static const char * const names[NR_NAMESPACES] = {
		[NET_NS_INDEX] = "net", [UTS_NS_INDEX] = "uts", [IPC_NS_INDEX] = "ipc",
		[PID_NS_INDEX] = "pid_ns", [USER_NS_INDEX] = "user", [MNT_NS_INDEX] = "mnt",
		[CGROUP_NS_INDEX] = "cgroup",
	};
	__u64 i;

	pid_tid(file, n->pid, n->tid);
	number(file, "nr_namespaces", n->nr);
	for (i = 0; i < n->nr; i++)
		field(file, i < NR_NAMESPACES ? names[i] : "namespace", "%llu/%#llx",
		      WORD(n->links[i].dev), WORD(n->links[i].ino));
}

static void print_text_poke(FILE *file, const struct libtally_text_poke *t)
{
	hex(file, "addr", t->addr);
	bytes(file, "old", t->old_bytes, t->old_len);
	bytes(file, "new", t->new_bytes, t->new_len);
}

/* Prints the records that have only numbers. */
static void print_small(FILE *file, const struct libtally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_LOST:
		number(file, "lost_id", r->u.lost.id);
		number(file, "lost", r->u.lost.lost);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		number(file, "lost", r->u.lost.lost);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		number(file, "time", r->u.throttle.time);
		number(file, "throttle_id", r->u.throttle.id);
		number(file, "throttle_stream_id", r->u.throttle.stream_id);
		break;
	case PERF_RECORD_AUX:
		hex(file, "offset", r->u.aux.offset);
		hex(file, "size", r->u.aux.size);
		hex(file, "flags", r->u.aux.flags);
		break;
	case PERF_RECORD_ITRACE_START:
		pid_tid(file, r->u.itrace_start.pid, r->u.itrace_start.tid);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		number(file, "out", !!(r->misc & PERF_RECORD_MISC_SWITCH_OUT));
		number(file, "preempt", !!(r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT));
		if (r->type == PERF_RECORD_SWITCH)
			break;
		field(file, "next_prev_pid", "%d", (int)r->u.switch_cpu_wide.pid);
		field(file, "next_prev_tid", "%d", (int)r->u.switch_cpu_wide.tid);
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		hex(file, "hw_id", r->u.aux_output_hw_id);
		break;
	}
}

static void print_body(FILE *file, const struct libtally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		print_mmap(file, r);
		break;
	case PERF_RECORD_COMM:
		pid_tid(file, r->u.comm.pid, r->u.comm.tid);
		number(file, "exec", !!(r->misc & PERF_RECORD_MISC_COMM_EXEC));
		text(file, "comm", r->u.comm.comm);
		break;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		print_task(file, &r->u.task);
		break;
	case PERF_RECORD_READ:
		pid_tid(file, r->u.read.pid, r->u.read.tid);
		print_counts(file, &r->u.read.counts);
		break;
	case PERF_RECORD_SAMPLE:
		print_sample(file, &r->u.sample);
		break;
	case PERF_RECORD_NAMESPACES:
		print_namespaces(file, &r->u.namespaces);
		break;
	case PERF_RECORD_KSYMBOL:
		hex(file, "addr", r->u.ksymbol.addr);
		hex(file, "len", r->u.ksymbol.len);
		number(file, "ksym_type", r->u.ksymbol.ksym_type);
		hex(file, "flags", r->u.ksymbol.flags);
		text(file, "name", r->u.ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		number(file, "bpf_type", r->u.bpf_event.type);
		hex(file, "flags", r->u.bpf_event.flags);
		number(file, "bpf_id", r->u.bpf_event.id);
		hex_string(file, "tag", r->u.bpf_event.tag, 8);
		break;
	case PERF_RECORD_CGROUP:
		number(file, "cgroup", r->u.cgroup.id);
		text(file, "path", r->u.cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		print_text_poke(file, &r->u.text_poke);
		break;
	default:
		print_small(file, r);
	}
}

static void print_id(FILE *file, const struct libtally_id *id)
{
	if (id->has & PERF_SAMPLE_TID)
		field(file, "sample_tid", "%d/%d", (int)id->pid, (int)id->tid);
	if (id->has & PERF_SAMPLE_TIME)
		number(file, "sample_time", id->time);
	if (id->has & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		number(file, "sample_id", id->id);
	if (id->has & PERF_SAMPLE_STREAM_ID)
		number(file, "sample_stream_id", id->stream_id);
	if (id->has & PERF_SAMPLE_CPU)
		number(file, "sample_cpu", id->cpu);
}

int libtally_record_print(FILE *file, const struct libtally_record *record)
{
	const char *name = libtally_record_name(record->type);

	if (name)
		fprintf(file, "%s misc %#x size %u\n", name, record->misc, record->size);
	else
		fprintf(file, "type %u misc %#x size %u\n", record->type, record->misc,
			record->size);
	print_id(file, &record->id);
	if (record->known)
		print_body(file, record);
	else
		bytes(file, "raw", record->raw.data, record->raw.size);
	if (record->known && record->extra.size)
		bytes(file, "extra", record->extra.data, record->extra.size);
	return ferror(file) ? -1 : 0;
}
