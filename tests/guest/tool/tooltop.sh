#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.12-arm64 seconds=25
# soak: on=debian-6.1 seconds=40
#
# tally top in a terminal of tmux: it fills screens of two sizes, follows a new size, draws only
# what has changed, takes keys, and leaves the terminal as it was. It interrupts no CPU.

. "$(dirname "$0")/lib.sh"
need_cpus 2
here=$(cd "$here" && pwd)
PATH=$PATH:$here
command -v tmux >/dev/null || {
	echo 'Bail out! there is no tmux in this guest: run scripts/vm with --with-tmux'
	exit 1
}
export LC_ALL=C.UTF-8 TERM=screen
# shellcheck disable=SC2119
load_tally
i=0
while [ $i -lt 30 ]; do
	wr $tally/create "page-faults cpu=$((i % 2)) name=e$i" >/dev/null
	i=$((i + 1))
done
is "$(create 'page-faults name=busiest')" OK 'an event that all faults count for'
helper load -f 0

screen() { tmux capture-pane -p -t top; }
shows() { screen | grep -q -e "$1"; }
size_is() { [ "$(tmux display-message -p -t top '#{pane_width}x#{pane_height}')" = "$1" ]; }
# fills WIDTH HEIGHT: whether each line has its place: the heading, the columns, the keys.
fills() {
	screen >$tmp/screen
	[ "$(wc -l <$tmp/screen)" = "$2" ] || return 1
	sed -n 1p $tmp/screen | grep -q '^tally top: 31 events' || return 1
	sed -n 2p $tmp/screen | grep -q '^NAME  *TARGET  *STATE  *RATE/s  *COUNT' || return 1
	sed -n "${2}p" $tmp/screen | grep -q '^q quit' || return 1
	# Without the bytes that continue a character, a block has one byte.
	tr -d '\200-\277' <$tmp/screen | awk -v most="$1" 'length > most { exit 1 }'
}
drawn() { wc -c <$tmp/drawn; }

ok 'a terminal of 80x24' tmux -u new-session -d -s top -x 80 -y 24 \
	"tally top -d 0.5; echo \"status \$?\" >$tmp/status; stty -a >$tmp/stty; sleep 1000"
ok 'it fills the screen' wait_for 60 fills 80 24
ok 'the busiest event comes first' wait_for 60 shows '^busiest '
sed 's/^/# /' $tmp/screen
first_is() { screen | sed -n 3p | grep -q "^$1 "; }
ok 'by its rate' wait_for 60 first_is busiest
ok 'with a line of its history' wait_for 60 shows 'busiest .*[▁▂▃▄▅▆▇█]'

# ---- no flicker: an update writes little, and clears nothing

: >$tmp/drawn
tmux pipe-pane -t top "cat >>$tmp/drawn"
updated() { [ "$(drawn)" -gt 0 ]; }
ok 'it goes on' wait_for 60 updated
before=$(drawn)
sleep 3
note "$(($(drawn) - before)) bytes in about 6 updates of 24 lines of 80 characters"
at_least 12000 $(($(drawn) - before)) 'updates write less than the screen has'
refused 'and never clear it' grep -q "$(printf '\033\\[2J\\|\033\\[J')" $tmp/drawn
tmux pipe-pane -t top

# ---- keys

tmux send-keys -t top n
ok 'by name' wait_for 60 first_is busiest
ok 'says so' shows 'by name'
tmux send-keys -t top Down
ok 'down' wait_for 60 first_is e0
tmux send-keys -t top Up
ok 'up' wait_for 60 first_is busiest
tmux send-keys -t top p
ok 'a pause' wait_for 60 shows 'paused'
tmux send-keys -t top p r
is "$(create 'cs name=later')" OK 'an event that is made meanwhile'
ok 'comes' wait_for 60 shows '32 events'
tally remove later
ok 'and goes' wait_for 60 shows '31 events'

# ---- another size

tmux resize-window -t top -x 200 -y 50
ok 'the terminal has 200x50' wait_for 60 size_is 200x50
ok 'it fills the screen' wait_for 60 fills 200 50
is "$(grep -c ' cpu=' $tmp/screen)" 31 'which has room for all events'
sed 's/^/# /' $tmp/screen | head -12
tmux resize-window -t top -x 40 -y 8
ok 'a small one' wait_for 60 size_is 40x8
small() { screen | tail -n 1 | grep -q '^q quit'; }
ok 'it fills it' wait_for 60 small
tmux resize-window -t top -x 80 -y 24
ok 'and again the first one' wait_for 60 fills 80 24

# ---- interrupts, and the time it takes itself

tracing=/sys/kernel/tracing
echo 'p:tally_test/call smp_call_function_single' >$tracing/kprobe_events
echo 1 >$tracing/events/tally_test/enable
calls() { awk '$1 == "call" { print $2 }' $tracing/kprobe_profile; }
pid=$(pidof tally)
before=$(calls) used=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
sleep 5
seen=$(($(calls) - before))
note "in 5 s: calls of functions on another CPU $seen; CPU time of tally top $(($(awk '{ print $14 + $15 }' "/proc/$pid/stat") - used)) of 500 ticks"
between 0 "$seen" 20 'it interrupts no CPU'
before=$(calls)
cat $tally/e1/count $tally/e0/count >/dev/null
at_least $(($(calls) - before)) 1 'as a read of debugfs does'
echo 0 >$tracing/events/tally_test/enable
echo '-:tally_test/call' >$tracing/kprobe_events

# ---- the end

tmux send-keys -t top q
ok 'q ends it' wait_for 60 test -s $tmp/stty
is "$(cat $tmp/status)" 'status 0' 'well'
ok 'the terminal echoes again' grep -q ' echo ' $tmp/stty
is "$(tmux display-message -p -t top '#{cursor_flag} #{alternate_on}')" '1 0' 'it has its cursor and its screen'
tmux kill-server
# The first server may not have ended yet.
ok 'another one' tmux -L second -u new-session -d -s top -x 80 -y 24 "tally top; echo \"status \$?\" >$tmp/status; sleep 1000"
screen() { tmux -L second capture-pane -p -t top; }
ok 'runs' wait_for 60 fills 80 24
rm $tmp/status
kill -TERM "$(pidof tally)"
ok 'a signal ends it' wait_for 60 test -s $tmp/status
is "$(cat $tmp/status)" 'status 0' 'well, too'
tmux -L second kill-server
end_helpers
finish
