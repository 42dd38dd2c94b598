#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1 seconds=6
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=6
# soak: on=debug-x86_64,debug-arm64 seconds=55
#
# The files in debugfs: their modes and contents, and events that are made and removed.

. "$(dirname "$0")/lib.sh"
need_cpus 2
cpus=$(nproc)
load_tally

mode() { stat -c %a "$tally/$1" 2>/dev/null; }

# ---- the files

for file in events stats tricks; do
	is "$(mode $file)" 444 "$file is for reading"
done
for file in create remove; do
	is "$(mode $file)" 200 "$file is for writing"
done
is "$(ls $tally | tr '\n' ' ')" 'create events pmus remove stats tricks ' 'nothing else is there'
is "$(cut -d' ' -f1 $tally/stats | tr '\n' ' ')" \
	'events counters perf_events hotplug_repairs hotplug_errors overflows skipped missed lost throttled handler_ns handler_max_ns guest ' \
	'what stats tells'
is "$(sed 's/.* //' $tally/stats | sort -u)" 0 'all zero'
is "$(rd $tally/create)" 'EINVAL' 'create does not read'

is "$(create page-faults name=f)" OK 'an event'
is "$(ls $tally/f | tr '\n' ' ')" 'count enabled_ns per_cpu running_ns spec state ' 'its files'
for file in count enabled_ns running_ns state per_cpu spec; do
	is "$(mode f/$file)" 444 "$file is for reading"
	is "$(wr $tally/f/$file 1)" 'EINVAL' "$file does not write"
done
for file in count enabled_ns running_ns; do
	like "$(cat $tally/f/$file)" '[1-9]*' "$file is a number"
	ok "$file is one number" is_number "$(cat $tally/f/$file)"
done
is "$(state f)" active 'state is a word'
is "$(cat $tally/f/spec)" 'page-faults cpu=all name=f' 'spec'
is "$(stat_of events) $(stat_of counters) $(stat_of perf_events)" "1 1 $cpus" 'stats counts it'

# ---- events

is "$(awk '{ print NF }' $tally/events)" 9 'events has six columns, and how many CPUs count'
is "$(cut -d' ' -f1-3 $tally/events)" 'f cpu=all active' 'name, target, state'
ok 'the count is a number' is_number "$(cut -d' ' -f4 $tally/events)"
is "$(awk '$4 == $5 { print "same" }' $tally/events)" same 'the whole time on the CPU: scaled is the count'
is "$(cut -d' ' -f6 $tally/events)" '100.00%' 'and that was all of the time'

# ---- per_cpu

is "$(head -n 1 $tally/f/per_cpu)" 'cpu state count enabled_ns running_ns late_ns' 'per_cpu says what its columns are'
is "$(awk '{ print NF }' $tally/f/per_cpu | sort -u)" 6 'and has six'
is "$(rows f | cut -d' ' -f1 | tr '\n' ' ')" \
	"$(seq 0 $((cpus - 1)) | tr '\n' ' ')" 'a line for each CPU'
is "$(rows f | cut -d' ' -f2 | sort -u)" active 'each with its state'
before=$(count f)
parts=$(awk '{ sum += $3 } END { print sum }' $tally/f/per_cpu)
after=$(count f)
between "$before" "$parts" "$after" 'the parts make up the count'

# ---- counts grow with the load

create context-switches name=s >/dev/null
faults=$(count f) switches=$(count s)
echo 'touch 5000' | task >/dev/null
echo 'sleep 100' | task >/dev/null
at_least $(($(count f) - faults)) 5000 'page faults are counted'
at_least $(($(count s) - switches)) 50 'context switches are counted'
as cpu 1 true
line=$(cpu_line f 1)
as cpu 1 sh -c 'echo "touch 3000" | task' >/dev/null
at_least $(($(cpu_line f 1 | cut -d' ' -f2) - $(echo "$line" | cut -d' ' -f2))) 3000 'on the CPU where they happen'
before=$(cat $tally/f/enabled_ns)
parts=$(awk '{ sum += $4 } END { printf "%.0f", sum }' $tally/f/per_cpu)
between "$before" "$parts" "$(cat $tally/f/enabled_ns)" 'enabled_ns is the sum over the CPUs'
is "$(cat $tally/f/enabled_ns | wc -l)" 1 'enabled_ns is one line'
first=$(cat $tally/f/running_ns)
second=$(cat $tally/f/enabled_ns)
between "$first" "$second" '' 'running_ns is not above enabled_ns'
is "$(remove s)" OK 'an event is removed'
refused 'its folder goes with it' test -e $tally/s
is "$(grep -c . $tally/events)" 1 'the other one stays'

# ---- one CPU

is "$(create page-faults cpu=1 name=one)" OK 'an event on one CPU'
is "$(cut -d' ' -f2 $tally/events | tail -n 1)" cpu=1 'is listed with it'
is "$(rows one | cut -d' ' -f1,2)" '1 active' 'and has its line alone'
is "$(cat $tally/one/spec)" 'page-faults cpu=1 name=one' 'and its spec'
remove one >/dev/null

# ---- a disabled event

is "$(create page-faults disabled name=d)" OK 'a disabled event'
is "$(state d)" off 'is off'
is "$(rows d | cut -d' ' -f2 | sort -u)" off 'on every CPU'
is "$(count d) $(cat $tally/d/enabled_ns) $(cat $tally/d/running_ns)" '0 0 0' 'counts nothing'
is "$(grep '^d ' $tally/events)" "d cpu=all off 0 - 0.00% $cpus of $cpus" 'has nothing to scale'
is "$(cat $tally/d/spec)" 'page-faults cpu=all disabled name=d' 'and says so in spec'
echo 'touch 100' | task >/dev/null
is "$(count d)" 0 'even when there is something to count'
is "$(state f)" active 'the one that shares its counter counts on'
remove d >/dev/null

# ---- spec makes the same event again

again() {
	is "$(create "$1")" OK "make: $1"
	again_name=$(tail -n 1 $tally/events | cut -d' ' -f1)
	again_spec=$(cat "$tally/$again_name/spec")
	is "$(remove "$again_name")" OK "remove it: $again_name"
	is "$(create "$again_spec")" OK "make it from its spec: $again_spec"
	is "$(cat "$tally/$again_name/spec")" "$again_spec" 'its spec is the same'
	remove "$again_name" >/dev/null
}
again 'page-faults'
again 'cs name=x'
again 'page-faults:u cpu=1'
again 'minor-faults:u exclude=kernel,hv,idle name=y'
again 'page-faults exclude=user'
again 'dummy exclude=user,kernel,hv'
# Another event has another spec, whichever of the six levels are excluded.
mask=1
: >$tmp/specs
while [ $mask -lt 64 ]; do
	list='' bit=1
	for level in user kernel hv idle host guest; do
		[ $((mask & bit)) = 0 ] || list=$list,$level
		bit=$((2 * bit))
	done
	create "dummy exclude=${list#,} name=x" >/dev/null
	spec=$(cat $tally/x/spec)
	remove x >/dev/null
	create "$spec" >/dev/null
	is "$(cat $tally/x/spec)" "$spec" "without ${list#,}: $spec"
	remove x >/dev/null
	echo "$spec" >>$tmp/specs
	mask=$((mask + 1))
done
is "$(sort -u $tmp/specs | wc -l)" 63 'all specs differ'
again 'cpu-clock cpu=0 disabled pinned exclusive'
again 'software/config=2/u name=z'
again 'sched:sched_switch name=sw'
again 'task-clock pid=1'
again 'page-faults pid=1 cpu=0 name=p'
again 'page-faults pid=1 inherit'
again 'page-faults pid=1 inherit inherit_thread disabled'
again 'dummy:GI require'
again 'page-faults:uH'
if has_pmu; then
	again 'cycles'
	again 'cycles:k cpu=0 name=k'
	again 'r11:u'
fi

# ---- names

for name in a a.b a:b 'a,b=c' '-' '...' '%s%n' '"' "'" '\' '!' '~' '*' '.hidden' \
	count "$(awk 'BEGIN { while (n++ < 63) printf "n" }')"; do
	is "$(create "page-faults name=$name")" OK "a name: $name"
	ok "the folder of $name" test -f "$tally/$name/count"
	is "$(remove "$name")" OK "is removed by it: $name"
done
is "$(create software/config=2/)" OK 'without a name'
ok 'a slash becomes a colon' test -d $tally/software:config=2
remove software:config=2 >/dev/null

# ---- several lines in one write

printf 'page-faults name=a\ncs name=b\n\tcpu-clock   name=c \n' >$tally/create
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" 'f a b c ' 'three lines make three events'
printf 'a\nb\nc' >$tally/remove
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" 'f ' 'three lines remove them'
is "$(printf 'page-faults name=a\nno-such-event\n' | wr $tally/create)" 'SHORT 19' 'each line has its own result'
refused 'a bad line fails' sh -c "printf 'page-faults name=b\nno-such-event\npage-faults name=c\n' >$tally/create" 2>/dev/null
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" 'f a b ' 'those in front of it were made'
remove a >/dev/null
remove b >/dev/null

# ---- a removed event, open

create page-faults name=gone >/dev/null
exec 3<$tally/gone/count
cat <&3 >/dev/null
remove gone >/dev/null
refused 'a removed event does not open' cat $tally/gone/count 2>/dev/null
is "$(create cs name=gone)" OK 'its name is free at once'
exec 3<&-
remove gone >/dev/null

# ---- readers of everything while events come and go

cat >$tmp/reader <<'END'
while :; do
	cat $1/events $1/*/* >/dev/null 2>&1
done
END
helper sh $tmp/reader $tally
helper sh $tmp/reader $tally
i=0 wrong=0
while [ $i -lt 50 ]; do
	[ "$(create page-faults name=x$i)" = OK ] || wrong=$((wrong + 1))
	[ "$(remove x$i)" = OK ] || wrong=$((wrong + 1))
	i=$((i + 1))
done
end_helpers
is $wrong 0 'events come and go under readers'

remove f >/dev/null
nothing_left 'nothing is left behind'
finish
