// SPDX-License-Identifier: GPL-2.0
/* tally doctor: says what works on this machine, and what to do about what does not. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/tally.h>
#include "doctor.h"
#include "target.h"
#include "tool.h"

enum { KEY_PROBE = 256, KEY_SELF_TEST, KEY_HOTPLUG };

static const struct argp_option options[] = {
	{ "probe", KEY_PROBE, NULL, 0, "Try how many events fit on the PMU at once", 0 },
	{ "self-test", KEY_SELF_TEST, NULL, 0,
	  "Count beside perf for some seconds, and print a report that can be sent", 0 },
	{ "hotplug", KEY_HOTPLUG, NULL, 0, "Let the self-test take a CPU offline for a moment", 0 },
	{ 0 }
};

/* These options were given on the command line. */
struct asked {
	bool probe, self_test, hotplug;
};

int doctor_bad;

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct asked *asked = state->input;

	(void)argument;
	switch (key) {
	case KEY_PROBE:
		asked->probe = true;
		return 0;
	case KEY_SELF_TEST:
		asked->self_test = true;
		return 0;
	case KEY_HOTPLUG:
		asked->hotplug = true;
		return 0;
	case ARGP_KEY_END:
		if (asked->hotplug && !asked->self_test)
			argp_error(state, "--hotplug belongs to --self-test");
		if (asked->probe && asked->self_test)
			argp_error(state, "give one of --probe and --self-test");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void finding(const char *mark, const char *format, ...)
{
	va_list arguments;

	doctor_bad += !strcmp(mark, "BAD");
	printf("%-5s ", mark);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static void remedy(const char *text)
{
	printf("      remedy: %s\n", text);
}

long number_in(const char *path, long fallback)
{
	char line[64];

	return read_line(path, line, sizeof(line)) ? strtol(line, NULL, 10) : fallback;
}

static bool is_installed(const char *release)
{
	char path[512], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/tally.ko");
	if (file)
		fclose(file);
	return found;
}

/* The active word of /sys/kernel/security/lockdown stands in brackets. */
static void check_lockdown(bool loaded)
{
	char line[128], *word, *end, enforced[8] = "N", taint[32] = "";

	word = read_line("/sys/kernel/security/lockdown", line, sizeof(line)) ?
	       strchr(line, '[') : NULL;
	end = word ? strchr(word, ']') : NULL;
	if (!end) {
		note("lockdown: not known (securityfs is not mounted, or the kernel has none)");
	} else {
		*end = 0;
		if (!strcmp(++word, "none")) {
			good("lockdown: none");
		} else {
			note("lockdown: %s: modules have to be signed; debugfs is read-only", word);
			remedy("make events by `tally create', which lockdown does not refuse");
		}
	}
	read_line("/sys/module/module/parameters/sig_enforce", enforced, sizeof(enforced));
	if (enforced[0] == 'Y' && !loaded) {
		note("signatures: the kernel loads signed modules only");
		remedy("let dkms sign it; enrol its key: mokutil --import /var/lib/dkms/mok.pub");
	} else if (enforced[0] == 'Y') {
		good("signatures: the kernel loads signed modules only, and tally is loaded");
	}
	if (read_line("/sys/module/tally/taint", taint, sizeof(taint)) && strchr(taint, 'E'))
		note("signature: tally is not signed, which this kernel allows");
	else if (loaded)
		good("signature: tally is signed, or the kernel does not ask");
}

static int check_module(const struct utsname *name)
{
	char version[64] = "", why[LIBTALLY_ERROR_SIZE];
	bool loaded = !access("/sys/module/tally", F_OK);
	int device = libtally_device_open(why);

	if (!loaded) {
		fault("module: tally is not loaded");
		if (is_installed(name->release))
			remedy("as root: modprobe tally");
		else
			remedy("install it for this kernel: apt install tally-dkms, or make "
			       "install in its sources");
	} else {
		read_line("/sys/module/tally/version", version, sizeof(version));
		good("module: tally %s is loaded", version);
		if (version[0] && strcmp(version, TOOL_VERSION)) {
			note("versions: the module is %s, this command %s", version, TOOL_VERSION);
			remedy("load the installed module: rmmod tally; modprobe tally");
		}
	}
	check_lockdown(loaded);
	if (device >= 0) {
		good("device: /dev/tally can be opened");
	} else if (loaded) {
		fault("device: %s", why);
		remedy(-device == ENOENT ?
		       "mount devtmpfs, or mknod it by /sys/class/misc/tally/dev" :
		       "run it as root, or let a group open the device: KERNEL==\"tally\", "
		       "GROUP=\"perf\", MODE=\"0660\" in /etc/udev/rules.d");
	}
	return device;
}

/* Returns whether the other checks can be made. */
static bool check_abi(int device)
{
	struct tally_info info = { .size = sizeof(info) };

	if (ioctl(device, TALLY_IOC_INFO, &info)) {
		fault("ABI: the module does not answer: %s", strerror(errno));
		return false;
	}
	if (info.abi != TALLY_ABI) {
		fault("ABI: the module has %u, and this command %u", info.abi, TALLY_ABI);
		remedy("install a command and a module of one version");
		return false;
	}
	good("ABI: %u on both sides", info.abi);
	if (!(info.features & TALLY_FEATURE_LINES)) {
		fault("ABI: the module is older than this command: it cannot parse names");
		remedy("load the installed module: rmmod tally; modprobe tally");
	}
	if (!(info.features & TALLY_FEATURE_FILTERS))
		note("tracepoints: the kernel has no CONFIG_EVENT_TRACING");
	if (!(info.features & TALLY_FEATURE_BREAKPOINTS))
		note("breakpoints: the kernel has none");
	return true;
}

/* Tries an event that each kernel has. Returns 0, or the error with its sentence. */
static int try_count(int device, const struct place *place, bool kernel, char *why)
{
	struct libtally_target target;
	struct perf_event_attr attr;
	int fd;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.exclude_kernel = !kernel;
	attr.exclude_hv = !kernel;
	target_at(&target, device, place);
	fd = libtally_open_event(&attr, &target);
	if (fd >= 0)
		close(fd);
	strcpy(why, target.error);
	return fd < 0 ? fd : 0;
}

static void check_rights(int device)
{
	const struct place cpus = { .pid = -1, .cpu = -1 }, own = { .pid = 0, .cpu = -1 };
	long level = number_in("/proc/sys/kernel/perf_event_paranoid", 2);
	char program[512] = "", text[700], why[LIBTALLY_ERROR_SIZE];
	const char *what = "nothing";
	int error = try_count(device, &cpus, true, why);

	if (error && error != -EACCES && error != -EPERM) {
		fault("rights: not known: %s", why);
		return;
	}
	if (!error) {
		good("rights: this user may count on all CPUs (kernel.perf_event_paranoid is %ld)",
		     level);
		return;
	}
	if (!try_count(device, &own, true, why))
		what = "own programs, with the kernel";
	else if (!try_count(device, &own, false, why))
		what = "user space of own programs";
	note("rights: this user may count %s (kernel.perf_event_paranoid is %ld)", what, level);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		strcpy(program, "tally");
	snprintf(text, sizeof(text), "run it as root; or, as root: setcap cap_perfmon+ep %s, and "
		 "echo 1 >/sys/module/tally/parameters/perfmon", program);
	remedy(text);
	remedy("with these, whoever may run the program sees samples of the kernel and of all "
	       "users: give it a group of its own first (chgrp, chmod 750)");
	if (level > 0)
		remedy(level > 1 ? "or, in kernels from 6.12 on: sysctl "
				   "kernel.perf_event_paranoid=1 "
				   "for own programs, 0 for CPUs" :
				   "or, in kernels from 6.12 on: sysctl "
				   "kernel.perf_event_paranoid=0 "
				   "for CPUs");
}

/* The kernel's "buddy" detector holds no counter; only perf's has watchdog_overflow_callback(). */
bool watchdog_counts(void)
{
	char line[4096];
	bool found = false;
	FILE *file;

	if (number_in("/proc/sys/kernel/nmi_watchdog", 0) != 1)
		return false;
	file = fopen("/proc/kallsyms", "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " watchdog_overflow_callback");
	if (file)
		fclose(file);
	return found;
}

bool is_virtual(void)
{
	char line[4096];
	bool found = !access("/sys/hypervisor/type", F_OK);
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
	if (file)
		fclose(file);
	if (read_line("/sys/class/dmi/id/sys_vendor", line, sizeof(line)))
		found |= strstr(line, "QEMU") || strstr(line, "VMware") || strstr(line, "Amazon");
	return found;
}

/* Opens an event of the CPU 0, or of this process if the caller may not count a CPU. */
static int open_cycles(int device, bool pinned, char *why)
{
	struct place cpu = { .pid = -1, .cpu = 0 }, own = { .pid = 0, .cpu = -1 };
	struct libtally_target target;
	struct perf_event_attr attr;
	int fd;

	libtally_attr_init(&attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	attr.pinned = pinned;
	attr.exclude_guest = 1;
	target_at(&target, device, &cpu);
	target.flags = pinned ? LIBTALLY_OPEN_REQUIRE : 0;
	fd = libtally_open_event(&attr, &target);
	if (fd == -EACCES || fd == -EPERM) {
		target_at(&target, device, &own);
		target.flags = pinned ? LIBTALLY_OPEN_REQUIRE : 0;
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
		fd = libtally_open_event(&attr, &target);
	}
	strcpy(why, fd < 0 ? target.error : "");
	return fd;
}

static void check_pmu(int device)
{
	char why[LIBTALLY_ERROR_SIZE];
	int fd = open_cycles(device, false, why);
	bool is_virtual_machine = is_virtual();

	if (fd >= 0) {
		good("PMU: the CPU counts cycles%s",
		     is_virtual_machine ? ", in this virtual machine" : "");
		close(fd);
	} else if (fd == -ENOENT || fd == -EOPNOTSUPP) {
		note("PMU: none: hardware and cache events do not count%s",
		     is_virtual_machine ? " in this virtual machine" : "");
		remedy(is_virtual_machine ?
		       "give the virtual machine a PMU (QEMU with KVM: -cpu host,pmu=on), or "
		       "count software events and tracepoints" :
		       "count software events and tracepoints");
	} else {
		note("PMU: not known: %s", why);
	}
	if (watchdog_counts()) {
		note("NMI watchdog: it holds one counter of each CPU");
		remedy("to free it: sysctl kernel.nmi_watchdog=0");
	} else {
		good("NMI watchdog: it holds no counter");
	}
}

static void check_debugfs(bool loaded)
{
	char made[8] = "Y";

	read_line("/sys/module/tally/parameters/debugfs", made, sizeof(made));
	if (!loaded) {
		note("debugfs: not looked at without the module");
	} else if (made[0] == 'N') {
		note("debugfs: the module is loaded with debugfs=off; the commands do not need it");
	} else if (!access("/sys/kernel/debug/tally/events", R_OK)) {
		good("debugfs: /sys/kernel/debug/tally can be read");
	} else if (geteuid()) {
		note("debugfs: only root can read it; the commands do not need it");
	} else {
		note("debugfs: no /sys/kernel/debug/tally; the commands do not need it");
		remedy("mount -t debugfs none /sys/kernel/debug");
	}
}

/*
 * A trick relies on how perf works inside, and is not used if it proved wrong here. A line of the
 * file has a name, a state and a number, and for a trick that is not used a sentence. Only root
 * reads the file.
 */
static void check_tricks(void)
{
	char line[256], name[32], state[16];
	int at, works = 0, off = 0;
	FILE *file = fopen("/sys/kernel/debug/tally/tricks", "re");

	while (file && fgets(line, sizeof(line), file)) {
		at = 0;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%31s %15s %*u %n", name, state, &at) < 2)
			continue;
		works += !strcmp(state, "works");
		if (!at || !line[at])
			continue;
		off++;
		note("trick %s: %s: %s", name,
		     strcmp(state, "off") ? "it is wrong on this kernel" : "without= names it",
		     line + at);
	}
	if (file && !off)
		good("tricks: none was wrong on this kernel; %d were used", works);
	if (file)
		fclose(file);
}

/* A probe that is switched off counts 0, and nobody says so. Only root reads the first file. */
static void check_probes(void)
{
	if (!number_in("/sys/kernel/debug/kprobes/enabled", 1)) {
		note("kernel probes: they are switched off: kprobe:, kretprobe: and func: count 0");
		remedy("as root: echo 1 >/sys/kernel/debug/kprobes/enabled");
	}
	if (!number_in("/proc/sys/kernel/ftrace_enabled", 1)) {
		note("ftrace: it is switched off: kprobe:, kretprobe: and func: may count 0");
		remedy("as root: sysctl kernel.ftrace_enabled=1");
	}
}

static void check_files(bool loaded)
{
	struct rlimit files;

	check_debugfs(loaded);
	if (!access("/sys/kernel/tracing/events", R_OK) ||
	    !access("/sys/kernel/debug/tracing/events", R_OK)) {
		good("tracefs: tracepoints can be listed");
	} else if (geteuid()) {
		note("tracefs: only root can read it: tracepoints are not listed, and "
		     "`tally record' refuses them");
	} else {
		note("tracefs: not readable: tracepoints are not listed, and `tally record' "
		     "refuses them");
		remedy("mount -t tracefs none /sys/kernel/tracing");
	}
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_max < 1024) {
		note("open files: at most %lu, the hard limit", (unsigned long)files.rlim_max);
		remedy("as root: ulimit -H -n 65536, in the shell that runs the commands");
	}
}

/* Opens pinned events, which share no counter, until one finds no room. */
static void probe(int device)
{
	char why[LIBTALLY_ERROR_SIZE];
	int fds[64], nr = 0, fd = -1;

	while (nr < 64) {
		fd = open_cycles(device, true, why);
		if (fd < 0)
			break;
		fds[nr++] = fd;
	}
	if (nr)
		good("probe: %d%s events of the CPU's PMU fit at once%s", nr,
		     nr == 64 ? " or more" : "",
		     watchdog_counts() ? ", beside the NMI watchdog" : "");
	else
		note("probe: no event fits: %s", why);
	while (nr)
		close(fds[--nr]);
}

int command_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Says what works on this machine, and what to do about the rest."
		       "\vThe exit status is 1 if a line begins with BAD.",
	};
	struct asked asked = { 0 };
	struct utsname name;
	int device;

	parse_arguments(&argp, argc, argv, 0, &asked);
	uname(&name);
	printf("tally %s on Linux %s, %s\n", TOOL_VERSION, name.release, name.machine);
	if (asked.self_test)
		print_machine();
	device = check_module(&name);
	if (device >= 0 && check_abi(device)) {
		if (asked.self_test) {
			self_test(device, asked.hotplug);
		} else {
			check_rights(device);
			check_pmu(device);
		}
		if (asked.probe)
			probe(device);
	}
	if (device >= 0)
		close(device);
	if (!asked.self_test) {
		check_tricks();
		check_probes();
		check_files(!access("/sys/module/tally", F_OK));
	}
	return doctor_bad ? STATUS_FAILED : 0;
}
