// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of the entries and the returns of a function: by fprobe if the kernel
 * has fprobe and that can probe the function, else by a kretprobe.
 *
 * A kretprobe misses calls within the handler of any probe: those of
 * interrupts, too. fprobe misses those that its own handlers make. It cannot
 * probe what ftrace does not know. Before Linux 6.14 it keeps the address of a
 * function of a module that was unloaded, and would probe what comes there
 * next: so it probes functions of the kernel only. Since then it has memory of
 * at most 120 bytes for a call.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include "base/call_probe.h"
#include "base/pmu.h"

#ifdef tally_fprobe_regs
static int fprobe_entered(struct fprobe *fp, unsigned long entry, unsigned long ret,
			  struct tally_fprobe_regs *regs, void *data)
{
	struct tally_call_probe *probe = container_of(fp, struct tally_call_probe, fprobe);

	probe->entered(probe, data);
	return 0;
}

static void fprobe_returned(struct fprobe *fp, unsigned long entry, unsigned long ret,
			    struct tally_fprobe_regs *regs, void *data)
{
	struct tally_call_probe *probe = container_of(fp, struct tally_call_probe, fprobe);

	probe->returned(probe, data);
}

static int start_fprobe(struct tally_call_probe *probe, const char *symbol)
{
	struct fprobe *fp = &probe->fprobe;
	u64 addr;
	int err = tally_symbol_address(symbol, 0, &addr);

	if (err)
		return err;
	if (is_vmalloc_or_module_addr((void *)(unsigned long)addr))
		return -ENOENT;
	fp->entry_handler = fprobe_entered;
	fp->exit_handler = fprobe_returned;
	fp->entry_data_size = probe->data_size;
	tally_fprobe_at_once(fp, probe->at_once);
	err = register_fprobe_syms(fp, &symbol, 1);
	probe->by_fprobe = !err;
	return err;
}

static void stop_fprobe(struct tally_call_probe *probe)
{
	unregister_fprobe(&probe->fprobe);
	/* Some kernels leave it to the caller to wait for handlers. */
	synchronize_rcu();
}

static u64 fprobe_missed(const struct tally_call_probe *probe)
{
	return READ_ONCE(probe->fprobe.nmissed);
}
#else
static int start_fprobe(struct tally_call_probe *probe, const char *symbol)
{
	return -EOPNOTSUPP;
}

static void stop_fprobe(struct tally_call_probe *probe)
{
}

static u64 fprobe_missed(const struct tally_call_probe *probe)
{
	return 0;
}
#endif

#ifdef CONFIG_KRETPROBES
/* Returns the probe of a call; NULL while the probe is being unregistered. */
static struct tally_call_probe *probe_of(struct kretprobe_instance *ri)
{
	struct kretprobe *kretprobe = get_kretprobe(ri);

	return kretprobe ? container_of(kretprobe, struct tally_call_probe, kretprobe) : NULL;
}

NOKPROBE_SYMBOL(probe_of);

static int kretprobe_entered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct tally_call_probe *probe = probe_of(ri);

	if (!probe)
		return 1;
	probe->entered(probe, ri->data);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entered);

static int kretprobe_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct tally_call_probe *probe = probe_of(ri);

	if (probe)
		probe->returned(probe, ri->data);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_returned);

static int start_kretprobe(struct tally_call_probe *probe, const char *symbol)
{
	struct kretprobe *kretprobe = &probe->kretprobe;

	memset(kretprobe, 0, sizeof(*kretprobe));
	kretprobe->kp.symbol_name = symbol;
	kretprobe->entry_handler = kretprobe_entered;
	kretprobe->handler = kretprobe_returned;
	kretprobe->data_size = probe->data_size;
	kretprobe->maxactive = probe->at_once;
	return register_kretprobe(kretprobe);
}

static void stop_kretprobe(struct tally_call_probe *probe)
{
	unregister_kretprobe(&probe->kretprobe);
}

static bool kretprobe_is_gone(const struct tally_call_probe *probe)
{
	return READ_ONCE(probe->kretprobe.kp.flags) & KPROBE_FLAG_GONE;
}

static u64 kretprobe_missed(const struct tally_call_probe *probe)
{
	return READ_ONCE(probe->kretprobe.nmissed) + READ_ONCE(probe->kretprobe.kp.nmissed);
}
#else
static int start_kretprobe(struct tally_call_probe *probe, const char *symbol)
{
	return -EOPNOTSUPP;
}

static void stop_kretprobe(struct tally_call_probe *probe)
{
}

static bool kretprobe_is_gone(const struct tally_call_probe *probe)
{
	return false;
}

static u64 kretprobe_missed(const struct tally_call_probe *probe)
{
	return 0;
}
#endif

static bool is_lost(const struct tally_call_probe *probe)
{
	return READ_ONCE(probe->before) & TALLY_CALL_PROBE_LOST;
}

/**
 * tally_call_probe_start - probe a function
 * @probe: the probe, all zero but for what the caller sets
 * @symbol: name of the function, which lives as long as the probe
 *
 * Context: Process context, may sleep.
 * Return: 0; EOPNOTSUPP in a kernel without such probes, or an error of register_kretprobe();
 * ENOMEM.
 */
int tally_call_probe_start(struct tally_call_probe *probe, const char *symbol)
{
	int err = start_fprobe(probe, symbol);

	return err && err != -ENOMEM ? start_kretprobe(probe, symbol) : err;
}

/**
 * tally_call_probe_again - probe a function whose module is loaded again
 * @probe: the probe
 * @symbol: the function, as MODULE:NAME, which lives as long as the probe
 *
 * Context: Process context, may sleep; not while tally_call_probe_stop() runs.
 */
void tally_call_probe_again(struct tally_call_probe *probe, const char *symbol)
{
	u64 missed;

	tally_call_probe_stop(probe);
	missed = tally_call_probe_missed(probe);
	WRITE_ONCE(probe->before, missed | TALLY_CALL_PROBE_LOST);
	smp_wmb(); /* before kretprobe.nmissed is 0 again; tally_call_probe_missed() */
	if (!start_kretprobe(probe, symbol))
		smp_store_release(&probe->before, missed); /* after nmissed is 0 */
}

/**
 * tally_call_probe_stop - end a probe
 * @probe: the probe
 *
 * Calls that go on do not come back to @returned. Nothing uses the probe any more.
 *
 * Context: Process context, may sleep.
 */
void tally_call_probe_stop(struct tally_call_probe *probe)
{
	if (probe->by_fprobe)
		stop_fprobe(probe);
	else if (!is_lost(probe))
		stop_kretprobe(probe);
}

/*
 * Returns whether the function is not there, or its module is not. Functions of
 * modules are probed by kretprobes alone.
 */
bool tally_call_probe_is_gone(const struct tally_call_probe *probe)
{
	bool gone;

	if (probe->by_fprobe)
		return false;
	gone = kretprobe_is_gone(probe);
	smp_rmb(); /* tally_call_probe_again() marks the probe as lost before it clears that */
	return gone || is_lost(probe);
}

/* Returns how many entries the kernel counts as missed: in handlers, or without room for a call. */
u64 tally_call_probe_missed(const struct tally_call_probe *probe)
{
	u64 before, missed;

	if (probe->by_fprobe)
		return fprobe_missed(probe);
	do {
		before = smp_load_acquire(&probe->before); /* tally_call_probe_again() */
		missed = before & TALLY_CALL_PROBE_LOST ? 0 : kretprobe_missed(probe);
		smp_rmb(); /* if nmissed began again at 0, @before has changed */
	} while (before != READ_ONCE(probe->before));
	return (before & ~TALLY_CALL_PROBE_LOST) + missed;
}
