#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64,debug-x86_64 args=5 seconds=15
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=5 seconds=15
# soak: on=debug-x86_64,debug-arm64 args=30 seconds=60
#
# pmunames.sh [CYCLES]: events by the names and terms that a PMU has in sysfs; what
# debugfs/tally/pmus says of each PMU; PMUs that come and go CYCLES times (5).

. "$(dirname "$0")/lib.sh"
cycles=${1:-5}
devices=/sys/bus/event_source/devices
gauge=tally_gauge
raw=1
! has_pmu || raw=0

insmod tally_pmu.ko raw=$raw
load_tally

# config_of PMU TERMS: prints the attributes that the terms make. The line is too long to be
# kept, so the file spec has the PMU's number, and all terms as numbers.
commas=$(printf '%96s' '' | tr ' ' ,)
config_of() {
	[ "$(create "$1/$2$commas/" cpu=0 name=c)" = OK ] || {
		echo refused
		return
	}
	sed 's|^[0-9]*/\(.*\)/.*|\1|' $tally/c/spec
	remove c >/dev/null
}
configures() { is "$(config_of "$1" "$2")" "$3" "$1/$2/ is $3"; }

# ---- named events and terms

configures $gauge level config=0x1
configures $gauge energy config=0x2,config1=0x10
configures $gauge tuned config=0x4,config1=0x3000
configures $gauge tuned,ldlat=30 config=0x4,config1=0x4000000000032000
configures $gauge ldlat=30,tuned config=0x4,config1=0x4000000000032000
configures $gauge tuned,ldlat=0 config=0x4
configures $gauge needy,ldlat=0x1f config=0x5,config1=0x4000000000033000
configures $gauge late config=0x6,config2=0x8000000000000000
configures $gauge late,flag=0 config=0x6
configures $gauge event=0x02,domain=7 config=0x2,config1=0x130
configures $gauge domain=5,flag,config1=0x8 config=0x0,config1=0x118,config2=0x8000000000000000
configures $gauge level,event=9 config=0x9
configures $gauge event=1,event=2 config=0x2
configures $gauge config=0x1100,event=0x22 config=0x1122
configures "$(cat $devices/$gauge/type)" tuned config=0x4,config1=0x3000
configures tally_uncore config=7 config=0x7

# ---- the machine's own PMUs: what /sys says

own=0
for pmu in "$devices"/msr "$devices"/armv8*; do
	[ "$(cat "$pmu/format/event" 2>/dev/null | cut -d- -f1)" = config:0 ] || continue
	for file in "$pmu"/events/*; do
		code=$(cat "$file")
		case ${file##*/}/$code in
		*.*) continue ;;
		*/event=0x*) ;;
		*) continue ;;
		esac
		want=$(printf 'config=0x%x' "${code#event=}")
		got=$(config_of "${pmu##*/}" "${file##*/}")
		own=$((own + 1))
		[ "$got" = "$want" ] || fail "${pmu##*/}/${file##*/}/ is $got, not $want"
	done
done
at_least $own 1 "$own events of the machine's own PMUs are what /sys says"

for pmu in "$devices"/armv8*; do
	[ -e "$pmu/events/cpu_cycles" ] || continue
	pmu=${pmu##*/}
	is "$(create r11 cpu=0 name=outer)" OK 'a raw event'
	is "$(create "$pmu/cpu_cycles/" cpu=0 name=named)" OK "$pmu/cpu_cycles/ between"
	is "$(create r11 cpu=0 name=inner)" OK 'the raw event again'
	echo 'spin 20' | as cpu 0 task >/dev/null
	inner=$(count inner) named=$(count named) outer=$(count outer)
	at_least "$inner" 1 'they count'
	between "$inner" "$named" "$outer" "$pmu/cpu_cycles/ counts what the raw event counts"
	for name in outer named inner; do remove $name >/dev/null; done
done

# ---- unit, scale and gauge; the line that makes the event again

level() { echo "$1" >/sys/kernel/debug/tally_pmu/level; }
level 0
is "$(create $gauge/tuned,ldlat=30/ cpu=0)" OK 'a term beside a named event'
is "$(create $gauge/level,domain=1/ cpu=0 name=level)" OK 'a gauge with a term'
is "$(create $gauge/needy,ldlat=1/ cpu=0 name=needy)" OK 'a term that the event needs'
level 3
is "$(cat $tally/$gauge:tuned,ldlat=30/value)" '192 Bytes' 'the unit and the scale stay'
is "$(cat $tally/level/value)" '1.50 C' 'the gauge stays one'
refused 'an event without unit and scale has no value' test -e $tally/needy/value
is "$(count needy)" 3 'it counts'
is "$(cat $tally/$gauge:tuned,ldlat=30/spec)" \
	"$gauge/tuned,ldlat=30/ cpu=0 name=$gauge:tuned,ldlat=30" 'its line'
line=$(cat $tally/level/spec)
remove level >/dev/null
is "$(wr $tally/create "$line")" OK 'its line makes the event again'
is "$(cat $tally/level/value)" '1.50 C' 'with its unit'
for name in level needy $gauge:tuned,ldlat=30; do remove $name >/dev/null; done

if [ $raw = 1 ]; then
	is "$(create cpu/event=0x3c,umask=0x0/ name=cycles)" OK 'a term of the PMU of the CPUs'
	is "$(create cpu/written/ cpu=0 name=written)" OK 'an event of the PMU of the CPUs'
	is "$(create r1 cpu=0 name=r1)" OK 'a raw event'
	echo 5 >/sys/kernel/debug/tally_pmu/written0
	is "$(cat $tally/written/value) $(count r1)" '20 5' 'the named one has its scale'
	refused 'the raw one has none' test -e $tally/r1/value
	at_least "$(count cycles)" 1 'cycles count'
	is "$(cut -d' ' -f1 $tally/cycles/spec)" cpu/event=0x3c,umask=0x0/ 'their line'
	for name in cycles written r1; do remove $name >/dev/null; done
fi
rmmod tally
insmod tally.ko events="$gauge/tuned,ldlat=30/:,cs,$gauge/event=3,domain=2/"
is "$(cut -d' ' -f1 $tally/events | xargs)" \
	"$gauge:tuned,ldlat=30 cs $gauge:event=3,domain=2" 'events= takes commas between slashes'
rmmod tally
load_tally

# ---- bad lines

bad() {
	mark
	is "$(create "$2" cpu=0)" "$1" "$2: $1"
	ok "its sentence: $3" logged "tally: .*: $3.* $(in_log "$1")"
}
bad EINVAL $gauge/frobnicate_the_thing/ \
	"unknown term 'frobnicate_the_thing'; events: level,energy,plain,tuned,needy,late; terms: event,domain,ldlat,\\.\\.\\."
bad EINVAL $gauge/frobnicate_the_thing=1/ \
	"unknown term 'frobnicate_the_thing'; terms: event,domain,ldlat,flag,strange; events: level,energy,plain,\\.\\.\\."
bad EINVAL $gauge/level,ldlat=32/ 'ldlat=32 is too large: at most 0x1f'
bad EINVAL $gauge/level,ldlat/ "expected 'ldlat=NUMBER'"
bad EINVAL $gauge/event=plain/ "expected 'event=NUMBER'"
bad EINVAL $gauge/level=1/ "unknown term 'level'"
bad EINVAL $gauge/needy/ "needy needs the term 'ldlat=NUMBER'"
bad EINVAL $gauge/level,energy/ 'level and energy are two events'
bad EINVAL $gauge/hidden/ "unknown term 'hidden'"
bad EINVAL $gauge/level.unit/ "unknown term 'level.unit'"
bad EINVAL $gauge/strange=1/ "tally does not know the format of 'strange'"
bad EINVAL $gauge/level 'expected PMU/EVENT,TERM=NUMBER,.../'
bad EINVAL $gauge/level/q "unknown modifier 'q'"
bad EINVAL tally_uncore/level/ "unknown term 'level': only config, config1 to config3"
bad ENOENT tally_none/level/ "no PMU 'tally_none' on this machine"
is "$(create cs name=pmus)" EEXIST 'no event has the name of the folder'
nothing_left 'nothing is left of them'

# ---- the folder pmus

pmus=$tally/pmus
is "$(head -n 1 $pmus/list)" 'pmu number cpus abilities' 'list says what its columns are'
tail -n +2 $pmus/list >$tmp/list
is "$(cut -d' ' -f1 $tmp/list | sort)" "$(ls $devices)" 'and has each PMU'
is "$(ls $pmus)" "$( (ls $devices; echo list) | sort)" 'each PMU has a folder'
bad_rows=0
while read -r name type cpus _; do
	want=all
	for file in "$devices/$name/cpus" "$devices/$name/cpumask"; do
		[ ! -e "$file" ] || want=$(cat "$file")
	done
	[ "$type $cpus" = "$(cat "$devices/$name/type") ${want:--}" ] || {
		bad_rows=$((bad_rows + 1))
		note "$name $type $cpus, want $want"
	}
	for folder in events format; do
		for file in "$devices/$name/$folder"/*; do
			[ -e "$file" ] || continue
			case $file in
			*/events/*.*) continue ;;
			esac
			grep -q -F -x -e "${file##*/} $(cat "$file")" "$pmus/$name/$folder" ||
				grep -q -F -e "${file##*/} $(cat "$file") " "$pmus/$name/$folder" || {
				bad_rows=$((bad_rows + 1))
				note "$pmus/$name/$folder has no ${file##*/}"
			}
		done
	done
done <$tmp/list
is $bad_rows 0 'numbers, CPUs, events and terms are those in sysfs'
is "$(cut -d' ' -f3- $tmp/list | sort -u | grep -c .)" \
	"$(cut -d' ' -f3- $tmp/list | sort -u | wc -l)" 'each row has CPUs and abilities'
is "$(grep "^tally_uncore " $pmus/list | cut -d' ' -f4)" - 'a PMU without abilities'
is "$(grep "^$gauge " $pmus/list | cut -d' ' -f3-)" 'all overflow' 'a PMU that counts on CPUs'
is "$(grep '^software ' $pmus/list | cut -d' ' -f3-)" 'all overflow,tasks,exclude' 'software'
is "$(grep '^tally_aux ' $pmus/list | cut -d' ' -f4)" overflow,tasks,aux 'AUX buffers'
is "$(cat $pmus/$gauge/events)" 'level event=0x01 scale=0.5 unit=C snapshot
energy event=0x02,domain=1 scale=2.3283064365386962890625e-10 unit=Joules
plain event=0x3
tuned event=0x4,ldlat=3 scale=64 unit=Bytes
needy event=0x5,ldlat=?
late event=0x6,flag' 'events of a PMU'
is "$(head -n 3 $pmus/$gauge/format)" 'event config:0-7
domain config1:4-5,8
ldlat config1:12-13,16-17,62' 'its terms'
is "$(cat $pmus/tally_uncore/events $pmus/tally_uncore/format)" '' 'a PMU without events'
is "$(wr $pmus/list x)" EINVAL 'list is not written'

# ---- PMUs come and go

exec 6<$pmus/$gauge/events 7<$pmus/list
ok 'the driver goes while files of its PMU are open' rmmod tally_pmu
refused 'its folders go' test -e $pmus/$gauge
refused 'an open file does not read' cat <&6 2>/dev/null
ok 'the list reads' grep -q '^software ' <&7
refused 'and has its PMU no more' grep -q $gauge $pmus/list
exec 6<&- 7<&-
is "$(create $gauge/level/ cpu=0)" ENOENT 'its events are unknown'
insmod tally_pmu.ko raw=$raw
ok 'it is back' grep -q '^level ' $pmus/$gauge/events
exec 6<$pmus/$gauge/events
refused 'an open file keeps tally' rmmod tally 2>/dev/null
exec 6<&-

read_all() {
	while [ -e $tmp/go ]; do
		cat $pmus/*/events $pmus/*/format $pmus/list
		create $gauge/tuned,ldlat=3/ cpu=0 name=r
		remove r
	done >/dev/null 2>&1
}
touch $tmp/go
helper read_all
helper read_all
gone=0 back=0 i=0
while [ $i -lt "$cycles" ]; do
	# An event, or a read of the driver's files, holds the driver for a while.
	wait_for 60 rmmod tally_pmu 2>/dev/null
	[ -e $pmus/$gauge ] || gone=$((gone + 1))
	insmod tally_pmu.ko raw=$raw
	[ ! -e $pmus/$gauge/events ] || back=$((back + 1))
	i=$((i + 1))
done
is "$gone $back" "$cycles $cycles" "$cycles times PMUs come and go beside readers"
rm $tmp/go
for pid in $helpers; do wait "$pid"; done
helpers=''
nothing_left 'no event is left'
rmmod tally
ok 'the PMU goes without tally' rmmod tally_pmu
load_tally
refused 'it is not listed' grep -q $gauge $pmus/list
finish
