#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12 vm="--with-prometheus --sanitized --memory 2048" args="60 1" seconds=30
# soak: on=debian-6.12 vm="--with-prometheus --sanitized --memory 2048" args=120s alone seconds=280
#
# tally with sanitizers: wild arguments and lines of events, and wild requests for its server.
#
#	toolfuzz.sh [NUMBER [SEED]]	NUMBER of runs with arguments, or "600s"; as many
#					seconds of requests, or 5

. "$(dirname "$0")/lib.sh"
here=$(cd "$here" && pwd)
runs=${1:-60} seed=${2:-$(date +%s)}
seconds=5
[ "$runs" = "${runs%s}" ] || seconds=${runs%s}
port=9868
export ASAN_OPTIONS=detect_leaks=0
# shellcheck disable=SC2119
load_tally
ip link set lo up
note "seed $seed"
ok 'the program has sanitizers' grep -q __asan_report $here/tallysan
is "$(create 'page-faults name=faults')" OK 'an event'

results "$here/wildargs" "$here/tallysan" "$runs" "$seed"

$here/tallysan export --listen 127.0.0.1:$port 2>$tmp/said &
server=$!
helpers="$helpers $server"
serving() { "$here/scrape" $port get /metrics 1 >$tmp/answer 2>/dev/null; }
ok 'the server serves' wait_for 60 serving
ok 'wild requests' "$here/scrape" $port wild "$seed" "$seconds"
ok 'the server lives' kill -0 $server
ok 'and serves' wait_for 60 serving
kill $server
wait $server
is "$?" 0 'it ends well'
cat $tmp/said | sed 's/^/# /' | head -20
refused 'without a report' grep -q 'Sanitizer\|runtime error' $tmp/said

# What the arguments have made
for name in $(cut -d' ' -f1 $tally/events | sed 's,/.*,,' | sort -u); do
	remove "$name" >/dev/null
done
nothing_left 'nothing is left'
finish
