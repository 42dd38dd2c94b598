#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs on each kernel that tally is built for (make matrix), so it needs no PMU, no
# breakpoints and no second CPU, and uses them if they are there.
#
# Why these kernels: in make test no other script runs on them.
# test: on=debian-7 seconds=10
# test: on=debian-6.12-rt seconds=10 also="only PREEMPT_RT sleeps in a spinlock"
# soak: on=debian-6.12-riscv64 seconds=60
#
# Uses every surface of tally once: events of the command line, files of debugfs, the
# device, a ring, overflows, another module, a CPU that goes and comes back.

. "$(dirname "$0")/lib.sh"

faults() { echo "touch $1" | "$here/task" >/dev/null; }
names() { cut -d' ' -f1 $tally/events | tr '\n' ' '; }
overflowed() { [ "$(cat "$tally/$1/overflows")" -gt "$2" ]; }
grew() { [ "$(count "$1")" -gt "$2" ]; }
cpu_is() { [ "$(cpu_line faults "$1" | cut -d' ' -f1)" = "$2" ]; }

# ---- loading

mark
load_tally 'events="page-faults name=faults;cpu-clock;no-such-event"'
is "$(names)" 'faults cpu-clock ' 'events= makes events'
ok 'and says why not' logged "tally: no-such-event: unknown event 'no-such-event'"
ok 'with a sum' logged 'tally: 2 events started, 1 failed'

# ---- debugfs

before=$(count faults)
faults 100
at_least $(($(count faults) - before)) 100 'faults are counted'
is "$(rows faults | cut -d' ' -f2 | sort -u)" active 'on each CPU'
is "$(cat $tally/faults/spec)" 'page-faults cpu=all name=faults' 'spec'
before=$(count cpu-clock)
ok 'time passes' wait_for 30 grew cpu-clock "$before"
is "$(create context-switches cpu=0 name=one)" OK 'create'
ok 'switches are counted' wait_for 30 grew one 0
is "$(create page-faults name=off disabled)" OK 'create a disabled event'
faults 10
is "$(state off) $(count off)" 'off 0' 'which counts nothing'
is "$(create no-such-event)" ENOENT 'an unknown event'
is "$(remove off) $(remove one)" 'OK OK' 'remove'
is "$(names)" 'faults cpu-clock ' 'the others stay'
if [ -d /sys/kernel/tracing/events/sched ]; then
	is "$(create sched:sched_switch name=switches)" OK 'a tracepoint'
	ok 'is counted' wait_for 30 grew switches 0
	is "$(remove switches)" OK 'and removed'
else
	skip 'the kernel has no tracepoints' 'a tracepoint'
fi
breakpoint=mem:0x$(sed -n 's/ [A-Za-z] do_exit$//p' /proc/kallsyms)/4:w
case $(uname -m) in
x86_64 | aarch64)
	is "$(create "$breakpoint cpu=0 name=bp")" OK 'a breakpoint'
	is "$(remove bp)" OK 'and removed'
	;;
*)
	mark
	is "$(create "$breakpoint cpu=0 name=bp")" ENOENT 'no breakpoint'
	ok 'and the log says why' logged 'tally: .*the kernel has no breakpoints on this architecture'
	;;
esac

# ---- the PMU

mark
if has_pmu; then
	for what in cycles instructions; do
		made=$(create "$what" cpu=0 name=pmu)
		# Without icount, QEMU counts no instructions on arm64.
		if [ $what-"$made" = instructions-ENOENT ]; then
			skip 'this PMU does not count them' $what
			continue
		fi
		is "$made" OK "$what"
		ok 'are counted' wait_for 30 grew pmu 0
		is "$(remove pmu)" OK 'and removed'
	done
	is "$(create cycles cpu=0 period=1000000 name=pmu)" OK 'cycles with a period'
	helper as cpu 0 load -b
	ok 'overflow' wait_for 60 overflowed pmu 0
	is "$(remove pmu)" OK 'and are removed'
	end_helpers
else
	is "$(create cycles)" ENOENT 'no cycles without a PMU'
	ok 'and the log says why' logged 'tally: cycles: the CPU has no PMU'
fi

# ---- overflows

begin_task task
order touch 1
is "$(create page-faults pid=$child period=10 name=ten)" OK 'each tenth fault of a task'
is "$(create cpu-clock period=1000000 name=clock)" OK 'a clock with a period'
order touch 100
end_task
is "$(state ten)" exited 'the task has exited'
at_least "$(count ten)" 100 'its faults are counted'
is "$(cat $tally/ten/overflows) $(cat $tally/ten/skipped)" "$(($(count ten) / 10)) 0" 'an overflow in ten'
ok 'the clock overflows' wait_for 30 overflowed clock 1
is "$(remove ten) $(remove clock)" 'OK OK' 'both go'

# ---- the device

ok 'the device is there' [ -c /dev/tally ]
results devread attach faults
if [ "$(nproc)" -gt 1 ]; then
	results devread page
else
	skip 'there is one CPU' 'devread page'
fi
results devgroups groups
results devoutput outputs
results devwake wakeup

# ---- another module

for kind in event set overflow; do
	ok "a module with an event: $kind" insmod "$here/tally_owner.ko" kind=$kind
	ok 'is in the tree' grep -q '^owned ' $tally/events
	refused 'tally stays under it' rmmod tally 2>/dev/null
	ok 'the module goes' rmmod tally_owner
done

# ---- a CPU that goes and comes back

online=/sys/devices/system/cpu/cpu1/online
if [ -w $online ]; then
	ok 'CPU 1 goes' sh -c "echo 0 >$online"
	is "$(cpu_line faults 1 | cut -d' ' -f1)" offline 'and its line says so'
	before=$(count faults)
	faults 100
	at_least $(($(count faults) - before)) 100 'the others count on'
	ok 'it comes back' sh -c "echo 1 >$online"
	ok 'and counts again' wait_for 60 cpu_is 1 active
	is "$(stat_of hotplug_errors)" 0 'without an error'
else
	skip 'CPU 1 cannot go offline' 'a CPU that goes and comes back'
fi

# ---- unloading

is "$(remove faults) $(remove cpu-clock)" 'OK OK' 'the events go'
nothing_left 'and leave nothing'
is "$(create page-faults)" OK 'one is left for rmmod'
ok 'tally is unloaded' unload_tally
is "$(ls -d /sys/kernel/debug/tally* /sys/module/tally* /dev/tally 2>/dev/null)" '' 'nothing is left of it'
finish
