#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tests/modules/consumer/negative.sh KDIR [MAKE ARGUMENT]...: a module that does not
# import the namespace TALLY does not build against tally, and the same module
# does with the import.

set -u
[ $# -gt 0 ] || { echo "usage: $0 KDIR [MAKE ARGUMENT]..." >&2; exit 2; }
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 2
kdir=$1
shift
args=("$@")

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp -r "$top/Kbuild" "$top/src" "$top/include" "$top/tests" "$work" || exit 2
find "$work" \( -name '*.o' -o -name '*.ko' -o -name '.*.cmd' \
	-o -name '*.mod' -o -name '*.mod.c' \) -delete

tests=0
failed=0

# result NAME COMMAND...
result() {
	local name=$1
	shift
	tests=$((tests + 1))
	if "$@"; then
		echo "ok $tests - $name"
	else
		echo "not ok $tests - $name"
		sed 's/^/# /' "$work/log" | tail -20
		failed=1
	fi
}

# build FOLDER [MAKE ARGUMENT]...
build() {
	local folder=$1
	shift
	make -C "$kdir" M="$folder" "${args[@]}" "$@" modules >"$work/log" 2>&1
}

consumer() {
	build "$work/tests/modules/consumer/negative" \
		KBUILD_EXTRA_SYMBOLS="$work/Module.symvers" "$@"
}

# modpost's words, wherever it puts the quotes.
names_the_import() {
	grep -Eq 'tally_negative uses symbol .*tally_event_release.* from namespace .*TALLY.* does not import it' "$work/log"
}

# Kernels may be told to build such modules all the same, with a warning.
refused() {
	! consumer IMPORT=n && names_the_import
}

warned() {
	consumer IMPORT=n && names_the_import
}

result 'tally builds' build "$work"
result 'with the import, its user builds' consumer IMPORT=y
rm -f "$work"/tests/modules/consumer/negative/{*.o,*.ko,*.mod,*.mod.c,.*.cmd}
if grep -qs '^CONFIG_MODULE_ALLOW_MISSING_NAMESPACE_IMPORTS=y' "$kdir/.config" "$kdir/include/config/auto.conf"; then
	result 'without, modpost warns of the missing import' warned
else
	result 'without, modpost refuses and names the missing import' refused
fi
echo "1..$tests"
exit $failed
