// SPDX-License-Identifier: GPL-2.0
/*
 * Events of a command line. The module parses their names, as it parses those in debugfs and in its
 * parameter events=; libpfm4 knows the events that only one model of CPU has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "parse.h"
#include "pfm.h"
#include "target.h"
#include "tool.h"

static struct wanted *add(struct wanted_list *events, const char *name, size_t length, int group)
{
	struct wanted *w;

	events->list = need(realloc(events->list, (events->nr + 1) * sizeof(*events->list)));
	w = &events->list[events->nr++];
	memset(w, 0, sizeof(*w));
	w->name = need(strndup(name, length));
	w->group = group;
	w->unit.scale = 1;
	return w;
}

bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* Sets the unit. libpfm4 has names of its own, also for clocks. */
static void set_unit(struct wanted *w, int device)
{
	char why[LIBTALLY_ERROR_SIZE];

	libtally_device_unit(device, is_clock(&w->attr) ? "cpu-clock" : w->name, &w->unit, why);
}

/* Asks libpfm4 for the event. Returns whether libpfm4 knows the event; if not, w->why says why. */
static bool ask_pfm(struct wanted *w)
{
	const char *why;

	memset(&w->attr, 0, sizeof(w->attr));
	why = pfm_encode(w->name, &w->attr, sizeof(w->attr));
	w->attr.size = sizeof(w->attr);
	w->pfm = !why;
	if (why)
		snprintf(w->why, sizeof(w->why), "libpfm4: %s", why);
	return !why;
}

static void look_up(struct wanted *w, int device)
{
	char why[LIBTALLY_ERROR_SIZE];

	w->error = libtally_device_parse(device, w->name, &w->attr, sizeof(w->attr), w->why);
	if (w->error == -ENOENT) {
		strcpy(why, w->why);
		if (ask_pfm(w))
			w->error = 0;
		else
			strcpy(w->why, why);
	}
	if (!w->error)
		set_unit(w, device);
}

/*
 * Returns a name with more modifiers, for free(): behind a colon; or if glued, right behind the
 * modifiers that the name has. If glued, returns NULL for a name without modifiers: what stands
 * behind its last colon may be a part of the name, or a number.
 */
static char *modified(const char *name, const char *modifiers, size_t length, bool glued)
{
	const char *own = strrchr(name, ':'), *slash = strrchr(name, '/');
	char *text;

	if (slash > own)
		own = slash;
	if (glued && (!own || own[1 + strspn(own + 1, "ukhGHIDePp")]))
		return NULL;
	if (asprintf(&text, "%s%s%.*s", name, glued ? "" : ":", (int)length, modifiers) < 0)
		need(NULL);
	return text;
}

/* Gives a member the modifiers of its group. */
static void modify(struct wanted *w, int device, const char *modifiers, size_t length)
{
	char *plain = w->name, *glued = modified(plain, modifiers, length, true);

	w->name = modified(plain, modifiers, length, false);
	look_up(w, device);
	if (w->error && glued) {
		free(w->name);
		w->name = glued;
		glued = NULL;
		look_up(w, device);
	}
	free(glued);
	free(plain);
}

/*
 * Returns the length of the event at the beginning of a list. The terms of a PMU are between
 * slashes; the length of a breakpoint is behind one.
 */
static size_t event_length(const char *text)
{
	size_t length;
	bool inside = false;

	for (length = 0; text[length]; length++) {
		if (text[length] == '/' && strncmp(text, "mem:", 4))
			inside = !inside;
		else if (!inside && strchr(",{}", text[length]))
			break;
	}
	return length;
}

static void bad_list(const char *text, const char *at)
{
	say("'%s': an event is expected at '%s'", text, at);
	exit(STATUS_USAGE);
}

/* Removes a modifier that is for the set and not for its members. Returns whether it was there. */
static bool strip(char *modifiers, char modifier)
{
	char *from, *to = modifiers;

	for (from = modifiers; *from; from++)
		if (*from != modifier)
			*to++ = *from;
	*to = '\0';
	return to != from;
}

/* Adds the events of a group; returns the text behind it. */
static const char *add_group(struct wanted_list *events, int device, const char *text,
			     const char *at)
{
	int first = events->nr, i;
	char *modifiers;
	bool weak, leader_samples;
	size_t length;

	do {
		length = event_length(++at);
		if (!length)
			bad_list(text, at);
		add(events, at, length, events->nr_groups);
		at += length;
	} while (*at == ',');
	if (*at != '}')
		bad_list(text, at);
	at++;
	length = *at == ':' ? strcspn(at, ",") : 0;
	modifiers = need(strndup(length ? at + 1 : "", length ? length - 1 : 0));
	weak = strip(modifiers, 'W');
	leader_samples = strip(modifiers, 'S');
	for (i = first; i < events->nr; i++) {
		if (*modifiers)
			modify(&events->list[i], device, modifiers, strlen(modifiers));
		else
			look_up(&events->list[i], device);
		/* The leader is pinned, or exclusive, for all of the group. */
		if (i > first && strpbrk(modifiers, "De")) {
			events->list[i].attr.pinned = 0;
			events->list[i].attr.exclusive = 0;
		}
		events->list[i].weak = weak;
		events->list[i].leader_samples = leader_samples;
	}
	free(modifiers);
	events->nr_groups++;
	return at + length;
}

void wanted_add(struct wanted_list *events, int device, const char *text)
{
	const char *at = text;
	size_t length;

	for (;;) {
		if (*at == '{') {
			at = add_group(events, device, text, at);
		} else {
			length = event_length(at);
			if (!length)
				bad_list(text, at);
			look_up(add(events, at, length, -1), device);
			at += length;
		}
		if (!*at)
			return;
		if (*at != ',')
			bad_list(text, at);
		at++;
	}
}

int wanted_leader(const struct wanted_list *events, int e)
{
	const struct wanted *list = events->list;
	int first = e;

	while (first && list[e].group >= 0 && list[first - 1].group == list[e].group)
		first--;
	return first < e ? first : -1;
}

int wanted_behind(const struct wanted_list *events, int e)
{
	do
		e++;
	while (e < events->nr && wanted_leader(events, e) >= 0);
	return e;
}

void wanted_add_pfm(struct wanted_list *events, int device, const char *text)
{
	struct wanted *w = add(events, text, strlen(text), -1);

	if (ask_pfm(w))
		set_unit(w, device);
	else
		w->error = -ENOENT;
}

/*
 * Returns whether the event can leave out the kernel, and no modifier says what to count. The
 * device cannot say which of libpfm4's software events never happen in user space.
 */
static bool can_restrict(const struct wanted *w)
{
	const struct perf_event_attr *attr = &w->attr;

	return !w->error && attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT && !attr->exclude_user && !attr->exclude_kernel &&
	       (w->pfm ? attr->type != PERF_TYPE_SOFTWARE : !attr->exclude_hv);
}

/*
 * Gives the event's name the modifier u; also a name of libpfm4, which has colons, and which the
 * device does not know. Returns false for an event that never happens in user space.
 */
static bool name_restricted(struct wanted *w, int device)
{
	char *names[2], why[LIBTALLY_ERROR_SIZE];
	struct perf_event_attr attr;
	int i, error, used = 0;
	bool happens = true;

	names[0] = modified(w->name, "u", 1, false);
	names[1] = modified(w->name, "u", 1, true);
	for (i = 0; i < 2 && names[i]; i++) {
		error = libtally_device_parse(device, names[i], &attr, sizeof(attr), why);
		/* In user space, a context switch never happens. */
		happens = !error || (happens && error != -EINVAL);
		if (!error) {
			used = i;
			break;
		}
	}
	if (happens) {
		free(w->name);
		w->name = names[used];
		names[used] = NULL;
	}
	free(names[0]);
	free(names[1]);
	return happens;
}

void wanted_restrict(struct wanted_list *events, int device)
{
	struct libtally_target target;
	const struct place itself = { .pid = 0, .cpu = -1 };
	struct wanted *w;
	int fd;

	for (w = events->list; w < events->list + events->nr; w++) {
		if (!can_restrict(w))
			continue;
		target_at(&target, device, &itself);
		fd = libtally_open_event(&w->attr, &target);
		if (fd >= 0)
			close(fd);
		if (fd != -EACCES)
			continue;
		if (name_restricted(w, device)) {
			w->attr.exclude_kernel = 1;
			w->attr.exclude_hv = 1;
		} else {
			w->error = -EOPNOTSUPP;
			strcpy(w->why, target.error);
		}
	}
}

void wanted_counts(struct wanted_list *events)
{
	struct wanted *w;

	for (w = events->list; w < events->list + events->nr; w++) {
		if (w->error || !is_clock(&w->attr) ||
		    !(w->attr.exclude_user || w->attr.exclude_kernel || w->attr.exclude_idle))
			continue;
		w->error = -EINVAL;
		strcpy(w->why,
		       "a clock counts in user space and in the kernel, whatever is excluded");
	}
}

void wanted_free(struct wanted_list *events)
{
	int i;

	for (i = 0; i < events->nr; i++)
		free(events->list[i].name);
	free(events->list);
	memset(events, 0, sizeof(*events));
}
