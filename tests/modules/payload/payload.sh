#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64,debug-x86_64 seconds=15
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=15
#
# The fields of samples that handlers ask for: weight, data source, physical address, raw data
# and branches. The PMU tally_precise of tally_pmu.ko makes them up, see made_up.h; tracepoints
# have raw data; breakpoints have addresses.

. "$(dirname "$0")/lib.sh"
load_tally
shown=/sys/kernel/debug/tally_payload
test_pmu=/sys/kernel/debug/tally_pmu
has_pmu && raw=0 || raw=1
insmod tally_pmu.ko raw=$raw
kinds='direct interrupt work'

# Bits of sample_type.
addr=0x8 raw_data=0x400 weight=0x4000 data_src=0x8000 phys=0x80000 weight_struct=0x1000000
all=$((addr | raw_data | weight | data_src | phys))
# PERF_SAMPLE_BRANCH_KERNEL and _ANY.
any_branch=0xa

# begin TEXT PARAMETER...: an event.
begin() {
	text=$1
	shift
	ok "$text" insmod tally_payload.ko "$@"
}
end() { rmmod tally_payload; }
seen() { sed -n "s/^$2 //p" $shown/"$1"; }
# called N: all handlers were called at least N times.
called() {
	for kind in $kinds; do
		[ "$(seen $kind calls)" -ge "$1" ] || return 1
	done
}
# each WANT FIELD TEXT: the field of each handler's sample.
each() {
	for kind in $kinds; do
		is "$(seen $kind "$2")" "$1" "$kind: $3"
	done
}
# interrupt: one of the PMUs on CPU 0, which is in the kernel. An interrupt that another CPU asks
# for may come when CPU 0 runs a program.
interrupt() { as cpu 0 wr $test_pmu/interrupt 0 >/dev/null; }
# overflow N: the N-th overflow of a precise event.
overflow() {
	interrupt
	ok "overflow $1 reaches all handlers" wait_for 60 called "$1"
}

# ---- what a driver hands over

begin 'all fields are asked for' line=tally_precise/config=0/ type=$all branches=$any_branch
overflow 1
each yes payload 'has a payload'
each 0xffff888000001238 addr 'the address'
each 0x123456789abcdef weight 'the weight'
each 0x8000142 data_src 'the source of the data'
each 0x123456789000 phys_addr 'the physical address'
each 0xd raw 'the number of bytes of raw data'
each 13 raw_full 'none is left out'
each 808182838485868788898a8b8c bytes 'the raw data'
each '3 5 0xffffffff81234567>0x400000 0xffffffff81234577>0x400010' branches 'the branches'
each 0 truncated 'nothing is truncated'
overflow 2
each 0x123456789abcdef weight 'the weight of a second sample'
each 808182838485868788898a8b8c bytes 'and its raw data'
end

begin 'the driver hands nothing over' line="tally_precise/config=0xffffffffffffffff/" type=$all \
	branches=$any_branch
overflow 1
each yes payload 'has a payload'
for field in addr weight data_src phys_addr raw branches; do
	each absent $field "$field is absent"
done
each 0 raw_full 'there was no raw data'
end

begin 'a struct of weights is asked for' line=tally_precise/config=0/ type=$weight_struct
overflow 1
each 0x123456789abcdef weight 'the weights'
for field in addr data_src phys_addr raw branches; do
	each absent $field "$field, which nobody has asked for, is absent"
done
end

begin 'branches alone are asked for' line=tally_precise/config=0/ branches=$any_branch
overflow 1
each absent weight 'no weight'
for kind in $kinds; do
	like "$(seen $kind branches)" '3 5 0xffffffff81234567>*' "$kind: the branches"
done
end

begin 'nothing is asked for' line=tally_precise/config=0/
overflow 1
each no payload 'has no payload'
each absent branches 'and no branches'
end

# The interrupt comes in the kernel.
begin 'the kernel is excluded' line=tally_precise/config=0/:u type=$all branches=$any_branch
overflow 1
each 0x123456789abcdef weight 'the weight'
for field in addr phys_addr branches; do
	each absent $field "$field, which would show the kernel, is absent"
done
end

begin 'only one handler' line=tally_precise/config=0/ type=$weight handlers=w
interrupt
work_called() { [ "$(seen work calls)" -ge 1 ]; }
ok 'it is called' wait_for 60 work_called
is "$(seen work weight)" 0x123456789abcdef 'it has the weight'
is "$(seen direct calls)" 0 'the others are not called'
end

# ---- physical addresses that tally finds

case $(uname -m) in
x86_64)
	begin 'a word of kmalloc() is watched' word=kmalloc type=$((addr | phys))
	echo 1 >$shown/hit
	ok 'a write' wait_for 60 called 1
	each 1 phys_is_addr 'its physical address'
	end
	begin 'a word of a module is watched' word=module type=$((addr | phys))
	echo 1 >$shown/hit
	ok 'a write' wait_for 60 called 1
	each absent phys_addr 'memory of vmalloc() has none'
	end
	;;
*)
	skip 'breakpoints of the kernel have no period on this architecture' \
		'physical addresses of words that are watched'
	;;
esac
# Of a task alone, and of new pages alone: a fault that copies a page finds one. The quotes inside
# are for the kernel, which would take the words after a space for other parameters.
begin_task "$here/as" cpu 0 "$here/task"
order touch 1
begin 'page faults' line="\"page-faults:u pid=$child\"" type=$((addr | phys))
order touch 3
ok 'all handlers have seen the faults' wait_for 60 called 3
each 3 calls 'and no other ones'
each absent phys_addr 'the page is not mapped yet'
refused 'but it has an address' [ "$(seen work addr)" = absent ]
end
end_task

# ---- raw data

# offset_of EVENT FIELD
offset_of() {
	sed -n "s/.*\t*field:[^;]* \**$2\(\[[^;]*\)*;\toffset:\([0-9]*\);.*/\2/p" \
		"/sys/kernel/tracing/events/$1/format"
}
# bytes KIND OFFSET COUNT: raw data of a handler's sample, without the zeros.
bytes() { dd if=$shown/raw/"$1" bs=1 skip="$2" count="$3" 2>/dev/null | tr -d '\0'; }
# number KIND OFFSET: a word of the raw data.
number() {
	dd if=$shown/raw/"$1" bs=1 skip="$2" count=4 2>/dev/null | od -An -t u4 | tr -d ' '
}

begin 'the raw data of a tracepoint' line=task:task_rename type=$raw_data
new=$(offset_of task/task_rename newcomm)
old=$(offset_of task/task_rename oldcomm)
pid=$(sh -c 'echo tally-new >/proc/self/comm; echo 0 >$1; echo $$' - $shown/off)
ok 'a task is renamed' wait_for 60 called 1
for kind in $kinds; do
	is "$(bytes $kind "$new" 16)" tally-new "$kind: the new name"
	is "$(bytes $kind "$old" 16)" sh "$kind: the old name"
	is "$(number $kind "$(offset_of task/task_rename common_pid)")" "$pid" "$kind: the task"
	is "$(number $kind 0 | awk '{ print $1 % 65536 }')" \
		"$(cat /sys/kernel/tracing/events/task/task_rename/id)" "$kind: the tracepoint"
done
each absent weight 'a tracepoint has no weight'
each 0 truncated 'nothing is truncated'
end

# A name of a program with more than 512 bytes.
begin 'more raw data than there is room for' line=sched:sched_process_exec type=$raw_data
long=$here/$(printf '%0300d' 0 | sed 's,0,./,g')task
echo | "$long" >/dev/null
echo 0 >$shown/off
ok 'a program with a long name' wait_for 60 called 1
each 0x200 raw '512 bytes'
each 1 truncated 'they are truncated'
for kind in $kinds; do
	at_least "$(seen $kind raw_full)" 600 "$kind: there were more"
	at=$(($(number $kind "$(offset_of sched/sched_process_exec filename)") & 0xffff))
	is "$(bytes $kind $at 100)" "$(echo "$long" | cut -c1-100)" "$kind: the first of them"
done
end

# ---- wrong inputs

# wrong ERRNO WORDS PARAMETER...: the event is refused, and the builder says why.
wrong() {
	wrong_log="tally_payload: .*$2.* $(in_log "$1")" wrong_text="$1, $2"
	shift 2
	mark
	refused "refused: $*" insmod tally_payload.ko "$@"
	ok "$wrong_text" logged "$wrong_log"
}

p=line=tally_precise/config=0/
wrong EINVAL 'unknown bits in sample_type' $p type=0x80000000
wrong EINVAL 'both kinds of weight' $p type=$((weight | weight_struct))
wrong EINVAL 'samples are of sampled events' $p type=$weight period=0 handlers=
wrong EINVAL 'a handler without a period' $p type=$weight period=0
wrong EINVAL 'nothing receives the overflows' $p type=$weight handlers=
wrong EINVAL 'unknown bits in branch_sample_type' $p branches=0x8000000
wrong EINVAL 'kind of branch' $p branches=0x2
wrong EOPNOTSUPP 'AUX' $p type=0x100000
wrong EOPNOTSUPP 'CALLCHAIN' $p type=0x20
wrong EOPNOTSUPP 'READ' $p type=0x10
wrong EOPNOTSUPP 'TRANSACTION' $p type=0x20000
wrong EOPNOTSUPP 'STREAM_ID' $p type=0x200
wrong EOPNOTSUPP 'DATA_PAGE_SIZE' $p type=0x400000
wrong EOPNOTSUPP 'cannot do this' line=page-faults branches=$any_branch
nothing_left 'nothing is left'
rmmod tally_pmu
finish
