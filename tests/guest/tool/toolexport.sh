#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12 vm="--with-prometheus --sanitized --memory 2048" args=200 seconds=50
# soak: on=debian-6.1,debian-6.12,debian-6.12-arm64 vm="--with-prometheus --sanitized --memory 2048" args=1000 seconds=90
#
# tally export, scraped by a real Prometheus: promtool finds nothing to say, the target is up, and
# queries give the counts that debugfs gives. Scrapes interrupt no CPU, and slow and hostile
# clients block nobody.
#
#	toolexport.sh [SCRAPES]

. "$(dirname "$0")/lib.sh"
need_cpus 2
here=$(cd "$here" && pwd)
PATH=$PATH:$here
port=9868 scrapes=${1:-200}
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
is "$(query 'tally_event_state{event="load",tally_event_state="off"}')" 1 'a state'
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
exited() { query_is 'tally_event_state{event="load",tally_event_state="exited"}' 1; }
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
before=$(calls)
as cpu 0 scrape $port get /metrics "$scrapes" >$tmp/answer || fail 'the scrapes'
seen=$(($(calls) - before))
note "calls of functions on another CPU in $scrapes scrapes of 64 events: $seen"
between 0 "$seen" $((scrapes / 10)) 'scrapes interrupt no CPU'
ok 'and they have counts' grep -q '^tally_event_total{event="e1"' $tmp/answer
echo 0 >$tracing/events/tally_test/enable
echo '-:tally_test/call' >$tracing/kprobe_events

# ---- clients that are slow or hostile

mkfifo $tmp/held
scrape $port hold 127.0.0.2 200 <$tmp/held >$tmp/holds &
holder=$!
exec 6>$tmp/held
ok 'a client holds many connections' wait_for 60 test -s $tmp/holds
at_least "$(cat $tmp/holds)" 32 'with half a request on each'
ok 'others are served' get_metrics 10
ok 'wild requests' scrape $port wild 1 5
ok 'others are served' get_metrics 10
exec 6>&-
wait $holder

# ---- a file for node_exporter

helper tally export --textfile $tmp/tally.prom --interval 1
ok 'a file is written' wait_for 60 test -s $tmp/tally.prom
ok 'promtool accepts it' linted $tmp/tally.prom
refused 'a file that cannot be written' tally export --textfile /no/folder/file

end_helpers
finish
