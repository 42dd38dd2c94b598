# SPDX-License-Identifier: GPL-2.0
# Of `perf script -F pid,tid,cpu,time,period,event,addr,ip,bpf-output`: a sample in a
# line, its call chain and its raw bytes in the same one. Names of threads and symbols,
# of which this perf has said nothing, are left out.

function flush() { if (line != "") print line; line = "" }
function append(text) {
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	if (line != "")
		text = line " " text
	line = text
}
{ sub(/ \[unknown\] \(\[unknown\]\)$/, "") }
# A task that has been reaped has the number -1.
match($0, /-?[0-9]+\/-?[0-9]+ +\[[0-9]+\] /) { flush(); append(substr($0, RSTART)); next }
/^[ \t]*[0-9a-f]+ *$/ { append($0); next }
# Eight bytes in a line, with the characters that they are behind them.
/BPF output: [0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/ { append("raw") }
/^ +(BPF output:)? +[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/ {
	match($0, /[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/)
	append(substr($0, RSTART + 5, 24))
}
END { flush() }
