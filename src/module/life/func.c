// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of a function of the kernel: what the members of a set count between
 * its entry and its return, summed over its calls.
 *
 * A probe (base/call_probe.c) begins a section (set/section.c) at the entry, in
 * memory that belongs to the call, and ends it at the return. So calls may be
 * nested and recursive: each one counts all that it contains. The members count
 * on CPUs. A call whose task changed the CPU, or was switched away meanwhile,
 * would have counts of others: it is excluded, and counted as such.
 *
 * A function that the handlers of the probe call is missed there, and counted
 * as missed. A call in an interrupt may come between any two steps of the
 * handlers: so each number is written by one operation of the CPU.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "base/call_probe.h"
#include "base/kprobe.h"
#include "base/pmu.h"
#include "base/ptr.h"
#include "base/terms.h"
#include "base/trick.h"
#include "life/life.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/set.h"

/* Calls that can go on at the same time: for each CPU, and at most. Tasks may sleep in them. */
#define AT_ONCE		128
#define AT_ONCE_MAX	8192

/**
 * struct func_cpu - calls on one CPU
 * @entered: entries of the function
 * @counted: calls that returned and were counted
 * @moved: calls that returned on another CPU; counted there
 * @switched: calls in which the task was switched away
 * @uncounted: calls at whose entry or return a member was not counting
 * @sums: sum of each member
 * @buckets: histogram of each member: bucket n has the number of calls whose value has n bits
 *
 * Written by this_cpu operations only.
 */
struct func_cpu {
	u64 entered;
	u64 counted;
	u64 moved;
	u64 switched;
	u64 uncounted;
	u64 sums[TALLY_FUNC_MEMBERS];
	u64 buckets[TALLY_FUNC_MEMBERS][TALLY_FUNC_BUCKETS];
};

/**
 * struct tally_func - counts of a function
 * @probe: the probe
 * @number: number that no other func has
 * @set: the members
 * @owned: whether @set was made for this struct, and is released with it
 * @owner: module that asked for the counts; when it is unloaded, they are released
 * @node: link in the list of all
 * @cpus: calls on each CPU
 * @place: the function as MODULE:NAME; NULL if it is not in a module
 * @symbol: name of the function
 */
struct tally_func {
	struct tally_call_probe probe;
	u32 number;
	struct tally_set *set;
	bool owned;
	struct module *owner;
	struct list_head node;
	struct func_cpu __percpu *cpus;
	char *place;
	char symbol[KSYM_NAME_LEN];
};

static atomic_t last_number;

/* Guards the list, and the starts of probes. Only locks of kprobes and ftrace are taken inside. */
static DEFINE_MUTEX(funcs_lock);
static LIST_HEAD(funcs);

/*
 * A call that has not returned yet. @section has as many marks as the set has members. Since Linux
 * 6.14, fprobe has at most 120 bytes for a call, so the members in front of @section are small.
 *
 * Since then, fprobe may also report the return to a newer struct tally_func, in the memory of the
 * one that the call entered: fprobe knows a probe by its address. @number tells the two apart.
 */
struct call {
	u32 number;
	s16 err;
	u16 cpu;
	u64 switches;

	TALLY_SECTION(section, TALLY_FUNC_MEMBERS);
};

static size_t call_size(struct tally_set *set)
{
	return offsetof(struct call, section.marks[tally_set_size(set)]);
}

static u64 switches(void)
{
	return READ_ONCE(current->nvcsw) + READ_ONCE(current->nivcsw);
}

static void entered(struct tally_call_probe *probe, void *data)
{
	struct tally_func *func = container_of(probe, struct tally_func, probe);
	struct call *call = data;

	this_cpu_inc(func->cpus->entered);
	call->number = func->number;
	call->cpu = raw_smp_processor_id();
	call->switches = switches();
	/* Last: what stands above is not measured. */
	call->err = tally_section_begin(func->set, &call->section);
}

NOKPROBE_SYMBOL(entered);

static void add(struct tally_func *func, const u64 *values)
{
	unsigned int i;

	for (i = 0; i < tally_set_size(func->set); i++) {
		this_cpu_add(func->cpus->sums[i], values[i]);
		this_cpu_inc(func->cpus->buckets[i][fls64(values[i])]);
	}
	this_cpu_inc(func->cpus->counted);
}

static void returned(struct tally_call_probe *probe, void *data)
{
	struct tally_func *func = container_of(probe, struct tally_func, probe);
	u64 values[TALLY_FUNC_MEMBERS];
	struct call *call = data;
	int err;

	/* The call may be of another func, and may have memory for the number alone. */
	if (!call || call->number != func->number)
		return;
	/* First: what stands below is not measured. */
	err = call->err ?: tally_section_end(func->set, &call->section, values);
	if (call->cpu != raw_smp_processor_id())
		this_cpu_inc(func->cpus->moved);
	else if (call->switches != switches())
		this_cpu_inc(func->cpus->switched);
	else if (err)
		this_cpu_inc(func->cpus->uncounted);
	else
		add(func, values);
}

NOKPROBE_SYMBOL(returned);

static int may_probe(char *why, size_t size)
{
	int err;

	if (!perfmon_capable())
		return tally_say(why, size, -EACCES, "counts of a function need CAP_PERFMON");
	err = security_locked_down(LOCKDOWN_KPROBES);
	if (err)
		strscpy(why, "the kernel is locked down: it has no probes", size);
	return err;
}

static int say_why(int err, const char *symbol, char *why, size_t size)
{
	if (err == -ENOENT)
		snprintf(why, size, "no function '%.40s' that can be probed", symbol);
	else if (err == -EOPNOTSUPP)
		strscpy(why, "the kernel has no probes of returns", size);
	else
		snprintf(why, size, "'%.40s' cannot be probed", symbol);
	if (err == -ENOENT)
		tally_symbol_suggest(symbol, why, size);
	/* register_kretprobe() returns these, too, for names that are not those of functions. */
	return err == -EADDRNOTAVAIL || err == -EILSEQ ? -EINVAL : err;
}

static struct tally_func *func_new(struct tally_set *set, const char *symbol,
				   struct module *owner)
{
	struct tally_func *func = kzalloc(sizeof(*func), GFP_KERNEL);

	if (!func)
		return NULL;
	func->cpus = alloc_percpu(struct func_cpu);
	if (!func->cpus) {
		kfree(func);
		return NULL;
	}
	func->number = atomic_inc_return(&last_number);
	func->probe.entered = entered;
	func->probe.returned = returned;
	func->probe.data_size = call_size(set);
	func->probe.at_once = min_t(unsigned int, AT_ONCE * num_possible_cpus(), AT_ONCE_MAX);
	func->set = set;
	func->owner = owner;
	strscpy(func->symbol, symbol, sizeof(func->symbol));
	return func;
}

static void func_free(struct tally_func *func)
{
	free_percpu(func->cpus);
	kfree(func->place);
	kfree(func);
}

static int start(struct tally_func *func)
{
	int err;

	mutex_lock(&funcs_lock);
	err = tally_call_probe_start(&func->probe, func->place ?: func->symbol);
	if (!err)
		list_add(&func->node, &funcs);
	mutex_unlock(&funcs_lock);
	return err;
}

/**
 * tally_func_attach - count what a set counts in a function
 * @set: the set, on all CPUs, with at most TALLY_FUNC_MEMBERS members
 * @symbol: name of the function
 * @owner: module that asks for this
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Process context, may sleep.
 * Return: the counts, for tally_func_release(); or an ERR_PTR: EACCES without
 * CAP_PERFMON, EPERM under lockdown, ENOENT without such a function,
 * EADDRNOTAVAIL if there are several, EINVAL if it cannot be probed, EOPNOTSUPP
 * in a kernel without kretprobes and fprobe, and without TALLY_TRICK_TIMES,
 * ENOMEM.
 */
struct tally_func *tally_func_attach(struct tally_set *set, const char *symbol,
				     struct module *owner, char *why, size_t size)
{
	struct tally_func *func;
	u64 addr = 0, offset;
	char *place;
	int err;

	err = may_probe(why, size);
	if (err)
		return ERR_PTR(err);
	if (set->by_perf)
		return ERR_PTR(tally_say(why, size, -EOPNOTSUPP,
					 "%s", tally_trick_sentence(TALLY_TRICK_TIMES)));
	err = tally_symbol_address(symbol, 0, &addr);
	if (!err) {
		err = tally_kprobe_check(symbol, 0, addr);
		if (err == -EADDRNOTAVAIL)
			return ERR_PTR(tally_say(why, size, err, TALLY_SEVERAL, symbol));
	}
	func = err == -ENOMEM ? NULL : func_new(set, symbol, owner);
	if (!func)
		return ERR_PTR(tally_say(why, size, -ENOMEM, "out of memory"));
	place = tally_module_symbol(addr, &offset);
	err = PTR_ERR_OR_ZERO(place);
	if (!err) {
		func->place = place;
		err = start(func);
	}
	if (!err)
		return func;
	func_free(func);
	return ERR_PTR(say_why(err, symbol, why, size));
}

static void end(struct tally_func *func)
{
	tally_call_probe_stop(&func->probe);
	if (func->owned)
		tally_set_release(func->set);
	func_free(func);
}

/* A module comes: its functions are probed that were probed when it went. */
void tally_funcs_module_came(const struct module *mod)
{
	struct tally_func *func;

	mutex_lock(&funcs_lock);
	list_for_each_entry(func, &funcs, node)
		if (func->place && tally_symbol_is_in(func->place, mod))
			tally_call_probe_again(&func->probe, func->place);
	mutex_unlock(&funcs_lock);
}

/* Ends what a module has left behind, before its events end. */
void tally_funcs_release_owned(struct module *owner)
{
	struct tally_func *func, *next;
	LIST_HEAD(doomed);

	mutex_lock(&funcs_lock);
	list_for_each_entry_safe(func, next, &funcs, node)
		if (func->owner == owner)
			list_move(&func->node, &doomed);
	mutex_unlock(&funcs_lock);
	list_for_each_entry_safe(func, next, &doomed, node)
		end(func);
}

u64 tally_func_bucket(const struct tally_func *func, unsigned int member, unsigned int bucket)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(func->cpus, cpu)->buckets[member][bucket]);
	return sum;
}

struct tally_func *tally_func_build(struct tally_builder *builders, unsigned int nr,
				    const char *symbol)
{
	char why[sizeof_field(struct tally_builder, why)] = "";
	const struct tally_counter *c;
	struct tally_func *func;
	struct tally_set *set;

	if (tally_bad_ptr(builders) || tally_bad_ptr(symbol))
		return ERR_PTR(-EINVAL);
	/* After a failure, a handler could not release the set. */
	if (tally_overflow_inside(NULL))
		return ERR_PTR(tally_refuse(builders, -EDEADLK, "not in a handler"));
	might_sleep();
	if (nr > TALLY_FUNC_MEMBERS)
		return ERR_PTR(tally_refuse(builders, -E2BIG,
					    "counts of a function have at most %u members",
					    TALLY_FUNC_MEMBERS));
	if (builders->attr.disabled)
		return ERR_PTR(tally_refuse(builders, -EINVAL,
					    "nobody could enable the set of a function"));
	set = tally_set_build(builders, nr);
	if (IS_ERR(set))
		return ERR_CAST(set);
	c = set->members[0]->counter;
	if (tally_counter_on_all_cpus(c) && !c->target.css)
		func = tally_func_attach(set, symbol, builders->owner, why, sizeof(why));
	else
		func = ERR_PTR(-EINVAL);
	if (!IS_ERR(func)) {
		func->owned = true;
		return func;
	}
	tally_set_release(set);
	tally_refuse(builders, PTR_ERR(func), "%s",
		     *why ? why : "counts of a function are on all CPUs");
	return func;
}
EXPORT_SYMBOL_TALLY(tally_func_build);

int tally_func_read(struct tally_func *func, struct tally_func_stats *stats, u64 *sums)
{
	const struct func_cpu *fc;
	unsigned int i;
	int cpu;

	if (tally_bad_ptr(func) || tally_bad_ptr(stats) || tally_bad_ptr(sums))
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	memset(sums, 0, tally_set_size(func->set) * sizeof(*sums));
	for_each_possible_cpu(cpu) {
		fc = per_cpu_ptr(func->cpus, cpu);
		stats->calls += READ_ONCE(fc->entered);
		stats->counted += READ_ONCE(fc->counted);
		stats->moved += READ_ONCE(fc->moved);
		stats->switched += READ_ONCE(fc->switched);
		stats->uncounted += READ_ONCE(fc->uncounted);
		for (i = 0; i < tally_set_size(func->set); i++)
			sums[i] += READ_ONCE(fc->sums[i]);
	}
	stats->missed = tally_call_probe_missed(&func->probe);
	stats->state = tally_call_probe_is_gone(&func->probe) ? TALLY_STATE_OFFLINE :
							      TALLY_STATE_ACTIVE;
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_func_read);

int tally_func_release(struct tally_func *func)
{
	if (tally_bad_ptr(func))
		return 0;
	if (tally_set_inside(func->set))
		return -EDEADLK;
	might_sleep();
	mutex_lock(&funcs_lock);
	list_del(&func->node);
	mutex_unlock(&funcs_lock);
	end(func);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_func_release);
