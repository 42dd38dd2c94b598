#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=70
#
# Checks the protocols of the ring and of the queue with spin: all states of the models are
# searched, and each mistake that is put into them is found.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh
. scripts/lib.sh

models=$PWD/tests/model
model=ring

# A program that finds a mistake ends so soon that compiling it with -O2 would take longer.
optimize=-O2

mkdir -p "$cache/passed"
tools=$(cat "$models"/*.pml tests/model/model.sh; spin -V; gcc --version)

# Prints the result of a search. A search that is not complete, or does not reach a step,
# fails. A complete one is kept: it gives the same result until the model or a tool changes.
search() (
	cd "$work" || exit
	kept=$cache/passed/$(printf '%s\n' "$tools" "$optimize" "$model" "$@" | key_of).pan
	cp "$kept" pan.out 2>/dev/null && touch "$kept" && cat pan.out && exit
	spin -a "$@" "$models/$model.pml" >spin.out 2>&1 ||
		{ cat spin.out; exit 1; }
	# spin's partial order reduction does not work with `provided'.
	gcc "$optimize" -w -DSAFETY -DNOREDUCE -DMEMLIM=3000 -o pan pan.c || exit
	timeout 300 ./pan -m20000 -w23 >pan.out 2>&1 || exit
	cat pan.out
	! grep -qE 'Search not completed|max search depth|out of memory|pan: reached' pan.out &&
		cp pan.out "$kept.$$" && mv "$kept.$$" "$kept"
)

holds() {
	search "$@" && grep -q 'errors: 0$' "$work/pan.out"
}

finds() {
	local optimize=-O0
	rm -f "$work/pan.out"
	search "$@"
	grep -q 'errors: 1$' "$work/pan.out" && grep -q 'assertion violated' "$work/pan.out"
}

right() {
	local name=$1
	shift
	check "$name" holds "$@"
	sed -n 's/^ *\([0-9]*\) states, stored.*/# \1 states/p' "$work/pan.out"
}

wrong() {
	local name=$1
	shift
	check "found: $name" finds "$@"
}

# labels FILE...: each label that the files name in brackets is in the model.
labels() {
	local label labels
	labels=$(cat "$@" | grep -oE '\[[a-z]+\] \*/' | tr -d '[]*/ ' | sort -u)
	[ -n "$labels" ] || return
	for label in $labels; do
		grep -q "^$label:" "$models/$model.pml" || { echo "no label $label"; return 1; }
	done
}

check 'the labels of src/module/record/ring.c' labels src/module/record/ring.[ch]
right 'each record wakes' -DWATERMARK=0 -DR1=1
right 'half of the ring wakes'
right 'backward, half of the ring wakes' -DBACKWARD
right 'two samples wake' -DCOUNT=2
right 'a large record' -DS0=3 -DS1=2 -DR1=1
right 'overwrite' -DOVERWRITE -DR0=2
right 'overwrite, backward' -DOVERWRITE -DBACKWARD -DR0=2
right 'overwrite, with records as long as the ring' -DOVERWRITE -DS0=4 -DS1=3
right 'any data_tail' -DGARBAGE -DR0=2 -DR2=2
right 'any data_tail, and records longer than the ring' -DGARBAGE -DS1=4 -DS2=5

# Both are run with and without the mistake.
woken=(-DN=8 -DWATERMARK=2 -DS0=3 -DR2=0)
right 'the watermark is never ahead of the head' "${woken[@]}"
wrong 'the watermark moves on from where it is by now' -DBAD_WOKEN "${woken[@]}"
events=(-DN=8 -DWATERMARK=7 -DCOUNT=2 -DS0=1 -DR0=4 -DR1=1 -DR2=0)
right 'the samples since the last one' "${events[@]}"
wrong 'samples are taken off twice' -DBAD_EVENTS "${events[@]}"

wrong 'writers on several CPUs' -DBAD_CPU
wrong 'nested writers tell how far it is' -DBAD_NEST
wrong 'nobody looks again' -DBAD_AGAIN
wrong 'the writer is gone when it looks again' -DBAD_OPEN
wrong 'the writer is gone before it tells' -DBAD_LAST
wrong 'data_head before the data' -DBAD_EARLY
wrong 'the head is moved in two steps' -DBAD_CMPXCHG
wrong 'lost ones are not added back' -DBAD_LOST
wrong 'lost ones are taken in two steps' -DBAD_XCHG -DS0=3
wrong 'nobody looks at data_tail' -DBAD_TAIL
wrong 'a ring that is quite full' -DBAD_FULL
wrong 'nobody looks how long a record is' -DBAD_SIZE -DGARBAGE -DS2=5
wrong 'the wake-up before data_head' -DBAD_WAKE
wrong 'the wake-up before what poll() is to say' -DBAD_TOLD
wrong 'poll() looks before it waits' -DBAD_POLL
wrong 'a writer is overtaken' -DBAD_FIRST -DOVERWRITE
wrong 'a nested writer begins anew' -DBAD_FIRST_NESTED -DOVERWRITE
wrong 'a reader that does not wait for who was writing' -DBAD_GRACE -DOVERWRITE

model=queue
check 'the labels of src/module/base/queue.c' labels src/module/base/queue.c
right 'a queue with both stages'
right 'with four places' -DN=4
right 'with one stage' -DONE
wrong 'queue: nested writers publish' -DBAD_NEST
wrong 'queue: nobody looks again' -DBAD_AGAIN
wrong 'queue: the writer is gone when it looks again' -DBAD_OPEN
wrong 'queue: the writer is gone before it publishes' -DBAD_ORDER
wrong 'queue: published before it is filled in' -DBAD_EARLY
wrong 'queue: a place is taken in two steps' -DBAD_CMPXCHG
wrong 'queue: one place too many' -DBAD_FULL
wrong 'queue: places that the last stage has not read' -DBAD_LAST
wrong 'queue: the second stage does not wait for the first' -DBAD_STAGE
finish
