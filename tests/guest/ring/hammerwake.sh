#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One CPU does not wait for its turn on the machine, so that it can be often.
# test: on=debian-6.12 vm="--smp 1" args=300 seconds=20
# soak: on=debian-6.12 vm="--smp 1" args=100000 seconds=2000
# soak: on=debug-arm64 args=1000 seconds=300
#
# No wake-up of a ring's reader is missed, by poll, epoll and signals.
#
#	hammerwake.sh [ROUNDS]	default 200, of each of ten kinds

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
