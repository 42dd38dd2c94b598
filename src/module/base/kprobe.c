// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel probes.
 *
 * perf's kprobe PMU registers a probe for each of its events. With an event on
 * each CPU, each hit would call as many handlers as there are CPUs, and the
 * release of each event would wait for a grace period. So tally makes one trace
 * event, as a line in tracefs' kprobe_events does. Its probe is registered once
 * for all events of perf that have its number, and calls those of the CPU that
 * hits it.
 *
 * Events on one CPU and events of a task use such a trace event, too, for two
 * reasons. perf's PMU gives a kretprobe the default maxactive (two for each
 * CPU, at least ten), which is too few if tasks sleep in the function. And
 * tally can give perf's PMU only the address: when the module is unloaded,
 * another one may be loaded there. A trace event has the name, so the kernel
 * probes the function again when its module is loaded again.
 *
 * The kernel hides the kprobe of a trace event. So tally registers another kprobe at the same
 * address, which is always disabled: the watch. It shows two things. When the module of the
 * function goes, the kernel sets KPROBE_FLAG_GONE in all kprobes of the address. When a hit comes
 * within the handler of a kprobe, the kernel misses it, and increments nmissed of all of them.
 *
 * The trace event shows in tracefs as events/tally/probeNUMBER while tally counts. Its name
 * has no address, which not everybody who sees the name may know.
 *
 * Somebody else may still use the trace event when tally has finished with it. It then stays. tally
 * tries to remove it again when it makes the next one, and when tally is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/xarray.h>
#include "base/kprobe.h"
#include "base/pmu.h"

/* As config of perf's kprobe PMU: the probe is at the return of the function. */
#define CONFIG_RETURN	1

/* Calls at the same time for each CPU, and the most that the kernel makes room for. */
#define AT_ONCE		128
#define AT_ONCE_MAX	4096

/**
 * struct tally_kprobe - trace event of a kernel probe
 * @file: the trace event, with a reference: nobody else removes it
 * @number: number in the name of the trace event
 * @watch: disabled probe at the same address, registered unless @lost: as a
 *	kretprobe if @at_return, else as a kprobe
 * @at_return: the probe is at the return of the function
 * @hidden: address of the trace event's own probe at the return, to compare others with
 * @symbol: function of a module, as MODULE:NAME; NULL if the kernel knows the address only
 * @offset: offset in that function
 * @addr: address of the probe when the trace event was made
 * @lost: the module is back, but its function cannot be watched
 * @missed: hits that were missed before the module was loaded again
 * @reported: number of missed hits that tally_kprobe_missed() returned last
 * @node: link in the list of all
 */
struct tally_kprobe {
	struct trace_event_file *file;
	unsigned int number;
	struct kretprobe watch;
	bool at_return;
	const struct kprobe *hidden;
	char *symbol;
	u64 offset;
	unsigned long addr;
	bool lost;
	u64 missed;
	u64 reported;
	struct list_head node;
};

/*
 * Guards all below. Locks of tracing and of kprobes are taken inside, and grace periods are waited
 * for, as in the kernel's own locks. No lock of tally or of perf is taken inside.
 */
static DEFINE_MUTEX(kprobes_lock);
static LIST_HEAD(kprobes);
static unsigned int last_number;

/* Numbers of the trace events that could not be removed: somebody else used them. */
static DEFINE_XARRAY(left);

/* An administrator may have removed what nobody used any more. */
static int delete_number(unsigned int number)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "tally/probe%u", number);
	err = kprobe_event_delete(name);
	return err == -ENOENT ? 0 : err;
}

static void delete_left(void)
{
	unsigned long number;
	void *entry;

	xa_for_each(&left, number, entry)
		if (!delete_number(number))
			xa_erase(&left, number);
}

/* Returns whether the event is of perf's PMU of kernel probes. May sleep. */
bool tally_attr_is_kprobe(const struct perf_event_attr *attr)
{
	return tally_attr_is_of(attr, "kprobe");
}

/*
 * Makes a trace event: @kind is "p" or "rMAXACTIVE", and @place is as in a line of kprobe_events.
 * The number is a free one: a trace event that was used when tally was unloaded may still be there,
 * and the kernel would add a second probe to one of the same name.
 */
static int make(unsigned int *number, const char *kind, const char *place)
{
	struct dynevent_cmd cmd;
	size_t size = strlen(place) + 64;
	char *text = kmalloc(size, GFP_KERNEL);
	char name[20];
	int ret;

	if (!text)
		return -ENOMEM;
	do {
		*number = ++last_number;
		snprintf(name, sizeof(name), "probe%u", *number);
	} while (tally_tracepoint_id("tally", name) >= 0);
	kprobe_event_cmd_init(&cmd, text, size);
	snprintf(text, size, "%s:tally/%s %s", kind, name, place);
	ret = dynevent_create(&cmd);
	kfree(text);
	/* The kernel had no memory for the event's number. */
	return ret == -ENODEV ? -ENOMEM : ret;
}

static void unmake(unsigned int number)
{
	int err = delete_number(number);

	if (err)
		err = xa_err(xa_store(&left, number, xa_mk_value(1), GFP_KERNEL));
	if (err)
		pr_notice_ratelimited("the trace event tally/probe%u stays: error %d\n",
				      number, err);
}

/* Makes a trace event and removes it. Returns 0, or the error of its creation. */
static int try_make(const char *place)
{
	unsigned int number;
	int err;

	mutex_lock(&kprobes_lock);
	delete_left();
	err = make(&number, "p", place);
	if (!err)
		unmake(number);
	mutex_unlock(&kprobes_lock);
	return err;
}

/**
 * tally_kprobe_check - check that a name stands for one function
 * @symbol: the name
 * @offset: offset in the function
 * @addr: address that tally_symbol_address() has found
 *
 * The kernel makes no trace event by a name that several functions have, as
 * perf's PMU makes no probe by it. The error may be EINVAL, which has other
 * causes, too. So a trace event by the address is made as well: if the kernel
 * refuses both trace events, the name is not the cause.
 *
 * Context: As tally_kprobe_create(), and waits for grace periods.
 * Return: 0; EADDRNOTAVAIL if several functions have the name; ENOMEM.
 */
int tally_kprobe_check(const char *symbol, u64 offset, u64 addr)
{
	char at[32], *place;
	int err;

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return 0;
	place = kasprintf(GFP_KERNEL, "%s+%llu", symbol, offset);
	if (!place)
		return -ENOMEM;
	err = try_make(place);
	kfree(place);
	if (err != -EINVAL && err != -EADDRNOTAVAIL)
		return err == -ENOMEM ? err : 0;
	snprintf(at, sizeof(at), "%#llx", addr);
	err = try_make(at);
	if (err == -ENOMEM)
		return err;
	return err ? 0 : -EADDRNOTAVAIL;
}

/* Registers the watch: by @kp->symbol, a function of a module, if there is one; else at @addr. */
static int watch(struct tally_kprobe *kp, u64 addr)
{
	struct kprobe *probe = &kp->watch.kp;

	memset(&kp->watch, 0, sizeof(kp->watch));
	probe->flags = KPROBE_FLAG_DISABLED;
	if (kp->symbol) {
		probe->symbol_name = kp->symbol;
		probe->offset = kp->offset;
	} else {
		probe->addr = (kprobe_opcode_t *)(unsigned long)addr;
	}
	if (!kp->at_return)
		return register_kprobe(probe);
	/* The least: a disabled probe takes no instance. */
	kp->watch.maxactive = 1;
	return register_kretprobe(&kp->watch);
}

static void unwatch(struct tally_kprobe *kp)
{
	if (kp->at_return)
		unregister_kretprobe(&kp->watch);
	else
		unregister_kprobe(&kp->watch.kp);
}

static unsigned int calls_at_once(void)
{
	return min_t(unsigned int, AT_ONCE * num_possible_cpus(), AT_ONCE_MAX);
}

/* Makes the trace event of a probe, and takes a reference to it. */
static int make_watched(struct tally_kprobe *kp, u64 addr)
{
	char kind[8] = "p", name[20], *place;
	int err;

	place = kp->symbol ? kasprintf(GFP_KERNEL, "%s+%llu", kp->symbol, kp->offset) :
			     kasprintf(GFP_KERNEL, "%#llx", addr);
	if (!place)
		return -ENOMEM;
	if (kp->at_return)
		snprintf(kind, sizeof(kind), "r%u", calls_at_once());
	err = make(&kp->number, kind, place);
	kfree(place);
	if (err)
		return err;
	snprintf(name, sizeof(name), "probe%u", kp->number);
	kp->file = trace_get_event_file(NULL, "tally", name);
	if (!IS_ERR(kp->file))
		return 0;
	unmake(kp->number);
	/* Where memory runs out, the kernel makes the trace event without the file. */
	return kp->file == ERR_PTR(-EINVAL) ? -ENOMEM : PTR_ERR(kp->file);
}

/*
 * Finds the trace event's own probe at the return, which the kernel hides. It was
 * registered right after the watch. The kernel puts each new probe at the head of
 * the list of its address, so it stands right before the watch. The list is a ring:
 * it is the last one of tally's probes that a walk which begins at the watch meets.
 */
static const struct kprobe *find_hidden(const struct tally_kprobe *kp)
{
	const struct kprobe *own = &kp->watch.kp, *other, *found = NULL;

	/* Probes of others come and go. The head of the list has another handler. */
	rcu_read_lock();
	list_for_each_entry_rcu(other, &own->list, list)
		if (other->pre_handler == own->pre_handler &&
		    container_of(other, struct kretprobe, kp)->maxactive == calls_at_once())
			found = other;
	rcu_read_unlock();
	return found;
}

/*
 * The watch comes first. A trace event would wait for a module that may have
 * the address later; the watch is refused, as an event of perf's PMU is.
 */
static int begin(struct tally_kprobe *kp, u64 addr)
{
	int err = watch(kp, addr);

	if (err)
		return err;
	err = make_watched(kp, addr);
	if (err)
		unwatch(kp);
	else if (kp->at_return)
		kp->hidden = find_hidden(kp);
	return err;
}

/* Several functions of the module may have the name: then there is only the address. */
static int begin_by_any(struct tally_kprobe *kp, u64 addr)
{
	int err = begin(kp, addr);

	if (!kp->symbol || (err != -EINVAL && err != -EADDRNOTAVAIL))
		return err;
	kfree(kp->symbol);
	kp->symbol = NULL;
	return begin(kp, addr);
}

/**
 * tally_kprobe_create - make the trace event of a kernel probe
 * @attr: attributes for perf's kprobe PMU, with the probe's address
 *
 * Context: Process context, may sleep; takes locks of tracing, and cpus_read_lock().
 * Return: the trace event, or an ERR_PTR: EACCES without CAP_PERFMON, as for an event of perf's
 * kprobe PMU; EINVAL, EILSEQ or ENOENT if there can be no probe at the address; EOPNOTSUPP in a
 * kernel without trace events of kernel probes; EPERM under lockdown; ENOMEM.
 */
struct tally_kprobe *tally_kprobe_create(const struct perf_event_attr *attr)
{
	struct tally_kprobe *kp;
	int err;

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!perfmon_capable())
		return ERR_PTR(-EACCES);
	kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	if (!kp)
		return ERR_PTR(-ENOMEM);
	kp->at_return = attr->config & CONFIG_RETURN;
	kp->symbol = tally_module_symbol(attr->kprobe_addr, &kp->offset);
	if (IS_ERR(kp->symbol)) {
		err = PTR_ERR(kp->symbol);
		kfree(kp);
		return ERR_PTR(err);
	}
	mutex_lock(&kprobes_lock);
	delete_left();
	err = begin_by_any(kp, attr->kprobe_addr);
	if (!err) {
		kp->addr = (unsigned long)kp->watch.kp.addr;
		list_add(&kp->node, &kprobes);
	}
	mutex_unlock(&kprobes_lock);
	if (!err)
		return kp;
	kfree(kp->symbol);
	kfree(kp);
	return ERR_PTR(err);
}

/**
 * tally_kprobe_delete - remove a trace event, after perf's events that have its number
 * @kp: the trace event; if somebody else uses it, it stays for now
 *
 * Context: As tally_kprobe_create(), and waits for a grace period: readers
 * under RCU may use @kp until then.
 */
void tally_kprobe_delete(struct tally_kprobe *kp)
{
	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return;
	mutex_lock(&kprobes_lock);
	list_del(&kp->node);
	trace_put_event_file(kp->file);
	unmake(kp->number);
	/* unwatch() waits for a grace period, too. */
	if (!kp->lost)
		unwatch(kp);
	else
		synchronize_rcu();
	mutex_unlock(&kprobes_lock);
	kfree(kp->symbol);
	kfree(kp);
}

/* Returns the number of the trace event, as config of PERF_TYPE_TRACEPOINT. */
unsigned int tally_kprobe_id(const struct tally_kprobe *kp)
{
	return kp->file->event_call->event.type;
}

/*
 * Returns how many calls the trace event's probe at the return missed because all its instances
 * were in use; 0 if the kernel has not registered it again yet where the watch is.
 */
static unsigned int missed_returns(const struct tally_kprobe *kp)
{
	const struct kprobe *other;
	unsigned int missed = 0;

	rcu_read_lock(); /* find_hidden() */
	list_for_each_entry_rcu(other, &kp->watch.kp.list, list)
		if (other == kp->hidden)
			missed = READ_ONCE(container_of(other, struct kretprobe, kp)->nmissed);
	rcu_read_unlock();
	return missed;
}

static u64 missed_now(const struct tally_kprobe *kp)
{
	lockdep_assert_held(&kprobes_lock);
	if (kp->lost)
		return kp->missed;
	return kp->missed + READ_ONCE(kp->watch.kp.nmissed) +
	       (kp->at_return ? missed_returns(kp) : 0);
}

/*
 * Returns how many hits were missed on all CPUs, within handlers or because all
 * instances were in use, since @kp was made. While somebody makes or removes a
 * probe, which may take long, the function returns the number that was found
 * last. Called under RCU, in process context.
 */
u64 tally_kprobe_missed(struct tally_kprobe *kp)
{
	if (mutex_trylock(&kprobes_lock)) {
		WRITE_ONCE(kp->reported, max(kp->reported, missed_now(kp)));
		mutex_unlock(&kprobes_lock);
	}
	return READ_ONCE(kp->reported);
}

/* Returns whether the function is not there, or its module is not. Any context. */
bool tally_kprobe_is_gone(const struct tally_kprobe *kp)
{
	return READ_ONCE(kp->lost) || READ_ONCE(kp->watch.kp.flags) & KPROBE_FLAG_GONE;
}

/* Returns whether the kernel probes the function again when its module is loaded again. */
bool tally_kprobe_may_return(const struct tally_kprobe *kp)
{
	return kp->symbol;
}

/* Returns whether the function is where it was when the trace event was made. */
bool tally_kprobe_stays(const struct tally_kprobe *kp)
{
	bool stays;

	rcu_read_lock(); /* watch_again() */
	stays = !tally_kprobe_is_gone(kp) && (unsigned long)kp->watch.kp.addr == kp->addr;
	rcu_read_unlock();
	return stays;
}

/* Watches a function whose module is loaded again. */
static void watch_again(struct tally_kprobe *kp)
{
	bool lost = kp->lost;

	kp->missed = missed_now(kp);
	/* A reader under RCU that saw @lost false has ended when unwatch() returns. */
	WRITE_ONCE(kp->lost, true);
	if (!lost)
		unwatch(kp);
	WRITE_ONCE(kp->lost, watch(kp, 0));
}

/* A module comes. The kernel registers the probes of trace events next. */
void tally_kprobes_module_came(const struct module *mod)
{
	struct tally_kprobe *kp;

	mutex_lock(&kprobes_lock);
	list_for_each_entry(kp, &kprobes, node)
		if (kp->symbol && tally_symbol_is_in(kp->symbol, mod))
			watch_again(kp);
	mutex_unlock(&kprobes_lock);
}

/* Called when tally is unloaded, after the last counter has ended. */
void tally_kprobe_exit(void)
{
	unsigned long number;
	void *entry;

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return;
	delete_left();
	xa_for_each(&left, number, entry)
		pr_notice("somebody uses the trace event tally/probe%lu, which stays; later, remove it by: echo -:tally/probe%lu >> /sys/kernel/tracing/kprobe_events\n",
			  number, number);
	xa_destroy(&left);
}
