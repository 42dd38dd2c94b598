// SPDX-License-Identifier: GPL-2.0
/*
 * This file stands for what is behind tally_build(): events are made as in the kernel, but nothing
 * counts. The last of them is found in native_made.
 */
#include <linux/perf_event.h>
#include "base/cgroup.h"
#include "base/kprobe.h"
#include "life/life.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "counter/counter.h"
#include "event/overflow.h"
#include "event/event.h"
#include "event/registry.h"
#include "filter/apply.h"
#include "set/budget.h"
#include "record/output.h"
#include "record/recorder.h"
#include "native.h"

struct tally_set {
	struct tally_event *members[TALLY_SET_MOST];
	unsigned int nr;
};

struct native_made native_made;

/* ---- tasks and cgroups ---- */

static struct task_struct tasks[NATIVE_SELF];

/* Tasks 1 to 9 exist. The last is the writer of lines. */
struct task_struct *shim_task(pid_t nr)
{
	if (nr == NATIVE_SELF)
		return current;
	return nr > 0 && nr < NATIVE_SELF ? &tasks[nr] : NULL;
}

pid_t tally_counter_pid(const struct tally_counter *c)
{
	return c->target.task == current ? NATIVE_SELF : c->target.task - tasks;
}

static const char *const cgroups[] = { "/", "/a", "/a/b", "/a b", "/a\\x2db;c", "/\303\251\n" };

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* As string_unescape_inplace() with UNESCAPE_OCTAL. */
bool tally_cgroup_unescape(char *path)
{
	char *to = path;
	unsigned int n, value;

	while (*path) {
		value = (u8)*path++;
		if (value == '\\' && is_octal(*path)) {
			value = 0;
			for (n = 0; n < 3 && is_octal(*path) && value * 8 + *path - '0' < 256; n++)
				value = value * 8 + *path++ - '0';
			if (!value)
				return false;
		}
		*to++ = value;
	}
	*to = '\0';
	return true;
}

int tally_cgroup_by_path(const char *path, u64 *id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cgroups); i++) {
		if (strcmp(cgroups[i] + 1, path + (*path == '/')))
			continue;
		*id = i;
		return 0;
	}
	return -ENOENT;
}

struct cgroup_subsys_state *tally_cgroup_find(u64 id)
{
	return (void *)&cgroups[id];
}

char *tally_cgroup_path(struct cgroup_subsys_state *css)
{
	return strdup(*(const char *const *)css);
}

void tally_cgroup_put(struct cgroup_subsys_state *css)
{
}

void shim_escape(struct seq_file *m, const char *text, const char *only)
{
	for (; *text; text++)
		seq_printf(m, strchr(only, *text) || *text < ' ' || *text > '~' ? "\\%03o" : "%c",
			   (u8)*text);
}

void seq_printf(struct seq_file *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	m->len += vsnprintf(m->text + m->len, sizeof(m->text) - m->len, format, args);
	va_end(args);
	if (m->len >= sizeof(m->text))
		abort();
}

/* ---- counters ---- */

bool tally_attr_is_kprobe(const struct perf_event_attr *attr)
{
	return tally_attr_is_of(attr, "kprobe");
}

/* All tricks work. */
bool tally_trick_is_off(enum tally_trick trick)
{
	return false;
}

const char *tally_trick_sentence(enum tally_trick trick)
{
	return "";
}

/* The PMUs know two levels of precision. perf checks breakpoints of files, too. */
struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					struct tally_counter *first,
					perf_overflow_handler_t handler, void *context,
					unsigned int flags, int *err_cpu)
{
	struct perf_event_attr copy = *attr;
	struct tally_counter *c;

	if (attr->precise_ip > 2)
		return ERR_PTR(-EOPNOTSUPP);
	if (attr->type == PERF_TYPE_BREAKPOINT && tally_check_breakpoint(&copy))
		return ERR_PTR(-EINVAL);
	c = calloc(1, sizeof(*c));
	c->first = c;
	c->attr = *attr;
	c->target = *target;
	return c;
}

int tally_group_kind(const struct perf_event_attr *attr, const struct tally_target *target)
{
	return -1;
}

unsigned int tally_group_room(struct tally_counter *first, int kind)
{
	return 0;
}

struct tally_counter *tally_group_idle_leader(const struct tally_counter *c)
{
	return NULL;
}

void tally_counter_on(struct tally_counter *c)
{
}

void tally_counter_off(struct tally_counter *c)
{
}

bool tally_counter_counts(const struct tally_counter *c)
{
	return true;
}

bool tally_counter_interrupts(struct tally_counter *c)
{
	return true;
}

u64 tally_counter_missed(const struct tally_counter *c)
{
	return 0;
}

enum tally_state tally_counter_state(const struct tally_counter *c, unsigned int slot)
{
	return TALLY_STATE_ACTIVE;
}

/* ---- overflows ---- */

struct tally_overflow *tally_overflow_new(const struct tally_builder *b,
					  const struct perf_event_attr *attr,
					  const struct tally_target *target,
					  struct tally_event *ev, const atomic64_t *lost)
{
	struct tally_overflow *of = calloc(1, sizeof(*of));

	of->direct = b->direct;
	of->irq = b->irq;
	of->work = b->work;
	of->batch = b->queue;
	of->special = b->flags & (TALLY_BUILDER_ONE_SHOT | TALLY_BUILDER_TIME);
	return of;
}

void tally_overflow_callback(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
}

void tally_overflow_set_rate(struct tally_overflow *of, u32 rate, bool interrupts)
{
	of->reload = rate;
}

void tally_control_setup(struct tally_overflow *of)
{
}

int tally_budget_new(struct tally_event *ev, u64 max, u64 window_ns)
{
	ev->budget = calloc(1, sizeof(*ev->budget));
	ev->budget->max = max;
	ev->budget->window_ns = window_ns;
	return 0;
}

void tally_budget_begun(struct tally_budget *b)
{
}

int tally_chains_alloc(const struct perf_event_attr *attr)
{
	return 0;
}

struct tally_output *tally_output_new(const struct perf_event_attr *attr,
				      const struct tally_target *target, struct tally_event *ev,
				      gfp_t flags)
{
	return calloc(1, sizeof(struct tally_output));
}

int tally_recorder_new(struct tally_event *ev, const struct tally_builder *b,
		       const struct tally_target *target)
{
	return 0;
}

unsigned int tally_task_records_kinds(const struct perf_event_attr *attr)
{
	return 0;
}

int tally_task_records_add(struct tally_output *out, const struct perf_event_attr *attr,
			   struct tally_account *account)
{
	return 0;
}

bool tally_filter_can(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_TRACEPOINT || tally_attr_is_kprobe(attr);
}

/* ---- events ---- */

int tally_builder_allow(struct tally_builder *b, const struct perf_event_attr *attr)
{
	return 0;
}

int tally_builder_allow_task(struct tally_builder *b, struct task_struct *task)
{
	return 0;
}

int tally_build_busy(struct tally_builder *b, struct tally_event *ev)
{
	return -EBUSY;
}

void tally_event_init_views(struct tally_event *ev, unsigned int nr)
{
}

bool tally_event_counts(struct tally_event *ev)
{
	return true;
}

int tally_event_enable(struct tally_event *ev)
{
	ev->on = true;
	ev->traced_state = TALLY_STATE_ACTIVE;
	return 0;
}

void tally_event_disable(struct tally_event *ev)
{
	ev->on = false;
}

void tally_event_wait_for_exec(struct tally_event *ev)
{
	ev->on = true;
}

void tally_event_destroy(struct tally_event *ev)
{
	free(ev->counter);
	free(ev->overflow);
	free(ev->output);
	free(ev->budget);
	free(ev);
}

void tally_events_destroy(struct list_head *doomed)
{
}

int tally_event_release(struct tally_event *ev)
{
	tally_event_destroy(ev);
	return 0;
}

int tally_folder_add(struct tally_event *ev)
{
	return 0;
}

const struct tally_folder_ops *tally_folders(void)
{
	return NULL;
}

/* ---- names: none is taken ---- */

int tally_registry_name(struct tally_event *ev, const struct tally_builder *b)
{
	strscpy(ev->name, b->given & TALLY_GIVEN_NAME ? b->name : "made.1", sizeof(ev->name));
	return 0;
}

void tally_registry_add(struct tally_event *ev)
{
	native_made.ev = ev;
}

int tally_registry_name_set(struct tally_entry *entry)
{
	return 0;
}

void tally_registry_list_set(struct tally_entry *entry)
{
	native_made.ls = container_of(entry, struct tally_line_set, entry);
}

void tally_registry_unname(struct tally_entry *entry)
{
}

/* Sets are removed by tally_line_sets_release() alone. */
struct tally_entry *tally_registry_remove_line(const char *name, const char **why)
{
	struct tally_line_set *ls = native_made.ls;

	native_made.ls = NULL;
	return ls ? &ls->entry : ERR_PTR(-ENOENT);
}

struct tally_entry *tally_registry_hold_line(const char *name, const char **why)
{
	return ERR_PTR(-ENOENT);
}

void tally_registry_release_line(struct tally_entry *entry)
{
}

/* ---- sets ---- */

/* Refuses a part of what life/set.c refuses. */
struct tally_set *tally_set_build(struct tally_builder *builders, unsigned int n)
{
	struct tally_set *set = calloc(1, sizeof(*set));
	struct tally_builder *b;
	struct tally_event *ev;

	for (b = builders; b < builders + n; b++) {
		ev = b->attr.inherit || b->attr.enable_on_exec ? ERR_PTR(-EINVAL) : tally_build(b);
		if (IS_ERR(ev)) {
			tally_set_release(set);
			return (void *)ev;
		}
		set->members[set->nr++] = ev;
	}
	return set;
}

int tally_set_release(struct tally_set *set)
{
	while (set->nr)
		tally_event_destroy(set->members[--set->nr]);
	free(set);
	return 0;
}

int tally_set_failed(const struct tally_builder *builders, unsigned int n)
{
	return -1;
}

int tally_set_enable(struct tally_set *set)
{
	return 0;
}

void tally_set_disable(struct tally_set *set)
{
}

unsigned int tally_set_size(const struct tally_set *set)
{
	return set->nr;
}

struct tally_event *tally_set_event(struct tally_set *set, unsigned int i)
{
	return set->members[i];
}

struct tally_func *tally_func_attach(struct tally_set *set, const char *symbol,
				     struct module *owner, char *why, size_t size)
{
	return (void *)strdup(symbol);
}

int tally_func_release(struct tally_func *func)
{
	free(func);
	return 0;
}
