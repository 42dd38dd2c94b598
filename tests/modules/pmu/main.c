// SPDX-License-Identifier: GPL-2.0
/*
 * PMUs for tests, which the machines of the tests do not have:
 *
 *	insmod tally_pmu.ko counters=4
 *
 * Files in /sys/kernel/debug/tally_pmu:
 *
 *	interrupt	a write of a CPU's number makes an interrupt of the PMUs there; a read
 *			shows how many there were
 *	writtenN	total of the core PMU's event 0x01 on CPU N; a write makes an interrupt
 *	reads		how many times events of the core PMU were read
 *	mute		Y: the core PMU's interrupts never come
 *	vcpu		Y: a task that writes to writtenN on CPU N runs a guest of KVM meanwhile
 *	advance		a write of a number adds it to the total of each domain of the uncore
 *			PMUs that has a CPU
 *	total		sum of the totals of the PMU tally_uncore's domains
 *	totalN		total of the domain that CPU N is in
 *	served		CPUs that the PMU tally_foreign serves
 *	refusal		error number of the PMU tally_foreign for events on all other CPUs
 *	block		Y: events of the PMU tally_foreign wait while they are made
 *	blocked		Y while one waits
 *	hold		1: events of the PMU tally_uncore that migrate stay on no CPU until it is
 *			0 again, for 15 s at most
 *	stay		1: they do not migrate when a CPU comes online
 *	migrating	Y while they migrate
 *	migrations	how many times events of the PMU tally_uncore migrated
 *	level		the gauge's value
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include "pmu.h"

static struct dentry *dir;

static int __init pmu_init(void)
{
	int err;

	dir = debugfs_create_dir("tally_pmu", NULL);
	err = pmi_init(dir);
	if (err)
		goto remove;
	err = core_init(dir);
	if (err)
		goto end_pmi;
	err = uncore_init(dir);
	if (err)
		goto end_core;
	err = odd_init(dir);
	if (err)
		goto end_uncore;
	err = precise_init();
	if (err)
		goto end_odd;
	return 0;
end_odd:
	odd_exit();
end_uncore:
	uncore_exit();
end_core:
	core_exit();
end_pmi:
	pmi_exit();
remove:
	debugfs_remove(dir);
	return err;
}
module_init(pmu_init);

static void __exit pmu_exit(void)
{
	debugfs_remove(dir);
	precise_exit();
	odd_exit();
	uncore_exit();
	core_exit();
	pmi_exit();
}
module_exit(pmu_exit);

MODULE_DESCRIPTION("PMUs for tests of tally");
MODULE_AUTHOR("The tally developers");
MODULE_LICENSE("GPL");
