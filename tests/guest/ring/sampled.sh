#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: the oldest one, and one with a PMU.
# test: on=debian-6.12-arm64 seconds=30
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=30
# soak: on=debian-6.1,debian-6.12 seconds=45
#
# Samples of /dev/tally's rings, of all CPUs and of one task, are written to a perf.data
# file; `perf script` and the library's parser find the same in it. The library reads a ring
# of perf's and one of tally's together. Run with scripts/vm --with-perf.

. "$(dirname "$0")/lib.sh"
need_cpus 2
. "$(dirname "$0")/recorded.lib.sh"

# perf_fields FILE: writes each sample in one line to $tmp/fields.
perf_fields() {
	perf script --ns --no-inline -i "$1" -F pid,tid,cpu,time,period,event,addr,ip,bpf-output \
		>$tmp/fields.all 2>$tmp/fields.err || return
	awk -f "$here/sampled.awk" $tmp/fields.all | sort >$tmp/fields
}

# shellcheck disable=SC2119
load_tally

program sampled record $tmp/perf.data
samples=$(cat $tmp/ours)
program sampled dump $tmp/perf.data
theirs $tmp/perf.data
same_records
at_least "$samples" 500 'there are many samples'
is "$(grep -c PERF_RECORD_SAMPLE $tmp/theirs)" "$samples" "perf finds all $samples samples"

ok 'perf prints the fields of samples' perf_fields $tmp/perf.data
sampled fields $tmp/perf.data | sort >$tmp/fields.ours
is "$(wc -l <$tmp/fields)" "$samples" 'of all of them'
ok 'perf has the same fields, call chains and raw bytes' cmp $tmp/fields.ours $tmp/fields
diff $tmp/fields.ours $tmp/fields >$tmp/diff
sed -n '/^[-+][0-9]/p' $tmp/diff | head -4 | cut -c -1000 | sed 's/^/# /'
for event in $(awk '{ print $5 }' $tmp/fields.ours | sort -u); do
	note "$(awk -v e="$event" '$5 == e' $tmp/fields | wc -l) samples of $event"
done
ok 'there are call chains' awk 'NF > 9 && !/raw/ { n++ } END { exit n < 100 }' $tmp/fields
ok 'and raw bytes' awk '/ raw( [0-9a-f][0-9a-f])+$/ { n++ } END { exit n < 20 }' $tmp/fields

# ---- whether a difference is noticed: some samples are changed for perf alone

ok 'some samples are changed' sh -c 'cp $tmp/perf.data $tmp/changed && sampled change $tmp/changed >$tmp/places'
sed 's/^/# /' $tmp/places
mv $tmp/theirs $tmp/theirs.before
theirs $tmp/changed
diff $tmp/ours.sorted $tmp/theirs | sed -n 's/^[+]\(0x[0-9a-f]*\) .*/\1/p' | sort >$tmp/seen
is "$(cat $tmp/seen)" "$(sed -n '/^raw/!s/.* //p' $tmp/places | sort)" \
	'each changed one differs from what the library said, and no other one'
ok 'perf prints the fields of those, too' perf_fields $tmp/changed
diff $tmp/fields.ours $tmp/fields | grep '^+[0-9]' >$tmp/seen
# perf does not print the ip of a sample with a call chain.
is "$(wc -l <$tmp/seen)" "$(grep -vc '^ip' $tmp/places)" 'all but the ip differ there'
is "$(grep -c ' raw ' $tmp/seen)" 1 'the raw bytes, too'
sampled fields $tmp/changed | sort >$tmp/fields.ours
ok 'the library says the same of the changed ones' cmp $tmp/fields.ours $tmp/fields

# ---- events of perf and of tally in one reader

program sampled both

# ---- a CPU that comes online after the event was opened

program sampled later 1

nothing_left 'nothing is left'
finish
