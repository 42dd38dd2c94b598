#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guests with NMIs and a PMU, with KASAN, and with the oldest perf.
# test: on=debug-arm64,debian-6.1 seconds=20
# test: on=debian-6.12:intel seconds=20 also="here the interrupts of a PMU are NMIs of x86"
# all: on=debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=20
# soak: on=debug-x86_64,debug-rt,debug-kcsan seconds=110
#
# Another module's handlers are called: in the right context, as often as the event
# overflows, and not after the module is unloaded.

. "$(dirname "$0")/lib.sh"

module=$here/tally_handlers.ko
with_pmu=0 with_nmi=0
! has_pmu || with_pmu=1
! pmu_is_nmi || with_nmi=1

# shellcheck disable=SC2119
load_tally
# Each CPU has a period of its own: calls on two CPUs would overflow later.
ok 'tally_handlers is loaded' as cpu 0 insmod "$module" pmu=$with_pmu nmi=$with_nmi
module_results tally_handlers
ok 'tally_handlers can be unloaded' rmmod tally_handlers
nothing_left 'nothing is left of it'

is_called() { [ "$(cat $tally/left_clock/overflows)" -ge 1 ]; }
for round in 1 2; do
	mark
	ok "mode=leave is loaded ($round)" insmod "$module" mode=leave
	ok 'its handlers are called' wait_for 60 is_called
	ok 'it can be unloaded while they are' rmmod tally_handlers
	nothing_left 'what it left is released'
	ok 'and the log says so' logged 'tally_handlers left event left_clock behind'
done
finish
