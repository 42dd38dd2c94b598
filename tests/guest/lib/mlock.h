/* SPDX-License-Identifier: GPL-2.0 */
/* Check that all memory that rings had locked is given back. */
#ifndef MLOCK_H
#define MLOCK_H

#include <linux/capability.h>
#include <sys/resource.h>
#include "either.h"

/* CAP_IPC_LOCK allows to lock pages beyond the allowance. */
static inline void may_lock(int may)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		err(2, "capget");
	if (may)
		caps[0].effective |= 1U << CAP_IPC_LOCK;
	else
		caps[0].effective &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, caps))
		err(2, "capset");
}

/*
 * Maps rings of exactly the size that a user may lock: @pages for each CPU, of the file
 * @meter, whose event is on all CPUs. All of them must be mapped, and after that a ring
 * of the file @one_more must not be. Returns a text that says what is wrong, or NULL.
 * RLIMIT_MEMLOCK is 0, and all CPUs are online.
 */
static inline const char *wrong_allowance(int meter, int one_more, int pages)
{
	int nr_cpus = nr_online(), cpu, prot = PROT_READ | PROT_WRITE;
	const char *wrong = NULL;
	void *at[64], *more;

	may_lock(0);
	for (cpu = 0; cpu < nr_cpus && cpu < 64 && !wrong; cpu++) {
		at[cpu] = map_pages(meter, pages, prot, TALLY_RING_AT(cpu));
		if (at[cpu] == MAP_FAILED)
			wrong = errno == EPERM ? "of the allowance for locked memory, some is taken" :
						 "the allowance for locked memory cannot be tried";
	}
	more = map_pages(one_more, 2, prot, 0);
	if (!wrong && (more != MAP_FAILED || errno != EPERM))
		wrong = "there is more than the allowance for locked memory";
	may_lock(1);
	if (more != MAP_FAILED)
		munmap(more, 2 * page_size);
	while (cpu--)
		if (at[cpu] != MAP_FAILED)
			munmap(at[cpu], pages * page_size);
	return wrong;
}

static inline void limit_memory(void)
{
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_MEMLOCK, &none))
		err(2, "setrlimit");
}

#endif /* MLOCK_H */
