#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The counted loop is exact where a PMU counts instructions one by one.
# test: on=debian-6.12-arm64 vm="--icount --smp 1" seconds=15
# soak: on=debug-arm64 vm="--icount --smp 1"
#
# A loop of known length is counted exactly, 10 runs of 10. Wants a guest with
# --icount and --smp 1, in which the PMU counts instructions one by one.

here=$(dirname "$0")

for module in tally tally_loop; do
	insmod "$here/$module.ko" || {
		echo "Bail out! $module.ko does not load"
		exit 1
	}
done
cat /sys/kernel/debug/tally_loop/results
failed=$(grep -c '^not ok' /sys/kernel/debug/tally_loop/results)
rmmod tally_loop tally || echo 'Bail out! the modules do not unload'
[ "$failed" = 0 ]
