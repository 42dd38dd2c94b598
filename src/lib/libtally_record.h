/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Records of perf's rings and of tally's, taken apart.
 *
 *	struct libtally_format format;
 *	struct libtally_record r;
 *
 *	libtally_format_init(&format, &attr);
 *	if (libtally_record_parse(&r, header, size, &format) == 0 &&
 *	    r.type == PERF_RECORD_SAMPLE)
 *		printf("%llx\n", (unsigned long long)r.u.sample.ip);
 *
 * Nothing is allocated and nothing is copied but numbers: pointers lead into the
 * record, which must stay where it is while they are used. What the bytes of a
 * record are makes no difference to what is safe: nothing outside of them is read.
 *
 * Records are in the byte order of the machine that runs this.
 */
#ifndef LIBTALLY_RECORD_H
#define LIBTALLY_RECORD_H

#include <stddef.h>
#include <stdio.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Why a record cannot be taken apart.
 *
 * SHORT	there are fewer bytes than its header says: more are to come
 * BAD_SIZE	its header says a size below that of a header
 * UNALIGNED	it does not begin at a multiple of 8
 * TRUNCATED	what records of its type have does not fit into it
 * BAD_LENGTH	a length, a number or a mask in it leads out of it
 * NO_END	a text in it does not end
 * NO_EVENT	it is of none of the events (see libtally_events_parse())
 */
enum libtally_record_error {
	LIBTALLY_RECORD_SHORT = -1,
	LIBTALLY_RECORD_BAD_SIZE = -2,
	LIBTALLY_RECORD_UNALIGNED = -3,
	LIBTALLY_RECORD_TRUNCATED = -4,
	LIBTALLY_RECORD_BAD_LENGTH = -5,
	LIBTALLY_RECORD_NO_END = -6,
	LIBTALLY_RECORD_NO_EVENT = -7
};

const char *libtally_record_strerror(int error);

/* What headers older than Linux 6.8, or 6.0, have no name for. */
#define LIBTALLY_SAMPLE_BRANCH_COUNTERS	(1U << 19)
#define LIBTALLY_FORMAT_LOST		(1U << 4)

/* How many bits of sample_type have a meaning here. */
#define LIBTALLY_SAMPLE_KNOWN		((1ULL << 25) - 1)

/**
 * struct libtally_format - what an event's attr says of its records
 * @sample_type:	as in perf_event_attr, as the next four
 * @read_format:	of PERF_SAMPLE_READ and PERF_RECORD_READ
 * @branch_sample_type:	of PERF_SAMPLE_BRANCH_STACK
 * @regs_user:		sample_regs_user
 * @regs_intr:		sample_regs_intr
 * @sample_id_all:	records that are no samples have a trailer
 * @id_size:		of that trailer, in bytes; 0 without one
 */
struct libtally_format {
	__u64 sample_type;
	__u64 read_format;
	__u64 branch_sample_type;
	__u64 regs_user;
	__u64 regs_intr;
	__u32 sample_id_all;
	__u32 id_size;
};

/*
 * Only as much of the attr is read as its size says: 64 bytes if that is 0, as the
 * kernel does.
 */
void libtally_format_init(struct libtally_format *format, const struct perf_event_attr *attr);

/*
 * Where a record's time is: in bytes from the beginning of a sample, and in bytes
 * from the end of other records. -1 if they have none.
 */
int libtally_format_sample_time(const struct libtally_format *format);
int libtally_format_trailer_time(const struct libtally_format *format);

/**
 * struct libtally_id - what is at the end of each record that is no sample
 * @has:	PERF_SAMPLE_* that are there: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER
 * @id:		by PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER
 */
struct libtally_id {
	__u64 has;
	__u64 time;
	__u64 id;
	__u64 stream_id;
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u32 reserved;
};

/**
 * struct libtally_counts - what read(2) tells, and records that have counts
 * @format:	PERF_FORMAT_*
 * @nr:		how many entries; 1 without PERF_FORMAT_GROUP
 * @enabled:	nanoseconds; 0 without PERF_FORMAT_TOTAL_TIME_ENABLED
 * @running:	nanoseconds; 0 without PERF_FORMAT_TOTAL_TIME_RUNNING
 * @words:	of the entries, @stride words from one to the next; without a group
 *		the times are between
 * @stride:	words
 */
struct libtally_counts {
	__u64 format;
	__u64 nr;
	__u64 enabled;
	__u64 running;
	const __u64 *words;
	__u64 stride;
};

/* One of them; what the format does not have is 0. */
struct libtally_count_entry {
	__u64 value;
	__u64 id;
	__u64 lost;
	__u64 enabled;
	__u64 running;
};

/* Returns the bytes that were used, or LIBTALLY_RECORD_*. */
int libtally_counts_parse(struct libtally_counts *counts, const void *data, size_t size,
			  __u64 read_format);
/* Both return 0, or -1 if there is no such entry. */
int libtally_counts_get(const struct libtally_counts *counts, __u64 index,
			struct libtally_count_entry *entry);
int libtally_counts_find(const struct libtally_counts *counts, __u64 id,
			 struct libtally_count_entry *entry);

/*
 * What would have been counted, had the event been on the PMU all the time it was
 * enabled: value * enabled / running, rounded down. 0; -1 if it was never there,
 * and nothing can be said; 1 if the result does not fit, and is the largest number.
 */
int libtally_scaled(__u64 value, __u64 enabled, __u64 running, __u64 *result);

struct libtally_mmap {
	__u32 pid, tid;
	__u64 addr, len, pgoff;
	const char *filename;
	/* MMAP2 only */
	__u32 maj, min;
	__u64 ino, ino_generation;
	__u32 build_id_size;		/* 0 unless PERF_RECORD_MISC_MMAP_BUILD_ID */
	const unsigned char *build_id;
	__u32 prot, flags;
};

struct libtally_comm {
	__u32 pid, tid;
	const char *comm;
};

/* FORK and EXIT */
struct libtally_task {
	__u32 pid, ppid, tid, ptid;
	__u64 time;
};

/* THROTTLE and UNTHROTTLE */
struct libtally_throttle {
	__u64 time, id, stream_id;
};

/* LOST; of LOST_SAMPLES the id is 0 */
struct libtally_lost {
	__u64 id, lost;
};

struct libtally_read_record {
	__u32 pid, tid;
	struct libtally_counts counts;
};

struct libtally_aux {
	__u64 offset, size, flags;
};

/* ITRACE_START; of SWITCH_CPU_WIDE who is next when switching out, else who was before */
struct libtally_pid_tid {
	__u32 pid, tid;
};

/* By place: NET_NS_INDEX, UTS_NS_INDEX, ... */
struct libtally_namespaces {
	__u32 pid, tid;
	__u64 nr;
	const struct perf_ns_link_info *links;
};

struct libtally_ksymbol {
	__u64 addr;
	__u32 len;
	__u16 ksym_type, flags;
	const char *name;
};

struct libtally_bpf_event {
	__u16 type, flags;
	__u32 id;
	const unsigned char *tag;	/* 8 bytes */
};

struct libtally_cgroup {
	__u64 id;
	const char *path;
};

struct libtally_text_poke {
	__u64 addr;
	__u16 old_len, new_len;
	const unsigned char *old_bytes, *new_bytes;
};

/* What is not taken apart: all that is behind the header. */
struct libtally_raw {
	const void *data;
	size_t size;
};

/* As struct perf_branch_entry, without bit-fields: see libtally_branch_decode(). */
struct libtally_branch {
	__u64 from, to, flags;
};

struct libtally_branch_flags {
	unsigned char mispred, predicted, in_tx, abort, type, spec, new_type, priv;
	__u16 cycles;
};

void libtally_branch_decode(__u64 flags, struct libtally_branch_flags *result);

/* As union perf_mem_data_src, its fields in the same order: PERF_MEM_*. */
struct libtally_data_src {
	__u32 op, lvl, snoop, lock, dtlb, lvl_num, remote, snoopx, blk, hops;
};

void libtally_data_src_decode(__u64 data_src, struct libtally_data_src *result);

/* Of PERF_SAMPLE_WEIGHT_STRUCT */
#define LIBTALLY_WEIGHT_VAR1(weight)	((__u32)(weight))
#define LIBTALLY_WEIGHT_VAR2(weight)	((__u16)((weight) >> 32))
#define LIBTALLY_WEIGHT_VAR3(weight)	((__u16)((weight) >> 48))

/**
 * struct libtally_regs - registers
 * @abi:	PERF_SAMPLE_REGS_ABI_*; with NONE there are no registers
 * @mask:	of which registers
 * @nr:		how many
 * @regs:	the values, by rising number of the register
 */
struct libtally_regs {
	__u64 abi;
	__u64 mask;
	__u64 nr;
	const __u64 *regs;
};

/* The register with that number, as in <asm/perf_regs.h>; 0, or -1 if it is not there. */
int libtally_regs_get(const struct libtally_regs *regs, unsigned int number, __u64 *value);

/**
 * struct libtally_sample - PERF_RECORD_SAMPLE
 * @has:		PERF_SAMPLE_*: which of these there are; what is not there is 0
 * @id:			by PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER
 * @branches:		newest first
 * @has_hw_idx:		@hw_idx is there
 * @branch_counters:	one word for each branch, or NULL
 * @stack_size:		how many bytes of @stack there are
 * @stack_used:		how many of them were copied (dyn_size)
 * @rest:		what bits of sample_type without a name here have added
 */
struct libtally_sample {
	__u64 has;
	__u64 ip;
	__u32 pid, tid;
	__u64 time, addr, id, stream_id;
	__u32 cpu, cpu_reserved;
	__u64 period;
	struct libtally_counts counts;
	__u64 nr_ips;
	const __u64 *ips;
	const void *raw;
	__u32 raw_size;
	__u32 has_hw_idx;
	__u64 nr_branches, hw_idx;
	const struct libtally_branch *branches;
	const __u64 *branch_counters;
	struct libtally_regs regs_user, regs_intr;
	const void *stack;
	__u64 stack_size, stack_used;
	__u64 weight, data_src, transaction, phys_addr, cgroup;
	__u64 data_page_size, code_page_size;
	const void *aux;
	__u64 aux_size;
	struct libtally_raw rest;
};

/**
 * struct libtally_record - any record
 * @type:	PERF_RECORD_*
 * @misc:	PERF_RECORD_MISC_*
 * @size:	of the whole record
 * @known:	0: the type has no name here, and only @raw and @id say something
 * @header:	where it is
 * @format:	that of its event
 * @id:		the trailer; of samples the same fields of those
 * @raw:	all that is behind the header
 * @extra:	what later kernels have put between the known fields and the trailer
 * @u:		by type
 */
struct libtally_record {
	__u32 type;
	__u16 misc;
	__u16 size;
	__u32 known;
	const struct perf_event_header *header;
	const struct libtally_format *format;
	struct libtally_id id;
	struct libtally_raw raw;
	struct libtally_raw extra;
	union {
		struct libtally_mmap mmap;			/* MMAP, MMAP2 */
		struct libtally_lost lost;			/* LOST, LOST_SAMPLES */
		struct libtally_comm comm;
		struct libtally_task task;			/* FORK, EXIT */
		struct libtally_throttle throttle;		/* THROTTLE, UNTHROTTLE */
		struct libtally_read_record read;
		struct libtally_sample sample;
		struct libtally_aux aux;
		struct libtally_pid_tid itrace_start;
		struct libtally_pid_tid switch_cpu_wide;
		struct libtally_namespaces namespaces;
		struct libtally_ksymbol ksymbol;
		struct libtally_bpf_event bpf_event;
		struct libtally_cgroup cgroup;
		struct libtally_text_poke text_poke;
		__u64 aux_output_hw_id;
	} u;
};

/* Of size bytes only the first record is looked at. Returns 0 or LIBTALLY_RECORD_*. */
int libtally_record_parse(struct libtally_record *record, const void *data, size_t size,
			  const struct libtally_format *format);

/* The time it was made; 0 if it does not say. */
__u64 libtally_record_time(const struct libtally_record *record);

/* "SAMPLE", "MMAP2", ...; NULL for a type without a name here. */
const char *libtally_record_name(__u32 type);

/*
 * Prints it: a line that begins with the type, then a line "  name: value" for each
 * field. Returns 0, or -1 if the file does not take it.
 */
int libtally_record_print(FILE *file, const struct libtally_record *record);

/*
 * Events whose records are in the same rings. With more than one, records tell by
 * an id of which they are; so all need PERF_SAMPLE_ID or, so that they may differ in
 * what else they have, PERF_SAMPLE_IDENTIFIER.
 */
struct libtally_events;

struct libtally_events *libtally_events_new(void);
void libtally_events_free(struct libtally_events *events);

/*
 * Adds an event, with the ids of its files (PERF_EVENT_IOC_ID); a name for
 * libtally_perfdata, or NULL. Returns its number, from 0 on, or -ENOMEM; -EINVAL if its
 * records could not be told from those of the others, or an id is another event's.
 */
int libtally_events_add(struct libtally_events *events, const struct perf_event_attr *attr,
			const __u64 *ids, size_t nr_ids, const char *name);
/* One more id of an event that was added: 0, -ENOMEM or -EINVAL. */
int libtally_events_add_id(struct libtally_events *events, int number, __u64 id);

int libtally_events_nr(const struct libtally_events *events);
/* Stays where it is until libtally_events_free(), as the format of records does. */
const struct libtally_format *libtally_events_format(const struct libtally_events *events,
						     int number);

/* Of which event it is, by number; or LIBTALLY_RECORD_*. */
int libtally_events_find(const struct libtally_events *events, const void *data, size_t size);
/* libtally_events_find() and libtally_record_parse(); returns the number, or LIBTALLY_RECORD_*. */
int libtally_events_parse(const struct libtally_events *events, struct libtally_record *record,
			  const void *data, size_t size);
/* Only its time; 0 if it does not say, or is not whole. */
__u64 libtally_events_time(const struct libtally_events *events, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* LIBTALLY_RECORD_H */
