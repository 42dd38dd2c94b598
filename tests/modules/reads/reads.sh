#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guests with NMIs and a PMU, with KASAN, and with the oldest perf.
# test: on=debug-x86_64,debug-arm64 seconds=40
# test: on=debian-6.1 seconds=15
# soak: on=debian-6.12
#
# Another module reads in any context, and has sets. Its reads interrupt no other CPU.

. "$(dirname "$0")/lib.sh"

module=$here/tally_reads.ko
chunk=/sys/kernel/debug/tally_reads/chunk
with_pmu=0 with_nmi=0
! has_pmu || with_pmu=1
[ $with_pmu = 0 ] || ! grep -q gicv3_pseudo_nmi=1 /proc/cmdline || with_nmi=1

# shellcheck disable=SC2119
load_tally

# ---- all or nothing

census() { cut -d' ' -f1 $tally/events && stat_of counters && stat_of perf_events; }
is "$(create page-faults name=other)" OK 'another event'
before=$(census)
ok 'sets are refused' as cpu 0 insmod "$module" mode=refused
module_results tally_reads
is "$(census)" "$before" 'and leave nothing behind'
ok 'tally_reads can be unloaded' rmmod tally_reads
is "$(remove other)" OK 'the other event'

# ---- all the rest

ok 'tally_reads is loaded' as cpu 0 insmod "$module" pmu=$with_pmu nmi=$with_nmi
module_results tally_reads
nothing_left 'nothing is left of all that'

# ---- no other CPU is interrupted

# The reads come in chunks of 1,000. Other code of the kernel interrupts CPUs, too, so the
# test counts the chunks during which there was no interrupt. If one read in 1,000
# interrupted a CPU, there would be no such chunk.
#
# One task opens and reads the file, because one of the events is on that task. It starts
# no program meanwhile, because that would cause interrupts.
cat >/tmp/million <<END
function_calls() {
	total=0
	while read -r name rest; do
		case \$rest in
		*'Function call interrupts'*)
			for n in \${rest%%Function*}; do
				total=\$((total + n))
			done
		esac
	done </proc/interrupts
}
chunks=0 quiet=0
exec 3<$chunk
function_calls
while [ \$quiet -lt 1000 ] && [ \$chunks -lt 20000 ]; do
	chunks=\$((chunks + 1))
	before=\$total
	read -r failed <&3
	function_calls
	[ \$total != \$before ] || quiet=\$((quiet + 1))
done
echo \$quiet \$chunks \$failed \$total
END
if [ -e /sys/kernel/debug/kmemleak ]; then
	skip 'a debug kernel is never quiet for so long' 'a million reads'
else
	as cpu 0 sh /tmp/million >/tmp/got
	read -r quiet chunks failed total </tmp/got
	note "$chunks chunks, $quiet of them quiet; $total function-call interrupts since boot"
	is "$quiet" 1000 'a million local reads, and a million published ones, cause no function-call interrupt'
	is "$failed" 0 'and none fails'
	at_least "$total" 1 'they are counted'
fi
ok 'tally_reads can be unloaded' rmmod tally_reads
nothing_left 'nothing is left'

# ---- while CPUs come and go

if [ -w /sys/devices/system/cpu/cpu1/online ]; then
	mark
	ok 'its readers are started' insmod "$module" mode=hotplug
	cycles=0
	while [ $cycles -lt 20 ]; do
		cycles=$((cycles + 1))
		echo 0 >/sys/devices/system/cpu/cpu1/online
		usleep 100000
		echo 1 >/sys/devices/system/cpu/cpu1/online
		usleep 150000
	done
	ok 'and stopped' rmmod tally_reads
	since_mark | sed -n 's/.*tally_reads: //p' >/tmp/said
	is "$(grep -c '^\(not \)\{0,1\}ok ' /tmp/said)" 12 'they have come to their end'
	while read -r line; do
		case $line in
		'not ok '*) fail "${line#not ok * - }" ;;
		'ok '*) pass "${line#ok * - }" ;;
		*) note "$line" ;;
		esac
	done </tmp/said
	nothing_left 'and nothing is left'
else
	skip 'this CPU cannot go offline' 'CPUs come and go'
fi
finish
