// SPDX-License-Identifier: GPL-2.0
/*
 * Rings under fire: producers in tasks, softirqs, interrupts and NMIs of each CPU
 * (tally_hammer.ko) write to the same rings as fast as they can.
 *
 *	hammer all|cpu|task SECONDS	records read and records lost are all records made
 *	hammer backward|forward SECONDS	the newest records of rings that are overwritten
 *	hammer abuse SECONDS		a reader writes anything to the header page
 *	hammer abuse_speed SECONDS	the same does not slow the producers down
 *	hammer churn SECONDS		mappings, outputs and files come and go
 */
#define _GNU_SOURCE
#include "hammer.h"

/* Least number of samples from NMIs, and seconds a slow machine has to reach it. */
#define STABS_MIN 100
#define MORE_SECONDS 180

/* ---- a thread that faults ---- */

static volatile int faulting;
static volatile pid_t faulter_tid;
static volatile int moves;
static volatile int fault_once;
/* The thread sets it when it has seen that @faulting is 2: it does not fault any more. */
static volatile int resting;

static void *faulter(void *unused)
{
	char *mine = new_area(64);
	int i, round = 0;

	faulter_tid = syscall(SYS_gettid);
	while (faulting) {
		if (faulting > 1) {
			resting = 1;
			wait_ms(1);
			if (fault_once) {
				madvise(mine, 64 * page_size, MADV_DONTNEED);
				mine[0] = 1;
				fault_once = 0;
			}
			continue;
		}
		madvise(mine, 64 * page_size, MADV_DONTNEED);
		for (i = 0; i < 64; i++)
			mine[i * page_size] = 1;
		if (moves)
			run_on(round++ % nr_cpus);
	}
	return unused;
}

static void stop_faults(void)
{
	faulting = 2;
	resting = 0;
	while (!resting)
		wait_ms(1);
}

static pthread_t start_faults(int move)
{
	pthread_t thread;

	moves = move;
	faulting = 2;
	if (pthread_create(&thread, NULL, faulter, NULL))
		err(2, "thread");
	stop_faults();
	return thread;
}

/* ---- reading ---- */

static uint64_t last_seq[MAX_CPUS][LEVELS];
static uint64_t bad, told_lost, records, passed_over;
static uint64_t hits_of[LEVELS];

static void complain(const struct perf_event_header *h, const char *what)
{
	const uint64_t *w = (const uint64_t *)h;
	int i;

	if (bad++ >= 5)
		return;
	printf("# bad %s:", what);
	for (i = 0; i < 10; i++)
		printf(" %" PRIx64, w[i]);
	printf("\n");
}

static struct event *event_of(uint64_t id)
{
	int i;

	for (i = 0; i < nr_events; i++)
		if (events[i].id == id)
			return &events[i];
	return NULL;
}

static void check_sample(struct perf_event_header *h, struct ring *r, struct event *e)
{
	struct hit_sample *s = (void *)(h + 1);
	const char *what;
	uint64_t *last;

	if (e->kind != HITS) {
		if (h->size != SAMPLE_SIZE || !s->time || s->cpu_unused ||
		    (h->misc & ~PERF_RECORD_MISC_EXACT_IP) - 1 > 1 ||
		    (r->cpu >= 0 && s->cpu != (uint32_t)r->cpu) ||
		    (e->kind == WORD && s->addr != word_address))
			complain(h, kind_names[e->kind]);
		return;
	}
	what = bad_hit(h, r->cpu);
	if (what) {
		complain(h, what);
		return;
	}
	last = &last_seq[s->hit.cpu][s->hit.level];
	if (s->hit.seq <= *last)
		complain(h, "sequence");
	passed_over += s->hit.seq - *last - 1;
	*last = s->hit.seq;
	hits_of[s->hit.level]++;
}

static void check_lost(struct perf_event_header *h)
{
	uint64_t *w = (uint64_t *)(h + 1);

	if (h->size != LOST_SIZE || h->misc || !event_of(w[0]) || w[0] != w[5] || !w[1] || !w[3])
		complain(h, "lost");
	told_lost += w[1];
}

/* Reads and checks all records that are in the ring now; returns their number. */
static int drain(struct ring *r)
{
	struct perf_event_header *h;
	uint64_t head = head_of(r);
	struct event *e;
	int nr = 0;

	if (head - r->tail > r->size) {
		bad++;
		printf("# head %" PRIx64 " tail %" PRIx64 "\n", head, r->tail);
	}
	while (r->tail != head) {
		h = copy_record(r, r->tail, head);
		if (!h) {
			complain((void *)r->record, "header");
			r->tail = head;
			break;
		}
		r->tail += h->size;
		nr++;
		if (h->type == PERF_RECORD_LOST) {
			check_lost(h);
			continue;
		}
		e = event_of(*(uint64_t *)(h + 1));
		if (h->type != PERF_RECORD_SAMPLE || !e) {
			complain(h, "type");
			continue;
		}
		e->seen++;
		check_sample(h, r, e);
	}
	done(r);
	records += nr;
	return nr;
}

static int drain_all(void)
{
	int i, nr = 0;

	for (i = 0; i < nr_rings; i++)
		nr += drain(&rings[i]);
	return nr;
}

static void read_for(double seconds)
{
	struct pollfd p[MAX_EVENTS];
	double end = seconds_now() + seconds;
	int i, nr = 0;

	for (i = 0; i < nr_events; i++)
		if (events[i].fd >= 0)
			p[nr++] = (struct pollfd){ .fd = events[i].fd, .events = POLLIN };
	while (seconds_now() < end) {
		drain_all();
		poll(p, nr, 20);
	}
}

/* ---- all that there was ---- */

static void same_number(uint64_t a, uint64_t b, const char *name, const char *what)
{
	tell(a == b, "%s: %s: %" PRIu64 ", %" PRIu64, name, what, a, b);
}

static void check_sums(const char *name)
{
	uint64_t seen[KINDS] = { 0 }, lost[KINDS] = { 0 }, all[KINDS] = { 0 }, value[KINDS] = { 0 };
	uint64_t lost_all = 0;
	int i;

	for (i = 0; i < nr_events; i++) {
		seen[events[i].kind] += events[i].seen;
		lost[events[i].kind] += events[i].lost;
		all[events[i].kind] += events[i].overflows;
		value[events[i].kind] += events[i].value;
		lost_all += events[i].lost;
		if (events[i].seen + events[i].lost != events[i].overflows)
			tell(0, "%s: %s: %" PRIu64 " seen, %" PRIu64 " lost, of %" PRIu64, name,
			     events[i].name, events[i].seen, events[i].lost,
			     events[i].overflows);
	}
	for (i = 0; i < KINDS; i++) {
		if (i == WORD && !wants_word())
			continue;
		tell(seen[i] + lost[i] == all[i] && seen[i] && lost[i],
		     "%s: %s: %" PRIu64 " were read, %" PRIu64 " lost, of %" PRIu64, name,
		     kind_names[i], seen[i], lost[i], all[i]);
		if (i != CLOCK)
			tell(value[i] == all[i],
			     "%s: %s: %" PRIu64 " were counted, %" PRIu64 " overflowed", name,
			     kind_names[i], value[i], all[i]);
	}
	same_number(told_lost, lost_all, name, "records tell of as many that were lost");
}

/* Whether events of each kind have lost records, while nobody reads. */
static int all_lost(void)
{
	uint64_t lost[KINDS] = { 0 };
	int i;

	read_events();
	for (i = 0; i < nr_events; i++)
		lost[events[i].kind] += events[i].lost;
	for (i = 0; i < KINDS; i++)
		if (!lost[i] && (i != WORD || wants_word()))
			return 0;
	return 1;
}

static void exact(const char *name, int seconds, int pages)
{
	uint64_t made[LEVELS], before = 0, made_all;
	pthread_t faults, stabber;
	int task = !strcmp(name, "task"), i;

	if (!task)
		before = all_passes();
	faults = start_faults(task);
	if (task)
		open_task(faulter_tid, pages);
	else if (!strcmp(name, "all"))
		open_all_cpus(pages);
	else
		open_each_cpu(pages);
	if (!task) {
		/* The sequences go on from the last run. */
		passes(made);
		memcpy(last_seq, made_on, sizeof(last_seq));
	}
	read_events();
	/* A group counts when all members are enabled; records may come sooner. */
	tell_all(PERF_EVENT_IOC_ENABLE, 0, KINDS);
	faulting = 1;
	if (wants_word()) {
		stabbing = 1;
		pthread_create(&stabber, NULL, stab_all, NULL);
	}
	hammers(300);
	read_for(seconds / 2.0);
	hammers(50);
	for (i = 0; i < 5 * MORE_SECONDS && !all_lost(); i++)
		wait_ms(200);
	read_for(seconds / 2.0);
	for (i = 0; i < MORE_SECONDS && wants_word() && hits_of[3] <= STABS_MIN; i++)
		read_for(1);
	stabbing = 0;
	if (wants_word())
		pthread_join(stabber, NULL);
	hammers(0);
	stop_faults();

	/* The next record that finds room reports the lost ones that no record has. */
	if (task) {
		tell_all(PERF_EVENT_IOC_DISABLE, WORD, WORD);
		while (drain_all())
			;
		fault_once = 1;
		while (fault_once)
			wait_ms(1);
	} else {
		/* The leader counts on until the last pass, and its members with it. */
		tell_all(PERF_EVENT_IOC_DISABLE, FAULTS, KINDS);
		while (drain_all())
			;
		write_to(HAMMER "pass", "1");
	}
	tell_all(PERF_EVENT_IOC_DISABLE, 0, KINDS);
	drain_all();
	read_events();
	passes(made);
	tell(!bad && records, "%s: %" PRIu64 " records are whole, each in its place", name,
	     records);
	check_sums(name);
	if (!task) {
		made_all = made[0] + made[1] + made[2] + made[3] - before;
		for (i = 0, before = 0; i < nr_events; i++)
			before += events[i].kind == HITS ? events[i].value : 0;
		same_number(before, made_all, name, "passes of the tracepoint and its count");
		for (i = 0, before = 0; i < nr_events; i++)
			before += events[i].kind == HITS ? events[i].lost : 0;
		tell(passed_over <= before,
		     "%s: sequences pass over %" PRIu64 " that were lost", name, passed_over);
	}
	printf("# read in tasks %" PRIu64 ", softirqs %" PRIu64 ", interrupts %" PRIu64
	       ", NMIs %" PRIu64 "; stabbed %" PRIu64 " times\n",
	       hits_of[0], hits_of[1], hits_of[2], hits_of[3], stabs);
	if (!task)
		tell(hits_of[0] && hits_of[1] && hits_of[2], "%s: all contexts wrote", name);
	if (wants_word())
		tell(hits_of[3] > STABS_MIN, "%s: %" PRIu64 " from NMIs in the middle of it",
		     name, hits_of[3]);
	faulting = 0;
	pthread_join(faults, NULL);
}

static void all(char **arguments)
{
	begin_hammer();
	exact("all", atoi(arguments[0]), 16);
}

static void cpu(char **arguments)
{
	begin_hammer();
	exact("cpu", atoi(arguments[0]), 16);
}

static void task(char **arguments)
{
	begin_hammer();
	exact("task", atoi(arguments[0]), 4);
}

/* ---- the newest ---- */

static uint64_t gaps, told_in_walks, walks, oldest_missing;

/* Copies the data of a paused ring. */
static void snapshot(struct ring *r, char *to, uint64_t *head)
{
	*head = head_of(r);
	memcpy(to, r->base + page_size, r->size);
}

static void walk(struct ring *r, const char *data, uint64_t head)
{
	uint64_t last[LEVELS] = { 0 }, at = head, end = head + r->size, first_lost = told_lost;
	struct perf_event_header *h = (void *)r->record;
	const char *what;
	uint64_t gap = 0;
	unsigned long i;

	while (at < end) {
		struct hit_sample *s = (void *)(h + 1);

		memcpy(h, data + (at & (r->size - 1)), sizeof(*h));
		/* Ends at zeros, or at a record that is partly overwritten. */
		if (!h->size && !h->type && !h->misc)
			break;
		if (h->size > end - at && (h->size == HIT_SIZE || h->size == LOST_SIZE))
			break;
		if (h->size != HIT_SIZE && h->size != LOST_SIZE) {
			complain(h, "header");
			break;
		}
		for (i = 0; i < h->size / 8u; i++)
			memcpy(&r->record[i], data + ((at + i * 8) & (r->size - 1)), 8);
		at += h->size;
		records++;
		if (h->type == PERF_RECORD_LOST) {
			check_lost(h);
			continue;
		}
		what = h->type != PERF_RECORD_SAMPLE ? "type" : bad_hit(h, r->cpu);
		if (what) {
			complain(h, what);
			break;
		}
		if (last[s->hit.level] && s->hit.seq >= last[s->hit.level])
			complain(h, "sequence");
		else if (last[s->hit.level])
			gap += last[s->hit.level] - s->hit.seq - 1;
		last[s->hit.level] = s->hit.seq;
	}
	oldest_missing += end - at >= HIT_SIZE + LOST_SIZE;
	gaps += gap;
	told_in_walks += told_lost - first_lost;
	walks++;
	if (gap > told_lost - first_lost) {
		bad++;
		printf("# %" PRIu64 " are missing, of %" PRIu64 " lost\n", gap,
		       told_lost - first_lost);
	}
}

static void backward(char **arguments)
{
	double end = seconds_now() + atoi(arguments[0]);
	uint64_t heads[MAX_CPUS], made[2][LEVELS];
	char *copies[MAX_CPUS];
	pthread_t stabber;
	int i, round;

	begin_hammer();
	leader = add(HITS, -1, -1, TALLY_OPEN_ALL_CPUS, -1)->fd;
	for (i = 0; i < nr_cpus; i++) {
		map_one(leader, i % 2 ? 1 : 4, i, PROT_READ);
		copies[i] = malloc(rings[i].size);
	}
	read_events();
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	passes(made[0]);
	hammers(50);
	if (wants_word()) {
		stabbing = 1;
		pthread_create(&stabber, NULL, stab_all, NULL);
	}
	for (round = 0; seconds_now() < end ||
	     (walks <= 20 && seconds_now() < end + MORE_SECONDS); round++) {
		wait_ms(round % 7 + 1);
		if (ioctl(leader, PERF_EVENT_IOC_PAUSE_OUTPUT, 1))
			err(2, "PAUSE_OUTPUT");
		for (i = 0; i < nr_rings; i++)
			snapshot(&rings[i], copies[i], &heads[i]);
		for (i = 0; i < nr_rings; i++) {
			/* Nothing is written to a paused ring. */
			if (rings[i].page->data_head != heads[i] ||
			    memcmp(copies[i], rings[i].base + page_size, rings[i].size)) {
				bad++;
				printf("# written to while it was paused\n");
			}
		}
		ioctl(leader, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
		for (i = 0; i < nr_rings; i++)
			walk(&rings[i], copies[i], heads[i]);
	}
	stabbing = 0;
	if (wants_word())
		pthread_join(stabber, NULL);
	hammers(0);
	passes(made[1]);
	tell(!bad && walks > 20, "%" PRIu64 " pauses: %" PRIu64 " of the newest records are whole, "
	     "each in its place", walks, records);
	/* Only in the first rounds the ring still has zeros at its oldest end. */
	tell(oldest_missing < walks / 4, "rings are full");
	printf("# %" PRIu64 " gaps, %" PRIu64 " told as lost; passes %" PRIu64 " %" PRIu64 " %"
	       PRIu64 ", NMIs %" PRIu64 "\n", gaps, told_in_walks, made[1][0] - made[0][0],
	       made[1][1] - made[0][1], made[1][2] - made[0][2], made[1][3] - made[0][3]);
}

/* ---- what else a reader can do ---- */

static volatile int abusing;
static int honest;
static char *victim[MAX_CPUS];
static uint64_t abuses;

static uint64_t random_word(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void abuse_tail(volatile struct perf_event_mmap_page *page, uint64_t *seed)
{
	uint64_t head = page->data_head, word = random_word(seed);

	switch (word % 10) {
	case 0:
		page->data_tail = head;
		break;
	case 1:
		page->data_tail = head + 1 + (word >> 60);
		break;
	case 2:
		page->data_tail = head - (word >> 50);
		break;
	case 3:
		page->data_tail = 0;
		break;
	case 4:
		page->data_tail = ~0ULL;
		break;
	case 5:
		page->data_tail = 1ULL << 63;
		break;
	case 6:
		page->data_tail ^= 1ULL << (word >> 58);
		break;
	case 7:
		page->data_head = word;
		break;
	default:
		page->data_tail = word;
	}
}

/* Writes random words to the tail of a header page, and then to the whole page. */
static void *abuser(void *argument)
{
	uint64_t seed = 88172645463325252ULL + (long)argument * 77777;
	uint64_t word;
	int i, k, n = 0;

	while (abusing) {
		char *page = victim[n++ % nr_cpus];

		word = random_word(&seed);
		for (i = 0; i < 200; i++) {
			abuse_tail((void *)page, &seed);
			for (k = 0; honest && k < nr_rings; k++)
				rings[k].page->data_tail = rings[k].page->data_head;
		}
		if (word & 1)
			memset(page, word >> 8, page_size);
		else
			for (i = 0; i < page_size / 8; i++)
				((volatile uint64_t *)page)[i] = random_word(&seed);
		__atomic_fetch_add(&abuses, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static double rate(double seconds)
{
	uint64_t before = all_passes();
	double begin = seconds_now();

	wait_ms(seconds * 1000);
	return (all_passes() - before) / (seconds_now() - begin);
}

static double rate_with(int n, double seconds)
{
	pthread_t threads[4];
	double found;
	long i;

	abusing = 1;
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, abuser, (void *)i);
	found = rate(seconds);
	abusing = 0;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return found;
}

/*
 * Writes anything to the header pages while the producers run. To compare, the same is
 * written to pages of no ring while an honest reader keeps up: the machine has as much
 * work, and the records find room. Both take turns, because the machine may get busier.
 * Only `make bench` shows a difference of a few instructions.
 */
static void abuse_for(double part, int compare)
{
	double with = 0, without = 0;
	char *own[MAX_CPUS];
	int i, k;

	begin_hammer();
	leader = add(HITS, -1, -1, TALLY_OPEN_ALL_CPUS, 8)->fd;
	for (i = 0; i < nr_cpus; i++) {
		map_one(leader, 8, i, PROT_READ | PROT_WRITE);
		own[i] = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	hammers(200);
	for (k = 0; k < 4; k++) {
		for (i = 0; i < nr_cpus; i++)
			victim[i] = own[i];
		honest = 1;
		if (compare)
			without += rate_with(2, part);
		for (i = 0; i < nr_cpus; i++)
			victim[i] = rings[i].base;
		honest = 0;
		with += rate_with(2, part);
	}
	hammers(0);
	tell(abuses > 100, "the headers were written to %" PRIu64 " times", abuses);
	if (compare)
		tell(with > without / 2, "%.0f passes a second, %.0f with other pages", with / 4,
		     without / 4);
	/* Afterwards the rings work as before. */
	for (i = 0; i < nr_rings; i++) {
		write_to(HAMMER "pass", "1");
		rings[i].tail = rings[i].page->data_head;
		rings[i].page->data_tail = rings[i].tail;
	}
	read_events();
	write_to(HAMMER "pass", "1");
	for (i = 0; i < nr_rings; i++) {
		records = 0;
		last_seq[i][0] = last_seq[i][2] = 0;
		drain(&rings[i]);
		tell(records && !bad, "CPU %d: %" PRIu64 " records afterwards", i, records);
	}
}

static void abuse(char **arguments)
{
	abuse_for(atoi(arguments[0]) / 4.0, 0);
}

static void abuse_speed(char **arguments)
{
	abuse_for(atoi(arguments[0]) / 8.0, 1);
}

/* ---- mappings and files that come and go ---- */

static int outputs[2] = { -1, -1 };
static uint64_t turns[4];

static void *remapper(void *unused)
{
	char *again[MAX_CPUS];
	int i = 0, n;

	while (abusing) {
		n = i++ % nr_cpus;
		again[n] = map_pages(leader, 9, PROT_READ | (i % 3 ? PROT_WRITE : 0),
				     TALLY_RING_AT(n));
		if (again[n] == MAP_FAILED)
			continue;
		/* Pieces are refused. */
		mprotect(again[n] + page_size, page_size, PROT_READ | PROT_WRITE);
		munmap(again[n] + 3 * page_size, 2 * page_size);
		mprotect(again[n], 9 * page_size, i % 2 ? PROT_NONE : PROT_READ);
		munmap(again[n], 9 * page_size);
		turns[0]++;
	}
	return unused;
}

/* Maps and unmaps a file without another mapping: this makes and ends its ring. */
static void *mapper(void *unused)
{
	struct ring *r = calloc(1, sizeof(*r));
	int i = 0;

	while (abusing) {
		i++;
		if (map_ring(r, outputs[1], 1 << (i % 4), PROT_READ | PROT_WRITE,
			     TALLY_RING_AT(i % nr_cpus)))
			continue;
		if (i % 8 == 0)
			wait_ms(1);
		r->page->data_tail = r->page->data_head;
		munmap(r->base, page_size + r->size);
		turns[1]++;
	}
	return unused;
}

static void *switcher(void *unused)
{
	int i = 0;

	while (abusing) {
		ioctl(outputs[0], PERF_EVENT_IOC_SET_OUTPUT, i % 3 == 0 ? -1L :
		      i % 3 == 1 ? leader : outputs[1]);
		if (i % 5 == 0)
			ioctl(i % 2 ? leader : outputs[1], PERF_EVENT_IOC_PAUSE_OUTPUT, i / 5 % 2);
		i++;
		turns[2]++;
	}
	return unused;
}

static void *opener(void *unused)
{
	struct perf_event_attr mine = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(mine), .config = hit_id,
		.sample_period = 1, .sample_type = words_of_all | PERF_SAMPLE_RAW,
	};
	struct tally_open how = request(&mine, -1, -1, -1, 0);
	int fd, member, i = 0;
	char *ring;

	how.error = 0;
	while (abusing) {
		how.group_fd = -1;
		how.flags = TALLY_OPEN_ALL_CPUS;
		fd = open_as(TALLY, &how);
		if (fd < 0)
			continue;
		i++;
		ring = map_pages(fd, 3, PROT_READ | PROT_WRITE, TALLY_RING_AT(i % nr_cpus));
		how.group_fd = fd;
		how.flags |= TALLY_OPEN_MEMBER;
		member = open_as(TALLY, &how);
		if (member || ring == MAP_FAILED)
			turns[3] -= 1;
		if (i % 2)
			close(fd);
		munmap(ring, 3 * page_size);
		if (!(i % 2))
			close(fd);
		turns[3]++;
	}
	return unused;
}

static int all_turned(void)
{
	int i;

	for (i = 0; i < 4; i++)
		if (!__atomic_load_n(&turns[i], __ATOMIC_RELAXED))
			return 0;
	return 1;
}

static void churn(char **arguments)
{
	static void *(*const what[])(void *) = { remapper, mapper, switcher, opener };
	static const char *const names[] = { "mappings", "rings", "outputs", "files" };
	pthread_t threads[4], tails;
	double end;
	int i;

	begin_hammer();
	leader = add(HITS, -1, -1, TALLY_OPEN_ALL_CPUS, 8)->fd;
	for (i = 0; i < nr_cpus; i++) {
		map_one(leader, 8, i, PROT_READ | PROT_WRITE);
		victim[i] = rings[i].base;
	}
	outputs[0] = add(FAULTS, -1, -1, TALLY_OPEN_ALL_CPUS, 8)->fd;
	outputs[1] = add(HITS, 0, -1, 0, 8)->fd;
	close(outputs[1]);
	prepare(HITS);
	o.flags = TALLY_OPEN_ALL_CPUS;
	outputs[1] = must_open(TALLY, &o);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(outputs[0], PERF_EVENT_IOC_ENABLE, 0);
	ioctl(outputs[1], PERF_EVENT_IOC_ENABLE, 0);
	hammers(100);
	abusing = 1;
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, what[i], NULL);
	pthread_create(&tails, NULL, abuser, NULL);
	end = seconds_now() + atoi(arguments[0]);
	while (seconds_now() < end || (!all_turned() && seconds_now() < end + MORE_SECONDS))
		touch(64);
	abusing = 0;
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pthread_join(tails, NULL);
	hammers(0);
	for (i = 0; i < 4; i++)
		tell(turns[i] && turns[i] < ~0U, "%s came and went %" PRIu64 " times",
		     names[i], turns[i]);
}

static const struct devtest tests[] = {
	{ "all", .with = all, .arguments = 1 },
	{ "cpu", .with = cpu, .arguments = 1 },
	{ "task", .with = task, .arguments = 1 },
	{ "backward", .with = backward, .arguments = 1 },
	{ "abuse", .with = abuse, .arguments = 1 },
	{ "abuse_speed", .with = abuse_speed, .arguments = 1 },
	{ "churn", .with = churn, .arguments = 1 },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
