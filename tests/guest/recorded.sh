#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The library for user programs beside perf: records of perf events, of as many types
# as can be had in a guest, are written to a perf.data file, and `perf script -D` and the
# library say the same of each. Run with scripts/vm --with-perf.

. "$(dirname "$0")/lib.sh"
command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}

# said FILE: what a program said on standard error, as results() has it.
said() {
	sed -n '/^ok \|^bad \|^#/p' "$1"
}

recorded record /tmp/perf.data 2>/tmp/said || echo 'bad recorded record ends well' >>/tmp/said
results said /tmp/said
recorded dump /tmp/perf.data >/tmp/ours 2>/tmp/said || echo 'bad recorded dump ends well' >>/tmp/said
results said /tmp/said
ok 'perf reads the file' sh -c 'perf script -D --no-inline -i /tmp/perf.data >/tmp/theirs.all 2>/tmp/theirs.err'
head -5 /tmp/theirs.err | sed 's/^/# /'

# A record in a line, beginning with where it is. Names of symbols and of registers,
# of events and threads are what perf adds, and the rest is what the record has.
awk '
	function flush() { if (line != "") print line; line = "" }
	/^[0-9]+ [0-9]+ 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_/ {
		flush()
		cpu = $1; time = $2; where = $3; size = $4
		rest = $0
		sub(/^[0-9]+ [0-9]+ 0x[0-9a-f]+ \[0x[0-9a-f]+\]: /, "", rest)
		if (rest ~ /^PERF_RECORD_TEXT_POKE/)
			rest = without_symbol(rest)
		if (rest ~ /^PERF_RECORD_READ/)
			rest = without_event(rest)
		line = where " " size " " cpu " " time " " rest
		next
	}
	function without_event(text, part) {
		split(text, part, " ")
		return part[1] " " part[2] " " part[3] " EVENT " part[5]
	}
	function without_symbol(text, part) {
		split(text, part, " ")
		return part[1] " " part[2] substr(text, index(text, " old len"))
	}
	/^$/ || /^0x[0-9a-f]+@/ { flush(); next }
	line == "" { next }
	# Behind its fields a sample is told once more, in the usual way.
	line ~ /PERF_RECORD_SAMPLE/ && !/^\.\.\./ && !/^ \.\.? / && !/^ \.\.\./ { flush(); next }
	/^: unhandled!/ || /^ \.\.\. thread:/ || /^ \.\.\.\.\.\. dso:/ { next }
	/^\.\.\.\. [A-Za-z0-9]+ +0x/ { $0 = ".... " $3 }
	/^\.\.\. ustack:/ { sub(/, offset.*/, "") }
	{ line = line "|" $0 }
	END { flush() }
' /tmp/theirs.all | sort >/tmp/theirs
sort /tmp/ours >/tmp/ours.sorted

is "$(wc -l </tmp/theirs)" "$(wc -l </tmp/ours)" 'perf has as many records'
for type in $(sed 's/.*PERF_RECORD_\([A-Z_0-9]*\).*/\1/' /tmp/ours | sort -u); do
	grep -E "PERF_RECORD_${type}([^A-Z_0-9]|\$)" /tmp/ours.sorted >/tmp/a
	grep -E "PERF_RECORD_${type}([^A-Z_0-9]|\$)" /tmp/theirs >/tmp/b
	if cmp -s /tmp/a /tmp/b; then
		pass "perf says the same of each $type: $(wc -l </tmp/a)"
	else
		fail "perf says the same of each $type"
		diff /tmp/a /tmp/b >/tmp/diff
		for side in '-0' '+0'; do
			grep "^$side" /tmp/diff | head -1 | cut -c -2000 | sed 's/^/# /'
		done
	fi
done

ok 'perf script prints samples' sh -c 'perf script -i /tmp/perf.data -F comm,tid,time,event 2>/dev/null | grep -q "recorded .*samples:"'
ok "the library's own words" sh -c 'recorded print /tmp/perf.data >/tmp/printed'
is "$(grep -c '^[A-Z]' /tmp/printed)" "$(wc -l </tmp/ours)" 'each record is printed'

recorded backward 2>/tmp/said || echo 'bad recorded backward ends well' >>/tmp/said
results said /tmp/said

load_tally
recorded device 2>/tmp/said || echo 'bad recorded device ends well' >>/tmp/said
results said /tmp/said
finish
