#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Only debug kernels have KUnit. Wide arithmetic and atomics differ by architecture. make test
# leaves to tests/native what has almost no kernel in it.
# test: on=debug-x86_64 args=tally_kunit seconds=30
# all: on=debug-x86_64 args=tally_kunit_pure seconds=40
# soak: on=debug-arm64,debug-rt,debug-kcsan,debug-clang args="tally_kunit tally_kunit_pure"
#
# Runs the KUnit suites of test modules and prints their results as one flat TAP stream. A
# suite fails if it is missing, if it has no plan or fewer results than planned, or if its own
# result does not agree with its cases.
#
#	kunit.sh MODULE...

suites=''
for module; do
	case $module in
	tally_kunit) suites="$suites tally_builder tally_build tally_state tally_task_events tally_sample" ;;
	tally_kunit_pure)
		suites="$suites tally_name tally_line tally_count tally_queue tally_queue_race"
		suites="$suites tally_ring tally_filter tally_payload" ;;
	esac
done
results=/sys/kernel/debug/kunit
here=$(dirname "$0")

bail() {
	echo "Bail out! $*"
	exit 1
}

# flatten SUITE NUMBER: prints the results of a suite, numbered from NUMBER on. The lines
# of cases are indented by 4. The lines of a case's parameters are indented by 8, and have
# no plan; the summary of the case has their number.
flatten() {
	awk -v suite="$1" -v first="$2" '
	function result(text, name,    word, skip) {
		word = text ~ /^ *not ok / ? "not ok" : "ok"
		skip = ""
		if (match(text, / # SKIP.*/)) {
			skip = substr(text, RSTART)
			text = substr(text, 1, RSTART - 1)
		}
		sub(/^ *(not )?ok [0-9]+ ?(- )?/, "", text)
		gsub(/#/, "no. ", text)
		printf "%s %d - %s.%s%s\n", word, ++number, suite,
			name text, skip
		if (word != "ok")
			failed++
	}
	function problem(text) {
		printf "not ok %d - %s: %s\n", ++number, suite, text
		failed++
	}
	BEGIN { number = first - 1; plan = -1 }
	/^    1\.\.[0-9]+$/ { plan = substr($0, 8) + 0; next }
	/^        # Subtest: / { parent = $3 "."; seen = 0; next }
	/^        (not )?ok [0-9]+/ { result($0, parent); seen++; next }
	/^    # [a-z_]+: pass:[0-9]+ .* total:[0-9]+$/ {
		split($NF, words, ":")
		if (words[2] != seen)
			problem("ran " words[2] " parameters, told of " seen)
		next
	}
	/^    (not )?ok [0-9]+/ {
		cases++
		split($0, words)
		if (words[words[1] == "not" ? 3 : 2] != cases)
			problem("result out of order: " $0)
		result($0, "")
		parent = ""
		next
	}
	/^(not )?ok / { own = $0; next }
	/# .*(EXPECT|ASSERT)|^ *# *[a-z_]+:.*(FAIL|ERROR)/ { print "#" $0; next }
	/^ *(Expected|Value|==|the sentence|'"'"')/ { print "#" $0; next }
	{ if ($0 !~ /^ *(KTAP|#|1\.\.)/) print "#" $0 }
	END {
		if (plan < 0)
			problem("no plan")
		else if (plan != cases)
			problem("planned " plan " cases, ran " cases + 0)
		if (own !~ "^ok 1 " suite "$" && !failed)
			problem("its own result is \"" own "\"")
		print number + 0 >last
		exit failed > 0
	}' last="/tmp/kunit.last" "$results/$1/results"
}

# The suite tally_filter lets its own allocations fail, by current->fail_nth.
if [ -d /sys/kernel/debug/failslab ]; then
	echo N >/sys/kernel/debug/failslab/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/failslab/verbose
fi

insmod "$here/tally.ko" || bail 'tally.ko does not load'
for module; do
	insmod "$here/$module.ko" || bail "$module.ko does not load"
done
[ -n "$suites" ] || bail 'no module is named'

number=0 failed=0
for suite in $suites; do
	[ -e "$results/$suite/results" ] || bail "no results of $suite"
	flatten "$suite" $((number + 1)) || failed=1
	number=$(cat /tmp/kunit.last) || bail "no results of $suite"
done

# step NAME COMMAND...: a result that is good if the command succeeds.
step() {
	name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		failed=1
	fi
}

# Whether all suites are in the list above; the results of another one would be ignored.
only_ours() {
	for folder in "$results"/tally*; do
		case " $suites " in
		*" ${folder##*/} "*) ;;
		*) return 1 ;;
		esac
	done
}

step 'every suite was looked at' only_ours
step 'no event is left' grep -q '^events 0$' /sys/kernel/debug/tally/stats
step 'no counter is left' grep -q '^counters 0$' /sys/kernel/debug/tally/stats
step 'no perf event is left' \
	grep -q '^perf_events 0$' /sys/kernel/debug/tally/stats
step 'the suites can be unloaded' rmmod "$@"
step 'tally can be unloaded' rmmod tally
echo "1..$number"
exit $failed
