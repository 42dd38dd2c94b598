// SPDX-License-Identifier: GPL-2.0
/*
 * The builder: the settings of an event, its target, and the first error.
 */
#include <linux/cpumask.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/cgroup.h"
#include "base/kprobe.h"
#include "base/ptr.h"
#include "builder/builder.h"
#include "compat.h"
#include "builder/name.h"
#include "base/pmu.h"

int tally_bad_in(struct tally_builder *b, u32 field, int err, const char *fmt, ...)
{
	va_list args;

	if (b->err)
		return b->err;
	b->err = err;
	b->err_field = field;
	b->err_cpu = -1;
	va_start(args, fmt);
	vsnprintf(b->why, sizeof(b->why), fmt, args);
	va_end(args);
	return err;
}

void tally_builder_clear(struct tally_builder *b, struct module *owner)
{
	/* Strings, from @name on, need no more than a terminating NUL. */
	memset(b, 0, offsetof(struct tally_builder, name));
	b->name[0] = '\0';
	b->event[0] = '\0';
	b->why[0] = '\0';
	b->owner = owner;
	b->cpu = -1;
	b->err_cpu = -1;
	b->attr.size = sizeof(b->attr);
}

static void init_symbol(struct tally_builder *b, const struct tally_what *what)
{
	u64 addr;
	int err = tally_symbol_address(what->symbol, what->config2, &addr) ?:
		  tally_kprobe_check(what->symbol, what->config2, addr);

	if (err) {
		tally_bad(b, err, err == -EADDRNOTAVAIL ? TALLY_SEVERAL :
			  "cannot probe symbol '%s'", what->symbol);
		if (err == -ENOENT)
			tally_symbol_suggest(what->symbol, b->why, sizeof(b->why));
		return;
	}
	b->attr.config2 = addr;
	/* If the symbol is too long, the event is shown by its address. */
	if (snprintf(b->event, sizeof(b->event), "%s:%s+%llu",
		     what->config ? "kretprobe" : "kprobe", what->symbol,
		     what->config2) >= sizeof(b->event))
		b->event[0] = '\0';
}

void __tally_builder_init(struct tally_builder *b, struct tally_what what, struct module *owner)
{
	int type = what.type;

	if (tally_bad_ptr(b))
		return;
	tally_builder_clear(b, owner);
	b->attr.config = what.config;
	b->attr.config1 = what.config1;
	b->attr.config2 = what.config2;
	b->attr.bp_type = what.bp_type;
	if (IS_ERR(what.pmu) || IS_ERR(what.symbol)) {
		tally_bad(b, -EINVAL, "no name of a PMU or symbol");
		return;
	}
	if (what.pmu) {
		type = tally_pmu_type(what.pmu);
		if (type < 0)
			tally_bad(b, type, "no PMU '%s' on this machine", what.pmu);
	}
	if (what.symbol)
		init_symbol(b, &what);
	b->attr.type = type;
	tally_attr_defaults(&b->attr);
}
EXPORT_SYMBOL_TALLY(__tally_builder_init);

void __tally_builder_init_attr(struct tally_builder *b,
			       const struct perf_event_attr *attr,
			       struct module *owner)
{
	if (tally_bad_ptr(b))
		return;
	tally_builder_clear(b, owner);
	if (tally_bad_ptr(attr)) {
		tally_bad(b, -EINVAL, "no perf_event_attr");
		return;
	}
	b->attr = *attr;
	b->attr.size = sizeof(b->attr);
	/*
	 * As in perf_event_open(2), PERF_TYPE_RAW is for one kind of cores.
	 * TALLY_RAW(), and rCODE in a line, are for all kinds.
	 */
	if (attr->type == PERF_TYPE_RAW)
		b->flags |= TALLY_BUILDER_ONE_KIND;
}
EXPORT_SYMBOL_TALLY(__tally_builder_init_attr);

void tally_builder_name(struct tally_builder *b, const char *name)
{
	char why[sizeof(b->why)];
	int err;

	if (tally_bad_ptr(b))
		return;
	if (tally_bad_ptr(name)) {
		tally_bad_in(b, TALLY_FIELD_NAME, -EINVAL, "no name");
		return;
	}
	err = tally_name_check(name, why, sizeof(why));
	if (err) {
		tally_bad_in(b, TALLY_FIELD_NAME, err, "%s", why);
		return;
	}
	strscpy(b->name, name, sizeof(b->name));
	b->given |= TALLY_GIVEN_NAME;
	/* The name is not the text of the event any more. */
	b->given &= ~TALLY_GIVEN_EVENT;
}
EXPORT_SYMBOL_TALLY(tally_builder_name);

void tally_builder_config(struct tally_builder *b, u64 config1, u64 config2, u64 config3)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.config1 = config1;
	b->attr.config2 = config2;
	/* The text of a line no longer says what is counted. */
	b->event[0] = '\0';
	if (!tally_attr_set_config3(&b->attr, config3))
		tally_bad(b, -EOPNOTSUPP, "this kernel has no config3");
}
EXPORT_SYMBOL_TALLY(tally_builder_config);

void tally_builder_on_cpu(struct tally_builder *b, int cpu)
{
	if (tally_bad_ptr(b))
		return;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu)) {
		tally_bad_in(b, TALLY_FIELD_CPU, -EINVAL,
			     "cpu %d does not exist", cpu);
		return;
	}
	b->cpu = cpu;
	b->given |= TALLY_GIVEN_CPU;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_cpu);

void tally_builder_on_all_cpus(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->given |= TALLY_GIVEN_ALL_CPUS;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_all_cpus);

void tally_builder_on_task(struct tally_builder *b, struct task_struct *task)
{
	if (tally_bad_ptr(b))
		return;
	if (IS_ERR_OR_NULL(task)) {
		tally_bad(b, -ESRCH, "no task");
		return;
	}
	b->task = task;
	b->given |= TALLY_GIVEN_TASK;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_task);

void tally_builder_on_pid(struct tally_builder *b, pid_t pid)
{
	if (tally_bad_ptr(b))
		return;
	if (pid < 0) {
		tally_bad(b, -EINVAL, "pid %d does not exist", pid);
		return;
	}
	b->pid = pid;
	b->given |= TALLY_GIVEN_PID;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_pid);

/* Keeps the cgroup, or the error of the search for it. */
static void give_cgroup(struct tally_builder *b, int err, const char *what)
{
	if (!err)
		b->given |= TALLY_GIVEN_CGROUP;
	else if (err == -EINVAL)
		tally_bad_in(b, TALLY_FIELD_PERF_FLAGS, err, "this kernel has no cgroup events");
	else if (err == -ENOMEM)
		tally_bad(b, err, "out of memory");
	else if (err == -EBADF)
		tally_bad_in(b, TALLY_FIELD_PID, err, "%s: no directory of a cgroup", what);
	else
		tally_bad_in(b, TALLY_FIELD_PID, err, "no cgroup %s with perf's controller", what);
}

void tally_builder_on_cgroup(struct tally_builder *b, const char *path)
{
	if (tally_bad_ptr(b))
		return;
	if (tally_bad_ptr(path))
		tally_bad(b, -EINVAL, "no path of a cgroup");
	else
		give_cgroup(b, tally_cgroup_by_path(path, &b->cgroup), path);
}
EXPORT_SYMBOL_TALLY(tally_builder_on_cgroup);

void tally_builder_on_cgroup_fd(struct tally_builder *b, int fd)
{
	if (tally_bad_ptr(b))
		return;
	give_cgroup(b, tally_cgroup_by_fd(fd, &b->cgroup), "pid");
}
EXPORT_SYMBOL_TALLY(tally_builder_on_cgroup_fd);

void tally_builder_period(struct tally_builder *b, u64 period)
{
	if (tally_bad_ptr(b))
		return;
	if (period >> 63) {
		tally_bad(b, -EINVAL, "period above 2^63 - 1");
		return;
	}
	b->attr.sample_period = 0;
	b->attr.freq = 0;
	b->period = period;
}
EXPORT_SYMBOL_TALLY(tally_builder_period);

void tally_builder_freq(struct tally_builder *b, u64 hz)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sample_period = 0;
	b->attr.freq = 0;
	b->freq = hz;
}
EXPORT_SYMBOL_TALLY(tally_builder_freq);

void tally_builder_disabled(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.disabled = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_disabled);

void tally_builder_inherit(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.inherit = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_inherit);

void tally_builder_inherit_thread(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.inherit_thread = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_inherit_thread);

void tally_builder_pinned(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.pinned = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_pinned);

void tally_builder_exclusive(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.exclusive = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_exclusive);

void tally_builder_exclude(struct tally_builder *b, u32 mask)
{
	if (tally_bad_ptr(b))
		return;
	if (mask & ~(TALLY_EXCLUDE_USER | TALLY_EXCLUDE_KERNEL |
		     TALLY_EXCLUDE_HV | TALLY_EXCLUDE_IDLE |
		     TALLY_EXCLUDE_HOST | TALLY_EXCLUDE_GUEST)) {
		tally_bad(b, -EINVAL, "unknown bits in the exclusion %#x", mask);
		return;
	}
	b->attr.exclude_user = !!(mask & TALLY_EXCLUDE_USER);
	b->attr.exclude_kernel = !!(mask & TALLY_EXCLUDE_KERNEL);
	b->attr.exclude_hv = !!(mask & TALLY_EXCLUDE_HV);
	b->attr.exclude_idle = !!(mask & TALLY_EXCLUDE_IDLE);
	b->attr.exclude_host = !!(mask & TALLY_EXCLUDE_HOST);
	b->attr.exclude_guest = !!(mask & TALLY_EXCLUDE_GUEST);
}
EXPORT_SYMBOL_TALLY(tally_builder_exclude);

void tally_builder_precise(struct tally_builder *b, unsigned int level)
{
	if (tally_bad_ptr(b))
		return;
	if (level > 3 && level != TALLY_PRECISE_MAX) {
		tally_bad(b, -EINVAL, "precise above 3");
		return;
	}
	b->flags &= ~TALLY_BUILDER_PRECISE_MAX;
	if (level == TALLY_PRECISE_MAX)
		b->flags |= TALLY_BUILDER_PRECISE_MAX;
	b->attr.precise_ip = min(level, 3U);
}
EXPORT_SYMBOL_TALLY(tally_builder_precise);

void tally_builder_require(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_REQUIRE;
}
EXPORT_SYMBOL_TALLY(tally_builder_require);

void tally_builder_weak(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_WEAK;
}
EXPORT_SYMBOL_TALLY(tally_builder_weak);

void tally_builder_enable_on_exec(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.enable_on_exec = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_enable_on_exec);

void tally_builder_remove_on_exec(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.remove_on_exec = 1;
}
EXPORT_SYMBOL_TALLY(tally_builder_remove_on_exec);

void tally_builder_sigtrap(struct tally_builder *b, u64 data)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sigtrap = 1;
	b->attr.sig_data = data;
}
EXPORT_SYMBOL_TALLY(tally_builder_sigtrap);

const char *tally_builder_why(const struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return "no builder";
	return b->why;
}
EXPORT_SYMBOL_TALLY(tally_builder_why);

/**
 * tally_builder_target - find the task, cgroup and CPU to count
 * @b: the builder
 * @target: receives the CPU, and the task and the cgroup with a reference
 *
 * Context: Process context, may sleep.
 * Return: 0; ESRCH if there is no such task; ENOENT if the cgroup is removed,
 * or perf has no state for it: before cgroup2 has had any controller.
 */
int tally_builder_target(struct tally_builder *b, struct tally_target *target)
{
	struct pid *pid;

	target->task = NULL;
	target->css = NULL;
	target->cpu = b->cpu;
	target->one_kind = b->flags & TALLY_BUILDER_ONE_KIND;
	if (b->given & TALLY_GIVEN_CGROUP) {
		target->css = tally_cgroup_find(b->cgroup);
		if (IS_ERR(target->css))
			return tally_bad_in(b, TALLY_FIELD_PID, -ENOENT,
					    "the cgroup is removed, or without a state of perf");
	} else if (b->given & TALLY_GIVEN_TASK) {
		target->task = get_task_struct(b->task);
	} else if (b->given & TALLY_GIVEN_PID && !b->pid) {
		target->task = get_task_struct(current);
	} else if (b->given & TALLY_GIVEN_PID) {
		pid = find_get_pid(b->pid);
		target->task = get_pid_task(pid, PIDTYPE_PID);
		put_pid(pid);
		if (!target->task)
			return tally_bad_in(b, TALLY_FIELD_PID, -ESRCH,
					    "no task %d", b->pid);
	}
	return 0;
}

static const char *reason(const struct tally_builder *b, int err)
{
	switch (err) {
	case -ENOENT:
		if (b->attr.type == PERF_TYPE_HARDWARE ||
		    b->attr.type == PERF_TYPE_HW_CACHE ||
		    b->attr.type == PERF_TYPE_RAW)
			return "the CPU has no PMU, or its PMU has no such event";
		return "this machine has no such event";
	case -EOPNOTSUPP:
		if (b->attr.precise_ip)
			return "the PMU has no such precision: try P, or no p";
		return "the PMU cannot do this, or it has AUX buffers and counts only for perf";
	case -ENODEV:
		return "the cpu is offline";
	case -ENOSPC:
		return "all breakpoints of the machine are taken";
	case -EBUSY:
		return "the PMU is taken";
	case -ESRCH:
		return "the task has exited, or the cgroup is removed";
	case -EACCES:
	case -EPERM:
		return "not permitted";
	case -ENOMEM:
		return "out of memory";
	case -EDQUOT:
		return "the user's files take as much memory as kbytes_per_user allows";
	case -ENXIO:
		return "the PMU needs an extra register for this, which the CPU does not have";
	case -EINVAL:
		return b->attr.type == PERF_TYPE_HW_CACHE ? "the CPU's PMU has no such event" :
							    "the PMU refuses these settings";
	case -EEXIST:
		return "the name is taken";
	case -EINTR:
		return "a signal came while the task was in exec()";
	default:
		return "perf refused";
	}
}

/* Records the error of creating an event, and the CPU where it failed; -1 for none. */
int tally_builder_failed(struct tally_builder *b, int err, int cpu)
{
	if (b->err)
		return b->err;
	if (err == -EDQUOT)
		b->stage = TALLY_STAGE_LIMIT;
	if (cpu < 0)
		return tally_bad_in(b, err == -ESRCH ? TALLY_FIELD_PID :
						       TALLY_FIELD_NONE,
				    err, "%s", reason(b, err));
	tally_bad_in(b, TALLY_FIELD_CPU, err, "%s (cpu %d)", reason(b, err), cpu);
	b->err_cpu = cpu;
	return err;
}
