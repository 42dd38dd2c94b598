// SPDX-License-Identifier: GPL-2.0
/*
 * failnth create LINE...: makes each event, with the first allocation failing,
 *	then with the second, and so on until it is made without a failure.
 * failnth insmod FILE PARAMETERS STEP: loads the module the same way, trying
 *	every STEP-th allocation only.
 *
 * Each time it either fails with ENOMEM and leaves nothing, or the kernel did
 * without, and what was made is removed again. Prints "ok TEXT" or "bad TEXT"
 * for each, behind notes; a bad one with the first thing that was wrong.
 * To be started with no other event of tally; for another module than it, with
 * tally loaded. A program, for thousands of rounds take a shell too long.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "failnth.h"

/* "events 0", "counters 0", "perf_events 0" */
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
			if (strncmp(contents(DIR "/events"), "x ", 2))
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

/* Of the module NAME and, if it is another one, of what it made with tally. */
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
			/* The module loader has answers of its own. */
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
	/* The kernel does without most: an event that cannot be had is only told. */
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
	int i, failed = 0;

	begin();
	if (argc == 5 && !strcmp(argv[1], "insmod")) {
		insmod(argv[2], argv[3], atoi(argv[4]));
		return !!bad;
	}
	if (argc < 3 || strcmp(argv[1], "create")) {
		fprintf(stderr, "usage: failnth create LINE... | insmod FILE PARAMETERS STEP\n");
		return 2;
	}
	for (i = 2; i < argc; i++) {
		create(argv[i]);
		failed += !!bad;
	}
	return !!failed;
}
