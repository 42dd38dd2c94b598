// SPDX-License-Identifier: GPL-2.0
/*
 * failnth create LINE...: makes each event with the first allocation failing, then with
 *	the second, and so on until no allocation is left to fail.
 * failnth refuse LINE...: tries the same with lines by the name of several functions. Each round
 *	must end with EADDRNOTAVAIL, or with ENOMEM.
 * failnth insmod FILE PARAMETERS STEP: loads the module the same way, with only every
 *	STEP-th allocation failing.
 *
 * Each round must either fail with ENOMEM and leave nothing behind, or succeed because
 * the kernel does without the allocation; then the event or module is removed again.
 * After its notes the program prints "ok TEXT" or "bad TEXT" for each LINE and for the
 * module; "bad" with the first complaint.
 *
 * tally must have no events. To load a module other than tally, tally must be loaded.
 * This is no shell script because a shell takes too long for thousands of rounds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "failnth.h"

/* Whether tally has no event, no counter and no event of perf. */
static int clean(void)
{
	static const char *const none[] = {
		"events 0\n", "counters 0\n", "perf_events 0\n"
	};
	size_t i;

	contents(DIR "/stats");
	for (i = 0; i < 3; i++)
		if (!strstr(text, none[i]))
			return 0;
	return !*contents(DIR "/events");
}

static void create(const char *line)
{
	int create_fd = open(DIR "/create", O_WRONLY);
	int remove_fd = open(DIR "/remove", O_WRONLY);
	int n, error, hit = 1, enomem = 0, without = 0, last = 0;
	char named[256];

	if (create_fd < 0 || remove_fd < 0)
		err(2, DIR);
	snprintf(named, sizeof(named), "%s name=x", line);
	bad = 0;
	for (n = 1; hit && n < 5000; n++) {
		arm(n);
		error = put(create_fd, named);
		hit = disarm();
		last = error;
		if (!error) {
			without += hit;
			contents(DIR "/events");	/* A set has members: "x/cs ". */
			if (text[0] != 'x' || (text[1] != ' ' && text[1] != '/'))
				complain(n, "made, but not listed: %s", text);
			error = put(remove_fd, "x");
			if (error)
				complain(n, "cannot be removed: %s", outcome(error));
		} else if (error == ENOMEM && hit) {
			enomem++;
		} else {
			complain(n, "%s", outcome(error));
		}
		if (!clean()) {
			complain(n, "something is left: %s", text);
			put(remove_fd, "x");
			break;
		}
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	if (enomem < 3)
		complain(n, "only %d failures were noticed", enomem);
	printf("# %d allocations: %d times ENOMEM, %d times it did without\n",
	       n - 2, enomem, without);
	conclude("create", line);
	close(create_fd);
	close(remove_fd);
}

/* Whether no trace event of tally is left. */
static int no_probe(void)
{
	return !strstr(contents("/sys/kernel/tracing/dynamic_events"), ":tally/");
}

static void refuse(const char *line)
{
	int create_fd = open(DIR "/create", O_WRONLY);
	int remove_fd = open(DIR "/remove", O_WRONLY);
	int n, error = 0, hit = 1, enomem = 0;
	char named[256];

	if (create_fd < 0 || remove_fd < 0)
		err(2, DIR);
	snprintf(named, sizeof(named), "%s name=x", line);
	bad = 0;
	for (n = 1; !bad && hit && n < 5000; n++) {
		arm(n);
		error = put(create_fd, named);
		hit = disarm();
		if (!error)
			put(remove_fd, "x");
		if (error == ENOMEM && hit)
			enomem++;
		else if (error != EADDRNOTAVAIL)
			complain(n, "%s", outcome(error));
		if (!clean())
			complain(n, "something is left: %s", text);
	}
	if (!bad && !no_probe())
		complain(n, "a trace event is left: %s", text);
	if (!bad && enomem < 3)
		complain(n, "only %d failures were noticed", enomem);
	printf("# %d allocations: %d times ENOMEM\n", n - 2, enomem);
	conclude("refuse", line);
	close(create_fd);
	close(remove_fd);
}

/*
 * Whether module @name is not loaded and nothing of it is left: its events if @name is
 * another module than tally, tally's folder if @name is tally.
 */
static int gone(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (!access(path, F_OK))
		return 0;
	return strcmp(name, "tally") ? clean() : !!access(DIR, F_OK);
}

static void insmod(const char *file, const char *parameters, int step)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	char *name = strndup(base, strcspn(base, "."));
	int fd = open(file, O_RDONLY);
	int n, error, hit = 1, enomem = 0, without = 0, others = 0, last = 0;

	if (fd < 0)
		err(2, "%s", file);
	for (n = 1; hit && n < 50000; n += step) {
		arm(n);
		error = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
		hit = disarm();
		last = error;
		if (!error) {
			without += hit;
			if (gone(name))
				complain(n, "loaded, but not there");
			if (syscall(SYS_delete_module, name, O_NONBLOCK))
				complain(n, "cannot be unloaded: %s", outcome(errno));
		} else if (error == ENOMEM && hit) {
			enomem++;
		} else {
			/* The module loader returns other errors, too. */
			printf("# allocation %d: %s\n", n, outcome(error));
			others++;
		}
		if (!gone(name)) {
			complain(n, "%s, and %s is still there", outcome(error), name);
			break;
		}
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	/* Most failures do not end the load: an event that cannot be made is logged. */
	if (enomem * step < 5)
		complain(n, "only %d failures were noticed", enomem);
	if (others > 20)
		complain(n, "%d answers are not ENOMEM", others);
	printf("# %d allocations: %d times ENOMEM, %d times it did without, %d others\n",
	       n - step - 1, enomem, without, others);
	snprintf(text, sizeof(text), "%s %s", name, parameters);
	conclude("insmod", text);
	free(name);
	close(fd);
}

int main(int argc, char **argv)
{
	int i, refused, failed = 0;

	begin();
	if (argc == 5 && !strcmp(argv[1], "insmod")) {
		insmod(argv[2], argv[3], atoi(argv[4]));
		return !!bad;
	}
	refused = argc > 1 && !strcmp(argv[1], "refuse");
	if (argc < 3 || (!refused && strcmp(argv[1], "create"))) {
		fprintf(stderr,
			"usage: failnth create|refuse LINE... | insmod FILE PARAMETERS STEP\n");
		return 2;
	}
	for (i = 2; i < argc; i++) {
		if (refused)
			refuse(argv[i]);
		else
			create(argv[i]);
		failed += !!bad;
	}
	return !!failed;
}
