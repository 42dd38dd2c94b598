// SPDX-License-Identifier: GPL-2.0
/* Messages, with a remedy for each failure that users meet; and other small helpers. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "text.h"
#include "tool.h"

const char *tool_name = "tally";
sigset_t tool_mask;
volatile sig_atomic_t tool_stopped, tool_writes;

static void print(const char *format, va_list arguments)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", tool_name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
	exit(STATUS_FAILED);
}

void *need(void *pointer)
{
	if (!pointer)
		die("out of memory");
	return pointer;
}

static const struct {
	int error;
	const char *remedy;
} remedies[] = {
	{ ENOENT, "`tally list' shows what this machine can count" },
	{ EACCES, "run it as root, give the program CAP_PERFMON, or lower "
		  "kernel.perf_event_paranoid; `tally doctor' says what is needed here" },
	{ EPERM, "run it as root; `tally doctor' says what is needed here" },
	{ EBUSY, "count fewer events; if the NMI watchdog has a counter, as `tally doctor' says, "
		 "free it: sysctl kernel.nmi_watchdog=0" },
	{ EMFILE, "raise the hard limit of open files, as root: ulimit -H -n NUMBER" },
	{ EDQUOT, "raise files_per_user, events_per_user or kbytes_per_user of the module" },
	{ EOPNOTSUPP, "count it without a period, or on another target" },
	{ EEXIST, "choose another name: name=TEXT" },
	{ ENOSPC, "remove a breakpoint: they have few registers" },
	{ EADDRNOTAVAIL, "give the address of one, by /proc/kallsyms: kprobe:0xADDRESS; or "
			 "kprobe:MODULE:SYMBOL" },
	{ ENODEV, "bring the CPU online, or count on all CPUs: -a" },
	{ ESRCH, "the process has ended: look for its number again" },
	{ ENOTTY, "load the module of this version: rmmod tally; modprobe tally" },
	{ EPROTO, "install a command and a module of one version" },
};

/* Prints a probe by address for each function of /proc/kallsyms that has the name in a probe. */
static void print_candidates(const char *probe)
{
	size_t prefix = strncmp(probe, "kret", 4) ? strlen("kprobe:") : strlen("kretprobe:");
	const char *symbol = probe + prefix;
	size_t size = 0, length = strcspn(symbol, ":+ ");
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char *line = NULL, type, name[512], module[64];
	int words;

	while (f && getline(&line, &size, f) > 0) {
		words = sscanf(line, "%llx %c %511s [%63[^]]", &address, &type, name, module);
		if (words < 3 || !address || !strchr("tTwW", type) || strlen(name) != length ||
		    strncmp(name, symbol, length))
			continue;
		fprintf(stderr, "    %.*s0x%llx%s%s\n", (int)prefix, probe, address,
			words > 3 ? " in " : "", words > 3 ? module : "");
	}
	free(line);
	if (f)
		fclose(f);
}

bool is_probe(const char *event)
{
	return !strncmp(event, "kprobe:", 7) || !strncmp(event, "kretprobe:", 10);
}

void say_failed(const char *what, int error, const char *why)
{
	size_t i;

	if (error < 0)
		error = -error;
	say("%s: %s", what, why && *why ? why : strerror(error));
	for (i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (remedies[i].error == error)
			fprintf(stderr, "  remedy: %s\n", remedies[i].remedy);
	if (error == EADDRNOTAVAIL && is_probe(what))
		print_candidates(what);
}

void say_no_event(const char *name, int error, const char *why)
{
	if (error == -ENOENT) {
		say("%s: there is no such event", name);
		fprintf(stderr, "  remedy: `tally list --running' lists the names\n");
	} else if (error == -EPERM) {
		say("%s: %s", name, why);
		fprintf(stderr, "  remedy: name an event or a set of `tally create', of debugfs "
				"or of the "
				"module's parameter\n");
	} else {
		say_failed(name, error, why);
	}
}

int device_or_die(void)
{
	char error[LIBTALLY_ERROR_SIZE];
	int device = libtally_device_open(error);

	if (device >= 0)
		return device;
	say("%s", error);
	switch (-device) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		fprintf(stderr, "  the module tally is not loaded\n  remedy: as root: modprobe "
				"tally\n");
		break;
	case EACCES:
	case EPERM:
		fprintf(stderr, "  remedy: run it as root, or let a group open the device by a "
				"udev rule: see tally(1)\n");
		break;
	case EDQUOT:
	case EMFILE:
		say_failed("/dev/tally", device, error);
		break;
	}
	exit(STATUS_FAILED);
}

int parse_arguments(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	int rest = argc;

	/* argp prints argv[0], which main() has set to the name of the command. */
	argp_parse(argp, argc, argv, flags, &rest, input);
	return rest;
}

long number_argument(struct argp_state *state, const char *text, long least, long most)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, strncasecmp(text, "0x", 2) ? 10 : 16);
	if (!isdigit((unsigned char)*text) || *end || errno || number < least || number > most)
		argp_error(state, "'%s' is no number from %ld to %ld", text, least, most);
	return number;
}

/* Signals that end a command. The last one comes when the terminal is gone. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };

static bool is_ignored(int signal)
{
	struct sigaction old;

	return sigaction(signal, NULL, &old) || old.sa_handler == SIG_IGN;
}

void stop_tool(int number)
{
	if (++tool_stopped < 2 || !tool_writes)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

void catch_signals(const struct sigaction *action)
{
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!is_ignored(ends[i]))
			sigaction(ends[i], action, NULL);
}

void uncatch_signals(void)
{
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!is_ignored(ends[i]))
			signal(ends[i], SIG_DFL);
}

static void change_mask(int how, sigset_t *set)
{
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!is_ignored(ends[i]))
			sigaddset(set, ends[i]);
	sigprocmask(how, set, NULL);
}

void block_signals(sigset_t *set)
{
	change_mask(SIG_BLOCK, set);
	tool_writes = false;
}

void allow_signals(void)
{
	const struct sigaction action = { .sa_handler = stop_tool, .sa_flags = SA_RESTART };
	const struct timespec now = { 0 };
	sigset_t set;

	catch_signals(&action);
	block_signals(&set);
	/* Signals that came with the one that ended the wait do not end the output, too. */
	while (tool_stopped && sigtimedwait(&set, NULL, &now) > 0)
		;
	tool_writes = true;
	change_mask(SIG_UNBLOCK, &set);
}

/* The limit before raise_file_limit(); all zero if it was not raised. */
static struct rlimit file_limit;

void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= files.rlim_max)
		return;
	file_limit = files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

void restore_file_limit(void)
{
	if (file_limit.rlim_max)
		setrlimit(RLIMIT_NOFILE, &file_limit);
}

bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool got;

	if (!file)
		return false;
	got = fgets(line, size, file);
	fclose(file);
	if (got)
		line[strcspn(line, "\n")] = 0;
	return got;
}

char *escape(const char *text)
{
	char *escaped = need(malloc(4 * strlen(text) + 1)), *to = escaped;
	size_t length;

	while (*text) {
		length = *text == '\\' && text[1] >= '0' && text[1] <= '7' ? 0 :
			 libtally_printable(text);
		if (length)
			to = mempcpy(to, text, length);
		else
			to += sprintf(to, "\\%03o", (unsigned char)*text);
		text += length ? length : 1;
	}
	*to = 0;
	return escaped;
}

static bool begins_character(char byte)
{
	return (byte & 0xc0) != 0x80;
}

size_t first_bytes(const char *text, size_t characters)
{
	const char *at;

	for (at = text; *at; at++)
		if (begins_character(*at) && !characters--)
			break;
	return at - text;
}

void fit(const char *text, size_t characters, char *fitted, size_t size)
{
	size_t bytes = first_bytes(text, characters), i;

	for (i = 0; i < bytes; i++)
		characters -= begins_character(text[i]);
	snprintf(fitted, size, "%.*s%*s", (int)bytes, text, (int)characters, "");
}

const char *tracefs(void)
{
	return access("/sys/kernel/tracing/events", F_OK) ? "/sys/kernel/debug/tracing" :
							    "/sys/kernel/tracing";
}

__u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
