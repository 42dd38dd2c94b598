#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Guests with NMIs and a PMU, with KASAN, and with the oldest perf. Intel's driver and that of arm64
# have different registers.
# test: on=debian-6.12-arm64,debian-6.1,debian-6.12:intel,debug-x86_64 seconds=35
# all: on=debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=35
# soak: on=debug-rt,debug-kcsan,debian-6.12-rt-arm64,debug-arm64 seconds=40
#
# Another module reads in any context, and has sets. Its reads interrupt no other CPU.

. "$(dirname "$0")/lib.sh"
need_cpus 2

module=$here/tally_reads.ko
chunk=/sys/kernel/debug/tally_reads/chunk
with_pmu=0 with_nmi=0 with_register=0
! has_pmu || with_pmu=1
! pmu_is_nmi || with_nmi=1
# arm64 has functions for that since Linux 6.12, and riscv64 has none.
case $(uname -m).$(uname -r) in
x86_64.* | aarch64.6.1[2-9].* | aarch64.[7-9].*) with_register=1 ;;
esac

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

ok 'tally_reads is loaded' as cpu 0 insmod "$module" pmu=$with_pmu nmi=$with_nmi \
	register=$with_register
module_results tally_reads
nothing_left 'nothing is left of all that'

# ---- the same if the driver reads

if [ $with_pmu$with_register = 11 ]; then
	ok 'tally_reads can be unloaded' rmmod tally_reads
	unload_tally
	load_tally without=register
	ok 'tally_reads is loaded while the driver reads' \
		as cpu 0 insmod "$module" pmu=1 nmi=$with_nmi register=0
	module_results tally_reads
fi

# ---- no other CPU is interrupted

# Each line of the file is the result of 1,000 reads. They are made by one task, because one
# of the events is on that task. Two events on the task count its calls of the functions by
# which the kernel interrupts another CPU; a read of a count of CPU 1 shows that they do.
# To read these two counts takes such calls, too: always as many.
chunks=1000
[ ! -e /sys/kernel/debug/kmemleak ] || chunks=50
cat >/tmp/reader <<END
calls() {
	read -r single <$tally/single/count && read -r many <$tally/many/count
	echo \$((single + many))
}
echo "kprobe:smp_call_function_single pid=\$\$ name=single" >$tally/create
echo "kprobe:smp_call_function_many_cond pid=\$\$ name=many" >$tally/create
# The first reads come after the file has made its events.
exec 3<$chunk
read -r failed <&3
calls
calls
chunks=1
while [ \$chunks -lt $chunks ]; do
	chunks=\$((chunks + 1))
	read -r failed <&3
done
echo \$chunks \$failed
calls
read -r elsewhere <$tally/elsewhere/count
calls
END
is "$(create 'cpu-clock cpu=1 name=elsewhere')" OK 'an event on CPU 1'
as cpu 0 sh /tmp/reader >/tmp/got
{ read -r one && read -r two && read -r got failed && read -r three && read -r four; } </tmp/got
note "calls: $one, $two, then $three, then $four"
is "$got" "$chunks" "$chunks,000 local reads, and as many published ones"
is "$failed" 0 'of which none fails'
is $((three - two)) $((two - one)) 'interrupt no other CPU'
at_least $((four - three)) $((two - one + 1)) 'but a read of CPU 1 does'
for name in single many elsewhere; do
	is "$(remove $name)" OK "the event $name"
done
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
	# A probe for a CPU that has come online holds the module for a moment.
	ok 'and stopped' wait_for 60 rmmod tally_reads
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
