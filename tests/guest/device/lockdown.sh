#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why alone: lockdown cannot be lowered again. Debian's kernels have it without an argument.
# Debug kernels do not look for leaks: lockdown forbids reading kmemleak's report.
# test: on=debian-6.12 alone seconds=5
# all: on=debian-6.1,debian-6.12-arm64 alone seconds=5
# soak: on=debug-x86_64,debug-arm64 alone vm="--append lsm=lockdown,capability --no-leak-scan"
#
# Under lockdown, events go on and can be read; none is created or removed.

. "$(dirname "$0")/lib.sh"
lockdown=/sys/kernel/security/lockdown

# A kernel that was built with lockdown but booted without it shows a mistake in the
# boot arguments of this test.
built=unknown
if [ -e /proc/config.gz ]; then
	built=$(zcat /proc/config.gz | grep -c '^CONFIG_SECURITY_LOCKDOWN_LSM=y')
elif grep -q ' lockdown_write$\| lockdown_lsm_init$' /proc/kallsyms; then
	built=1
fi
if [ ! -w $lockdown ]; then
	[ "$built" != 1 ] || {
		echo 'Bail out! this kernel has lockdown, but the guest was booted without it (lsm=lockdown)'
		exit 1
	}
	skip_all 'this kernel has no lockdown'
fi

load_tally events=page-faults,cpu-clock
is "$(create cs period=10 name=mine)" OK 'without lockdown an event can be made'
is "$(create page-faults name=gone)" OK 'and another one'
is "$(remove gone)" OK 'which can be removed'
# Opened before lockdown, which forbids opening.
exec 3>$tally/create

like "$(cat $lockdown)" '*none*' 'lockdown can be raised'
echo integrity >$lockdown
like "$(cat $lockdown)" '*\[integrity\]*' 'lockdown is raised'

is "$(create page-faults name=late)" 'open: EPERM' 'create does not open'
is "$(remove mine)" 'open: EPERM' 'remove does not open'
refused 'nothing was made' test -e $tally/late
ok 'nothing was removed' test -d $tally/mine
for file in events stats tricks pmus/list pmus/kprobe/format pmus/kprobe/events mine/count mine/enabled_ns mine/running_ns mine/state \
	mine/per_cpu mine/spec mine/period mine/precise mine/overflows mine/skipped mine/missed mine/lost mine/throttled \
	mine/handler_ns mine/handler_max_ns mine/guest; do
	if got=$(rd $tally/$file); then
		pass "$file opens and reads"
	else
		fail "$file does not read: $got"
	fi
done
is "$(state mine)" active 'counting goes on'
results "$here/lines" locked
before=$(count page-faults) overflows=$(cat $tally/mine/overflows)
printf 'touch 1000\nsleep 100\n' | task >/dev/null
at_least $(($(count page-faults) - before)) 1000 'and the counts grow'
at_least $(($(cat $tally/mine/overflows) - overflows)) 5 'and the overflows'
# A file keeps the rights it was opened with. So descriptor 3 may still create.
results "$here/devrights" locked OK
note "a descriptor of before: $(echo 'page-faults name=old' >&3 && echo takes a line || echo takes none)"
exec 3>&-
# As perf, tally lets events count under "confidentiality", but samples no registers.
echo confidentiality >$lockdown
like "$(cat $lockdown)" '*\[confidentiality\]*' 'lockdown is raised again'
results "$here/devrights" locked EPERM
results "$here/lines" confidential
ok 'unloading works' unload_tally
refused 'and nothing is left' test -e $tally
finish
