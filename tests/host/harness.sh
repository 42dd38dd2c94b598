#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=60
#
# scripts/test finds its tests by their heads, and fails each that does not end well.
# tests/guest/lib/each.sh, which runs several scripts in one guest, does the same.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

tree=$work/tree
mkdir -p "$tree"/tests/{host,guest/lib,guest/counts,modules/none} || exit 2
cp -r scripts "$tree" || exit 2
cp tests/guest/lib/each.sh "$tree/tests/guest/lib"
busybox=$(scripts/kernels root x86_64)/bin/busybox

# script FOLDER/NAME HEAD BODY: writes a test script.
script() {
	printf '#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n#\n%s\n%s\n' "$2" "$3" \
		>"$tree/tests/$1.sh"
	chmod +x "$tree/tests/$1.sh"
}
script host/good '# check:' 'echo "ok 1 - one"; echo 1..1'
script host/skips '# check: args="a b"' '[ $# = 2 ] && echo "ok 1 - one # SKIP no"; echo 1..1'
script host/bad '# soak:' 'echo "ok 1 - one"; echo why; echo "not ok 2 - two"; echo 1..2; exit 1'
script host/noplan '# soak:' 'echo "ok 1 - one"'
script host/early '# soak:' 'echo 1..2; echo "ok 1 - one"'
script host/status '# soak:' 'echo "ok 1 - one"; echo 1..1; exit 3'
script guest/counts/count '# test: on=debian-6.1,debian-6.12 vm="--smp 2" args=7 seconds=30' ''
script guest/counts/more '# test: on=debian-6.1 vm="--smp 2"' ''
script guest/counts/lonely '# test: on=debian-6.1 vm="--smp 2" alone' ''
script guest/counts/twice '# test: on=debian-6.1
# test: on=debian-7 also="it is newer"
# all: on=debian-6.12 seconds=7' ''
# scripts/check and scripts/bench are no tests of their own in this tree.
sed -i '/^# \(check\|test\|all\|soak\):/d' "$tree/scripts/check" "$tree/scripts/bench"
sed -i '2i # check: by=scripts/lib.sh' "$tree/scripts/check" "$tree/scripts/bench"
echo '# check bench' >>"$tree/scripts/lib.sh"

# prints PATTERN WORD...: runs scripts/test with the words; passes if it prints PATTERN.
prints() {
	local pattern=$1
	shift
	TMPDIR=$work "$tree/scripts/test" "$@" >"$work/out" 2>&1
	echo "status $?" >>"$work/out"
	cat "$work/out"
	grep -qE -e "$pattern" "$work/out"
}

# fails NAME: passes if a run of the test NAME fails.
fails() { prints '^[0-9]+ passed, 1 failed, 0 skipped' "$1" && grep -qx 'status 1' "$work/out"; }

# wrong HEAD PATTERN: passes if a script with this head keeps all tests from running.
wrong() {
	script host/wrong "$1" 'echo "ok 1 - one"; echo 1..1'
	prints "tests/host/wrong.sh.*$2" && ! prints '^ok' && prints '^0 passed, 1 failed'
	local status=$?
	rm "$tree/tests/host/wrong.sh"
	return $status
}

rounds() {
	local kept
	prints '^3 of 3 rounds failed' --repeat 3 bad &&
		kept=$(sed -n "s/.*first failure's output: //p" "$work/out") &&
		grep -q '^not ok 2 - two' "$kept"
}

check 'what is good passes' prints '^1 passed, 0 failed, 1 skipped' --check
check 'a result that is not ok fails' fails bad
check 'and the line before it is printed' prints '^  why$' bad
check 'no plan fails' fails noplan
check 'fewer results than planned fail' fails early
check 'a status fails' fails status
check 'a script without a head, by its name' wrong '# a comment' 'no line of its head'
check 'an unknown word, by its script' wrong '# test: when=now' "'when=now' means nothing"
check 'an unknown kernel, by its script' wrong '# test: on=debian-5.10' "no kernel is called 'debian-5.10'"
check 'one that another file does not run' wrong '# test: by=scripts/setup' 'does not run wrong'
check 'a word that is nothing' prints 'no test and no kernel is called .nothing.' nothing
check 'a second line without a reason, by its script' wrong '# test: on=debian-6.1
# test: on=debian-6.12' "a second line 'test' needs also="
check 'a test runs on debian-6.12 if it can' prints '^ +30 s  count debian-6.12$' --list count
check 'and on the kernel that is named' prints '^ +30 s  count debian-6.1$' --list count debian-6.1
check 'all tests of a kernel share a guest' prints '^ +50 s  count\+more debian-6.1' --list debian-6.1
check 'but one that is alone' prints '^ +20 s  lonely debian-6.1' --list debian-6.1
check 'without words a test runs on its first kernel' prints '^[0-9]+ tests on 2 kernels' --list
check 'or on two, with a reason' prints '^ +20 s  twice debian-7' --list
check 'with --all on each one' prints '^ +37 s  count.*debian-6.12|^ +7 s  twice debian-6.12' --list --all
check 'a kernel on a CPU with a PMU has a guest of its own' prints '^ +30 s  count debian-6.1:amd$' \
	--list count debian-6.1:amd
check 'there are three kinds of PMUs' prints 'no test and no kernel is called .debian-6.1:mips.' debian-6.1:mips
script guest/counts/twice '# test: on=debian-6.1 args=1
# all: on=debian-6.1 args=2' ''
check 'a script runs once in a guest' prints '^ +20 s  twice debian-6.1 \(2\)$' --list --all
check 'rounds, and the output of the first that failed' rounds

# ---- failures that do not come again. The guests of this tree are none: scripts/vm runs the
# scripts here, and scripts/kernels has one kernel.

cat >"$tree/scripts/kernels" <<'END'
#!/bin/sh
echo 'debian-6.1 x86_64 6.1 ready stock'
END
cat >"$tree/scripts/vm" <<'END'
#!/bin/bash
[[ $1 != --build-only || $* != *:amd* ]] || exit 4
[[ $1 != --build-only || $* != *:generic* ]] || exit 2
[ "$1" != --build-only ] || exit 0
while [ "$1" != each.sh ]; do shift; done
guest=$(mktemp -d) && trap 'rm -rf "$guest"' EXIT && mkdir "$guest/bin" || exit
cp tests/guest/*/*.sh "$guest" && ln -s /bin/true "$guest/bin/mount" && ln -s /bin/true "$guest/bin/umount" || exit
PATH=$guest/bin:$PATH sh "$guest/each.sh" "${@:2}"
status=$?
[ ! -e "$guest/report" ] || { echo 'WARNING: a report' >&2; exit 126; }
[ ! -e "$guest/dead" ] || { echo 'the guest ran out of its time' >&2; exit 124; }
exit $status
END
rm "$tree"/tests/guest/counts/*.sh
sed -i '/^# soak:/d; /^# check:/d' "$tree"/tests/host/*.sh && rm "$tree"/tests/host/*.sh
# now_and_then NAME RUNS: writes a test that fails in the runs of this list.
now_and_then() {
	rm -f "$work/$1.runs"
	script "guest/counts/$1" '# test: on=debian-6.1' "
		echo run >>$work/$1.runs
		case ' $2 ' in
		*\" \$(wc -l <$work/$1.runs) \"*) echo 'note: now'; echo 'not ok 1 - one'; echo 1..1; exit 1 ;;
		esac
		echo 'ok 1 - one'; echo 1..1"
}
# run_as STATUS PATTERN WORD...: a run has the status and prints the pattern.
run_as() {
	local status=$1 pattern=$2
	shift 2
	TALLY_CACHE=$work/cache prints "$pattern" "$@" && grep -qx "status $status" "$work/out"
}
now_and_then once 1
now_and_then good ''
check 'one failure in four is forgiven' run_as 0 '^4 passed, 0 failed' once good
check 'and is told before the last line' grep -qx 'flaky: once debian-6.1, failed 1 of 5' "$work/out"
check 'only what failed runs again' sh -c '[ "$(wc -l <"$0/once.runs")" = 5 ]' "$work"
check 'once after what it came after' sh -c '[ "$(wc -l <"$0/good.runs")" = 2 ]' "$work"
check 'its output is kept' run_as 0 '^  not ok [0-9] - once: one$' --flaky
check 'all of it' run_as 0 '^  note: now$' --flaky once
script guest/counts/pmu '# test: on=debian-6.1:amd' 'echo "ok 1 - one"; echo 1..1'
check 'a guest whose QEMU cannot be built now is skipped, and counted' \
	run_as 0 '^2 passed, 0 failed, 1 skipped' good pmu
check 'which it says' grep -q 'pmu debian-6.1:amd: the source of QEMU cannot be fetched now' "$work/out"
script guest/counts/pmu '# test: on=debian-6.1:generic' 'echo "ok 1 - one"; echo 1..1'
check 'one that cannot be built fails, and the others run' run_as 1 '^2 passed, 1 failed, 0 skipped' good pmu
check 'which it says, too' grep -q '^failed: cannot build for debian-6.1:generic' "$work/out"
rm "$tree/tests/guest/counts/pmu.sh"
now_and_then once '1 3'
check 'two in four are not' run_as 1 '^[0-9]+ passed, [1-9] failed' once
now_and_then once 1
now_and_then other 1
check 'two scripts are not' run_as 1 '^[0-9]+ passed, 2 failed' once other
check 'both are told' sh -c '[ "$(grep -c "^flaky: .* failed 1 of [45]$" "$0")" = 2 ]' "$work/out"
script guest/counts/a_leaves '# test: on=debian-6.1' '>"$(dirname "$0")/left"; echo "ok 1 - one"; echo 1..1'
script guest/counts/minds '# test: on=debian-6.1' '
	[ ! -e "$(dirname "$0")/left" ] || { echo "not ok 1 - one"; echo 1..1; exit 1; }
	echo "ok 1 - one"; echo 1..1'
check 'nor is one that fails only after another' run_as 1 '^[0-9]+ passed, [1-9] failed' a_leaves minds
check 'though it passes alone' run_as 0 '^2 passed, 0 failed' minds
rm "$tree"/tests/guest/counts/{a_leaves,minds}.sh
now_and_then always '1 2 3 4 5'
check 'one that always fails is not' run_as 1 '^0 passed, 2 failed' always
script guest/counts/warns '# test: on=debian-6.1' 'touch "$(dirname "$0")/report"; echo "ok 1 - one"; echo 1..1'
check 'a report of the kernel is not' run_as 1 '^2 passed, 1 failed' warns
check 'and does not run again' sh -c '! grep -q ^again "$0"' "$work/out"
script guest/counts/a_warns '# test: on=debian-6.1 seconds=99' '>"$(dirname "$0")/report"; kill $PPID; sleep 2'
now_and_then good ''
check 'scripts without a turn run all the same' run_as 1 '^2 passed, 1 failed' a_warns good
script guest/counts/ends '# test: on=debian-6.1' ">\"\$(dirname \"\$0\")/dead\"; echo 'ok 1 - one'; echo 1..1"
now_and_then once 1
check 'a guest that ends badly after all is not forgiven' run_as 1 '^[0-9]+ passed, [1-9] failed' once ends
check 'and nothing runs again' sh -c '! grep -q ^again "$0"' "$work/out"
script guest/counts/a_dies '# test: on=debian-6.1 seconds=99' "
	[ ! -e $work/died ] && >$work/died || { echo 'ok 1 - one'; echo 1..1; exit; }
	touch \"\$(dirname \"\$0\")/dead\"; kill \$PPID; sleep 5"
now_and_then good ''
check 'a guest that is lost once is' run_as 0 '^[0-9]+ passed, 0 failed' a_dies good
check 'and scripts without a turn get one' sh -c '[ "$(cat "$0"/good.runs | wc -l)" -ge 1 ]' "$work"

# The folder is not in /tmp, which each.sh hides.
# shellcheck source=scripts/lib.sh
here=$(. scripts/lib.sh && mkdir -p "$cache/tmp" && mktemp -d "$cache/tmp/each.XXXXXX") || exit 2
trap 'rm -rf "$work" "$here"' EXIT

# each SCRIPT...: runs each.sh in busybox's shell and in a mount namespace of its own.
each() {
	mkdir -p "$here/bin"
	cp "$tree"/tests/guest/lib/*.sh "$here"
	for tool in sh awk mount umount date dirname; do
		ln -sf "$busybox" "$here/bin/$tool"
	done
	# shellcheck disable=SC2016
	PATH=$here/bin:$PATH unshare --mount sh -c 'cd "$0" && exec sh ./each.sh "$@"' "$here" "$@" \
		>"$work/out" 2>&1
	echo "status $?" >>"$work/out"
	cat "$work/out"
}
each_is() {
	local want=$1
	shift
	diff <(printf '%b' "$want") <(each "$@" | sed 's/ took [0-9]* s$/ took/')
}
script guest/lib/good '' 'echo "ok 1 - one $1"; touch /tmp/there; echo 1..1'
script guest/lib/tmp '' 'ls /tmp; echo "ok 1 - one # SKIP why"; echo 1..1'
script guest/lib/noplan '' 'echo "ok 1 - one"'
script guest/lib/none '' 'echo "1..0 # SKIP no PMU"'
script guest/lib/empty '' 'echo 1..0'
script guest/lib/half '' 'printf half; exit 3'
script guest/lib/dies '' 'echo 1..1; echo "ok 1 - one"; exit 1'
check 'each: results by their script, and an empty /tmp' each_is \
	'ok 1 - good: one 7\nok 2 - good: ends well\n# good took\nok 3 - tmp: one # SKIP why\nok 4 - tmp: ends well\n# tmp took\n1..4\nstatus 0\n' \
	'good.sh 7' tmp.sh
check 'each: all is skipped' each_is \
	'ok 1 - none # SKIP no PMU\n# none took\n1..1\nstatus 0\n' none.sh
check 'each: no plan fails' each_is \
	'ok 1 - noplan: one\nnot ok 2 - noplan: ends well\n# status 0, 1 results, planned: none\n# noplan took\n1..2\nstatus 1\n' noplan.sh
check 'each: a status fails' each_is \
	'ok 1 - dies: one\nnot ok 2 - dies: ends well\n# status 1, 1 results, planned: 1\n# dies took\n1..2\nstatus 1\n' dies.sh
check 'each: no result fails' each_is \
	'not ok 1 - empty: ends well\n# status 0, 0 results, planned: 0\n# empty took\n1..1\nstatus 1\n' empty.sh
check 'each: half a line hides no end' each_is \
	'half\nnot ok 1 - half: ends well\n# status 3, 0 results, planned: none\n# half took\nok 2 - good: one \nok 3 - good: ends well\n# good took\n1..3\nstatus 1\n' half.sh good.sh
finish
