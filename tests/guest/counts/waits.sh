#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# 6.1 has a different perf core. The debug kernels have no userfaultfd: many share there.
# test: on=debian-6.12 seconds=15
# all: on=debug-x86_64 args=10 seconds=30
# soak: on=debian-6.1,debian-6.12-arm64,debug-arm64
#
# Events of other tasks and CPUs are made and removed, and CPUs come and go, while perf
# waits with the creation or the release of one event. perf may wait for grace periods, and
# for the task, for any time.
#
#	waits.sh [ROUNDS]	rounds of events that four make and remove; default 50

. "$(dirname "$0")/lib.sh"
need_cpus 2
rounds=${1:-50}

online=/sys/devices/system/cpu/cpu1/online
column_is() { [ "$(cpu_line "$1" 1 | cut -d' ' -f"$2")" = "$3" ]; }

# hold PID: perf waits with all events of the task from now on, until let_go.
hold() {
	rm -f $tmp/let_go $tmp/held
	mkfifo $tmp/let_go
	helper sh -c "exec '$here/holdctx' $1 <$tmp/let_go >$tmp/held"
	holder=$helper_pid
	exec 6>$tmp/let_go
	ok "perf waits with the events of $1" wait_for 60 test -s $tmp/held
}

let_go() {
	exec 6>&-
	wait "$holder"
}

# waiting N: whether N tasks wait for a counter.
waiting() {
	[ "$(grep -l tally_counter_get /proc/[0-9]*/task/[0-9]*/stack 2>/dev/null | wc -l)" = "$1" ]
}

# begin COMMAND...: starts a command that is to wait; it writes to $tmp/begun when it ends.
# It must not have descriptor 6, whose end it waits for.
begin() {
	rm -f $tmp/begun
	(
		exec 6>&-
		"$@" >$tmp/begun.new
		mv $tmp/begun.new $tmp/begun
	) &
	begun_pid=$!
}

# begin_devwaits COMMAND NAME: starts the helper devwaits, which reads from descriptor 7 and writes to
# $tmp/COMMAND.
begin_devwaits() {
	mkfifo $tmp/to."$1"
	helper sh -c "exec '$here/devwaits' $1 $child <$tmp/to.$1 >$tmp/$1"
	exec 7>$tmp/to."$1"
	ok "$2" wait_for 60 test -s $tmp/"$1"
}

# in_perf FUNCTION: whether any task is in a function of the kernel.
in_perf() { cat /proc/[0-9]*/task/[0-9]*/stack 2>/dev/null | grep -q "$1"; }

# others_go_on WHAT: events of others are made and removed, and a CPU goes and comes.
others_go_on() {
	helper sh $tmp/others $tally
	ok "$1: others make and remove events" wait_for 60 test -s $tmp/made
	is "$(cat $tmp/made 2>/dev/null)" 'OK OK OK OK OK OK' 'without an error'
	rm -f $tmp/made
	echo 0 >$online
	echo 1 >$online
	ok "$1: CPU 1 went and came, and is counted again" wait_for 60 column_is all 1 active
	ok "$1: all this time it waits" test ! -e $tmp/begun
}

# others_call: each call of other programs ends. They must not have descriptor 6 either.
others_call() { results sh -c 'exec 6>&-; exec "$0" others' "$here/devwaits"; }

cat >$tmp/others <<'END'
set -- $(wr $1/create 'context-switches name=a') $(wr $1/create 'page-faults cpu=0 name=b') \
	$(wr $1/create "page-faults pid=$$ name=c") $(wr $1/remove a) $(wr $1/remove b) \
	$(wr $1/remove c)
echo "$*" >$tmp/made.new
mv $tmp/made.new $tmp/made
END

# perf_waits: perf waits with the removal and the creation of events of a task.
perf_waits() {
	begin_task task
	order touch 1
	is "$(create page-faults name=all)" OK 'an event on all CPUs'
	is "$(create "page-faults pid=$child name=one")" OK 'an event of a task'
	hold "$child"
	begin remove one
	ok 'its removal waits' wait_for 60 in_perf perf_event_release_kernel
	others_go_on removal
	let_go
	wait "$begun_pid"
	is "$(cat $tmp/begun)" OK 'then it is removed'

	hold "$child"
	begin create "page-faults pid=$child name=one"
	ok 'its creation waits' wait_for 60 in_perf perf_event_create_kernel_counter
	others_go_on creation
	(exec 6>&- && create "page-faults pid=$child name=two" >$tmp/two) &
	two=$!
	ok 'a second one waits for it' wait_for 60 waiting 2
	let_go
	wait "$begun_pid"
	is "$(cat $tmp/begun)" OK 'then it is made'
	wait "$two"
	is "$(cat $tmp/two)" OK 'and so is the second one'
	is "$(stat_of counters)" 2 'both share one counter'
	order touch 500
	at_least "$(count one)" 500 'which counts'
	at_least "$(count two)" 500 'for both'

	# Who reads an event of the task waits, and has it locked.
	ok 'a module with an event' insmod "$here/tally_owner.ko"
	hold "$child"
	begin cat $tally/one/count
	ok 'a read of its count waits' wait_for 60 in_perf perf_event_read_value
	(exec 6>&- && "$here/devwaits" reads one >$tmp/reads) &
	reader=$!
	others_call
	ok 'the list has its count' grep -Eq "^one pid=$child inactive [0-9]+ [0-9]+ 100.00%$" \
		$tally/events
	ok 'a module goes with its event' rmmod tally_owner
	others_go_on 'a read'
	let_go
	wait "$begun_pid"
	at_least "$(cat $tmp/begun)" 500 'then it is read'
	wait "$reader"
	is "$(cat $tmp/reads)" 'ok one is read' 'and so it is by the reader that is attached'

	# Works of one user find perf busy. Those of others have their turns.
	begin_devwaits floods 'events with a limit'
	flood=$helper_pid
	is "$(cat $tmp/floods)" 'ok 300 events with a limit' 'are there'
	hold "$child"
	order touch 1
	others_call
	let_go
	exec 7>&-
	wait "$flood"

	# The task exits first, and then no event can be made. Somebody waits for its end, and reads
	# its event.
	begin_devwaits file 'a file of the task'
	reader=$helper_pid
	hold "$child"
	echo >&7
	exec 7>&-
	ok 'its reader waits' wait_for 60 in_perf perf_event_read_value
	begin sh -c "cat /proc/$reader/fdinfo/* >/dev/null; echo ended"
	ok 'who looks at its files does not' wait_for 60 grep -qx ended $tmp/begun
	kill -9 "$child"
	ok 'the task waits, too' wait_for 60 in_perf perf_event_exit_task
	others_call
	counters=$(stat_of counters)
	pids=''
	for name in a b c; do
		(exec 6>&- && create "context-switches pid=$child name=$name" >$tmp/$name) &
		pids="$pids $!"
	done
	ok 'three creations wait, of one counter' wait_for 60 waiting 3
	is "$(stat_of counters)" $((counters + 1)) 'which is one more'
	let_go
	wait "$reader"
	is "$(tail -n 1 $tmp/file)" 'ok its count is read, and its end is seen' 'the reader goes on'
	# shellcheck disable=SC2086 # Several words.
	wait $pids
	is "$(cat $tmp/a $tmp/b $tmp/c | tr '\n' ' ')" 'ESRCH ESRCH ESRCH ' 'all of them fail'
	is "$(stat_of counters)" 2 'and leave nothing'
	exec 4>&- 5<&-

	for name in one two all; do
		is "$(remove $name)" OK "remove $name"
	done
}

# shellcheck disable=SC2119
load_tally
if [ -e /proc/sys/vm/unprivileged_userfaultfd ]; then
	perf_waits
else
	skip 'this kernel has no userfaultfd' 'perf waits with one event'
fi

# ---- many at a time share, and end at any moment

begin_task task
pids=''
for who in 1 2 3 4; do
	(
		i=0
		while [ $i -lt "$rounds" ]; do
			i=$((i + 1))
			[ "$(create "page-faults pid=$child name=$who")" = OK ] || exit
			[ "$(create "page-faults name=all$who")" = OK ] || exit
			[ "$(remove $who)" = OK ] || exit
			[ "$(remove all$who)" = OK ] || exit
		done
		echo $who
	) >>$tmp/sharers &
	pids="$pids $!"
done
# shellcheck disable=SC2086 # Several words.
wait $pids
is "$(sort $tmp/sharers | tr '\n' ' ')" '1 2 3 4 ' 'all events are made and removed'
end_task
nothing_left 'nothing is left'
finish
