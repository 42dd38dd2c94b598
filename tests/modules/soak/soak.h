/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SOAK_H
#define SOAK_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <tally/tally.h>

#define SOAK_LIVE	0x736f616b6c697665ULL
#define SOAK_DEAD	0xdeaddeaddeaddeadULL
#define SOAK_THREADS	8
#define SOAK_GRAVES	8

/* Number of CPUs on which the order of samples is checked. */
#define SOAK_CPUS	8

enum soak_kind {
	SOAK_BREAKPOINT,
	SOAK_KPROBE,
	SOAK_CLOCK,
	SOAK_SOFTWARE,
	SOAK_SCHED,
	SOAK_IRQ,
	SOAK_CYCLES,
	SOAK_INHERITED,
	SOAK_KINDS,
};

enum soak_stage {
	SOAK_DIRECT,
	SOAK_IN_IRQ,
	SOAK_IN_WORK,
	SOAK_STAGES,
};

/* Faults: each must never happen. */
enum soak_fault {
	SOAK_FAULT_DEAD,
	SOAK_FAULT_TOUCHED,
	SOAK_FAULT_EVENT,
	SOAK_FAULT_CONTEXT,
	SOAK_FAULT_CPU,
	SOAK_FAULT_ORDER,
	SOAK_FAULT_MISSED,
	SOAK_FAULT_RELEASE,
	SOAK_FAULT_DIRECT_SUM,
	SOAK_FAULT_IRQ_SUM,
	SOAK_FAULT_WORK_SUM,
	SOAK_FAULT_ERROR,
	SOAK_FAULTS,
};

/* Numbers of things that have to happen often, or the test has shown nothing. */
enum soak_tally {
	SOAK_DIRECT_CALLS,
	SOAK_NMI_CALLS,
	SOAK_IRQ_CALLS,
	SOAK_WORK_CALLS,
	SOAK_REFUSED_RELEASES,
	SOAK_CHECKED_DIRECT,
	SOAK_CHECKED_IRQ,
	SOAK_CHECKED_WORK,
	SOAK_EXCUSED_IRQ,
	SOAK_RELEASED_LIVE,
	SOAK_REARMED,
	SOAK_MODIFIED,
	SOAK_TALLIES,
};

/**
 * struct soak_context - context of the handlers of one event
 * @magic: SOAK_LIVE until the event has been released
 * @kind: kind of the event
 * @ev: the event, from the first call of a handler
 * @calls: number of calls of each handler
 * @told: sum of tally_sample::missed for each handler
 * @last: last sequence number of each CPU, for each handler
 * @rearm: the handler that rearms the event; SOAK_STAGES if it is not one-shot
 * @inherit: the event is inherited
 * @slow: the event gets no period below the slow one of its kind
 * @sluggish: the handler in process context sleeps at each call, so that many samples
 *	are queued at the end
 * @given: the handlers that the event has
 * @lock: guards @ending, and the enabling of the event
 * @ending: the event must not be enabled any more
 */
struct soak_context {
	u64 magic;
	enum soak_kind kind;
	struct tally_event *ev;
	atomic_long_t calls[SOAK_STAGES];
	atomic_long_t told[SOAK_STAGES];
	u64 last[SOAK_STAGES][SOAK_CPUS];
	enum soak_stage rearm;
	bool inherit;
	bool slow;
	bool sluggish;
	bool given[SOAK_STAGES];
	struct mutex lock; /* ending */
	bool ending;
};

/* A context whose event was released: no handler may write to it any more. */
struct soak_grave {
	struct soak_context *ctx;
	long calls[SOAK_STAGES];
};

/**
 * struct soak_thread - a thread that makes events
 * @task: the thread
 * @rnd: state of its random numbers
 * @words: words that it writes to, for breakpoints
 * @graves: contexts of released events that are not freed yet
 * @buried: number of contexts that were put into @graves so far
 */
struct soak_thread {
	struct task_struct *task;
	struct rnd_state rnd;
	u64 words[2];
	struct soak_grave graves[SOAK_GRAVES];
	unsigned int buried;
};

extern int soak_pid;
extern atomic_long_t soak_made[SOAK_KINDS];
extern atomic_long_t soak_refused[SOAK_KINDS];
extern atomic_long_t soak_tallies[SOAK_TALLIES];

void soak_fault(enum soak_fault fault, enum soak_kind kind, s64 got, s64 want);

static inline void soak_count(enum soak_tally what)
{
	atomic_long_inc(&soak_tallies[what]);
}

/* Whether no CPU is going offline; @offlines receives the number that went so far. */
bool soak_cpus_steady(unsigned int *offlines);

void soak_direct(struct tally_event *ev, const struct tally_sample *sample,
		 void *context);
void soak_irq(struct tally_event *ev, const struct tally_sample *sample,
	      void *context);
void soak_work(struct tally_event *ev, const struct tally_sample *sample,
	       void *context);

const char *soak_kind_name(enum soak_kind kind);
bool soak_kind_take(enum soak_kind kind);
void soak_kind_give(enum soak_kind kind);
void soak_kind_begin(struct tally_builder *b, enum soak_kind kind,
		     struct soak_thread *t);
u64 soak_kind_period(const struct soak_context *ctx, u32 random);
/* Returns the address of the instruction that kernel probes are set on. */
void *soak_probe_point(void);

void soak_stir(struct soak_thread *t);

u32 soak_below(struct soak_thread *t, u32 limit);
int soak_thread(void *data);

#endif /* SOAK_H */
