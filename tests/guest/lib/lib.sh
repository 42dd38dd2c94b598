# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Shell functions of the guest tests, which source this file. The tests run in a guest of
# scripts/vm, as root, under busybox sh, in the folder of tally.ko, and print TAP:
#
#	. ./lib.sh
#	load_tally
#	is "$(create 'page-faults name=f')" OK 'an event is made'
#	ok 'its folder is there' test -d $tally/f
#	finish
#
# finish prints the plan. A test that ends without finish prints "Bail out!" instead of a
# plan and exits with 1. So a test that dies half-way never passes. A check that needs a
# feature that the kernel lacks is skipped with a reason; a skip is not a pass.

set -u

tally=/sys/kernel/debug/tally
here=$(dirname "$0")
number=0 bad=0 finished=''

# Each script has a temporary folder of its own: scripts of one guest do not see each
# other's files. The name is exported to the programs that a script starts.
tmp=$(mktemp -d)
export tmp

note() { echo "# $*"; }

pass() {
	number=$((number + 1))
	echo "ok $number - $*"
}

fail() {
	number=$((number + 1))
	bad=$((bad + 1))
	echo "not ok $number - $*"
}

# skip REASON NAME...
skip() {
	skip_reason=$1
	shift
	number=$((number + 1))
	echo "ok $number - $* # SKIP $skip_reason"
}

# tap_results NAME: prints the TAP on standard input as results of this script, with the
# script's numbers. The source NAME has not come to its end, and fails, if it printed no
# plan or a number of results other than planned.
tap_results() {
	planned='' seen=0
	while read -r line; do
		case $line in
		1..*) planned=${line#1..} ;;
		'not ok '*)
			seen=$((seen + 1))
			fail "${line#not ok * - }"
			;;
		'ok '*' # SKIP '*)
			seen=$((seen + 1))
			line=${line#ok * - }
			skip "${line#* # SKIP }" "${line%% # SKIP*}"
			;;
		'ok '*)
			seen=$((seen + 1))
			pass "${line#ok * - }"
			;;
		*) echo "$line" ;;
		esac
	done
	is "$seen" "$planned" "all results of $1 are there"
}

# module_results MODULE: prints the results of a test module.
module_results() {
	if [ -e "/sys/kernel/debug/$1/results" ]; then
		tap_results "$1" <"/sys/kernel/debug/$1/results"
	else
		fail "$1 has no results"
	fi
}

# results COMMAND...: turns a program's lines "ok TEXT" and "bad TEXT" into results. The
# program fails if it prints no such line. The output goes through a file, not a pipe:
# the last command of a pipe runs in a process of its own, and its numbers would be lost.
results() {
	results_before=$number
	"$@" >$tmp/results 2>$tmp/errors
	results_status=$?
	while read -r word text; do
		case $word in
		ok) pass "$text" ;;
		bad) fail "$text" ;;
		*) echo "$word $text" ;;
		esac
	done <$tmp/results
	sed 's/^/# /' $tmp/errors
	if [ $number -eq $results_before ] || [ $results_status -gt 1 ]; then
		fail "$1 ended with $results_status"
	fi
}

# skip_all REASON...: ends the script, because nothing of it can be tested here.
skip_all() {
	finished=1
	clean_up
	echo "1..0 # SKIP $*"
	exit 0
}

# ok NAME COMMAND...
ok() {
	ok_name=$1
	shift
	if "$@"; then
		pass "$ok_name"
	else
		ok_status=$?
		fail "$ok_name"
		note "status $ok_status: $*"
	fi
}

# refused NAME COMMAND...: the command has to fail.
refused() {
	refused_name=$1
	shift
	if "$@"; then
		fail "$refused_name"
		note "did not fail: $*"
	else
		pass "$refused_name"
	fi
}

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		note "got:  $1"
		note "want: $2"
	fi
}

# like GOT PATTERN NAME: the pattern is one of the shell's case.
like() {
	# shellcheck disable=SC2254 # $2 is meant to be a pattern.
	case $1 in
	$2) pass "$3" ;;
	*)
		fail "$3"
		note "got:       $1"
		note "want like: $2"
		;;
	esac
}

is_number() {
	case $1 in
	'' | *[!0-9]*) return 1 ;;
	esac
}

# between LOW VALUE HIGH NAME: all three are whole numbers; '' as LOW or HIGH is no limit.
between() {
	if is_number "$2" && { [ -z "$1" ] || [ "$2" -ge "$1" ]; } &&
	   { [ -z "$3" ] || [ "$2" -le "$3" ]; }; then
		pass "$4"
	else
		fail "$4"
		note "got: '$2', want: ${1:-any} to ${3:-any}"
	fi
}

at_least() { between "$2" "$1" '' "$3"; }

loaded() { [ -d /sys/module/tally ]; }

# sample_rate HZ: sets perf's limit of the sample frequency. perf lowers the limit if a PMU's
# interrupt takes long, which also happens if the host does not run the guest for a while.
# perf_cpu_time_max_percent=0 keeps perf from this, but then the limit cannot be written.
sample_rate() {
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
	echo "$1" >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# load_tally [PARAMETER...]: ends the test if tally does not load.
load_tally() {
	sample_rate 100000
	insmod "$here/tally.ko" "$@" || {
		echo "Bail out! tally.ko does not load"
		exit 1
	}
}

unload_tally() { rmmod tally; }

# create EVENT [OPTION]... and remove NAME print OK or the name of an errno.
create() { wr $tally/create "$*"; }
remove() { wr $tally/remove "$*"; }

count() { cat "$tally/$1/count"; }
state() { cat "$tally/$1/state"; }
state_is() { [ "$(state "$1")" = "$2" ]; }
# stat_of NAME: prints one of the counters of the file stats.
stat_of() { sed -n "s/^$1 //p" $tally/stats; }
# cpu_line EVENT CPU: prints the CPU's line of per_cpu, without the CPU's number.
cpu_line() { sed -n "s/^$2 //p" "$tally/$1/per_cpu"; }
# rows EVENT: prints the lines of per_cpu, without its head.
rows() { tail -n +2 "$tally/$1/per_cpu"; }

# same PROGRAM: checks that it prints the same for files of perf and of tally.
same() {
	"$here/$1" perf >$tmp/perf || fail "$1 on perf"
	"$here/$1" tally >$tmp/tally 2>$tmp/whys || fail "$1 on tally"
	if ! diff $tmp/perf $tmp/tally >$tmp/diff; then
		sed 's/^/# /' $tmp/diff $tmp/whys
		fail "$1: perf (<) and tally (>) differ"
	elif grep '^not ok' $tmp/tally; then
		fail "$1: something is wrong"
	else
		pass "$1: $(wc -l <$tmp/perf) lines are the same"
	fi
}

# nothing_left NAME: checks that tally has no event, no counter and no event of perf.
nothing_left() {
	is "$(cat $tally/events; stat_of events; stat_of counters; stat_of perf_events)" \
		"$(printf '0\n0\n0')" "$1"
}

# mark writes a mark to the kernel log; since_mark prints the log from the last mark on.
marks=0
mark() {
	marks=$((marks + 1))
	echo "tally test: mark $$.$marks" >/dev/kmsg
}
since_mark() {
	dmesg | awk -v mark="tally test: mark $$.$marks" \
		'index($0, mark) { on = 1; next } on'
}
logged() { since_mark | grep -q -e "$1"; }

# in_log ERRNO: prints a grep pattern for the errno in the log. Kernels without
# CONFIG_SYMBOLIC_ERRNAME log its number.
in_log() {
	case $1 in
	EPERM) echo "(-\\(EPERM\\|1\\))" ;;
	ENOENT) echo "(-\\(ENOENT\\|2\\))" ;;
	ESRCH) echo "(-\\(ESRCH\\|3\\))" ;;
	E2BIG) echo "(-\\(E2BIG\\|7\\))" ;;
	EACCES) echo "(-\\(EACCES\\|13\\))" ;;
	EBUSY) echo "(-\\(EBUSY\\|16\\))" ;;
	EEXIST) echo "(-\\(EEXIST\\|17\\))" ;;
	ENODEV) echo "(-\\(ENODEV\\|19\\))" ;;
	EINVAL) echo "(-\\(EINVAL\\|22\\))" ;;
	ERANGE) echo "(-\\(ERANGE\\|34\\))" ;;
	ENOSPC) echo "(-\\(ENOSPC\\|28\\))" ;;
	ENAMETOOLONG) echo "(-\\(ENAMETOOLONG\\|36\\))" ;;
	EOPNOTSUPP) echo "(-\\(EOPNOTSUPP\\|95\\))" ;;
	*) echo "unknown errno $1" ;;
	esac
}

# logged_errno LINE ERRNO: whether the log has the failed line with its errno.
logged_errno() { logged "tally: .*$1.*: .*$(in_log "$2")\$"; }

# wait_for SECONDS COMMAND...: repeats the command until it succeeds. A $(...) among the
# arguments is expanded once only; use a function such as state_is, which reads the value
# each time.
wait_for() {
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -le $wait_end ] || return 1
		usleep 20000
	done
}

# find_bits PROGRAM [BITS]: sets bits to "64 32" if the kernel also runs 32-bit programs, else
# to 64; or to BITS alone. The 32-bit build of PROGRAM is PROGRAM32; without arguments it
# prints its usage and exits with 2. Without a PROGRAM32, 32-bit programs are not tested.
# shellcheck disable=SC2034 # For the tests.
find_bits() {
	bits=64
	[ "${2-}" != 64 ] && [ -x "$here/${1}32" ] || return 0
	"$here/${1}32" 2>/dev/null
	if [ $? -eq 2 ]; then
		bits=${2:-64 32}
	else
		skip 'this kernel runs no programs of 32 bits' '32-bit programs'
	fi
}

# Whether the CPUs have a hardware PMU.
has_pmu() {
	for core_pmu in /sys/bus/event_source/devices/cpu* /sys/bus/event_source/devices/armv8*; do
		[ ! -e "$core_pmu/type" ] || return 0
	done
	return 1
}

# no_fair_servers: since Linux 6.12, tasks that are not real-time get 50 ms of each second all the
# same, by a server of their CPU. This switches the servers off until the end of the test. A task of
# the CPU does so: Linux 6.12 stops a server that an idle CPU has stopped already, and warns
# (sched_fair_server_write()).
no_fair_servers() {
	for server in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
		[ -e "$server" ] || continue
		keep "$server"
		cpu=${server%/runtime}
		"$here/as" cpu "${cpu##*/cpu}" sh -c 'echo 0 >"$0"' "$server"
	done
}

# pmu_is_nmi: whether the overflows of its counters come in NMIs.
pmu_is_nmi() {
	has_pmu && { [ "$(uname -m)" = x86_64 ] || grep -q gicv3_pseudo_nmi=1 /proc/cmdline; }
}

# need_cpus N: with fewer processors the test would prove less. So this is a failure and no
# skip. Processors that the script itself may not run on count, too.
need_cpus() {
	need_has=$(grep -c '^processor' /proc/cpuinfo)
	[ "$need_has" -lt "$1" ] || return 0
	fail "needs $1 processors, has $need_has"
	finish
}

# end_perf_hierarchy FOLDER: unmounts a hierarchy of perf's controller, and waits until the
# controller is in cgroup2 again. A cgroup that is not freed yet keeps the hierarchy, which then
# goes when it is unmounted once more.
end_perf_hierarchy() {
	umount "$1"
	for _ in 1 2 3 4 5; do
		! wait_for 5 perf_in_cgroup2 || break
		mount -t cgroup -o perf_event none "$1" && umount "$1"
	done
	ok "perf's controller is in cgroup2 again" perf_in_cgroup2
}
perf_in_cgroup2() { [ "$(awk '$1 == "perf_event" { print $2 }' /proc/cgroups)" = 0 ]; }

# begin_cgroups: the children of $top can have events. In cgroup2, children have perf's controller
# once any controller was enabled for them; debug kernels have no other controller, so there it is
# mounted as cgroup1.
top=/sys/fs/cgroup
begin_cgroups() {
	! { echo +pids >$top/cgroup.subtree_control; } 2>/dev/null || return 0
	umount $top
	mount -t cgroup -o perf_event none $top
}

# end_cgroups: undoes that, after the last child of $top was removed. The next script of the guest
# finds cgroup2 there.
end_cgroups() {
	! { echo -pids >$top/cgroup.subtree_control; } 2>/dev/null || return 0
	end_perf_hierarchy $top
	mount -t cgroup2 none $top
}

# keep FILE: the end of the test restores the file's present value.
kept=''
keep() {
	kept="$1 $(cat "$1")
$kept"
}

# setting FILE VALUE: sets the file's value until the end of the test.
setting() {
	keep "$1"
	echo "$2" >"$1"
}

# The value that was kept last is restored first, so the oldest value of a file remains.
clean_up() {
	end_helpers
	echo "$kept" | while read -r kept_file kept_value; do
		[ -z "$kept_file" ] || echo "$kept_value" >"$kept_file"
	done
	kept=''
	rm -rf "$tmp"
}

# helper COMMAND...: runs the command in the background until the end of the test.
helpers=''
helper() {
	"$@" &
	helper_pid=$!
	helpers="$helpers $helper_pid"
}

# begin_task COMMAND: starts a task, whose pid is $child, that takes orders on descriptor 4
# and answers on descriptor 5, as tests/guest/lib/task.c does.
begin_task() {
	rm -f $tmp/orders $tmp/answers
	mkfifo $tmp/orders $tmp/answers
	helper sh -c "exec $* <$tmp/orders >$tmp/answers"
	exec 4>$tmp/orders 5<$tmp/answers
	# shellcheck disable=SC2034 # Read by the tests.
	child=$helper_pid
}

# order WORD...: lets the task do one thing, to its end.
order() {
	echo "$*" >&4
	read -r answer <&5
	[ "$answer" = 'done' ] || fail "the task did not do: $*"
}

# Returns the task's exit status.
end_task() {
	exec 4>&- 5<&-
	wait "$child"
}

# stop PID: ends a helper and returns its exit status.
stop() {
	kill "$1" 2>/dev/null
	wait "$1"
}

end_helpers() {
	for pid in $helpers; do
		kill "$pid" 2>/dev/null
	done
	for pid in $helpers; do
		wait "$pid" 2>/dev/null
	done
	helpers=''
}

# The end of the test: unloads the module and prints the plan.
finish() {
	clean_up
	if loaded; then
		ok 'tally can be unloaded at the end' unload_tally
	fi
	finished=1
	echo "1..$number"
	[ $bad = 0 ] || note "$bad of $number failed"
	[ $bad = 0 ]
	exit
}

at_exit() {
	[ -z "$finished" ] || return 0
	echo "Bail out! the test ended before its end"
	clean_up
	! loaded || unload_tally
	exit 1
}
trap at_exit EXIT
