// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that are attached to tracepoints of the kernel while they have users. The
 * tracepoints are found by their names, because most of them are not exported.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include "base/tracepoint.h"

/* Guards @point and @users of all probes. */
static DEFINE_MUTEX(probes_lock);

static void compare(struct tracepoint *point, void *data)
{
	struct tally_tracepoint *probe = data;

	if (!strcmp(point->name, probe->name))
		probe->point = point;
}

static int start(struct tally_tracepoint *probe)
{
	lockdep_assert_held(&probes_lock);
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return -EOPNOTSUPP;
	/* Tracepoints of the kernel itself stay where they are, unlike those of modules. */
	if (!probe->point)
		for_each_kernel_tracepoint(compare, probe);
	if (!probe->point)
		return -EOPNOTSUPP;
	return tracepoint_probe_register(probe->point, probe->function, NULL);
}

/**
 * tally_tracepoint_get - have the function of a probe called from now on
 * @probe: the probe; tally_tracepoint_put() ends the use
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel without the tracepoint; ENOMEM.
 */
int tally_tracepoint_get(struct tally_tracepoint *probe)
{
	int err = 0;

	mutex_lock(&probes_lock);
	if (!probe->users)
		err = start(probe);
	if (!err)
		probe->users++;
	mutex_unlock(&probes_lock);
	return err;
}

/**
 * tally_tracepoint_put - end one use of a probe
 * @probe: the probe, after tally_tracepoint_get()
 *
 * After the last use the function may still be running:
 * tracepoint_synchronize_unregister() waits for its end.
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 */
void tally_tracepoint_put(struct tally_tracepoint *probe)
{
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return;
	mutex_lock(&probes_lock);
	if (!WARN_ON_ONCE(!probe->users) && !--probe->users)
		tracepoint_probe_unregister(probe->point, probe->function, NULL);
	mutex_unlock(&probes_lock);
}
