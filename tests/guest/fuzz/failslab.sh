#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Only debug kernels let allocations fail, and only one of them looks at every access.
# test: on=debug-x86_64 alone seconds=130
# soak: on=debug-x86_64 args=1 seconds=500
# soak: on=debug-arm64 seconds=200
#
# Every allocation fails in turn, while an event is made, in all that is done with the
# device, and while the module is loaded (features.md, D.1 #4 and #5; see failnth.c and
# faildev.c).
# Leaks are looked for by scripts/vm afterwards.
#
#	failslab.sh [STEP]	while a module is loaded every STEP-th one; default 7

. "$(dirname "$0")/lib.sh"
slab=/sys/kernel/debug/failslab
pages=/sys/kernel/debug/fail_page_alloc
[ -e /proc/self/fail-nth ] || skip_all 'this kernel has no fault injection (CONFIG_FAULT_INJECTION)'
[ -d $slab ] || skip_all 'this kernel has no CONFIG_FAILSLAB'

# Those that may wait, too. Each is announced in the log without a stack, which
# tells scripts/vm that the stack that some callers print is no report.
setting $slab/ignore-gfp-wait N
setting $slab/verbose 1
if [ -d $pages ]; then
	setting $pages/ignore-gfp-wait N
	setting $pages/min-order 0
	setting $pages/verbose 1
fi

case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
address=0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)

# A thousand times, and waiting for readers is not what is tried here.
setting /sys/kernel/rcu_expedited 1
load_tally
# The machine with a PMU tries that alone: all else is the same on both.
step=${1:-7}
if has_pmu; then
	step=10
	results failnth create cycles 'r11:k cpu=0 period=1000000'
else
	results failnth create page-faults 'cpu-clock cpu=0' 'page-faults pid=1' \
		'page-faults pid=1 inherit' 'sched:sched_switch' "kprobe:$symbol" \
		"kretprobe:$symbol cpu=0" "mem:$address/4:w cpu=0" 'software/config=2/' \
		'page-faults:uD cpu=0 disabled require exclude=kernel'
	# What overflows has more: its counts on each CPU, and files.
	results failnth create 'cpu-clock cpu=0 period=1000000' "kprobe:$symbol freq=100" \
		'page-faults:u pid=1 period=1000000000 remove_on_exec sigtrap'
fi
# It lets others have samples of an event of its own.
ok 'a module with an event to attach to' insmod "$here/tally_recorder.ko" mode=share
results faildev shared
rmmod tally_recorder
# A set, published.
results failnth insmod "$here/tally_reads.ko" mode=once "$step"
nothing_left 'nothing is left'
is "$(stat_of hotplug_errors)" 0 'no CPU was given up'

unload_tally

results failnth insmod "$here/tally.ko" \
	'events="page-faults;cpu-clock;cpu-clock period=1000000 name=clock" debugfs=on' "$step"
load_tally events=page-faults
is "$(state page-faults)" active 'it loads and counts as ever'
finish
