#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Rings of /dev/tally: their records beside perf's own of the same overflows, and
# what programs do to them.

. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2119
load_tally

bits=''
if [ -x "$here/devring32" ]; then
	"$here/devring32" 2>/dev/null
	if [ $? -eq 2 ]; then
		bits=32
	else
		skip 'this kernel runs no programs of 32 bits' '32-bit programs'
	fi
fi
for b in '' $bits; do
	note "programs of ${b:-64} bits"
	for test in same regs lost overwrite wakeup sleeper errors filters outputs pauses percpu \
		members strangers redirected mappings memory inherit throttle reads changes \
		interrupts; do
		results "devring$b" $test
	done
done

nothing_left 'nothing is left'
finish
