#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1 seconds=8
# soak: on=debug-x86_64,debug-rt,debian-6.12-arm64
#
# Events of a task that executes a program of higher rights: they end where perf's do.
#
#	nodump.sh [perf]
#
# With perf, perf is compared with itself, and no module is needed.

. "$(dirname "$0")/lib.sh"

with=${1:-tally}
# shellcheck disable=SC2119
[ "$with" = perf ] || load_tally

# User 1000 can execute all of them, and read all but one.
chmod 755 $tmp
for program in plain set_user_id set_group_id unreadable; do
	cp "$here/nodump" $tmp/$program
	chmod 755 $tmp/$program
done
chmod u+s $tmp/set_user_id
chmod g+s $tmp/set_group_id
chmod 711 $tmp/unreadable

for whose in task child; do
	results "$here/nodump" "$with" $whose $tmp/plain goes_on
	for program in set_user_id set_group_id unreadable; do
		results "$here/nodump" "$with" $whose $tmp/$program ends
	done
done

[ "$with" = perf ] || nothing_left 'nothing is left'
finish
