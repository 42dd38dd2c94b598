#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Why one kernel: scripts/check builds the module for the others.
# check: on=debian-6.12 seconds=70
# soak: args=debian-6.1 on=debian-6.12
#
# dkms adds, builds, signs, installs and removes tally for stock kernels, in folders that
# belong to this test.
#
#	dkms.sh KERNEL...

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
mkdir -p "$work/tree" "$work/source" "$work/install" "$work/headers" "$work/lib/modules"
printf '%s\n' "dkms_tree=$work/tree" "source_tree=$work/source" \
	"mok_signing_key=$work/mok.key" "mok_certificate=$work/mok.pub" >"$work/framework.conf"
own=(unshare --mount)
[ "$(id -u)" = 0 ] || own+=(--map-root-user)

# Runs dkms with the folders of this test, and with one of them as /lib/modules. A machine
# that runs in a container may have no such folder to mount that one on.
# shellcheck disable=SC2016
dkms_here() {
	"${own[@]}" sh -c '[ -d /lib/modules ] ||
			mount -t overlay -o "lowerdir=$0/lib:/usr/lib" overlay /usr/lib &&
		mount --bind "$0/install" /lib/modules &&
		mount --bind "$0/framework.conf" /etc/dkms/framework.conf &&
		exec dkms "$@"' "$work" "$@"
}

in_folders() {
	local verb=$1
	shift
	dkms_here "$verb" -m tally -v "$version" "$@"
}

# Copies what `make dkms-install` copies. The rest of that target changes the machine's
# folders, so this test calls dkms itself.
copy_sources() {
	make -n dkms-install DESTDIR="$work/dest" |
		grep -E '^(install|cp) ' >"$work/copy" &&
		sh -e "$work/copy" &&
		mv "$work/dest/usr/src/tally-$version" "$work/source/"
}

# A machine that only builds the module needs no library, command or test.
has_no_user_code() {
	ls "$work/source/tally-$version" "$work/source/tally-$version/src"
	[ "$(ls "$work/source/tally-$version/src")" = module ] &&
		[ ! -e "$work/source/tally-$version/tests" ]
}

# The module must be built for the kernel: a file alone may be one that does not load.
is_for() {
	local release=$1 module
	module=$(find "$work/install/$release" -name 'tally.ko*') &&
		[ -n "$module" ] &&
		modinfo -F vermagic "$module" | grep -q "^$release "
}

# dkms makes a key if there is none.
is_signed() {
	local module
	module=$(find "$work/install/$1" -name 'tally.ko*') &&
		modinfo -F signer "$module" | grep -qx 'DKMS module signing key' &&
		[ -n "$(modinfo -F sig_id "$module")" ] && [ -s "$work/mok.key" ]
}

# unfit RELEASE OPTION...: dkms does not try to build for this kernel, whose configuration
# has these options.
unfit() {
	local release=$1 status=0
	shift
	printf '%s\n' "$@" >"$work/headers/.config"
	mkdir -p "$work/install/$release"
	in_folders build -k "$release" --kernelsourcedir "$work/headers" >"$work/out" 2>&1 || status=$?
	cat "$work/out"
	[ "$status" = 77 ] && grep -q BUILD_EXCLUSIVE "$work/out"
}

is_gone() {
	[ -z "$(find "$work/install" -name 'tally.ko*')" ] &&
		[ -z "$(find "$work/tree" -name 'tally.ko*')" ]
}

# Kbuild prints which probes hold.
says_probes() {
	local log has not
	log=$(find "$work/tree" -name make.log)
	has=$(sed -n 's/^tally: this kernel has \([^n].*\|n[^o].*\)/\1/p' "$log")
	not=$(sed -n 's/^tally: this kernel has not //p' "$log")
	echo "has: $has; has not: $not"
	[[ " $has " == *' pmu_scope '* && " $not " == *' exit_group_dead '* ]] &&
		[ "$(wc -w <<<"$has $not")" = "$(find src/module/probes -name '*.c' ! -name ptrauth_user.c | wc -l)" ]
}

without() { ! "$@"; }

perf=CONFIG_PERF_EVENTS=y wide=CONFIG_64BIT=y
check 'the sources are copied' copy_sources
check 'they have no code of user programs' has_no_user_code
check 'dkms add' in_folders add
check 'not for Linux 5.10' unfit 5.10.0-1 $perf $wide
check 'not for Linux 6.0' unfit 6.0.0-1 $perf $wide
check 'not for 32 bits' unfit 6.12.0-1 $perf
check 'not without perf' unfit 6.12.0-1 $wide
rm -r "$work/install"/*

# The first kernel is there when tally is installed. The others come later: their packages
# call dkms autoinstall.
releases=()
for kernel; do
	release=$(scripts/kernels release "$kernel")
	mkdir -p "$work/install/$release"
	ln -s "$(scripts/kernels dir "$kernel")" "$work/install/$release/build"
	if [ ${#releases[@]} = 0 ]; then
		check "dkms build, $kernel" in_folders build -k "$release"
		[ "$kernel" != debian-6.12 ] || check 'the probes that hold are printed' says_probes
		check "dkms install, $kernel" in_folders install -k "$release"
	else
		check "dkms autoinstall, $kernel" dkms_here autoinstall -k "$release"
	fi
	check "the module is for $kernel" is_for "$release"
	check 'and it is signed' is_signed "$release"
	releases+=("$release")
done
if [ ${#releases[@]} -gt 1 ]; then
	check 'the module of the first kernel is still there' is_for "${releases[0]}"
	check 'dkms remove, for that kernel' in_folders remove -k "${releases[0]}"
	check 'it is gone' without is_for "${releases[0]}"
	check 'the other one is not' is_for "${releases[1]}"
fi
check 'dkms remove' in_folders remove --all
check 'nothing is left' is_gone
finish
