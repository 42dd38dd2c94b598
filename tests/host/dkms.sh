#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Why one kernel: scripts/check builds the module for the others.
# check: on=debian-6.12 seconds=70
# soak: args=debian-6.1 on=debian-6.12
#
# dkms adds, builds, installs and removes tally for stock kernels, in folders that
# belong to this test.
#
#	dkms.sh KERNEL...

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
mkdir -p "$work/tree" "$work/source" "$work/install"

in_folders() {
	local verb=$1
	shift
	# depmod reads /lib/modules, which does not have this kernel.
	dkms "$verb" --no-depmod --dkmstree "$work/tree" --sourcetree "$work/source" \
		--installtree "$work/install" -m tally -v "$version" "$@"
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

is_gone() {
	[ -z "$(find "$work/install" -name 'tally.ko*')" ] &&
		[ -z "$(find "$work/tree" -name 'tally.ko*')" ]
}

check 'the sources are copied' copy_sources
check 'they have no code of user programs' has_no_user_code
check 'dkms add' in_folders add
for kernel; do
	release=$(scripts/kernels release $kernel)
	dir=$(scripts/kernels dir $kernel)
	# dkms wants the kernel to be installed.
	mkdir -p "$work/install/$release"
	check "dkms build, $kernel" in_folders build -k "$release" --kernelsourcedir "$dir"
	check "dkms install, $kernel" in_folders install -k "$release" --kernelsourcedir "$dir"
	check "the module is for $kernel" is_for "$release"
done
check 'dkms remove' in_folders remove --all
check 'nothing is left' is_gone
finish
