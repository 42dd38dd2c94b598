#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# soak: on=debian-6.12 vm="--icount --smp 32 --memory 1024" alone seconds=60
#
# hits.sh [CPUS]: the cost of a hit of a kernel probe on all CPUs is the same on CPUS (32)
# and on 2 CPUs. Needs a guest with --icount, whose clock counts instructions.

. "$(dirname "$0")/lib.sh"

# keep CPUS: lets this number of CPUs be online.
keep_online() {
	for file in /sys/devices/system/cpu/cpu[1-9]*/online; do
		cpu=${file%/online}
		cpu=${cpu##*/cpu}
		want=0
		[ "$cpu" -ge "$1" ] || want=1
		[ "$(cat "$file")" = $want ] || echo $want >"$file" || return
	done
	[ "$(nproc)" = "$1" ]
}

# cost KIND: sets cost to the instructions of 100 hits of a probe of this kind.
cost() {
	is "$(create "$1:__x64_sys_getppid name=probe")" OK "$1 on $(nproc) CPUs"
	cost=$(($(as cpu 1 ./hitcost) - plain))
	at_least "$(count probe)" 200000 'is hit'
	is "$(remove probe)" OK 'and removed'
	note "$1 on $(nproc) CPUs: $cost instructions for 100 hits"
}

cd "$here" || exit
is "$(nproc)" "${1:-32}" "${1:-32} CPUs"
# shellcheck disable=SC2119
load_tally
plain=$(as cpu 1 ./hitcost)
cost kprobe
entry=$cost
cost kretprobe
return=$cost
ok '2 CPUs are online' keep_online 2
plain=$(as cpu 1 ./hitcost)
cost kprobe
between $((cost * 99 / 100)) $entry $((cost * 101 / 100)) 'kprobe: the cost is the same'
cost kretprobe
between $((cost * 99 / 100)) $return $((cost * 101 / 100)) 'kretprobe: the cost is the same'
finish
