#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The count of the loop is exact in a guest whose PMU counts each instruction.
# test: on=debian-6.12-arm64 vm="--icount --smp 1" seconds=50
# soak: on=debian-6.12-riscv64 vm="--icount --smp 1" seconds=50
# soak: on=debug-arm64 vm="--icount --smp 1"
#
# A loop of known length is counted exactly in 10 of 10 runs. The test needs a guest with
# --icount and --smp 1, in which the PMU counts each instruction.

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
