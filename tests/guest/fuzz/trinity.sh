#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Random calls find more, the longer they run; `make fuzz` runs longer.
# soak: on=debug-x86_64 vm="--with-trinity" args=120 seconds=180
#
# trinity.sh [SECONDS [SEED]]: trinity makes random calls on /dev/tally and its files, in
# four processes whose allocations fail now and then. perf_event_open() of trinity makes
# files of tally, see preload/asperf.c. Run with scripts/vm --with-trinity.

. "$(dirname "$0")/lib.sh"
seconds=${1:-10}
# A short run makes the same calls each time; a long run tries something new.
if [ "$seconds" -gt 60 ]; then seed=${2:-$(date +%s)}; else seed=${2:-1}; fi
command -v trinity >/dev/null || {
	echo 'Bail out! there is no trinity in this guest: run scripts/vm with --with-trinity'
	exit 1
}

# Allocations fail in trinity's children only, which set /proc/self/make-it-fail.
slab=/sys/kernel/debug/failslab
[ ! -d $slab ] || {
	setting $slab/task-filter Y
	setting $slab/ignore-gfp-wait N
	setting $slab/verbose 1
	setting $slab/times -1
	setting $slab/probability 1
}
# Do not log the death of trinity's children: that is no report of the kernel.
[ ! -e /proc/sys/debug/exception-trace ] || setting /proc/sys/debug/exception-trace 0
load_tally
note "seed $seed"
calls=''
for call in perf_event_open mmap munmap mprotect mremap read readv pread64 fadvise64 \
	poll ppoll epoll_create1 epoll_ctl epoll_wait epoll_pwait fcntl dup dup2 dup3; do
	calls="$calls -c $call"
done
folder=$PWD
mkdir -p $tmp/trinity && cd $tmp/trinity || exit
# sums adds up the lines of all logs that look like these:
#	Ran 1000 syscalls. Successes: 300  Failures: 700
#	on tally's files: ioctl 100 30
sums() {
	cat $tmp/trinity/log.* | awk '
		/Ran [0-9]+ syscalls/ { ended++; calls += $3; good += $6 }
		/^on tally.s files: / { c[$4] += $5; g[$4] += $6 }
		END {
			print "ended", ended + 0, 0
			print "all", calls + 0, good + 0
			for (name in c)
				print name, c[name], g[name]
		}' | sort >$tmp/trinity/sums
}
# good_of CALL: prints the number of calls on tally's files that succeeded.
good_of() { sed -n "s/^$1 [0-9]* //p" $tmp/trinity/sums; }
needed='perf_event_open sampled ring ioctl mmap read poll'
all_succeeded() {
	sums
	for name in $needed; do
		[ "$(good_of "$name")" -ge 1 ] 2>/dev/null || return 1
	done
}

# trinity has no option for a duration, but ends properly on SIGINT, unless its calls have
# overwritten its own memory. So there are several runs of 20 s at most. On a busy machine
# the runs go on after SECONDS, until each of the needed calls has succeeded. As root,
# trinity waits ten seconds before it starts, but not with --clowntown.
runs=0
end=$(($(date +%s) + seconds))
while left=$((end - $(date +%s))); [ $left -gt 0 ] || { [ $left -gt -300 ] && ! all_succeeded; }; do
	[ $left -gt 0 ] && [ $left -le 20 ] || left=20
	# shellcheck disable=SC2086 # Many words.
	LD_PRELOAD=$folder/asperf.so timeout -s INT -k 60 $left trinity \
		--dangerous --clowntown -q -l off -a 64 -C 4 -s $((seed + runs)) \
		-V /dev/tally --enable-fds=perf,pseudo,epoll $calls >log.$runs 2>&1
	runs=$((runs + 1))
done
cd "$folder" || exit
[ ! -d $slab ] || echo 0 >$slab/probability

sums
while read -r name calls good; do
	case $name in
	ended) note "$calls of $runs trinities came to their end" ;;
	all) at_least "$good" 1 "trinity: $calls calls, $good of them succeeded" ;;
	*) note "$name on tally's files: $calls calls, $good of them succeeded" ;;
	esac
done <$tmp/trinity/sums
for name in $needed; do
	at_least "$(good_of "$name")" 1 \
		"$name on tally's files succeeds"
done
[ $bad = 0 ] || tail -n 20 $tmp/trinity/log.* | sed 's/^/# /'
no_files() { ! grep -q '^file' $tally/events; }
ok 'no file of it is left' wait_for 60 no_files
nothing_left 'nothing is left'
finish
