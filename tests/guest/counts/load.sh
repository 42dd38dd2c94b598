#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The debug kernel has kmemleak; on the stock kernels, the memory in use is measured.
# test: on=debian-6.12 seconds=30
# soak: on=debug-x86_64 args=30 seconds=80
# soak: on=debian-6.1,debian-6.12,debian-6.12-arm64 args=soak
#
# Loading and unloading: leaks, open files, the module's parameters.
#
#	load.sh [CYCLES]	number of cycles; default 10
#	load.sh soak [CYCLES]	number of cycles; default 100
#
# With soak, the memory that the kernel's allocators hold must not grow during the cycles.
# Other activity of the machine is part of that number, too. Without soak, scripts/vm
# looks for leaks with kmemleak if the kernel has it.

. "$(dirname "$0")/lib.sh"
soak='' cycles=${1:-10}
[ "${1:-}" != soak ] || { soak=1 cycles=${2:-100}; }

# Memory that the kernel's allocators hold, in kB.
held() {
	awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}
settle() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	# Wait for memory that is freed after a grace period.
	sleep 1
	# Free the objects that each CPU keeps for later allocations.
	for settle_cache in /sys/kernel/slab/*/shrink; do
		echo 1 >"$settle_cache"
	done
}

# cycle N PARAMETER...: loads and unloads the module N times.
cycle() {
	cycle_left=$1
	shift
	while [ "$cycle_left" -gt 0 ]; do
		insmod "$here/tally.ko" "$@" && rmmod tally || return 1
		cycle_left=$((cycle_left - 1))
	done
}

# again_and_again NAME PARAMETER...: checks that repeated cycles lose no memory. A leak
# grows in each round; memory that is held for other reasons goes up and down by some
# 100 kB. So one round without growth shows that there is no leak.
again_and_again() {
	leaks_name=$1 leaks_i=0
	shift
	ok "$leaks_name: $cycles times loaded and unloaded" cycle "$cycles" "$@"
	# KASAN's quarantine keeps freed memory, which held() would count.
	if [ -z "$soak" ] || [ -e /sys/kernel/debug/kmemleak ]; then
		return
	fi
	while [ $leaks_i -lt 3 ]; do
		leaks_i=$((leaks_i + 1))
		settle
		leaks_before=$(held)
		ok "$leaks_name: $cycles times loaded and unloaded" cycle "$cycles" "$@"
		settle
		leaks_grown=$(($(held) - leaks_before))
		note "$leaks_name, round $leaks_i: kB held grew by $leaks_grown"
		[ $leaks_grown -gt $((cycles * 2)) ] || break
	done
	# A smaller leak than 2 kB per cycle does not show in these numbers.
	between '' $((leaks_grown < 0 ? 0 : leaks_grown)) $((cycles * 2)) "$leaks_name: no memory is lost"
}

again_and_again 'idle'
again_and_again 'with events' events=cpu-clock,page-faults,context-switches
# Grace periods matter no longer from here on.
setting /sys/kernel/rcu_expedited 1
refused 'nothing of tally is left in sysfs' loaded
refused 'nothing of tally is left in debugfs' test -e $tally

# ---- an idle load says how to go on

mark
load_tally
ok 'an idle load says how an event is made' logged 'tally: idle; .*echo page-faults > /sys/kernel/debug/tally/create'
nothing_left 'an idle load has no event'
is "$(create page-faults)" OK 'what the line says works'

# ---- open files hold the module

exec 3<$tally/page-faults/count
refused 'no unload while a file is open' unload_tally 2>/dev/null
is "$(unload_tally 2>&1 | sed 's/.*: //')" 'Resource temporarily unavailable' 'the reason is given'
ok 'the module is still there' loaded
ok 'the open file still reads' test "$(cat <&3)" -gt 0
is "$(remove page-faults)" OK 'the event of an open file can be removed'
refused 'a file of an event that is gone does not open' cat $tally/page-faults/count 2>/dev/null
exec 3<&-
ok 'unload once the file is closed' unload_tally

load_tally events=page-faults
exec 3<$tally/events
refused 'no unload while the list is open' unload_tally 2>/dev/null
exec 3<&-
ok 'unload with an event left' unload_tally
refused 'its folder is gone' test -e $tally

# ---- no debugfs

mark
load_tally debugfs=off
refused 'debugfs=off: no folder' test -e $tally
ok 'debugfs=off: the line speaks of the parameter' logged 'tally: idle; for an event: events='
ok 'debugfs=off: unload' unload_tally
mark
load_tally debugfs=off events=page-faults,no-such-event
ok 'debugfs=off: events start all the same' logged 'tally: 1 events started, 1 failed'
ok 'debugfs=off: unload with events' unload_tally
refused 'a parameter that is no bool fails' insmod "$here/tally.ko" debugfs=perhaps 2>/dev/null
refused 'and loads nothing' loaded

# ---- lists of events

names() { sed 's/ .*//' $tally/events | sort | tr '\n' ' '; }

load_tally events=cpu-clock,page-faults
is "$(names)" 'cpu-clock page-faults ' 'plain names'
is "$(cut -d' ' -f2,3 $tally/events | sort -u)" 'cpu=all active' 'they count on all CPUs'
unload_tally

# An event that this machine does not have: no x86 guest has a PMU, and no ARM guest
# counts LLC-prefetch-misses.
lacking=LLC-prefetch-misses
has_pmu || lacking=cycles
mark
load_tally events=cpu-clock,$lacking,page-faults,no-such-event
is "$(names)" 'cpu-clock page-faults ' 'one that cannot be had does not sink the others'
ok 'the log names it and the errno' logged_errno "$lacking" ENOENT
ok 'the log names one that nobody knows' logged_errno no-such-event ENOENT
ok 'the log has the sum' logged 'tally: 2 events started, 2 failed'
unload_tally

# insmod passes the words to the kernel, which removes the inner quotes.
mark
load_tally 'events="page-faults:u cpu=0 name=u0; cpu-clock disabled ;;context-switches:k  name=cs pinned;"'
is "$(names)" 'cpu-clock cs u0 ' 'lines with options'
is "$(grep '^u0 ' $tally/events | cut -d' ' -f2,3)" 'cpu=0 active' 'their options are taken'
is "$(state cpu-clock)" off 'disabled is taken'
is "$(cat $tally/cs/spec)" 'context-switches:kD cpu=all name=cs' 'modifiers are taken'
ok 'empty entries are no failures' logged 'tally: 3 events started, 0 failed'
unload_tally

load_tally 'events="software/config=2,config1=0/,page-faults"'
is "$(names)" 'page-faults software:config=2,config1=0 ' 'a comma between slashes does not separate'
unload_tally

mark
load_tally 'events="page-faults cpu=99999;page-faults;page-faults;page-faults cpu=0 period=7 name=p;;x y z;name=only"'
is "$(names)" 'p page-faults ' 'bad entries leave the good ones'
ok 'no such CPU' logged_errno cpu=99999 EINVAL
ok 'a name twice' logged_errno page-faults EEXIST
ok 'no event in the line' logged_errno 'x y z' ENOENT
ok 'an option for an event' logged_errno name=only ENOENT
ok 'their sum' logged 'tally: 2 events started, 4 failed'
unload_tally

for empty in '' ',' ',,,' '" ; ; "'; do
	mark
	load_tally "events=$empty"
	ok "events=$empty is an idle load" logged 'tally: idle;'
	nothing_left "events=$empty has no event"
	unload_tally
done

# The kernel's own kind of parameter has up to 1,024 characters.
long() { awk -v n="$1" 'BEGIN { while (n-- > 0) printf "x" }'; }
mark
load_tally "events=$(long 3000)"
ok 'a long parameter is one bad name' logged_errno xxxx ENOENT
ok 'which the log tells cut short' logged '0 events started, 1 failed'
unload_tally

is "$(insmod "$here/tally.ko" event=cycles 2>&1 >/dev/null)" '' 'an unknown parameter loads, as for any module'
ok 'and unloads' unload_tally

finish
