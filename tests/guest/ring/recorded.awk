# SPDX-License-Identifier: GPL-2.0
# Of `perf script -D`: a record in a line, beginning with where it is. Names of
# symbols and of registers, of events and threads are what perf adds, and the rest is
# what the record has.

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
