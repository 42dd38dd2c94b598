// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of tracepoints, compared with perf's filters of the same events.
 *
 *	devfilter texts|counting|exec|exited|group|rights|reader|hotplug
 */
#define _GNU_SOURCE
#include "devring.h"

static void rename_ten(void)
{
	int i;

	for (i = 0; i < 10; i++)
		rename_to(i);
}

static int filter_errno(int fd, const char *text)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

static void filter_refused(const char *text, int error, const char *what)
{
	int p = filter_errno(perf_ring.fd, text), t = filter_errno(tally_ring.fd, text);

	tell(p == t && t == error, "%s: %s, perf %s", what, errno_name(t), errno_name(p));
}

/* Records that pass @text are counted, and one in @period is sampled, as in perf. */
static void filtered(const char *text, uint64_t period, uint64_t type)
{
	uint64_t values[2];
	char what[128];
	int p, t;

	faults(type);
	of_renames();
	attr.sample_period = period;
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	p = filter_errno(perf_ring.fd, text);
	t = filter_errno(tally_ring.fd, text);
	tell(p == t, "filter '%s': %s, perf %s", text, errno_name(t), errno_name(p));
	switch_both(1);
	rename_ten();
	switch_both(0);
	snprintf(what, sizeof(what), "'%s', period %llu, sample_type %#llx", text,
		 (unsigned long long)period, (unsigned long long)type);
	compare(what, 0);
	values[0] = value_of(perf_ring.fd);
	values[1] = value_of(tally_ring.fd);
	tell(values[0] == values[1], "%s: %llu counted, perf %llu", what,
	     (unsigned long long)values[1], (unsigned long long)values[0]);
	neither();
}

static void texts(void)
{
	static const char *const all[] = {
		"newcomm == \"name 3\"", "newcomm ~ \"*[3-6]\"", "oom_score_adj == 0",
		"newcomm != \"name 0\" && pid > 0", "pid == 0", "pid >= 0",
		"!(newcomm == \"name 3\" || newcomm == \"name 4\")", "nothing == 3",
		"newcomm ==", "", "(((", "newcomm == \"name 3", "0", "1", "common_pid & 1",
	};
	unsigned int i;
	int p, t;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		filtered(all[i], 1, PERF_SAMPLE_RAW | PERF_SAMPLE_TIME);
		filtered(all[i], 3, PERF_SAMPLE_RAW | PERF_SAMPLE_IP);
		filtered(all[i], 3, PERF_SAMPLE_PERIOD);
		filtered(all[i], 0, 0);
	}
	faults(PERF_SAMPLE_RAW);
	of_renames();
	open_both();
	p = filter_errno(perf_ring.fd, "pid == 1");
	t = filter_errno(tally_ring.fd, "pid == 1");
	tell(!p && !t, "a filter");
	filter_refused("pid == 1", EEXIST, "and another one");
	filter_refused((const char *)8, EFAULT, "from nowhere");
	neither();
	open_both();
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "cpu & CPUS{0}"), EINVAL,
	       "a set of CPUs");
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid.function == schedule"),
	       EINVAL, "a function");
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid == 1"), 0,
	       "and then another filter");
	neither();
	faults(PERF_SAMPLE_IP);
	open_both();
	filter_refused("pid == 1", EINVAL, "of page faults");
	neither();
	faults(PERF_SAMPLE_RAW);
	of_renames();
	attr.config = trace_id("sched/sched_waking");
	open_both();
	filter_refused("pid == 1", 0, "of the wake-ups of a task");
	neither();
	o.cpu = 0;
	open_both();
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid == 1"), EOPNOTSUPP,
	       "of those on one CPU");
	neither();
	o.cpu = -1;
	faults(PERF_SAMPLE_IP);
	of_renames();
	attr.sample_period = 2;
	attr.inherit = 1;
	open_both();
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid == 1"), EOPNOTSUPP,
	       "of an inherited event with a period");
	neither();
	/* An event with a filter gets another period. */
	faults(PERF_SAMPLE_RAW);
	of_renames();
	attr.sample_period = 5;
	if (!both(16, PROT_READ | PROT_WRITE)) {
		uint64_t period = 2;

		p = filter_errno(perf_ring.fd, "newcomm ~ \"name*\"");
		t = filter_errno(tally_ring.fd, "newcomm ~ \"name*\"");
		p = ioctl(perf_ring.fd, PERF_EVENT_IOC_PERIOD, &period);
		t = ioctl(tally_ring.fd, PERF_EVENT_IOC_PERIOD, &period);
		tell(!p && !t, "another period");
		switch_both(1);
		rename_ten();
		switch_both(0);
		compare("with a filter and another period", 5);
		neither();
	}
}

/* ---- events that only count ---- */

#define FILTER "newcomm == \"name 3\""

struct count {
	uint64_t value, enabled, running;
};

static struct count count_of(int fd)
{
	struct count c = { 0 };

	if (read(fd, &c, sizeof(c)) != sizeof(c))
		tell(0, "read: %m");
	return c;
}

/* Runs until the event has run for longer: a clock may go by ticks. */
static struct count ran_longer(int fd, uint64_t running)
{
	struct count c;
	time_t end = time(NULL) + 60;

	do
		c = count_of(fd);
	while (c.running <= running && time(NULL) < end);
	return c;
}

static void counting_renames(void)
{
	faults(0);
	of_renames();
	attr.sample_period = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

static void same_values(uint64_t at_least, const char *what)
{
	uint64_t p = value_of(perf_ring.fd), t = value_of(tally_ring.fd);

	tell(p == t && t >= at_least, "%s: %llu, perf %llu", what, (unsigned long long)t,
	     (unsigned long long)p);
}

static void filter_both(const char *what)
{
	int p = filter_errno(perf_ring.fd, FILTER), t = filter_errno(tally_ring.fd, FILTER);

	tell(p == t && !t, "%s: %s, perf %s", what, errno_name(t), errno_name(p));
}

/* A filter keeps the count, whether it is set while the event is on (@on) or off. */
static void keeps_counting(int on, const char *what)
{
	struct count before, after;

	open_both();
	switch_both(1);
	rename_ten();
	before = ran_longer(tally_ring.fd, 0);
	if (!on) {
		switch_both(0);
		before = count_of(tally_ring.fd);
	}
	filter_both(what);
	after = count_of(tally_ring.fd);
	tell(after.value == before.value && before.value == 10,
	     "%s: %llu counted before, and %llu after", what, (unsigned long long)before.value,
	     (unsigned long long)after.value);
	tell(after.enabled >= before.enabled && after.running >= before.running &&
	     before.running, "%s: its times go on", what);
	switch_both(1);
	rename_ten();
	rename_ten();
	ran_longer(tally_ring.fd, after.running);
	switch_both(0);
	same_values(12, what);
	before = after;
	after = count_of(tally_ring.fd);
	tell(after.running > before.running && after.enabled >= after.running,
	     "%s: and go on with the filter", what);
	ioctl(perf_ring.fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(tally_ring.fd, PERF_EVENT_IOC_RESET, 0);
	rename_ten();
	same_values(0, "reset, and off");
	filter_refused("pid == 1", EEXIST, "another one");
	neither();
}

static void counting(void)
{
	counting_renames();
	keeps_counting(1, "of a task, on");
	keeps_counting(0, "of a task, off");
	run_on(0);
	o.cpu = 0;
	keeps_counting(1, "of a task on one CPU");
	o.pid = -1;
	keeps_counting(1, "of a CPU, on");
	keeps_counting(0, "of a CPU, off");
}

/* ---- with tasks that exec(), and that exit ---- */

static int go[2];

static pid_t waiting_child(void)
{
	pid_t child = fork_waiting(go);

	if (child)
		return child;
	execl("/bin/true", "true", NULL);
	_exit(2);
}

static void let_it_go(pid_t child)
{
	let_go_on(go);
	waitpid(child, NULL, 0);
}

static void filtered_exec(const char *filter, uint64_t at_least)
{
	pid_t child = waiting_child();
	int p, t;

	counting_renames();
	attr.enable_on_exec = 1;
	o.pid = child;
	open_both();
	p = filter_errno(perf_ring.fd, filter);
	t = filter_errno(tally_ring.fd, filter);
	tell(!p && !t, "%s: of an event that waits for exec(): %s", filter, errno_name(t));
	same_values(0, "nothing before");
	let_it_go(child);
	same_values(at_least, "and then what passes");
	neither();
}

static void exec(void)
{
	filtered_exec("newcomm == \"true\"", 1);
	filtered_exec("newcomm == \"nothing\"", 0);
}

static void exited(void)
{
	pid_t child = waiting_child();

	counting_renames();
	attr.disabled = 0;
	o.pid = child;
	open_both();
	let_it_go(child);
	same_values(1, "a task that has exited");
	filter_both("its filter");
	same_values(1, "and its count stays");
	neither();
}

/* ---- with others ---- */

static void group(void)
{
	struct {
		uint64_t nr, enabled, running, values[2];
	} before, after;
	time_t end = time(NULL) + 60;
	int leader, member;

	counting_renames();
	attr.read_format |= PERF_FORMAT_GROUP;
	leader = open_it();
	o.group_fd = leader;
	attr.disabled = 0;
	member = open_it();
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	rename_ten();
	if (read(leader, &before, sizeof(before)) != sizeof(before))
		tell(0, "read: %m");
	expect(ioctl(member, PERF_EVENT_IOC_SET_FILTER, FILTER), 0, "of a member");
	rename_ten();
	/* A clock may go by ticks. */
	do {
		if (read(leader, &after, sizeof(after)) != sizeof(after))
			tell(0, "read: %m");
	} while (!after.running && time(NULL) < end);
	tell(before.values[0] == 10 && before.values[1] == 10 && after.values[0] == 20 &&
	     after.values[1] == 11, "%llu and %llu counted, then %llu and %llu",
	     (unsigned long long)before.values[0], (unsigned long long)before.values[1],
	     (unsigned long long)after.values[0], (unsigned long long)after.values[1]);
	expect(ioctl(leader, PERF_EVENT_IOC_SET_FILTER, FILTER), 0, "and of the leader");
	rename_ten();
	if (read(leader, &before, sizeof(before)) != sizeof(before))
		tell(0, "read: %m");
	tell(before.values[0] == 21 && before.values[1] == 12, "then %llu and %llu",
	     (unsigned long long)before.values[0], (unsigned long long)before.values[1]);
	tell(before.running >= after.running && after.running > 0, "and the times go on");
	close(member);
	close(leader);
}

/* An event is made with rights. Its filter is set by anybody who has the file. */
static void rights(void)
{
	int status;
	pid_t child;

	counting_renames();
	open_both();
	child = fork();
	if (!child) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(filter_errno(tally_ring.fd, FILTER));
	}
	waitpid(child, &status, 0);
	tell(WIFEXITED(status) && !WEXITSTATUS(status), "by a process without rights: %s",
	     errno_name(WEXITSTATUS(status)));
	switch_both(1);
	rename_ten();
	tell(value_of(tally_ring.fd) == 1, "%llu counted",
	     (unsigned long long)value_of(tally_ring.fd));
	neither();
}

/*
 * Reads the counts until it is killed. Exits if a count or time falls. The count may fall
 * by 1: a record that does not pass is counted until the callback has taken it back.
 */
static void read_on(int fd)
{
	struct count last = { 0 }, c;

	for (;;) {
		if (read(fd, &c, sizeof(c)) != sizeof(c))
			_exit(2);
		if (c.value + 1 < last.value || c.enabled < last.enabled || c.running < last.running)
			_exit(3);
		last = c;
	}
}

static void reader(void)
{
	int i, j, status, fd, falls = 0, wrong = 0;
	pid_t child;

	for (i = 0; i < 200; i++) {
		counting_renames();
		attr.disabled = 0;
		o.pid = getpid();
		fd = open_it();
		child = fork();
		if (!child)
			read_on(fd);
		for (j = 0; j < i % 7; j++)
			rename_ten();
		wrong += filter_errno(fd, FILTER) != 0;
		rename_ten();
		wrong += value_of(fd) != 10ULL * (i % 7) + 1;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		falls += !WIFSIGNALED(status);
		close(fd);
	}
	tell(!falls, "%d of %d readers saw a count or a time fall", falls, i);
	tell(!wrong, "%d counts of %d are wrong", wrong, i);
}

/* ---- on a CPU that goes offline and comes back ---- */

static int switch_cpu(int cpu, const char *to)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, to, 1);
	close(fd);
	return ret;
}

static void renamed_on(int cpu, int fd, uint64_t *value, const char *what)
{
	int i;

	run_on(cpu);
	rename_ten();
	for (i = 0; i < 100 && value_of(fd) == *value; i++)
		wait_ms(10);
	tell(value_of(fd) == *value + 1, "%s: %lld more", what,
	     (long long)(value_of(fd) - *value));
	*value = value_of(fd);
}

static void hotplug(void)
{
	uint64_t value;
	int fd;

	counting_renames();
	attr.disabled = 0;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	run_on(1);
	rename_ten();
	expect(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, FILTER), 0, "of all CPUs");
	value = value_of(fd);
	tell(value >= 10, "%llu counted before", (unsigned long long)value);
	renamed_on(1, fd, &value, "on CPU 1");
	renamed_on(0, fd, &value, "on CPU 0");
	if (switch_cpu(1, "0") != 1) {
		close(fd);
		return;
	}
	renamed_on(0, fd, &value, "with CPU 1 offline");
	tell(switch_cpu(1, "1") == 1, "CPU 1 comes back");
	wait_ms(300);
	renamed_on(1, fd, &value, "on CPU 1 again");
	close(fd);
	/* An event that is made with a CPU offline filters on it once it is online. */
	run_on(0);
	tell(switch_cpu(1, "0") == 1, "CPU 1 goes offline");
	fd = open_it();
	expect(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, FILTER), 0, "with a CPU offline");
	value = value_of(fd);
	tell(switch_cpu(1, "1") == 1, "and comes back");
	wait_ms(300);
	renamed_on(1, fd, &value, "on the CPU that came");
	close(fd);
}

static const struct devtest tests[] = {
	{ "texts", .run = texts },
	{ "counting", .run = counting },
	{ "exec", .run = exec },
	{ "exited", .run = exited },
	{ "group", .run = group },
	{ "rights", .run = rights },
	{ "reader", .run = reader },
	{ "hotplug", .run = hotplug },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
