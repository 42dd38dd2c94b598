#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debug-x86_64 seconds=15
# soak: on=debug-arm64,debian-6.12-arm64
#
# Events of a kernel probe on all CPUs: one probe serves them, however many CPUs there are.

. "$(dirname "$0")/lib.sh"
need_cpus 2

case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
tracefs=/sys/kernel/tracing
cpus=$(nproc)

# probes KIND: prints the number of probes of the kernel at getppid(2); r at a return, else k. Those
# that are always disabled watch others.
probes() { grep -v DISABLED /sys/kernel/debug/kprobes/list | grep -c " $1 .*_getppid"; }
# A shell calls getppid() as it starts, so $here/task is started without one.
getppid() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }
on_cpu() { cpu_line "$1" "$2" | cut -d' ' -f2; }
state_on() { cpu_line "$1" "$2" | cut -d' ' -f1; }
active_on_1() { [ "$(state_on "$1" 1)" = active ]; }
trace_events() { find $tracefs/events/tally -name 'probe*' 2>/dev/null | wc -l; }

# counts NAME: each CPU counts the calls that it makes, and no other ones.
counts() {
	cpu=0
	while [ $cpu -lt "$cpus" ]; do
		before=$(cat "$tally/$1/count") here_before=$(on_cpu "$1" $cpu)
		getppid $cpu 100
		is "$(($(cat "$tally/$1/count") - before)) $(($(on_cpu "$1" $cpu) - here_before))" \
			'100 100' "$1 counts the calls on CPU $cpu"
		cpu=$((cpu + 1))
	done
}

# shellcheck disable=SC2119
load_tally
is "$(create kprobe:$symbol name=entry)" OK 'a probe on all CPUs'
is "$(probes k) $(probes r)" '1 0' 'is one probe'
is "$(create kretprobe:$symbol name=return)" OK 'one at the return'
is "$(probes k) $(probes r)" '1 1' 'is one more'
is "$(trace_events)" 2 'tracefs shows both'
is "$(stat_of perf_events)" $((2 * cpus)) 'each CPU has an event for both'
is "$(create kretprobe:$symbol name=shared)" OK 'the same once more'
is "$(probes r)" 1 'shares the probe'
counts entry
counts return
is "$(count shared)" $((100 * cpus * 2)) 'shared counted all calls'
is "$(create kprobe:$symbol period=10 name=each)" OK 'a probe that overflows'
is "$(probes k)" 2 'is one probe of its own'
counts each
is "$(cat $tally/each/overflows)" $((10 * cpus)) 'which overflows on each CPU'
is "$(remove shared)" OK 'remove shared'
is "$(create kprobe:$symbol cpu=1 name=one)" OK 'a probe on one CPU'
getppid 0 100
getppid 1 100
is "$(count one)" 100 'counts that CPU only'

# ---- tasks that sleep in the function

is "$(create kretprobe:do_nanosleep name=all)" OK 'the return of a function in which tasks sleep'
is "$(create kretprobe:do_nanosleep cpu=0 name=on_0)" OK 'and on one'
sleepers=''
i=0
while [ $i -lt 60 ]; do
	as cpu 0 sleep 1000 &
	sleepers="$sleepers $!"
	i=$((i + 1))
done
# wait_for() sleeps there, too.
asleep() {
	for pid in $sleepers; do
		grep -q nanosleep "/proc/$pid/wchan" || return 1
	done
}
ok '60 tasks sleep' wait_for 60 asleep
# shellcheck disable=SC2086 # Several words.
kill $sleepers
for pid in $sleepers; do
	wait "$pid"
done
at_least "$(count all)" 60 'each return is counted'
at_least "$(count on_0)" 60 'and on the CPU'
is "$(remove all) $(remove on_0)" 'OK OK' 'and both go'

# ---- functions of a module that goes and comes; hits that are missed

run() { echo "$*" >/sys/module/tally_func/parameters/run; }
# all FILE NAME...: prints the file of each event.
all() {
	all_file=$1
	shift
	for name in "$@"; do
		cat "$tally/$name/$all_file"
	done | xargs
}
short='short_all short_1 short_at_0'
ok 'a module with functions' insmod "$here/tally_func.ko"
is "$(create 'kprobe:tally_func_short name=short_all')" OK 'a probe in a module'
is "$(create 'kprobe:tally_func_short cpu=1 name=short_1')" OK 'one on a CPU'
is "$(create 'kretprobe:tally_func_short cpu=0 name=short_at_0')" OK 'and one at the return'
as cpu 0 sh -c 'echo short 5 >/sys/module/tally_func/parameters/run'
as cpu 1 sh -c 'echo short 7 >/sys/module/tally_func/parameters/run'
# shellcheck disable=SC2086 # Several words.
is "$(all count $short) $(all state $short)" '12 7 5 active active active' 'they count'
ok 'the module goes' rmmod tally_func
# shellcheck disable=SC2086
is "$(all count $short) $(all state $short)" '12 7 5 offline offline offline' \
	'the counts stay, and the states say so'
if [ -w /sys/devices/system/cpu/cpu1/online ]; then
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/devices/system/cpu/cpu1/online
	ok 'a CPU gets its events again' wait_for 60 active_on_1 entry
	is "$(state short_1)" offline 'which does not change the state'
fi
ok 'the module comes' insmod "$here/tally_func.ko"
# shellcheck disable=SC2086
is "$(all count $short) $(all state $short)" '12 7 5 active active active' 'the states say so'
is "$(create 'kprobe:tally_func_short name=another')" OK 'the same event once more'
as cpu 0 sh -c 'echo short 5 >/sys/module/tally_func/parameters/run'
as cpu 1 sh -c 'echo short 7 >/sys/module/tally_func/parameters/run'
# shellcheck disable=SC2086
is "$(all count $short another)" '24 14 10 12' 'all count again'

is "$(create 'kprobe:tally_func_long name=long')" OK 'a probe'
is "$(create 'kretprobe:tally_func_long cpu=0 name=long_at_0')" OK 'and one at the return'
run long 10
is "$(all missed long long_at_0)" '0 0' 'miss nothing'
run inner 1000
is "$(count long) $(all missed long long_at_0)" '10 1000 1000' \
	'hits within the handler of another probe are missed, and counted as such'
room=$((128 * $(tr , '\n' </sys/devices/system/cpu/possible | sed 's/.*-//') + 128))
is "$(create 'kretprobe:tally_func_wait cpu=0 name=first')" OK 'a probe at a return'
run crowd $((room + 30))
is "$(cat $tally/first/missed)" 30 'misses calls'
is "$(create 'kretprobe:tally_func_wait name=wait')" OK 'another one there'
is "$(cat $tally/wait/missed) $(remove first)" '0 OK' 'has missed none, and stays when the first one goes'
run crowd 100
is "$(count wait) $(cat $tally/wait/missed)" '100 0' '100 calls at the same time'
run crowd $((room + 20))
is "$(count wait) $(cat $tally/wait/missed)" "$((room + 100)) 20" \
	"of $((room + 20)) calls at the same time, 20 are missed, and counted as such"
ok 'the module goes once more' rmmod tally_func
is "$(all missed long wait)" '1000 20' 'the numbers of missed ones stay'
ok 'and comes' insmod "$here/tally_func.ko"
run inner 10
is "$(all missed long long_at_0 wait)" '1010 1010 20' 'and go on'
mark
is "$(create kprobe:tally_func_copy)" ENOENT 'a function that the compiler has made a copy of'
ok 'the sentence names the copy' \
	logged "cannot probe symbol 'tally_func_copy': try tally_func_copy\.isra\.0 "
is "$(create kprobe:tally_func_copy.isra.0 name=copy)" OK 'the copy'
is "$(create kprobe:tally_func:tally_func_short:k name=of_module)" OK 'a function by its module, too'
run copy 3
run short 4
is "$(count copy) $(count of_module)" '3 4' 'both count'
is "$(create kprobe:tally_func:no_such name=none)" ENOENT 'one that the module does not have'
# shellcheck disable=SC2086
for name in $short another long long_at_0 wait copy of_module; do
	is "$(remove $name)" OK "remove $name"
done
ok 'the module can go' rmmod tally_func

# ---- a CPU that goes and comes

if [ -w /sys/devices/system/cpu/cpu1/online ]; then
	for name in entry return each; do
		eval "before_$name=\$(count $name)"
	done
	echo 0 >/sys/devices/system/cpu/cpu1/online
	getppid 0 100
	echo 1 >/sys/devices/system/cpu/cpu1/online
	for name in entry return each; do
		ok "$name counts on CPU 1 again" wait_for 60 active_on_1 $name
	done
	getppid 1 100
	for name in entry return each; do
		eval "before=\$before_$name"
		is $(($(count $name) - before)) 200 "$name counted all calls"
	done
	is "$(probes r)" 1 'with the same probe'
fi

# ---- who else uses the trace event

first_probe() { find $tracefs/events/tally -name 'probe*' | head -n 1 | sed 's|.*/||'; }
use() { echo "$2" >"$tracefs/events/tally/$1/enable"; }

first=$(first_probe)
use "$first" 1
for name in entry return each one; do
	is "$(remove $name)" OK "remove $name"
done
is "$(trace_events)" 1 'a trace event that is enabled stays'
is "$(probes k)" 1 'with its probe'
is "$(create kprobe:$symbol name=entry)" OK 'a new event'
is "$(trace_events)" 2 'has a trace event of its own'
counts entry
unload_tally
ok 'the log says how to remove the first one' sh -c \
	"dmesg | grep -q ' it by: echo -:tally/$first >> $tracefs/kprobe_events$'"
# shellcheck disable=SC2119
load_tally
is "$(create kprobe:$symbol name=entry)" OK 'an event after another load'
is "$(trace_events)" 2 'has another one, too'
counts entry
use "$first" 0
echo "-:tally/$first" >>$tracefs/kprobe_events

# stays NAME: removes an event while its trace event is enabled.
stays() {
	first=$(first_probe)
	use "$first" 1
	is "$(remove "$1") $(trace_events)" 'OK 1' "the trace event of $1 stays"
	use "$first" 0
}

stays entry
is "$(create kretprobe:$symbol name=return)" OK 'an event after nobody uses the trace event'
is "$(trace_events) $(probes k) $(probes r)" '1 0 1' 'the old one is gone'
stays return
unload_tally
is "$(trace_events) $(probes k) $(probes r)" '0 0 0' 'tally goes, and no probe is left'
# shellcheck disable=SC2119
load_tally

# ---- who may not, and what cannot be

is "$(as powerless wr $tally/create "kprobe:$symbol name=entry")" EACCES 'needs CAP_PERFMON'
is "$(create kprobe:no_such_symbol_anywhere)" ENOENT 'a symbol that is not there'
mark
for line in kprobe:c_start kretprobe:c_start 'kprobe:c_start cpu=0' 'func:c_start{cs}'; do
	is "$(create "$line name=several")" EADDRNOTAVAIL "$line: several functions have the name"
done
ok 'a sentence says so' logged "several functions are called 'c_start'"
for address in 0x10 0xffffffffffffff00; do
	is "$(create kprobe:$address name=all)" "$(create "kprobe:$address cpu=0 name=one")" \
		"no probe at $address, as on one CPU"
done
is "$(trace_events)" 0 'nothing is left in tracefs'
nothing_left 'nor in tally'
finish
