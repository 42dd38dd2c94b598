#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: each perf core decides by itself on which CPU it delivers.
# test: on=debian-6.12,debian-6.1 args=500 seconds=4
# soak: on=debian-7,debian-6.12-arm64,debian-6.12-rt,debug-kcsan args=20000 seconds=60
#
# Two CPUs never write to one ring at a time: not if one wakes a task whose ring the other
# one writes to.
#
#	wakers.sh [ROUNDS]	number of wake-ups; default 500

. "$(dirname "$0")/lib.sh"
need_cpus 2

# shellcheck disable=SC2119
load_tally
results "$here/devwaker" outputs
results "$here/devwaker" wakings "${1:-500}"
nothing_left 'nothing is left'
finish
