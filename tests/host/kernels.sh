#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=10
#
# scripts/kernels finds and fetches the kernels of a small archive that this test makes.
# Nothing is downloaded.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

kernels=$PWD/scripts/kernels
real_cache=${TALLY_CACHE-}
source=$("$kernels" source) || exit 2
export TALLY_CACHE=$work/cache

# package SUITE NAME VERSION [DEPENDS]: puts a package with the files of $work/files into
# the archive.
package() {
	local repo=$work/$1 deb=$2.deb
	mkdir -p "$repo" "$work/files/DEBIAN"
	printf '%s\n' "Package: $2" "Version: $3" 'Architecture: amd64' \
		'Maintainer: Nobody <nobody@localhost>' 'Description: a test' \
		${4:+"Depends: $4"} >"$work/files/DEBIAN/control"
	dpkg-deb --root-owner-group --build "$work/files" "$repo/$deb" >/dev/null || exit 2
	{
		cat "$work/files/DEBIAN/control"
		printf '%s\n' "Filename: ./$deb" "Size: $(stat -c %s "$repo/$deb")" \
			"SHA256: $(sha256sum <"$repo/$deb" | cut -d' ' -f1)" ''
	} >>"$repo/Packages"
	rm -rf "$work/files"
}

# file PATH LINE...: makes a file of the next package.
file() {
	local path=$work/files/$1
	shift
	mkdir -p "${path%/*}"
	printf '%s\n' "$@" >"$path"
}

# headers SUITE RELEASE VERSION GCC
headers() {
	local all=linux-headers-${2%-*}-common kbuild=linux-kbuild-${2%-*}
	file "usr/src/$all/Makefile" 'all:' '	@echo made in $(CURDIR) with $(M) by $(PWD)' '	@touch $(M)/made' 'modules:' '	@:'
	package "$1" "$all" "$3"
	file "usr/lib/$kbuild/tool" tool
	package "$1" "$kbuild" "$3"
	file "usr/src/linux-headers-$2/Makefile" "include /usr/src/$all/Makefile"
	file "usr/src/linux-headers-$2/.kernelvariables" "CC = \$(CROSS_COMPILE)$4"
	package "$1" "linux-headers-$2" "$3" "$all (= $3), $kbuild, $4"
}

# image SUITE PACKAGE RELEASE VERSION FILE
image() {
	file "$5" "the kernel $3"
	file "lib/modules/$3/modules.order"
	file "lib/modules/$3/modules.builtin"
	package "$1" "$2" "$4"
}

headers bookworm 6.1.0-9-amd64 6.1.99-1 gcc-12
image bookworm linux-image-6.1.0-9-amd64 6.1.0-9-amd64 6.1.99-1 boot/vmlinuz-6.1.0-9-amd64
image bookworm linux-image-6.1.0-10-amd64 6.1.0-10-amd64 6.1.101-1 boot/vmlinuz-6.1.0-10-amd64
headers bookworm 6.1.0-11-amd64 6.1.102-1 gcc-12
image bookworm linux-image-6.1.0-11-amd64-unsigned 6.1.0-11-amd64 6.1.102-1 boot/vmlinuz-6.1.0-11-amd64
headers bookworm 6.1.0-12-amd64 6.1.103-1 gcc-12
image bookworm linux-image-6.1.0-12-amd64 6.1.0-12-amd64 6.1.103-2 boot/vmlinuz-6.1.0-12-amd64
headers bookworm 6.1.0-11-rt-amd64 6.1.102-1 gcc-12
image bookworm linux-image-6.1.0-11-rt-amd64 6.1.0-11-rt-amd64 6.1.102-1 boot/vmlinuz-6.1.0-11-rt-amd64
package bookworm linux-image-amd64 6.1.102-1 linux-image-6.1.0-11-amd64
package bookworm linux-headers-amd64 6.1.102-1 linux-headers-6.1.0-11-amd64
headers trixie 7.2.9+deb13-amd64 7.2.9-1 gcc-14
image trixie linux-image-7.2.9+deb13-amd64 7.2.9+deb13-amd64 7.2.9-1 boot/vmlinuz-7.2.9+deb13-amd64
headers trixie 7.3.4+deb13-amd64 7.3.4-1 gcc-14
package trixie linux-image-7.3.4+deb13-amd64 7.3.4-1 linux-binary-7.3.4+deb13-amd64
file usr/lib/modules/7.3.4+deb13-amd64/vmlinuz 'the kernel 7.3.4+deb13-amd64'
package trixie linux-binary-unsigned-7.3.4+deb13-amd64 7.3.4-1
file usr/lib/modules/7.3.4+deb13-amd64/modules.order
package trixie linux-modules-7.3.4+deb13-amd64 7.3.4-1
file usr/lib/modules/7.3.4+deb13-amd64/modules.builtin
package trixie linux-base-7.3.4+deb13-amd64 7.3.4-1

# Lists that were read in the last hour are not read again.
(
	# shellcheck source=scripts/debian.sh
	. scripts/debian.sh
	# shellcheck disable=SC2154 # It is a variable of lib.sh.
	for root in {bookworm,trixie,sid}-{amd64,arm64,riscv64}; do
		apt_setup "$root"
		mkdir -p "$work/${root%-*}" && touch "$work/${root%-*}/Packages"
		echo "deb [trusted=yes] file:$work/${root%-*} ./" >"$cache/apt/$root/sources.list"
		[ "${root#*-}" != amd64 ] || in_apt "$root" apt-get update
		: >"$cache/apt/$root/updated"
	done
	mkdir "$cache/source"
	# Programs of this machine take the place of those of the other suite.
	tools=$(tools_folder trixie x86_64 gcc-14)
	mkdir -p "$tools/mnt"
	ln -s /usr "$tools/usr"
) >"$work/setup" 2>&1 || { cat "$work/setup" >&2; exit 2; }

finds() {
	"$kernels" find '6.1.*amd64' >"$work/out" || return
	awk '{ $1 = $1; print }' "$work/out" | diff - <(printf '%s\n' \
		'debian-6.1.0-9-amd64 x86_64 bookworm 6.1.99-1 6.1 stock' \
		'debian-6.1.0-11-amd64 x86_64 bookworm 6.1.102-1 6.1 stock' \
		'debian-6.1.0-11-rt-amd64 x86_64 bookworm 6.1.102-1 6.1 rt')
}

finds_series() {
	"$kernels" find '7.*deb13-amd64' | awk '{ print $1, $5, $6 }' | diff - <(printf '%s\n' \
		'debian-7.2.9+deb13-amd64 7 stock' 'debian-7.3.4+deb13-amd64 7 stock')
}

knows_architectures() {
	local name
	for name in debian-6.12 debian-6.12-arm64 debian-6.12-riscv64 debian-6.1.0-9-amd64 \
		debian-6.1.0-9-rt-arm64 debian-7.3.4+deb13-arm64-16k debug-x86_64; do
		"$kernels" arch "$name"
	done | tr '\n' ' ' | grep -x 'x86_64 arm64 riscv64 x86_64 arm64 arm64 x86_64 '
}

# has NAME RELEASE: a kernel is complete.
has() {
	local file
	for file in order builtin dep; do
		[ -e "$("$kernels" modules "$1")/modules.$file" ] || return
	done
	[ "$("$kernels" release "$1")" = "$2" ] && [ "$(<"$("$kernels" image "$1")")" = "the kernel $2" ] &&
		[ -e "$("$kernels" dir "$1")/Makefile" ]
}

is_first() {
	[ ! -e "$TALLY_CACHE/kernels/headers" ] && "$kernels" build debian-6.1.0-11-amd64 &&
		"$kernels" forget debian-6.1.0-11-amd64
}

# lacks_an_image NAME: a kernel is ready for building only.
lacks_an_image() {
	local folder
	folder=$(dirname "$(readlink -f "$("$kernels" dir "$1")")")/../../..
	[ -e "$("$kernels" dir "$1")/Makefile" ] && [ ! -e "$folder/image" ] &&
		[ -z "$(find "$folder" -name 'modules.*')" ] &&
		"$kernels" list | grep -E "^$1 .* no image"
}

# completes NAME RELEASE: the image comes later, and the folder for make stays.
completes() {
	local dir
	dir=$(readlink -f "$("$kernels" dir "$1")")
	has "$1" "$2" && [ "$(readlink -f "$("$kernels" dir "$1")")" = "$dir" ] &&
		"$kernels" list | grep -E "^$1 .* ready"
}

# Nobody has used a kernel without an image for long.
forgets_what_is_unused() {
	"$kernels" dir debian-6.1.0-11-rt-amd64 &&
		touch --no-dereference --date='32 days ago' "$TALLY_CACHE/kernels/headers/debian-6.1.0-11-rt-amd64" &&
		"$kernels" dir debian-6.1.0-9-amd64 || return
	! "$kernels" list | grep '^debian-6.1.0-11-rt-amd64' &&
		[ -z "$(find "$TALLY_CACHE/kernels" -path '*6.1.0-11-rt-amd64*' ! -name '.*')" ]
}

# makes NAME: make runs in the kernel's folder, and sees the folder of the module.
makes() {
	mkdir -p "$work/module" && rm -f "$work/module/made"
	(cd "$work/module" && "$kernels" make "$1" -s M="$PWD") >"$work/out" || return
	cat "$work/out"
	grep -x "made in $(readlink -f "$("$kernels" dir "$1")") with $work/module by $work/module" "$work/out" &&
		[ -e "$work/module/made" ]
}

names_the_compiler() {
	"$kernels" compiler debian-6.1.0-9-amd64 | grep -xF "$(gcc-12 --version | head -n 1)"
}

forgets() {
	"$kernels" list | grep -E '^debian-6.1.0-9-amd64 +x86_64 +6.1.0-9-amd64 +ready' &&
		"$kernels" forget debian-6.1.0-9-amd64 || return
	! "$kernels" list | grep '^debian-6.1.0-9-amd64' &&
		[ -z "$(find "$TALLY_CACHE/kernels" -path '*6.1.0-9-*' ! -name '.*')" ]
}

# Another name has this kernel, too.
forgets_a_name_only() {
	"$kernels" build debian-6.1.0-11-amd64 && "$kernels" forget debian-6.1.0-11-amd64 &&
		has debian-6.1 6.1.0-11-amd64
}

# The lists of trixie that were read last lack a part.
says_what_is_unread() {
	echo 'the package lists of trixie for amd64 cannot be read: 404' \
		>"$TALLY_CACHE/apt/trixie-amd64/updated"
	"$kernels" build debian-7.3.5+deb13-amd64 2>"$work/err"
	local status=$?
	: >"$TALLY_CACHE/apt/trixie-amd64/updated"
	cat "$work/err"
	[ $status = 4 ] && grep 'cannot be read: 404' "$work/err"
}

# scripts/check compiles for the newest kernels. A mirror that lacks those of another suite
# is no fault of the sources.
skips_other_suites() {
	local deb=$work/trixie/linux-headers-7.3.4+deb13-amd64.deb
	git init --quiet "$work/tree"
	ln -sfn "$source" "$TALLY_CACHE/source/${source##*/}"
	mv "$deb" "$deb.away"
	scripts/check --in "$work/tree" compile >"$work/out"
	local status=$?
	mv "$deb.away" "$deb"
	cat "$work/out"
	[ $status = 0 ] && diff <(sed 's/^ok [0-9]* - //' "$work/out") - <<-END
		compile: the lists of Debian's kernels
		compile-6.1-rt-x86_64: W=1, module, debian-6.1.0-11-rt-amd64
		compile-7-stock-x86_64: W=1, module and test modules, debian-7.3.4+deb13-amd64 # SKIP could not download linux-headers-7.3.4+deb13-amd64=7.3.4-1
		compile: kernels of other suites than bookworm # SKIP none can be fetched now: nothing was built for them
		1..4
	END
}

takes_a_release() {
	TALLY_CACHE=$real_cache perl scripts/test --list debugfs debian-6.1.0-9-amd64 >"$work/out" &&
		grep -F 'debugfs debian-6.1.0-9-amd64' "$work/out"
}

check 'find prints what has image and headers of one version, by version' finds
check 'find says of which series and flavour a kernel is' finds_series
check_status 'find without a match is 3' 3 "$kernels" find '6.1.0-13-amd64'
check_status 'find without a pattern is 2' 2 "$kernels" find
check 'each name has an architecture' knows_architectures
check_status 'an unknown name is 2' 2 "$kernels" arch debian-6.1.0
check_status 'a release that the archive lacks is 3' 3 "$kernels" dir debian-6.1.0-13-amd64
check_status 'a release without headers is 3' 3 "$kernels" build debian-6.1.0-10-amd64
check_status 'a guest with it, too' 3 scripts/vm --kernel debian-6.1.0-10-amd64 -- true
check 'the first kernel of a machine, and it is removed again' is_first
check 'what cannot be fetched is no failure of scripts/check' skips_other_suites
check 'for building, a release is fetched without its image' lacks_an_image debian-6.1.0-9-amd64
check 'make' makes debian-6.1.0-9-amd64
check 'the image is fetched when it is needed' completes debian-6.1.0-9-amd64 6.1.0-9-amd64
check 'a series is its newest release, and an unsigned image will do' has debian-6.1 6.1.0-11-amd64
check 'an image in linux-binary-*' has debian-7 7.3.4+deb13-amd64
check 'compiler' names_the_compiler
check "make with another suite's tools" makes debian-7
check 'forget' forgets
check 'what nobody has built for in a month is removed' forgets_what_is_unused
check 'a release that may be in a list that cannot be read is 4' says_what_is_unread
rm "$work/trixie/linux-image-7.2.9+deb13-amd64.deb"
check_status 'a package of another suite that is listed only is 4' 4 "$kernels" build debian-7.2.9+deb13-amd64
rm "$work/bookworm/linux-image-6.1.0-9-amd64.deb"
check_status 'a package of this suite that is listed only is 1' 1 "$kernels" build debian-6.1.0-9-amd64
check_status 'forget what is not there is 1' 1 "$kernels" forget debian-6.1.0-13-amd64
check_status 'forget a series is 2' 2 "$kernels" forget debian-6.1
check 'forget one of two names' forgets_a_name_only
check 'scripts/test takes a release' takes_a_release
finish
