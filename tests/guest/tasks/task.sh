#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1 seconds=8
# soak: on=debug-x86_64,debian-6.12-arm64
#
# Events of one task: while it lives, with its children, and after its exit (features.md,
# D.1 #19: the end of a task is handled).

. "$(dirname "$0")/lib.sh"
need_cpus 2
load_tally

since() { echo $(($(count "$1") - $2)); }

# ---- its life

# The first order also pages in the code and data that later orders need.
begin_task task
order touch 1
is "$(create page-faults pid=$child name=f)" OK 'an event by pid'
is "$(cut -d' ' -f2 $tally/events)" "pid=$child" 'is listed with it'
is "$(cat $tally/f/spec)" "page-faults pid=$child name=f" 'and in spec'
if unshare -p -f true 2>/dev/null; then
	is "$(unshare -p -f cat $tally/f/spec)" 'page-faults pid=? name=f' \
		'but in another PID namespace it has no number'
	is "$(unshare -p -f cut -d' ' -f2 $tally/events)" 'pid=?' 'nor in the list'
	is "$(unshare -p -f sh -c 'wr '$tally'/create "page-faults pid=$$ name=within" >/dev/null
		cat '$tally'/within/spec')" 'page-faults pid=1 name=within' 'a task there has the one of there'
	is "$(remove within)" OK 'it goes'
else
	skip 'unshare cannot make a PID namespace' 'numbers of another PID namespace'
fi
is "$(state f)" inactive 'waiting for the task to run'
is "$(rows f | cut -d' ' -f1)" any 'per_cpu has one line, for any CPU'
is "$(count f)" 0 'nothing was counted yet'
is "$(cat $tally/f/running_ns)" 0 'it never ran yet'
is "$(cut -d' ' -f5 $tally/events)" - 'so there is nothing to scale'
echo 'touch 100' | task >/dev/null
is "$(count f)" 0 'what others do is not counted'
order touch 1000
between 1000 "$(count f)" 1003 'its page faults are counted'
at_least "$(cat $tally/f/running_ns)" 1 'its time runs when it runs'
before=$(count f)
order touch 1000
between 1000 "$(since f "$before")" 1003 'and counted again'

is "$(create cpu-clock pid=$child name=c)" OK 'its clock'
is "$(create task-clock pid=$child name=t)" OK 'its own clock'
is "$(create context-switches pid=$child name=s)" OK 'its switches'
is "$(create cpu-migrations pid=$child name=m)" OK 'its migrations'
# enabled_ns of an event on a CPU measures the time that passes.
is "$(create page-faults cpu=0 name=cpu)" OK 'an event of a CPU'
passed=$(cat $tally/cpu/enabled_ns)
order spin 200
on_cpu=$(count t)
passed=$(($(cat $tally/cpu/enabled_ns) - passed))
# The clocks of two CPUs that advance at ticks may differ by one tick.
between 200000000 "$on_cpu" $((passed + 10000000)) 'task-clock is its time on the CPU'
is "$(remove cpu)" OK 'it goes'
at_least "$(count c)" 200000000 'cpu-clock is not less'
# A sleep is a context switch, unless it ends at once.
switched() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$child/status"; }
low=$(switched) before=$(count s) high=$(switched)
order sleep 100
least=$(($(switched) - high)) after=$(count s) most=$(($(switched) - low))
between $least $((after - before)) $most 'each switch is counted that its status tells'
at_least $((after - before)) 20 'most sleeps are switches'
before=$(count m)
order migrate 100
between 100 "$(since m "$before")" 130 'each move is a migration'
seen_active() {
	echo 'spin 200' >&4
	state_is t active
	was_active=$?
	read -r answer <&5
	return $was_active
}
ok 'active while it runs' wait_for 60 seen_active
before=$(count f)
order exec
order touch 500
between 500 "$(since f "$before")" 900 'counting goes on through exec'

# ---- its end

final=$(count f)
end_task
is "$(state f)" exited 'exited, once it has'
between "$final" "$(count f)" $((final + 200)) 'the final count stays'
frozen=$(count f)
at_least "$frozen" 2500 'and is not 0'
echo 'touch 100' | task >/dev/null
is "$(count f)" "$frozen" 'it does not change any more'
is "$(grep '^f ' $tally/events | cut -d' ' -f2-4)" "pid=$child exited $frozen" 'the list says so too'
is "$(rows f | cut -d' ' -f1-3)" "any exited $frozen" 'and per_cpu'
is "$(create page-faults pid=$child name=late)" ESRCH 'no event for a task that has exited'
for name in f c t s m; do
	is "$(remove $name)" OK "an exited task's event is removed: $name"
done

# ---- one CPU only

begin_task task
order touch 1
is "$(create page-faults pid=$child cpu=1 name=f)" OK 'a task while it is on one CPU'
is "$(cut -d' ' -f2 $tally/events)" "pid=$child,cpu=1" 'is listed with both'
is "$(cat $tally/f/spec)" "page-faults pid=$child cpu=1 name=f" 'and in spec'
# "migrate 2" ends on CPU 0, and "migrate 3" on CPU 1.
order migrate 2
order touch 300
is "$(count f)" 0 'elsewhere nothing is counted'
order migrate 3
order touch 300
between 300 "$(count f)" 303 'there it is'
remove f >/dev/null
end_task

# ---- children

begin_task task
order touch 1
is "$(create page-faults pid=$child name=self)" OK 'the task alone'
is "$(create page-faults pid=$child inherit name=all)" OK 'the task and its children'
is "$(create page-faults pid=$child inherit inherit_thread name=threads)" OK 'the task and its threads'
order fork 2000
at_least "$(count all)" 2000 'a child is counted with inherit'
between 0 "$(count self)" 500 'and not without'
between 0 "$(count threads)" 500 'nor with inherit_thread'
before=$(count threads) self=$(count self) all=$(count all)
order thread 2000
at_least "$(since threads "$before")" 2000 'a thread is counted with inherit_thread'
at_least "$(since all "$all")" 2000 'and with inherit'
between 0 "$(since self "$self")" 100 'and not without both'
all=$(count all)
order fork 1000
order fork 1000
at_least "$(since all "$all")" 2000 'several children add up'
is "$(create page-faults pid=$child inherit disabled name=off)" OK 'children of an event that is off'
order fork 1000
is "$(count off)" 0 'are not counted'
end_task
is "$(state all)" exited 'the end of an inherited event'
at_least "$(count all)" 7000 'its children stay in the final count'
for name in self all threads off; do
	remove $name >/dev/null
done

# An inherited event that is removed before the task has a child.
begin_task task
order touch 1
is "$(create page-faults pid=$child inherit name=all)" OK 'once more with children'
is "$(remove all)" OK 'removed while the task lives'
order fork 100
end_task

is "$(create page-faults pid=0 name=me)" OK 'pid=0 is the writer'
is "$(state me)" exited 'who has exited by now'
remove me >/dev/null

nothing_left 'nothing is left behind'
finish
