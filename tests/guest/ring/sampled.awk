# SPDX-License-Identifier: GPL-2.0
# Prints each sample of `perf script -F pid,tid,cpu,time,period,event,addr,ip,bpf-output`
# in one line, with its call chain and its raw bytes. "[unknown] ([unknown])", which perf
# prints for a symbol, is left out.

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
# A task that was reaped has the number -1.
match($0, /-?[0-9]+\/-?[0-9]+ +\[[0-9]+\] /) { flush(); append(substr($0, RSTART)); next }
/^[ \t]*[0-9a-f]+ *$/ { append($0); next }
# perf prints eight bytes in a line, and then their characters.
/BPF output: [0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/ { append("raw") }
/^ +(BPF output:)? +[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/ {
	match($0, /[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:/)
	append(substr($0, RSTART + 5, 24))
}
END { flush() }
