#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12 vm="--with-prometheus --sanitized --memory 2048" args=5 seconds=60
# soak: on=debian-6.1,debian-6.12-arm64 vm="--with-prometheus --sanitized --memory 2048" args=60 seconds=200
#
# tally export, scraped by a real Prometheus: promtool finds nothing to say, the target is up, and
# queries give the counts that debugfs gives. Scrapes interrupt no CPU, slow and hostile clients
# block nobody, and neither a link nor a full disk is in the way of a file.
#
#	toolexport.sh [LOOKS]

. "$(dirname "$0")/lib.sh"
need_cpus 2
here=$(cd "$here" && pwd)
PATH=$PATH:$here
port=9868 scrapes=${1:-5}
command -v prometheus >/dev/null || {
	echo 'Bail out! there is no prometheus in this guest: run scripts/vm with --with-prometheus'
	exit 1
}
# shellcheck disable=SC2119
load_tally
ip link set lo up
i=0
while [ $i -lt 62 ]; do
	wr $tally/create "page-faults cpu=$((i % 2)) name=e$i" >/dev/null
	i=$((i + 1))
done
is "$(create 'cs cpu=all period=100 name=overflows')" OK 'an event that overflows'
begin_task "$here/task"
# apart COMMAND...: a helper that does not keep the task's pipes open
apart() {
	helper sh -c 'exec 4>&- 5<&-; exec "$@"' apart "$@"
}
is "$(create "page-faults:u pid=$child disabled name=load")" OK 'and one of a task'
is "$(stat_of events)" 64 'there are 64 events'

# ---- what is served

apart as cpu 0 tally export --listen 127.0.0.1:$port
serving() { scrape $port get / 1 >$tmp/root 2>/dev/null; }
ok 'it serves' wait_for 60 serving
get_metrics() { scrape $port get /metrics "$1" >$tmp/answer; }
ok 'the counts' get_metrics 1
sed '1,/^.$/d' $tmp/answer >$tmp/metrics
is "$(grep -c '^tally_event_total{' $tmp/metrics)" 64 'of all events'
linted() { promtool check metrics <"$1" >$tmp/said 2>&1; }
ok 'promtool accepts them' linted $tmp/metrics
is "$(cat $tmp/said)" '' 'and has nothing to say'
sed 's/tally_event_total/tally_event/' $tmp/metrics >$tmp/worse
linted $tmp/worse
ok 'but it notices a counter without _total' grep -q tally_event $tmp/said
refused 'another path is not there' scrape $port get /none 1
refused 'a second server cannot have the port' tally export --listen 127.0.0.1:$port

# ---- Prometheus

cat >$tmp/prometheus.yml <<END
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: tally
    static_configs:
      - targets: ['127.0.0.1:$port']
END
mkdir $tmp/data
apart prometheus --config.file=$tmp/prometheus.yml --storage.tsdb.path=$tmp/data \
	--web.listen-address=127.0.0.1:9090 --log.level=error
prometheus=$helper_pid
# query TEXT: prints the value of the only result; nothing without one.
query() {
	promtool query instant http://127.0.0.1:9090 "$1" 2>/dev/null | sed -n 's/.* => \([^ ]*\) @.*/\1/p'
}
query_is() { [ "$(query "$1")" = "$2" ]; }
ok 'the target is up' wait_for 180 query_is 'up{job="tally"}' 1
ok 'all events are there' wait_for 60 query_is 'count(tally_event_total)' 64
is "$(query 'tally_event_state{event="load"}')" 0 'a state: off'
is "$(query 'count by (cpu) (tally_event_total{cpu="1"})')" 31 'the label of a CPU'
ok 'the count of a task begins at 0' wait_for 60 query_is 'tally_event_total{event="load"}' 0
tally enable load

# The task's faults are published while it runs, so it goes on until the page has caught up.
steps=0
behind() {
	order touch 100
	steps=$((steps + 1))
	last=$now
	now=$(count load)
	value=$(query 'tally_event_total{event="load"}')
	[ "${value:-0}" -ge "$last" ]
}
now=1
ok 'Prometheus has what debugfs had' wait_for 120 behind
after=$(count load)
note "debugfs $last, Prometheus $value, debugfs $after"
between "$last" "$value" "$after" 'and not more than it has now'
has_rate() { [ -n "$(query 'rate(tally_event_total{event="load"}[1m]) > 0')" ]; }
ok 'there is a rate' wait_for 60 has_rate
overflowed() { [ -n "$(query 'tally_event_overflows_total{event="overflows"} > 0')" ]; }
ok 'and overflows' wait_for 60 overflowed
end_task
exited() { query_is 'tally_event_state{event="load"}' 5; }
ok 'the end of the task is seen' wait_for 60 exited
stop $prometheus

# ---- interrupts: none for a count

# A CPU reads another one's count by smp_call_function_single().
tracing=/sys/kernel/tracing
echo 'p:tally_test/call smp_call_function_single' >$tracing/kprobe_events
echo 1 >$tracing/events/tally_test/enable
calls() { awk '$1 == "call" { print $2 }' $tracing/kprobe_profile; }
helper as cpu 1 load -b
before=$(calls)
cat $tally/e1/count $tally/e1/count >/dev/null
at_least $(($(calls) - before)) 1 'a read of debugfs interrupts a CPU'
# fresh: gets an answer that is not the last one, which the server repeats for a second.
fresh() {
	as cpu 0 scrape $port get /metrics 1 >$tmp/answer || return
	enabled=$(sed -n 's/^tally_event_enabled_seconds_total{event="e0",.* //p' $tmp/answer)
	[ "$enabled" != "$last" ]
}
before=$(calls)
i=0 last=
while [ $i -lt "$scrapes" ]; do
	wait_for 60 fresh || fail 'a scrape'
	last=$enabled
	i=$((i + 1))
done
seen=$(($(calls) - before))
note "calls of functions on another CPU in $scrapes looks at 64 events: $seen"
between 0 "$seen" "$scrapes" 'scrapes interrupt no CPU'
ok 'and they have counts' grep -q '^tally_event_total{event="e1"' $tmp/answer
echo 0 >$tracing/events/tally_test/enable
echo '-:tally_test/call' >$tracing/kprobe_events

# ---- clients that are slow or hostile

# A file's event has a name of its own each time, which Prometheus would keep for ever.
as cpu 1 tally stat -e cs -a sleep 1000 >/dev/null 2>&1 &
stat=$!
with_files() { tally export --once "$@" >$tmp/once && grep -q '^tally_event_state{event="file\.' $tmp/once; }
ok 'events of files are served if asked for' wait_for 60 with_files --files
refused 'and not if not' with_files
kill $stat
wait $stat
# Prometheus keeps each series for ever, so runs of other commands must add none.
series() {
	wait_for 60 fresh
	last=$enabled
	sed '1,/^.$/d' $tmp/answer | grep -vc '^#'
}
begun=$(series)
# shellcheck disable=SC2016 # The helper's shell expands these.
helper sh -c 'while :; do tally stat -e page-faults,cs -a true 2>/dev/null; echo >>$0; done' $tmp/runs
i=0
while [ $i -lt "$scrapes" ] || [ "$(wc -l <$tmp/runs)" -lt "$scrapes" ]; do
	wait_for 60 fresh || fail 'a scrape'
	last=$enabled
	i=$((i + 1))
done
stop $helper_pid
is "$(series)" "$begun" "after $i scrapes beside $(wc -l <$tmp/runs) runs of stat, there are as many series"

# A page of another host may lead its name to 127.0.0.1.
host() { scrape $port host "$1" /metrics; }
for own in 127.0.0.1:$port localhost LOCALHOST:$port '[::1]:1'; do
	is "$(host "$own")" 'HTTP/1.1 200 OK' "the host $own"
done
for other in evil.example 127.0.0.1.evil.example:$port; do
	is "$(host $other)" 'HTTP/1.1 403 Forbidden' "the host $other"
done

mkfifo $tmp/held
scrape $port hold 127.0.0.1 200 <$tmp/held >$tmp/holds &
holder=$!
exec 6>$tmp/held
ok 'a client holds many connections' wait_for 60 test -s $tmp/holds
at_least "$(cat $tmp/holds)" 32 'with half a request on each'
ok 'others are served' get_metrics 10
ok 'wild requests' scrape $port wild 1 5
ok 'others are served' get_metrics 10
exec 6>&-
wait $holder
closed_after=$(scrape $port slow 127.0.0.1 100)
note "a client that sends a byte twice a second was closed after $closed_after s"
between 9 "$closed_after" 60 'a slow client is closed'

# ---- a socket of the file system

helper tally export --listen unix:$tmp/socket
ok 'it serves at a path' wait_for 60 test -S $tmp/socket
is "$(stat -c %a $tmp/socket)" 660 'for its user and group'
refused 'a second server cannot have the path' tally export --listen unix:$tmp/socket
kill -KILL $helper_pid
wait $helper_pid
helper tally export --listen unix:$tmp/socket

# ---- a file for node_exporter

mkdir $tmp/small
mount -t tmpfs -o size=256k none $tmp/small
echo victim >$tmp/victim
ln -s $tmp/victim $tmp/small/tally.prom
dd if=/dev/zero of=$tmp/small/rest bs=4k 2>/dev/null
tally export --textfile $tmp/small/tally.prom --interval 1 2>$tmp/said &
writer=$!
full() { grep -q 'No space left on device: trying again in 1 seconds' $tmp/said; }
ok 'a full disk: a sentence' wait_for 60 full
rm $tmp/small/rest
written() { [ -f $tmp/small/tally.prom ] && [ ! -L $tmp/small/tally.prom ]; }
ok 'a file is written when there is room' wait_for 60 written
is "$(cat $tmp/victim)" victim 'and not where a link led'
is "$(stat -c %a $tmp/small/tally.prom)" 644 'its reader may read it'
ok 'promtool accepts it' linted $tmp/small/tally.prom
kill $writer
wait $writer
is "$(ls $tmp/small)" tally.prom 'and nothing else is left'
umount $tmp/small
refused 'a file that cannot be written' tally export --textfile /no/folder/file

end_helpers
finish
