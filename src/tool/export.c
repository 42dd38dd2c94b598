// SPDX-License-Identifier: GPL-2.0
/*
 * tally export: serves the counts of all events to Prometheus, or writes them to a file for
 * node_exporter. A scrape reads published pages, which interrupts no CPU; only an inherited event
 * has no page.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <microhttpd.h>
#include "openmetrics.h"
#include "tool.h"

#define USUAL_ADDRESS	"127.0.0.1:9868"

/* First file that systemd hands over: SD_LISTEN_FDS_START */
#define SYSTEMD_FD	3

/* Greatest number of connections. One more ends the oldest one. */
#define MOST_CLIENTS	32

/* A connection ends after this time, however slowly its bytes come. */
#define CLIENT_NS	(10 * 1000000000ULL)

/* An answer is given again for so long. */
#define ANSWER_NS	1000000000ULL

enum { KEY_LISTEN = 256, KEY_TEXTFILE, KEY_INTERVAL, KEY_ONCE, KEY_FILES };

static const struct argp_option options[] = {
	{ "files", KEY_FILES, NULL, 0, "Also the events of open files, as those of tally stat", 0 },
	{ "listen", KEY_LISTEN, "ADDRESS", 0,
	  "Serve /metrics at [HOST]:PORT or unix:PATH [" USUAL_ADDRESS "]", 0 },
	{ "textfile", KEY_TEXTFILE, "FILE", 0, "Write to this file instead", 0 },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "Write the file so often [15]", 0 },
	{ "once", KEY_ONCE, NULL, 0, "Print the metrics, or write the file, once", 0 },
	{ 0 }
};

/**
 * struct answer - the text of /metrics
 * @made:	CLOCK_MONOTONIC of its making; 0 for none
 */
struct answer {
	char *text;
	size_t size;
	__u64 made;
};

/**
 * struct client - a connection, in a list with the oldest one first
 * @until:	CLOCK_MONOTONIC of its end
 * @ended:	the connection was shut down, and the server will close it
 */
struct client {
	struct client *next;
	int fd;
	__u64 until;
	bool ended;
};

/**
 * struct export - a run of `tally export`
 * @written:	the first try to write a file is over: a failure no longer ends the command
 * @lacks_room:	a message has said that some events have no count for want of room
 * @begins_now:	a message has said that a count is not served from its beginning
 * @answers:	the last ones, in Prometheus' format and in OpenMetrics
 * @lock:	for @clients: the server's thread changes the list, the main thread ends clients
 */
struct export {
	struct running_list events;
	char *address;
	const char *textfile;
	long interval;
	bool once;
	bool written;
	bool lacks_room;
	bool begins_now;
	struct answer answers[2];
	pthread_mutex_t lock;
	struct client *clients;
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
	case KEY_FILES:
		e->events.no_files = false;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		break;
	case ARGP_KEY_END:
		if (e->address && e->textfile)
			argp_error(state, "give one of --listen and --textfile");
		if (e->address && e->once)
			argp_error(state, "give one of --listen and --once");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/*
 * Says that a limit leaves no room for the counts of some events, and again only after there was
 * room. Says once that counts are served from now on only: a scraper takes them for whole counts.
 */
static void say_what_is_missing(struct export *e)
{
	const struct running *lacking, *begins = NULL, *r;
	bool lacks_room = running_lacking(&e->events, &lacking);
	int i;

	for (i = 0; i < e->events.nr; i++) {
		r = e->events.list[i];
		if (r->fd >= 0 && r->begins_now)
			begins = r;
	}
	if (begins && !e->begins_now) {
		say("%s: what it counted before now is not served", running_name(begins));
		fprintf(stderr, "  remedy: run it as root; or give the program CAP_PERFMON and, if "
				"kernel.perf_event_paranoid is 2 or more, the module the parameter "
				"perfmon=1; `tally doctor' says how\n");
		e->begins_now = true;
	}
	if (lacks_room && !e->lacks_room)
		say_failed("some events are served without a count", lacking->error, lacking->why);
	e->lacks_room = lacks_room;
}

static void write_metrics(struct export *e, FILE *file, bool open)
{
	running_look(&e->events);
	say_what_is_missing(e);
	running_read(&e->events);
	openmetrics_write(file, &e->events, open);
}

/* ---- connections ---- */

static void end_client(struct client *client)
{
	client->ended = true;
	shutdown(client->fd, SHUT_RDWR);
}

/* Ends the clients whose time is over. */
static void end_old_clients(struct export *e)
{
	struct client *client;
	__u64 now = now_ns();

	pthread_mutex_lock(&e->lock);
	for (client = e->clients; client; client = client->next)
		if (!client->ended && client->until < now)
			end_client(client);
	pthread_mutex_unlock(&e->lock);
}

/* Called by the server's thread, which closes the file after the second call. */
static void on_client(void *data, struct MHD_Connection *connection, void **context,
		      enum MHD_ConnectionNotificationCode what)
{
	struct client *client = *context, *oldest = NULL, **at;
	struct export *e = data;
	int nr = 0;

	pthread_mutex_lock(&e->lock);
	for (at = &e->clients; *at && *at != client; at = &(*at)->next) {
		if ((*at)->ended)
			continue;
		if (!oldest)
			oldest = *at;
		nr++;
	}
	if (what == MHD_CONNECTION_NOTIFY_CLOSED && client) {
		*at = client->next;
		free(client);
	} else if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		client = need(calloc(1, sizeof(*client)));
		client->fd = MHD_get_connection_info(connection,
						     MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		client->until = now_ns() + CLIENT_NS;
		*at = client;
		*context = client;
		if (nr >= MOST_CLIENTS)
			end_client(oldest);
	}
	pthread_mutex_unlock(&e->lock);
}

/* ---- HTTP ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
			     const char *type, const char *text, size_t size)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	response = MHD_create_response_from_buffer(size, (void *)text, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* A connection lives for a limited time, so it is for one request. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned int status,
				  const char *text)
{
	return reply(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* Makes the answer anew, unless it is of this second. Returns false without memory. */
static bool refresh(struct export *e, struct answer *a, bool open)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	if (a->made && now_ns() - a->made < ANSWER_NS)
		return true;
	file = open_memstream(&text, &size);
	if (!file)
		return false;
	write_metrics(e, file, open);
	if (ferror(file) | fclose(file)) {
		free(text);
		return false;
	}
	free(a->text);
	a->text = text;
	a->size = size;
	a->made = now_ns();
	return true;
}

static enum MHD_Result metrics(struct export *e, struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	bool open = accept && strstr(accept, "application/openmetrics-text");
	struct answer *a = &e->answers[open];

	if (!refresh(e, a, open))
		return MHD_NO;
	return reply(connection, MHD_HTTP_OK, open ?
		     "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		     "text/plain; version=0.0.4; charset=utf-8", a->text, a->size);
}

/* Whether the server's end of a connection is an address that only this machine can reach. */
static bool is_at_loopback(struct MHD_Connection *connection)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct sockaddr_storage own = { 0 };
	const struct in6_addr *six = &((struct sockaddr_in6 *)&own)->sin6_addr;
	socklen_t size = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &size))
		return true;
	if (own.ss_family == AF_INET)
		return ntohl(((struct sockaddr_in *)&own)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return own.ss_family == AF_INET6 && (IN6_IS_ADDR_LOOPBACK(six) ||
		(IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET));
}

/* Whether a Host header is "localhost", this machine's name or an address such as "[::1]:9868". */
static bool is_address(const char *host)
{
	size_t brackets = *host == '[', size = strcspn(host + brackets, brackets ? "]" : ":");
	char text[HOST_NAME_MAX + 1] = "", own[HOST_NAME_MAX + 1] = "";
	unsigned char address[16];

	if (size >= sizeof(text))
		return false;
	memcpy(text, host + brackets, size);
	gethostname(own, sizeof(own));
	return !strcasecmp(text, "localhost") || (*own && !strcasecmp(text, own)) ||
	       inet_pton(brackets ? AF_INET6 : AF_INET, text, address) == 1;
}

/*
 * A page in a browser of this machine could read the counts by a name of its own that leads to
 * 127.0.0.1. The browser sends that name.
 */
static bool is_for_this_machine(struct MHD_Connection *connection)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_HOST);

	return !host || is_address(host) || !is_at_loopback(connection);
}

/* Called by the only thread of the server. */
static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	static int seen;

	(void)version;
	(void)upload;
	/* Another method may have a body, which nobody reads: it is refused at once. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	/* The first call is for the headers, and the last one for a reply. */
	if (!*request) {
		*request = &seen;
		return MHD_YES;
	}
	/* A request with a body ends the connection. */
	if (*upload_size)
		return MHD_NO;
	if (!is_for_this_machine(connection))
		return reply_text(connection, MHD_HTTP_FORBIDDEN,
				  "the server knows its address and the names of this machine only\n");
	if (!strcmp(url, "/metrics"))
		return metrics(data, connection);
	if (!strcmp(url, "/"))
		return reply_text(connection, MHD_HTTP_OK, "tally: the counts are at /metrics\n");
	return reply_text(connection, MHD_HTTP_NOT_FOUND, "the counts are at /metrics\n");
}

/* ---- sockets ---- */

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

/*
 * Opens a socket in the file system, for its user and group. A socket that a server left there,
 * which nobody listens on, is replaced.
 */
static int listen_at_path(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat there;
	mode_t mask;

	if (!*path || strlen(path) >= sizeof(at.sun_path)) {
		say("'unix:%s' has a path that is empty or too long", path);
		exit(STATUS_USAGE);
	}
	memcpy(at.sun_path, path, strlen(path));
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (!lstat(path, &there) && S_ISSOCK(there.st_mode) &&
	    connect(fd, (struct sockaddr *)&at, size) && errno == ECONNREFUSED)
		unlink(path);
	mask = umask(0117);
	if (bind(fd, (struct sockaddr *)&at, size) || listen(fd, 64))
		die("%s: %s", path, strerror(errno));
	umask(mask);
	return fd;
}

/* Whether a port is a number from 1 to 65535, or may be a name in /etc/services. */
static bool is_port(const char *port)
{
	size_t digits = strspn(port, "0123456789"), zeros = strspn(port, "0");

	if (port[digits])
		return isalpha((unsigned char)*port);
	return digits > zeros && digits - zeros <= 5 && atoi(port) <= 65535;
}

/* Opens the socket for "HOST:PORT", "[::1]:PORT" or ":PORT". */
static int listen_at_port(const char *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	char *copy = need(strdup(address)), *host = copy, *port = strrchr(copy, ':');
	int fd, error;

	if (!port || !is_port(port + 1)) {
		say("'%s' is no [HOST]:PORT with a port from 1 to 65535, and no unix:PATH",
		    address);
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
	/* The machine has no IPv6. */
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

/* Serves until a signal ends it. All clients share one thread. */
static int serve(struct export *e, sigset_t *set)
{
	const char *address = e->address ? e->address : USUAL_ADDRESS;
	const char *path = strncmp(address, "unix:", 5) ? NULL : address + 5;
	int fd = e->address ? -1 : systemd_socket();
	struct timespec second = { .tv_sec = 1 };
	struct MHD_Daemon *daemon;
	struct stat own, now;

	if (fd < 0)
		fd = path ? listen_at_path(path) : listen_at_port(address);
	if (path && lstat(path, &own))
		path = NULL;
	daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL,
				  answer, e, MHD_OPTION_LISTEN_SOCKET, fd,
				  MHD_OPTION_CONNECTION_LIMIT, 2 * MOST_CLIENTS,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
				  MHD_OPTION_NOTIFY_CONNECTION, on_client, e, MHD_OPTION_END);
	if (!daemon)
		die("the HTTP server cannot be started: %s", strerror(errno));
	allow_signals();
	say("serving /metrics");
	block_signals(set);
	while (!tool_stopped && sigtimedwait(set, NULL, &second) < 0)
		end_old_clients(e);
	/* The server's thread may wait for the reader of a message: the next signal ends both. */
	tool_stopped = 1;
	allow_signals();
	/* systemd still listens on its socket, so the server must not shut it down. */
	MHD_quiesce_daemon(daemon);
	MHD_stop_daemon(daemon);
	/* Somebody may have put another file there. */
	if (path && !lstat(path, &now) && now.st_dev == own.st_dev && now.st_ino == own.st_ino)
		unlink(path);
	free(e->answers[false].text);
	free(e->answers[true].text);
	return 0;
}

/* ---- a file ---- */

/* Writes the metrics; false with errno. The file's reader is another user. */
static bool fill(struct export *e, int fd)
{
	FILE *file = fdopen(fd, "w");
	bool ok;

	if (!file) {
		close(fd);
		return false;
	}
	write_metrics(e, file, false);
	ok = !fflush(file) && !ferror(file) && !fchmod(fd, 0644) && !fsync(fd);
	return !fclose(file) && ok;
}

/*
 * Writes a new file and renames it, so that its reader sees the old one or the new one. Returns
 * false after a message. A disk that is full now may have room the next time.
 */
static bool write_file(struct export *e)
{
	char *name = NULL, again[64] = "";
	bool ok;
	int fd;

	if (asprintf(&name, "%s.XXXXXX", e->textfile) < 0)
		need(NULL);
	/* Nobody else can know the name, nor lead it elsewhere. */
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 && !e->written)
		die("%s: %s", e->textfile, strerror(errno));
	ok = fd >= 0 && fill(e, fd) && !rename(name, e->textfile);
	if (!ok) {
		if (!e->once)
			snprintf(again, sizeof(again), ": trying again in %ld seconds",
				 e->interval);
		say("%s: %s%s", e->textfile, strerror(errno), again);
		if (fd >= 0)
			unlink(name);
	}
	e->written = true;
	free(name);
	return ok;
}

static int write_files(struct export *e, sigset_t *set)
{
	struct timespec interval = { .tv_sec = e->interval };
	bool ok;

	do {
		/* The disk may be one of a network, and answer late. */
		allow_signals();
		ok = write_file(e);
		block_signals(set);
	} while (!e->once && !tool_stopped && sigtimedwait(set, NULL, &interval) < 0);
	return e->once && !ok ? STATUS_FAILED : 0;
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
	struct export e = {
		.interval = 15, .events = { .no_files = true, .totals = true },
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int status = 0;
	sigset_t set;

	parse_arguments(&argp, argc, argv, 0, &e);
	e.events.device = device_or_die();
	if (e.once && !e.textfile) {
		write_metrics(&e, stdout, true);
		goto out;
	}
	block_signals(&set);
	signal(SIGPIPE, SIG_IGN);
	if (e.textfile)
		status = write_files(&e, &set);
	else
		status = serve(&e, &set);
out:
	running_free(&e.events);
	close(e.events.device);
	return status;
}
