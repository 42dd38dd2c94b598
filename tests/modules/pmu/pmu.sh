#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.1,debian-6.12,debian-6.12-arm64,debug-x86_64,debug-arm64 vm="--smp 4" seconds=40
#
# Events of PMUs that the machines of the tests do not have: tally_pmu.ko has them. Each part
# names the finding that it is about.

. "$(dirname "$0")/lib.sh"
load_tally
test_pmu=/sys/kernel/debug/tally_pmu

advance() { echo "$1" >$test_pmu/advance; }
served_by() { cut -d' ' -f1 "$tally/$1/per_cpu" | xargs; }
online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }
repairs() { stat_of hotplug_repairs; }
# counts_on NAME CPU: tally has an event on a CPU that came back.
counts_on() { [ "$(cpu_line "$1" "$2" | cut -d' ' -f1)" = active ]; }
served_are() { [ "$(served_by "$1")" = "$2" ]; }

# ---- M1: a PMU that serves some CPUs, and has its own error for the others

insmod tally_pmu.ko domain_cpus=4
for refusal in 2:ENOENT 19:ENODEV 22:EINVAL; do
	word=${refusal#*:}
	echo "${refusal%:*}" >$test_pmu/refusal
	echo 1,3 >$test_pmu/served
	is "$(create tally_foreign/config=1/ name=f)" OK "M1 $word elsewhere: the event is made"
	is "$(served_by f)" '1 3' "M1 $word elsewhere: two CPUs are served"
	advance 7
	is "$(count f)" 14 "M1 $word elsewhere: both are counted"
	online 2 0
	online 2 1
	ok "M1 $word elsewhere: a CPU that is not served comes back" wait_for 60 served_are f '1 3'
	online 3 0
	echo 1 >$test_pmu/served
	online 3 1
	ok "M1 $word elsewhere: a CPU that is served no more" wait_for 60 state_is f active
	advance 5
	is "$(count f)" 19 "M1 $word elsewhere: the others' counts are shown"
	is "$(remove f)" OK "M1 $word elsewhere: it is removed"
	echo 0-3 >$test_pmu/served
	is "$(stat_of hotplug_errors)" 0 "M1 $word elsewhere: no error"
	echo '' >$test_pmu/served
	is "$(create tally_foreign/config=1/ name=f)" $word "M1 $word on all CPUs: its error"
done
finish
