#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=25
#
# The command `tally` on the fake device of tests/lib/device.c: what needs no event that counts.
#
#	toolfake.sh [TALLY]	tests this program, and not one that it builds

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

program=${1-$work/tally}

build_tool() {
	make -s -j"$(nproc)" -f src/lib/lib.mk OUT="$work/lib" CFLAGS=-O1 "$work/lib/libtally.a" &&
		make -s -j"$(nproc)" -f src/tool/tool.mk OUT="$work" LIB="$work/lib" CFLAGS=-O1
}

# t ARGUMENT...: runs tally, and keeps what it prints.
t() {
	local status=0
	LD_PRELOAD=$work/device.so timeout 10 "$program" "$@" >"$work/out" 2>"$work/err" || status=$?
	cat "$work/out" "$work/err"
	return "$status"
}

says() { grep -e "$1" "$work/err"; }

# ---- tally export: requests

# begin_server ADDRESS: serves until end_server.
server=''
host=machine
begin_server() {
	rm -f "$work/served"
	FAKE_HOST=$host LD_PRELOAD=$work/device.so "$program" export --listen "$1" 2>"$work/served" &
	server=$!
	until grep -qs serving "$work/served"; do
		kill -0 "$server" 2>/dev/null || { cat "$work/served"; return 1; }
		sleep 0.01
	done
}
end_server() { kill "$server" && wait "$server"; }
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT

# answers STATUS CURL-ARGUMENT...: curl gets this status from the server.
answers() {
	local want=$1 got
	shift
	got=$(curl --disable --noproxy '*' --expect100-timeout 60 --max-time 60 --silent \
		--show-error --dump-header "$work/header" --output "$work/body" \
		--write-out '%{response_code}' "$@")
	cat "$work/header"
	[ "$got" = "$want" ] || { echo "status $got, not $want"; return 1; }
}
at_socket() { answers "$@" --unix-socket "$work/socket" http://localhost/metrics; }
not_allowed() { at_socket 405 "$@" && grep -i '^allow: get, head' "$work/header"; }

requests() {
	check 'tally export serves' begin_server "unix:$work/socket"
	check 'GET' at_socket 200
	check 'HEAD' at_socket 200 --head
	head -c 3000000 /dev/zero >"$work/big"
	check 'DELETE is not allowed' not_allowed -X DELETE
	check 'POST is not allowed' not_allowed --data text
	check 'PUT of a large file is not allowed' not_allowed --upload-file "$work/big"
	check 'GET after them' at_socket 200
	check 'a signal ends the server' end_server
}

# ---- tally export: addresses

# begin_at_port: serves at a port of 127.0.0.1 that is free.
begin_at_port() {
	port=20000
	until begin_server "127.0.0.1:$port"; do
		grep 'Address already in use' "$work/served" || return
		port=$((port + 1))
	done
}
at_port() { answers "$1" --header "Host: $2" "http://127.0.0.1:$port/metrics"; }

# A name of 64 bytes is the longest one that Linux has.
hosts() {
	host=$(printf '%064d' 1)
	check 'tally export serves at a port' begin_at_port
	check 'the whole name of the machine' at_port 200 "$host:$port"
	check 'a part of the name' at_port 403 "${host#0}:$port"
	check 'a longer name' at_port 403 "${host}1:$port"
	check 'a signal ends the server' end_server
}

ports() {
	local port
	for port in '' 0 65536 4294976164 -1 ' 1' 1x; do
		check_status "the port '$port'" 2 t export --listen "127.0.0.1:$port"
		check 'a sentence' says "'127.0.0.1:$port' is no \[HOST\]:PORT"
	done
}

# Other numbers have limits, too.
numbers() {
	local arguments
	for arguments in 'export --interval 0' 'export --interval=' 'export --interval 1s' \
		'stat -r -1 true' 'stat -I 99999999999999999999 true' 'top -d nan' \
		'record -m 0 true' 'watch cs>inf' 'watch cs>-1'; do
		# shellcheck disable=SC2086 # Several words.
		check_status "tally $arguments" 2 t $arguments
	done
	check 'a number may begin with zeros' t stat -r 08 true
	check '010 is ten' t stat -r 010 true
	check 'and no octal number' says '(10 runs)'
	check '0x10 is sixteen' t stat -r 0x10 true
	check 'and hexadecimal' says '(16 runs)'
}

# ---- standard files

# closed FILES ARGUMENT...: runs tally without these standard files.
closed() {
	local file files=$1
	shift
	(
		for file in $files; do
			eval "exec $file>&-"
		done
		LD_PRELOAD=$work/device.so exec "$program" "$@"
	)
}
full() { LD_PRELOAD=$work/device.so "$program" "$@" >/dev/full; }

# The message on standard error is not in the file.
no_message() {
	closed '1 2' stat --attach first -o "$work/counts" no-such-program
	cat "$work/counts"
	[ -e "$work/counts" ] && ! grep 'No such file' "$work/counts"
}

standard_files() {
	check_status 'no standard error for counts' 1 closed 2 stat --attach first true
	check_status 'no standard output for a list' 1 closed 1 list --running
	check_status 'nor for metrics' 1 closed '0 1 2' export --once
	check_status 'nor for help' 1 closed 1 list --help
	check_status 'no output is needed' 0 closed '0 1 2' create cycles name=made
	check_status 'a command has none either' 1 closed '0' stat --attach first cat
	check 'a message gets into no file of the command' no_message
	check_status 'a list on a full disk' 1 full list --running
	check_status 'metrics on a full disk' 1 full export --once
	check_status 'counts on a full disk' 1 full stat --attach first -o - true
	check_status 'a closed file by its name' 1 closed 2 stat --attach first -o /dev/stderr true
	check_status 'a file on a full disk' 1 t stat --attach first -o /dev/full true
}

# ---- tally stat --attach

# Before, the probe has missed 22 hits; the command lets it miss COUNT in all.
attached() {
	echo 22 >"$work/missed"
	FAKE_LINE='kprobe:f name=probe' FAKE_MISSED=$work/missed t stat --attach probe \
		sh -c "echo $1 >$work/missed"
}

misses() {
	check 'an attached probe misses hits' attached 25
	check 'those since then' says 'probe: the kernel missed 3 hits,'
	check 'it misses none' attached 22
	check 'and nothing is said' test "$(says missed)" = ''
	check 'an event that is no probe' t stat --attach first true
	check 'misses no hits' test "$(says missed)" = ''
}

# ---- tally list --running

# listed STATES: lists an event whose state changes meanwhile.
listed() { FAKE_LINE='cycles name=made' FAKE_STATES=$1 t list --running made; }

lists() {
	check 'an event exits while its rate is measured' listed 2,5
	check 'its state is the last one' grep '^made .* exited' "$work/out"
}

# ---- tally watch

# windows LIST: watches for the first new windows; the numbers of a CPU's windows are a list.
windows() {
	FAKE_LINE='cycles name=budget' FAKE_EXCEEDED=$1 t watch -n 1 budget
}

budgets() {
	check 'windows above a budget' windows 7,7,9
	check 'those since the start' grep ' budget 2 windows above the budget$' "$work/out"
	check 'a CPU cannot be read for a while' windows 7,-,7,8
	check 'its old windows are not new' grep ' budget 1 windows above the budget$' "$work/out"
	check_status 'a CPU that cannot be read at all' 1 windows -
}

# ---- tally export: a file

# The old file stays as it is until the new one has its name, and nothing else is left.
once() {
	local dir=$work/once
	mkdir "$dir" && echo old >"$dir/file" && ln "$dir/file" "$work/old" &&
		t export --once --textfile "$dir/file" && [ ! -s "$work/out" ] &&
		grep '^tally_event_total{event="first"' "$dir/file" &&
		[ "$(grep -c '^tally_events 1$' "$dir/file")" = 1 ] &&
		[ "$(ls "$dir")" = file ] && [ "$(cat "$work/old")" = old ]
}
too_large() { (ulimit -f 1 && t export --once --textfile "$work/once/file"); }

files() {
	check '--once writes a file' once
	check_status 'a folder that is not there' 1 t export --once --textfile /no/folder/file
	check_status '--once and --listen' 2 t export --once --listen :1
	check_status 'a file that grows too large' 1 too_large
	check 'is not tried again' says 'file: File too large$'
	check 'and the file of before stays' grep -q '^tally_events 1$' "$work/once/file"
}

check 'the fake device builds' build_device
[ $# != 0 ] || check 'the command builds' build_tool
requests
hosts
ports
numbers
standard_files
misses
lists
budgets
files
finish
