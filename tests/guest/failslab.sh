#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Every allocation fails in turn, while an event is made and while the module is
# loaded (features.md, D.1 #4 and #5): either ENOMEM and nothing is left, or the
# kernel did without, and what was made can be removed. Leaks are looked for by
# scripts/vm afterwards.
#
#	failslab.sh [STEP]	default 1; of loading, try every STEP-th only

. "$(dirname "$0")/lib.sh"
step=${1:-1}
slab=/sys/kernel/debug/failslab
[ -e /proc/self/fail-nth ] || skip_all 'this kernel has no fault injection (CONFIG_FAULT_INJECTION)'
[ -d $slab ] || skip_all 'this kernel has no CONFIG_FAILSLAB'

# Also what may wait; and not a word about each: scripts/vm reads the log.
echo N >$slab/ignore-gfp-wait
echo 0 >$slab/verbose
pages=/sys/kernel/debug/fail_page_alloc
if [ -d $pages ]; then
	echo N >$pages/ignore-gfp-wait
	echo 0 >$pages/min-order
	echo 0 >$pages/verbose
fi

clean() {
	[ -z "$(cat $tally/events)" ] && [ "$(stat_of counters)" = 0 ] &&
		[ "$(stat_of perf_events)" = 0 ] && [ "$(stat_of events)" = 0 ]
}

# each LINE: until there are fewer allocations than the one that is to fail.
each() {
	each_n=0 each_enomem=0 each_did=0 each_bad=''
	while [ $each_n -lt 3000 ]; do
		each_n=$((each_n + 1))
		each_got=$(failnth create $tally/create "$1 name=x" $each_n)
		case $each_got in
		'ENOMEM failed')
			each_enomem=$((each_enomem + 1))
			;;
		'OK failed' | 'OK passed')
			# debugfs may have made no folder; the name works.
			[ "$(cut -d' ' -f1 $tally/events)" = x ] ||
				each_bad="$each_bad $each_n:not-listed"
			[ "$(remove x)" = OK ] || each_bad="$each_bad $each_n:not-removed"
			each_did=$((each_did + 1))
			;;
		*)
			each_bad="$each_bad $each_n:${each_got%% *}"
			remove x >/dev/null
			;;
		esac
		clean || {
			each_bad="$each_bad $each_n:left"
			cat $tally/events $tally/stats | sed 's/^/# /'
			break
		}
		[ "${each_got#* }" != passed ] || break
	done
	note "$1: $((each_n - 1)) allocations, $each_enomem answers of ENOMEM"
	is "$each_bad" '' "$1: each failure is ENOMEM or does no harm"
	is "${each_got:-}" 'OK passed' "$1: and in the end it works"
	at_least $each_enomem 3 "$1: some failures were noticed"
	is "$(create "$1 name=x")" OK "$1: and again without failures"
	is "$(remove x)" OK "$1: removed"
}

load_tally
case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
address=0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)

each page-faults
each 'cpu-clock cpu=0'
each 'page-faults pid=1'
each 'page-faults pid=1 inherit'
each 'sched:sched_switch'
each "kprobe:$symbol"
each "kretprobe:$symbol cpu=0"
each "mem:$address/4:w"
each 'software/config=2/'
each 'page-faults:uD cpu=0 disabled require exclude=kernel'
if has_pmu; then
	each cycles
else
	is "$(failnth create $tally/create cycles 3000)" 'ENOENT passed' 'what is lacking is lacking'
fi

# Two that share a counter.
create page-faults name=first >/dev/null
n=0 wrong=''
while [ $n -lt 300 ]; do
	n=$((n + 1))
	got=$(failnth create $tally/create 'page-faults name=second' $n)
	[ "${got%% *}" != OK ] || remove second >/dev/null
	[ "$(stat_of events) $(stat_of counters)" = '1 1' ] || wrong="$wrong $n"
	[ "${got#* }" != passed ] || break
done
is "$wrong" '' 'the second event on a counter leaves the first alone'
is "$(state first)" active 'which counts on'
remove first >/dev/null
clean || fail 'something is left behind'

# Reading and removing.
create page-faults name=x >/dev/null
n=0 wrong=''
while [ $n -lt 50 ]; do
	n=$((n + 1))
	got=$(failnth create $tally/remove x $n)
	[ "${got#* }" != passed ] || break
	case $got in
	'ENOMEM failed') ;;
	'OK failed') create page-faults name=x >/dev/null ;;
	*) wrong="$wrong $n:$got" ;;
	esac
done
is "$wrong" '' 'removing fails with ENOMEM or works'
remove x >/dev/null
nothing_left 'all is removed'
unload_tally

# ---- loading

n=1 enomem=0 other='' wrong='' did=0
while [ $n -lt 20000 ]; do
	got=$(failnth insmod "$here/tally.ko" 'events=page-faults,cpu-clock' $n)
	case $got in
	ENOMEM*) enomem=$((enomem + 1)) ;;
	OK*) did=$((did + 1)) ;;
	*) other="$other $n:${got%% *}" ;;
	esac
	case $got in
	OK*)
		loaded || wrong="$wrong $n:not-loaded"
		unload_tally || { wrong="$wrong $n:not-unloaded"; break; }
		;;
	esac
	! loaded || wrong="$wrong $n:loaded"
	[ ! -e $tally ] || { wrong="$wrong $n:folder"; break; }
	[ "${got#* }" != passed ] || break
	n=$((n + step))
done
note "loading: $n allocations, $enomem answers of ENOMEM, $did loads in spite of one"
# The module loader has answers of its own.
[ -z "$other" ] || note "other answers:$other"
is "$wrong" '' 'a load that fails leaves nothing, one that works can be unloaded'
is "$got" 'OK passed' 'in the end it loads'
at_least $enomem 10 'some failures were noticed'
load_tally events=page-faults
is "$(state page-faults)" active 'it loads and counts as ever'
finish
