// SPDX-License-Identifier: GPL-2.0
/*
 * tally export: serves the counts of all events to Prometheus, or writes them to a file for
 * node_exporter. A scrape reads published pages, so it interrupts no CPU.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <microhttpd.h>
#include "openmetrics.h"
#include "tool.h"

#define USUAL_ADDRESS	"127.0.0.1:9868"

/* First file that systemd hands over: SD_LISTEN_FDS_START */
#define SYSTEMD_FD	3

enum { KEY_LISTEN = 256, KEY_TEXTFILE, KEY_INTERVAL, KEY_ONCE };

static const struct argp_option options[] = {
	{ "listen", KEY_LISTEN, "[HOST]:PORT", 0, "Serve /metrics here [" USUAL_ADDRESS "]", 0 },
	{ "textfile", KEY_TEXTFILE, "FILE", 0, "Write to this file instead", 0 },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "Write the file so often [15]", 0 },
	{ "once", KEY_ONCE, NULL, 0, "Print the metrics once on standard output", 0 },
	{ 0 }
};

struct export {
	struct running_list events;
	char *address;
	const char *textfile;
	long interval;
	bool once;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct export *e = state->input;

	switch (key) {
	case KEY_LISTEN:
		e->address = argument;
		break;
	case KEY_TEXTFILE:
		e->textfile = argument;
		break;
	case KEY_INTERVAL:
		e->interval = number_argument(state, argument, 1, 86400);
		break;
	case KEY_ONCE:
		e->once = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		break;
	case ARGP_KEY_END:
		if (e->address && e->textfile)
			argp_error(state, "give one of --listen and --textfile");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void write_metrics(struct export *e, FILE *file, bool open)
{
	running_look(&e->events);
	running_read(&e->events);
	openmetrics_write(file, &e->events, open);
}

/* ---- HTTP ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
			     const char *type, char *text, size_t size)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	/* The response frees the text. */
	response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned int status,
				  const char *text)
{
	return reply(connection, status, "text/plain; charset=utf-8", need(strdup(text)),
		     strlen(text));
}

static enum MHD_Result metrics(struct export *e, struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	bool open = accept && strstr(accept, "application/openmetrics-text");
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return MHD_NO;
	write_metrics(e, file, open);
	if (ferror(file) | fclose(file)) {
		free(text);
		return MHD_NO;
	}
	return reply(connection, MHD_HTTP_OK, open ?
		     "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		     "text/plain; version=0.0.4; charset=utf-8", text, size);
}

/* Called by the only thread of the server. */
static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	static int seen;

	(void)version;
	(void)upload;
	/* The first call is for the headers, and the last one for a reply. A body is not read. */
	if (!*request) {
		*request = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (!strcmp(url, "/metrics"))
		return metrics(data, connection);
	if (!strcmp(url, "/"))
		return reply_text(connection, MHD_HTTP_OK, "tally: the counts are at /metrics\n");
	return reply_text(connection, MHD_HTTP_NOT_FOUND, "the counts are at /metrics\n");
}

/* Listens at the first of some addresses that can be had; -1 with errno. */
static int listen_at_one(const struct addrinfo *found)
{
	int fd, on = 1, off = 0;

	for (; found; found = found->ai_next) {
		fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		/* The address "::" is for both protocols. */
		if (found->ai_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
		    !bind(fd, found->ai_addr, found->ai_addrlen) && !listen(fd, 64))
			return fd;
		on = errno;
		close(fd);
		errno = on;
	}
	return -1;
}

/* Opens the socket for "HOST:PORT", "[::1]:PORT" or ":PORT". */
static int listen_at(const char *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	char *copy = need(strdup(address)), *host = copy, *port = strrchr(copy, ':');
	int fd, error;

	if (!port || !port[1]) {
		say("'%s' is no [HOST]:PORT", address);
		exit(STATUS_USAGE);
	}
	*port++ = 0;
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = 0;
		host++;
	}
	hints.ai_family = *host ? AF_UNSPEC : AF_INET6;
	error = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (error) {
		say("%s: %s", address, gai_strerror(error));
		fprintf(stderr, "  remedy: give an address in numbers: --listen 127.0.0.1:PORT\n");
		exit(STATUS_FAILED);
	}
	fd = listen_at_one(found);
	/* A machine without the newer protocol */
	if (fd < 0 && !*host && errno == EAFNOSUPPORT) {
		hints.ai_family = AF_INET;
		freeaddrinfo(found);
		if (!getaddrinfo(NULL, port, &hints, &found))
			fd = listen_at_one(found);
	}
	if (fd < 0) {
		say("%s: %s", address, strerror(errno));
		if (errno == EADDRINUSE)
			fprintf(stderr, "  remedy: give another port: --listen :PORT\n");
		exit(STATUS_FAILED);
	}
	freeaddrinfo(found);
	free(copy);
	return fd;
}

/* Returns the socket that systemd hands over; -1 without one. */
static int systemd_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *nr = getenv("LISTEN_FDS");

	return pid && nr && atoi(pid) == getpid() && atoi(nr) >= 1 ? SYSTEMD_FD : -1;
}

/* Serves until a signal ends it. Slow clients share one thread, and end after 10 seconds. */
static int serve(struct export *e, const sigset_t *set)
{
	int fd = e->address ? -1 : systemd_socket(), signal;
	struct MHD_Daemon *daemon;

	if (fd < 0)
		fd = listen_at(e->address ? e->address : USUAL_ADDRESS);
	daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL,
				  answer, e, MHD_OPTION_LISTEN_SOCKET, fd,
				  MHD_OPTION_CONNECTION_LIMIT, 64,
				  MHD_OPTION_PER_IP_CONNECTION_LIMIT, 32,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
				  MHD_OPTION_CONNECTION_TIMEOUT, 10, MHD_OPTION_END);
	if (!daemon)
		die("the HTTP server cannot be started: %s", strerror(errno));
	say("serving /metrics");
	while (sigwait(set, &signal))
		;
	/* systemd still listens on its socket, so the server must not shut it down. */
	MHD_quiesce_daemon(daemon);
	MHD_stop_daemon(daemon);
	return 0;
}

/* ---- a file ---- */

/* Writes a new file and renames it, so that its reader sees the old one or the new one. */
static void write_file(struct export *e)
{
	char *name = NULL;
	FILE *file;

	if (asprintf(&name, "%s.new", e->textfile) < 0)
		need(NULL);
	file = fopen(name, "we");
	if (!file)
		die("%s: %s", name, strerror(errno));
	write_metrics(e, file, false);
	if (ferror(file) | fclose(file))
		die("%s: the metrics cannot be written", name);
	if (rename(name, e->textfile))
		die("%s: %s", e->textfile, strerror(errno));
	free(name);
}

static int write_files(struct export *e, const sigset_t *set)
{
	struct timespec interval = { .tv_sec = e->interval };

	do
		write_file(e);
	while (sigtimedwait(set, NULL, &interval) < 0);
	return 0;
}

int command_export(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Serves the counts of all events, whoever made them, to Prometheus and "
		       "other "
		       "readers of OpenMetrics.\vA socket that systemd hands over is used if "
		       "--listen is not given. The server has no encryption and asks for no "
		       "password: let only those reach it who may see the counts.",
	};
	struct export e = { .interval = 15 };
	int status = 0;
	sigset_t set;

	parse_arguments(&argp, argc, argv, 0, &e);
	e.events.device = device_or_die();
	block_signals(&set);
	signal(SIGPIPE, SIG_IGN);
	if (e.once)
		write_metrics(&e, stdout, true);
	else if (e.textfile)
		status = write_files(&e, &set);
	else
		status = serve(&e, &set);
	running_free(&e.events);
	close(e.events.device);
	return status;
}
