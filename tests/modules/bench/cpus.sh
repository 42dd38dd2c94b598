#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: by=scripts/bench
#
# cpus.sh [RUNS]: what grows with the number of CPUs, for scripts/bench. It needs a guest with
# --icount and --with-tool, in which all CPUs are online.

. "$(dirname "$0")/lib.sh"

runs=${1-5}
cd "$here" || exit
cpus=$(nproc)
online=/sys/devices/system/cpu/cpu1/online
page=$(($(awk '/^KernelPageSize/ { print $2; exit }' /proc/self/smaps) * 1024))

# figure NAME VALUE
figure() {
	is_number "$2" || return
	echo "# figure cpus $1_$cpus $(($2 * 10))"
}

# memory: prints the bytes of objects in slabs; of what kmalloc() takes from whole pages, which
# is the rest of Slab; of vmalloc(); and of memory that each CPU has of its own.
memory() {
	# kfree_rcu() may wait for five seconds. A CPU's own slabs count as if they were full.
	sleep 6
	for slab in /sys/kernel/slab/*/shrink; do
		echo 1 >"$slab"
	done
	echo 1 >/proc/sys/vm/stat_refresh
	awk -v page="$page" \
	    'FILENAME == "/proc/slabinfo" && FNR > 2 { sum += $2 * $4 - $15 * $6 * page }
	     /^(Slab|VmallocUsed|Percpu):/ { sum += $2 * 1024 }
	     END { printf "%.0f\n", sum }' /proc/slabinfo /proc/meminfo
}

# hold WHO N: prints the bytes that each of N files on all CPUs takes.
hold() {
	mkfifo $tmp/in $tmp/out
	before=$(memory)
	./bench_cpus hold "$1" "$2" <$tmp/in >$tmp/out &
	holder=$!
	exec 6>$tmp/in 7<$tmp/out
	read -r said <&7
	after=$(memory)
	exec 6>&- 7<&-
	wait $holder
	rm $tmp/in $tmp/out
	[ "$said" = open ] && figure "$3" $(((after - before) / $2))
}

# hundred: makes a hundred events that share no counter, as they are pinned.
hundred() {
	i=0
	while [ $i -lt 100 ]; do
		i=$((i + 1))
		[ "$(create "page-faults:D name=e$i")" = OK ] || return
	done
}

# toggle: CPU 1 goes and comes, with a hundred events. Their gap begins when it came.
toggle() {
	gaps=$(awk '$1 == 1 && $6 > most { most = $6 } END { print most + 0 }' $tally/e*/per_cpu)
	figure hotplug "$(./bench_cpus write $online 0 $online 1)" || return
	wait_for 60 grep -q '^1 active' $tally/e1/per_cpu || return
	wait_for 60 grep -q '^1 active' $tally/e100/per_cpu || return
	figure gap $(($(awk '$1 == 1 && $6 > most { most = $6 } END { print most }' \
		$tally/e*/per_cpu) - gaps))
}

twenty=$(seq 1 20 | sed 's/.*/page-faults:D name=t&/' | tr '\n' ';')

one_run() {
	ok 'insmod with 20 events' figure insmod \
		"$(./bench_cpus run insmod tally.ko "events=\"$twenty\"")"
	is "$(stat_of events)" 20 'all of them count'
	unload_tally
	# shellcheck disable=SC2119
	load_tally
	# At first, other CPUs are slow to wake.
	as cpu 0 ./allcpus 1 100 >/dev/null
	for events in 1 8; do
		as cpu 0 ./allcpus $events 100 >$tmp/figures
		is $? 0 "files of $events events"
		sed 's/figure scale/figure cpus/' $tmp/figures
	done
	ok '8 events in the kernel' as cpu 0 insmod tally_scale.ko events=8
	for who in tally perf; do
		as cpu 0 cat /sys/kernel/debug/tally_scale/$who >/dev/null
		ok "$who reads them" figure ${who}_set \
			$(($(as cpu 0 cat /sys/kernel/debug/tally_scale/$who) / 10))
	done
	rmmod tally_scale
	ok 'memory of files' hold tally 100 file_bytes
	ok "of perf's" hold perf 100 perf_file_bytes
	before=$(memory)
	ok '100 events' hundred
	ok 'memory of events' figure event_bytes $((($(memory) - before) / 100))
	ok 'a file in debugfs' figure count "$(as cpu 0 ./bench_cpus read $tally/e1/count)"
	ok 'the live view' figure top "$(./bench_cpus run tally top --once)"
	ok 'a CPU goes and comes' toggle
	unload_tally
}

is "$(nproc)" "$(cat /sys/devices/system/cpu/possible | sed 's/.*-//' | awk '{ print $1 + 1 }')" \
	'all CPUs are online'
run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	note "run $run"
	one_run
done
finish
