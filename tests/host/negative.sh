#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=10
#
# A module that does not import the namespace TALLY does not build against tally, and
# the same module builds with the import.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

kernel=debian-6.12
kdir=$(scripts/kernels dir $kernel) && built=$(scripts/vm --build-only --kernel $kernel) || exit 2
user=$work/tests/modules/consumer/negative
cp -r --parents include tests/modules/consumer/negative "$work" || exit 2

user_builds() {
	make -C "$kdir" M="$user" KBUILD_EXTRA_SYMBOLS="$built/Module.symvers" IMPORT="$1" modules
}

# A kernel may be configured to build such a module with a warning.
if grep -qs '^CONFIG_MODULE_ALLOW_MISSING_NAMESPACE_IMPORTS=y' \
	"$kdir/.config" "$kdir/include/config/auto.conf"; then
	verb=builds
else
	verb=fails
fi
fails() { ! "$@"; }
builds() { "$@"; }

# Compares modpost's message without its quotes, which differ between versions.
without_import() {
	$verb user_builds n >"$work/log" 2>&1
	local status=$?
	cat "$work/log"
	[ $status = 0 ] && grep -Eq 'tally_negative uses symbol .*tally_event_release.* from namespace .*TALLY.* does not import it' "$work/log"
}

check 'with the import, the module builds' user_builds y
make -C "$kdir" M="$user" clean >/dev/null || exit 2
check "without the import, modpost names it, and the module $verb" without_import
finish
