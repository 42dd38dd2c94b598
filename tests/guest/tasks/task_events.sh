#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.1,debug-arm64 seconds=5
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=5
# soak: on=debug-x86_64,debug-rt,debug-kcsan,debian-6.12-arm64 seconds=60
#
# Sideband records of tasks: tally writes the same records as perf.
#
#	task_events.sh [perf]
#
# With perf, perf is compared with itself. That tests the comparison, and needs no module.

. "$(dirname "$0")/lib.sh"
need_cpus 2

with=${1:-tally}
# shellcheck disable=SC2119
[ "$with" = perf ] || load_tally

mkdir -p /tmp/perf_event
ok "perf's controller has a hierarchy of its own" \
	mount -t cgroup -o perf_event perf_event /tmp/perf_event
results task_events perf broken
for shape in own names task threads cpu inside; do
	results task_events "$with" $shape
done

if [ "$with" != perf ]; then
	results task_events tally exec
	results task_events tally cgroup
fi
end_perf_hierarchy /tmp/perf_event
[ "$with" = perf ] || nothing_left 'nothing is left'
finish
