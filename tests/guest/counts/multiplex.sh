#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The PMU interrupts by NMI on debug-arm64, and by an ordinary interrupt on debian-6.12-arm64.
# test: on=debian-6.12-arm64,debug-arm64 seconds=20
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd,debian-6.12:generic seconds=20
#
# A PMU without a free counter: events are multiplexed, require fails, and a pinned event
# is in error, which never looks like a count of 0 (features.md, D.1 #13).

. "$(dirname "$0")/lib.sh"
need_cpus 2
has_pmu || skip_all 'this machine has no PMU'
load_tally

# More events than any PMU has counters. Equal events share one counter of tally, so the
# codes or the modifiers differ. QEMU's PMU accepts any code; all of these count cycles or
# nothing.
codes='r11 r11:u r11:k r11:uk r11:uh r11:kh r23 r23:u r23:k r24 r24:u r24:k r3c r3c:u r3c:k'

# ---- one event

is "$(create cycles cpu=0 name=cycles)" OK 'cycles on one CPU'
is "$(state cycles)" active 'they are counted'
before=$(count cycles)
echo 'spin 200' | as cpu 0 task >/dev/null
at_least $(($(count cycles) - before)) 1000000 'and grow'
is "$(grep '^cycles ' $tally/events | cut -d' ' -f6)" '100.00%' 'on the PMU all the time'
is "$(create cycles name=all)" OK 'cycles on all CPUs'
is "$(rows all | cut -d' ' -f2 | sort -u)" active 'are counted on each'
remove cycles >/dev/null
remove all >/dev/null

# ---- more events than counters: they take turns

n=0
for code in $codes; do
	n=$((n + 1))
	[ "$(create "$code" cpu=0 name=m$n)" = OK ] || note "$code cannot be had"
done
helper as cpu 0 load -b
all_ran() {
	for ran in $tally/m*/running_ns; do
		[ "$(cat "$ran")" -gt 0 ] || return 1
	done
}
ok 'each has its turn' wait_for 60 all_ran
is "$(stat_of events)" $n 'more events than the PMU has counters'
shared=0 wrong=0
while [ $n -gt 0 ]; do
	enabled=$(cat $tally/m$n/enabled_ns) running=$(cat $tally/m$n/running_ns)
	case $(state m$n) in
	active | inactive) ;;
	*) wrong=$((wrong + 1)) ;;
	esac
	[ "$running" -gt 0 ] || wrong=$((wrong + 1))
	[ $((running * 10)) -gt $((enabled * 9)) ] || shared=$((shared + 1))
	n=$((n - 1))
done
is $wrong 0 'each had its turn'
at_least $shared 3 'and no more than that'
ok 'the list scales their counts' awk '$4 > 0 && $6 + 0 < 90 {
	d = $5 / $4 * ($6 + 0) / 100
	if (d < 0.98 || d > 1.02) exit 1
	n++
} END { exit !n }' $tally/events
is "$(awk '$6 + 0 > 100' $tally/events)" '' 'no part is more than the whole'

# CPU 0 has more to share than CPU 1: an event on both is estimated on each.
is "$(create r11 name=both)" OK 'an event on all CPUs'
shared_on_0() { awk '$1 == 0 { exit !($5 && $5 < $4 * 0.9) }' $tally/both/per_cpu; }
ok 'which shares the PMU of CPU 0' wait_for 60 shared_on_0
"$here/tally" disable both
cat $tally/both/per_cpu >$tmp/parts
estimate=$(awk '$5 { sum += $3 * ($4 > $5 ? $4 / $5 : 1) } END { printf "%.0f", sum }' $tmp/parts)
whole=$(awk '{ v += $3; e += $4; r += $5 } END { printf "%.0f", v * e / r }' $tmp/parts)
listed=$(grep '^both ' $tally/events | cut -d' ' -f5)
note "the list has $listed; each CPU's estimate is $estimate, that of the sums $whole"
between $((estimate - $(nproc))) "$listed" $((estimate + 1)) "it is the sum of the CPUs' estimates"
is "$(remove both)" OK 'and goes'
end_helpers
cut -d' ' -f1 $tally/events | while read -r name; do echo "$name"; done >$tally/remove
nothing_left 'all are removed'

# ---- pinned events: on the PMU, or in error

n=0 lost=''
for code in $codes; do
	n=$((n + 1))
	create "$code" cpu=0 pinned name=p$n >/dev/null
	[ "$(state p$n)" != error ] || { lost=p$n; break; }
done
note "$((n - 1)) pinned events fit"
if [ -n "$lost" ]; then
	between 2 $n 32 'a pinned event without room is in error'
	is "$(rd $tally/$lost/count)" ENODATA 'its count is an error'
	is "$(cut -d' ' -f1-5 $tally/events | tail -n 1)" "$lost cpu=0 error - -" 'and a dash in the list'
	is "$(rows "$lost" | cut -d' ' -f1-3)" '0 error -' 'and in per_cpu'
	is "$(state p1)" active 'the others count'
	ok 'and have a count' is_number "$(count p1)"
	like "$(cat $tally/$lost/spec)" '*D cpu=0 name=p*' 'its spec is that of a pinned event'
else
	fail 'a pinned event without room is in error'
fi

# ---- require: EBUSY instead of waiting

mark
is "$(create r2b cpu=0 require name=must)" EBUSY 'require on a full PMU'
ok 'the log has the reason' logged 'the PMU is taken'
refused 'it is not there' test -e $tally/must
is "$(create r2b require name=must)" EBUSY 'nor on all CPUs, of which one is full'
is "$(create r2b cpu=0 pinned require name=must)" EBUSY 'nor as a pinned one'
is "$(create r2b cpu=0 exclusive require name=must)" EBUSY 'nor as an exclusive one'
is "$(create r2b cpu=0 disabled require name=must)" EBUSY 'nor if it starts later'
is "$(create r2b cpu=1 require name=elsewhere)" OK 'another CPU has room'
is "$(state elsewhere)" active 'and counts it'
is "$(create r2b cpu=0 name=waits)" OK 'without require it waits'
is "$(state waits)" inactive 'inactive'
is "$(grep '^waits ' $tally/events | cut -d' ' -f3-)" 'inactive 0 - 0.00%' 'and no estimate is made of nothing'
is "$(create page-faults cpu=0 require name=soft)" OK 'software events always have room'
is "$(create page-faults pid=1 require name=task)" OK 'a task that does not run is not waited for'

# Make room again by removing p2: p1 may have the counter that counts cycles only.
is "$(remove p2)" OK 'one goes'
ok 'the one that waits has its turn' wait_for 60 state_is waits active
is "$(remove waits)" OK 'and goes'
is "$(create r2b cpu=0 require disabled name=must)" OK 'now there is room'
is "$(state must)" off 'for later'

cut -d' ' -f1 $tally/events >$tmp/names
cat $tmp/names >$tally/remove
nothing_left 'all are removed'
finish
