#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run test scripts one after the other in one guest, each with an empty /tmp. The results
# of all scripts are numbered in one sequence, and each is prefixed with the name of its
# script. A script fails if it has no result or no plan, a number of results other than planned,
# or an exit status other than 0. There is a plan at the end only if each script has ended.
#
#	each.sh 'SCRIPT [ARGUMENT]...'...

here=$(dirname "$0")
begin='@each begins'
end='@each ends'

for line; do
	echo "$begin ${line%% *}"
	started=$(date +%s)
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	# shellcheck disable=SC2086 # The script and its arguments.
	(cd "$here" && exec sh $line)
	echo "$end $? $(($(date +%s) - started))"
	umount -l /tmp
done | awk -v begin="$begin" -v end="$end" -v scripts=$# '
	function result(good, text) {
		if (!good) {
			printf "not "
			bad = 1
		}
		print "ok " ++number " - " name ": " text
	}
	# A script that was killed may leave half a line.
	(at = index($0, end)) > 1 {
		print substr($0, 1, at - 1)
		$0 = substr($0, at)
	}
	index($0, begin) == 1 {
		if (open_script)
			result(0, "has an end")
		name = $3
		sub(/\.sh$/, "", name)
		seen = 0
		planned = ""
		left_out = 0
		open_script = 1
		next
	}
	index($0, end) == 1 {
		well = $3 == 0 && planned == seen && (seen || left_out)
		# A script that was left out has not passed.
		if (!well || !left_out)
			result(well, "ends well")
		if (!well)
			print "# status " $3 ", " seen " results, planned: " (planned == "" ? "none" : planned)
		print "# " name " took " $4 " s"
		fflush()
		open_script = 0
		ended++
		next
	}
	/^1\.\.0 # SKIP/ {
		planned = 0
		left_out = 1
		print "ok " ++number " - " name " # SKIP " substr($0, 13)
		next
	}
	/^1\.\.[0-9]+$/ {
		planned = substr($0, 4) + 0
		next
	}
	/^(not )?ok [0-9]+ - / {
		seen++
		good = !sub(/^not /, "")
		sub(/^ok [0-9]+ - /, "")
		result(good, $0)
		fflush()
		next
	}
	# The harness would stop at this line, although only one script has ended.
	/^Bail out!/ { sub(/^/, "# ") }
	{
		print
		fflush()
	}
	END {
		# A loop that was killed has not printed the end lines of all scripts.
		if (ended == scripts)
			print "1.." number
		exit bad || ended != scripts
	}'
