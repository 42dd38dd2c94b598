// SPDX-License-Identifier: GPL-2.0
/*
 * wildargs PROGRAM NUMBER SEED: runs PROGRAM NUMBER times, or with a NUMBER such as "600s" for so
 * many seconds, with random arguments that are nearly right. It prints "bad" for a run that a
 * signal ended, or whose standard error has a sanitizer's report.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 12

static const char *const commands[] = {
	"list", "stat", "stat", "stat", "top", "record", "record", "snapshot", "create", "create",
	"remove", "enable", "disable", "watch", "watch", "export", "doctor", "help", "",
};

static const char *const words[] = {
	"-e", "-e", "-a", "-A", "-C", "0", "0-1", "1-0", "-p", "1", "-t", "-G", "/", "-i", "-I", "20",
	"-r", "2", "-x", ",", "-j", "--json", "-o", "/tmp/wild", "/dev/full", "--append", "--attach",
	"-c", "100", "-F", "1000", "-g", "-m", "1", "4", "-q", "-n", "-d", "0.1", "-s", "rate",
	"--once", "--running", "--names", "--textfile", "--interval", "--listen", "[::1]:1", ":0",
	"--probe", "--help", "--usage", "--", "true", "/no/such", "--pfm-events", "perf::CYCLES",
	"page-faults>1/s", "cs >= 5K/ms", "cs<1", "999999999999999999999", "-1", "", "name=a",
	"period=1000000", "cpu=0", "disabled",
};

static const char *const events[] = {
	"cycles", "cs", "page-faults", "task-clock", "sched:sched_switch", "{", "}", ",", ":", "/",
	"u", "k", "cpu/event=0x3c/", "software/config=1/", "r1", "mem:0x1000/8:w", "kprobe:do_exit",
	"//", "..", "%s%n", "*", "\n", " ", "func:vfs_read{cs}",
};

#define PICK(list) ((list)[rand() % (sizeof(list) / sizeof((list)[0]))])

/* Makes a word of a list, of parts of events, or of bytes. */
static char *word(void)
{
	char text[512] = "";
	int i, nr;

	switch (rand() % 4) {
	case 0:
		nr = rand() % 6;
		for (i = 0; i < nr; i++)
			strcat(text, PICK(events));
		break;
	case 1:
		if (rand() % 3)
			return strdup(PICK(events));
		nr = rand() % 100;
		for (i = 0; i < nr; i++)
			text[i] = 1 + rand() % 255;
		break;
	default:
		return strdup(PICK(words));
	}
	return strdup(text);
}

/* Returns the status of a run, whose standard error goes to a file. */
static int run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(open("/tmp/wild.err", O_RDWR | O_CREAT | O_TRUNC, 0600), 2);
		alarm(5);
		execv(argv[0], argv);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int has_report(void)
{
	static char text[65536];
	FILE *file = fopen("/tmp/wild.err", "r");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[got] = 0;
	if (file)
		fclose(file);
	if (!strstr(text, "Sanitizer") && !strstr(text, "runtime error:"))
		return 0;
	fputs(text, stdout);
	return 1;
}

int main(int argc, char **argv)
{
	char *arguments[MOST + 3] = { NULL };
	unsigned long runs = 0, bad = 0, good = 0;
	unsigned long most = ~0UL;
	time_t end = 0;
	int i, nr, status;

	if (argc != 4)
		errx(2, "usage: wildargs PROGRAM NUMBER[s] SEED");
	if (strchr(argv[2], 's'))
		end = time(NULL) + atol(argv[2]);
	else
		most = atol(argv[2]);
	srand(atol(argv[3]));
	arguments[0] = argv[1];
	while (end ? time(NULL) < end : runs < most) {
		arguments[1] = strdup(PICK(commands));
		nr = rand() % MOST;
		for (i = 0; i < nr; i++)
			arguments[2 + i] = word();
		arguments[2 + nr] = NULL;
		status = run(arguments);
		runs++;
		good += WIFEXITED(status) && !WEXITSTATUS(status);
		/* A command that runs until it is interrupted ends by the alarm. */
		if (has_report() || (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM &&
				     WTERMSIG(status) != SIGPIPE)) {
			bad++;
			printf("bad status %#x:", status);
			for (i = 1; arguments[i]; i++)
				printf(" '%s'", arguments[i]);
			printf("\n");
		}
		for (i = 1; arguments[i]; i++)
			free(arguments[i]);
	}
	printf("%s %lu runs without a report, %lu of them succeeded\n",
	       bad || !good ? "bad" : "ok", runs - bad, good);
	return 0;
}
