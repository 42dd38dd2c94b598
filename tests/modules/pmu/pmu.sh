#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64 args=5 seconds=20
# test: on=debug-x86_64 args="0 brief" seconds=15 also="lockdep sees whether a read leaves interrupts enabled, KASAN whether a PMU is used that has gone"
# all: on=debug-x86_64 vm="--smp 4" args=5 seconds=75
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=5 seconds=20
# soak: on=debug-x86_64,debug-arm64 args=30 seconds=120
# soak: on=debian-7 args="0 gone" seconds=20
#
# pmu.sh [CYCLES [brief]]: events of PMUs that the machines of the tests do not have; tally_pmu.ko
# has them. Events migrate by CYCLES cycles of hotplug (200). With "brief", only the first reads are
# tested, and a driver that is removed. With "gone", only a PMU that is removed while events count on
# it, which Linux can do since 6.15. The parts have the numbers of a list of defects that were
# found by reading:
#
#	M1 a PMU that serves some CPUs	M2 kinds of cores	M3 AUX buffers
#	M4 events that migrate		M5 the driver's samples	M8 gauges, scales, empty reads
#	M10 reads that lock

. "$(dirname "$0")/lib.sh"
if [ "${2-}" ]; then
	need_cpus 2
else
	need_cpus 4
fi
cycles=${1:-200}
load_tally
test_pmu=/sys/kernel/debug/tally_pmu

nr=$(nproc)
last=$((nr - 1))
# Without a PMU of the machine's own, the test's core PMU has its place.
raw=1
! has_pmu || raw=0

advance() { echo "$1" >$test_pmu/advance; }
served_by() { rows "$1" | cut -d' ' -f1 | xargs; }
served_are() { [ "$(served_by "$1")" = "$2" ]; }
online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }
# served NAME: "N of M" of the list of events.
served() { grep "^$1 " $tally/events | cut -d' ' -f7-; }
listed() { [ "$(served "$1")" = "$2" ]; }

# ---- a PMU goes, and another one has its number

if [ "${2-}" = gone ]; then
	insmod tally_pmu.ko raw=$raw
	core=cpu
	[ $raw = 1 ] || core=tally_core
	is "$(create $core/event=0x01/ cpu=1 name=one)" OK 'gone: an event on a CPU'
	is "$(create $core/event=0x01/ name=all)" OK 'gone: and on all'
	is "$(create cs name=cs)" OK 'gone: one of another PMU'
	before=$(cat $test_pmu/written1)
	echo $((before + 50)) >$test_pmu/written1
	is "$(count one) $(state one) $(count all) $(state all)" '50 active 50 active' 'gone: they count'
	echo 1 >$test_pmu/replace
	is "$(count one) $(state one) $(count all) $(state all)" '50 exited 50 exited' \
		'gone: the counts stay, and the states say so'
	cs_is_on_1() { [ "$(cpu_line cs 1 | cut -d' ' -f1)" = "$1" ]; }
	online 1 0
	ok 'gone: a CPU goes' wait_for 60 cs_is_on_1 offline
	online 1 1
	ok 'gone: and comes' wait_for 60 cs_is_on_1 active
	other=$(cat /sys/bus/event_source/devices/tally_other/type)
	is "$(create "$other/config=0x01/" cpu=1 name=other)" OK 'gone: an event of the other PMU'
	echo $((before + 120)) >$test_pmu/written1
	is "$(count other) $(state other)" '70 active' 'gone: it counts'
	is "$(count one) $(state one) $(count all) $(state all)" '50 exited 50 exited' \
		'gone: nothing is counted on the other PMU'
	is "$(remove one) $(remove all) $(remove cs) $(remove other)" 'OK OK OK OK' 'gone: all can be removed'
	rmmod tally_pmu
	nothing_left 'all events are gone'
	finish
fi

# ---- cycles and instructions, multiplexing, reads in the PMU's own interrupts

insmod tally_pmu.ko domain_cpus=4 raw=$raw
if [ $raw = 1 ]; then
	echo 20 >/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms
	mark
	is "$(create cycles cpu=0 name=c)" OK 'cycles on x86-64'
	is "$(create instructions name=i)" OK 'instructions on all CPUs'
	is "$(state c) $(state i)" 'active active' 'both are counted'
	ok 'no register has the counts, which is found out at once' logged 'cpu: the registers do not have'
	before=$(count c)
	echo 'spin 20' | as cpu 0 task >/dev/null
	at_least $(($(count c) - before)) 20000000 'one each nanosecond, at least while a task spins'
	is "$(served i)" "$nr of $nr" 'all CPUs are served'
	remove c >/dev/null
	remove i >/dev/null
	results ./devpmu files

	# Each event counts another multiple of what is written: no two are one.
	total=$(cat $test_pmu/written0)
	# multiple EVENT N
	multiple() {
		create "$1" cpu=0 name=e >/dev/null
		total=$((total + 10))
		echo $total >$test_pmu/written0
		is "$(count e)" $((10 * $2)) "$1 is event number $(($2 - 1))"
		remove e >/dev/null
	}
	for event in cache-references=2 cache-misses=3 branches=4 branch-misses=5 bus-cycles=6 \
		stalled-cycles-frontend=7 stalled-cycles-backend=8; do
		multiple "${event%=*}" $((${event#*=} + 1))
	done
	at=0
	for cache in L1-dcache L1-icache LLC dTLB iTLB branch node; do
		for op in load store prefetch; do
			plural=s
			[ $op != prefetch ] || plural=es
			multiple $cache-$op$plural $((at + 1))
			multiple $cache-$op-misses $((at + 2))
			at=$((at + 2))
		done
	done
	bit=1
	for level in user kernel hv idle host guest; do
		answer=$(create "r1 cpu=0 exclude=$level name=e")
		if [ "$level $(uname -m)" = 'idle x86_64' ]; then
			is "$answer" EINVAL "x86 cannot leave out $level"
		else
			is "$(cat $test_pmu/excluded)" $bit "the driver is to leave out $level"
		fi
		bit=$((2 * bit))
		remove e >/dev/null
	done
fi
as cpu 0 insmod tally_pmu_reads.ko raw=$raw
module_results tally_pmu_reads
rmmod tally_pmu_reads

results ./devpmu lists

# ---- budgets of a PMU whose registers are written when the PMU is enabled

core=cpu
[ $raw = 1 ] || core=tally_core
total=$(cat $test_pmu/written0)
window() { sed -n 's/^0 //p' $tally/b/budget | cut -d' ' -f"$1"; }
is_later() { [ "$(window 1)" -gt "$began" ]; }
# in_next_window N: all in one interrupt
in_next_window() {
	began=$(window 1)
	wait_for 60 is_later
	total=$((total + $1))
	echo $total >$test_pmu/written0
}
exceeded_are() { [ "$(window 4) $(cat $tally/b/overflows)" = "$1 $1" ]; }
is "$(create $core/event=0x01/ cpu=0 budget=100/500ms name=b)" OK 'budget: an event of a PMU'
for n in 1 2 3; do
	in_next_window 150
	ok "budget: window $n of 3 is exceeded, and tells at once" wait_for 60 exceeded_are $n
done
for n in 1 2 3; do
	in_next_window 80
	ok "budget: window $n of 3 is not" exceeded_are 3
done
in_next_window 0
is "$(window 4) $(count b)" '3 690' 'budget: all is counted'
is "$(remove b)" OK 'budget: it is removed'

# ---- a driver's module is removed while somebody reads a file of its PMU

device=/sys/bus/event_source/devices/tally_empty
# is_in PID FUNCTION
is_in() { grep -qs "$2" "/proc/$1/stack"; }
echo Y >/sys/module/tally_pmu/parameters/hold_reads
cat $device/held >/dev/null 2>&1 &
reader=$!
ok 'a driver is removed: somebody reads a file of its PMU' wait_for 60 is_in $reader held_show
rmmod tally_pmu >/dev/null 2>&1 &
remover=$!
ok 'a driver is removed: that waits for the reader' wait_for 60 is_in $remover kernfs_drain
ok 'a driver is removed: the PMU is still there' test -e $device
mark
is "$(create tally_empty/going/ period=100 name=e)" EINVAL 'a driver is removed: its events are not known'
refused 'a driver is removed: it is not called' logged 'called although'
echo N >/sys/module/tally_pmu/parameters/hold_reads
ok 'a driver is removed: then it goes' wait $remover
refused 'a driver is removed: and so does the PMU' test -e $device
# The file goes before cat has read to its end.
wait $reader
if [ "${2-}" = brief ]; then
	nothing_left 'all events are gone'
	finish
fi
insmod tally_pmu.ko domain_cpus=4 raw=$raw

# ---- M5: samples that a driver fills in. A CPU that comes back makes no interrupts any more.

results ./devprecise same

# ---- M1: a PMU that serves some CPUs, and has its own error for the others

for refusal in 2:ENOENT 19:ENODEV 22:EINVAL; do
	word=${refusal#*:}
	echo "${refusal%:*}" >$test_pmu/refusal
	echo 0 >$test_pmu/served
	is "$(create tally_foreign/config=1/ name=f)" OK "M1 $word elsewhere: the event is made"
	is "$(served f) $(served_by f)" "1 of $nr 0" "M1 $word elsewhere: one CPU is served"
	advance 7
	is "$(count f)" 7 "M1 $word elsewhere: it is counted"
	online $last 0
	online $last 1
	ok "M1 $word elsewhere: a CPU that is not served comes back" wait_for 60 served_are f 0
	echo 0,$last >$test_pmu/served
	online $last 0
	online $last 1
	ok "M1 $word elsewhere: it is served from now on" wait_for 60 served_are f "0 $last"
	advance 5
	is "$(count f)" 17 "M1 $word elsewhere: both are counted"
	online $last 0
	echo 0 >$test_pmu/served
	online $last 1
	ok "M1 $word elsewhere: it is served no more" wait_for 60 listed f "1 of $nr"
	advance 3
	is "$(state f) $(count f)" 'active 20' "M1 $word elsewhere: the others' counts are shown"
	is "$(remove f)" OK "M1 $word elsewhere: it is removed"
	is "$(stat_of hotplug_errors)" 0 "M1 $word elsewhere: no error"
	echo '' >$test_pmu/served
	is "$(create tally_foreign/config=1/ name=f)" $word "M1 $word on all CPUs: its error"
done

# The members of a set are counted where each of them is, on CPUs that the first one has not, too.
echo 0 >$test_pmu/served
"$here/tally" stat -a -A -x, -o $tmp/served -e '{tally_foreign/config=1/,cpu-clock}' sleep 0.1
is "$(grep -c '^CPU[0-9]*,[0-9].*,cpu-clock,' $tmp/served)" $nr 'M1 a set with another PMU: all CPUs are counted'
is "$(grep -c '^CPU[0-9]*,[0-9].*,tally_foreign/config=1/,' $tmp/served)" 1 \
	'M1 a set with another PMU: the first member is counted where it is served'

# An error that is no answer about the CPU: no memory, for one CPU that comes online.
echo 0-$((last - 1)) >$test_pmu/served
online $last 0
is "$(create tally_foreign/config=1/ name=f)" OK 'M1 an error on one CPU: the event is made'
echo 12 >$test_pmu/refusal
online $last 1
has_error() { [ "$(cpu_line f $last)" = 'error - 0 0 0' ]; }
ok 'M1 an error on one CPU: per_cpu has it' wait_for 60 has_error
advance 3
is "$(count f)" $((3 * last)) "M1 an error on one CPU: the others' counts are shown"
is "$(state f) $(served f)" "active $last of $nr" 'M1 an error on one CPU: the list says how many'
echo 0-$last >$test_pmu/served
online $last 0
online $last 1
ok 'M1 an error on one CPU: it is asked again' wait_for 60 listed f "$nr of $nr"
remove f >/dev/null

# ---- M3: PMUs with AUX buffers

mark
is "$(create tally_aux/config=1/ name=aux)" EOPNOTSUPP 'M3 a PMU with AUX buffers'
ok 'M3 the log has the reason' logged 'AUX'
if command -v perf >/dev/null; then
	ok 'M3 perf has it to itself' perf stat -a -e tally_aux/config=1/ true
fi

# ---- M4: events that migrate

rmmod tally_pmu
insmod tally_pmu.ko domain_cpus=2 raw=$raw
results ./devpmu moves

domains="$((nr / 2)) of $nr"
echo 0-$last >$test_pmu/served
is "$(create tally_foreign/config=1/ name=f)" OK 'M4 an event that is repaired before it, or after it'
is "$(create tally_uncore/config=1/ name=u)" OK 'M4 an event of each domain'
is "$(served u)" "$domains" 'M4 one CPU of each domain counts'

# A repair that is late: it is at work on another event while this one is moved.
repaired() { [ "$(stat_of hotplug_repairs)" = "$1" ]; }
repair_waits() {
	grep -l '^Name:.tally_hotplug' /proc/[0-9]*/status 2>/dev/null | xargs grep -q '^State:.D'
}
# The thread keeps off the CPU on which the driver has its reader, which nothing interrupts.
for status in $(grep -l '^Name:.tally_hotplug' /proc/[0-9]*/status); do
	ok 'M4 a late repair: the thread that repairs stays on CPU 0' \
		taskset -p 1 "$(echo "$status" | cut -d/ -f3)"
done
file_is() { [ "$(cat $test_pmu/"$1")" = "$2" ]; }
is "$(create tally_foreign/config=2/ name=g)" OK 'M4 a late repair: another one, so that one is repaired first'
repairs=$(stat_of hotplug_repairs)
online $last 0
ok 'M4 a late repair: its CPU goes' wait_for 60 repaired $((repairs + 2))
echo Y >$test_pmu/block
echo 0 >$test_pmu/served
online $last 1
ok 'M4 a late repair: the CPU is back, and the repair waits' wait_for 60 file_is blocked Y
echo 1 >$test_pmu/hold
online $last 0 &
ok 'M4 a late repair: the CPU goes, and the other event moves' wait_for 60 file_is migrating Y
echo N >$test_pmu/block
# A read waits until the first event is repaired.
ok 'M4 a late repair: it goes on' wait_for 60 file_is blocked N
# The repair comes to the event that moves, and waits there.
ok 'M4 a late repair: it waits for the event that moves' wait_for 60 repair_waits
echo 0 >$test_pmu/hold
wait $!
advance 4
online $last 1
advance 3
is "$(count u)" $((7 * nr / 2)) 'M4 a late repair: no count is lost'
remove f >/dev/null
remove g >/dev/null
is "$(stat_of hotplug_repairs)" $((repairs + 2)) 'M4 a late repair: an event that moves needs none'
before=$(($(cat $test_pmu/total) - $(count u)))
is "$(create tally_uncore/config=1/ cpu=$last name=one)" OK 'M4 an event of one domain'
one_before=$(cat $test_pmu/total$last)
advancing() {
	while [ -e $tmp/advancing ]; do
		advance 1
	done
}
: >$tmp/advancing
advancing &
advancer=$!
moved=$(cat $test_pmu/migrations)
errors=$(stat_of hotplug_errors)
repairs=$(stat_of hotplug_repairs)
n=0
while [ $n -lt "$cycles" ]; do
	online $last 0
	online $last 1
	n=$((n + 1))
done
rm $tmp/advancing
wait $advancer
is $(($(cat $test_pmu/migrations) - moved)) $((2 * cycles)) "M4 $cycles cycles: the events migrated each time"
at_least $(($(cat $test_pmu/total) - before)) $cycles "M4 $cycles cycles: there was something to count"
is "$(count u)" $(($(cat $test_pmu/total) - before)) "M4 $cycles cycles: no count is lost, and none invented"
is "$(count one)" $(($(cat $test_pmu/total$last) - one_before)) "M4 $cycles cycles: nor of one domain"
is "$(stat_of hotplug_repairs)" $repairs "M4 $cycles cycles: and none is repaired"
is "$(state u) $(served u)" "active $domains" "M4 $cycles cycles: it counts"
is "$(stat_of hotplug_errors)" $errors "M4 $cycles cycles: no error"
remove u >/dev/null
remove one >/dev/null

# ---- M8: gauges, scales and units

is "$(create tally_gauge/config=1/ cpu=0 name=level)" OK 'M8 a gauge'
echo 50 >$test_pmu/level
is "$(cat $tally/level/value)" '25 C' 'M8 a gauge: its value has a scale and a unit'
echo 21 >$test_pmu/level
is "$(cat $tally/level/value)" '10.50 C' 'M8 a gauge: it falls'
is "$(count level)" 21 'M8 a gauge: the raw count stays'
is "$(create tally_gauge/config=1/ cpu=0 name=late)" OK 'M8 a gauge that is read later'
echo 5 >$test_pmu/level
is "$(cat $tally/late/value)" '2.50 C' 'M8 a gauge that is read later: it is not negative'
says_level() { "$here/tally" "$@" 2>&1 | grep -c "$level"; }
level='"gauge":2.5,"unit":"C"'
is "$(says_level list --running --json level)" 1 'M8 a gauge: tally list has its value and no rate'
level='^tally_event_gauge{event="level",.* 2.500000000$'
is "$(says_level export --once)" 1 'M8 a gauge: tally export knows it from a counter'
level='^2.50,C,tally_gauge/config=1/,'
is "$(says_level stat -C 0 -x, -e tally_gauge/config=1/ true)" 1 'M8 a gauge: tally stat prints its value'
is "$(create tally_gauge/config=2,config1=0x10/ cpu=0 name=energy)" OK 'M8 a unit'
echo 123456789005 >$test_pmu/level
is "$(cat $tally/energy/value)" '28.74 Joules' 'M8 a unit: as perf stat prints it'
is "$(count energy)" 123456789000 'M8 a unit: the raw count stays'
unit_of() { "$here/tally" "$@" 2>&1 | grep -c ' Joules '; }
is "$(unit_of stat --attach energy true)" 1 'M8 a unit: tally stat --attach has it'
gauge=$(cat /sys/bus/event_source/devices/tally_gauge/type)
for name in tally_gauge/energy/ "tally_gauge/energy,config1=0x10/" "$gauge/energy/" \
	"$gauge/config=2,config1=0x10/"; do
	is "$(unit_of stat -a -e "$name" true)" 1 "M8 a unit: and for $name"
done
is "$(unit_of list --running)" 1 'M8 a unit: tally list has it'
is "$(unit_of top --once)" 1 'M8 a unit: tally top'
is "$("$here/tally" export --once | sed -n 's/^tally_event_total{event="energy",.*,unit="joules"} //p')" \
	28.744523646 'M8 a unit: and tally export, with the whole count'
ok 'M8 a unit: tally watch compares it' "$here/tally" watch -n 1 -I 50 -C 0 'tally_gauge/energy/ >= 0/s'
is "$(create tally_gauge/config=2/ cpu=0 name=other)" OK 'M8 an event that the PMU does not describe'
refused 'M8 it has no such file' test -e $tally/other/value
is "$(create tally_gauge/config=3/ cpu=0 name=plain)" OK 'M8 an event without a unit'
refused 'M8 nor has it one' test -e $tally/plain/value
is "$(create tally_gauge/config=1/ cpu=1 name=back)" OK 'M8 a gauge of another CPU'
echo 50 >$test_pmu/level
is "$(count back)" 50 'M8 a gauge of another CPU: its level'
online 1 0
online 1 1
back_is() { [ "$(state back) $(count back)" = "$1" ]; }
echo 21 >$test_pmu/level
ok 'M8 a gauge whose CPU comes back: the level alone' wait_for 60 back_is 'active 21'
for name in back level late energy other plain; do
	remove $name >/dev/null
done

# ---- M2: two kinds of cores

rmmod tally_pmu
insmod tally_pmu.ko hybrid=1 raw=$raw
all=$(seq -s ' ' 0 $last)
is "$(create ref-cycles name=c)" OK 'M2 cycles on all CPUs'
is "$(served c) $(served_by c)" "$nr of $nr $all" 'M2 cycles on all CPUs: both kinds are counted'
is "$(create tally_little/config=0x3c/ name=little)" OK 'M2 an event of one kind'
is "$(served little) $(served_by little)" "$((nr / 2)) of $nr $(seq -s ' ' 1 2 $last)" 'M2 an event of one kind: the list says how many CPUs'
is "$(create tally_big/config=0x3c/ cpu=1 name=wrong)" ENOENT 'M2 a CPU of the other kind'
remove little >/dev/null
remove c >/dev/null
if [ $raw = 1 ]; then
	is "$(create r3c name=raw)" OK 'M2 a raw event on all CPUs'
	is "$(served raw) $(served_by raw)" "$nr of $nr $all" 'M2 a raw event on all CPUs: both kinds are counted'
	# Its two halves are on no PMU at the same time.
	begin_task task
	is "$(create r3c pid=$child name=t)" OK 'M2 a raw event for a task'
	# The guest's clock may go on in steps of 4 ms, of which a task that moves may lose two.
	for cpu in 0 1 0 1; do
		before=$(count t)
		order on $cpu
		order spin 100
		at_least $(($(count t) - before)) 91000000 "M2 a raw event for a task: CPU $cpu is counted"
	done
	end_task
	remove t >/dev/null
	remove raw >/dev/null
	as cpu 0 insmod tally_pmu_reads.ko hybrid=1
	module_results tally_pmu_reads
	rmmod tally_pmu_reads
	results ./devpmu written
fi
if [ $raw = 0 ] && [ "$(uname -m)" = x86_64 ]; then
	# The machine's own PMU serves all CPUs, and cycles are counted there a second time.
	skip 'no CPU is of one kind alone here' 'M2 cycles and inherited events'
else
	results ./devpmu kinds
fi
rmmod tally_pmu
nothing_left 'all events are gone'
finish
