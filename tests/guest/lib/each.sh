#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One script of this folder after the other, in one guest: to boot a kernel of ours
# takes longer than many of them.
#
#	each.sh 'SCRIPT [ARGUMENT]...'...

. "$(dirname "$0")/lib.sh"

mkfifo /tmp/each
for script; do
	note "$script"
	# shellcheck disable=SC2086 # Its words.
	(cd "$here" && exec sh $script >/tmp/each) &
	tap_results "$script" </tmp/each
	wait $!
	is $? 0 "$script ends well"
done
finish
