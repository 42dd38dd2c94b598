#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=20
#
# The Makefile has the targets that people expect of a module's Makefile.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh
. scripts/lib.sh

copy=$work/debian-6.12-arm64
stock=$(scripts/kernels dir debian-6.12)
arm=$(scripts/kernels dir debian-6.12-arm64)
cross=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
# The objects that the guests' build has made are up to date with the same flags.
cross+=("${guest_flags[@]}")

fresh() {
	rm -rf "$copy"
	mkdir "$copy"
	cp -r Kbuild Makefile dkms.conf COPYING README.md include src "$copy"
}

# A copy with the objects that were built for guests, of which those of one source are old.
# prepare() finds them by the name of the folder. dkms.sh builds everything with the Makefile,
# for this architecture.
fresh_but_built() {
	rm -rf "$copy"
	prepare "$copy" && rm -r "$copy/tests" "$copy.unfinished" &&
		rm -f "$copy"/tally.ko "$copy"/tally.o && touch "$copy/src/module/main.c"
}

# Builds without a network and without root's rights, but as root: another user could
# not read a cache in root's home. The build is for another architecture.
builds() {
	fresh_but_built || return
	unshare --net setpriv --no-new-privs --inh-caps=-all --bounding-set=-all \
		make -j"$(nproc)" -C "$copy" KDIR="$arm" "${cross[@]}" V=1 >"$work/build" &&
		modinfo "$copy/tally.ko" && file "$copy/tally.ko" | grep aarch64
}

prints_commands() { grep -q 'gcc.*src/module/main.c' "$work/build"; }

cleans() {
	make -C "$copy" KDIR="$arm" "${cross[@]}" clean &&
		[ -z "$(find "$copy" -name '*.o' -o -name '*.ko' -o -name '*.cmd' -o -name '*probes*.h' -o -name '*.probe')" ]
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

# refuses SENTENCE VARIABLE=VALUE...: kbuild stops with the sentence before it compiles.
refuses() {
	local sentence=$1
	shift
	fresh
	! make -C "$stock" M="$copy" "$@" modules >"$work/out" 2>"$work/err" || return
	cat "$work/err"
	grep -q "$sentence" "$work/err" && ! grep -q ' CC ' "$work/out" &&
		make -C "$stock" M="$copy" "$@" clean
}

# breaks TEXT FROM TO: Kbuild prints the text if a word of a probe has changed. Only this
# probe is compiled.
breaks() {
	fresh
	sed -i "s/$2/$3/" "$copy/src/module/probes/pmu_scope.c"
	! make -C "$stock" M="$copy" probes-y=pmu_scope modules >/dev/null 2>"$work/err" || return
	cat "$work/err"
	grep "the probe .*pmu_scope.c is broken: its control $1" "$work/err"
}

has_probes() {
	diff <(sed -n 's/#define TALLY_HAVE_\(.*\) 1$/\L\1/p' "$copy/src/module/probes.h" | sort) \
		<(sed -n 's/^1 //p' "$copy"/src/module/probes/*.probe | sort) &&
		grep TALLY_HAVE_PMU_SCOPE "$copy/src/module/probes.h"
}

the_help() {
	make help | grep -q 'make dkms-install'
}

check 'make KDIR= ARCH=arm64 CROSS_COMPILE=, without network and root' builds
check 'make V=1' prints_commands
check 'probes.h has the probes that hold' has_probes
check 'make install' installs
check 'make clean' cleans
check 'without headers: a sentence' without_headers
check 'in a folder with a blank: a sentence' with_blanks
check 'a kernel that is too old: a sentence' refuses 'tally needs Linux 6.1 or newer' PATCHLEVEL=0
check 'a kernel of 32 bits: a sentence' refuses 'tally needs a 64-bit kernel' CONFIG_64BIT=
check 'a kernel without perf: a sentence' refuses 'CONFIG_PERF_EVENTS' CONFIG_PERF_EVENTS=
check 'a probe whose possible control fails' breaks 'TRY_THERE does not compile' \
	'scope, task_ctx_nr' 'no_such, no_such'
check 'a probe whose impossible control compiles' breaks 'TRY_MISSING compiles' no_such_member name
check 'make help' the_help
finish
