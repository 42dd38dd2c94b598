#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64,debian-6.12:intel args="1000 5" seconds=40
# test: on=debug-x86_64 args="200 10" seconds=60 also="KASAN sees a sibling of a leader that perf has removed"
# all: on=debug-arm64,debian-7,debian-6.1:intel,debian-7:intel,debian-6.12:amd args="1000 5" seconds=40
# soak: on=debug-x86_64,debian-6.12-arm64 args="5000 40 10" seconds=220
#
# groups.sh [NUMBER [CYCLES [SECONDS]]]: the members of a set are one group of perf: they are on the
# PMU together, or none of them. NUMBER random groups (1000) get perf's own answer, groups come and
# go through CYCLES cycles of hotplug (5), and three take turns for SECONDS (1). A machine
# without a PMU has that of tally_pmu.ko.

. "$(dirname "$0")/lib.sh"
need_cpus 2
groups=${1:-1000}
cycles=${2:-5}
seconds=${3:-1}
load_tally
samples=samples
overflows=1
if ! has_pmu; then
	samples=none
	overflows=0
	insmod tally_pmu.ko raw=1
	echo 20 >/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms
fi
# It holds a counter all the time, so that a group as large as the PMU never counts.
watchdog=/proc/sys/kernel/nmi_watchdog
if grep -q '^0*[13579]' $watchdog 2>/dev/null; then
	setting $watchdog 0
fi

# Events that differ, so that each has a counter of its own.
codes='r11 r11:u r11:k r23 r23:u r23:k r24 r24:u r24:k r2b r2b:u r2b:k r3c r3c:u r3c:k r2c r2c:u r2c:k'
# codes FROM NUMBER: some of them, as members.
some() { echo $codes | cut -d' ' -f"$1-$(($1 + $2 - 1))" | tr ' ' ,; }
ratio_valid() { sed 's/.* //' "$tally/$1/values"; }
# least_running SET: for how long the member with the least time has run.
least_running() { cat "$tally/$1"/*/running_ns | sort -n | head -n 1; }
# shares_pmu SET: each member has had its turn, and waited for it.
shares_pmu() {
	least=$(least_running "$1")
	most=$(cat "$tally/$1"/*/enabled_ns | sort -n | tail -n 1)
	[ "$least" -gt 0 ] && [ $((least * 10)) -lt $((most * 9)) ]
}
values() { sed 's/^[0-9]* //' "$tally/$1/values"; }
have_run() { [ "$(cat $tally/e/running_ns $tally/less/*/running_ns | sort -n | head -n 1)" -gt 0 ]; }
# times_of SET: how many different times the members have run; the set is disabled.
times_of() { cat "$tally/$1"/*/running_ns | sort -u | wc -l; }

# The two sets of pair() take turns. The first member of one is a software event.
some=3
software='cpu-clock'
[ "$(uname -r | cut -d. -f1,2)" != 6.1 ] || software=''
pair() {
	made="$(create "{${software:+$software,}$(some 1 $some)}" "$@" name=a) $(create "{$(some $((some + 1)) $some)${software:+,cs}}" "$@" name=b)"
	[ "$made" = 'OK OK' ]
}
drop() { [ "$(remove a; remove b)" = "$(printf 'OK\nOK')" ]; }
# often COMMAND...: tries it up to ten times. Each try may wait for something itself.
often() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! "$@" || return 0
	done
	return 1
}
# run_together SET...: each shares the PMU, has ratios, and its members run for the same time.
# A row that is read while the PMU changes its events may miss that moment, and then says so.
run_together() {
	for set; do
		wait_for 60 shares_pmu "$set" && [ "$(ratio_valid "$set")" = 1 ] || return 1
	done
	for set; do
		"$here/tally" disable "$set"
		[ "$(times_of "$set") $(ratio_valid "$set")" = '1 1' ] || return 1
	done
}
# Each of these begins anew.
on() {
	drop
	pair "$@" && run_together a b
}
again() { on cpu=0 && "$here/tally" enable a b && run_together a b; }
through_hotplug() {
	drop
	pair || return 1
	echo 0 >/sys/devices/system/cpu/cpu1/online
	wait_for 60 is_on_1 offline
	echo 1 >/sys/devices/system/cpu/cpu1/online
	! wait_for 1 is_on_1 offline && run_together a b
}
is_on_1() { [ "$(cpu_line a/r11 1 | cut -d' ' -f1)" = "$1" ]; }

# ---- as many as there is room for

mark
is "$(create "{$(some 1 18)}" cpu=0 name=large)" EINVAL 'a set with more members than the PMU has counters'
ok 'the log says how many fit' logged 'the PMU has room for [0-9]* of these events at once'
room=$(since_mark | sed -n 's/.*the PMU has room for \([0-9]*\) of.*/\1/p')
between 4 "$room" 9 'there is room for some'
nothing_left 'nothing is left of it'
is "$(create "{$(some 1 "$room")}" cpu=0 name=fits)" OK 'so many fit'
is "$(remove fits)" OK 'and go'
is "$(create "{$(some 1 $((room + 1)))}" disabled name=large)" EINVAL 'one more does not, disabled on all CPUs'
is "$(create "{$(some 1 "$room"),cs,page-faults}" cpu=0 name=fits)" OK 'software events need no counter'
is "$(create "{cs,$(some 1 $((room + 1)))}" cpu=0 name=large)" EINVAL 'and make no room for others'
is "$(remove fits)" OK 'they go'

# ---- sets that take turns

helper as cpu 0 load -b
some=$((room - 1))
ok 'two sets: the members of each run together' often on cpu=0
ok 'and when they are enabled again' often again
ok 'they go' drop

# ---- pinned and exclusive sets

has_turns() { [ "$(least_running a)" -gt 0 ]; }
is "$(create "{r3c:u,r3c:k${software:+,$software}}:D" cpu=0 name=pinned)" OK 'a pinned set'
some=$((room - 2))
ok 'beside two others' pair cpu=0
ok 'which share the PMU' wait_for 60 shares_pmu a
"$here/tally" disable pinned
is "$(times_of pinned) $(ratio_valid pinned)" '1 1' 'is always on it'
is "$(cat $tally/pinned/*/running_ns | sort -u)" "$(cat $tally/pinned/*/enabled_ns | sort -u)" 'all the time'
is "$(remove pinned) $(create '{r3c:u,r3c:k}:e' cpu=0 name=alone)" 'OK OK' 'an exclusive set'
ok 'has its turns' wait_for 60 shares_pmu alone
ok 'as the others have' wait_for 60 has_turns
"$here/tally" disable alone
is "$(times_of alone) $(ratio_valid alone)" '1 1' 'and its members run together'
is "$(remove alone)" OK 'it goes'
ok 'they go' drop
some=$((room - 1))

# ---- a weak set is cut

cut_in_two() {
	remove w >/dev/null
	create "{$(some 1 $((2 * room - 1)))}:W" cpu=0 name=w >/dev/null
	wait_for 60 shares_pmu w
	"$here/tally" disable w
	[ "$(times_of w) $(ratio_valid w)" = '2 0' ]
}
ok 'a weak set is cut: the members of each half run together' often cut_in_two
like "$(cat $tally/w/spec)" '{*}:W cpu=0 disabled name=w' 'its line makes it again'
is "$(remove w)" OK 'it goes'

# ---- sets that begin with the same event

same_first() {
	remove a >/dev/null
	remove b >/dev/null
	create "{$(some 1 $some)}" cpu=0 name=a >/dev/null
	create "{r11,$(some $((some + 1)) $((some - 1)))}" cpu=0 name=b >/dev/null
	run_together a b
}
ok 'two sets begin with the same event, and do not fit together' often same_first
"$here/tally" enable a
is "$(create "{$(some 1 $some)}" cpu=0 name=c)" OK 'a third one is like the first'
is "$(stat_of counters)" $((2 * some)) 'and shares its counters'
is "$(remove a) $(remove b) $(remove c)" 'OK OK OK' 'they go'

is "$(create "{$(some 1 "$room")}" cpu=0 disabled name=off)" OK 'a set that is off'
is "$(create r11 cpu=0 require name=e)" OK 'its first event alone'
for code in $(some 8 $some | tr , ' '); do
	create "$code" cpu=0 require name="$code" || break
done >$tmp/singles
is "$(sort -u $tmp/singles)" OK 'leaves the counters of the others free'
cut -d' ' -f1 $tally/events | sed 's|/.*||' | sort -u | while read -r name; do
	remove "$name"
done >$tmp/singles
nothing_left 'all are gone'

# ---- a group that never has room holds up nobody else

is "$(create r2c:u cpu=0 pinned require name=pinned)" OK 'a counter is taken for good'
is "$(create "{$(some 1 "$room")}" cpu=0 name=waits)" OK 'a set that needs it'
is "$(create r11 cpu=0 name=e)" OK 'its first event alone'
is "$(create "{$(some 1 "$some")}" cpu=0 name=less)" OK 'and a set of one less'
ok 'have their turns' wait_for 60 have_run
# Its leader is on the PMU for the moment in which perf finds no room for the others.
is_inactive() { [ "$(cat $tally/waits/*/state | sort -u)" = inactive ]; }
ok 'the large one waits' wait_for 60 is_inactive
is "$(values waits)" "$(seq -s ' ' "$room" | sed 's/[0-9]*/-/g') 0" 'and has no count'
for name in pinned waits e less; do
	remove $name
done >$tmp/removed
is "$(sort -u $tmp/removed)" OK 'they go'

# ---- a pinned member in no group that was in error

states() { cat $tally/"$1"/*/state | sort | xargs; }
is_in() { [ "$(states "$1")" = "$2" ]; }
# begin_in_error CPU: a set on two PMUs, whose pinned member finds no counter.
begin_in_error() {
	is "$(create "{$(some 1 "$room")}:D" cpu="$1" name=full)" OK 'all counters are taken for good'
	is "$(create '{tally_foreign/config=1/,r2c:uD}' cpu="$1" disabled name=mixed)" OK 'a set with a pinned member'
	"$here/tally" enable mixed
	is "$(states mixed)" 'active error' 'which has no counter'
}
if [ -d /sys/module/tally_pmu ]; then
	echo 0 >/sys/kernel/debug/tally_pmu/served
	begin_in_error 0
	is "$(remove full)" OK 'the counters are free'
	"$here/tally" enable mixed
	is "$(states mixed) $(ratio_valid mixed)" 'active active 0' 'it counts, but has missed a part'
	is "$(remove mixed)" OK 'it goes'
	begin_in_error 0
	"$here/tally" disable mixed
	is "$(remove full)" OK 'the counters are free'
	"$here/tally" enable mixed
	is "$(states mixed) $(ratio_valid mixed)" 'active active 0' 'it was off in between, and has missed a part'
	is "$(remove mixed)" OK 'it goes'
	# On CPU 1, the older set comes first. The pinned member has counted, and then finds no counter.
	echo 0-1 >/sys/kernel/debug/tally_pmu/served
	begin_on_cpu1() {
		is "$(create "{$(some 1 "$room")}:D" cpu=1 disabled name=full)" OK 'a set with all counters'
		is "$(create '{tally_foreign/config=1/,r2c:uD}' cpu=1 name=mixed)" OK 'a set with a pinned member'
		ok 'it counts' wait_for 60 is_in mixed 'active active'
		is "$(ratio_valid mixed)" 1 'all the time'
	}
	begin_on_cpu1
	"$here/tally" enable full
	is "$(states mixed)" 'active error' 'its pinned member has no counter any more'
	echo 0 >/sys/devices/system/cpu/cpu1/online
	ok 'its CPU goes' wait_for 60 is_in mixed 'offline offline'
	is "$(ratio_valid mixed)" 0 'it has missed a part'
	is "$(remove full; remove mixed)" "$(printf 'OK\nOK')" 'they go'
	echo 1 >/sys/devices/system/cpu/cpu1/online
	begin_on_cpu1
	echo 0 >/sys/devices/system/cpu/cpu1/online
	ok 'its CPU goes' wait_for 60 is_in mixed 'offline offline'
	is "$(ratio_valid mixed)" 1 'its members have counted at the same times'
	echo 1 >/sys/devices/system/cpu/cpu1/online
	ok 'its CPU comes, and it counts' wait_for 60 is_in mixed 'active active'
	is "$(ratio_valid mixed)" 0 'its members have begun one after the other'
	is "$(remove full; remove mixed)" "$(printf 'OK\nOK')" 'they go'
	# A member whose event perf refuses on a CPU that comes has missed that CPU from its beginning.
	is "$(create '{tally_foreign/config=1/,context-switches}' disabled name=mixed)" OK 'a set on all CPUs'
	echo 16 >/sys/kernel/debug/tally_pmu/refusal
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 0 >/sys/kernel/debug/tally_pmu/served
	echo 1 >/sys/devices/system/cpu/cpu1/online
	"$here/tally" enable mixed
	is "$(ratio_valid mixed)" 0 'it has missed a CPU'
	is "$(remove mixed)" OK 'it goes'
	echo 2 >/sys/kernel/debug/tally_pmu/refusal
fi

# ---- a CPU goes, and comes back; a task; a cgroup

ok 'a CPU goes and comes: the members run together again' often through_hotplug
ok 'they go' drop
end_helpers
begin_task task
spin_more() {
	order spin 20
	shares_pmu a && shares_pmu b
}
on_task() {
	drop
	pair pid="$child" && wait_for 60 spin_more && run_together a b
}
ok 'two sets on a task: the members of each run together' often on_task
# The list is read without perf, and the files by perf. The task sleeps.
listed_as_read() {
	for member in "$tally"/a/* "$tally"/b/*; do
		[ -e "$member/running_ns" ] || continue
		share=$(($(cat "$member/running_ns") * 100 / $(cat "$member/enabled_ns")))
		listed=$(awk -v name="${member#"$tally"/}" '$1 == name { print int($6) }' $tally/events)
		[ $((listed - share)) -ge -1 ] && [ $((listed - share)) -le 1 ] || return 1
	done
}
ok 'they go' drop
ok 'they take turns' pair pid="$child"
ok 'while the task runs' wait_for 60 spin_more
ok 'their shares are listed as they are read' listed_as_read
end_task
ok 'they go' drop
begin_cgroups
mkdir $top/group
if [ -d /sys/module/tally_pmu ]; then
	is "$(create r8000 cpu=0 name=topdown)" EINVAL 'an event that the driver refuses without its leader'
	is "$(create '{r400,r8000}' cpu=0 name=topdown)" OK 'beside that'
	is "$(remove topdown)" OK 'it goes'
	is "$(create '{r400,r8000}' cgroup=/group cpu=0 name=topdown)" OK 'on a cgroup, too'
	is "$(remove topdown)" OK 'it goes'
fi
helper sh -c "echo \$\$ >$top/group/cgroup.procs; exec as cpu 0 load -b"
ok 'two sets on a cgroup: the members of each run together' often on cgroup=/group cpu=0
"$here/tally" enable a b
end_helpers
ok 'the cgroup is removed while they count' wait_for 60 rmdir $top/group
is "$(cat $tally/a/*/state $tally/b/*/state | sort -u)" exited 'they say so'
counts=$(values a; values b)
mkdir $top/group
helper sh -c "echo \$\$ >$top/group/cgroup.procs; exec as cpu 0 load -b"
is "$(create "{$(some 2 $some)}" cgroup=/group cpu=0 name=c)" OK 'a set on the next one of its name'
has_run() { [ "$(least_running "$1")" -gt "${2:-0}" ]; }
ok 'counts' wait_for 60 has_run c
is "$(values a; values b)" "$counts" 'the others have their last counts'
is "$(remove c)" OK 'it goes'
ok 'they go' drop
end_helpers
rmdir $top/group
end_cgroups

# ---- a module goes while its set counts

helper as cpu 0 load -b
# module_goes HOW...
module_goes() {
	is "$(create "{$(some 4 $some)}" name=b)" OK 'a set'
	ok 'that of a module' insmod tally_owner.ko kind=group "$@"
	ok 'takes turns with it' wait_for 60 shares_pmu b
	ok 'the module goes' rmmod tally_owner
	ok 'and its set' [ ! -e $tally/owned ]
	is "$(stat_of counters)" $some 'and its counters'
	ok 'the other set counts on' wait_for 60 has_run b "$(least_running b)"
	"$here/tally" disable b
	is "$(times_of b) $(ratio_valid b)" '1 1' 'as a group'
	is "$(remove b)" OK 'it goes'
}
module_goes
module_goes forget=1
end_helpers

# ---- the command

"$here/tally" stat -C 0 -e "{$(some 1 $((room + 1)))}" true 2>$tmp/said
ok 'the command refuses a set that is too large' grep -q "the PMU has room for $room of these" $tmp/said
ok 'and cuts a weak one' "$here/tally" stat -C 0 -e "{$(some 1 $((room + 1)))}:W" true 2>$tmp/said

# ---- files

results ./groups exec "$room"
results ./groups leaders $samples
results ./groups inherit "$room"
results ./groups turns "$room" "$seconds" $samples
results ./groups random "$groups" 1
results ./groupstorm "$cycles" $overflows "$room"
# A group that loses its place on the PMU waits for the next turn.
for mux in /sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms \
	/sys/bus/event_source/devices/armv8*/perf_event_mux_interval_ms; do
	[ ! -e "$mux" ] || break
done
turn=$(cat "$mux")
echo 2000 >"$mux"
results ./groups joins
echo "$turn" >"$mux"
# The long turn ends later. perf would not end its timer when the PMU is removed.
ended() { ! grep -q perf_mux_hrtimer_handler /proc/timer_list; }
ok 'the long turn ends' wait_for 60 ended
nothing_left 'nothing is left'

# ---- two kinds of cores: each has groups of its own

if [ $samples = none ]; then
	rmmod tally_pmu
	insmod tally_pmu.ko hybrid=1 raw=1
	for kind in big little; do
		echo 20 >/sys/bus/event_source/devices/tally_$kind/perf_event_mux_interval_ms
	done
	helper as cpu 0 load -b
	helper as cpu 1 load -b
	# Software events are in no group there.
	software=''
	ok 'two kinds of cores: the members of each set run together' often on
	ok 'they go' drop
	ok 'on a CPU of the other kind, too' often on cpu=1
	ok 'they go' drop
	ok 'and when one of them goes and comes' often through_hotplug
	ok 'they go' drop
	is "$(create "{$(some 1 $((room + 1)))}" disabled name=large)" EINVAL 'one more than there is room for'
	is "$(create '{tally_little/config=0x11/,tally_little/config=0x23/}' name=little)" OK 'a set of one kind'
	ok 'counts' wait_for 60 has_run little
	is "$(create '{tally_big/config=0x11/,tally_little/config=0x11/}' name=mixed)" OK 'a set of both'
	ok 'counts' wait_for 60 has_run mixed
	"$here/tally" disable little mixed
	is "$(times_of little) $(ratio_valid little) $(ratio_valid mixed)" '1 1 1' 'nothing has waited: both have ratios'
	is "$(remove little) $(remove mixed)" 'OK OK' 'they go'
	end_helpers
	nothing_left 'nothing is left'
	rmmod tally_pmu
	insmod tally_pmu.ko raw=1
fi

# ---- without the trick

unload_tally
load_tally without=group
helper as cpu 0 load -b
ok 'without=group: two sets' pair cpu=0
ok 'without=group: they share the PMU' wait_for 60 shares_pmu a
is "$(ratio_valid a)" 0 'without=group: and have no ratios'
ok 'without=group: they go' drop
end_helpers
ok 'tally can be unloaded' unload_tally
[ ! -d /sys/module/tally_pmu ] || rmmod tally_pmu
finish
