#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debug-x86_64 args=5 seconds=10
# all: on=debian-6.12-arm64 vm="--icount --smp 2" args=5 seconds=20
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=5 seconds=10
# soak: on=debug-x86_64,debug-arm64 args=30 seconds=60
#
# sets.sh [CYCLES]: sets that lines make: their folders and values, lines that make no set,
# and sets that come and go CYCLES times (5) while their files are read. Without icount, QEMU
# counts no instructions on arm64.

. "$(dirname "$0")/lib.sh"
need_cpus 2
cycles=${1:-5}
load_tally

values() { cat "$tally/$1/values"; }
# value N SET: prints the Nth number of the set's values.
value() { values "$2" | cut -d' ' -f"$1"; }
names() { cut -d' ' -f1 $tally/events | xargs; }

# ---- a set and its files

is "$(create '{page-faults,cs,dummy}' cpu=0 name=three)" OK 'a set of three'
is "$(names)" 'three/page-faults three/cs three/dummy' 'events has the members'
is "$(find $tally/three -mindepth 1 -maxdepth 1 -type d | sed 's|.*/||' | sort | xargs)" \
	'cs dummy page-faults' 'the folder has a folder for each'
is "$(values three | wc -w)" 5 'values has the time, three values and ratio_valid'
begin=$(values three)
echo 'touch 1000' | as cpu 0 task >/dev/null
end=$(values three)
of() { echo "$1" | cut -d' ' -f"$2"; }
at_least "$(of "$end" 1)" $(($(of "$begin" 1) + 1)) 'the time passes'
at_least "$(of "$end" 2)" $(($(of "$begin" 2) + 1000)) 'the faults are counted'
is "$(of "$end" 4)" 0 'dummy counts nothing'
is "$(of "$end" 5)" 1 'all have one window'
last=$(count three/page-faults)
between "$(of "$end" 2)" "$last" '' "a member's count goes on from there"
is "$(cat $tally/three/page-faults/spec)" 'page-faults cpu=0 name=page-faults' \
	"a member's line makes it alone"
is "$(cat $tally/three/spec)" '{page-faults,cs,dummy} cpu=0 name=three' "the set's line"
mark
is "$(remove three/cs)" EPERM 'a member is not removed alone'
ok 'its sentence' logged 'a member of a set'
is "$(create cs name=three)" EEXIST 'no event has the name of a set'
is "$(create '{cs}' name=three)" EEXIST 'nor another set'
is "$(create cs name=alone)" OK 'an event beside it'
is "$(create '{cs}' name=alone)" EEXIST 'no set has the name of an event'
line=$(cat $tally/three/spec)
is "$(remove three)" OK 'the set is removed as a whole'
is "$(names)" alone 'with all members'
refused 'and its folder' test -e $tally/three
is "$(remove three)" ENOENT 'it is gone'
is "$(wr $tally/create "$line")" OK 'its line makes it again'
is "$(remove three) $(remove alone)" 'OK OK' 'and both go'

# ---- modifiers, default names, PMUs, options

is "$(create '{page-faults:k,page-faults}:u' cpu=1)" OK 'modifiers of members and of the set'
name='{page-faults:k,page-faults}:u'
is "$(cat "$tally/$name/spec")" \
	"$name cpu=1 name=$name" 'its line has them as written'
is "$(cat "$tally/$name/page-faults:k/spec")" \
	'page-faults:uk cpu=1 name=page-faults:k' 'they add up'
remove "$name" >/dev/null
# as_alone SET EVENT: the member of a set counts what the event alone does.
what_of() { sed 's/ *name=.*//' "$tally/$1/spec"; }
as_alone() {
	is "$(create "$1 cpu=1 name=set"; create "$2 cpu=1 name=alone")" "$(printf 'OK\nOK')" "$1 and $2"
	is "$(what_of "set/$3")" "$(what_of alone)" 'are the same'
	remove set >/dev/null
	remove alone >/dev/null
}
as_alone '{page-faults}:k exclude=kernel' 'page-faults:k exclude=kernel' page-faults
as_alone '{page-faults}:u exclude=hv' 'page-faults:u exclude=hv' page-faults
as_alone '{page-faults:u}:H' 'page-faults:uH' page-faults:u
as_alone '{dummy:G}:H' dummy:GH dummy:G
as_alone '{dummy:H}:G' dummy:GH dummy:H
is "$(create '{software/config=2,config1=0/u,cs}' cpu=all disabled name=pmu)" OK \
	'a PMU with two terms'
is "$(names)" 'pmu/software:config=2,config1=0:u pmu/cs' 'a comma between slashes does not separate'
is "$(state pmu/cs) $(values pmu | cut -d' ' -f2-)" 'off - - 0' 'disabled: no count, no ratio'
remove pmu >/dev/null
begin_task task
is "$(create '{page-faults,cs}' pid="$child" name=task)" OK 'a set on a task'
order touch 500
at_least "$(value 2 task)" 500 'it follows the task'
end_task
ok 'a task that has ended' wait_for 60 state_is task/cs exited
at_least "$(value 2 task)" 500 'its values stay'
remove task >/dev/null
if has_pmu; then
	is "$(create '{cycles,instructions}' cpu=0 require name=ipc)" OK 'cycles and instructions'
	echo 'spin 20' | as cpu 0 task >/dev/null
	at_least "$(value 2 ipc)" 1 'cycles count'
	at_least "$(value 3 ipc)" 1 'instructions count'
	is "$(value 4 ipc)" 1 'their ratio is valid'
	remove ipc >/dev/null
fi

# ---- one interrupt for all members

calls() { awk '/[Ff]unction call/ { print $3 }' /proc/interrupts; }
is "$(create '{cs,page-faults,dummy,faults:u,cs:k,minor-faults,major-faults,cpu-migrations}' \
	cpu=1 name=eight)" OK 'a set of eight on CPU 1'
before=$(calls)
echo "$tally/eight/values 200" | as cpu 0 sh -c \
	'read -r f n; while [ $n -gt 0 ]; do read -r line <$f; n=$((n - 1)); done'
# Two calls may share an interrupt, if the first one is still waiting for the CPU.
between 100 $(($(calls) - before)) 800 '200 reads interrupt it fewer times than 200 members'
remove eight >/dev/null

# ---- the module's parameter

unload_tally
insmod tally.ko events='cs,{page-faults,cs},dummy'
is "$(names)" 'cs {page-faults,cs}/page-faults {page-faults,cs}/cs dummy' 'events= has a set'
unload_tally
mark
insmod tally.ko 'events="{page-faults,nonsense};cs name=good;{cs} name=two"'
is "$(names)" 'good two/cs' 'a set that fails leaves the others'
ok 'the log says so' logged '2 events started, 1 failed'
unload_tally
load_tally

# ---- lines that make no set

bad() {
	mark
	is "$(wr $tally/create "$2")" "$1" "$2: $1"
	ok "its sentence: $3" logged "tally: .*: $3.* $(in_log "$1")"
}
bad EINVAL '{cs' "a '{' without a '}'"
bad EINVAL '{cs,{dummy}}' 'a set has no set inside'
bad EINVAL '{cs cpu=0,dummy}' "options of a set stand behind its '}'"
bad EINVAL '{cs}u' "expected ':' or a blank behind the '}'"
bad EINVAL '{}' 'no event'
bad EINVAL '{cs,}' 'no event'
bad ENOENT '{cs,nonsense} name=x' "nonsense: unknown event 'nonsense'"
bad EINVAL '{cs,dummy}:z' "unknown modifier 'z'"
bad EINVAL '{cs,dummy} color=red' "cs: unknown option 'color='"
bad EOPNOTSUPP '{cs,dummy} period=100' 'cs: a set in a line only counts'
bad EOPNOTSUPP '{cs,dummy} pid=0 inherit' 'cs: a member of a set cannot be inherited'
bad EEXIST '{cs,cs} name=x' 'cs: the name is taken'
bad ENAMETOOLONG "{$(printf 'cs,%.0s' $(seq 30))dummy}" 'the text is too long for a name'
bad E2BIG "{$(printf 'cs,%.0s' $(seq 64))dummy} name=x" 'a set has at most 64 members'
bad ENAMETOOLONG "{context-switches} name=$(printf '%050d' 1)" 'the names of set and member are too long together'
bad EEXIST '{cs} name=events' "'events' is a file of tally's own"
nothing_left 'nothing is left of them'

# ---- sets that come and go while their files are read

helper sh -c "while :; do cat $tally/s/values $tally/s/spec $tally/s/cs/count; done 2>/dev/null"
made=0
n=0
while [ $n -lt "$cycles" ]; do
	[ "$(create '{page-faults,cs}' name=s)" = OK ] && made=$((made + 1))
	cat $tally/s/values >/dev/null
	remove s >/dev/null
	n=$((n + 1))
done
is $made "$cycles" "$cycles sets come and go while they are read"
exec 5<"$tally/events"
is "$(create '{page-faults,cs}' name=held)" OK 'a set'
exec 6<"$tally/held/values"
is "$(remove held)" OK 'it goes while a file is open'
refused 'the file reads an error then' sh -c 'cat <&6' 2>/dev/null
exec 5<&- 6<&-
end_helpers
is "$(create '{page-faults,cs}' name=left)" OK 'a set that is left'
unload_tally
ok 'tally goes with it' sh -c '! [ -d /sys/module/tally ]'
load_tally

finish
