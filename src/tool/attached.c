// SPDX-License-Identifier: GPL-2.0
/* The events that are counted now. Each is attached to once, and its page is mapped. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/tally.h>
#include "attached.h"
#include "tool.h"

static void attach(struct running_list *events, struct running *r)
{
	r->error = 0;
	r->why[0] = 0;
	if (events->files >= events->most_files) {
		r->fd = -1;
		r->error = -EDQUOT;
		strcpy(r->why, "a quarter of files_per_user is for other programs");
		return;
	}
	r->fd = -EACCES;
	/* A gauge does not begin at 0. */
	if (events->totals || r->unit.gauge)
		r->fd = libtally_device_attach_total(events->device, r->about.id, "", 0, r->why);
	/* A caller without CAP_PERFMON reads no total, and an older module knows none. */
	r->begins_now = r->fd == -EACCES || r->fd == -EINVAL;
	if (r->begins_now)
		r->fd = libtally_device_attach(events->device, r->about.id, "", 0, r->why);
	if (r->fd < 0) {
		r->error = r->fd;
		r->fd = -1;
		return;
	}
	/* An inherited event has no page, and is read by a call. */
	r->error = libtally_page_map(r->fd, &r->page);
	if (r->error && r->error != -EINVAL) {
		snprintf(r->why, sizeof(r->why), "%s", strerror(-r->error));
		close(r->fd);
		r->fd = -1;
		return;
	}
	r->error = 0;
	events->files++;
}

static void detach(struct running *r)
{
	if (r->page)
		libtally_page_unmap(r->page);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

/* Returns the place of the first event with this id or a later one: the list is sorted by ids. */
static int place_of(const struct running_list *events, __u64 id)
{
	int from = 0, to = events->nr, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (events->list[middle]->about.id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct running *add(struct running_list *events, int place,
			   const struct libtally_running *about)
{
	struct running *r = need(calloc(1, sizeof(*r)));
	struct running **at;

	events->list = need(realloc(events->list, (events->nr + 1) * sizeof(*events->list)));
	at = events->list + place;
	memmove(at + 1, at, (events->nr++ - place) * sizeof(*at));
	*at = r;
	r->about = *about;
	r->rate = -1;
	/* An event that the caller may not see has no unit either. */
	libtally_device_unit(events->device, about->what, &r->unit, r->why);
	attach(events, r);
	return r;
}

static void forget_dead(struct running_list *events)
{
	int from, to = 0;

	for (from = 0; from < events->nr; from++) {
		if (events->list[from]->alive)
			events->list[to++] = events->list[from];
		else
			detach(events->list[from]);
	}
	events->nr = to;
}

/* running_look() attaches again after these errors: a limit may be raised, memory may be freed. */
bool running_lacks_room(const struct running *r)
{
	return r->error == -EMFILE || r->error == -ENFILE || r->error == -EDQUOT ||
	       r->error == -ENOMEM;
}

int running_lacking(const struct running_list *events, const struct running **lacking)
{
	int i, nr = 0;

	for (i = 0; i < events->nr; i++) {
		if (!running_lacks_room(events->list[i]))
			continue;
		*lacking = events->list[i];
		nr++;
	}
	return nr;
}

void running_say_lacking(const struct running_list *events)
{
	const struct running *lacking;
	int nr = running_lacking(events, &lacking);
	char what[64];

	if (!nr)
		return;
	snprintf(what, sizeof(what), "%d of %d events are shown without a count", nr, events->nr);
	say_failed(what, lacking->error, lacking->why);
}

/* The limit may be changed at any time; 0 stands for none. An older module may not tell it. */
static void find_room(struct running_list *events)
{
	struct tally_info info = { .size = sizeof(info) };
	int i;

	events->most_files = ~0U;
	if (!ioctl(events->device, TALLY_IOC_INFO, &info) && info.files_per_user)
		events->most_files = info.files_per_user - info.files_per_user / 4;
	events->files = 0;
	for (i = 0; i < events->nr; i++)
		events->files += events->list[i]->fd >= 0;
}

void running_look(struct running_list *events)
{
	struct libtally_running about = { 0 };
	struct running *r;
	int i, place, more;

	if (!events->nr)
		raise_file_limit();
	for (i = 0; i < events->nr; i++)
		events->list[i]->alive = false;
	find_room(events);
	while ((more = libtally_device_next(events->device, &about)) > 0) {
		if (events->no_files && about.of_file)
			continue;
		place = place_of(events, about.id);
		r = place < events->nr ? events->list[place] : NULL;
		if (!r || r->about.id != about.id)
			r = add(events, place, &about);
		/* A program may keep perf from an event, and let it go. */
		else if (r->fd < 0 && (running_lacks_room(r) || r->error == -EBUSY))
			attach(events, r);
		r->about = about;
		r->alive = true;
	}
	if (more < 0)
		die("/dev/tally: %s", strerror(-more));
	forget_dead(events);
}

static void keep_rate(struct running *r, double rate)
{
	r->rate = rate;
	if (r->nr_history == RUNNING_HISTORY)
		memmove(r->history, r->history + 1, (RUNNING_HISTORY - 1) * sizeof(*r->history));
	else
		r->nr_history++;
	r->history[r->nr_history - 1] = rate;
}

static void read_one(struct running *r)
{
	__u64 before = r->value.value, seen = r->seen, now;

	if (r->fd < 0 || r->error)
		return;
	if (r->page ? libtally_page_values(r->page, &r->value, 1, &r->time) != 1 :
		      libtally_values_read(r->fd, -1, &r->value, 1, NULL) != 1)
		return;
	now = now_ns();
	r->seen = now;
	if (seen && !r->unit.gauge)
		keep_rate(r, r->value.value < before ? 0 :
			     (r->value.value - before) * r->unit.scale * 1e9 / (now - seen));
}

void running_read(struct running_list *events)
{
	int i;

	for (i = 0; i < events->nr; i++)
		read_one(events->list[i]);
}

void running_free(struct running_list *events)
{
	int i;

	for (i = 0; i < events->nr; i++)
		detach(events->list[i]);
	free(events->list);
	events->list = NULL;
	events->nr = 0;
}

const char *running_name(const struct running *r)
{
	if (r->about.name[0])
		return r->about.name;
	return r->about.what[0] ? r->about.what : "?";
}

void running_target(const struct running *r, char *text)
{
	const struct libtally_running *about = &r->about;
	char *cgroup = escape(about->cgroup);
	int used = 0;

	if (about->pid > 0)
		used = sprintf(text, "pid=%d", about->pid);
	else if (!about->pid)
		used = sprintf(text, "pid=?");
	else if (*cgroup)
		used = sprintf(text, "cgroup=%s", cgroup);
	if (about->cpu >= 0)
		sprintf(text + used, "%scpu=%d", used ? "," : "", about->cpu);
	else if (!used)
		strcpy(text, "cpu=all");
	free(cgroup);
}

void short_number(double value, char *text, size_t size)
{
	static const char suffixes[] = " KMGTPE";
	int i;

	for (i = 0; i < 6 && fabs(value) >= 99999.5; i++)
		value /= 1000;
	if (i)
		snprintf(text, size, "%.1f%c", value, suffixes[i]);
	else
		snprintf(text, size, "%.*f", fabs(value) < 100 && value != floor(value), value);
}

void running_rate(const struct running *r, char *text, size_t size)
{
	if (r->rate >= 0)
		short_number(r->rate, text, size);
	else
		snprintf(text, size, "%s", r->unit.gauge ? "gauge" : "-");
}

void running_state(const struct running *r, char *text)
{
	snprintf(text, RUNNING_STATE, "%s%s", libtally_state_name(r->about.state),
		 r->about.has_more && r->about.missed ? "!" : "");
}
