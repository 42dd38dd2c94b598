#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# arm64 has a PMU. On x86-64, a second with icount takes forty of them.
# soak: on=debian-6.12-arm64 vm="--icount --smp 2 --with-tool" args=2 seconds=300
# soak: on=debian-6.12,debian-6.1 args=3 seconds=140
#
# budgets.sh [SECONDS]: for SECONDS (1) each, budgets of all kinds of events that are exceeded in
# no window, or in each one. Prints how many windows were wrong. Without icount, the host may keep
# the guest from running for some windows, in which nothing is counted; and where the guest has no
# stable TSC, a clock's count then stands still and jumps, as perf's does.

# Away from CPU 1, which has the load.
if [ -z "${cpus-}" ]; then
	cpus=$(nproc) exec "$(dirname "$0")/as" cpu 0 sh "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need_cpus 2
seconds=${1:-1}
load_tally

# Children of a cgroup have perf's controller once any controller was enabled for them.
group=/sys/fs/cgroup
echo +pids >$group/cgroup.subtree_control
mkdir $group/t

word() { echo "$1" | cut -d' ' -f"$2"; }
of() { sed -n 's/^1 //p' $tally/b/budget; }
has_passed() { [ "$(word "$(of)" 3)" -ge $(($(word "$begin" 3) + $1)) ]; }
# toggle N: lets the event be off for a moment until N windows have passed.
toggle() {
	toggles=0
	until has_passed "$1"; do
		tally disable b || break
		tally enable b || break
		toggles=$((toggles + 1))
	done
	at_least "$toggles" 3 "the event was disabled and enabled $toggles times"
}

# row WORD EVENT BUDGET/MILLISECONDS LOAD [COMMAND]: makes the load on CPU 1, in the cgroup, and
# counts the windows in which the event has exceeded its budget: none if WORD is never. COMMAND is
# what runs until so many windows have passed.
row() {
	helper sh -c "echo \$\$ >$group/t/cgroup.procs; exec $here/load -c 1 $4"
	answer=$(create "$2" cpu=1 budget="$3"ms name=b)
	is "$answer" OK "$2 budget=$3ms"
	[ "$answer" = OK ] || return
	begin=$(of)
	wait_for 120 has_passed 2
	begin=$(of)
	nr=$((1000 * seconds / ${3#*/}))
	${5-wait_for 300 has_passed} $nr
	end=$(of)
	passed=$(($(word "$end" 3) - $(word "$begin" 3)))
	over=$(($(word "$end" 4) - $(word "$begin" 4)))
	if [ "$1" = never ]; then
		is $over 0 "$2: of $passed windows, $over are exceeded wrongly${5+, while it is enabled again}"
	else
		# The window that goes on now may be exceeded already.
		between $((passed * 9 / 10)) $over $((passed + 1)) \
			"$2: of $passed windows, $((passed > over ? passed - over : 0)) are missed"
	fi
	remove b >/dev/null
	end_helpers
}

for event in cpu-clock task-clock 'task-clock cgroup=/t'; do
	row never "$event" 20000000/10 -b
	row always "$event" 5000000/10 -b
done
row never cpu-clock 20000000/10 -b toggle
for event in page-faults:u 'page-faults:u cgroup=/t'; do
	row never "$event" 200/100 '-f 1000'
	row always "$event" 50/100 '-f 1000'
	row never "$event" 200/100 '-f 1000' toggle
done
for event in cs 'cs cgroup=/t' sched:sched_switch; do
	row never "$event" 5000/100 '-s 1000'
	row always "$event" 50/100 '-s 1000'
done
if has_pmu; then
	# Without icount, QEMU's PMU counts cycles only.
	events=cycles
	[ "$(create instructions cpu=1 name=there)" != OK ] || events='instructions cycles'
	remove there >/dev/null
	for event in $events; do
		for target in '' ' cgroup=/t'; do
			row never "$event$target" 40000000/10 -b
			row always "$event$target" 1000000/10 -b
		done
		row never "$event" 40000000/10 -b toggle
	done
	# More events than the PMU has counters.
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		create "$event" cpu=1 period=100000000000$i name=m$i >/dev/null
	done
	row never "$event" 40000000/10 -b
	cut -d' ' -f1 $tally/events >$tally/remove
fi
rmdir $group/t
nothing_left 'nothing is left'
finish
