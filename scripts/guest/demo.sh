#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: counts a real load with tally and shows what it counted.
# Fails if anything that should count does not.

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
	fail 'the module does not load'

echo 'A load: it forks, execs and faults pages until it is told to stop.'
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
		[ "$now" -gt "$before" ] || fail "$name does not grow: $before, $now"
		echo "$now" >"/tmp/$name"
	done
done
kill $load
wait $load 2>/dev/null

for name in cpu-clock context-switches page-faults; do
	[ -d $tree/$name ] || fail "$name is missing"
done
echo "\$ cat $tree/context-switches/per_cpu    # CPU, state, count, ns enabled, ns running"
sed 's/^/  /' $tree/context-switches/per_cpu

line='cpu-clock cpu=all freq=100 name=samples'
echo "\$ echo '$line' > $tree/create"
echo "$line" >$tree/create || fail 'an event that overflows cannot be made'
sleep 1
for file in overflows skipped throttled handler_ns; do
	echo "  $file $(cat $tree/samples/$file)"
done
[ "$(cat $tree/samples/overflows)" -gt 0 ] || fail 'nothing overflows'

if [ -d $tree/cycles ]; then
	echo "cycles: counted by this machine's PMU"
else
	echo 'cycles is missing, and the kernel log says why:'
	dmesg | grep 'tally: cycles' | sed 's/^/  /' | grep . ||
		fail 'nothing in the log says why cycles is missing'
fi
[ "$1" != cycles ] || [ -d $tree/cycles ] || fail 'cycles should count here'
rmmod tally || fail 'the module does not unload'
