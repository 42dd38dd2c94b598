#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Each architecture has its own call chains, and Linux 6.1 walks them in another way.
# test: on=debug-arm64,debian-6.1 seconds=25
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=25
# soak: on=debug-x86_64,debug-rt,debug-clang,debian-6.12-riscv64 seconds=40
#
# Compares call chains, registers and stacks with those that perf makes at the same
# overflow.

. "$(dirname "$0")/lib.sh"

files=/sys/kernel/debug/tally_chain
pmus=/sys/bus/event_source/devices

# symbol NAME: prints the address of a symbol of the kernel.
symbol() { echo "0x$(awk -v name="$1" '$3 == name && $2 ~ /[tT]/ { print $1; exit }' /proc/kallsyms)"; }
number_in() { cat "$1" 2>/dev/null || echo 0; }

ok 'tally_chain is loaded' insmod "$here/tally_chain.ko" \
	prepare="$(symbol perf_prepare_sample)" \
	reg_value="$(symbol perf_reg_value)" \
	reg_validate="$(symbol perf_reg_validate)" \
	kprobe_type="$(number_in $pmus/kprobe/type)" kprobe_at="$(symbol vfs_read)" \
	tracepoint="$(number_in /sys/kernel/tracing/events/raw_syscalls/sys_enter/id)" \
	uprobe_type="$(number_in $pmus/uprobe/type)" \
	uprobe_at="$("$here/chains")"

# start KIND: starts the events of a kind; skips it if the kernel has none.
started=''
program=$(cd "$here" && pwd)/chains
start() {
	if printf '%s %s\0' "$1" "$program" >$files/start; then
		started="$started $1"
	else
		skip 'this kernel has none' "$1"
	fi
}

kinds='clock clock-short clock-kernel clock-user faults switches tracepoint kprobe'
kinds="$kinds kretprobe"
# On riscv64, Linux 6.12 warns in arch_uprobe_post_xol() at each uprobe that a program hits.
if [ "$(uname -m)" = riscv64 ]; then
	skip 'the kernel warns at uprobes' 'uprobe and uretprobe'
else
	kinds="$kinds uprobe uretprobe"
fi
# On arm64 a handler of a module would have to step over the instruction that hit. On x86, an NMI of
# a PMU overwrites the call chain that perf has of a breakpoint in the kernel, also an NMI: it has
# one buffer for both.
watch=
if [ "$(uname -m)" = x86_64 ]; then
	watch=watch
	if has_pmu; then
		skip 'perf has one buffer for both NMIs' poke
	else
		kinds="$kinds poke"
	fi
fi
for kind in $kinds; do
	start "$kind"
done
! has_pmu || start cycles

few() {
	cat $files/report >$tmp/report
	for kind in $started $watch; do
		[ "$(sed -n "s/^$kind overflows \([0-9]*\).*/\1/p" $tmp/report)" -ge 10 ] || return 0
	done
	return 1
}
ok 'a program with frames' "$here/chains" 2 $watch
if [ -e "$here/chains32" ]; then
	ok 'the same in 32 bits' "$here/chains32" 2 $watch
fi
# A busy machine may need more time for ten overflows of each kind.
more=0
while few && [ $more -lt 30 ]; do
	"$here/chains" 2 $watch >/dev/null
	more=$((more + 1))
done
sed 's/^/# /' $tmp/report
is "$(sed -n 's/^masks //p' $tmp/report)" agree 'the same masks are legal'
for kind in $started $watch; do
	line=$(grep "^$kind overflows" $tmp/report)
	between 10 "$(echo "$line" | sed 's/.* overflows \([0-9]*\).*/\1/')" '' "$kind: overflows"
	like "$line" '* differ' "$kind: nothing differs"
done
ok 'tally_chain is unloaded' rmmod tally_chain
finish
