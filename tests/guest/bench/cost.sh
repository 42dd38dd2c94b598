#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12 vm="--icount --smp 1" seconds=30
#
# Makes, reads and removes 1,000 events through debugfs, and prints the cost of each.
# Needs a guest with --icount and --smp 1, whose clock counts instructions. bench.sh
# measures all other costs.

. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2119
load_tally

create_all() {
	i=0
	while [ "$i" -lt 1000 ]; do
		echo "page-faults name=e$i" >"$tally/create" || return
		i=$((i + 1))
	done
}

read_all() {
	i=0
	while [ "$i" -lt 1000 ]; do
		value=''
		read -r value <"$tally/e$i/count"
		is_number "$value" || return
		i=$((i + 1))
	done
}

remove_all() {
	i=0
	while [ "$i" -lt 1000 ]; do
		echo "e$i" >"$tally/remove" || return
		i=$((i + 1))
	done
}

# timed NAME COMMAND: prints the guest instructions for each of the 1,000 events.
now() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }
timed() {
	begin=$(now)
	ok "$@"
	note "$1: $((($(now) - begin) / 1000)) each, the shell included"
}

timed '1000 events are made through debugfs' create_all
is "$(wc -l <$tally/events)" 1000 'events has 1000 lines'
is "$(stat_of events)" 1000 'stats says so too'
is "$(stat_of counters)" 1 'they share one counter'
timed 'each is read' read_all
timed 'each is removed' remove_all
nothing_left 'nothing is left'
finish
