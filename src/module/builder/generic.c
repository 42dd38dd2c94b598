// SPDX-License-Identifier: GPL-2.0
/*
 * perf's names for generic events of hardware, caches and software, and for raw codes.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include "builder/builder.h"

static const char *const hardware_names[][2] = {
	[PERF_COUNT_HW_CPU_CYCLES] = { "cycles", "cpu-cycles" },
	[PERF_COUNT_HW_INSTRUCTIONS] = { "instructions" },
	[PERF_COUNT_HW_CACHE_REFERENCES] = { "cache-references" },
	[PERF_COUNT_HW_CACHE_MISSES] = { "cache-misses" },
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = {
		"branch-instructions", "branches"
	},
	[PERF_COUNT_HW_BRANCH_MISSES] = { "branch-misses" },
	[PERF_COUNT_HW_BUS_CYCLES] = { "bus-cycles" },
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = {
		"stalled-cycles-frontend", "idle-cycles-frontend"
	},
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND] = {
		"stalled-cycles-backend", "idle-cycles-backend"
	},
	[PERF_COUNT_HW_REF_CPU_CYCLES] = { "ref-cycles" },
};

static const char *const software_names[][2] = {
	[PERF_COUNT_SW_CPU_CLOCK] = { "cpu-clock" },
	[PERF_COUNT_SW_TASK_CLOCK] = { "task-clock" },
	[PERF_COUNT_SW_PAGE_FAULTS] = { "page-faults", "faults" },
	[PERF_COUNT_SW_CONTEXT_SWITCHES] = { "context-switches", "cs" },
	[PERF_COUNT_SW_CPU_MIGRATIONS] = { "cpu-migrations", "migrations" },
	[PERF_COUNT_SW_PAGE_FAULTS_MIN] = { "minor-faults" },
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = { "major-faults" },
	[PERF_COUNT_SW_ALIGNMENT_FAULTS] = { "alignment-faults" },
	[PERF_COUNT_SW_EMULATION_FAULTS] = { "emulation-faults" },
	[PERF_COUNT_SW_DUMMY] = { "dummy" },
	[PERF_COUNT_SW_BPF_OUTPUT] = { "bpf-output" },
	[PERF_COUNT_SW_CGROUP_SWITCHES] = { "cgroup-switches" },
};

#define CACHE_ALIASES 5

static const char *const cache_names[][CACHE_ALIASES] = {
	[PERF_COUNT_HW_CACHE_L1D] = {
		"L1-dcache", "l1-d", "l1d", "L1-data"
	},
	[PERF_COUNT_HW_CACHE_L1I] = {
		"L1-icache", "l1-i", "l1i", "L1-instruction"
	},
	[PERF_COUNT_HW_CACHE_LL] = { "LLC", "L2" },
	[PERF_COUNT_HW_CACHE_DTLB] = { "dTLB", "d-tlb", "Data-TLB" },
	[PERF_COUNT_HW_CACHE_ITLB] = { "iTLB", "i-tlb", "Instruction-TLB" },
	[PERF_COUNT_HW_CACHE_BPU] = {
		"branch", "branches", "bpu", "btb", "bpc"
	},
	[PERF_COUNT_HW_CACHE_NODE] = { "node" },
};

/* The second spelling is the one for "how often", as in L1-dcache-loads. */
static const char *const cache_ops[][CACHE_ALIASES] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "load", "loads", "read" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores", "write" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = {
		"prefetch", "prefetches", "speculative-read", "speculative-load"
	},
};

static const char *const cache_results[][CACHE_ALIASES] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {
		"refs", "Reference", "ops", "access"
	},
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = { "misses", "miss" },
};

static int find_name(const char *const (*names)[2], size_t nr, const char *text)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(text, names[i][0]) ||
		    (names[i][1] && !strcmp(text, names[i][1])))
			return i;
	return -1;
}

/*
 * Finds the longest word of the table that @text begins with, up to a dash, and
 * moves @text behind both. Returns the word's index; -1 if there is none.
 */
static int take_word(const char *const (*words)[CACHE_ALIASES], size_t nr, const char **text)
{
	size_t best = 0, i, len;
	int a, found = -1;

	for (i = 0; i < nr; i++) {
		for (a = 0; a < CACHE_ALIASES && words[i][a]; a++) {
			len = strlen(words[i][a]);
			if (len > best &&
			    !strncasecmp(*text, words[i][a], len) &&
			    (!(*text)[len] || (*text)[len] == '-')) {
				best = len;
				found = i;
			}
		}
	}
	if (found >= 0) {
		*text += best;
		if (**text == '-' && (*text)[1])
			(*text)++;
	}
	return found;
}

/* Parses cache[-operation][-result], in perf's order. */
static bool parse_cache(struct perf_event_attr *attr, const char *text)
{
	int op = -1, result = -1, cache;

	cache = take_word(cache_names, ARRAY_SIZE(cache_names), &text);
	if (cache < 0)
		return false;
	if (*text)
		op = take_word(cache_ops, ARRAY_SIZE(cache_ops), &text);
	if (*text)
		result = take_word(cache_results, ARRAY_SIZE(cache_results),
				   &text);
	if (*text)
		return false;
	if (op < 0)
		op = PERF_COUNT_HW_CACHE_OP_READ;
	if (result < 0)
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = cache | op << 8 | result << 16;
	return true;
}

static bool parse_raw(struct perf_event_attr *attr, const char *text)
{
	if (text[0] != 'r' || !isxdigit(text[1]) ||
	    kstrtou64(text + 1, 16, &attr->config))
		return false;
	attr->type = PERF_TYPE_RAW;
	return true;
}

/* Parses the name of a generic event, or a raw code; false if @text is neither. */
bool tally_generic_parse(struct perf_event_attr *attr, const char *text)
{
	int id = find_name(hardware_names, ARRAY_SIZE(hardware_names), text);

	if (id >= 0) {
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = id;
		return true;
	}
	id = find_name(software_names, ARRAY_SIZE(software_names), text);
	if (id >= 0) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = id;
		return true;
	}
	return parse_raw(attr, text) || parse_cache(attr, text);
}

static bool format_cache(const struct perf_event_attr *attr, char *buf, size_t size)
{
	u64 cache = attr->config & 0xff, op = attr->config >> 8 & 0xff;
	u64 result = attr->config >> 16;

	if (cache >= ARRAY_SIZE(cache_names) || op >= ARRAY_SIZE(cache_ops) ||
	    result >= ARRAY_SIZE(cache_results))
		return false;
	if (result == PERF_COUNT_HW_CACHE_RESULT_ACCESS)
		snprintf(buf, size, "%s-%s", cache_names[cache][0],
			 cache_ops[op][1]);
	else
		snprintf(buf, size, "%s-%s-%s", cache_names[cache][0],
			 cache_ops[op][0], cache_results[result][0]);
	return true;
}

/* Writes the name of a generic event, or a raw code; false if the event has none. */
bool tally_generic_format(const struct perf_event_attr *attr, char *buf, size_t size)
{
	u64 id = attr->config;

	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		if (id >= ARRAY_SIZE(hardware_names))
			return false;
		strscpy(buf, hardware_names[id][0], size);
		return true;
	case PERF_TYPE_SOFTWARE:
		if (id >= ARRAY_SIZE(software_names))
			return false;
		strscpy(buf, software_names[id][0], size);
		return true;
	case PERF_TYPE_HW_CACHE:
		return format_cache(attr, buf, size);
	case PERF_TYPE_RAW:
		snprintf(buf, size, "r%llx", id);
		return true;
	}
	return false;
}
