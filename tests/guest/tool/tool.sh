#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stock kernels, as users have them: 6.1 hides the level of perf_event_paranoid, and arm64 has a
# PMU.
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64 seconds=45
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=45
#
# Every command of `tally`: as root, as a user without rights, and without the module. Each error
# is a sentence with a remedy, and has its exit status. The whole transcript is printed.

. "$(dirname "$0")/lib.sh"
PATH=$PATH:$here
out=$tmp/out err=$tmp/err

# run STATUS ARGUMENT...: runs tally, and checks its exit status. Its output is in $out and $err.
run() {
	run_want=$1
	shift
	run_status=0
	"$@" >$out 2>$err || run_status=$?
	note "\$ $*"
	sed 's/^/#   /' $out $err | head -60
	is "$run_status" "$run_want" "the status of: $*"
}
t() {
	t_want=$1
	shift
	run "$t_want" tally "$@"
}
# says PATTERN: whether a line of the last output matches; errs: of the last errors.
says() { ok "it prints $1" grep -q -e "$1" $out; }
errs() { ok "it reports $1" grep -q -e "$1" $err; }
# remedied PATTERN: the last errors have the sentence and a remedy.
remedied() {
	errs "$1"
	errs '^  remedy: '
}

# ---- without the module

t 0 help
says '^  doctor '
t 2
t 2 wrong
errs "there is no command 'wrong'"
t 0 --version
t 0 list 'context*'
says '^  context-switches  *\[software\]'
for c in 'stat true' 'top --once' 'record true' 'snapshot x' 'create cs' 'remove x' 'enable x' \
	'disable x' 'watch cs>1' 'export --once' 'list --running'; do
	# shellcheck disable=SC2086 # Several words.
	t 1 $c
	remedied '/dev/tally: No such file or directory'
done
t 1 doctor
says '^BAD   module: tally is not loaded'
says 'remedy: '

# shellcheck disable=SC2119
load_tally

# ---- list

t 0 list
if has_pmu; then
	says '^  cycles  *\[hardware\]'
else
	refused 'what no PMU counts is left out' grep -q -e '\[hardware\]' -e '\[cache\]' $out
	errs 'no PMU here counts 56 hardware and cache events, which are left out'
fi
says '^  sched:sched_switch  *\[tracepoint\]'
says '^  rNNN  *\[raw\]'
at_least "$(grep -c tracepoint $out)" 100 'tracepoints are listed'
t 1 list no-such-event
errs 'nothing matches'
t 0 list --json 'page-f*'
is "$(cat $out)" '{"event":"page-faults","kind":"software","description":"faults of memory accesses"}' 'as JSON'
if has_pmu; then
	t 0 list '*cpu[_-]cycles*'
	says '\[PMU\]'
fi
# What is listed can be counted, and what is left out cannot.
tally list --names >$tmp/names 2>/dev/null
for name in cycles ref-cycles stalled-cycles-backend L1-dcache-loads L1-icache-stores LLC-loads; do
	tally stat -x, -e $name -o $tmp/counted true
	is "$(grep -c -x $name $tmp/names)" "$(grep -c -v '<not supported>' $tmp/counted)" \
		"$name is listed if it can be counted"
done
t 0 list --running
errs 'no event is counted'
t 2 list a b

# ---- create, disable, enable, remove

t 0 create page-faults name=faults
is "$(state faults)" active 'the event counts'
t 1 create page-faults name=faults
remedied 'the name is taken'
t 1 create no-such-event
remedied "unknown event 'no-such-event'"
t 1 create cs wrong=1
errs "unknown option 'wrong='"
t 2 create
t 0 create '{cs,page-faults}' name=set
t 0 disable faults set
is "$(state faults) $(state set/cs)" 'off off' 'both stand still'
t 0 list --running --json
says '"name":"set/cs".*"state":"off"'
t 0 enable faults set
is "$(state faults) $(state set/cs)" 'active active' 'both count again'
t 1 enable nobody faults
remedied 'nobody: there is no such event'
t 1 remove set/cs
remedied 'a member of a set'
t 2 remove

# ---- what is counted

t 0 list --running
says '^faults .*active .*tally$'
says '^set/cs '
t 0 list --running --names
is "$(cat $out)" "$(printf 'faults\nset/cs\nset/page-faults')" 'the names alone'
t 1 list --running nobody
t 0 top --once
says '^faults .*cpu=all  *active'
t 2 top -d 0
t 1 top </dev/null
errs 'no terminal'
t 0 export --once
says '^tally_event_total{event="faults",what="page-faults",owner="tally",cpu="all"} [0-9]'
says '^tally_event_state{event="set/cs",.*,set="set"} 2$'
is "$(tail -n 1 $out)" '# EOF' 'it ends as OpenMetrics do'
t 2 export --listen 127.0.0.1
t 2 export --textfile a --listen :1
# A new exporter goes on where the last one was. Counts have their units.
before=$(count faults)
goes_on() {
	total=$(tally export --once | sed -n 's/^tally_event_total{event="faults",.*} //p')
	[ "${total:-0}" -ge "$before" ]
}
ok 'the total is that of the event' wait_for 60 goes_on
between "$before" "$total" "$(count faults)" 'and not more'
t 0 create task-clock cpu=0 name=clock
t 0 list --running
says '^clock .* msec  *tally$'
t 0 list --running --json
says '"name":"clock".*"unit":"msec"'
t 0 top --once
says '^clock .* msec *$'
t 0 export --once
says '^tally_event_total{event="clock",what="task-clock",owner="tally",cpu="0",unit="seconds"} [0-9]*\.[0-9]\{9\}$'
t 0 remove clock
t 0 create cs cpu=0 period=1 name=often
ok 'it overflows' as cpu 0 usleep 1000
t 0 export --once
says '^tally_event_overflows_total{event="often",.*,cpu="0"} [1-9]'
# A quarter of a user's files is left to other programs.
echo 4 >/sys/module/tally/parameters/files_per_user
for c in 'list --running' 'top --once -d 0.1'; do
	# shellcheck disable=SC2086 # Several words.
	t 0 $c
	remedied '1 of 4 events are shown without a count'
done
t 0 export --once
remedied 'some events are served without a count'
echo 1024 >/sys/module/tally/parameters/files_per_user

# ---- stat

t 0 stat true
errs ' page-faults '
errs 'seconds time elapsed'
t 3 stat sh -c 'exit 3'
t 143 stat sh -c 'kill -TERM $$'
t 127 stat no-such-program
errs 'no-such-program: No such file or directory'
t 126 stat /proc
t 1 stat -e no-such-event true
remedied "unknown event 'no-such-event'"
t 2 stat -e 'cs,,cs' true
t 2 stat
t 2 stat -A true
t 2 stat -a -p 1 true
t 2 stat -a -A -G / true
t 2 stat -G a -e cs -G b true
errs 'give -G once, with a list: -G a,b'
t 2 stat -C 0 -C 1 true
t 2 stat -e cs -G ,/ true
errs 'a path in the list of cgroups is empty'
t 1 stat -p 4194000
remedied 'there is no such process'
t 1 stat -t 4194001,4194002 -e cs,page-faults
errs 'no such'
t 1 record -o $tmp/nobody -t 4194001,4194002 -e page-faults
errs 'no such'
t 1 watch -t 4194001,4194002 'cs > 0'
errs 'no such'
is "$(tally stat -x, -e mem:0x404040/4:w,cs true 2>&1 | grep -c '^[0-9].*,\(mem:0x404040/4:w\|cs\),')" 2 \
	'the length of a breakpoint in a list'
t 0 stat -e '{mem:0x404040/4:w,cs}' true
t 1 stat -G /none true
remedied 'there is no such cgroup'
t 1 stat -C 99 true
t 0 stat --attach faults true
errs ' faults '
is "$(create 'task-clock cpu=0 name=tclk')" OK 'a clock'
t 0 stat --attach tclk true
errs ' msec  *tclk'
is "$(remove tclk)" OK 'which goes'
t 1 stat --attach nobody true
remedied 'there is no such event'
t 0 stat -a -x, -e page-faults sleep 0.1
errs '^[0-9]*,,page-faults,[0-9]*,100.00,,$'
t 0 stat -a -x '\t' -e page-faults true
errs "^[0-9]*$(printf '\t\t')page-faults$(printf '\t')"
t 0 stat --json -e page-faults true
errs '^{ "counter-value": "[0-9.]*", "unit": "", "event": "page-faults", '
t 0 stat -I 50 -e cs -a sleep 0.3
at_least "$(grep -c ' cs ' $err)" 3 'there are intervals'
t 0 stat -I 50 --interval-count 2 -x, -e cs -a
is "$(grep -c ',cs,' $err)" 2 'there are two intervals'
t 143 stat -I 50 --interval-count 1 -x, -e cs sleep 1000
is "$(grep -c ',cs,' $err)" 1 'there is one, which ends the command'
t 2 stat --interval-count 1 -e cs true
t 0 stat --timeout 50 -a -e cs
errs ' cs '
t 143 stat --timeout 50 -e task-clock sleep 1000
errs ' msec task-clock '
t 0 stat -D 1000000000 -x, -e page-faults true
errs '^<not counted>,,page-faults,'
cat >$tmp/delayed <<END
# Ends when its own event has counted.
n=0
until grep -q '^file.* [1-9][0-9]* [1-9][0-9]* [0-9.]*%' $tally/events || [ \$n = 3000 ]; do
	n=\$((n + 1))
done
END
t 0 stat -D 50 -x, -e page-faults sh $tmp/delayed
errs '^[1-9][0-9]*,,page-faults,'
t 2 stat -D 10 --attach faults true
t 0 stat -r 3 -e page-faults true
errs '(3 runs)'
t 1 stat -x, -o /dev/full -e cs true
errs 'cannot be written'
for c in list help --version 'list --help'; do
	run 1 sh -c "tally $c >/dev/full"
	errs 'standard output cannot be written'
done
run 1 sh -c 'tally help >&-'
# A limit of the size of files is an error of the file, and stays for the command.
dd if=/dev/zero of=$tmp/limited bs=1k count=4 2>/dev/null
run 1 sh -c "ulimit -f 4; exec tally stat --append -o $tmp/limited -e cs true"
errs 'cannot be written'
run 153 sh -c "ulimit -f 4; exec tally stat -e cs dd if=/dev/zero of=$tmp/limited bs=8k count=1"
# A parent that ignores the ends of its children.
t 0 stat -e page-faults sh -c 'tally stat -e page-faults true'
run 0 sh -c 'trap "" CHLD; exec tally stat -e page-faults true'
errs ' page-faults '
# A command that ignores the first signal is killed by the second one.
tally stat -e cs sh -c 'trap "" TERM INT; while :; do sleep 1; done' >$out 2>$err &
stubborn=$!
helpers="$helpers $stubborn"
sleep 1
kill -TERM $stubborn
sleep 1
kill -TERM $stubborn
wait $stubborn
is "$?" 137 'a second signal kills the command'
errs ' cs '
# begin_tally ARGUMENT...: runs tally in the background, and waits until it waits for signals.
waits_for_signals() { grep -q sigtimedwait /proc/$begun/stack; }
begin_tally() {
	"$@" >$out 2>$err &
	begun=$!
	helpers="$helpers $begun"
	ok "$*: it runs" wait_for 60 waits_for_signals
}
# A signal that is ignored at the start stays so.
mkfifo $tmp/wait
begin_tally sh -c 'trap "" INT; exec tally stat -e cs cat $tmp/wait'
kill -INT $begun
: >$tmp/wait
wait $begun
is "$?" 0 'an ignored signal does not end it'
begin_tally tally stat -a -e cs
kill -HUP $begun
wait $begun
is "$?" 0 'the end of a terminal does'
errs ' cs '
# A reader that does not read is not waited for: a second signal ends the command.
mkfifo $tmp/full
exec 7<>$tmp/full
tally stat -a -I 1 -x, -e cs,page-faults,cs,page-faults 2>&7 &
begun=$!
helpers="$helpers $begun"
waits_for_reader() { grep -q pipe_write /proc/$begun/stack; }
ok 'a pipe is full' wait_for 60 waits_for_reader
kill -TERM $begun
# Of two signals that are pending, the kernel delivers the lower one first.
none_is_pending() { grep -q '^ShdPnd:[[:space:]]*0*$' /proc/$begun/status; }
ok 'the first signal is delivered' wait_for 60 none_is_pending
ok 'and the command still waits' wait_for 60 waits_for_reader
kill -HUP $begun
wait $begun
is "$?" 129 'the second signal ends what waits for its reader'
exec 7>&-
# More files than the soft limit.
events=page-faults,cs,minor-faults,major-faults,cpu-migrations,cpu-clock,task-clock
run 0 sh -c "ulimit -S -n 12; exec tally stat -e $events,$events sh -c 'ulimit -S -n'"
says '^12$'
errs ' task-clock '
t 1 stat -e kprobe:c_start true
remedied "kprobe:c_start: several functions are called 'c_start'"
errs '^    kprobe:0x[0-9a-f]*$'
t 0 stat -e "$(sed -n 's/^ *\(kprobe:0x[0-9a-f]*\)$/\1/p' $err | head -n 1)" true
ok 'a module with functions' insmod $here/tally_func.ko
inner="echo inner 20 >/sys/module/tally_func/parameters/run"
run 0 tally stat -e kprobe:tally_func_long,kprobe:tally_func_short sh -c "$inner"
errs '^ *0 .* kprobe:tally_func_long'
errs '^ *20 .* kprobe:tally_func_short'
errs 'kprobe:tally_func_long: the kernel missed 20 hits'
ok 'and no others' [ "$(grep -c missed $err)" = 1 ]
t 0 create kprobe:tally_func_long name=misses
sh -c "$inner"
t 0 stat --attach misses true
refused 'hits that were missed before are not told' grep missed $err
t 0 stat --attach misses sh -c "$inner"
errs 'misses: the kernel missed 20 hits'
t 0 list --running misses
says '^misses .* active! '
t 0 top --once -d 0.1
says '^misses .* active! '
t 0 remove misses
tally watch -I 10 'kprobe:tally_func_long > 0' >$out 2>$err &
watcher=$!
helpers="$helpers $watcher"
watch_says() { sh -c "$inner"; grep -q 'kprobe:tally_func_long: the kernel missed' $err; }
ok 'watch says that hits are missed' wait_for 60 watch_says
kill $watcher
wait $watcher
is "$?" 0 'and ends'
ok 'the module goes' rmmod tally_func
t 0 stat -o $tmp/stat -e page-faults true
ok 'a file has the counts' grep -q page-faults $tmp/stat
t 0 stat -o - -x, -e page-faults true
says '^[0-9]*,,page-faults,'
refused 'and - is no file' test -e -
for event in cs:u '{page-faults,cs}:u' page-faults:h sched:sched_switch:u task-clock:u cpu-clock:I; do
	run 1 tally stat -e "$event" true
	errs 'happens only in\|a clock counts in'
done
t 0 stat -e '{page-faults:u,task-clock}:S' true
errs ' page-faults:u .*/sec'
# Modifiers of a set are no digits of an address.
t 0 stat -e '{page-faults:u,task-clock}:D' true
errs ' task-clock:'
t 0 stat -e '{mem:0x404040}:D,{page-faults:u}:D' true
errs ' mem:0x404040:D'
errs ' page-faults:uD'
if has_pmu; then
	t 0 stat -e cycles,instructions true
	errs ' cycles '
else
	t 0 stat -e cycles true
	errs '<not supported> .*cycles'
	errs 'the CPU has no PMU'
	sleep 2 &
	t 0 stat -p $! -e cycles
	refused 'it waits for the process all the same' kill -0 $!
	wait $!
fi

# ---- watch

t 0 watch -n 1 -I 100 'page-faults >= 0/s'
says ' page-faults [0-9]*/s$'
t 0 watch -n 2 -I 100 'context-switches >= 0' -- sh -c 'echo "$TALLY_EVENT $TALLY_VALUE" >>'$tmp/watched
is "$(wc -l <$tmp/watched)" 2 'the command ran twice'
ok 'and found its environment' grep -q '^context-switches [0-9]*$' $tmp/watched
# A second of the command is no part of an interval: no more than all CPUs have counted.
t 0 watch -n 2 -I 100 'cpu-clock > 0/s' -- sh -c 'echo "$TALLY_VALUE" >>'$tmp/rates'; sleep 1'
between 1 "$(sort -n $tmp/rates | tail -n 1 | cut -d. -f1)" $(($(nproc) * 2500)) 'a rate is that of an interval'
sh -c 'sleep 2' &
sleeper=$!
t 0 watch -p $sleeper -I 300 'task-clock < 1M/s'
says '^.* task-clock [0-9]*\.[0-9][0-9] msec/s$'
refused 'it ended with the task' kill -0 $sleeper
begin_cgroups
mkdir $top/idle $top/busy
helper sh -c "echo 0 >$top/busy/cgroup.procs; exec load -b"
t 0 watch -G idle,busy -n 1 -I 100 'task-clock > 0'
says ' task-clock '
end_helpers
ok 'the cgroups go' wait_for 60 rmdir $top/idle $top/busy
end_cgroups
t 2 watch 'cs > '
t 2 watch 'cs > 5/fortnight'
t 1 watch faults
errs 'has no budget'
t 1 watch nobody
errs 'there is no such event'
t 0 create page-faults budget=10/20ms name=budget
tally watch -n 1 budget >$out 2>$err &
watcher=$!
helpers="$helpers $watcher"
burst() { ls -R /sys/kernel >/dev/null; ! kill -0 $watcher 2>/dev/null; }
ok 'windows are exceeded' wait_for 60 burst
says ' budget [0-9]* windows above the budget$'

# ---- record and snapshot

t 0 record -q -o $tmp/perf.data -e page-faults -c 1 -g ls /
at_least "$(stat -c %s $tmp/perf.data)" 2000 'a file was written'
is "$(head -c 8 $tmp/perf.data)" PERFILE2 'which is one of perf'
t 1 record -o /no/folder/perf.data -e cs true
errs 'No such file or directory'
t 127 record -q -o $tmp/perf.data -e cs no-such-program
is "$(head -c 8 $tmp/perf.data)" PERFILE2 'the file of before is still there'
t 1 record -e '{cs,page-faults}' true
errs 'a set is sampled by its first event: write {...}:S'
t 1 record -o $tmp/perf.data -e no-such-event true
t 2 record -m 3 true
t 2 record --call-graph dwarf true
errs 'call chains are by frame pointers'
t 1 snapshot faults
remedied 'shares no flight recorder'
t 1 snapshot nobody
remedied 'there is no such event'
t 2 snapshot

# ---- doctor

t 0 doctor --probe
says '^ok    module: tally'
says '^ok    ABI: 2 on both sides'
says '^ok    rights: this user may count on all CPUs'
if has_pmu; then
	says '^ok    probe: [0-9]* events'
else
	says '^note  PMU: none'
	says '^note  probe: no event fits'
fi

# Probes that are switched off count nothing.
for file in /proc/sys/kernel/ftrace_enabled /sys/kernel/debug/kprobes/enabled; do
	[ -e $file ] || continue
	if ! echo 0 >$file 2>/dev/null && [ $file = /proc/sys/kernel/ftrace_enabled ]; then
		skip 'Linux 7 refuses to switch ftrace off' 'doctor sees that ftrace is switched off'
		continue
	fi
	t 0 doctor
	says '^note .* switched off'
	echo 1 >$file
done
t 0 doctor
refused 'nothing is switched off' grep -q 'switched off' $out
says '^ok    tricks: none was wrong on this kernel; [1-9]'
run 0 sh -c 'ulimit -n 500; exec tally doctor'
says '^note  open files: at most 500, the hard limit'

# ---- the self-test

# Whatever this machine has, no check fails, and the report is one page.
echo secret-host >/proc/sys/kernel/hostname
t 0 doctor --self-test --hotplug
refused 'no line is BAD' grep -q '^BAD' $out
least=12
! has_pmu || least=17
at_least "$(grep -c '^ok ' $out)" $least 'checks that were made'
between '' "$(wc -l <$out)" 70 'lines of the report'
says '^CPU   '
says '^ok    hotplug of CPU 3: '
says '^ok    rest: none of '
if has_pmu; then
	says '^ok    cycles: '
else
	says '^note  not tried: overflows of a PMU: '
fi
refused 'it has no name of the machine' grep -q secret-host $out

# The self-test finds what is wrong: here reads that return too much, and a file that stays open.
run 1 env LD_PRELOAD=$here/wrong.so tally doctor --self-test
says '^BAD   page-faults while it counts: tally counted [0-9]*, perf [0-9]* within that and [0-9]* '
says '^BAD   page of counts: '
says '^BAD   page-faults, period 7: '
says '^BAD   page-faults on all CPUs: '
says '^BAD   rest: [01] of '
t 2 doctor --hotplug
errs 'belongs to --self-test'

# ---- a user without rights

run 1 as nobody tally stat true
remedied '/dev/tally: Permission denied'
run 1 as nobody tally doctor
says '^BAD   device: /dev/tally: Permission denied'
chmod 666 /dev/tally
echo 3 >/proc/sys/kernel/perf_event_paranoid
for c in 'stat true' 'stat -a true' 'stat -p 1' "record -o $tmp/x true" 'watch cs>1'; do
	# shellcheck disable=SC2086 # Several words.
	run 1 as nobody tally $c
	remedied 'needs CAP_PERFMON\|not permitted'
done
for c in 'create cs' 'remove faults' 'enable faults' 'disable faults'; do
	# shellcheck disable=SC2086 # Several words.
	run 1 as nobody tally $c
	remedied 'needs CAP_PERFMON'
done
is "$(state faults)" active 'the event is as it was'
run 0 as nobody tally top --once
says '^faults '
run 0 as nobody tally list --running
says '^faults '
run 0 as nobody tally export --once
says '^tally_event_state{event="faults"'
refused 'no overflows' grep -q '^tally_event_overflows_total' $out
run 1 as nobody tally watch budget
remedied 'its windows cannot be read'
run 1 as nobody tally snapshot faults
run 0 as nobody tally doctor --self-test
says '^note  not tried: all checks: '
run 0 as nobody tally doctor
says '^note  rights: this user may count nothing'
says 'setcap cap_perfmon'
# Where a module sees the level, users may count their own programs.
echo 1 >/proc/sys/kernel/perf_event_paranoid
if as nobody tally stat -e page-faults true 2>/dev/null; then
	run 0 as nobody tally stat -e page-faults,task-clock true
	errs ' page-faults '
	mkdir -m 777 $tmp/open
	chmod 755 $tmp
	run 0 as nobody tally record -q -o $tmp/open/perf.data true
	ok 'a file was written' test -s $tmp/open/perf.data
	run 0 as nobody tally doctor
	says '^note  rights: this user may count own programs, with the kernel'
	run 0 as nobody tally doctor --self-test
	refused 'no line is BAD' grep -q '^BAD' $out
	says '^ok    page-faults: '
	says '^note  not tried: each CPU: '
	# Without the kernel, where a context switch happens, it is no 0.
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	if as nobody tally stat -e page-faults true 2>/dev/null; then
		run 0 as nobody tally doctor --self-test
		says '^note  rights: only user space of own programs is counted'
		says '^ok    page-faults: '
		run 0 as nobody tally stat -e page-faults,cs,task-clock true
		errs ' page-faults:u '
		errs '<not supported> .*cs'
		errs 'the kernel: needs CAP_PERFMON'
		run 0 as nobody sh -c 'tally watch -t $$ -n 1 -I 10 "page-faults >= 0"'
		says ' page-faults:u [0-9]*$'
		run 1 as nobody sh -c 'tally watch -t $$ "cs > 1"'
		remedied 'the kernel: needs CAP_PERFMON'
		run 1 as nobody tally record -q -e cs -o $tmp/open/perf.data true
		errs 'the kernel: needs CAP_PERFMON'
	else
		skip 'in kernels with a level 3, level 2 lets users count nothing' 'context switches'
	fi
else
	like "$(uname -r)" '6.1.*' 'only 6.1 hides the level'
fi

t 0 remove faults set often budget
nothing_left 'nothing is left'
finish
