#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest. Counts a load with tally and prints the counts. Fails if an event
# does not count.

tree=/sys/kernel/debug/tally

fail() {
	echo "demo: $*" >&2
	exit 1
}

table() {
	printf '  %-18s %-8s %-8s %14s %14s %8s\n' \
		event target state count scaled 'on PMU'
	while read -r name target state count scaled ratio; do
		printf '  %-18s %-8s %-8s %14s %14s %8s\n' \
			"$name" "$target" "$state" "$count" "$scaled" "$ratio"
	done <$tree/events
}

echo "Linux $(uname -r) $(uname -m), $(nproc) CPUs"
echo '$ insmod tally.ko events=cpu-clock,context-switches,page-faults,cycles'
insmod tally.ko events=cpu-clock,context-switches,page-faults,cycles ||
	fail 'the module does not load: see the kernel log'

echo 'A load starts: it forks, calls exec and faults pages until the end.'
while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=64 2>/dev/null
	ls -lR /sys/class >/dev/null
done &
load=$!

for i in 1 2 3; do
	sleep 1
	echo "\$ cat $tree/events    # after $i s"
	table
	for name in cpu-clock context-switches page-faults cycles; do
		[ -d $tree/$name ] || continue
		read -r now <$tree/$name/count || fail "$name cannot be read"
		before=$(cat "/tmp/$name" 2>/dev/null || echo 0)
		[ "$now" -gt "$before" ] || fail "$name does not grow: it was $before, it is $now"
		echo "$now" >"/tmp/$name"
	done
done
kill $load
wait $load 2>/dev/null

for name in cpu-clock context-switches page-faults; do
	[ -d $tree/$name ] || fail "$name is missing"
done
echo "\$ cat $tree/context-switches/per_cpu"
sed 's/^/  /' $tree/context-switches/per_cpu

line='cpu-clock cpu=all freq=100 name=samples'
echo "\$ echo '$line' > $tree/create"
echo "$line" >$tree/create || fail 'an event with a frequency cannot be made'
sleep 1
for file in overflows skipped throttled handler_ns; do
	echo "  $file $(cat $tree/samples/$file)"
done
[ "$(cat $tree/samples/overflows)" -gt 0 ] || fail 'samples does not overflow'

if [ -d $tree/cycles ]; then
	echo "cycles was counted by this machine's PMU"
else
	echo 'cycles is missing; the kernel log says why:'
	dmesg | grep 'tally: cycles' | sed 's/^/  /' | grep . ||
		fail 'the kernel log does not say why cycles is missing'
fi
[ "$1" != cycles ] || [ -d $tree/cycles ] || fail 'cycles is missing on a machine with a PMU'
rmmod tally || fail 'the module does not unload'
