#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12 seconds=25
#
# The CSV and JSON of `tally stat` and of `perf stat` pass the same two parsers: those of perf's
# own tests, in the kernel's source. tests/guest/tool/toolstat.sh prints both in a guest.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

kernel=${1:-debian-6.12}
source=$(scripts/kernels source)/tools/perf/tests/shell
scripts/vm --kernel "$kernel" --full -- sh toolstat.sh formats \
	>"$work/all" 2>"$work/errors"
check 'the guest ends well' test $? = 0
cat "$work/errors" >&2

# of FORMAT TOOL KIND: writes that output to the file of the parsers. This perf prints a comment
# in front of JSON, too.
# shellcheck disable=SC2034 # commachecker reads it.
stat_output=$work/output
of() {
	sed -n "s/^$1 $2 $3 //p" "$work/all" | grep -v '^#\|^$' >"$stat_output"
	[ -s "$stat_output" ] || { echo "no output of $*"; return 1; }
}

# shellcheck disable=SC2034
csv_sep=@
eval "$(sed -n '/^function commachecker/,/^}/p' "$source/stat+csv_output.sh")"
csv() { of csv "$1" "$2" && (commachecker "$2"); }
json() { of json "$1" "$2" && python3 "$source/lib/perf_json_output_lint.py" "$2" --file "$stat_output"; }

# Both have the same keys, in whatever order.
keys() {
	of json "$1" "$2" && python3 -c '
import json, sys
print(sorted({tuple(sorted(json.loads(line))) for line in open(sys.argv[1])}))' "$stat_output"
}
same_keys() {
	local perf tally
	perf=$(keys perf "$1") && tally=$(keys tally "$1") && [ "$perf" = "$tally" ] && return
	printf 'perf: %s\ntally: %s\n' "$perf" "$tally"
	return 1
}

# broken FORMAT: a field or key too much is noticed.
broken() {
	of "$1" tally --event || return
	case $1 in
	csv) sed -i 's/$/@more/' "$stat_output" && ! (commachecker --event) ;;
	json) sed -i 's/{ /{ "more": 1, /' "$stat_output" &&
		! python3 "$source/lib/perf_json_output_lint.py" --event --file "$stat_output" ;;
	esac
}

for kind in --no-args --system-wide --event --interval --system-wide-no-aggr; do
	for tool in perf tally; do
		check "$tool, CSV, $kind" csv $tool $kind
		check "$tool, JSON, $kind" json $tool $kind
	done
	check "both have the same keys, $kind" same_keys $kind
done
check 'the parser of CSV notices a field too much' broken csv
check 'the parser of JSON notices a key too much' broken json
finish
