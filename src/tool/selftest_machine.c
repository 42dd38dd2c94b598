// SPDX-License-Identifier: GPL-2.0
/*
 * The head of the report of `tally doctor --self-test`: the processor, its PMUs and what the
 * kernel says of them. The report is sent to strangers: nothing here names the machine or its
 * users.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"
#include "tool.h"

#define DEVICES	"/sys/bus/event_source/devices"
/* Room for the text of a line, and number of the kinds of processors that are told apart. */
#define LINE	200
#define KINDS	4

__attribute__((format(printf, 2, 3)))
static void append(char *text, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, LINE - length, format, arguments);
	va_end(arguments);
}

static void print(const char *head, const char *text)
{
	printf("%-7s %.*s%s\n", head, 110, text, strlen(text) > 110 ? " ..." : "");
}

/* ---- processors ---- */

/* Lines of /proc/cpuinfo, and what they are called in the report. */
static const struct {
	const char *key, *name;
} keys[] = {
	{ "vendor_id", "" }, { "cpu family", "family " }, { "model", "model " },
	{ "stepping", "stepping " }, { "microcode", "microcode " }, { "model name", "" },
	{ "CPU implementer", "implementer " }, { "CPU variant", "variant " },
	{ "CPU part", "part " }, { "CPU revision", "revision " },
	{ "isa", "" }, { "mvendorid", "vendor " }, { "marchid", "arch " }, { "mimpid", "imp " },
};

/* Adds a line of /proc/cpuinfo to the text of its processor, if it is one of the keys. */
static void add_key(char *text, char *line)
{
	char *value = strchr(line, ':');
	size_t i;

	if (!value)
		return;
	*value++ = 0;
	line[strcspn(line, "\t")] = 0;
	value += strspn(value, " ");
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(line, keys[i].key))
			append(text, "%s%s%s", *text ? " " : "", keys[i].name, value);
}

/* Prints each kind of processor once, with the number of its CPUs. */
static void print_processors(void)
{
	char kinds[KINDS][LINE] = { "" }, text[LINE] = "", line[4096];
	FILE *file = fopen("/proc/cpuinfo", "re");
	int counts[KINDS] = { 0 }, others = 0, i;
	bool more = file;

	while (more) {
		more = fgets(line, sizeof(line), file);
		line[strcspn(line, "\n")] = 0;
		if (more && line[0]) {
			add_key(text, line);
			continue;
		}
		/* An empty line, or the end, is behind each processor. */
		for (i = 0; text[0] && i < KINDS && kinds[i][0] && strcmp(kinds[i], text); i++)
			;
		if (text[0] && i < KINDS) {
			strcpy(kinds[i], text);
			counts[i]++;
		} else if (text[0]) {
			others++;
		}
		text[0] = 0;
	}
	if (file)
		fclose(file);
	for (i = 0; i < KINDS && kinds[i][0]; i++) {
		snprintf(line, LINE, "%d x %s%s", counts[i], kinds[i],
			 is_virtual() ? ", hypervisor" : "");
		print("CPU", line);
	}
	if (others) {
		snprintf(line, LINE, "and %d others", others);
		print("CPU", line);
	}
}

/* ---- PMUs ---- */

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Adds what the folder caps of a PMU says: max_precise 3, branches 32. */
static void add_caps(char *text, const char *pmu)
{
	char path[600], value[64];
	struct dirent **caps;
	int nr, i;

	snprintf(path, sizeof(path), DEVICES "/%s/caps", pmu);
	nr = scandir(path, &caps, is_name, alphasort);
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), DEVICES "/%s/caps/%s", pmu, caps[i]->d_name);
		/* arm64 says by 0x00000000 that it does not know. */
		if (read_line(path, value, sizeof(value)) &&
		    (strncmp(value, "0x", 2) || strspn(value, "0x") < strlen(value)))
			append(text, " %s %s", caps[i]->d_name, value);
		free(caps[i]);
	}
	if (nr >= 0)
		free(caps);
}

/* A PMU of processors has the list of its CPUs, or is x86's only one. */
static bool is_core(const char *pmu)
{
	char path[600];

	snprintf(path, sizeof(path), DEVICES "/%s/cpus", pmu);
	return !strcmp(pmu, "cpu") || !access(path, F_OK);
}

static void print_core(const char *pmu)
{
	char path[600], value[128], text[LINE] = "";

	append(text, "%s", pmu);
	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	if (read_line(path, value, sizeof(value)))
		append(text, " type %s", value);
	snprintf(path, sizeof(path), DEVICES "/%s/cpus", pmu);
	if (read_line(path, value, sizeof(value)))
		append(text, " cpus %s", value);
	add_caps(text, pmu);
	print("PMU", text);
}

/*
 * Returns whether a text is a number, maybe of hex digits: that of smmuv3_pmcg_2b420 is a physical
 * address. The df of amd_df is none.
 */
static bool is_hex(const char *text)
{
	size_t length = strlen(text);

	return length && strspn(text, "0123456789abcdef") == length &&
	       (length > 3 || strpbrk(text, "0123456789"));
}

/* Adds the name of another PMU; of several with a number, only the first one's, with a star. */
static void add_other(char *text, char *last, const char *pmu)
{
	char name[256], *end;

	snprintf(name, sizeof(name), "%s", pmu);
	end = strrchr(name, '_');
	if (end && is_hex(end + 1)) {
		*end = 0;
	} else {
		for (end = name + strlen(name); end > name && isdigit((unsigned char)end[-1]);)
			*--end = 0;
	}
	if (strcmp(name, last))
		append(text, "%s%s%s", *text ? " " : "", name, strcmp(name, pmu) ? "*" : "");
	strcpy(last, name);
}

static void print_pmus(void)
{
	char others[LINE] = "", last[256] = "";
	struct dirent **pmus;
	int nr = scandir(DEVICES, &pmus, is_name, alphasort), i;

	for (i = 0; i < nr; i++) {
		if (is_core(pmus[i]->d_name))
			print_core(pmus[i]->d_name);
		else
			add_other(others, last, pmus[i]->d_name);
		free(pmus[i]);
	}
	if (nr >= 0)
		free(pmus);
	print("PMUs", others);
}

/* ---- the kernel ---- */

/* Whether a line of the log is one that drivers of core PMUs write about themselves. */
static bool is_of_pmu(const char *text)
{
	static const char *const parts[] = {
		"Performance Events:", "hw perfevents:", "generic registers:",
		"fixed-purpose events:", "riscv-pmu",
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

/* Squeezes the blanks of "... generic registers:      4". */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ' || text[1] != ' ')
			*to++ = *text;
	*to = 0;
}

static bool uses_nmi;

bool pmu_uses_nmi(void)
{
	return uses_nmi;
}

/*
 * Each read of /dev/kmsg returns a record: "6,17,4711,-;text". Programs can write to the log, too;
 * the first number of the kernel's own records is below 8, and these are no secret.
 */
static void print_log(void)
{
	int file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), lines = 0;
	char record[8192], *text;
	ssize_t length;

	if (file < 0) {
		snprintf(record, LINE, "/dev/kmsg: %s", strerror(errno));
		print("log", record);
		return;
	}
	while (lines < 5) {
		length = read(file, record, sizeof(record) - 1);
		if (length < 0 && errno == EPIPE)
			continue;
		if (length <= 0)
			break;
		record[length] = 0;
		text = strchr(record, ';');
		if (!text || strtol(record, NULL, 10) >= 8)
			continue;
		text[strcspn(text, "\n")] = 0;
		if (!is_of_pmu(text))
			continue;
		uses_nmi |= !!strstr(text, "using NMIs");
		squeeze(text);
		print("log", text + 1);
		lines++;
	}
	close(file);
	if (!lines)
		print("log", "nothing of a PMU (any more)");
}

void print_machine(void)
{
	char text[LINE] = "";

	print_processors();
	print_pmus();
	print_log();
	append(text, "perf_event_paranoid %ld, perf_event_max_sample_rate %ld, nmi_watchdog %ld%s",
	       number_in("/proc/sys/kernel/perf_event_paranoid", -2),
	       number_in("/proc/sys/kernel/perf_event_max_sample_rate", -1),
	       number_in("/proc/sys/kernel/nmi_watchdog", 0),
	       watchdog_counts() ? ", which holds a counter" : "");
	print("kernel", text);
}
