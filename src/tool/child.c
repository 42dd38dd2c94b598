// SPDX-License-Identifier: GPL-2.0
/* Commands that are counted: the child opens its events itself, and sends them to the parent. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target.h"
#include "tool.h"

/* The data that go with a file. */
struct message {
	int error;
	char why[LIBTALLY_ERROR_SIZE];
};

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

void child_send(int socket, int fd, const char *why)
{
	struct message m = { .error = fd < 0 ? fd : 0 };
	struct iovec part = { &m, sizeof(m) };
	union control control;
	struct msghdr whole = { .msg_iov = &part, .msg_iovlen = 1 };

	snprintf(m.why, sizeof(m.why), "%s", fd < 0 ? why : "");
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		whole.msg_control = &control;
		whole.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	/* A parent that needs no more files has closed its end. */
	if (sendmsg(socket, &whole, MSG_NOSIGNAL) < 0)
		_exit(STATUS_FAILED);
}

int child_receive(int socket, char *why)
{
	struct message m;
	struct iovec part = { &m, sizeof(m) };
	union control control;
	struct msghdr whole = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &whole, MSG_CMSG_CLOEXEC) != sizeof(m))
		die("the child has ended before it was told to go");
	strcpy(why, m.why);
	if (m.error)
		return m.error;
	if (whole.msg_controllen < sizeof(struct cmsghdr)) {
		strcpy(why, "no room for a file");
		return -EMFILE;
	}
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void run(char **command, int go, int failed)
{
	char word;
	int error;

	/* Without a byte, the parent has ended or abandoned this child. */
	if (read(go, &word, 1) != 1)
		_exit(0);
	sigprocmask(SIG_SETMASK, &tool_mask, NULL);
	restore_file_limit();
	execvp(command[0], command);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(STATUS_FAILED);
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

void child_start(struct child *child, char **command, void (*prepare)(void *data, int socket),
		 void *data)
{
	int go[2], failed[2], files[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files))
		die("%s", strerror(errno));
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0)
		die("fork: %s", strerror(errno));
	if (!child->pid) {
		close(go[1]);
		close(failed[0]);
		close(files[0]);
		/* The command must not write into the data. */
		if (child->out_is_err && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			_exit(STATUS_FAILED);
		if (prepare)
			prepare(data, files[1]);
		/* A parent that waits for more files sees that none come. */
		close(files[1]);
		run(command, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	close(files[1]);
	child->go = go[1];
	child->failed = failed[0];
	child->files = files[0];
}

int child_go(struct child *child)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	int error = 0;

	sigaction(SIGPIPE, &ignore, &old);
	if (write(child->go, "", 1) != 1)
		die("the child has ended before it was told to go");
	sigaction(SIGPIPE, &old, NULL);
	/* The pipe ends without a word when the command is executed. */
	if (read(child->failed, &error, sizeof(error)) < (ssize_t)sizeof(error))
		error = 0;
	close(child->go);
	close(child->failed);
	close(child->files);
	return error;
}

void child_abandon(struct child *child)
{
	close(child->go);
	close(child->failed);
	close(child->files);
	waitpid(child->pid, NULL, 0);
}
