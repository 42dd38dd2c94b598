/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of src/module/base/queue.c, for spin; tests/model/model.sh runs it. The comments
 * of that file name the labels of this one in brackets.
 *
 * One CPU has a task, an interrupt and an NMI that write samples. Each writer may begin between
 * any two steps of a lower one, and runs to its end before the lower one goes on. A step is one
 * access to shared memory. The readers of the two stages take their steps at any time. With
 * ONE, the queue has the stage of works alone. All positions have 4 bits, and begin shortly
 * before they wrap.
 *
 * R0, R1 and R2 are the numbers of samples that the task, the interrupt and the NMI write.
 * BAD_* are mistakes that must be found.
 *
 * The memory of this model is sequentially consistent. So the model presumes the barriers that
 * src/module/base/queue.c describes, and does not find a missing one.
 */

#ifndef N
#define N 2	/* places, a power of two */
#endif
#ifndef R0
#define R0 2
#endif
#ifndef R1
#define R1 2
#endif
#ifndef R2
#define R2 1
#endif

#define START		13
#define MOD(x)		((x) & 15)
#define AT(x)		((x) & (N - 1))
#define SAMPLES(l)	((l) == 0 -> R0 : ((l) == 1 -> R1 : R2))
#define TOTAL		(R0 + R1 + R2)

/* A sample has its writer and its number; none is 0. */
#define SAMPLE(l, n)	(1 + (l) * 4 + (n))
#define LEVEL(s)	(((s) - 1) / 4)
#define NUMBER(s)	(((s) - 1) % 4)

/* struct tally_queue; the stages of tally_queue::done */
#define IRQ	0
#define WORK	1
byte nest, reserved = START, head = START, missed;
byte done[2] = START;
byte data[N];

byte top;		/* the writer that runs on the CPU, plus 1; 0 for idle */
byte ended;		/* number of writers that have written all their samples */

/* The expected state, which only assertions read. */
bit filled[N];		/* the place has what its last writer writes */
byte given;		/* places reserved */

/* The position up to which writers may fill places again. */
#ifdef BAD_LAST
#define LAST	IRQ
#else
#define LAST	WORK
#endif

/* In the same step as storing @head: all places up to there are filled in, and not read yet. */
inline publish(x)
{
	byte p;

	d_step {
		assert(MOD((x) - head) <= N);
		p = MOD(done[WORK]);
		do
		:: p != MOD(x) -> assert(filled[AT(p)]); p = MOD(p + 1)
		:: else -> break
		od;
		p = 0;
		head = MOD(x)
	}
}

active [3] proctype writer() provided (top <= _pid + 1)
{
	byte was, n, old, pos;

	do
	:: n < SAMPLES(_pid) ->
		d_step { was = top; top = _pid + 1 };

		/* tally_queue_reserve() */
		old = nest;
enter:		nest = old + 1;
		old = reserved;
try:		pos = old;
		if
#ifdef BAD_FULL
		:: MOD(pos - done[LAST]) > N -> missed++; goto commit
#else
		:: MOD(pos - done[LAST]) > N - 1 -> missed++; goto commit
#endif
		:: else
		fi;
reserve:	atomic {
			old = reserved;
			if
#ifndef BAD_CMPXCHG
			:: old != pos -> goto try
#endif
			:: else ->
				reserved = MOD(pos + 1);
				given++;
				/* Nobody fills the place in, and it has been read by all. */
				assert(MOD(pos - done[WORK]) < N);
				filled[AT(pos)] = 0
			fi
		};
#ifdef BAD_EARLY
		if
		:: nest == 1 -> publish(reserved)
		:: else
		fi;
#endif
		/* The caller fills in the sample. */
		d_step { data[AT(pos)] = SAMPLE(_pid, n); filled[AT(pos)] = 1 };

		/* leave() */
commit:		old = nest;
		if
#ifndef BAD_NEST
		:: old > 1 ->
leave:			nest = old - 1
#endif
		:: else ->
again:			old = reserved;
#ifdef BAD_ORDER
			nest = 0;
#endif
			publish(old);
last:			nest = 0;
#ifndef BAD_AGAIN
			if
			:: reserved != old ->
#ifndef BAD_OPEN
				nest = 1;
#endif
				goto again
			:: else
			fi
#else
			skip
#endif
		fi;
		d_step { n++; old = 0; pos = 0; top = was; was = 0 }
	:: else -> break
	od;
	ended++
}

/* A sample is there, and neither it nor a later one of its writer was read before. */
inline it_is_new(s, got)
{
	assert(s && !((got >> (LEVEL(s) * 4) & 15) >> NUMBER(s)));
	got = got | 1 << (LEVEL(s) * 4 + NUMBER(s))
}

#ifndef ONE
active proctype irq_reader()
{
	short got;

end:	do
	:: d_step {
		done[IRQ] != head ->
		assert(filled[AT(done[IRQ])]);
		it_is_new(data[AT(done[IRQ])], got)
	   };
	   done[IRQ] = MOD(done[IRQ] + 1)
	od
}
#define FIRST	done[IRQ]
#else
#define FIRST	head
#endif

#ifdef BAD_STAGE
#undef FIRST
#define FIRST	head
#endif

active proctype work_reader()
{
	byte read;
	short got;

	do
	:: d_step {
		done[WORK] != FIRST ->
#ifndef ONE
		/* The interrupt's stage has read it. */
		assert(MOD(done[IRQ] - done[WORK]) != 0 && MOD(done[IRQ] - done[WORK]) <= N);
#endif
		assert(filled[AT(done[WORK])]);
		it_is_new(data[AT(done[WORK])], got);
		read++
	   };
	   done[WORK] = MOD(done[WORK] + 1)
	:: d_step {
		top == 0 && ended == 3 && done[WORK] == head ->
		/* Whatever was reserved is published, and nobody is inside. */
		assert(head == reserved && nest == 0)
	   } -> break
	od;
	assert(read == given && read + missed == TOTAL)
}
