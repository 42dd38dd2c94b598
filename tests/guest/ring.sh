#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Rings of /dev/tally: their records beside perf's own of the same overflows, and
# what programs do to them.

. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2119
load_tally

rate=/proc/sys/kernel/perf_event_max_sample_rate
usual=$(cat $rate)
find_bits devring
for b in '' $bits; do
	note "programs of ${b:-64} bits"
	for test in same regs lost overwrite wakeup sleeper errors filters outputs pauses percpu \
		members strangers redirected mappings memory inherit throttle reads changes \
		interrupts; do
		# So that a clock of 10 microseconds is too fast for it.
		[ $test != throttle ] || echo 10000 >$rate
		results "devring$b" $test
		[ $test != throttle ] || echo "$usual" >$rate
	done
done

nothing_left 'nothing is left'
finish
