#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why one CPU in `make test`: the guest never waits for another CPU, so rounds are fast.
# test: on=debian-6.12 vm="--smp 1" args=300 seconds=3
# soak: on=debian-6.12 vm="--smp 1" args=10000 seconds=200
# soak: on=debug-arm64 args=500 seconds=150
#
# A ring's reader misses no wake-up, by poll, epoll and signals.
#
#	hammerwake.sh [ROUNDS]	rounds of each of ten kinds; default 200

. "$(dirname "$0")/lib.sh"

rounds=${1:-200}
# shellcheck disable=SC2119
load_tally
for test in 'poll 1' 'poll 7' 'poll bytes16' 'poll bytes96' 'poll bytes100' 'epoll 1' \
	'epoll 3' 'epoll bytes1000' 'sigio 1' 'refresh 3'; do
	# shellcheck disable=SC2086 # Two words.
	results "$here/hammerwake" $test "$rounds"
done
nothing_left 'nothing is left'
finish
