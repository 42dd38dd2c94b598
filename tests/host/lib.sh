# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for the tests that run on this machine. Sourced from the top folder. The caller ends
# with `finish`, which prints the plan.

tests=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: passes if the command succeeds.
check() {
	local name=$1
	shift
	tests=$((tests + 1))
	if "$@" >"$work/check.out" 2>&1; then
		echo "ok $tests - $name"
		return
	fi
	echo "not ok $tests - $name"
	tail -30 "$work/check.out" | sed 's/^/# /'
	failed=1
}

# check_status NAME WANT COMMAND...: passes if the command exits with WANT.
check_status() {
	local name=$1 want=$2 got=0
	shift 2
	tests=$((tests + 1))
	"$@" >"$work/check.out" 2>&1 || got=$?
	if [ "$got" = "$want" ]; then
		echo "ok $tests - $name"
		return
	fi
	echo "not ok $tests - $name: exit $got, not $want"
	tail -30 "$work/check.out" | sed 's/^/# /'
	failed=1
}

# Builds the fake device that programs preload.
build_device() {
	gcc -shared -fPIC -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude/uapi \
		-o "$work/device.so" tests/lib/device.c
}

# A script without a result has failed.
finish() {
	echo "1..$tests"
	[ "$tests" -gt 0 ] || exit 1
	exit $failed
}

# Prints the functions for other modules. That of a macro begins with "__".
exported() { grep -rohP '^EXPORT_SYMBOL_TALLY\((__)?\K\w+' src/module | sort; }
