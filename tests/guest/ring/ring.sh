#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: as for device.sh.
# test: on=debian-6.12 args=64 seconds=30
# all: on=debian-6.1 args=32 seconds=38
# all: on=debug-x86_64 args=64 seconds=75
# soak: on=debug-arm64,debug-rt,debug-kcsan,debug-clang seconds=120
# soak: on=debian-6.12-arm64 args=64 seconds=40
#
# Rings of /dev/tally: their records compared with perf's of the same overflows, their
# mappings, their outputs, their wake-ups and their clocks.
#
#	ring.sh [BITS]	bits of the programs; default 64 and, where those run, 32

. "$(dirname "$0")/lib.sh"
need_cpus 2

# shellcheck disable=SC2119
load_tally

find_bits devring "${1-}"
# rings PROGRAM TEST...: runs the tests of a program.
rings() {
	program=$1
	shift
	for test in "$@"; do
		results "$program" "$test"
	done
}

for b in $bits; do
	b=${b#64}
	note "programs of ${b:-64} bits"
	rings "devring$b" same regs lost overwrite errors inherit
	rings "devfilter$b" texts counting exec exited group rights reader hotplug
	# Kernels that trace functions, as Debian's do, refuse a probe of __switch_to.
	[ -e /sys/kernel/tracing/available_filter_functions ] || rings "devring$b" switching
	# perf throttles a clock that samples every 10 microseconds.
	sample_rate 10000
	rings "devring$b" throttle
	sample_rate 100000
	rings "devoutput$b" outputs pauses percpu members strangers mappings memory
	rings "devwake$b" wakeup sleeper redirected epoll_late by_signal feedback
	rings "devvalues$b" reads changes interrupts
done

results devclock clocks
results devclock default

nothing_left 'nothing is left'
finish
