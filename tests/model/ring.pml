/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of src/module/record/ring.c, for spin; tests/model/model.sh runs it. The labels
 * are those that the comments there name in brackets.
 *
 * One CPU has a task, an interrupt and an NMI that write records. Each may begin
 * between any two steps of one below it, and runs to its end before that goes on. A
 * step is one access to what they share. On another CPU a reader, and what wakes it,
 * take steps in between as they like. All is counted in words, and numbers of words
 * have 5 bits: they wrap. They begin shortly before that.
 *
 * What is looked at, by defines:
 *
 * (none)	The reader waits in poll(), reads what is there, and gives it back.
 *		WATERMARK words wake it, COUNT samples do if that is defined.
 * BACKWARD	Each record is in front of the one before.
 * OVERWRITE	The oldest records go. The reader looks at the whole ring once while
 *		it is paused, and when all is over.
 * GARBAGE	Who has the mapping writes anything for data_tail, at any time: so
 *		has_room() says anything.
 *
 * BAD_WOKEN and BAD_EVENTS are what perf's own ring does: one step too many between
 * looking and writing, and an interrupt in between wakes too often, or too late.
 *
 * R0 R1 R2 are how many records the task, the interrupt and the NMI write, S0 S1 S2
 * how many words each has. BAD_* are mistakes: each is to be found.
 *
 * This model's memory is sequentially consistent. So it takes for granted what the
 * letters in src/module/record/ring.c promise: R and S between the writer and the reader, T (one CPU
 * sees what it does in its order) and U (the lock of the wait queue). BAD_POLL is U
 * in the wrong order; for the others nothing here would tell a missing barrier.
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
#define SLEEPS 1	/* there is a reader that waits, and reads all */
#endif

#define START		28
#define MOD(x)		((x) & 31)
#define HALF		16	/* from here on it is less than 0 */
#define RECORDS(l)	((l) == 0 -> R0 : ((l) == 1 -> R1 : R2))
#define SIZE(l)		((l) == 0 -> S0 : ((l) == 1 -> S1 : S2))
#define TOTAL		(R0 + R1 + R2)

/* A word of a sample says whose it is, which one, and where in it; from 1 on. */
#define WORD(l, n, i)	(1 + (l) * 32 + (n) * 8 + (i))
#define LEVEL(w)	(((w) - 1) / 32)
#define NUMBER(w)	((((w) - 1) % 32) / 8)
#define PART(w)		(((w) - 1) % 8)
/* A LOST record is one word: how many. */
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

byte top;		/* the CPU: 0 for idle, 1 + who runs */
byte done;		/* how many have written all their records */

/* What ought to be: no code looks at these. */
byte want[N];		/* what the last one who reserved this word is to write there */
byte owner[N];		/* 1 + who reserved it and has not filled in all */
byte given, retold;	/* records reserved; lost ones that a LOST record tells of */

#define QUIET	(top == 0 && !pending && !waking)

/* has_room(): whether the words up to x may be written over. */
#ifdef OVERWRITE
#ifdef BAD_FIRST
#define HAS_ROOM(x)	true
#else
#define HAS_ROOM(x)	(MOD((x) - began) <= N)
#endif
#elif defined(BAD_TAIL) || defined(GARBAGE)
#define HAS_ROOM(x)	true
#elif defined(BAD_FULL)
#define HAS_ROOM(x)	(MOD((x) - AS_SEEN(data_tail)) <= N)
#else
#define HAS_ROOM(x)	(MOD((x) - AS_SEEN(data_tail)) < N)
#endif
#ifdef BAD_SIZE
#define TOO_LONG(size)	false
#else
#define TOO_LONG(size)	((size) > N)
#endif

/* place(): where word i is of a record that ends at x. */
#ifdef BACKWARD
#define PLACE(x, size)	(MOD(-(x)) & (N - 1))
#else
#define PLACE(x, size)	(MOD((x) - (size)) & (N - 1))
#endif
#define AT(i)		((PLACE(end, size) + (i)) & (N - 1))

/* Word i of what is to be written: LOST first, if there is one. */
#define TO_WRITE(i)	(told_of -> ((i) == 0 -> LOST + told_of : WORD(_pid, n, (i) - 1)) \
				 : WORD(_pid, n, i))

/* In the same step as the reservation. */
inline it_is_ours()
{
	/* In the mapping, which has the ring twice. */
	assert(size <= N && PLACE(end, size) + size <= 2 * N);
	given++;
	retold = retold + told_of;
#ifndef GARBAGE
	i = 0;
	do
	:: i < size ->
		/* Nobody is at these words who was interrupted. */
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

/* In the same step as storing data_head: what that tells of is there. */
inline what_is_told_is_there(x)
{
	/* It never goes back. */
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

active [3] proctype writer() provided (top <= _pid + 1)
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
		/* Else nobody reads it. */
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
			/* Only who interrupts us makes us try again. */
			tries++;
			assert(tries <= TOTAL);
			old = head;
			end = MOD(old + size)
		};
		if
#ifdef GARBAGE
		:: goto no_room
#else
		:: !HAS_ROOM(end) || TOO_LONG(size) -> goto no_room
#endif
		:: HAS_ROOM(end) && !TOO_LONG(size)
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
		/* Else each record would wake the reader, from now on. */
		assert(MOD(head - woken) < HALF);
#endif
#ifdef BAD_EARLY
		if
		:: nest == 1 -> d_step { publish_(head) }
		:: else
		fi;
#endif

		/* Whoever called. */
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
/* The irq_work. It runs on the writers' CPU; more often than that is no harm. */
active proctype wakes()
{
end:	do
	:: d_step { pending -> pending = 0; waking = 1 };
		/* The queue's lock. */
		d_step { triggered = queued; waking = 0 }
	od
}

/* When the reader sleeps, and nobody is about to wake it. */
inline it_may_sleep()
{
	assert(MOD(AS_SEEN(data_head) - AS_SEEN(data_tail)) <= WATERMARK);
	assert(data_head == AS_SEEN(head));
#ifdef COUNT
	assert(given - seen < COUNT)
#endif
}

/* It is whole, and none came before that is later, or this one. */
inline it_is_new(w)
{
	assert(w && PART(w) == 0);
#ifdef BACKWARD
	/* What is read at a time begins with the newest. */
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
		/* As perf, never quite full. */
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
	/* Where it began; the writers may be elsewhere by now. */
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
	/* Who had looked before ends first. */
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
