# SPDX-License-Identifier: GPL-2.0
# Prints each record of `perf script -D` in one line, beginning with its offset. The
# names of symbols, registers, events and threads, which perf adds, are left out.

function flush() { if (line != "") print line; line = "" }
/^[0-9]+ [0-9]+ 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_/ {
	flush()
	cpu = $1; time = $2; where = $3; size = $4
	rest = $0
	if (rest ~ /: PERF_RECORD_FINISHED_/)
		next
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
# perf prints a sample once more behind its fields, in its default format.
line ~ /PERF_RECORD_SAMPLE/ && !/^\.\.\./ && !/^ \.\.? / && !/^ \.\.\./ { flush(); next }
/^: unhandled!/ || /^ \.\.\. thread:/ || /^ \.\.\.\.\.\. dso:/ { next }
/^\.\.\.\. [A-Za-z0-9]+ +0x/ { $0 = ".... " $3 }
/^\.\.\. ustack:/ { sub(/, offset.*/, "") }
{ line = line "|" $0 }
END { flush() }
