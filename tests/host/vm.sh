#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test: seconds=140
# soak: args=debug seconds=120
#
# scripts/vm returns the status of the guest's command, prints only the output of the
# command, and works from any folder.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

# A test below leaves this folder.
top=$PWD
vm=$top/scripts/vm
# A folder for temporary files that only the guests of this test use.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
k='--kernel debian-6.12 --full'

# shellcheck disable=SC2086 # $k is several words, here and below
prints_exactly() {
	"$vm" $k -- "$1" >"$work/out" 2>/dev/null || return
	printf "$2" | cmp - "$work/out"
}

# What the kernel prints when fault injection lets the memory for a new chunk of per-CPU
# memory fail: two traces.
cat >"$work/traces" <<END
FAULT_INJECTION: forcing a failure.
failnth: vmalloc error: size 20480, vm_struct allocation failed
Call Trace:
percpu: allocation failed, size=8192 align=4 atomic=0, failed to allocate new chunk
Call Trace:
END

# Tries the options that do not affect each other in one guest.
has_arguments_files_and_log() {
	echo one >"$work/one"
	echo two >"$work/a two"
	"$vm" $k --add "$work/one" --add "$work/a two:/deep/two" --add "$work/traces" \
		--log "$work/log" -- sh -c '
		echo into-the-log >/dev/kmsg
		while read -r line; do echo "$line" >/dev/kmsg; done <traces
		printf "<%s>" "$@" && cat one /deep/two' sh 'a  b' '' "c'd" \
		>"$work/out" 2>/dev/null
}

# The copy has a small module, which is built faster than tally.
from_elsewhere() {
	local copy="$work/a checkout"
	mkdir "$copy"
	cp -r scripts "$copy"
	echo all: >"$copy/scripts/guest/programs.mk"
	echo 'obj-m := tally.o' >"$copy/Kbuild"
	cat >"$copy/tally.c" <<-END
		#include <linux/module.h>
		int tally_small;
		EXPORT_SYMBOL_GPL(tally_small);
		MODULE_DESCRIPTION("Small");
		MODULE_LICENSE("GPL");
	END
	cd / && "$copy/scripts/vm" --kernel debian-6.12 -- 'insmod tally.ko && rmmod tally'
}

# A build that was killed may leave an object without its symbol versions.
unfinished_is_built_anew() {
	local again="$work/a checkout/scripts/vm" folder
	folder=$("$again" --kernel debian-6.12 --build-only) || return
	sed -i /SYMVER/d "$folder/.tally.o.cmd"
	: >"$folder.unfinished"
	"$again" --kernel debian-6.12 --build-only >"$work/out" || return
	grep -q SYMVER "$folder/.tally.o.cmd" && [ ! -e "$folder.unfinished" ]
}

# Both look whether they have to build, and wait for each other there.
two_at_a_time() {
	local first
	"$vm" ${k% --no-build} -- 'sleep 2; echo one' >"$work/one" 2>/dev/null &
	first=$!
	"$vm" ${k% --no-build} -- 'sleep 2; echo two' >"$work/two" 2>/dev/null || return
	wait $first || return
	grep -qx one "$work/one" && grep -qx two "$work/two"
}

a_shell_by_hand() {
	local terminal guest
	# A write to a guest that has ended fails, and does not end this script.
	trap '' PIPE
	mkfifo "$work/keys"
	"$vm" $k --timeout 120 <"$work/keys" >"$work/screen" &
	guest=$!
	exec {terminal}>"$work/keys"
	# As on any terminal, input may be lost before the shell has started.
	until tr -d '\r' <"$work/screen" | grep -x 42 || ! kill -0 "$guest"; do
		echo 'echo $((6 * 7))' >&"$terminal"
		sleep 1
	done
	echo 'exit 0' >&"$terminal"
	exec {terminal}>&-
	wait "$guest"
}

# A data race of the kernel itself is printed, and is no failure.
other_races_are_no_failure() {
	"$vm" --kernel debug-kcsan --timeout 600 -- '
		{
			echo "BUG: KCSAN: data-race in one_of_them / other_of_them"
			echo " one_of_them+0x1/0x2"
			echo "Workqueue: tally bottom_half [tally]"
			echo "=================================================================="
			echo " some_function+0x1/0x2 [tally]"
		} | while read -r line; do echo "$line" >/dev/kmsg; done' 2>"$work/errors" &&
		grep -q 'one_of_them / other_of_them' "$work/errors"
}

# snapshots: prints the folders of the saved guests of one shape, which only this test uses.
# Another run of this test, at the same time, has its own.
run=$$.
k_own="--kernel debian-6.12 --smp 1 --append tally_vm_test=$run"
snapshots() {
	(. "$top/scripts/lib.sh" && grep -lsF "tally_vm_test=$run" "$cache"/snapshots/*/log)
}

# A guest goes on from its snapshot, and has the time of this machine.
goes_on() {
	local before
	# shellcheck disable=SC2046,SC2086 # Several files, and several words.
	{
	rm -rf $(snapshots | sed 's|/log$||')
	"$vm" $k_own -- 'touch /run/first' || return
	[ "$(snapshots | wc -l)" = 1 ] || return
	before=$(date +%s)
	"$vm" $k_own -- '[ ! -e /run/first ] && date +%s' >"$work/out" 2>/dev/null || return
	}
	[ "$(cat "$work/out")" -ge "$before" ] && [ "$(cat "$work/out")" -le "$(date +%s)" ]
}

# A guest whose boot has left a report boots again: the next run is good.
boots_again() {
	local log
	log=$(snapshots) || return
	echo '[    1.0] WARNING: planted' >>"$log"
	# shellcheck disable=SC2086 # Several words.
	"$vm" $k_own -- true
	[ $? = 126 ] || return
	[ ! -e "$log" ] || return
	# shellcheck disable=SC2086
	"$vm" $k_own -- true && rm -rf "$(dirname "$(snapshots)")"
}

# shellcheck disable=SC2086
boots_if_asked() {
	"$vm" $k_own --boot -- true && [ -z "$(snapshots)" ]
}

# On a busy machine the guest may run out of its time before it has written the report.
# shellcheck disable=SC2086
reports_before_its_end() {
	local seconds status
	for seconds in 5 25 125; do
		status=0
		"$vm" $k --timeout $seconds --log "$work/planted" -- \
			'echo "WARNING: planted" >/dev/kmsg; sleep 1000' || status=$?
		! grep -q planted "$work/planted" || break
	done
	[ $status = 126 ]
}

leaves_nothing() {
	ls -A "$TMPDIR"
	[ -z "$(ls -A "$TMPDIR")" ]
}

finds_a_race() {
	"$vm" --kernel debug-kcsan --timeout 600 -- 'insmod tally_splat.ko what=race; true' \
		2>"$work/errors"
	[ $? = 126 ] && grep 'KCSAN: data-race in .*tally_splat' "$work/errors"
}

if [ "${1-}" = debug ]; then
	check_status 'a leak with --no-leak-scan is not 126' 0 "$vm" --kernel debug-arm64 --full --no-leak-scan -- \
		'insmod tally_splat.ko what=leak; rmmod tally_splat; ! echo scan >/sys/kernel/debug/kmemleak'
	check_status 'sleeping in atomic context is 126' 126 \
		"$vm" --kernel debug-arm64 --full -- 'insmod tally_splat.ko what=sleep; true'
	check 'a data race of a module is 126' finds_a_race
	check 'one of the kernel itself is no failure' other_races_are_no_failure
	finish
fi

# shellcheck disable=SC2086
{
check_status 'exit 7 is 7' 7 "$vm" $k -- 'exit 7'
# What is built for this kernel is up to date from here on.
k+=' --no-build' k_own+=' --no-build'
check_status 'a command that does not end is 124' 124 \
	"$vm" $k --timeout 5 -- sleep 1000
check 'a report of one that does not end is 126' reports_before_its_end
check_status 'a panic is 125' 125 "$vm" $k -- 'insmod tally_splat.ko what=panic'
check_status 'a lost guest is 125' 125 "$vm" $k -- 'poweroff -f; sleep 100'
check_status 'so is one that does not end after its command' 125 "$vm" $k --timeout 60 -- \
	'rm /sbin/reboot; printf "#!/bin/sh\nsleep 1000\n" >/sbin/reboot; chmod +x /sbin/reboot'
check_status 'a WARN is 126' 126 "$vm" $k -- 'insmod tally_splat.ko what=warn'
check_status 'a trace that no failed allocation explains is 126' 126 \
	"$vm" $k --add "$work/traces" -- \
	'{ cat traces; tail -n 1 traces; } | while read -r line; do echo "$line" >/dev/kmsg; done'
check_status 'a parameter that a test module does not know is 126' 126 \
	"$vm" $k -- 'insmod tally_splat.ko what=leak tally=1; true'
check_status 'a lockdep report is 126' 126 \
	"$vm" --kernel debug-arm64 --full -- 'insmod tally_splat.ko what=lockdep; true'
check_status 'a leak is 126' 126 \
	"$vm" --kernel debug-arm64 --full --no-build -- 'insmod tally_splat.ko what=leak; rmmod tally_splat; true'
check_status 'an unknown kernel is 2' 2 "$vm" --kernel no-such-kernel -- true
check_status 'an unknown option is 2' 2 "$vm" $k --no-such-option -- true
check_status 'a PMU that nobody made is 2' 2 "$vm" --kernel debian-6.12:mips -- true
check_status 'a PMU for another architecture is 2' 2 "$vm" --kernel debian-6.12-arm64 --pmu amd -- true
check_status 'a file that is not there is 2' 2 "$vm" $k --add /no/such/file -- true
check_status 'coverage of a kernel without gcov is 2' 2 \
	"$vm" $k --coverage "$work/counts" -- true
}
check 'output is passed on byte by byte, and so are errors' prints_exactly \
	'printf "a\\nb\\001\\r\\n\\tc"; echo error >&2' 'a\nb\001\r\n\tcerror\n'
check 'arguments are passed on, and two traces of one failed allocation are no report' \
	has_arguments_files_and_log
printf '<a  b><><c'\''d>one\ntwo\n' >"$work/expected"
check 'arguments keep their blanks, and files are added' cmp "$work/expected" "$work/out"
check 'the kernel log has a file of its own' grep -q into-the-log "$work/log"
check 'from another folder, in a path with blanks' from_elsewhere
check 'after a build that was killed' unfinished_is_built_anew
check 'two at a time' two_at_a_time
check 'a shell without a command' a_shell_by_hand
check 'a guest goes on from its snapshot, at the time of this machine' goes_on
check 'a report of its boot lets it boot again' boots_again
check 'a guest boots if it is asked to, and is not saved' boots_if_asked
check 'nothing is left behind' leaves_nothing
folder=$("$work/a checkout/scripts/vm" --kernel debian-6.12 --build-only) && rm -rf "${folder%/*}"
finish
