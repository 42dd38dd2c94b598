// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: counts in samples (PERF_SAMPLE_READ) of groups, in NMIs and of a PMU.
 *
 *	devvalues reads|changes|interrupts
 */
#define _GNU_SOURCE
#include "devring.h"

static struct ring third_ring;

/* ---- counts in samples ---- */

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define ALL_FORMATS (TIMES | PERF_FORMAT_ID | PERF_FORMAT_GROUP | PERF_FORMAT_LOST)
#define MEMBERS 3

/* A group of perf or of tally: its files and the ids of its events. */
struct group {
	int fds[MEMBERS];
	uint64_t ids[MEMBERS];
	int nr;
	struct ring *ring;
	uint64_t times[2];
};

static struct group perf_group = { .ring = &perf_ring }, tally_group = { .ring = &tally_ring };

/* Prepares member @i. Member 2 counts renames, which happen between page faults. */
static void describe(int i, int sampler, uint64_t format)
{
	faults(i == sampler ? PERF_SAMPLE_READ | PERF_SAMPLE_ADDR : 0);
	attr.read_format = format;
	attr.disabled = !i;
	if (i == 1)
		attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	if (i == 2)
		of_renames();
	if (i == sampler)
		return;
	attr.sample_period = 0;
	attr.wakeup_events = 0;
}

static void close_group(struct group *g)
{
	unmap_ring(g->ring);
	while (g->nr--)
		if (g->fds[g->nr] >= 0 && g->fds[g->nr] != g->ring->fd)
			close(g->fds[g->nr]);
	g->nr = 0;
}

/* Member 2 of tally has no file, unless it samples. */
static int open_group(struct group *g, int nr, int sampler, uint64_t format, int pages)
{
	struct tally_value values[64];
	int i, kind = g == &perf_group ? PERF : TALLY;

	memset(g->times, 0, sizeof(g->times));
	for (i = 0; i < nr; i++) {
		describe(i, sampler, format);
		o.group_fd = i ? g->fds[0] : -1;
		o.flags = i == 2 && sampler != 2 ? TALLY_OPEN_MEMBER : 0;
		g->fds[i] = open_as(kind, &o);
		if (g->fds[i] < 0) {
			tell(0, "member %d, format %llu: %m: %s", i, (unsigned long long)format,
			     kind == PERF ? "perf" : why.text);
			return -1;
		}
		if (kind == PERF && ioctl(g->fds[i], PERF_EVENT_IOC_ID, &g->ids[i]))
			tell(0, "id: %m");
		if (kind == TALLY && o.flags)
			g->fds[i] = -1;
	}
	g->nr = nr;
	if (kind == TALLY) {
		if (read_values(g->fds[0], values, NULL) != nr)
			tell(0, "values: %m");
		for (i = 0; i < nr; i++)
			g->ids[i] = values[i].id;
	}
	if (map_ring(g->ring, g->fds[sampler], pages, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "map: %m");
		return -1;
	}
	return 0;
}

/* Number of times that were later than the one before. */
static unsigned int times_grew;

static int sane_times(struct group *g, uint64_t **at, uint64_t format)
{
	uint64_t now[2] = { 0 };
	int i, good = 1;

	for (i = 0; i < 2; i++) {
		if (!(format & (1 << i)))
			continue;
		now[i] = **at;
		*(*at)++ = 0;
		/* A clock that advances by ticks stands still between most faults. */
		good &= now[i] >= g->times[i];
		times_grew += now[i] > g->times[i];
		g->times[i] = now[i];
	}
	return good && ((format & TIMES) != TIMES || now[0] >= now[1]);
}

/* Takes out ids and times, which differ, and returns whether a sample is right. */
static int sane_reads(struct perf_event_header *h, struct group *g, int sampler,
		      uint64_t format)
{
	uint64_t *at = (uint64_t *)(h + 1) + 1, *end = (uint64_t *)((char *)h + h->size);
	int i, first = 0, last = g->nr, good = 1;

	if (h->type != PERF_RECORD_SAMPLE)
		return own_id((uint64_t *)(h + 1), g->ring);
	if (format & PERF_FORMAT_GROUP) {
		good &= *at++ == (uint64_t)g->nr;
		good &= sane_times(g, &at, format);
	} else {
		first = sampler;
		last = first + 1;
	}
	for (i = first; good && i < last; i++) {
		at++;
		if (!(format & PERF_FORMAT_GROUP))
			good &= sane_times(g, &at, format);
		if (format & PERF_FORMAT_ID) {
			good &= *at == g->ids[i];
			*at++ = i;
		}
		if (format & PERF_FORMAT_LOST)
			at++;
	}
	return good && at == end;
}

static int compare_reads(int sampler, uint64_t format)
{
	struct perf_event_header *p, *t;
	int nr = 0, i;

	for (;; nr++) {
		p = next(&perf_ring);
		t = next(&tally_ring);
		if (!p && !t)
			break;
		if (p && !sane_reads(p, &perf_group, sampler, format)) {
			show("perf's is strange", p, 0);
			return -1;
		}
		if (t && !sane_reads(t, &tally_group, sampler, format)) {
			show("tally's is strange", t, 0);
			return -1;
		}
		if (p && t && p->size == t->size && !memcmp(p, t, p->size))
			continue;
		i = p && t ? differs(p, t) : 0;
		if (p)
			show("perf ", p, i);
		if (t)
			show("tally", t, i);
		return -1;
	}
	done(&perf_ring);
	done(&tally_ring);
	return nr;
}

static void switch_groups(int on)
{
	int cmd = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	ioctl(on ? perf_group.fds[0] : tally_group.fds[0], cmd, 0);
	ioctl(on ? tally_group.fds[0] : perf_group.fds[0], cmd, 0);
}

/* Faults @nr times five pages, renames the task, and faults while all is disabled. */
static void fault_about(int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		switch_groups(1);
		rename_to(i);
		touch(5);
		switch_groups(0);
		touch(2);
	}
}

static int same_reads(int nr, int sampler, uint64_t format)
{
	int found = -1;

	if (!open_group(&perf_group, nr, sampler, format, 16) &&
	    !open_group(&tally_group, nr, sampler, format, 16)) {
		switch_groups(0);
		touch(1);
		fault_about(2);
		ioctl(perf_group.fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(tally_group.fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		fault_about(2);
		found = compare_reads(sampler, format);
	}
	close_group(&perf_group);
	close_group(&tally_group);
	return found;
}

static void all_reads(int nr, int sampler, const char *what)
{
	uint64_t format;
	int good = 0;

	times_grew = 0;
	for (format = 0; format <= ALL_FORMATS; format++) {
		if (same_reads(nr, sampler, format) == 20)
			good++;
		else
			printf("# %s: format %llu\n", what, (unsigned long long)format);
	}
	tell(good == 32 && times_grew,
	     "%s: 20 samples are the same in %d formats of 32; times grew %u times", what, good,
	     times_grew);
}

/* One record reports all samples that were lost before it. */
static void lost_reads(void)
{
	int nr = 0;

	if (!open_group(&perf_group, MEMBERS, 0, ALL_FORMATS, 1) &&
	    !open_group(&tally_group, MEMBERS, 0, ALL_FORMATS, 1)) {
		switch_groups(0);
		touch(1);
		switch_groups(1);
		touch(500);
		switch_groups(0);
		nr = compare_reads(0, ALL_FORMATS);
		switch_groups(1);
		touch(3);
		switch_groups(0);
		tell(nr > 10 && nr < 400 && compare_reads(0, ALL_FORMATS) == 4,
		     "after %d samples some were lost, and that is told", nr);
	}
	close_group(&perf_group);
	close_group(&tally_group);
}

/* Samples in a CPU's ring have the counts of this CPU. */
static void reads_of_cpus(void)
{
	struct tally_read r = {
		.size = sizeof(r), .nr = 2,
		.value_size = sizeof(struct tally_value),
	};
	struct tally_value values[2];
	struct ring *rings = calloc(nr_online(), sizeof(*rings));
	struct perf_event_header *h;
	int fd, cpu, nr, good;
	uint64_t *at;

	faults(PERF_SAMPLE_READ | PERF_SAMPLE_ADDR);
	attr.read_format = ALL_FORMATS;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	o.group_fd = fd;
	o.flags |= TALLY_OPEN_MEMBER;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.disabled = 0;
	if (fd < 0 || open_it() || !rings) {
		tell(0, "%m: %s", why.text);
		return;
	}
	for (cpu = 0; cpu < nr_online(); cpu++)
		if (map_ring(&rings[cpu], fd, 64, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu)))
			tell(0, "cpu %d: %m", cpu);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (cpu = 0; cpu < nr_online(); cpu++) {
		run_on(cpu);
		touch(10 + cpu);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (cpu = 0; cpu < nr_online(); cpu++) {
		nr = 0;
		good = 1;
		at = NULL;
		while ((h = next(&rings[cpu]))) {
			at = (uint64_t *)(h + 1) + 1;
			/* nr, two times, and twice: value, id, lost */
			good &= h->size == 8 + 8 + 3 * 8 + 2 * 24 && at[0] == 2 &&
				at[1] >= at[2] && at[3] == (uint64_t)(nr + 1) &&
				at[4] == rings[cpu].id && at[6] <= at[3] &&
				at[6] + 20 > at[3] && at[7] == at[4] + 1;
			nr++;
		}
		r.cpu = cpu;
		r.nr = 2;
		r.values = (unsigned long)values;
		good &= !ioctl(fd, TALLY_IOC_READ, &r) && at && at[3] == values[0].value &&
			at[6] + 1 >= values[1].value;
		tell(good && nr >= 10 + cpu, "CPU %d: %d samples tell what it counts", cpu, nr);
		munmap(rings[cpu].base, page_size + rings[cpu].size);
	}
	close(fd);
	free(rings);
}

/*
 * tally refuses inherited events with PERF_SAMPLE_READ, as perf before 6.12 does. Later
 * ones take them with PERF_SAMPLE_TID.
 */
static void inherited_reads(void)
{
	faults(PERF_SAMPLE_READ);
	attr.inherit = 1;
	tell(open_errno(PERF) == EINVAL, "inherited, without TID: perf takes none");
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(1), "nor does tally");
	faults(PERF_SAMPLE_READ | PERF_SAMPLE_TID);
	attr.inherit = 1;
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(1), "inherited, with TID");
	attr.read_format = PERF_FORMAT_GROUP;
	refused(EINVAL, TALLY_FIELD_ATTR_BIT(1), "and with its group");
}

static void reads(void)
{
	need_renames();
	all_reads(1, 0, "alone");
	all_reads(MEMBERS, 0, "the leader's");
	all_reads(MEMBERS, 1, "a sibling's");
	lost_reads();
	reads_of_cpus();
	inherited_reads();
}

/* ---- groups that change meanwhile ---- */

static volatile int *go_on;
#define ROUNDS 5

/* Opens an event of the child's page faults. */
static int open_beside(int leader, pid_t child, int samples, unsigned int flags)
{
	faults(samples ? PERF_SAMPLE_READ : 0);
	attr.config = samples ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_PAGE_FAULTS;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr.disabled = leader < 0;
	attr.wakeup_events = 0;
	if (leader >= 0 && !samples)
		attr.sample_period = 0;
	else if (leader < 0)
		attr.sample_type = PERF_SAMPLE_READ;
	o.pid = child;
	o.group_fd = leader;
	o.flags = flags;
	return open_it();
}

/*
 * Whether a sample has the members of the group at one time: no id stands twice, and the
 * leader's is the first. Without @leads, a member may also stand alone.
 */
static int consistent(const struct perf_event_header *h, uint64_t leader, uint64_t most,
		      int leads)
{
	const uint64_t *at = (const uint64_t *)(h + 1);
	uint64_t nr = at[0], i, j;

	if (h->type != PERF_RECORD_SAMPLE || !nr || nr > 8 || h->size != 8 + 8 + nr * 16)
		return 0;
	for (i = 0; i < nr; i++) {
		if (at[2 + 2 * i] < leader || at[2 + 2 * i] > most)
			return 0;
		for (j = 0; j < i; j++)
			if (at[2 + 2 * i] == at[2 + 2 * j])
				return 0;
	}
	return at[2] == leader || (!leads && nr == 1);
}

static int drain(struct ring *r, uint64_t leader, uint64_t most, int leads,
		 unsigned int *seen)
{
	struct perf_event_header *h;
	int good = 1;

	while (good && (h = next(r))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		if (!consistent(h, leader, most, leads)) {
			show("torn", h, 0);
			good = 0;
			continue;
		}
		seen[((uint64_t *)(h + 1))[0] - 1]++;
	}
	done(r);
	return good;
}

/* A group of a leader, a sampling sibling, a member, and siblings that come and go. */
static int change_group(pid_t child, unsigned int *seen)
{
	int leader, sibling, fds[4], i, j, good = 1;
	uint64_t first, most = 0;

	leader = open_beside(-1, child, 0, 0);
	if (leader < 0 || map_ring(&tally_ring, leader, 32, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "leader: %m: %s", why.text);
		return 0;
	}
	first = tally_ring.id;
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	sibling = open_beside(leader, child, 1, 0);
	if (sibling < 0 || map_ring(&third_ring, sibling, 32, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "sibling: %m: %s", why.text);
		return 0;
	}
	if (open_beside(leader, child, 0, TALLY_OPEN_MEMBER))
		tell(0, "member: %m: %s", why.text);
	for (i = 0; i < 10 && good; i++) {
		for (j = 0; j < 4; j++)
			fds[j] = open_beside(leader, child, j & 1, 0);
		if (ioctl(fds[3], PERF_EVENT_IOC_ID, &most))
			tell(0, "member: %m: %s", why.text);
		/* Every other round closes them in reverse order. */
		for (j = 0; j < 4; j++)
			close(fds[i & 1 ? 3 - j : j]);
		good &= drain(&tally_ring, first, most, 1, seen);
		good &= drain(&third_ring, first, most, 0, seen);
	}
	/* Without its leader, the sibling goes on alone. */
	unmap_ring(&tally_ring);
	good &= drain(&third_ring, first, most, 0, seen);
	unmap_ring(&third_ring);
	return good;
}

static void changes(void)
{
	unsigned int seen[8] = { 0 }, i, rounds = 0, kinds = 0;
	uint64_t end = now_ns() + 120000000000ULL;
	int good = 1, enough;
	pid_t child;

	go_on = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*go_on = 1;
	run_on(0);
	child = fork();
	if (!child) {
		run_on(nr_online() - 1);
		while (*go_on)
			touch(200);
		_exit(0);
	}
	do {
		good &= change_group(child, seen);
		rounds++;
		for (i = 0, kinds = 0; i < 8; i++)
			kinds += !!seen[i];
		enough = rounds >= ROUNDS && kinds >= 4;
	} while (good && !enough && now_ns() < end);
	*go_on = 0;
	waitpid(child, NULL, 0);
	printf("# samples of groups of 1 to 8: %u %u %u %u %u %u %u %u\n", seen[0], seen[1],
	       seen[2], seen[3], seen[4], seen[5], seen[6], seen[7]);
	tell(good && enough, "%u groups that changed: each sample is of one time",
	     rounds);
}

/* ---- counts in NMIs, and of a PMU ---- */

#if defined(__x86_64__) || defined(__i386__)
/* The leader is a breakpoint in the kernel, which is hit in a context like an NMI's. */
static int read_in_nmi(int kind, uint64_t *faults_seen)
{
	static const uint64_t siblings[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
	};
	int fds[4], i, nr = 0, control, good = 1;
	struct perf_event_header *h;
	uint64_t first[2] = { 0 }, last[2] = { 0 }, least, *at;

	faults(PERF_SAMPLE_READ);
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = 2;
	attr.bp_addr = address_of("print_fatal_signals");
	attr.bp_len = 4;
	attr.read_format = PERF_FORMAT_GROUP;
	fds[0] = open_as(kind, &o);
	o.group_fd = fds[0];
	for (i = 1; i < 4; i++) {
		faults(0);
		attr.config = siblings[i - 1];
		attr.sample_period = 0;
		attr.wakeup_events = 0;
		attr.disabled = 0;
		o.group_fd = fds[0];
		fds[i] = open_as(kind, &o);
	}
	control = open("/proc/sys/kernel/print-fatal-signals", O_WRONLY);
	if (fds[0] < 0 || fds[3] < 0 || control < 0 ||
	    map_ring(&third_ring, fds[0], 16, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "a breakpoint in the kernel: %m: %s", why.text);
		return 0;
	}
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 10; i++) {
		if (pwrite(control, "0", 1, 0) != 1)
			tell(0, "write: %m");
		touch(1000);
	}
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(&third_ring))) {
		at = (uint64_t *)(h + 1);
		nr++;
		/*
		 * A clock that advances by ticks may be 0 in the first sample. While another
		 * CPU holds the lock of the task's events, tally's clocks stand still.
		 */
		least = nr > 1 && kind == PERF;
		if (h->size != 8 + 5 * 8 || at[0] != 4 || at[1] != (uint64_t)nr ||
		    at[3] < last[0] + least || at[4] < last[1] + least) {
			good = 0;
			printf("# no. %d of %s: type %u, size %u, %llu members: %llu %llu %llu %llu, clocks before: %llu %llu\n",
			       nr, maker(kind), h->type, h->size,
			       (unsigned long long)at[0], (unsigned long long)at[1],
			       (unsigned long long)at[2], (unsigned long long)at[3],
			       (unsigned long long)at[4], (unsigned long long)last[0],
			       (unsigned long long)last[1]);
		}
		if (nr <= 10)
			faults_seen[nr - 1] = at[2];
		last[0] = at[3];
		last[1] = at[4];
		if (nr == 1)
			memcpy(first, last, sizeof(first));
	}
	good &= last[0] > first[0] && last[1] > first[1];
	close(control);
	for (i = 1; i < 4; i++)
		close(fds[i]);
	unmap_ring(&third_ring);
	return good ? nr : -nr;
}

static void nmi_reads(void)
{
	uint64_t perfs[10] = { 0 }, tallys[10] = { 0 };
	int p, t;

	p = read_in_nmi(PERF, perfs);
	p = read_in_nmi(PERF, perfs);
	t = read_in_nmi(TALLY, tallys);
	t = read_in_nmi(TALLY, tallys);
	tell(p == 10 && t == 10 && !memcmp(perfs, tallys, sizeof(perfs)) && tallys[9] == 9000,
	     "in %d NMIs: page faults and clocks as in perf's %d: %llu, %llu", t, p,
	     (unsigned long long)tallys[9], (unsigned long long)perfs[9]);
}

#endif

/*
 * A leader and its sibling count cycles. The sibling is read in the leader's interrupt.
 * Returns how many samples of 100 have counts that differ: QEMU adds cycles to one of
 * the counters, also for perf, and more of them if its host is busy.
 */
static int read_cycles(int kind, int noise)
{
	int fds[3], nr = 0, good = 1, differ = 0, old = 0, members = 2, i;
	long long apart;
	uint64_t last[2] = { 0 }, times[2] = { 0 }, *at;
	struct perf_event_header *h;

	faults(PERF_SAMPLE_READ);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 1000000;
	attr.read_format = PERF_FORMAT_GROUP | TIMES | PERF_FORMAT_ID;
	fds[0] = open_as(kind, &o);
	if (fds[0] < 0) {
		expect(fds[0], ENOENT, "there is no PMU");
		return 0;
	}
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.disabled = 0;
	attr.wakeup_events = 0;
	attr.type = PERF_TYPE_RAW;
	attr.config = 0x11;
	o.group_fd = fds[0];
	fds[1] = open_as(kind, &o);
	/* QEMU may not have instructions. */
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	fds[2] = open_as(kind, &o);
	members += fds[2] >= 0;
	if (fds[1] < 0 || map_ring(&third_ring, fds[0], 64, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "cycles: %m: %s", why.text);
		return 0;
	}
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 100; i++)
		touch(1000);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(&third_ring))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		at = (uint64_t *)(h + 1);
		nr++;
		good &= h->size == 8 + 3 * 8 + members * 16 && at[0] == (uint64_t)members &&
			at[1] >= times[0] && at[2] >= times[1] && at[1] >= at[2] &&
			at[3] >= last[0] && at[5] >= last[1] && at[4] == third_ring.id;
		/* tally counts once all members are on. One may overflow before. */
		if (kind == TALLY && !at[3])
			continue;
		apart = at[3] - last[0] - (at[5] - last[1]);
		differ += llabs(apart) > 1000;
		old += at[5] == last[1];
		if (!good) {
			show("strange", h, 0);
			break;
		}
		last[0] = at[3];
		last[1] = at[5];
		times[0] = at[1];
		times[1] = at[2];
	}
	tell(good && nr >= 10 && (differ <= nr / 4 || noise > 10) && old <= nr / 20,
	     "%s: %d samples of cycles with their sibling's, %d of which differ, %d are old",
	     maker(kind), nr, differ, old);
	for (i = 1; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	unmap_ring(&third_ring);
	return nr ? differ * 100 / nr : 0;
}

static void interrupts(void)
{
#if defined(__x86_64__) || defined(__i386__)
	nmi_reads();
#endif
	read_cycles(TALLY, read_cycles(PERF, 100));
}

static const struct devtest tests[] = {
	{ "reads", .run = reads },
	{ "changes", .run = changes },
	{ "interrupts", .run = interrupts },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
