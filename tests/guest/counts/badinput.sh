#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.1 seconds=25
# soak: on=debug-x86_64 args=60 seconds=60
# soak: on=debian-6.12 args=300 seconds=120
#
# Events that cannot be created or removed: each has its errno and a line in the log, and
# leaves nothing behind. Then random bytes.
#
#	badinput.sh [RANDOM]	number of random lines; default 100

. "$(dirname "$0")/lib.sh"
need_cpus 2
random=${1:-100}
load_tally

long() { awk -v n="$1" 'BEGIN { while (n-- > 0) printf "x" }'; }

# bad ERRNO LINE [REASON]: checks that create fails with ERRNO, and that the log has the
# line, the errno and REASON.
bad() {
	mark
	is "$(wr $tally/create "$2")" "$1" "create: $1: $(printf %s "$2" | cut -c1-60)"
	# The log escapes characters that cannot be printed, and cuts a long line.
	bad_line=$(printf %s "$2" | LC_ALL=C sed 's/[^ -~].*//' | cut -c1-100)
	if since_mark | grep -F -e "tally: $bad_line" | grep -q -e "$(in_log "$1")\$"; then
		pass 'the log has the line and the errno'
	else
		fail "the log has the line and the errno: $2"
		since_mark | sed 's/^/# /'
	fi
	[ -z "${3:-}" ] || ok "the log has the reason: $3" logged "$3"
}

bad_remove() {
	is "$(wr $tally/remove "$2")" "$1" "remove: $1: $(printf %s "$2" | cut -c1-60)"
}

# ---- events

bad ENOENT no-such-event "unknown event 'no-such-event'"
bad ENOENT Cycles
bad ENOENT 'name=x'
bad ENOENT 'cpu-clock,page-faults'
bad ENOENT r
bad ENOENT rg00
bad ENOENT r11111111111111111
bad ENOENT L1-dcache-loads-x
bad ENOENT 'no/config=1/' "no PMU 'no'"
bad ENOENT 'no_system:event'
bad ENOENT 'sched:no_such_event' 'no tracepoint sched:no_such_event'
bad ENOENT 'kprobe:no_such_symbol_anywhere'
bad ENOENT '4294967295/config=0/'
bad EINVAL 'software/config=1'
bad EINVAL 'software/config/'
bad EINVAL 'software/config=x/'
bad EINVAL 'software/umask=1/'
bad EINVAL 'page-faults:z' "unknown modifier 'z'"
bad EINVAL 'page-faults:pppp' 'more than three p'
bad EINVAL 'page-faults:p' 'precise is for sampled events'
bad EINVAL 'page-faults:P'
bad EINVAL 'tracepoint:x'
bad EINVAL 'tracepoint:'
bad ENOENT 'software/config=999/'
bad EINVAL 'mem:' 'expected mem:'
bad EINVAL 'mem:0x1000/0:w'
bad EINVAL 'mem:0x1000/x:w'
bad EINVAL 'mem:0x1000/9:w' '1 to 8 bytes'
bad EINVAL 'mem:0x1001/4:w' 'no multiple of the length'
bad EINVAL 'mem:0x1000/4:wx' 'r, w, rw or x alone'
bad EINVAL 'mem:0x1000/4:y:u' "unknown access 'y'"
if [ "$(uname -m)" = x86_64 ]; then
	bad EINVAL 'mem:0x1000/4:r' 'x86 cannot watch reads alone'
	bad ENOENT cycles 'no such event'
fi
bad EINVAL 'kprobe:do_exit+x' "bad offset 'x'"
bad EINVAL 'kretprobe:do_exit+1' 'no offset'
bad EINVAL 'kprobe:0xzz'

# ---- levels in which the event cannot happen, or which it cannot leave out

for event in cs:u migrations:u cgroup-switches:u 'cs exclude=kernel' software/config=3/u \
	'{page-faults,cs}:u' sched:sched_switch:u raw_syscalls:sys_enter:u kprobe:do_exit:u \
	kretprobe:do_exit:u 'kprobe:do_exit exclude=kernel'; do
	bad EINVAL "$event" 'only in the kernel, which is excluded'
done
for event in page-faults:h 'page-faults exclude=user,kernel,hv' task-clock:h cs:h \
	'cpu-clock:h cpu=0 period=1000000'; do
	bad EINVAL "$event" 'only in user space and the kernel'
done
for event in page-faults:G 'cs exclude=host' task-clock:G sched:sched_switch:G kprobe:do_exit:G; do
	bad EINVAL "$event" 'only in the host'
done
for event in cs:I task-clock:I sched:sched_switch:I; do
	bad EINVAL "$event" 'in the idle task, too'
done
for event in task-clock:u cpu-clock:k 'task-clock exclude=user' 'cpu-clock:u cpu=0 budget=1/1s'; do
	bad EINVAL "$event" 'a clock counts in user space and in the kernel'
done

# ---- options

bad EINVAL 'page-faults what' "unknown option 'what'"
bad EINVAL 'page-faults what=1' "unknown option 'what='"
bad EINVAL 'page-faults =1'
bad EINVAL 'page-faults disabled=1'
bad EINVAL 'page-faults Disabled'
bad EINVAL 'page-faults cpu=' 'cpu=: expected a number'
bad EINVAL 'page-faults cpu=-1'
bad EINVAL 'page-faults cpu=99999' 'cpu 99999 does not exist'
bad EINVAL 'page-faults cpu=4294967296'
bad EINVAL 'page-faults cpu=0x'
bad EINVAL 'page-faults cpu=0,1'
bad EINVAL 'page-faults cpu=All'
bad EINVAL 'page-faults cpu=all cpu=0' 'both one cpu and all cpus'
bad EINVAL 'page-faults cpu=all pid=1' 'not on all cpus'
bad EINVAL 'page-faults pid='
bad EINVAL 'page-faults pid=-1'
bad EINVAL 'page-faults pid=x'
bad EINVAL 'page-faults pid=99999999999'
bad EINVAL 'page-faults inherit' 'inherit without a task'
bad EINVAL 'page-faults cpu=0 inherit'
bad EINVAL 'page-faults pid=1 inherit_thread' 'inherit_thread without inherit'
bad EINVAL 'page-faults exclude=' "cannot exclude ''"
bad EINVAL 'page-faults exclude=users'
bad EINVAL 'page-faults exclude=user,'

# A process that has exited.
true &
gone=$!
wait $gone
bad ESRCH "page-faults pid=$gone" "no task $gone"
bad ESRCH 'page-faults pid=2147483647'

# ---- overflows (features.md, D.1 #16 and #17)

bad EINVAL 'cpu-clock period=9223372036854775808' 'period above 2^63 - 1'
bad EINVAL 'cpu-clock period=18446744073709551615' 'period above 2^63 - 1'
bad EINVAL 'cpu-clock period=18446744073709551616' 'period=18446744073709551616'
bad EINVAL 'cpu-clock period=1 freq=1' 'both a period and a frequency'
bad EINVAL 'cpu-clock period=-1'
bad EINVAL 'cpu-clock freq=x'
bad EINVAL 'cpu-clock period=1000000 max_rate=4294967295' 'max_rate=4294967295'
bad EINVAL 'cpu-clock max_rate=10' 'for sampled events'
bad EINVAL 'page-faults enable_on_exec' 'without a task'
bad EINVAL 'page-faults remove_on_exec' 'without a task'
bad EINVAL 'page-faults pid=1 enable_on_exec remove_on_exec' 'both'
bad EINVAL 'page-faults pid=1 period=1 sigtrap' 'sigtrap without remove_on_exec'
bad EINVAL 'page-faults pid=1 remove_on_exec sigtrap' 'sigtrap without a period'
bad EINVAL 'page-faults period=1 remove_on_exec sigtrap' 'without a task'
bad EOPNOTSUPP 'page-faults pid=1 inherit period=1 remove_on_exec sigtrap' 'sigtrap with inherit'
bad EINVAL 'page-faults pid=1 disabled enable_on_exec require' 'waits for exec'
rate=/proc/sys/kernel/perf_event_max_sample_rate
was=$(cat $rate)
sample_rate 1000
bad EINVAL 'page-faults freq=1001' 'frequency 1001 is above kernel.perf_event_max_sample_rate'
bad EINVAL 'cpu-clock freq=2000000000' 'above kernel.perf_event_max_sample_rate'
bad EINVAL 'page-faults freq=18446744073709551615' 'above kernel.perf_event_max_sample_rate'
is "$(create 'page-faults freq=1000 name=limit')" OK 'the limit itself is allowed'
is "$(remove limit)" OK 'and removed'
sample_rate "$was"
is "$(cat $rate)" "$was" 'asking for the limit does not change it'

# ---- names

for name in . .. / a/b ../x /etc; do
	bad EINVAL "page-faults name=$name"
done
for name in events stats create remove; do
	bad EEXIST "page-faults name=$name" "'$name' is a file of tally's own"
done
bad EINVAL 'page-faults name=' "'' is no name"
bad ENAMETOOLONG "page-faults name=$(long 64)" 'at most 63 characters'
bad EINVAL "$(printf 'page-faults name=a\001b')" 'printable ASCII'
bad EINVAL "$(printf 'page-faults name=a\177b')"
bad EINVAL "$(printf 'page-faults name=\303\244')"
bad EINVAL "$(printf 'page-faults name=a\rb')"
is "$(create page-faults name=taken)" OK 'a name is taken'
bad EEXIST 'page-faults name=taken' 'the name is taken'
bad EEXIST 'cs cpu=0 name=taken'
is "$(remove taken)" OK 'and given back'
bad EINVAL 'page-faults name=a name=' "'' is no name"
nothing_left 'nothing was made so far'

# ---- the bytes of a write

is "$(wr $tally/create '')" EINVAL 'no byte at all is no event'
is "$(wr $tally/create "$(long 1025)")" E2BIG 'a line that is too long'
is "$(wr $tally/create "page-faults $(long 2000)")" E2BIG 'even if its head is good'
is "$(wr $tally/create "page-faults$(printf '%2000s' '') name=x")" E2BIG 'or blank'
bad ENOENT "$(long 1023)"
is "$(wr $tally/create "$(long 1024)")" E2BIG 'one more'
is "$( (long 1023; echo) | wr $tally/create)" ENOENT 'one that just fits'
is "$( (long 1024; echo) | wr $tally/create)" E2BIG 'one more, with a line feed'
is "$( (long 3000; echo) | wr $tally/remove)" E2BIG 'remove: a line that is too long'
is "$(printf 'page-faults\0name=x' | wr $tally/create)" EINVAL 'a NUL inside'
is "$(printf 'page-faults name=x\0' | wr $tally/create)" EINVAL 'a NUL at the end'
is "$(printf 'page-faults name=x\0\n' | wr $tally/create)" EINVAL 'a NUL in front of the line feed'
is "$(printf '\0' | wr $tally/create)" EINVAL 'a NUL alone'
for blank in '\n' ' ' ' \n' '\t\t' '\n\n'; do
	is "$(printf "$blank" | wr $tally/create)" EINVAL "nothing but blanks: $blank"
	is "$(printf "$blank" | wr $tally/remove)" EINVAL "remove: nothing but blanks: $blank"
done
nothing_left 'nothing was made of it'

# Blanks around a line belong to no word.
is "$(printf ' \tpage-faults \t name=x \t\n' | wr $tally/create)" OK 'blanks around and between'
is "$(cat $tally/x/spec)" 'page-faults cpu=all name=x' 'do not count'
is "$(printf ' x ' | wr $tally/remove)" OK 'nor for remove'
is "$(printf 'page-faults name=x\r\n' | wr $tally/create)" OK 'a carriage return is a blank at the end'
is "$(remove x)" OK 'nor does it become part of the name'

# ---- remove

bad_remove ENOENT no-such-event
bad_remove ENOENT events
bad_remove ENOENT ..
bad_remove ENOENT /
bad_remove ENOENT '*'
bad_remove ENOENT 'a b'
bad_remove ENOENT "$(long 64)"
bad_remove ENOENT "$(long 1000)"
create page-faults name=twice >/dev/null
is "$(remove twice)" OK 'removed once'
bad_remove ENOENT twice

# ---- an offline CPU

if [ -w /sys/devices/system/cpu/cpu1/online ]; then
	echo 0 >/sys/devices/system/cpu/cpu1/online
	bad ENODEV 'page-faults cpu=1' 'the cpu is offline'
	bad ENODEV 'page-faults cpu=1 disabled'
	echo 1 >/sys/devices/system/cpu/cpu1/online
else
	skip 'no CPU can go offline' 'create: ENODEV'
fi

# ---- what perf refuses

id=$(cat /sys/kernel/tracing/events/ftrace/function/id 2>/dev/null)
if [ -n "$id" ]; then
	bad EOPNOTSUPP "tracepoint:$id" 'would hook every function'
else
	skip 'this kernel has no function tracer' 'create: EOPNOTSUPP'
fi

# Take all breakpoints of the machine, and try one more.
address=0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)
taken=0
while [ $taken -lt 32 ] && [ "$(create "mem:$address/4:w name=bp$taken")" = OK ]; do
	taken=$((taken + 1))
done
if [ $taken -gt 0 ]; then
	bad ENOSPC "mem:$address/4:w name=bp$taken" 'all breakpoints of the machine are taken'
	while [ $taken -gt 0 ]; do
		taken=$((taken - 1))
		remove bp$taken >/dev/null
	done
else
	skip 'this machine has no breakpoints' 'create: ENOSPC'
fi

# ---- who may (features.md, D.1 #21)

is "$(as nobody wr $tally/create page-faults)" 'open: EACCES' 'create does not open for a user'
is "$(as nobody wr $tally/remove page-faults)" 'open: EACCES' 'nor remove'
is "$(as nobody rd $tally/events)" 'open: EACCES' 'debugfs is for root'
# "powerless" has root's permissions for files, but no capability to count.
is "$(as powerless wr $tally/create page-faults)" EACCES 'create needs CAP_PERFMON'
is "$(as powerless wr $tally/create 'page-faults pid=1')" EACCES 'for other tasks too'
is "$(as powerless wr $tally/create 'page-faults disabled')" EACCES 'even for an event that is off'
is "$(as powerless sh -c "exec 3>$tally/create; echo page-faults >&3" 2>&1 | sed 's/.*: //')" \
	'Permission denied' 'whoever opened the file'
create page-faults name=mine >/dev/null
is "$(as powerless wr $tally/remove mine)" EACCES 'remove needs it too'
is "$(as powerless rd $tally/mine/state)" active 'reading does not'
is "$(as perfmon wr $tally/create 'page-faults name=theirs')" EACCES 'CAP_PERFMON alone is not enough'
is "$(as perfmon wr $tally/remove mine)" EACCES 'nor to remove'
echo 1 >/sys/module/tally/parameters/perfmon
is "$(as perfmon wr $tally/create 'page-faults name=theirs')" OK 'with perfmon=1 it is'
is "$(as perfmon wr $tally/remove theirs)" OK 'and to remove'
echo 0 >/sys/module/tally/parameters/perfmon
is "$(remove mine)" OK 'root may'

is "$(stat_of hotplug_errors)" 0 'no CPU was given up'
nothing_left 'nothing is left of all this'

# ---- random bytes, the same on every run

# lines SEED: prints random lines of words that the parser knows and characters that it
# does not.
lines() {
	awk -v seed="$1" -v n="$random" 'BEGIN {
		srand(seed)
		nr = split("page-faults cs cycles r11 cpu=0 software/config=2/ cpu-clock sched:sched_switch dummy:u page-faults:kD minor-faults tracepoint:9 kprobe:do_exit mem:0x10", events, " ")
		n2 = split("cpu= cpu=0 cpu=all pid=1 name=a name=b name=c name= : / , = - u k h :u :kD period=1 freq=9 exclude=user disabled pinned inherit software/ mem: kprobe: sched: tracepoint: -load -misses 99999999999999999999 0x", words, " ")
		while (n-- > 0) {
			line = rand() < 0.8 ? events[int(rand() * nr) + 1] : ""
			for (i = int(rand() * 4); i > 0; i--) {
				c = rand()
				if (c < 0.5)
					line = line " " words[int(rand() * n2) + 1]
				else if (c < 0.7)
					line = line words[int(rand() * n2) + 1]
				else if (c < 0.9)
					line = line " name=" int(rand() * 1000)
				else
					line = line sprintf("%c", 32 + int(rand() * 95))
			}
			print line
		}
	}'
}
# Most lines are refused. The events that are made must be well-formed.
lines 1 >$tmp/lines
made=0
while read -r line; do
	case $(wr $tally/create "$line") in
	OK) made=$((made + 1)) ;;
	E*) ;;
	*) fail "create is neither done nor refused: $line" ;;
	esac
done <$tmp/lines
note "$made of $random random lines made an event"
at_least "$made" 1 'some random lines are events'
between 1 "$made" $((random - 1)) 'and some are not'
is "$(stat_of events)" "$made" 'there are as many as were made'
is "$(wc -l <$tally/events)" "$made" 'the list has them all'
wrong=0
for name in $(cut -d' ' -f1 $tally/events); do
	[ -f "$tally/$name/count" ] || wrong=$((wrong + 1))
	[ "$(remove "$name")" = OK ] || wrong=$((wrong + 1))
done
is $wrong 0 'each has its folder, and goes by its name'

# Random bytes of all values, from a fixed seed.
awk -v n=$((random * 16)) 'BEGIN { srand(2); while (n-- > 0) printf "\\%03o", int(rand() * 256) }' >$tmp/octal
i=0
while [ $i -lt $((random / 3)) ]; do
	piece=$(dd if=$tmp/octal bs=4 skip=$((i * 48)) count=48 2>/dev/null)
	for file in create remove; do
		answer=$(printf "$piece" | wr $tally/$file)
		case $answer in
		E*) ;;
		*) fail "$file takes random bytes: $answer: $piece" ;;
		esac
	done
	i=$((i + 1))
done
pass 'random bytes are refused'
nothing_left 'and leave nothing behind'
ok 'events can be made after all this' test "$(create page-faults name=after)" = OK
remove after >/dev/null

# ---- a parameter of many lines

unload_tally
list='' i=0
while [ $i -lt 80 ]; do
	list="$list;page-faults cpu=0 name=long$i"
	i=$((i + 1))
done
load_tally "events=\"${list#;}\""
is "$(stat_of events)" 80 "a parameter of ${#list} characters makes 80 events"
is "$(cat /sys/module/tally/parameters/events)" "${list#;}" 'and is shown'
is "$(stat -c %a /sys/module/tally/parameters/events)" 400 'to root alone'
finish
