#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: perf's own checks differ between 6.1 and 6.12, and by architecture.
# test: on=debian-6.12 args="8 64" seconds=30
# all: on=debian-6.12 args="3 64" seconds=40
# all: on=debian-6.1,debian-6.12-arm64 args="8 64" seconds=30
# all: on=debug-x86_64 args="512 32" seconds=50
# soak: on=debian-6.1,debian-6.12,debian-6.12-arm64 args="1 64" vm="--timeout 900" seconds=110
# soak: on=debug-x86_64,debug-arm64,debug-rt args="16 64" vm="--timeout 900" seconds=150
#
# Files of /dev/tally beside files of perf: every call has the same result, or a reason.
#
#	devperf.sh STRIDE [BITS]	opens one in STRIDE of all combinations; BITS as in
#					device.sh

. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2119
load_tally
find_bits devperf "${2-}"
for b in $bits; do
	b=${b#64}
	note "programs of ${b:-64} bits"
	results "devperf$b" calls
	results "devperf$b" exits
	results "devopens$b" opens "$1"
done
nothing_left 'nothing is left'
finish
