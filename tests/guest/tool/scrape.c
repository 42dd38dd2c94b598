// SPDX-License-Identifier: GPL-2.0
/*
 * A client of `tally export` on port PORT.
 *
 *	scrape PORT get PATH N		gets PATH N times; prints the last answer
 *	scrape PORT host NAME PATH	gets PATH from a server of this name; prints the first line
 *	scrape PORT hold FROM N		opens N connections from the address FROM, sends half a
 *					request on each, and keeps them until its input ends
 *	scrape PORT slow FROM SECONDS	opens a connection from the address FROM, sends a byte of a
 *					header twice a second, and prints the seconds after which
 *					the server has closed it, or 0
 *	scrape PORT wild SEED SECONDS	sends wild bytes and wild requests
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in server = { .sin_family = AF_INET };

static int connect_from(const char *address)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	own.sin_addr.s_addr = inet_addr(address);
	if (fd < 0 || bind(fd, (void *)&own, sizeof(own)))
		err(2, "%s", address);
	if (!connect(fd, (void *)&server, sizeof(server)))
		return fd;
	close(fd);
	return -1;
}

/* Gets a path of a host; the answer is in a buffer of its own. Returns its size. */
static size_t get(const char *host, const char *path, char **answer)
{
	static char buffer[1 << 20];
	size_t size = 0;
	char text[512];
	ssize_t got;
	int fd = connect_from("127.0.0.1");

	if (fd < 0)
		err(1, "connect");
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		 path, host);
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		err(1, "send");
	while ((got = read(fd, buffer + size, sizeof(buffer) - size - 1)) > 0)
		size += got;
	close(fd);
	buffer[size] = 0;
	*answer = buffer;
	return size;
}

static int gets_all(const char *path, long nr)
{
	char *answer = NULL;
	long i;

	for (i = 0; i < nr; i++) {
		get("127.0.0.1", path, &answer);
		if (strncmp(answer, "HTTP/1.1 200 ", 13))
			errx(1, "answer %ld: %.60s", i, answer);
	}
	fputs(answer, stdout);
	return 0;
}

static int gets_of(const char *host, const char *path)
{
	char *answer = NULL;

	get(host, path, &answer);
	printf("%.*s\n", (int)strcspn(answer, "\r"), answer);
	return 0;
}

static int slow(const char *from, long seconds)
{
	time_t start = time(NULL);
	int fd = connect_from(from);
	char c;

	if (fd < 0 || send(fd, "GET /metrics HTTP/1.1\r\nA: ", 26, MSG_NOSIGNAL) != 26)
		err(1, "a slow client");
	while (time(NULL) < start + seconds) {
		if (send(fd, "a", 1, MSG_NOSIGNAL) != 1 || recv(fd, &c, 1, MSG_DONTWAIT) == 0) {
			printf("%ld\n", (long)(time(NULL) - start));
			return 0;
		}
		usleep(500000);
	}
	printf("0\n");
	return 0;
}

static int hold(const char *from, long nr)
{
	long i, held = 0;
	char c;

	for (i = 0; i < nr; i++) {
		int fd = connect_from(from);

		if (fd < 0)
			continue;
		held += send(fd, "GET /metrics HT", 15, MSG_NOSIGNAL) == 15;
	}
	printf("%ld\n", held);
	fflush(stdout);
	return read(0, &c, 1) < 0;
}

/* Makes a request of parts that servers parse, with wild bytes between them. */
static size_t wild(char *to, size_t room)
{
	static const char *const parts[] = {
		"GET ", "POST ", "HEAD ", "/metrics", "/", " HTTP/1.1", " HTTP/1.0", "\r\n", "\r\n\r\n",
		"Host: a\r\n", "Content-Length: 99999999999\r\n", "Content-Length: -1\r\n",
		"Transfer-Encoding: chunked\r\n", "ffffffff\r\n", "Accept: application/openmetrics-text\r\n",
		"Connection: keep-alive\r\n", "Expect: 100-continue\r\n", "%00%ff%", "?a=b&c",
		"Range: bytes=0-\r\n", "\n", ": ", "A: ",
	};
	size_t used = 0, size;
	int i, nr = rand() % 40;

	for (i = 0; i < nr; i++) {
		const char *part = parts[rand() % (sizeof(parts) / sizeof(parts[0]))];

		size = strlen(part);
		if (used + size + 300 > room)
			break;
		memcpy(to + used, part, size);
		used += size;
		for (size = rand() % 4 ? 0 : rand() % 300; size; size--)
			to[used++] = rand();
	}
	return used;
}

static int wild_all(unsigned int seed, long seconds)
{
	time_t end = time(NULL) + seconds;
	struct timeval limit = { 0, 20000 };
	static char text[65536], answer[4096];
	unsigned long nr = 0;
	int fd;

	srand(seed);
	while (time(NULL) < end) {
		fd = connect_from("127.0.0.2");
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		send(fd, text, wild(text, sizeof(text)), MSG_NOSIGNAL);
		while (rand() % 8 && read(fd, answer, sizeof(answer)) > 0)
			;
		close(fd);
		nr++;
	}
	printf("%lu requests\n", nr);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		errx(2, "usage: see the first lines of scrape.c");
	server.sin_port = htons(atoi(argv[1]));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!strcmp(argv[2], "get"))
		return gets_all(argv[3], atol(argv[4]));
	if (!strcmp(argv[2], "host"))
		return gets_of(argv[3], argv[4]);
	if (!strcmp(argv[2], "slow"))
		return slow(argv[3], atol(argv[4]));
	if (!strcmp(argv[2], "hold"))
		return hold(argv[3], atol(argv[4]));
	return wild_all(atol(argv[3]), atol(argv[4]));
}
