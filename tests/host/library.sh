#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=45
#
# The library for user programs, with sanitizers: records, rings, files that perf reads,
# and the installation.
#
#	library.sh [--fuzz SECONDS]	only fuzzing, for SECONDS; all tests fuzz for 5

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

fuzz_seconds=5
only_fuzz=
if [ "${1-}" = --fuzz ]; then
	fuzz_seconds=$2
	only_fuzz=1
fi

flags=(-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -g -O1 -Wall -Wextra -Isrc/lib -Iinclude/uapi)
sources=(src/lib/*.c)
# shellcheck disable=SC2054 # One word.
sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=all)

# The library with the instructions that the sanitizers and the fuzzer need.
build_library() {
	local symbol
	mkdir -p "$work/sanitized"
	make -s -j"$(nproc)" -f src/lib/lib.mk "$work/sanitized/libtally.a" OUT="$work/sanitized" CC=clang \
		CFLAGS="-g -O1 -fsanitize=fuzzer-no-link ${sanitize[*]}" || return
	nm "$work/sanitized/libtally.a" >"$work/symbols" || return
	for symbol in __asan_report __ubsan_handle __sanitizer_cov; do
		grep -q $symbol "$work/symbols" || { echo "no call of $symbol"; return 1; }
	done
}

build() {
	clang -std=gnu11 "${flags[@]}" "${sanitize[@]}" -o "$work/$1" "tests/lib/$1.c" \
		"$work/sanitized/libtally.a" -pthread
}

# run PROGRAM [BUILD]: each "ok" or "bad" of the program is a test of its own.
run() {
	local line status
	check "$1 builds" "${2-build}" "$1"
	[ -x "$work/$1" ] || return
	"$work/$1" >"$work/out" 2>"$work/err"
	status=$?
	while read -r line; do
		case $line in
		ok\ *) check "$1: ${line#ok }" true ;;
		bad\ *) check "$1: ${line#bad }" false ;;
		*) echo "$line" ;;
		esac
	done <"$work/out"
	check "$1 ends well" test "$status" = 0
	[ "$status" = 0 ] || head -30 "$work/err" | sed 's/^/# /'
}

# Builds as users do, without sanitizers, whose instructions are not the library's.
build_cost() {
	gcc -std=gnu11 "${flags[@]}" -O2 -o "$work/cost" tests/lib/cost.c "${sources[@]}"
}

build_fuzz() {
	clang -std=gnu11 "${flags[@]}" -fsanitize=fuzzer "${sanitize[@]}" -o "$work/fuzz" \
		tests/lib/fuzz.c "$work/sanitized/libtally.a"
}

fuzz() {
	mkdir -p "$work/corpus"
	(cd "$work" && ./fuzz -max_total_time="$fuzz_seconds" -max_len=20000 \
		-print_final_stats=1 -rss_limit_mb=1024 corpus) >"$work/fuzz.log" 2>&1
}

no_warning() {
	local output
	output=$("$@" 2>&1) || { printf '%s\n' "$output"; return 1; }
	printf '%s' "$output"
	[ -z "$output" ]
}

# The library compiles with strict warnings, another compiler and another architecture.
compiles() {
	local file
	for file in "${sources[@]}"; do
		no_warning "$@" -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -O2 -Wall -Wextra -Wshadow \
			-Isrc/lib -Iinclude/uapi -c -o "$work/o" "$file" || return
		# Not all machines have libatomic, so no object may need it.
		! nm -u "$work/o" | grep __atomic || return
	done
}

# On a big-endian machine, the numbers in a file have another byte order.
big_endian() {
	mkdir -p "$work/big/gnu"
	: >"$work/big/gnu/stubs-lp64_be.h"
	no_warning clang --target=aarch64_be-linux-gnu -std=gnu99 -D_GNU_SOURCE -O2 -Wall \
		-Wextra -I"$work/big" -I/usr/aarch64-linux-gnu/include -Isrc/lib \
		-Iinclude/uapi -c -o "$work/o" src/lib/perfdata.c &&
		! grep -q PERFILE2 "$work/o"
}

# Builds a program with the installed library alone.
installs() {
	mkdir -p "$work/objects"
	make -s lib-install OUT="$work/objects" DESTDIR="$work/dest" PREFIX=/usr >"$work/install.log" 2>&1 || {
		cat "$work/install.log"
		return 1
	}
	cat >"$work/user.c" <<-END
		#include <libtally.h>
		#include <stdlib.h>
		int main(void)
		{
			struct libtally_target target = LIBTALLY_TARGET_INIT;
			struct libtally_reader *reader = libtally_reader_new();
			struct libtally_record r;

			(void)target;
			r.type = libtally_reader_next(reader) ? 1 : 0;
			libtally_reader_free(reader);
			return r.type || libtally_record_name(PERF_RECORD_SAMPLE)[0] != 'S';
		}
	END
	cp "$work/user.c" "$work/user.cc"
	# In C++ a struct's name is a type: no struct of the device has a function's name.
	cat >"$work/both.cc" <<-END
		#include <libtally.h>
		#include <linux/tally.h>
		int both(int fd, __u64 *buffer, struct libtally_counts *counts)
		{
			struct tally_info info;
			struct tally_open open;
			struct tally_next next;
			struct tally_attach attach;
			struct tally_value value;
			struct tally_read read;
			struct tally_error error;
			const struct tally_page *page = tally_page_of(buffer);

			return libtally_read_counts(fd, buffer, 8, 0, counts) + sizeof(info) +
			       sizeof(open) + sizeof(next) + sizeof(attach) + sizeof(value) +
			       sizeof(read) + sizeof(error) + tally_page_nth_value(page, 0)->state;
		}
	END
	local config
	config=$(PKG_CONFIG_SYSROOT_DIR=$work/dest PKG_CONFIG_LIBDIR=$work/dest/usr/lib/pkgconfig \
		PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
		pkg-config --cflags --libs libtally) || return
	local -x LD_LIBRARY_PATH=$work/dest/usr/lib
	# shellcheck disable=SC2086 # Several words.
	for compile in 'gcc -std=gnu90' 'gcc -std=gnu99' 'g++ -std=c++98' 'g++ -std=c++17'; do
		case $compile in
		gcc*) file=$work/user.c ;;
		*) file=$work/user.cc ;;
		esac
		no_warning $compile -Wall -Wextra -Wshadow -Werror -o "$work/user" "$file" $config &&
			"$work/user" || return
	done
	for compile in 'g++ -std=c++98' 'g++ -std=c++17'; do
		# shellcheck disable=SC2086 # Several words.
		no_warning $compile -Wall -Wextra -Wshadow -Werror -Iinclude/uapi -c \
			-o "$work/o" "$work/both.cc" $config || return
	done
}

# The library and perf print the same line for each sample.
perf_reads() {
	local kind=$1
	"$work/perfdata" "$work/$kind.data" "$kind" || return
	perf script -i "$work/$kind.data" -F comm,pid,tid,cpu,time,event,ip,period \
		>"$work/$kind.txt" 2>"$work/$kind.err" || { cat "$work/$kind.err"; return 1; }
	[ "$(grep -c 'invented  *1234/1235' "$work/$kind.txt")" = 100 ] || {
		head "$work/$kind.txt" "$work/$kind.err"
		return 1
	}
	grep -q '1\.000100:  *7099  *made-up: *400063\|1\.000100:  *7099  *other' "$work/$kind.txt"
}

# Each flush of records lets perf show what came before; the file begins with one, too.
rounds() {
	perf script -D -i "$work/one.data" >"$work/dump" 2>&1 || return
	grep 'FINISHED_ROUND' "$work/dump"
	[ "$(grep -c 'PERF_RECORD_FINISHED_ROUND' "$work/dump")" = 5 ] &&
		! grep -q 'out of order' "$work/dump"
}

two_events() {
	perf_reads two || return
	[ "$(grep -c ' other:' "$work/two.txt")" = 34 ] &&
		[ "$(grep -c ' made-up:' "$work/two.txt")" = 66 ] &&
		grep -q '500063' "$work/two.txt"
}

# The same records, as a file and through a pipe.
same_in_pipe() {
	local kind=$1
	"$work/perfdata" - "$kind" 2>"$work/pipe.err" |
		perf script -i - -F comm,pid,tid,cpu,time,event,ip,period >"$work/pipe.txt" \
			2>>"$work/pipe.err"
	cat "$work/pipe.err"
	cmp "$work/$kind.txt" "$work/pipe.txt" && [ ! -e - ]
}

# A writer that was killed before its first record leaves a file that perf reads.
no_records() {
	"$work/perfdata" "$work/none.data" none || return
	perf script -i "$work/none.data" >"$work/none.txt" 2>&1 &&
		perf report --stdio -i "$work/none.data" >>"$work/none.txt" 2>&1 &&
		! grep -q WARNING "$work/none.txt" && return
	cat "$work/none.txt"
	return 1
}

# A link and a file that is there are replaced: the file may be another user's.
replaces() {
	echo kept >"$work/victim"
	ln -sf victim "$work/link.data"
	ln -f "$work/victim" "$work/same.data"
	"$work/perfdata" "$work/link.data" one && "$work/perfdata" "$work/same.data" one || return
	stat -c '%n %F %a' "$work/victim" "$work/link.data" "$work/same.data"
	[ "$(cat "$work/victim")" = kept ] && [ ! -L "$work/link.data" ] &&
		[ "$(stat -c %a "$work/same.data")" = 600 ]
}

# Names of open files are links, too, and a fifo stays one.
through_names() {
	rm -f "$work/fifo"
	mkfifo "$work/fifo"
	"$work/perfdata" "$work/fifo" one | cat "$work/fifo" >"$work/fifo.data" || return
	"$work/perfdata" /dev/stdout one | cmp - "$work/fifo.data" || return
	"$work/perfdata" /dev/fd/9 one 9>"$work/nine.data" || return
	perf script -i "$work/nine.data" >"$work/nine.txt" 2>&1 && [ -p "$work/fifo" ]
}

header_in_pipe() {
	"$work/perfdata" - two | perf report -i - --header --stdio >"$work/header" 2>&1 || return
	cat "$work/header"
	grep -q "arch : $(uname -m)" "$work/header" && grep -q "event 'other'" "$work/header"
}

# 10,000 ids of an event are more than a record has room for.
too_many_ids() {
	"$work/perfdata" "$work/many.data" many || return
	"$work/perfdata" - many | cat >"$work/many.pipe"
	[ "${PIPESTATUS[0]}" = 3 ]
}

header() {
	perf report -i "$work/one.data" --header-only >"$work/header" 2>&1 || return
	cat "$work/header"
	grep -q "arch : $(uname -m)" "$work/header" &&
		grep -q 'event : name = made-up' "$work/header" &&
		grep -q 'nrcpus online' "$work/header"
}

check 'the library builds with sanitizers' build_library
if [ -z "$only_fuzz" ]; then
	run records
	run samples
	run rings
	run opening
	run cost build_cost
	check 'the writer of perf.data builds' build perfdata
	check 'perf script reads records of one event' perf_reads one
	check 'perf need not keep all records in memory' rounds
	check 'perf script reads records of two events with different samples' two_events
	check 'perf report reads the header' header
	check 'perf reads a file without records' no_records
	check 'a link or a file is replaced' replaces
	check 'a fifo and the names of open files' through_names
	check 'a pipe with one event' same_in_pipe one
	check 'a pipe with two events' same_in_pipe two
	check 'perf report reads the features of a pipe' header_in_pipe
	check 'more ids than a pipe has room for' too_many_ids
	check 'it compiles for 64 bits' compiles gcc -std=gnu99
	check 'it compiles for 32 bits' compiles i686-linux-gnu-gcc -std=gnu99
	check 'it compiles for arm64' compiles aarch64-linux-gnu-gcc -std=gnu99
	check 'it compiles with clang' compiles clang -std=gnu99
	check 'it compiles with clang for 32 bits' compiles clang -m32 -std=gnu99
	check 'the first word of perf.data is a number' big_endian
	check 'make lib-install, and programs in C90, C99 and C++' installs
fi
check 'the fuzzer builds' build_fuzz
check "wild bytes for $fuzz_seconds seconds" fuzz
grep -E 'number_of_executed_units|ERROR|SUMMARY' "$work/fuzz.log" | sed 's/^/# /'
grep -oE 'cov: [0-9]+ ft: [0-9]+' "$work/fuzz.log" | tail -1 | sed 's/^/# /'
finish
