#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-7,debian-6.12-arm64,debian-6.12:intel seconds=20
# test: on=debug-x86_64 args=mutant seconds=90 also="only kernels for debugging are built with mutants"
# all: on=debug-arm64,debug-rt args=mutant seconds=90
#
# tricks.sh [mutant]: the tricks of base/trick.c, each switched off by hand, or made wrong: what
# needs it is refused, and everything else works.

. "$(dirname "$0")/lib.sh"
need_cpus 2
mode=${1:-without}
case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
begin_cgroups
# The registers of tally_pmu.ko do not have its counts.
two_contexts=''
[ "$(uname -r | cut -d. -f1,2)" != 6.1 ] || two_contexts=1
register=''
if has_pmu; then
	register=register
else
	insmod tally_pmu.ko raw=1
fi

# Each use of a cgroup is one level deeper: perf's room for deep ones never shrinks.
deep=/t/1/2
mkdir -p $top$deep

# More events of the PMU than it has counters.
codes=r11,r11:u,r11:k,r23,r23:u,r23:k,r24,r24:u,r24:k,r2b,r2b:u,r2b:k,r3c,r3c:u,r3c:k,r2c,r2c:u,r2c:k

row_of() { sed -n "s/^$1 //p" $tally/tricks; }
state_of() { row_of "$1" | cut -d' ' -f1; }

# made NAME: whether the last create was taken; the event goes.
made() {
	result=$("$@")
	[ "$result" != OK ] || remove f >/dev/null
	echo "$result"
}

# mixed: whether the software event of a set waits for the PMU, of which pinned events have all.
mixed() {
	# The proof needs the PMU.
	made create "{r11,cpu-clock}" cpu=0 name=f >/dev/null
	taken=0
	for code in $(echo $codes | tr , ' '); do
		[ "$(create "$code" cpu=0 pinned require name="taken$taken")" = OK ] || break
		taken=$((taken + 1))
	done
	made=$(create "{r11,cpu-clock}" cpu=0 name=f)
	sleep 0.1
	case $taken:$made:$(cat $tally/f/running_ns $tally/f/cpu-clock/running_ns 2>/dev/null | tail -n 1) in
	[1-9]*:OK:0) echo OK ;;
	[1-9]*:OK:[1-9]*) echo EOPNOTSUPP ;;
	*) echo "$taken:$made" ;;
	esac
	remove f >/dev/null
	while [ $taken -gt 0 ]; do
		taken=$((taken - 1))
		remove "taken$taken" >/dev/null
	done
}

# features: writes to $tmp/features what works, of all that a trick is used for.
features() {
	deep=$deep/d
	mkdir $top$deep
	echo "read:$("$here/tricks" read)" "enabled:$("$here/tricks" enabled)" \
		"clock:$("$here/tricks" clock)" \
		"page:$("$here/tricks" page)" "filter:$("$here/tricks" filter)" \
		"times:$("$here/tricks" times)" \
		"period:$(made create page-faults period=100 name=f)" \
		"budget:$(made create page-faults budget=100/1s name=f)" \
		"func:$(made create "func:$symbol{cs}" name=f)" \
		"cgroup:$(made create page-faults cgroup=/t name=f)" \
		"deep:$(made create page-faults cgroup=$deep name=f)" \
		"mixed:$(mixed)" \
		"large:$(made create "{$codes}" cpu=0 name=f)" \
		>$tmp/features
	[ -z "$register" ] || made create cycles name=f >/dev/null
}
all='read:OK enabled:OK clock:OK page:OK filter:OK times:OK period:OK budget:OK func:OK cgroup:OK deep:OK mixed:OK large:EINVAL'
# lost NAME...: the same, without some features.
lost() {
	left=$all
	for name; do
		left=$(echo "$left" | sed "s/$name:OK/$name:EOPNOTSUPP/")
	done
	echo "$left"
}

# There, software events and others are in different contexts of perf.
[ -z "$two_contexts" ] || all=$(lost mixed)

# needs TRICK: the features that it is for.
needs() {
	case $1 in
	# Its set is not a group, which has to fit on the PMU.
	times) lost page times budget func mixed | sed s/large:EINVAL/large:OK/ ;;
	group) lost mixed | sed s/large:EINVAL/large:OK/ ;;
	reload) lost budget ;;
	hand-over) lost filter ;;
	group-software) lost mixed ;;
	cgroup) lost cgroup deep ;;
	cgroup-depth) lost deep ;;
	*) lost ;;
	esac
}

# A CPU that counts goes on, whatever tally begins and ends.
"$here/tricks" hold >$tmp/held &
holder=$!
ok 'perf counts on all CPUs' wait_for 60 grep -q OK $tmp/held

# ---- all of them

# shellcheck disable=SC2119
load_tally
is "$(cut -d' ' -f2 $tally/tricks | sort -u)" untried 'nothing is tried before it is used'
names=$(cut -d' ' -f1 $tally/tricks)
features
is "$(cat $tmp/features)" "$all" 'everything works'
for name in $names; do
	case $name in
	# Not on every CPU and kernel.
	register) [ -n "$register" ] || continue ;;
	group-software) [ -z "$two_contexts" ] || continue ;;
	esac
	is "$(state_of "$name")" works "$name works: $(row_of "$name")"
done
unload_tally

refused 'there is no such trick' insmod "$here/tally.ko" without=times,wrong
ok 'two are switched off' insmod "$here/tally.ko" without=register,cgroup
is "$(cat /sys/module/tally/parameters/without)" register,cgroup 'and shown'
is "$(cut -d' ' -f1,2 $tally/tricks | sed -n 's/ off$//p' | tr '\n' ' ')" 'register cgroup ' \
	'in the file, too'
"$here/tally" doctor >$tmp/doctor
ok 'the doctor has both' test "$(grep -c '^note  trick [a-z]*: without= names it: ' $tmp/doctor)" = 2
unload_tally

# ---- without one of them

for name in $names; do
	case $mode-$name in
	mutant-register) [ -n "$register" ] || continue ;;
	esac
	mark
	load_tally "$mode=$name"
	features
	is "$(cat $tmp/features)" "$(needs "$name")" "$mode=$name: the rest works"
	for other in $names; do
		[ "$other" != "$name" ] || continue
		[ "$other$register" != register ] || continue
		case $(state_of "$other") in
		untried | works) ;;
		*) fail "$other is $(row_of "$other") with $mode=$name" ;;
		esac
	done
	if [ "$mode" = mutant ]; then
		like "$(row_of "$name")" 'wrong * *' "$name is wrong: $(row_of "$name")"
		[ "$name" = register ] ||
			ok 'and the log says so' logged "tally: $name: a trial on this kernel was wrong, so "
	else
		like "$(row_of "$name")" 'off 0 *' "$name is off: $(row_of "$name")"
	fi
	case $name in
	times | reload | cgroup)
		[ "$name" = cgroup ] && option=cgroup=/t || option=budget=100/1s
		mark
		is "$(create page-faults $option name=f)" EOPNOTSUPP "$option is refused"
		ok 'with its sentence' logged "$(row_of "$name" | cut -d' ' -f3-)"
		;;
	esac
	nothing_left 'nothing is left'
	unload_tally
done

[ -n "$register" ] || rmmod tally_pmu
kill $holder
while [ "$deep" != / ]; do
	rmdir $top$deep
	deep=$(dirname "$deep")
done
end_cgroups
finish
