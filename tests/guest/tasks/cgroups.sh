#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perf is compared, and it differs between 6.1 and 6.12. debian-6.12-arm64 has a PMU, whose
# counts are the same on every run with icount.
# test: on=debian-6.12,debian-6.1 args=1000 seconds=15
# all: on=debian-6.12-arm64 vm="--icount --smp 4 --with-tool" args=200 seconds=30
# all: on=debug-x86_64 vm=--no-leak-scan args=200 seconds=40
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=1000 seconds=15
# soak: on=debug-rt,debug-kcsan args=200 seconds=60
# soak: on=debian-7 args=1000 seconds=20
# soak: on=debug-arm64 vm="--icount --smp 4 --with-tool" args=200 seconds=60
#
# cgroups.sh [MOVES]: events of cgroups beside perf's: counts, moves of tasks, samples; a
# cgroup that is removed, and CPU hotplug.

. "$(dirname "$0")/lib.sh"
need_cpus 2
moves=${1:-1000}
# shellcheck disable=SC2119
load_tally
t=$top/t
begin_cgroups
mkdir -p $t/a/b $t/c

in_b() { "$here/cgroups" work /a/b "$1"; }
cpu_1_is() { [ "$(cpu_line a 1 | cut -d' ' -f1)" = "$1" ]; }
folders_gone() { rmdir $t/a/b $t/a $t/c $t 2>/dev/null; }

# ---- for modules, before anybody else counts a cgroup

load_in_a() { sh -c "echo 0 >$t/a/cgroup.procs && exec insmod $here/tally_cgroup.ko"; }
ok 'a module counts cgroups' load_in_a
module_results tally_cgroup
ok 'it goes' rmmod tally_cgroup

# ---- the clock of a cgroup that ran when the last event of any cgroup went

has_run() { [ "$(cat $tally/f/enabled_ns)" -gt 0 ]; }
is "$(create cpu-clock cpu=1 name=plain)" OK 'CPU 1 counts'
"$here/as" cpu 1 sh -c "echo 0 >$t/a/cgroup.procs && while :; do :; done" &
spinner=$!
is "$(create cpu-clock cgroup=/t/a cpu=1 name=f)" OK 'an event of a cgroup there'
ok 'which runs' wait_for 60 has_run
is "$(remove f)" OK 'it goes'
kill $spinner
wait $spinner 2>/dev/null
usleep 300000
is "$(create cpu-clock cgroup=/t/a cpu=1 name=f)" OK 'another one'
# perf, too, reads on this CPU only.
is "$("$here/as" cpu 1 cat $tally/f/count $tally/f/enabled_ns | tr '\n' ' ')" '0 0 ' \
	'has no time of a cgroup that does not run'
is "$(remove f) $(remove plain)" 'OK OK' 'both go'

# ---- at a shell

is "$(create 'page-faults:u cgroup=/t/a name=a')" OK 'an event of a cgroup'
is "$(create 'page-faults:u cgroup=t/a/b/ cpu=0 name=b')" OK 'of one below it, on a CPU'
is "$(create 'page-faults:u cgroup=/t/c name=c')" OK 'of another one'
is "$(create 'page-faults:u cgroup=/ name=root')" OK 'of all'
is "$(create 'page-faults:u cgroup=/t/a disabled name=off')" OK 'of the first one, disabled'
is "$(stat_of counters)" 4 'events of the same cgroup share perf events'
is "$(cut -d' ' -f2 $tally/events | tr '\n' ' ')" \
	'cgroup=/t/a,cpu=all cgroup=/t/a/b,cpu=0 cgroup=/t/c,cpu=all cgroup=/,cpu=all cgroup=/t/a,cpu=all ' \
	'the list has their cgroups'
is "$(cat $tally/b/spec)" 'page-faults:u cgroup=/t/a/b cpu=0 name=b' 'and so has spec'
is "$(state a) $(count a)" 'inactive 0' 'none of its tasks ran'
ok 'a task on CPU 0' as cpu 0 "$here/cgroups" work /a/b 500
between 500 "$(count a)" 600 'its page faults are counted'
is "$(count b)" "$(count a)" 'in its own cgroup, too'
is "$(count c) $(count off)" '0 0' 'but in no other, and by no event that is off'
ok 'root has counted them' [ "$(count root)" -gt "$(count a)" ]
enabled=$(cat $tally/b/enabled_ns)
at_least "$enabled" 1 'the time goes on while it runs'
is "$(cat $tally/b/running_ns)" "$enabled" 'and the event counts all the time'
in_b 10
usleep 20000
before=$(count a)
results "$here/lines" cgroup /t/a/b
is "$(create 'page-faults:u cgroup=/t/a name=late require')" OK 'one that must be able to count'
ok 'a task on any CPU' in_b 300
is "$(count late)" $(($(count a) - before)) 'counts from its start'
for name in late off root; do
	is "$(remove $name)" OK "$name is removed"
done

# ---- paths of any bytes

# octal TEXT: prints each byte as a line may have it.
octal() { printf %s "$1" | od -An -v -to1 | tr -d '\n' | sed 's/ /\\/g'; }
# again PATH: an event of a cgroup whose spec makes the same event again.
again() {
	mkdir -p "$t/$1"
	is "$(create "page-faults:u cgroup=$(octal "/t/$1") name=path")" OK "a cgroup $1"
	spec=$(cat $tally/path/spec)
	is "$(wc -w <$tally/path/spec) $(grep -c . $tally/path/spec)" '4 1' 'its spec has four words'
	is "$(grep '^path ' $tally/events | wc -w)" 9 'and its line nine'
	is "$(remove path)" OK 'it is removed'
	is "$(create "$spec")" OK "and made by $spec"
	is "$(cat $tally/path/spec)" "$spec" 'it is the same'
	"$here/cgroups" work "/$1" 100
	at_least "$(count path)" 100 'and counts there'
	is "$(remove path)" OK 'it is removed'
	rmdir "$t/$1"
}
tab=$(printf '\t')
again 'a blank'
again "a${tab}tab"
again 'a;semicolon'
again 'system\x2dd.slice'
again 'octal\101'
again "$(printf 'latin-\344')"
again "$(printf 'utf-\303\244')"
# The last byte of this letter is a blank to isspace().
letter=$(printf '\303\240')
mkdir "$t/$letter"
is "$(create "page-faults:u name=path cgroup=/t/$letter")" OK 'a path at the end of its line'
is "$(remove path)" OK 'it is removed'
rmdir "$t/$letter"
mkdir "$t/system\\x2dd.slice"
is "$(create 'page-faults:u cgroup=/t/system\x2dd.slice name=path')" OK 'a path as systemd writes it'
is "$(remove path)" OK 'it is removed'
rmdir "$t/system\\x2dd.slice"

# labels: prints how many cgroups an exporter tells apart.
labels() {
	"$here/tally" export --once | sed -n 's/^tally_event_state.*,cgroup="\([^"]*\)".*/\1/p' |
		sort -u | wc -l
}
# two PATH PATH: two cgroups have two series.
two() {
	mkdir -p "$t/$1" "$t/$2"
	is "$(create "page-faults cgroup=/t/$1 name=one")" OK 'one of two cgroups'
	is "$(create "page-faults cgroup=/t/$2 name=other")" OK 'the other one'
	is "$(labels)" "$series" 'are two series'
	is "$(remove one) $(remove other)" 'OK OK' 'they are removed'
}
series=$(($(labels) + 2))
two "$(printf 'x\377')" "$(printf 'x\376')"
part=$(printf '%0150d' 0)
two "A$part/$part" "B$part/$part"
"$here/tally" stat -j -G "t/$(printf 'x\377')" -e cs -o $tmp/json true
ok 'JSON has no bytes that are no UTF-8' grep -q '"cgroup": "t/x\\\\377"' $tmp/json
rmdir "$t/$(printf 'x\377')" "$t/$(printf 'x\376')" $t/?$part/$part $t/?$part

# ---- wrong lines

# bad ERRNO LINE REASON
bad() {
	mark
	is "$(create "$2")" "$1" "$1: $2"
	ok "the log has the reason: $3" logged "$3.*$(in_log "$1")\$"
}

bad ENOENT 'page-faults cgroup=/t/none' 'no cgroup /t/none'
bad ENOENT 'page-faults cgroup=/t/a/../c' 'no cgroup /t/a/../c'
bad ENOENT 'page-faults cgroup=/sys/fs/cgroup/t' 'no cgroup /sys/fs/cgroup/t'
bad ENOENT 'page-faults cgroup=/T' 'no cgroup /T'
bad EINVAL 'page-faults cgroup' "unknown option 'cgroup'"
bad EINVAL 'page-faults cgroup=/\000' 'a path has no NUL inside'
bad EINVAL "page-faults cgroup=/t pid=$$" 'both a cgroup and a task'
bad EINVAL 'page-faults cgroup=/t cpu=99999' 'cpu 99999 does not exist'
bad EINVAL 'page-faults cgroup=/t cpu=0 cpu=all' 'both one cpu and all cpus'
bad EINVAL 'page-faults cgroup=/t inherit' 'inherit without a task'
bad EINVAL 'page-faults cgroup=/t sigtrap period=1' 'sigtrap'
bad EEXIST 'page-faults cgroup=/t name=a' 'the name is taken'
bad ENOENT 'no-such-event cgroup=/t' "unknown event 'no-such-event'"
raw=1
! has_pmu || raw=0
ok 'PMUs of tests' insmod "$here/tally_pmu.ko" counters=4 raw=$raw
bad EINVAL 'tally_uncore/config=1/ cgroup=/t' 'the PMU refuses these settings'
ok 'they go' rmmod tally_pmu
results "$here/cgroups" refused

# ---- beside perf

results "$here/cgroups" equal
results "$here/cgroups" moves "$moves"
results "$here/cgroups" samples
results "$here/cgroups" page
results "$here/cgroups" clocks

# ---- a budget, with the cgroup away at the end of each window

window() { sed -n 's/^1 //p' $tally/budget/budget; }
word() { echo "$1" | cut -d' ' -f"$2"; }
is_later() { [ "$(word "$(window)" 1)" -gt "$(word "$begin" 1)" ]; }
# in_next_window FAULTS: may end in the window behind it, on a slow machine.
in_next_window() {
	begin=$(window)
	wait_for 60 is_later
	as cpu 1 "$here/cgroups" work /a/b "$1"
}
is "$(create 'page-faults:u cgroup=/t/a cpu=1 budget=1000/500ms name=budget')" OK 'a budget of a cgroup'
for _ in 1 2 3; do
	in_next_window 800
done
in_next_window 0
is "$(word "$(window)" 4)" 0 'three windows have 800 of 1000 faults each'
# A slow machine may need more than a window for them.
for _ in 1 2 3 4 5 6 7 8; do
	in_next_window 2500
	in_next_window 0
	[ "$(word "$(window)" 4)" = 0 ] || break
done
at_least "$(word "$(window)" 4)" 1 'one has more than that'
is "$(remove budget)" OK 'it is removed'

# ---- CPUs go and come

online=/sys/devices/system/cpu/cpu1/online
counts_on_1() {
	before=$(count a)
	as cpu 1 "$here/cgroups" work /a/b 100
	at_least $(($(count a) - before)) 100 "$1"
}
if [ -w $online ]; then
	counts_on_1 'CPU 1 counts'
	before=$(count a)
	echo 0 >$online
	is "$(count a)" "$before" 'its count stays when it goes offline'
	echo 1 >$online
	ok 'it has an event again' wait_for 60 cpu_1_is inactive
	counts_on_1 'and counts again'
else
	skip 'CPU 1 cannot go offline' 'CPUs go and come'
fi

# ---- the cgroup is removed

# A command that counts it ends.
mkdir $t/d
"$here/tally" stat -G t/d -e page-faults 2>$tmp/stat &
counting=$!
helpers="$helpers $counting"
ok 'tally stat counts a cgroup' wait_for 60 grep -q ' cgroup=/t/d,' $tally/events
rmdir $t/d
ends() { ! kill -0 $counting 2>/dev/null; }
ok 'it ends when the cgroup is removed' wait_for 60 ends
wait $counting
is "$?" 0 'well'
ok 'with its count' grep -q ' page-faults' $tmp/stat

a=$(count a) b=$(count b) c=$(count c)
ok 'all cgroups are removed' wait_for 60 folders_gone
is "$(count a) $(count b) $(count c)" "$a $b $c" 'their counts stay'
is "$(state a) $(cat $tally/a/spec)" \
	'exited page-faults:u cgroup=/t/a cpu=all name=a' 'and the events, which say that it is gone'
bad ENOENT 'page-faults cgroup=/t/a' 'no cgroup /t/a'
mkdir -p $t/a
is "$(create 'page-faults:u cgroup=/t/a name=again')" OK 'a cgroup of the same name'
ok 'a task in it' "$here/cgroups" work /a 100
at_least "$(count again)" 100 'is counted'
is "$(count a)" "$a" 'but not by the event of the old one'
if [ -w $online ]; then
	echo 0 >$online
	echo 1 >$online
	is "$(state a) $(count a)" "exited $a" 'state and count stay while CPUs go and come'
fi
is "$(cat $tally/events | wc -l)" 4 'four events are left'
for name in a b c again; do
	is "$(remove $name)" OK "$name is removed"
done
ok 'and so are the cgroups' wait_for 60 rmdir $t/a $t
nothing_left 'nothing is left'
end_cgroups
finish
