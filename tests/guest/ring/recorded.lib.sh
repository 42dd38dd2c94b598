# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Functions that recorded.sh and sampled.sh share; sourced after lib.sh.
# shellcheck disable=SC2154 # lib.sh sets tmp.

command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}

# said FILE: the results and notes that a program printed on standard error.
said() {
	sed -n '/^ok \|^bad \|^#/p' "$1"
}

# program COMMAND...: runs it. Its standard error has results, and its output is then
# in $tmp/ours.
program() {
	"$@" >$tmp/ours 2>$tmp/said || echo "bad $* ends well" >>$tmp/said
	results said $tmp/said
}

# theirs FILE: writes the records that perf finds in FILE to $tmp/theirs.
theirs() {
	ok 'perf reads the file' perf_dump "$1"
	head -5 $tmp/theirs.err | sed 's/^/# /'
	awk -f "$(dirname "$0")/recorded.awk" $tmp/theirs.all | sort >$tmp/theirs
}
perf_dump() { perf script -D --no-inline -i "$1" >$tmp/theirs.all 2>$tmp/theirs.err; }

# same_records: checks that perf's records in $tmp/theirs are the library's in $tmp/ours.
same_records() {
	sort $tmp/ours >$tmp/ours.sorted
	is "$(wc -l <$tmp/theirs)" "$(wc -l <$tmp/ours)" 'perf has as many records'
	for type in $(sed 's/.*PERF_RECORD_\([A-Z_0-9]*\).*/\1/' $tmp/ours | sort -u); do
		grep -E "PERF_RECORD_${type}([^A-Z_0-9]|\$)" $tmp/ours.sorted >$tmp/a
		grep -E "PERF_RECORD_${type}([^A-Z_0-9]|\$)" $tmp/theirs >$tmp/b
		if cmp -s $tmp/a $tmp/b; then
			pass "perf says the same of each $type: $(wc -l <$tmp/a)"
		else
			fail "perf says the same of each $type"
			diff $tmp/a $tmp/b >$tmp/diff
			for side in '-0' '+0'; do
				grep "^$side" $tmp/diff | head -1 | cut -c -2000 | sed 's/^/# /'
			done
		fi
	done
}
