/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of src/module/record/ring.c, for spin; tests/model/model.sh runs it. The
 * comments of that file name the labels of this one in brackets.
 *
 * One CPU has a task, an interrupt and an NMI that write records. Each writer may begin
 * between any two steps of a lower one, and runs to its end before the lower one goes on.
 * A step is one access to shared memory. The reader is on another CPU; the reader and
 * its irq_work take their steps at any time. All positions count words and have 5 bits.
 * They begin shortly before they wrap.
 *
 * Defines choose what is modelled:
 *
 * (none)	The reader waits in poll(), reads all records, and frees their words.
 *		WATERMARK words wake it; if COUNT is defined, COUNT samples do, too.
 * BACKWARD	Each record is in front of the one before.
 * OVERWRITE	New records overwrite the oldest ones. The reader reads the whole ring
 *		while it is paused, and again at the end.
 * GARBAGE	A reader writes any value to data_tail at any time. So has_room() returns
 *		any value for a record that is shorter than the ring.
 *
 * BAD_WOKEN and BAD_EVENTS are what perf's own ring does: between reading and writing a
 * value there is one step too many, and an interrupt there wakes too often, or too late.
 *
 * R0, R1 and R2 are the numbers of records that the task, the interrupt and the NMI
 * write; S0, S1 and S2 are the words in each record. BAD_* are mistakes that must be
 * found.
 *
 * The memory of this model is sequentially consistent. So the model presumes the barriers
 * that src/module/record/ring.c describes: R and S between the writer and the reader, those
 * of writers (a CPU sees its own accesses in order) and U (the lock of the wait queue).
 * BAD_POLL is U in the wrong order. The model does not find any other missing barrier.
 */

#ifndef N
#define N 4	/* words in the ring, a power of two */
#endif
#ifndef WATERMARK
#define WATERMARK (N / 2)
#endif
#ifndef R0
#define R0 1
#endif
#ifndef R1
#define R1 2
#endif
#ifndef R2
#define R2 1
#endif
#ifndef S0
#define S0 2
#endif
#ifndef S1
#define S1 1
#endif
#ifndef S2
#define S2 1
#endif

#if defined(OVERWRITE) || defined(GARBAGE)
#define SLEEPS 0
#else
#define SLEEPS 1	/* the reader waits, and reads all records */
#endif

#define START		28
#define MOD(x)		((x) & 31)
#define HALF		16	/* differences from here on are negative */
#define RECORDS(l)	((l) == 0 -> R0 : ((l) == 1 -> R1 : R2))
#define SIZE(l)		((l) == 0 -> S0 : ((l) == 1 -> S1 : S2))
#define TOTAL		(R0 + R1 + R2)

/* A word of a sample has its writer, its sample's number and its place; none is 0. */
#define WORD(l, n, i)	(1 + (l) * 32 + (n) * 8 + (i))
#define LEVEL(w)	(((w) - 1) / 32)
#define NUMBER(w)	((((w) - 1) % 32) / 8)
#define PART(w)		(((w) - 1) % 8)
/* A LOST record is one word, with the number of lost records. */
#define LOST		128

/* struct tally_ring */
byte nest, head = START, began = START, woken = START, lost;	/* began is @first */
short events;
bit wake, paused, told;
byte data[N];
#ifdef BACKWARD
#define AS_SEEN(x) MOD(-(x))
#else
#define AS_SEEN(x) MOD(x)
#endif
byte data_head = AS_SEEN(START), data_tail = AS_SEEN(START);

/* The irq_work, and the reader's place in the wait queue. */
bit pending, waking, queued, triggered;

byte top;		/* the writer that runs on the CPU, plus 1; 0 for idle */
byte done;		/* number of writers that have written all their records */

/* The expected state, which only assertions read. */
byte want[N];		/* the value that the last writer who reserved the word writes */
byte owner[N];		/* the writer, plus 1, that is filling in the word; 0 for none */
byte given, retold;	/* records reserved; lost records that LOST records report */

#define QUIET	(top == 0 && !pending && !waking)

/*
 * Whether a writer may take a step: no other one interrupts it. With BAD_CPU, each writer
 * is on a CPU of its own, and the ring stops: data_head stays behind the head.
 */
#ifdef BAD_CPU
#define RUNS(l)	true
#else
#define RUNS(l)	(top <= (l) + 1)
#endif

/* has_room(): whether the size words up to x may be written over. */
#ifdef OVERWRITE
#ifdef BAD_FIRST
#define HAS_ROOM(x, size)	true
#else
#define HAS_ROOM(x, size)	(MOD((x) - began) <= N)
#endif
#elif defined(BAD_TAIL) || defined(BAD_SIZE)
#define HAS_ROOM(x, size)	true
#elif defined(GARBAGE)
#define HAS_ROOM(x, size)	((size) < N)
#elif defined(BAD_FULL)
#define HAS_ROOM(x, size)	(MOD((x) - AS_SEEN(data_tail)) <= N)
#else
#define HAS_ROOM(x, size)	((MOD(AS_SEEN(data_tail) - (x) + (size) - 1) & (N - 1)) >= (size))
#endif

/* place(): the index of the first word of a record that ends at x. */
#ifdef BACKWARD
#define PLACE(x, size)	(MOD(-(x)) & (N - 1))
#else
#define PLACE(x, size)	(MOD((x) - (size)) & (N - 1))
#endif
#define AT(i)		((PLACE(end, size) + (i)) & (N - 1))

/* Word i of the reserved words: the LOST record, if any, comes first. */
#define TO_WRITE(i)	(told_of -> ((i) == 0 -> LOST + told_of : WORD(_pid, n, (i) - 1)) \
				 : WORD(_pid, n, i))

/* In the same step as the reservation. */
inline it_is_ours()
{
	/* The record is within the mapping, which has the ring twice. */
	assert(size <= N && PLACE(end, size) + size <= 2 * N);
	given++;
	retold = retold + told_of;
#ifndef GARBAGE
	i = 0;
	do
	:: i < size ->
		/* No interrupted writer is still filling in these words. */
		assert(owner[AT(i)] == 0);
		owner[AT(i)] = 1 + _pid;
		want[AT(i)] = TO_WRITE(i);
		i++
	:: else -> break
	od;
	i = 0
#endif
}

inline it_is_filled_in()
{
#ifndef GARBAGE
	i = 0;
	do
	:: i < size -> owner[AT(i)] = 0; i++
	:: else -> break
	od;
#endif
	i = 0
}

/* In the same step as storing data_head: the records up to there are complete. */
inline what_is_told_is_there(x)
{
	/* data_head never goes back. */
	assert(MOD((x) - AS_SEEN(data_head)) <= MOD(head - AS_SEEN(data_head)));
#ifndef GARBAGE
	i = 0;
	do
	:: i < N ->
		/* The word with the number x - 1 - i. */
#ifdef BACKWARD
#define SLOT (MOD(-(x) + i) & (N - 1))
#else
#define SLOT (MOD((x) - 1 - i) & (N - 1))
#endif
#ifdef OVERWRITE
		assert(owner[SLOT] == 0 || MOD(head - (x)) > 0);
#else
		if
		:: i < MOD((x) - AS_SEEN(data_tail)) ->
			assert(owner[SLOT] == 0 && data[SLOT] == want[SLOT])
		:: else
		fi;
#endif
		i++
	:: else -> break
	od;
	i = 0
#endif
}

inline publish_(x)
{
	what_is_told_is_there(x);
	data_head = AS_SEEN(x)
}

active [3] proctype writer() provided (RUNS(_pid))
{
	byte was, outer, old, end, size, told_of, n, i, tries;

	do
	:: n < RECORDS(_pid) ->
		d_step { was = top; top = _pid + 1 };

		/* tally_ring_reserve() */
		outer = nest;
enter:		d_step { nest = outer + 1; size = SIZE(_pid) };
		if
		:: lost && !paused ->
#ifdef BAD_XCHG
			told_of = lost;
			lost = 0;
			size = size + (told_of -> 1 : 0)
#else
			d_step {
				told_of = lost;
				lost = 0;
				size = size + (told_of -> 1 : 0)
			}
#endif
		:: else
		fi;
#ifdef OVERWRITE
		/* @first is read only by rings that are overwritten. */
#ifdef BAD_FIRST_NESTED
		outer = 0;
#endif
		if
		:: outer == 0 ->
			old = head;
first:			began = old
		:: else
		fi;
		if
		:: paused -> goto no_room
		:: else
		fi;
#endif
try:		atomic {
			/* A writer tries again only if another one interrupted it. */
			tries++;
			assert(tries <= TOTAL);
			old = head;
			end = MOD(old + size)
		};
		if
#ifdef GARBAGE
		:: goto no_room
#else
		:: !HAS_ROOM(end, size) -> goto no_room
#endif
		:: HAS_ROOM(end, size)
		fi;
reserve:	atomic {
			if
#ifndef BAD_CMPXCHG
			:: old != head -> goto try
#endif
			:: else -> d_step { head = end; it_is_ours() }
			fi
		};
#if SLEEPS
#ifdef BAD_WOKEN
		if
		:: MOD(end - woken) > WATERMARK ->
			woken = MOD(woken + WATERMARK);
			wake = 1
		:: else
		fi;
#else
		old = woken;
		if
		:: MOD(end - old) > WATERMARK && MOD(end - old) < HALF ->
			woken = MOD(old + WATERMARK);
			wake = 1
		:: else
		fi;
#endif
		/* If @woken were ahead of the head, each record would wake the reader. */
		assert(MOD(head - woken) < HALF);
#endif
#ifdef BAD_EARLY
		if
		:: nest == 1 -> d_step { publish_(head) }
		:: else
		fi;
#endif

		/* The caller of tally_ring_reserve() fills in the record. */
		do
		:: i < size -> d_step {
#ifndef GARBAGE
				assert(owner[AT(i)] == 1 + _pid);
#endif
				data[AT(i)] = TO_WRITE(i);
				i++
			}
		:: else -> break
		od;
		atomic { it_is_filled_in() };
#ifdef COUNT
		/* tally_ring_count() */
		d_step { events++; i = (events >= COUNT -> 1 : 0) };
		if
		:: i ->
#ifdef BAD_EVENTS
			events = events - COUNT;
#else
			events = 0;
#endif
			d_step { wake = 1; i = 0 }
		:: else
		fi;
#endif
		goto commit;

no_room:	
#ifdef BAD_LOST
		lost++;
#else
		lost = lost + told_of + 1;
#endif

		/* tally_ring_commit() */
commit:		if
#ifndef BAD_NEST
		:: nest > 1 ->
leave:			nest = nest - 1
#endif
		:: else ->
#ifdef BAD_WAKE
			if
			:: wake -> wake = 0; told = 1; pending = 1
			:: else
			fi;
#endif
once_more:
#ifndef BAD_OPEN
			nest = 1;
#endif
			old = head;
#ifdef BAD_LAST
			nest = 0;
#endif
publish:		d_step { publish_(old) };
last:			nest = 0;
#ifndef BAD_AGAIN
again:			if
			:: old != head -> goto once_more
			:: else
			fi;
#endif
#if SLEEPS && !defined(BAD_WAKE)
			/* tally_ring_wake() */
			if
			:: wake ->
				wake = 0;
#ifdef BAD_TOLD
				pending = 1;
				told = 1
#else
				told = 1;
				pending = 1
#endif
			:: else
			fi
#endif
		fi;
		d_step {
			n++;
			outer = 0; old = 0; end = 0; size = 0; told_of = 0; tries = 0;
			top = was; was = 0
		}
	:: else -> break
	od;
	done++
}

#if SLEEPS
/* The irq_work. It runs on the writers' CPU; the model lets it run more often. */
active proctype wakes()
{
end:	do
	:: d_step { pending -> pending = 0; waking = 1 };
		/* One step, because of the wait queue's lock. */
		d_step { triggered = queued; waking = 0 }
	od
}

/* Checked when the reader sleeps, and no wake-up is under way. */
inline it_may_sleep()
{
	assert(MOD(AS_SEEN(data_head) - AS_SEEN(data_tail)) <= WATERMARK);
	assert(data_head == AS_SEEN(head));
#ifdef COUNT
	assert(given - seen < COUNT)
#endif
}

/* A sample begins here, and neither it nor a later one of its writer was read before. */
inline it_is_new(w)
{
	assert(w && PART(w) == 0);
#ifdef BACKWARD
	/* Each read begins with the newest sample, so only a repetition is wrong. */
	assert(!(got >> (LEVEL(w) * 4 + NUMBER(w)) & 1));
#else
	assert(!((got >> (LEVEL(w) * 4) & 15) >> NUMBER(w)));
#endif
	got = got | 1 << (LEVEL(w) * 4 + NUMBER(w));
	seen++
}

active proctype reader()
{
	byte at, from, till, w, i, seen, heard;
	short got;
	bit over;

	/* poll() */
wait:
#ifdef BAD_POLL
	if
	:: told -> told = 0; goto read
	:: else
	fi;
	queued = 1;
	goto sleep;
#endif
	queued = 1;
look:	if
	:: d_step { told -> told = 0; queued = 0; triggered = 0 }; goto read
	:: else
	fi;
sleep:	do
	:: d_step { triggered -> triggered = 0 }; goto look
	:: d_step { QUIET && !triggered && done < 3 -> it_may_sleep() }
	:: d_step { QUIET && !triggered && done == 3 -> it_may_sleep(); over = 1 }; goto read
	od;

read:	atomic {
#ifdef BACKWARD
		at = data_head;
		from = at;
		till = data_tail;
#else
		at = data_tail;
		till = data_head;
#endif
		/* As in perf, a ring is never quite full. */
		assert(MOD(till - at) < N)
	};
	do
	:: at != till ->
		w = data[at & (N - 1)];
		i = 1;
		if
		:: w > LOST -> heard = heard + w - LOST
		:: else ->
			d_step { it_is_new(w) };
			do
			:: i < SIZE(LEVEL(w)) -> d_step {
					assert(data[(at + i) & (N - 1)] == w + i);
					i++
				}
			:: else -> break
			od
		fi;
		atomic {
			at = MOD(at + i);
#ifndef BACKWARD
			data_tail = at;
#endif
			w = 0;
			i = 0
		}
	:: else -> break
	od;
#ifdef BACKWARD
	/* The reader frees up to where it began, not up to the present head. */
	data_tail = from;
#endif
	atomic { at = 0; till = 0; from = 0 };
	if
	:: !over -> goto wait
	:: else -> assert(seen + heard + lost == TOTAL && seen == given)
	fi
}
#endif

#ifdef OVERWRITE
active proctype reader()
{
	byte i, till;

	paused = 1;
#ifndef BAD_GRACE
	/* A writer that read @paused before ends first. */
	top == 0;
#endif
	till = data_head;
	do
	:: i < N -> d_step { assert(data[i] == want[i]); i++ }
	:: else -> break
	od;
	assert(till == data_head && till == AS_SEEN(head));
	d_step { paused = 0; i = 0; till = 0 };
	d_step {
		done == 3;
		do
		:: i < N -> assert(data[i] == want[i]); i++
		:: else -> break
		od;
		assert(data_head == AS_SEEN(head));
		assert(given + retold + lost == TOTAL)
	}
}
#endif

#ifdef GARBAGE
active proctype reader()
{
	d_step {
		done == 3;
		assert(data_head == AS_SEEN(head));
		assert(given + retold + lost == TOTAL)
	}
}
#endif
