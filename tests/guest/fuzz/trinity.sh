#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Wild calls: the longer the better, and `make fuzz` is longer.
# soak: on=debug-x86_64 vm="--with-trinity" args=120 seconds=180
#
# trinity.sh [SECONDS [SEED]]: /dev/tally and its files under trinity's calls, made by
# four processes whose allocations fail now and then. Its perf_event_open() makes files
# of tally's, see preload/asperf.c. Run with scripts/vm --with-trinity.

. "$(dirname "$0")/lib.sh"
seconds=${1:-10}
# A long run is to try something new.
if [ "$seconds" -gt 60 ]; then seed=${2:-$(date +%s)}; else seed=${2:-1}; fi
command -v trinity >/dev/null || {
	echo 'Bail out! there is no trinity in this guest: run scripts/vm with --with-trinity'
	exit 1
}

# trinity's children mark themselves as those whose allocations may fail.
slab=/sys/kernel/debug/failslab
[ ! -d $slab ] || {
	setting $slab/task-filter Y
	setting $slab/ignore-gfp-wait N
	setting $slab/verbose 1
	setting $slab/times -1
	setting $slab/probability 1
}
# That one of them has died is no report of the kernel.
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
# Ran 1000 syscalls. Successes: 300  Failures: 700
# on tally's files: ioctl 100 30
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
# good_of CALL: how many succeeded, of those on tally's files.
good_of() { sed -n "s/^$1 [0-9]* //p" $tmp/trinity/sums; }
needed='perf_event_open ioctl mmap read poll'
all_succeeded() {
	sums
	for name in $needed; do
		[ "$(good_of "$name")" -ge 1 ] 2>/dev/null || return 1
	done
}

# It has no option for a time, but ends well when it is interrupted. Its calls may
# hit its own memory, and then it does not: so there are several, of 20 s at most, and on
# a busy machine more than the time is for, until there was something of each. It
# waits ten seconds before it runs as root, but for a clown.
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
