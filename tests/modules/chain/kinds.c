// SPDX-License-Identifier: GPL-2.0
/*
 * At each overflow, perf prepares its own sample, and tally's parts are compared with
 * those of that sample.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/hardirq.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/perf_regs.h>
#include "chain_test.h"

/* Addresses of functions that the kernel does not export, from /proc/kallsyms. */
static unsigned long prepare;
module_param(prepare, ulong, 0444);
MODULE_PARM_DESC(prepare, "address of perf_prepare_sample");

static unsigned long reg_value;
module_param(reg_value, ulong, 0444);
MODULE_PARM_DESC(reg_value, "address of perf_reg_value");

static unsigned long reg_validate;
module_param(reg_validate, ulong, 0444);
MODULE_PARM_DESC(reg_validate, "address of perf_reg_validate");

static const char *const part_names[PARTS] = {
	"chain", "user-abi", "user-regs", "intr-abi", "intr-regs", "stack-size",
	"stack-bytes",
};

/* perf_prepare_sample() had one more parameter before Linux 6.3, which added VER8. */
static void prepare_sample(struct perf_sample_data *data,
			   struct perf_event *event, struct pt_regs *regs)
{
#ifdef PERF_ATTR_SIZE_VER8
	void (*fn)(struct perf_sample_data *data, struct perf_event *event,
		   struct pt_regs *regs) = (void *)prepare;

	fn(data, event, regs);
#else
	void (*fn)(struct perf_event_header *header,
		   struct perf_sample_data *data, struct perf_event *event,
		   struct pt_regs *regs) = (void *)prepare;
	struct perf_event_header header;

	fn(&header, data, event, regs);
#endif
}

static void look_at_chain(struct seen *seen, const struct perf_event *event,
			  const struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	const struct perf_callchain_entry *perf = data->callchain;
	struct tally_chain_want want = {
		.kernel = !event->attr.exclude_callchain_kernel,
		.user = !event->attr.exclude_callchain_user,
		.max_stack = event->attr.sample_max_stack,
	};
	unsigned int nr, i;

	nr = tally_chain(regs, &want, seen->now, ENTRIES);
	for (i = 0; i < nr; i++) {
		seen->kernel += seen->now[i] == PERF_CONTEXT_KERNEL;
		seen->user += seen->now[i] == PERF_CONTEXT_USER;
	}
	seen->deepest = max(seen->deepest, nr);
	if (nr == perf->nr && !memcmp(seen->now, perf->ip, nr * sizeof(u64)))
		return;
	if (seen->differ[CHAIN]++)
		return;
	seen->nr = nr;
	seen->perf_nr = min_t(u64, perf->nr, ENTRIES);
	memcpy(seen->ips, seen->now, nr * sizeof(u64));
	memcpy(seen->perf_ips, perf->ip, seen->perf_nr * sizeof(u64));
}

static bool regs_differ(struct pt_regs *ours, struct pt_regs *perf, u64 mask)
{
	u64 (*value)(struct pt_regs *regs, int idx) = (void *)reg_value;
	u64 values[64], *end;
	unsigned int bit, i = 0;

	if (!ours || !perf)
		return ours != perf;
	end = tally_regs_put(values, ours, mask);
	for (bit = 0; bit < 64; bit++)
		if (mask & BIT_ULL(bit) && values[i++] != value(perf, bit))
			return true;
	return end != values + i;
}

static void look_at_stack(struct seen *seen, const struct perf_event *event,
			  const struct perf_sample_data *data,
			  struct pt_regs *user)
{
	u16 so_far = sizeof(struct perf_event_header) + event->header_size;
	u16 size, read, more;

	so_far += (1 + data->callchain->nr) * sizeof(u64) + sizeof(u64);
	if (user)
		so_far += hweight64(event->attr.sample_regs_user) * sizeof(u64);
	size = tally_stack_room(event->attr.sample_stack_user, so_far, user);
	if (size != data->stack_user_size) {
		seen->differ[STACK_SIZE]++;
		return;
	}
	if (!size)
		return;
	seen->stacks++;
	size = min_t(u16, size, STACK_BYTES);
	read = tally_stack_copy(seen->stack, user, size);
	/*
	 * Reads the same bytes again; those behind them are 0. Nothing can be read while
	 * exec() has changed current->mm and not yet the page tables. A read of 0 bytes
	 * would fail then, too, so it is left out.
	 */
	more = min_t(u16, read + 1, size);
	if ((read && copy_from_user_nofault(seen->again,
					    (void __user *)user_stack_pointer(user),
					    read)) ||
	    memcmp(seen->stack, seen->again, read) ||
	    (more > read && memchr_inv(seen->stack + read, 0, size - read)))
		seen->differ[STACK_BYTES_READ]++;
}

static void look_at_regs(struct seen *seen, const struct perf_event *event,
			 const struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	struct tally_regs user, intr;

	tally_regs_user(&user, regs);
	tally_regs_intr(&intr, regs);
	seen->compat += user.abi == PERF_SAMPLE_REGS_ABI_32;
	if (user.abi != data->regs_user.abi)
		seen->differ[USER_ABI]++;
	if (regs_differ(user.regs, data->regs_user.regs,
			event->attr.sample_regs_user))
		seen->differ[USER_REGS]++;
	if (intr.abi != data->regs_intr.abi)
		seen->differ[INTR_ABI]++;
	if (regs_differ(intr.regs, data->regs_intr.regs,
			event->attr.sample_regs_intr))
		seen->differ[INTR_REGS]++;
	look_at_stack(seen, event, data, user.regs);
}

/*
 * Whether perf would warn: its record ends with the user's stack, which may end at the end of user
 * space. The stack pointer of a 32-bit program need not be a multiple of 8.
 */
static bool perf_would_warn(const struct perf_event *event, struct pt_regs *regs)
{
	struct tally_regs user;

	tally_regs_user(&user, regs);
	return tally_stack_room(event->attr.sample_stack_user, 0, user.regs) % sizeof(u64);
}

static void look(struct perf_event *event, struct perf_sample_data *data,
		 struct pt_regs *regs)
{
	struct kind *kind = event->overflow_handler_context;
	struct seen *seen = &kind->seen[smp_processor_id()];

	if (perf_would_warn(event, regs))
		return;
	seen->overflows++;
	seen->nmi += !!in_nmi();
	/* perf holds this lock while it prepares a sample, to keep its buffers. */
	rcu_read_lock();
	prepare_sample(data, event, regs);
	look_at_chain(seen, event, data, regs);
	look_at_regs(seen, event, data, regs);
	rcu_read_unlock();
}

static u64 every_register(void)
{
	return ~tally_regs_reserved() & ~PERF_REG_EXTENDED_MASK;
}

/* Starts events with all registers but the extended ones, which few PMUs have. */
int kind_start(struct kind *kind)
{
	struct perf_event_attr *attr = &kind->attr;
	struct perf_event *event;
	int cpu;

	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			    PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR;
	attr->sample_regs_user = every_register();
	attr->sample_regs_intr = every_register();
	if (!attr->sample_max_stack)
		attr->sample_max_stack = MAX_STACK;
	if (!attr->sample_stack_user)
		attr->sample_stack_user = STACK_BYTES;
	kind->events = kcalloc(nr_cpu_ids, sizeof(*kind->events), GFP_KERNEL);
	kind->seen = vcalloc(nr_cpu_ids, sizeof(*kind->seen));
	if (!kind->events || !kind->seen) {
		kind_stop(kind);
		return -ENOMEM;
	}
	for_each_online_cpu(cpu) {
		event = perf_event_create_kernel_counter(attr, cpu, NULL, look,
							 kind);
		if (IS_ERR(event)) {
			kind_stop(kind);
			return PTR_ERR(event);
		}
		kind->events[cpu] = event;
	}
	return 0;
}

void kind_stop(struct kind *kind)
{
	int cpu;

	for (cpu = 0; kind->events && cpu < nr_cpu_ids; cpu++)
		if (kind->events[cpu])
			perf_event_release_kernel(kind->events[cpu]);
	synchronize_rcu();
	kfree(kind->events);
	vfree(kind->seen);
	kind->events = NULL;
	kind->seen = NULL;
}

static void show_difference(struct seq_file *m, const struct seen *seen)
{
	unsigned int i;

	for (i = 0; i < max(seen->nr, seen->perf_nr); i++) {
		if (i < seen->nr && i < seen->perf_nr &&
		    seen->ips[i] == seen->perf_ips[i])
			continue;
		seq_printf(m, "# %2u: %llx %pS, perf: %llx %pS\n", i,
			   i < seen->nr ? seen->ips[i] : 0,
			   i < seen->nr ? (void *)seen->ips[i] : NULL,
			   i < seen->perf_nr ? seen->perf_ips[i] : 0,
			   i < seen->perf_nr ? (void *)seen->perf_ips[i] : NULL);
	}
}

void kind_show(struct seq_file *m, const struct kind *kind)
{
	u64 sum[6] = {}, differ[PARTS] = {};
	unsigned int deepest = 0, i;
	int cpu;

	if (!kind->seen)
		return;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		const struct seen *seen = &kind->seen[cpu];

		sum[0] += seen->overflows;
		sum[1] += seen->nmi;
		sum[2] += seen->kernel;
		sum[3] += seen->user;
		sum[4] += seen->compat;
		sum[5] += seen->stacks;
		deepest = max(deepest, seen->deepest);
		for (i = 0; i < PARTS; i++)
			differ[i] += seen->differ[i];
		if (seen->differ[CHAIN])
			show_difference(m, seen);
	}
	seq_printf(m, "%s overflows %llu nmi %llu kernel %llu user %llu compat %llu stacks %llu deepest %u differ",
		   kind->name, sum[0], sum[1], sum[2], sum[3], sum[4], sum[5],
		   deepest);
	for (i = 0; i < PARTS; i++)
		if (differ[i])
			seq_printf(m, " %s:%llu", part_names[i], differ[i]);
	seq_puts(m, "\n");
}

/* Compares masks with a single bit, with all but one, with none and with all. */
bool masks_agree(void)
{
	int (*validate)(u64 mask) = (void *)reg_validate;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		if (tally_regs_validate(BIT_ULL(bit)) != validate(BIT_ULL(bit)) ||
		    tally_regs_validate(~BIT_ULL(bit)) != validate(~BIT_ULL(bit)))
			return false;
	return tally_regs_validate(0) == validate(0) &&
	       tally_regs_validate(every_register()) == 0 &&
	       validate(every_register()) == 0;
}
