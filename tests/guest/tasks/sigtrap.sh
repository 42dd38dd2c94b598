#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# 6.1 sends the signal in another way than 6.12.
# test: on=debian-6.12,debian-6.1 seconds=6
# soak: on=debug-x86_64,debug-arm64
#
# Signals at overflows: the signals that the task receives, the end of the event at
# exec(), and the permission that signals need.

. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2119
load_tally

# begin COMMAND: starts a task that counts its signals. Its first answer is the address of
# a word.
begin() {
	begin_task "$@"
	read -r word <&5
}
# ask ORDER: prints the task's answer; nothing if the task has died.
ask() {
	echo "$*" >&4
	answer=''
	read -r answer <&5
	echo "$answer"
}
trap_line() { echo "$1 pid=$child period=$2 remove_on_exec sigtrap name=trap"; }

# ---- each overflow is a signal

begin traps
is "$(ask touch 100)" '0 0' 'no event, no signal'
is "$(create "$(trap_line page-faults:u 1)")" OK 'a signal at each page fault'
answer=$(ask touch 100)
at_least "${answer% *}" 100 'the task has one for each'
is "${answer% *}" "$(cat $tally/trap/overflows)" 'as many as there were overflows'
is "${answer% *}" "$(count trap)" 'and as were counted'
is "$(remove trap)" OK 'the event is removed'
is "$(ask touch 100)" '0 0' 'and there are no more signals'
is "$(create "$(trap_line page-faults:u 10)")" OK 'a signal at every tenth page fault'
answer=$(ask touch 100)
between 10 "${answer% *}" 12 'the task has so many'
is "${answer% *}" $(($(count trap) / 10)) 'one for each whole period'
is "$(remove trap)" OK 'the event is removed'
is "$(create "$(trap_line page-faults:u 1) disabled")" OK 'one that is disabled'
is "$(ask touch 100)" '0 0' 'sends none'
is "$(remove trap)" OK 'and is removed'

if [ "$(uname -m)" = x86_64 ]; then
	is "$(create "$(trap_line "mem:$word/8:w:u" 1)")" OK 'a signal at each write to a word'
	is "$(ask write 1000)" '1000 1000' 'the task has exactly so many, with the address'
	is "$(cat $tally/trap/overflows)" 1000 'which are the overflows'
	is "$(ask touch 100)" '0 0' 'and none for anything else'
else
	is "$(create "$(trap_line "mem:$word/8:w:u" 1)")" EOPNOTSUPP \
		'a breakpoint cannot overflow here'
	is "$(create "$(trap_line page-faults:u 1)")" OK 'a signal at each page fault'
fi
# After exec() the task has no handler for SIGTRAP, so one SIGTRAP would kill it.
is "$(ask exec 100)" '0 0' 'exec() ends the event: its next program has none'
wait "$child"
is $? 0 'and comes to its end'
exec 4>&- 5<&-
is "$(state trap)" exited 'the event has exited'
is "$(remove trap)" OK 'and is removed'

# ---- without a handler, the signal kills

begin 'sh -c "echo 0; exec task"'
is "$(create "$(trap_line page-faults:u 1)")" OK 'a signal for a task without a handler'
is "$(ask touch 10)" '' 'it says nothing any more'
wait "$child"
is $? 133 'it was killed by SIGTRAP'
exec 4>&- 5<&-
is "$(state trap)" exited 'the event has exited'
at_least "$(cat $tally/trap/overflows)" 1 'its overflows stay'
is "$(remove trap)" OK 'and it is removed'

# ---- permission: perf's rule

begin traps
mark
is "$(as nokill wr $tally/create "$(trap_line page-faults:u 1)")" EACCES \
	"another task's signals need CAP_KILL"
ok 'and the log has the reason' logged 'needs CAP_KILL'
is "$(as nokill wr $tally/create "$(trap_line page-faults:u 1) disabled")" EACCES \
	'also when they are not to come yet'
is "$(as nokill wr $tally/create "page-faults:u pid=$child period=1 remove_on_exec name=trap")" \
	OK 'its overflows do not'
is "$(remove trap)" OK 'removed'
is "$(ask touch 10)" '0 0' 'it had no signal'
own='page-faults:u pid=0 period=1000000 remove_on_exec sigtrap name=trap'
is "$(as nokill wr $tally/create "$own")" OK 'nor do its own'
is "$(remove trap)" OK 'removed'
for options in "pid=$child period=1 sigtrap" "pid=$child remove_on_exec sigtrap" \
	'period=1 remove_on_exec sigtrap' 'cpu=0 period=1 remove_on_exec sigtrap' \
	"pid=$child period=1 sigtrap enable_on_exec" \
	"pid=$child period=1 sigtrap enable_on_exec remove_on_exec"; do
	is "$(create "page-faults:u $options name=trap")" EINVAL \
		"not together: ${options#pid="$child" }"
done
is "$(create "page-faults:u pid=$child period=1 sigtrap remove_on_exec inherit name=trap")" \
	EOPNOTSUPP 'not with inherit'
is "$(ask touch 10)" '0 0' 'none of them sent a signal'
end_task
nothing_left 'nothing is left'
finish
