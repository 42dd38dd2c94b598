/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Parsing of records from perf's rings and tally's.
 *
 *	struct libtally_format format;
 *	struct libtally_record r;
 *
 *	libtally_format_init(&format, &attr);
 *	if (libtally_record_parse(&r, header, size, &format) == 0 &&
 *	    r.type == PERF_RECORD_SAMPLE)
 *		printf("%llx\n", (unsigned long long)r.u.sample.ip);
 *
 * The parser allocates nothing and copies only numbers. Pointers lead into the record,
 * which must stay where it is while they are used. The parser reads nothing outside of the
 * record, whatever bytes the record has.
 *
 * Records are in the byte order of this machine.
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
 * Reasons why a record cannot be parsed.
 *
 * SHORT	there are fewer bytes than the header says; more may follow
 * BAD_SIZE	the header says a size below its own
 * UNALIGNED	the record does not begin at a multiple of 8
 * TRUNCATED	the record is too small for the members of its type
 * BAD_LENGTH	a length, a number or a mask leads out of the record
 * NO_END	a text has no NUL
 * NO_EVENT	the record is of none of the events: see libtally_events_parse()
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

/* Bits that kernel headers name from Linux 6.8 and 6.0 on. */
#define LIBTALLY_SAMPLE_BRANCH_COUNTERS	(1U << 19)
#define LIBTALLY_FORMAT_LOST		(1U << 4)

/* Bits of sample_type that the library knows. */
#define LIBTALLY_SAMPLE_KNOWN		((1ULL << 25) - 1)

/**
 * struct libtally_format - layout of an event's records
 * @sample_type:	perf_event_attr's
 * @read_format:	perf_event_attr's, for PERF_SAMPLE_READ and PERF_RECORD_READ
 * @branch_sample_type:	perf_event_attr's, for PERF_SAMPLE_BRANCH_STACK
 * @regs_user:		perf_event_attr's sample_regs_user
 * @regs_intr:		perf_event_attr's sample_regs_intr
 * @sample_id_all:	1 if records other than samples have a trailer
 * @id_size:		size of that trailer, in bytes; 0 without one
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
 * Reads as many bytes of attr as its size says, or 64 if that is 0, as the kernel does.
 */
void libtally_format_init(struct libtally_format *format, const struct perf_event_attr *attr);

/*
 * Return the place of a record's time: bytes from the beginning of a sample, and bytes
 * from the end of other records; -1 without a time.
 */
int libtally_format_sample_time(const struct libtally_format *format);
int libtally_format_trailer_time(const struct libtally_format *format);

/**
 * struct libtally_id - trailer of a record that is no sample
 * @has:	PERF_SAMPLE_* of the members that are set: TID, TIME, ID, STREAM_ID, CPU,
 *		IDENTIFIER
 * @id:		id of PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER
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
 * struct libtally_counts - counts of read(2), PERF_SAMPLE_READ and PERF_RECORD_READ
 * @format:	PERF_FORMAT_*
 * @nr:		number of entries; 1 without PERF_FORMAT_GROUP
 * @enabled:	nanoseconds; 0 without PERF_FORMAT_TOTAL_TIME_ENABLED
 * @running:	nanoseconds; 0 without PERF_FORMAT_TOTAL_TIME_RUNNING
 * @words:	entries as they were read, which libtally_counts_get() decodes
 * @stride:	distance of two entries, in words
 */
struct libtally_counts {
	__u64 format;
	__u64 nr;
	__u64 enabled;
	__u64 running;
	const __u64 *words;
	__u64 stride;
};

/* One entry of counts; members that the format does not have are 0. */
struct libtally_count_entry {
	__u64 value;
	__u64 id;
	__u64 lost;
	__u64 enabled;
	__u64 running;
};

/* Returns the number of parsed bytes, or LIBTALLY_RECORD_*. */
int libtally_counts_parse(struct libtally_counts *counts, const void *data, size_t size,
			  __u64 read_format);
/* Read the entry with an index, or with an id. Return 0, or -1 if there is none. */
int libtally_counts_get(const struct libtally_counts *counts, __u64 index,
			struct libtally_count_entry *entry);
int libtally_counts_find(const struct libtally_counts *counts, __u64 id,
			 struct libtally_count_entry *entry);

/*
 * Computes value * enabled / running, rounded down: the estimate for an event that had the
 * PMU for a part of its time. Returns 0; -1 if running is 0, and there is no estimate; 1 if
 * the result does not fit, and is the largest number.
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

/* LOST and LOST_SAMPLES, which has no id: 0 */
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

/* ITRACE_START; SWITCH_CPU_WIDE: the next task of a switch out, the previous one of a switch in */
struct libtally_pid_tid {
	__u32 pid, tid;
};

/* links is indexed by NET_NS_INDEX, UTS_NS_INDEX, ... */
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

/* Bytes that are not parsed. */
struct libtally_raw {
	const void *data;
	size_t size;
};

/* struct perf_branch_entry without bit-fields: libtally_branch_decode() parses flags. */
struct libtally_branch {
	__u64 from, to, flags;
};

struct libtally_branch_flags {
	unsigned char mispred, predicted, in_tx, abort, type, spec, new_type, priv;
	__u16 cycles;
};

void libtally_branch_decode(__u64 flags, struct libtally_branch_flags *result);

/* Fields of union perf_mem_data_src, in the same order: PERF_MEM_*. */
struct libtally_data_src {
	__u32 op, lvl, snoop, lock, dtlb, lvl_num, remote, snoopx, blk, hops;
};

void libtally_data_src_decode(__u64 data_src, struct libtally_data_src *result);

/* Parts of a weight of PERF_SAMPLE_WEIGHT_STRUCT */
#define LIBTALLY_WEIGHT_VAR1(weight)	((__u32)(weight))
#define LIBTALLY_WEIGHT_VAR2(weight)	((__u16)((weight) >> 32))
#define LIBTALLY_WEIGHT_VAR3(weight)	((__u16)((weight) >> 48))

/**
 * struct libtally_regs - registers
 * @abi:	PERF_SAMPLE_REGS_ABI_*; NONE without registers
 * @mask:	bit mask of the registers
 * @nr:		number of the registers
 * @regs:	values, by rising number of the register
 */
struct libtally_regs {
	__u64 abi;
	__u64 mask;
	__u64 nr;
	const __u64 *regs;
};

/* Reads a register by its number in <asm/perf_regs.h>. Returns 0, or -1 if regs lacks it. */
int libtally_regs_get(const struct libtally_regs *regs, unsigned int number, __u64 *value);

/**
 * struct libtally_sample - PERF_RECORD_SAMPLE
 * @has:		PERF_SAMPLE_* of the members that are set; all others are 0
 * @id:			id of PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER
 * @branches:		branches, the newest first
 * @has_hw_idx:		1 if @hw_idx is set
 * @branch_counters:	one word for each branch; NULL without counters
 * @stack_size:		size of @stack, in bytes
 * @stack_used:		number of bytes of @stack that the kernel copied (dyn_size)
 * @rest:		bytes of bits of sample_type that the library does not know
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
 * struct libtally_record - a record of any type
 * @type:	PERF_RECORD_*
 * @misc:	PERF_RECORD_MISC_*
 * @size:	size of the whole record, in bytes
 * @known:	0 for a type that the library does not know: all of @u is 0
 * @header:	place of the record
 * @format:	format of the record's event
 * @id:		trailer; for a sample, the sample's members of the same names
 * @raw:	all bytes behind the header
 * @extra:	bytes between the known members and the trailer: of later kernels
 * @u:		members by type
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

/* Parses the first record of size bytes. Returns 0 or LIBTALLY_RECORD_*. */
int libtally_record_parse(struct libtally_record *record, const void *data, size_t size,
			  const struct libtally_format *format);

/* Returns the record's time in nanoseconds; 0 without one. */
__u64 libtally_record_time(const struct libtally_record *record);

/* Returns "SAMPLE", "MMAP2", ...; NULL for a type that the library does not know. */
const char *libtally_record_name(__u32 type);

/*
 * Prints a record: a line that begins with the type, then a line "  name: value" for each
 * member. Returns 0, or -1 if the file cannot be written.
 */
int libtally_record_print(FILE *file, const struct libtally_record *record);

/*
 * Events whose records are in the same rings. The id in a record says which event it is
 * of. So several events need PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER; with the latter they may
 * have different sample_types.
 */
struct libtally_events;

struct libtally_events *libtally_events_new(void);
void libtally_events_free(struct libtally_events *events);

/*
 * Adds an event with the ids of its files (PERF_EVENT_IOC_ID), and a name for libtally_perfdata
 * or NULL. attr, ids and name are copied. Returns the event's number, from 0 on; -ENOMEM; -EINVAL
 * if there are other events, and the ids of its records are missing or at other places than
 * theirs, or if an id is another event's.
 */
int libtally_events_add(struct libtally_events *events, const struct perf_event_attr *attr,
			const __u64 *ids, size_t nr_ids, const char *name);
/* Adds an id of another file. Returns 0; -ENOMEM; -EINVAL for no event or another event's id. */
int libtally_events_add_id(struct libtally_events *events, int number, __u64 id);

int libtally_events_nr(const struct libtally_events *events);
/* Returns a format that stays until libtally_events_free(); NULL for an unknown number. */
const struct libtally_format *libtally_events_format(const struct libtally_events *events,
						     int number);

/* Returns the number of the record's event, or LIBTALLY_RECORD_*. */
int libtally_events_find(const struct libtally_events *events, const void *data, size_t size);
/* Finds the event and parses the record. Returns the event's number, or LIBTALLY_RECORD_*. */
int libtally_events_parse(const struct libtally_events *events, struct libtally_record *record,
			  const void *data, size_t size);
/* Returns the record's time in nanoseconds; 0 without one, or if the record is not whole. */
__u64 libtally_events_time(const struct libtally_events *events, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* LIBTALLY_RECORD_H */
