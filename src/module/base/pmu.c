// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to the running kernel: PMUs, tracepoints and symbols by name, and
 * the limits of frequencies and of call chains.
 *
 * perf exports neither its list of PMUs nor its limits. But an event has a
 * pointer to its PMU, whose device is on the bus of all PMUs. And perf checks a
 * new frequency of an event, and the call chains of a new event, against the
 * limits. So a dummy event finds the bus at load, and others are made for the
 * moment to answer about limits.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include "base/pmu.h"
#include "base/trick.h"
#include "compat.h"

/*
 * Creates an event that counts nothing, on the current task: perf may refuse an
 * event of a CPU to the caller.
 */
static struct perf_event *dummy_create(u64 freq, u16 max_stack)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.freq = !!freq,
		.sample_freq = freq,
		.sample_type = max_stack ? PERF_SAMPLE_CALLCHAIN : 0,
		.sample_max_stack = max_stack,
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

/* The read function of perf's software PMUs, which has nothing to do. */
static tally_read_fn read_nothing;

/* The bus of all PMUs; NULL if it was not found. Its type differs between kernels. */
static typeof(((struct device *)NULL)->bus) pmu_bus;

/* Returns 0 or ENOMEM. */
int tally_pmu_init(void)
{
	struct perf_event *dummy = dummy_create(0, 0);
	u32 types[TALLY_CORE_PMUS];

	if (dummy == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	/* Without a dummy, counts of software PMUs are read as those of all others. */
	if (IS_ERR(dummy))
		return 0;
	read_nothing = dummy->pmu->read;
	/* The PMUs of clocks have a marker in place of a device; that of dummies has a device. */
	if (dummy->pmu->dev)
		pmu_bus = dummy->pmu->dev->bus;
	perf_event_release_kernel(dummy);
	tally_core_pmus(types);
	return 0;
}

/**
 * tally_read_task_clock - bring the count of a task-clock up to date
 * @event: perf's event, which is counting on this CPU
 *
 * perf's own function reads ctx->time and ctx->timestamp one after the other.
 * Another CPU that reads another event of the task may change both in between.
 * This function reads only the context's offset, their difference, which stays
 * the same while the task runs.
 *
 * Context: Any context with interrupts disabled.
 */
void tally_read_task_clock(struct perf_event *event)
{
	u64 now = local_clock() + tally_ctx_offset(event) + tally_mutant(TALLY_TRICK_TASK_CLOCK);
	u64 before = local64_xchg(&event->hw.prev_count, now);

	local64_add(now - before, &event->count);
}

/* Returns whether the counts of the PMU's events are always up to date. */
bool tally_pmu_is_still(const struct pmu *pmu)
{
	return pmu->read == read_nothing;
}

/* The numbers of PMUs of cores, as far as they are known. Numbers are small. */
static DECLARE_BITMAP(core_numbers, 256);

/* Notes a PMU that counts the generic events of some cores. Returns whether it does. */
static bool note_core(const struct pmu *pmu)
{
	if (pmu->task_ctx_nr != perf_hw_context ||
	    !(pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE))
		return false;
	if (pmu->type >= 0 && pmu->type < 256)
		set_bit(pmu->type, core_numbers);
	return true;
}

/* Returns whether a PMU that was found before is that of a kind of core. Any context. */
bool tally_pmu_is_core(u32 type)
{
	return type < 256 && test_bit(type, core_numbers);
}

/**
 * tally_pmu_lock - lock the device of a PMU
 * @dev: the device; the caller unlocks it by device_unlock()
 *
 * A driver frees its PMU after device_del(), which takes this lock first. The PMU may go when
 * the lock is released: perf checks its number when an event is made of it.
 *
 * perf_pmu_register() adds the device, and the number, before the contexts of the PMU are there,
 * which an event needs, and puts the PMU into perf's list at its end.
 *
 * Context: Process context, may sleep.
 * Return: the PMU; NULL if its driver has removed it, or is still registering
 * it. The device is locked in both cases.
 */
const struct pmu *tally_pmu_lock(struct device *dev)
{
	const struct pmu *pmu;

	device_lock(dev);
	pmu = device_is_registered(dev) ? dev_get_drvdata(dev) : NULL;
	return pmu && READ_ONCE(pmu->entry.next) ? pmu : NULL;
}

/**
 * tally_pmu_type - find the number of a PMU
 * @name: name of the PMU in /sys/bus/event_source/devices
 *
 * Context: Process context, may sleep.
 * Return: the number, for perf_event_attr::type; ENOENT if there is no such PMU.
 */
int tally_pmu_type(const char *name)
{
	struct device *dev = pmu_bus ? bus_find_device_by_name(pmu_bus, NULL, name) : NULL;
	const struct pmu *pmu;
	int ret = -ENOENT;

	if (!dev)
		return -ENOENT;
	pmu = tally_pmu_lock(dev);
	if (pmu) {
		note_core(pmu);
		ret = pmu->type;
	}
	device_unlock(dev);
	put_device(dev);
	return ret;
}

/**
 * tally_attr_is_of - check whether an event is of a PMU
 * @attr: attributes of the event
 * @pmu: name of a PMU whose number is not the same on all machines
 *
 * Context: Process context, may sleep.
 * Return: true if there is such a PMU, and it has the event's type.
 */
bool tally_attr_is_of(const struct perf_event_attr *attr, const char *pmu)
{
	int type = attr->type < PERF_TYPE_MAX ? -ENOENT : tally_pmu_type(pmu);

	return type >= 0 && attr->type == type;
}

static int has_type(struct device *dev, const void *type)
{
	const struct pmu *pmu = tally_pmu_lock(dev);
	bool has;

	has = pmu && pmu->type == *(const u32 *)type;
	device_unlock(dev);
	return has;
}

/**
 * tally_pmu_get - find the device of a PMU
 * @type: number of the PMU
 *
 * Context: Process context, may sleep.
 * Return: the device, with a reference; NULL if there is no such PMU.
 */
struct device *tally_pmu_get(u32 type)
{
	return pmu_bus ? bus_find_device(pmu_bus, NULL, &type, has_type) : NULL;
}

/**
 * tally_pmus_watch - learn of PMUs that come and go
 * @nb: called by the bus of all PMUs, with the device; BUS_NOTIFY_REMOVED_DEVICE comes
 *	when the device is on the bus no more, and before the driver frees its PMU
 *
 * Context: Process context, may sleep.
 * Return: 0; ENODEV if the bus was not found.
 */
int tally_pmus_watch(struct notifier_block *nb)
{
	return pmu_bus ? bus_register_notifier(pmu_bus, nb) : -ENODEV;
}

/* Takes back what tally_pmus_watch() did. When it returns, @nb is not being called. */
void tally_pmus_unwatch(struct notifier_block *nb)
{
	bus_unregister_notifier(pmu_bus, nb);
}

/* Calls @fn for the device of each PMU, until it does not return 0. */
int tally_pmus_walk(int (*fn)(struct device *dev, void *data), void *data)
{
	return pmu_bus ? bus_for_each_dev(pmu_bus, NULL, data, fn) : 0;
}

struct core_types {
	u32 *types;
	unsigned int nr;
};

static int add_core(struct device *dev, void *data)
{
	const struct pmu *pmu = tally_pmu_lock(dev);
	struct core_types *found = data;

	if (pmu && note_core(pmu) && found->nr < TALLY_CORE_PMUS)
		found->types[found->nr++] = pmu->type;
	device_unlock(dev);
	return 0;
}

/**
 * tally_core_pmus - find the PMUs of all kinds of cores
 * @types: receives their numbers; room for TALLY_CORE_PMUS
 *
 * Such a PMU counts the generic events of its cores by PERF_TYPE_HARDWARE with
 * its number in the upper half of config.
 *
 * Context: Process context, may sleep.
 * Return: how many there are; may be 0 if all cores are of one kind.
 */
unsigned int tally_core_pmus(u32 *types)
{
	struct core_types found = { types };

	tally_pmus_walk(add_core, &found);
	return found.nr;
}

/**
 * tally_pmu_check_freq - check a frequency against perf's limit
 * @hz: samples per second
 *
 * The limit is kernel.perf_event_max_sample_rate. Modules cannot read it, and
 * perf checks it for new events of its system call only.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL above the limit; or the error of perf_event_create_kernel_counter().
 */
int tally_pmu_check_freq(u64 hz)
{
	struct perf_event *dummy = dummy_create(1, 0);
	int err;

	if (IS_ERR(dummy))
		return PTR_ERR(dummy);
	err = perf_event_period(dummy, hz);
	perf_event_release_kernel(dummy);
	return err;
}

/**
 * tally_pmu_max_stack - find perf's limit of entries in a call chain
 *
 * The limit is kernel.perf_event_max_stack. Modules cannot read it, and perf
 * checks it for each new event.
 *
 * Context: Process context, may sleep.
 * Return: the limit, or PERF_MAX_STACK_DEPTH if the limit is above that; ENOMEM; ENODEV.
 */
int tally_pmu_max_stack(void)
{
	unsigned int step = rounddown_pow_of_two(PERF_MAX_STACK_DEPTH), most = 0;
	struct perf_event *dummy;

	for (; step; step /= 2) {
		if (most + step > PERF_MAX_STACK_DEPTH)
			continue;
		dummy = dummy_create(0, most + step);
		if (!IS_ERR(dummy)) {
			most += step;
			perf_event_release_kernel(dummy);
		} else if (PTR_ERR(dummy) != -EOVERFLOW) {
			return PTR_ERR(dummy);
		}
	}
	return most;
}

/**
 * tally_tracepoint_id - find the number of a tracepoint
 * @system: folder of the tracepoint in /sys/kernel/tracing/events
 * @event: name of the tracepoint in that folder
 *
 * Context: Process context, may sleep.
 * Return: the number; ENOENT if there is no such tracepoint, EBUSY if its
 * module is being unloaded, EOPNOTSUPP in a kernel without event tracing.
 */
int tally_tracepoint_id(const char *system, const char *event)
{
#ifdef CONFIG_EVENT_TRACING
	struct trace_event_file *file;
	int id;

	file = trace_get_event_file(NULL, system, event);
	if (IS_ERR(file))
		return PTR_ERR(file) == -EINVAL ? -ENOENT : PTR_ERR(file);
	id = file->event_call->event.type;
	trace_put_event_file(file);
	return id;
#else
	return -EOPNOTSUPP;
#endif
}

/* Returns whether a tracepoint was made of a uprobe. Process context, may sleep. */
bool tally_tracepoint_is_uprobe(const char *system, const char *event)
{
	bool is_uprobe = false;
#ifdef CONFIG_EVENT_TRACING
	struct trace_event_file *file = trace_get_event_file(NULL, system, event);

	if (IS_ERR(file))
		return false;
	is_uprobe = file->event_call->flags & TRACE_EVENT_FL_UPROBE;
	trace_put_event_file(file);
#endif
	return is_uprobe;
}

/**
 * tally_symbol_address - find the address of a function that can be probed
 * @symbol: name of the function
 * @offset: offset of the address in the function, in bytes
 * @addr: receives the address
 *
 * perf's kprobe PMU takes names from user memory only. A disabled kprobe, which
 * is removed at once, finds the address by the same rules.
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such function; EINVAL or EILSEQ if there can
 * be no probe at that address; EOPNOTSUPP in a kernel without kprobes; ENOMEM.
 */
int tally_symbol_address(const char *symbol, u64 offset, u64 *addr)
{
	struct kprobe kp = {
		.symbol_name = symbol,
		.offset = offset,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err;

	if (offset > UINT_MAX)
		return -EINVAL;
	if (!IS_ENABLED(CONFIG_KPROBES))
		return -EOPNOTSUPP;
	err = register_kprobe(&kp);
	if (err)
		return err;
	*addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return 0;
}

/**
 * tally_symbol_suggest - append the names that the compiler gave to copies of a function
 * @symbol: name that no function has
 * @text: sentence that says so
 * @size: bytes of room in @text; a name without room is left out
 *
 * Modules cannot go through the kernel's symbols, but they can look for one.
 *
 * Context: Process context, may sleep.
 */
void tally_symbol_suggest(const char *symbol, char *text, size_t size)
{
	static const char *const suffixes[] = {
		".isra.0", ".constprop.0", ".part.0", ".isra.1", ".constprop.1", ".part.1",
		".constprop.0.isra.0", ".isra.0.constprop.0", ".part.0.isra.0", ".isra.0.part.0",
		".part.0.constprop.0", ".constprop.0.part.0",
	};
	const char *separator = ": try ";
	size_t i, len = strlen(text);
	char *name;
	u64 addr;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		name = kasprintf(GFP_KERNEL, "%s%s%s", separator, symbol, suffixes[i]);
		if (name && len + strlen(name) < size &&
		    !tally_symbol_address(name + strlen(separator), 0, &addr)) {
			len += strscpy(text + len, name, size - len);
			separator = ", ";
		}
		kfree(name);
	}
}

/* Parses NAME+OFFSET/SIZE [MODULE]. Returns MODULE:NAME; NULL without a module; ENOMEM. */
static char *module_symbol(char *text, u64 *offset)
{
	char *name = strsep(&text, "+");
	char *at = strsep(&text, "/");
	char *module = text ? strchr(text, '[') : NULL;

	if (!module || kstrtou64(at, 0, offset))
		return NULL;
	module++;
	module[strcspn(module, "]")] = '\0';
	return kasprintf(GFP_KERNEL, "%s:%s", module, name) ?: ERR_PTR(-ENOMEM);
}

/**
 * tally_module_symbol - find the function of a module that has an address
 * @addr: the address
 * @offset: receives the offset in the function
 *
 * Context: Process context, may sleep.
 * Return: MODULE:NAME, for tally_symbol_address() and kfree(); NULL if the address is not in a
 * module, or the name and offset are those of another address; ERR_PTR(-ENOMEM).
 */
char *tally_module_symbol(u64 addr, u64 *offset)
{
	char *text, *symbol;
	u64 found;
	int err;

	text = kmalloc(KSYM_SYMBOL_LEN, GFP_KERNEL);
	if (!text)
		return ERR_PTR(-ENOMEM);
	sprint_symbol(text, addr);
	symbol = module_symbol(text, offset);
	kfree(text);
	if (IS_ERR_OR_NULL(symbol))
		return symbol;
	err = tally_symbol_address(symbol, *offset, &found);
	if (!err && found == addr)
		return symbol;
	kfree(symbol);
	return err == -ENOMEM ? ERR_PTR(err) : NULL;
}

/* Returns whether a symbol is written as one of the module. */
bool tally_symbol_is_in(const char *symbol, const struct module *mod)
{
	size_t len = strlen(mod->name);

	return !strncmp(symbol, mod->name, len) && symbol[len] == ':';
}
