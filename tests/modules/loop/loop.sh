#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The count of the loop is exact in a guest whose PMU counts each instruction.
# test: on=debian-6.12-arm64 vm="--icount --smp 1" seconds=50
# test: on=debian-6.12:intel vm="--icount --smp 2" seconds=60 also="only here each CPU counts its own instructions exactly"
# all: on=debian-7:intel,debian-6.12:generic,debian-6.12:amd vm="--icount --smp 2" seconds=60
# all: on=debian-6.1:intel vm="--icount --smp 1" seconds=60
# soak: on=debian-6.12-riscv64 vm="--icount --smp 1" seconds=50
# soak: on=debug-arm64 vm="--icount --smp 1"
#
# A loop of known length is counted exactly in 10 of 10 runs. The test needs a guest with
# --icount, and --smp 1 but for x86-64, in which the PMU counts each instruction.

here=$(dirname "$0")

# Its interrupt would be counted, too.
[ ! -e /proc/sys/kernel/nmi_watchdog ] || echo 0 >/proc/sys/kernel/nmi_watchdog
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
