#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The records are the same on all; the soak has the oldest kernel and a PMU, and kills 50 times.
# test: on=debian-6.12 seconds=60
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=60
# soak: on=debian-6.1,debian-6.12-arm64 args=20 seconds=100
#
# tally record and tally snapshot, read by perf: names of functions of the kernel, of programs and
# of a library that a program maps after the start; as many samples as tally says; tracepoints
# with their fields; build ids; pipes; rings that tasks share; CPUs that come online; sets; the
# flight recorder of a module.
#
#	toolrecord.sh [KILLS]	so many recordings are killed at a random moment

. "$(dirname "$0")/lib.sh"
need_cpus 2
command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}
# shellcheck disable=SC2119
load_tally
here=$(cd "$here" && pwd)
PATH=$PATH:$here
cd $tmp || exit 1

# record STATUS ARGUMENT...: runs tally record, and prints the number of samples that it says.
samples=''
record() {
	record_want=$1
	shift
	record_status=0
	tally record -o data "$@" 2>said >/dev/null || record_status=$?
	sed 's/^/# /' said
	is "$record_status" "$record_want" "the status of: record $*"
	samples=$(sed -n 's/.*(\([0-9]*\) samples, .*/\1/p' said)
}
script() { perf script --no-inline -i data "$@" >script 2>errors; }
report() { perf report --stdio --no-inline -i data "$@" >report 2>errors; }

# ---- all CPUs, with call chains

# latelib maps the library a moment after its start, and then calls its function.
record 0 -a -g -e cpu-clock -c 1000000 latelib $here/late.so 500
at_least "$samples" 50 'there are samples'
script
is "$(grep -c 'cpu-clock:' script)" "$samples" 'perf script has as many samples as tally says'
report --no-children
sed -n '1,40p' report | sed 's/^/# /'
ok 'functions of the library have names' grep -q 'late\.so.* late_function' report
ok 'and those of the kernel' grep -q '\[kernel\.kallsyms\].* \[k\] [a-z_]' report
ok 'the program has its name' grep -q 'latelib ' report
ok 'call chains lead from the program to the library' awk '
	/^latelib / { chain = 1; library = 0 }
	/^$/ { chain = 0 }
	chain && /late_function/ { library = 1 }
	chain && library && /latelib/ { found = 1 }
	END { exit !found }' script
perf buildid-list -i data >ids
ok 'the kernel has its build id' grep -q '^[0-9a-f]\{40\} \[kernel\.kallsyms\]$' ids
ok 'and the library' grep -q '^[0-9a-f]\{40\} .*/late\.so$' ids
report --header-only
ok 'the arguments are there' grep -q '^# cmdline : tally record .*latelib' report

# ---- a command and its children, by frequency

record 0 -F 1000 sh -c 'for i in 1 2 3; do ls -R /proc/self >/dev/null; done; i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done'
at_least "$samples" 10 'there are samples'
script -F comm,event
is "$(wc -l <script)" "$samples" 'perf script has as many'
ok 'of the command' grep -q '^ *sh ' script
ok 'and of a child' grep -q '^ *ls ' script

# ---- who may read the file, and what is left if the command dies

is "$(stat -c %a data)" 600 'nobody else may read the file'
cp data before
record 0 -e page-faults -c 1 ls /
ok 'the file of before is kept' cmp before data.old
has_samples() { script && grep -q 'cpu-clock:' script; }
# A command begins when the file is there; a file of before stays without a command.
record 1 -o no/folder -e page-faults -c 1 sh -c 'echo >ran'
refused 'a command does not run without a file' test -e ran
cp data before
record 127 -e page-faults -c 1 no-such-command
ok 'without a command, the file of before stays' cmp before data
is "$(echo data*)" 'data data.old' 'and no other one'
rm data
record 0 -e page-faults -c 1 sh -c 'until [ -e data ]; do :; done; cp data early'
ok 'perf reads the file as soon as the command runs' perf script -i early
# What is there may be another user's.
echo kept >victim
ln -sf victim data
record 0 -e page-faults -c 1 ls /
is "$(cat victim)" kept 'no link is followed'
is "$(readlink data.old)" victim 'it is renamed'
rm data
: >data
exec 8<data
record 0 -e page-faults -c 1 ls /
is "$(wc -c <&8)" 0 'who has an empty file open reads nothing of it'
exec 8<&-
mkfifo perf.data
timeout 60 tally record -q -e page-faults -c 1 ls / >/dev/null
is $? 0 'a fifo that no -o names'
ok 'it is replaced' test -f perf.data
ok 'and renamed' test -p perf.data.old
# killed SIGNAL: a recording that has samples is ended by a signal.
killed() {
	rm -f data
	tally record -q -o data -a -e cpu-clock -c 1000000 2>said &
	recorder=$!
	helpers="$helpers $recorder"
	ok "before SIG$1: perf reads the file meanwhile" wait_for 60 has_samples
	kill -"$1" $recorder
	wait $recorder
	killed_status=$?
	ok "SIG$1: perf reads the file" has_samples
}
killed KILL
kills=${1-3} readable=0
for i in $(seq $kills); do
	rm -f data
	tally record -q -o data -a -e cpu-clock -c 1000000 2>said &
	recorder=$!
	wait_for 60 test -e data
	usleep $(($(od -An -N4 -tu4 /dev/urandom) % 1000000))
	kill -KILL $recorder
	wait $recorder
	if script && report; then
		readable=$((readable + 1))
	else
		note "killed $i: $(ls -l data) $(cat errors)"
	fi
done
is $readable $kills "of $kills recordings that were killed at a random moment, perf reads $readable"
killed HUP
is $killed_status 0 'SIGHUP: it ends well'
report --header-only
ok 'SIGHUP: with all that perf wants' grep -q '^# cmdline : tally record' report
# A program with 200,000 page faults.
echo "yes 'touch 5000' | head -n 40 | exec $here/task >/dev/null" >faults
mkdir small
ok 'a small disk' mount -t tmpfs -o size=1m none small
record 1 -o small/data -e page-faults -c 1 sh faults
ok 'a full disk: it says so' grep -q 'No space left' said
cp small/data data
script
at_least "$(grep -c 'page-faults:' script)" 1 'a full disk: perf reads what is there'
umount small
(
	ulimit -f 1024
	tally record -q -o data -e page-faults -c 1 sh faults 2>said
	echo $? >status
)
is "$(cat status)" 1 'a file that grows too large'
ok 'it says so' grep -q 'File too large' said
script
at_least "$(grep -c 'page-faults:' script)" 1 'perf reads what is there'

# perf need not hold all samples in memory.
record 0 -e page-faults -c 1 sh -c 'yes "touch 1000" | head -n 5 | '$here/task
at_least "$(perf script -D -i data 2>errors | grep -c FINISHED_ROUND)" 6 'a file has rounds'
refused 'their samples are in order' grep -q 'out of order' errors

# ---- pipes

# through FILE ARGUMENT...: records to a file or pipe, and leaves perf's script of standard output.
through() {
	{ tally record -o "$@" 2>said; echo $? >status; } | perf script --no-inline -i - >script 2>errors
	grep -h 'tally\|perf\|rror' said errors | sed 's/^/# /'
	samples=$(sed -n 's/.*(\([0-9]*\) samples, .*/\1/p' said)
	is "$(cat status)" 0 "the status of: record -o $*"
}
echo 'for i in 1 2 3; do ls /; done' >list
for name in - /dev/stdout; do
	through $name -a -e task:task_rename,page-faults -c 1 sh list
	at_least "$samples" 100 "$name: there are samples"
	is "$(grep -c 'task:task_rename:\|page-faults:' script)" "$samples" "$name: perf script has all"
	at_least "$(grep -c 'task:task_rename:.*newcomm=ls' script)" 1 "$name: a tracepoint has its fields"
	is "$(grep -c '^proc$' said)" 3 "$name: the command prints to standard error"
done
refused 'no file has the name -' test -e -
tally record -o - -q -g -e cpu-clock -c 1000000 latelib $here/late.so 500 2>said |
	perf report --stdio --no-inline --no-children -i - >report 2>errors
ok 'a pipe: functions have names' grep -q 'late\.so.* late_function' report
mkfifo fifo
perf script --no-inline -i - <fifo >script 2>errors &
reader=$!
helpers="$helpers $reader"
record 0 -o fifo -e page-faults -c 1 sh -c 'yes "touch 1000" | head -n 5 | '$here/task
wait $reader
at_least "$samples" 5000 'a fifo gets more than a pipe holds'
is "$(grep -c 'page-faults:' script)" "$samples" 'perf script has all'
{ timeout 60 tally record -o - -a -e cpu-clock -c 1000000 2>said; echo $? >status; } | head -c 10 >/dev/null
is "$(cat status)" 1 'a reader that ends early'
ok 'it says so' grep -q 'standard output: Broken pipe' said
like "$(tally record -o - -a true 2>&1 >/dev/ptmx)" '*standard output is a terminal*' 'a terminal is refused'

# ---- tracepoints and several events

record 0 -a -e task:task_rename,page-faults -c 1 ls /
script
at_least "$(grep -c 'task:task_rename:.*newcomm=ls' script)" 1 'a tracepoint has its fields'
at_least "$(grep -c ' page-faults: ' script)" 10 'beside another event'
is "$(grep -c 'task:task_rename:\|page-faults:' script)" "$samples" 'perf script has all'

# ---- build ids

# ids_of PATH: those of the recording. file_id FILE: that of the file.
ids_of() { perf buildid-list -i data | awk -v path="$1" '$2 == path { print $1 }'; }
file_id() { perf buildid-list -i "$1"; }
# A program whose path has another file in its mount namespace, or later.
cp $here/task prog
cp $here/latelib other
refused 'two programs have two ids' test "$(file_id prog)" = "$(file_id other)"
record 0 -e page-faults -c 1 unshare -m sh -c "
	mount --bind $PWD/other $PWD/prog && exec $PWD/prog $here/late.so 10"
is "$(ids_of $PWD/prog)" "$(file_id other)" 'the id is of the file in a mount namespace'
record 0 -e page-faults -c 1 sh -c "echo touch 10 | $PWD/prog; cp other new; mv new $PWD/prog"
is "$(ids_of $PWD/prog)" "$(file_id $here/task)" 'and of the file that was mapped, not a later one'
# Of what ran before, /proc has the inode alone.
mkfifo hold
exec 9<>hold
cp $here/task prog
helper sh -c "exec $PWD/prog <hold"
runs() { grep -q " $PWD/$1\$" /proc/$helper_pid/maps; }
ok 'a program runs' wait_for 60 runs prog
record 0 -a -e page-faults -c 1 ls /
is "$(ids_of $PWD/prog)" "$(file_id $here/task)" 'a program that ran before has its id'
cp other new
mount --bind new prog
record 0 -a -e page-faults -c 1 ls /
is "$(ids_of $PWD/prog)" "$(file_id $here/task)" 'also if another file is mounted at its path'
umount prog
# The records have another device than the files of overlayfs.
mkdir none over
if mount -t overlay -o "lowerdir=$PWD/none:$here" none over 2>errors; then
	helper sh -c "exec $PWD/over/task <hold"
	ok 'a program of overlayfs runs' wait_for 60 runs over/task
	record 0 -a -e page-faults -c 1 ls /
	is "$(ids_of $PWD/over/task)" "$(file_id $here/task)" 'it has its id'
	kill $helper_pid
	umount -l over
else
	skip "$(cat errors)" 'the id of a program of overlayfs'
fi
# A library whose first section says that there are 2^24 of them
cp $here/late.so many.so
put() {
	value=$2 bytes=''
	for i in 1 2 3 4 5 6 7 8; do
		bytes=$bytes$(printf '\\%03o' $((value % 256)))
		value=$((value / 256))
	done
	printf "$bytes" | dd of=many.so bs=1 seek="$1" conv=notrunc 2>/dev/null
}
sections=$((($(stat -c %s many.so) + 7) / 8 * 8))
truncate -s $((sections + (64 << 24))) many.so
put 40 $sections
put $((sections + 32)) $((1 << 24))
printf '\0\0' | dd of=many.so bs=1 seek=60 conv=notrunc 2>/dev/null
helper latelib $PWD/many.so 1000000
ok 'a program has mapped a strange library' wait_for 60 runs many.so
record 0 -a -e page-faults -c 1 ls /
kill $helper_pid
is "$(ids_of $PWD/many.so)" "$(file_id $here/late.so)" 'the library has its id'

# ---- rings

# rings_of N: the size of the rings for two events of N tasks, and the number of their events.
rings_of() {
	pids=''
	while [ "$(echo $pids | wc -w)" -lt "$1" ]; do
		helper sh -c 'while :; do ls / >/dev/null; usleep 50000; done'
		pids=$pids${pids:+ }$helper_pid
	done
	rm -f data
	tally record -q -o data -e page-faults,context-switches -c 1 -p "$(echo $pids | tr ' ' ,)" 2>said &
	recorder=$!
	wait_for 60 test -s data
	size=$(awk '/anon_inode:/ { ring = 1 } ring && /^Size:/ { sum += $2; ring = 0 }
		END { print sum }' /proc/$recorder/smaps)
	has_all() {
		script -F pid,event
		for pid in $pids; do
			grep -q "^ *$pid .*page-faults" script &&
				grep -q "^ *$pid .*context-switches" script || return 1
		done
	}
	ok "$1 tasks: there are samples of each" wait_for 60 has_all
	kill -TERM $recorder
	wait $recorder
	evlist=$(perf evlist -i data | tr '\n' ' ')
	end_helpers
}
rings_of 1
one=$size
rings_of 8
note "$one kB for one task, $size kB for eight"
is "$size" "$one" '8 tasks have no more rings than one'
is "$evlist" 'page-faults context-switches dummy:u ' 'and no more events'

# ---- CPUs that come online

online=/sys/devices/system/cpu/cpu1/online
files() { ls /proc/$recorder/fd | wc -l; }
has_more() { [ "$(files)" -gt $before ]; }
if [ -w $online ]; then
	echo 0 >$online
	rm -f data
	tally record -q -o data -a -e cpu-clock -c 1000000 2>said &
	recorder=$!
	helpers="$helpers $recorder"
	ok 'a recording of the other CPUs' wait_for 60 has_samples
	for time in first second; do
		before=$(files)
		echo 1 >$online
		ok "$time time: records of the CPU's programs begin" wait_for 20 has_more
		ok "$time time: a program runs there" $here/as cpu 1 $here/latelib $here/late.so 100
		[ $time = second ] || echo 0 >$online
	done
	kill -TERM $recorder
	wait $recorder
	sed 's/^/# /' said
	script
	is "$(grep -c 'latelib .*late_function' script)" "$(grep -c late_function script)" \
		'the samples have the name of the program'
	is "$(awk '$1 == "latelib" { print $2 }' script | sort -u | wc -l)" 2 'of both'
fi

# ---- other targets

helper sh -c 'while :; do ls / >/dev/null; done'
record 0 -p $helper_pid -e page-faults -c 1 sleep 0.5
script -F pid,comm
at_least "$(awk -v pid=$helper_pid '$NF == pid' script | wc -l)" 1 'a process'
at_least "$(awk -v pid=$helper_pid '$NF != pid' script | wc -l)" 1 'and its children'
sh -c : &
ended=$!
wait $ended
record 0 -t $ended,$helper_pid -e page-faults -c 1 sleep 0.5
refused 'a thread that has ended takes no names from the others' grep -q 'no names' said
script -F comm
ok 'which have theirs' grep -q '^ *ls *$' script
helper sleep 1000
ended=$helper_pid
helper sleep 1000
rm -f data
timeout 60 tally record -q -o data -e page-faults -c 1 -p $ended,$helper_pid 2>said &
recorder=$!
wait_for 60 test -s data
kill $ended
kill $helper_pid
wait $recorder
is $? 0 'a recording ends with the last of its tasks'
record 0 -C 1 -e cpu-clock -c 1000000 sleep 0.3
script -F cpu
is "$(grep -v '\[001\]' script)" '' 'one CPU alone'
for cpu in 0 $(($(nproc) - 1)); do
	record 0 -G / -e page-faults -c 1 $here/as cpu $cpu dd if=/dev/zero of=/dev/null bs=512k count=1
	at_least "$samples" 128 "a cgroup, on CPU $cpu"
done
if { echo +pids >/sys/fs/cgroup/cgroup.subtree_control; } 2>errors; then
	mkdir /sys/fs/cgroup/removed
	rm -f data
	timeout 60 tally record -q -o data -e page-faults -c 1 -G removed 2>said &
	recorder=$!
	wait_for 60 test -e data
	rmdir /sys/fs/cgroup/removed
	wait $recorder
	is $? 0 'a recording ends with its cgroup'
	echo -pids >/sys/fs/cgroup/cgroup.subtree_control
else
	skip "$(cat errors)" 'a recording ends with its cgroup'
fi
ok 'a module with functions' insmod $here/tally_func.ko
record 0 -a -e kprobe:tally_func_long -c 1 sh -c 'echo inner 20 >/sys/module/tally_func/parameters/run'
ok 'it says what a probe has missed' grep -q 'long: the kernel missed 20 hits, which have no' said
ok 'the module goes' rmmod tally_func
if has_pmu; then
	record 0 -e cycles:P -c 100000 latelib $here/late.so 200
	report
	ok 'cycles are of the library' grep -q 'late\.so.* late_function' report
fi
record 3 -e page-faults sh -c 'exit 3'
# A tracefs without formats
mount -t tmpfs none /sys/kernel/tracing
mkdir /sys/kernel/tracing/events
mv data before
record 1 -e sched:sched_switch,page-faults true
ok 'it says that there are no formats' grep -q 'sched:sched_switch: its format cannot be read' said
refused 'there is no file' test -e data
umount /sys/kernel/tracing
mv before data

# ---- sets, which their first event samples

# set_counts EVENT: what the samples of an event count, by perf script.
set_counts() { awk -v event="$1:" '$NF == event { sum += $(NF - 1) } END { print sum + 0 }' script; }
# A fault is one of minor-faults after its sample.
record 0 -e '{page-faults,minor-faults}:S' -c 1 dd if=/dev/zero of=/dev/null bs=512k count=1
at_least "$samples" 128 'a command is sampled by the first event of a set'
is "$(perf evlist -g -i data | head -n 1)" '{page-faults,minor-faults}' 'perf knows the set'
script -F comm,period,event
is "$(set_counts page-faults)" "$samples" 'its counts are those of its samples'
between $((samples - 8)) "$(set_counts minor-faults)" "$samples" 'which have the counts of the other'
record 0 -a -e '{page-faults,minor-faults}:S,cs' -c 1 sh -c "
	$here/as cpu 0 dd if=/dev/zero of=/dev/null bs=512k count=1
	$here/as cpu 1 dd if=/dev/zero of=/dev/null bs=512k count=1"
script -F cpu,period,event
at_least "$(sed 's/].*//' script | sort -u | wc -l)" 2 'all CPUs'
refused 'each has counts of its own: none falls from one sample to the next' \
	grep -q ' 18446744' script
report
ok 'perf report has a column for each' grep -q "Samples.* of events 'anon group { page-faults, minor-faults }'" report
tally record -o - -C 1 -e '{page-faults,minor-faults}:S' -c 1 $here/as cpu 1 \
	dd if=/dev/zero of=/dev/null bs=512k count=1 2>said >pipe
cat pipe | perf script -F comm,period,event >script 2>errors
at_least "$(set_counts minor-faults)" 128 'the same through a pipe'
cat pipe | perf report --stdio -i - >report 2>errors
ok 'which has the set' grep -q "Samples.* of events 'anon group { page-faults, minor-faults }'" report
record 0 -e '{page-faults}:S,cs' -c 1 dd if=/dev/zero of=/dev/null bs=512k count=1
ok 'a set of one' grep -q 'a set is not sampled in children, nor in threads that begin later' said
script -F comm,period,event
at_least "$(set_counts page-faults)" 128 'has its counts'
record 0 -G / -e '{page-faults,minor-faults}:S' -c 1 dd if=/dev/zero of=/dev/null bs=512k count=1
script -F comm,period,event
at_least "$(set_counts minor-faults)" 128 'a cgroup'
sh -c 'while :; do :; done' &
helpers="$helpers $!"
record 0 -p $! -e '{cpu-clock,task-clock}:S' -c 1000000 sleep 0.3
script -F comm,period,event
at_least "$(set_counts task-clock)" 1000000 'a process'
end_helpers
if has_pmu; then
	record 0 -e '{cycles,instructions}:S' -c 100000 latelib $here/late.so 200
	script -F comm,period,event
	is "$(grep -c ' cycles:' script)" "$samples" 'cycles sample'
	at_least "$(set_counts instructions)" 100000 'and have instructions'
	large='r11,r11:u,r11:k,r23,r23:u,r23:k,r24,r24:u,r24:k,r2b,r2b:u,r2b:k'
	record 1 -C 0 -e "{$large}:S" -c 100000000 true
	ok 'a set that is too large' grep -q 'the PMU has room for [0-9]* of these' said
	record 0 -C 0 -e "{$large}:WS" -c 100000000 true
fi

# ---- the flight recorder of a module

ok 'a module with flight recorders' insmod $here/tally_recorder.ko mode=share
echo 20 >/sys/module/tally_recorder/parameters/calls
for name in shared forward; do
	tally snapshot -o data $name 2>said
	sed 's/^/# /' said
	is "$(sed -n 's/.*wrote \([0-9]*\) records .*/\1/p' said)" 20 "$name has the records"
	script
	is "$(grep -c . script)" 20 'perf script has as many'
done
tally snapshot -o - shared 2>said | perf script -i - >script 2>errors
is "$(grep -c . script)" 20 'and of a snapshot in a pipe'
tally snapshot -o data unshared 2>said
ok 'a recorder that is not shared' grep -q 'shares no flight recorder' said
ok 'it goes' rmmod tally_recorder
nothing_left 'nothing is left'
finish
