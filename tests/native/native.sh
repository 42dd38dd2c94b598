#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=50
#
# Runs the KUnit suites of what has almost no kernel in it on this machine: all of them
# with AddressSanitizer and UndefinedBehaviorSanitizer, and the races of the queue and the
# ring once more with ThreadSanitizer. Then each mutant below must fail.
#
#	native.sh [SUITE]...	only these suites, and no mutants

set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
. tests/host/lib.sh

out=$(build_folder native)
hold "$out.lock"

# A race is reported once.
export TSAN_OPTIONS=halt_on_error=1

# build PROGRAM [make arguments]: a program has the name of its sanitizer.
build() {
	local program=$1
	shift
	make -s -f tests/native/native.mk -j"$(nproc)" OUT="$out/$program" CHECK="$program" "$@"
}

# results NAME PROGRAM [SUITE]...: runs suites, and prints their results as ours. A program
# that ends early, or that a sanitizer ends, fails as a whole.
results() {
	local name=$1 status
	shift
	timeout 300 "$@" >"$work/tap" 2>"$work/report"
	status=$?
	awk -v n="$tests" '
		/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n); seen++ }
		/^1\.\./ { plan = substr($0, 4); next }
		{ print }
		END { exit !seen || plan != seen }' "$work/tap" || status=$((status + 256))
	tests=$((tests + $(grep -cE '^(not )?ok ' "$work/tap")))
	[ ! -s "$work/report" ] || head -60 "$work/report" | sed 's/^/# /'
	check "$name ends well" test "$status" = 0
}

# mutate NAME PROGRAM FILE SED: changes a copy of a source, and builds the program with it.
mutate() {
	local changed=$out/$2/mutant.$1/$3
	mkdir -p "${changed%/*}"
	sed -E "$4" "$3" >"$work/mutant"
	! cmp -s "$3" "$work/mutant" || { echo "sed changes nothing in $3"; return 1; }
	cmp -s "$work/mutant" "$changed" || cp "$work/mutant" "$changed"
	build "$2" MUTANT="$1" MUTATED="$3"
}

# found NAME PROGRAM SUITE FILE SED: in one of ten runs at least. On a machine that is busy with
# something else, the threads of a race may not meet.
found() {
	local run
	mutate "$1" "$2" "src/module/$4" "$5" || return
	for run in 1 2 3 4 5 6 7 8 9 10; do
		timeout 60 "$out/$2/mutant.$1/native" "$3" >"$work/tap" 2>&1 || return 0
	done
	echo "found in none of $run runs"
	return 1
}

# mutant NAME PROGRAM SUITE FILE SED: the suite finds the mistake that sed makes.
mutant() { check "found: $1" found "$@"; }

check 'the suites build' build address
results 'the suites' "$out/address/native" "$@"
[ $# = 0 ] || finish
check 'the races build' build thread
results 'the races' "$out/thread/native" tally_queue_race tally_ring

# The queue: each mistake is in the order of its stores, or in who publishes.
mutant nested-publishes address tally_queue_race base/queue.c 's/nest > 1/nest > 2/'
mutant nobody-looks-again address tally_queue_race base/queue.c \
	's/READ_ONCE\(q->reserved\) == head/true/'
mutant plain-reservation address tally_queue_race base/queue.c \
	's/cmpxchg_local\(&q->reserved, pos, pos \+ 1\);/({ WRITE_ONCE(q->reserved, pos + 1); pos; });/'
mutant no-release thread tally_queue_race base/queue.c \
	's/smp_store_release\(&q->head, head\)/WRITE_ONCE(q->head, head)/'
mutant no-acquire thread tally_queue_race base/queue.c \
	's/smp_load_acquire\(&q->head\)/READ_ONCE(q->head)/'
mutant no-order-of-places thread tally_queue_race base/queue.c \
	's/smp_load_acquire\(&q->done\[q->last\]\)/READ_ONCE(q->done[q->last])/'
# The ring.
mutant ring-plain-head address tally_ring record/ring.h \
	's/local_cmpxchg\(&r->head, head, end\) != head/({ local_set(\&r->head, end); 0; })/'
mutant ring-quite-full address tally_ring record/ring.h \
	's/next = end - size \+ 1/next = end - size/'
mutant ring-nested-publishes address tally_ring record/ring.h 's/nest > 1/nest > 2/'
mutant ring-nobody-looks-again address tally_ring record/ring.h \
	's/tally_ring_publish\(r\) != local_read\(&r->head\)/tally_ring_publish(r) == 1/'
mutant ring-first-nested address tally_ring record/ring.h 's/if \(!nest\)$/if (nest < 2)/'
mutant ring-no-release thread tally_ring record/ring.h \
	's/smp_store_release\(&r->page->data_head,/WRITE_ONCE(r->page->data_head,/'
mutant ring-lost-once address tally_ring record/ring.c 's/unreported \+ 1/1/'
# The others: limits and ends.
mutant name-limit address tally_name builder/name.c 's/>= TALLY_NAME_LEN/> TALLY_NAME_LEN/'
mutant filter-end address tally_filter filter/match.c \
	's/size > rec->size - offset/size > rec->size - offset + 1/'
mutant filter-or address tally_filter filter/filter.c \
	's/go_to\(p, o->is\[false\], p->f->nr\);/go_to(p, o->is[false], p->f->nr + 1);/'
mutant count-round address tally_count base/count.c 's/thousandths, 5ULL/thousandths, 4ULL/'
mutant terms-width address tally_alias base/terms.c 's/value >> width\)/value >> width > 1)/'
# The specs: each mistake makes another event of the line.
mutant spec-idle address tally_spec builder/name.c "s/\\*m\\+\\+ = 'I'/(void)0/"
mutant spec-all-levels address tally_spec debugfs/spec.c '/^\tshow_exclude\(m/d'
mutant spec-exec address tally_spec builder/check.c '/enable_on_exec &= attr->disabled/d'
mutant spec-line-break address tally_spec builder/line.c "s/strchr\(text, '.n'\)/false/"
mutant spec-kind address tally_spec debugfs/spec.c 's/one_kind && !.given/one_kind \&\& false/'
mutant spec-members address tally_spec life/line_set.c 's/strcspn\(line, " .t"\), size/1, size/'
mutant spec-handlers address tally_spec debugfs/spec.c 's/ && ev->owner == THIS_MODULE//'
mutant payload-end address tally_payload base/payload.c 's/TALLY_RAW_MOST - size\)/TALLY_RAW_MOST)/'
finish
