#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=85
#
# The Makefile has the targets that people expect of a module's Makefile.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

copy=$work/copy
stock=$(scripts/kernels dir debian-6.12)
arm=$(scripts/kernels dir debian-6.12-arm64)
cross=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)

fresh() {
	rm -rf "$copy"
	mkdir "$copy"
	cp -r Kbuild Makefile dkms.conf COPYING README.md include src "$copy"
}

# Builds without a network and without root's rights, but as root: another user could
# not read a cache in root's home. The build is for another architecture; dkms.sh builds
# for this one.
builds() {
	fresh
	unshare --net setpriv --no-new-privs --inh-caps=-all --bounding-set=-all \
		make -j"$(nproc)" -C "$copy" KDIR="$arm" "${cross[@]}" V=1 >"$work/build" &&
		modinfo "$copy/tally.ko" && file "$copy/tally.ko" | grep aarch64
}

prints_commands() { grep -q 'gcc.*src/module/main.c' "$work/build"; }

cleans() {
	make -C "$copy" KDIR="$arm" "${cross[@]}" clean &&
		[ -z "$(find "$copy" -name '*.o' -o -name '*.ko' -o -name '*.cmd')" ]
}

installs() {
	make -C "$copy" KDIR="$arm" "${cross[@]}" INSTALL_MOD_PATH="$work/root" \
		KVER="$(scripts/kernels release debian-6.12-arm64)" install &&
		find "$work/root/lib/modules" -name 'tally.ko*' | grep .
}

without_headers() {
	fresh
	! make -C "$copy" KDIR=/no/such/headers 2>"$work/err" &&
		grep -q 'No kernel headers in /no/such/headers' "$work/err"
}

with_blanks() {
	mkdir -p "$work/a b" && cp -r Kbuild Makefile dkms.conf src include "$work/a b"
	! make -C "$work/a b" KDIR="$stock" 2>"$work/err" &&
		grep -q 'blank or colon' "$work/err" && make -C "$work/a b" help
}

# accepts VERSION: the source compiles for this kernel version. It refuses kernels that
# are too old. The preprocessor reads only linux/version.h of the stock kernel, with
# another number in its first line.
accepts() {
	mkdir -p "$work/linux"
	sed "1s/[0-9]*\$/$1/" "$stock/include/generated/uapi/linux/version.h" \
		>"$work/linux/version.h"
	grep -Ev '#include <(linux/[^v]|asm/)' src/module/compat.h >"$work/compat.c"
	gcc -E -I"$work" -D'IS_ENABLED(x)=0' "$work/compat.c" >/dev/null 2>"$work/err"
}

too_old() {
	accepts 0x060100 && ! accepts 0x0600ff &&
		grep -q 'tally needs Linux 6.1' "$work/err"
}

the_help() {
	make help | grep -q 'make dkms-install'
}

check 'make KDIR= ARCH=arm64 CROSS_COMPILE=, without network and root' builds
check 'make V=1' prints_commands
check 'make install' installs
check 'make clean' cleans
check 'without headers: a sentence' without_headers
check 'in a folder with a blank: a sentence' with_blanks
check 'a kernel that is too old: an #error' too_old
check 'make help' the_help
finish
