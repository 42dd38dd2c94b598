#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=40
#
# make deb builds Debian packages that lintian accepts. They are installed, upgraded and
# purged in a small Debian that belongs to this test, and leave nothing there but a group.
# Its two kernels are made up: one has headers, which build a module without code, and one
# has none. dkms.sh builds the real module.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh
. scripts/debian.sh

# The order of sort is that of the names below.
export LC_ALL=C.UTF-8
packages='libtally-dev libtally0 python3-tally tally tally-dkms'
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
# dpkg sorts this version before the other one.
old_version=$version~1
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
with=6.12.0-1-with without=6.12.0-2-without
root=$work/root
own=(unshare --mount)
[ "$(id -u)" = 0 ] || own+=(--map-root-user --map-auto)
# Files of the small Debian may have owners that only the namespace has.
trap '"${own[@]}" rm -rf "$work"' EXIT

# ---- building -----------------------------------------------------------

# As the checkout is read-only, nothing is built in it. OUT= is also a variable of the
# library's makefile.
builds() {
	# shellcheck disable=SC2016
	"${own[@]}" --net sh -c 'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" &&
		cd "$PWD" && ! touch written 2>/dev/null && exec env -u MAKEFLAGS -u MAKELEVEL make deb OUT="$0"' "$work/new" >"$work/built" &&
		diff "$work/built" <(find "$work/new" -name '*.deb' | sort) &&
		has_all new "$version"
}

builds_other() {
	scripts/debian-package/build --version "$old_version" "$work/old" >/dev/null &&
		has_all old "$old_version"
}

# has_all FOLDER VERSION: the folder has the packages and nothing else.
has_all() {
	# shellcheck disable=SC2086 # Several words.
	diff <(printf "%s $2\n" $packages) \
		<(for deb in "$work/$1"/*; do
			dpkg-deb -f "$deb" Package Version | sed 's/.*: //' | xargs
		done | sort)
}

# A checkout without manual pages has none for the command.
lintian_accepts() {
	local -a options=(--allow-root --fail-on 'error,warning')
	[ -n "$(git ls-files 'src/tool/*.1')" ] || options+=(--suppress-tags no-manual-page)
	TMPDIR=$work lintian "${options[@]}" "$work/new"/*.deb
}

# ---- contents -----------------------------------------------------------

files_of() {
	dpkg-deb --fsys-tarfile "$work/new/$1"_*.deb | tar --list | grep -v '/$' | sed 's|^\./||'
}

# has_only PACKAGE FILE...: the package has these files and those that each package has. Whether
# documentation is compressed depends on its size, and Debian 12 has units in /lib.
has_only() {
	local package=$1
	shift
	diff <(printf '%s\n' "$@" | sort) \
		<(files_of "$package" | sed 's/\.gz$//; s|^lib/|usr/lib/|' |
			grep -vxE "usr/share/doc/$package/(changelog|copyright)" |
			grep -vE '^usr/share/(man|bash-completion|doc/[^/]+/html)/' | sort)
}

# The package has what `make dkms-install` copies, but for built files.
has_sources() {
	local -a copied
	mapfile -t copied < <(make -pn help | sed -n 's/^DKMS_SOURCES := //p' | xargs git ls-files --)
	[ ${#copied[@]} -gt 100 ] &&
		has_only tally-dkms "${copied[@]/#/usr/src/tally-$version/}"
}

# Each manual page has its place, and so has the completion.
has_pages() {
	local page
	for page in $(git ls-files 'src/tool/*.1' src/man); do
		files_of tally | grep -x "usr/share/man/man${page##*.}/${page##*/}.gz" || return
	done
}

# The package with include/tally/tally.h has a page and HTML for each exported function, and man
# finds it.
has_api_pages() {
	local dest=$work/dkms
	dpkg-deb -x "$work/new/tally-dkms"_*.deb "$dest" && [ -f "$dest/usr/src/tally-$version/include/tally/tally.h" ] &&
		exported | sed "s|.*|$dest/usr/share/man/man9/&.9.gz\n$dest/usr/share/doc/tally-dkms/html/&.html|" |
		xargs -d '\n' ls && man -M "$dest/usr/share/man" tally_build | grep 'tally_build - '
}

has_completion() { files_of tally | grep -x usr/share/bash-completion/completions/tally; }

# The symbols file lists the functions that src/lib/libtally.map exports.
has_symbols() {
	dpkg-deb --ctrl-tarfile "$work/new/libtally0"_*.deb | tar --extract --to-stdout ./symbols >"$work/symbols" &&
		diff <(sed -nE 's/^\t(libtally_\w+);$/\1/p' src/lib/libtally.map | sort) \
			<(sed -nE 's/^ (libtally_\w+)@LIBTALLY_[0-9]+ [0-9].*/\1/p' "$work/symbols" | sort)
}

# A program is built with the unpacked packages alone, for both libraries.
serves_programs() {
	local config dest=$work/dest
	dpkg-deb -x "$work/new/libtally0"_*.deb "$dest" &&
		dpkg-deb -x "$work/new/libtally-dev"_*.deb "$dest" || return
	cat >"$work/user.c" <<-END
		#include <libtally.h>
		#include <linux/tally.h>
		int main(void)
		{
			return !libtally_record_name(PERF_RECORD_SAMPLE) || !TALLY_ABI;
		}
	END
	config=$(PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_LIBDIR=$dest/usr/lib/$triplet/pkgconfig \
		PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
		pkg-config --cflags --libs "libtally = $version") || return
	# shellcheck disable=SC2086 # Several words.
	gcc -Wall -Werror -o "$work/shared" "$work/user.c" $config &&
		gcc -Wall -Werror -o "$work/static" "$work/user.c" ${config/-ltally/-l:libtally.a} &&
		LD_LIBRARY_PATH=$dest/usr/lib/$triplet "$work/shared" && "$work/static" &&
		readelf -d "$work/shared" | grep -F 'NEEDED' | grep -F '[libtally.so.0]' &&
		! readelf -d "$work/static" | grep libtally
}

# Each parameter of the example is one of the module's.
example_holds() {
	local name names
	names=$(sed 's/^#options/options/' "$root/usr/share/doc/tally/examples/modprobe.d/tally.conf" |
		sed -n 's/^options tally \([a-z_]*\)=.*/\1/p') && [ -n "$names" ] || return
	for name in $names; do
		grep -rqE "module_param\w*\($name," src/module || { echo "no $name"; return 1; }
	done
}

# ---- a small Debian -----------------------------------------------------

# Makes it with what the packages depend on, and systemd and udev, which check their files.
# It is kept in the cache.
makes_root() {
	local names archive
	local -a lines
	names=$(for deb in "$work/new"/*.deb; do dpkg-deb -f "$deb" Depends; done |
		tr , '\n' | sed -E 's/^ *([^ :|(]+).*/\1/' | grep -vxE "${packages// /|}" | sort -u | paste -sd ,)
	mapfile -t lines < <(sources "$own_suite")
	archive=$cache/roots/$own_suite-$host_arch-$(printf '%s\n' "$names" "${lines[@]}" | key_of).tar.zst
	mkdir "$root"
	(
		hold "$cache/roots/lock"
		if [ ! -e "$archive" ]; then
			rm -f "$cache/roots"/*.tar.zst
			apt-config dump Acquire | grep -i proxy >"$work/apt.conf"
			mmdebstrap --quiet --variant=minbase --include="$names,systemd,udev" \
				--aptopt="$work/apt.conf" "$own_suite" "$work/root.tar.zst" "${lines[@]}" &&
				mv "$work/root.tar.zst" "$archive" || exit
		fi
		"${own[@]}" tar --extract --directory "$root" --exclude './dev/*' --file "$archive"
	)
}

# in_root COMMAND...: runs the command there, with devices that can do no harm. uname -r is
# that of this machine's kernel, for which it has no folder.
in_root() {
	# shellcheck disable=SC2016
	"${own[@]}" sh -ec 'root=$0
		mount --rbind /proc "$root/proc"
		mount -t tmpfs -o mode=755 dev "$root/dev"
		for node in null zero full random urandom tty; do
			: >"$root/dev/$node"
			mount --bind "/dev/$node" "$root/dev/$node"
		done
		ln -s /proc/self/fd "$root/dev/fd"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@" </dev/null
}

# The headers build a module that has nothing but the version in dkms.conf. The package
# needs their configuration.
makes_kernels() {
	local headers=$root/usr/src/linux-headers-$with
	mkdir -p "$headers/include" "$root/usr/lib/modules"/{$with,$without} "$root/packages" &&
		cp -r "$work/old" "$work/new" "$root/packages" &&
		ln -s "/usr/src/linux-headers-$with" "$root/usr/lib/modules/$with/build" &&
		printf '%s\n' CONFIG_PERF_EVENTS=y CONFIG_64BIT=y >"$headers/.config" || return
	cat >"$headers/Makefile" <<'END'
modules:
	sed -n 's/^PACKAGE_VERSION="\(.*\)"/version=\1/p' $(M)/dkms.conf | tr '\n' '\0' >$(M)/info
	as -o $(M)/empty.o /dev/null
	objcopy --add-section .modinfo=$(M)/info $(M)/empty.o $(M)/tally.ko
clean:
	rm -f $(M)/tally.ko
END
	in_root sh -ec 'depmod "$0"; depmod "$1"; ldconfig' $with $without
}

# Prints the files of the small Debian. Logs, dpkg's own records, caches, the files of groups
# and /run, which a reboot empties, are left out.
snapshot() {
	# shellcheck disable=SC2016
	"${own[@]}" sh -c 'cd "$0" && find . -regextype egrep \
		-regex "\./(packages|proc|dev|run|var/(lib/dpkg|log|cache)|etc/(g?(group|shadow)-?|ld\.so\.cache|\.pwd\.lock))" -prune \
		-o -type f -printf "%p %m %u:%g %s\n" -o -printf "%p %y %m %u:%g %l\n" | sort' "$root"
}

# ---- installed ----------------------------------------------------------

install_packages() { in_root sh -c "dpkg --install /packages/$1/*.deb"; }

# are STATUS VERSION: all packages are. dpkg does not know a package that was purged.
are() {
	# shellcheck disable=SC2086 # Several words.
	diff <([ "$1" = unknown ] || printf "$1 %s $2\n" $packages) \
		<(in_root dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' $packages 2>/dev/null)
}

# dkms_has VERSION: dkms has this version alone, and installed it for the kernel with headers.
dkms_has() {
	local module
	in_root dkms status >"$work/status" && cat "$work/status" &&
		[ "$(cut -d, -f1 "$work/status" | sort -u)" = "tally/$1" ] &&
		grep -q "$with, .*: installed" "$work/status" && ! grep -q $without "$work/status" &&
		find "$root/usr/src" "$root/usr/lib/modules" "$root/var/lib/dkms" -name 'tally*' &&
		[ "$(echo "$root"/usr/src/tally-*)" = "$root/usr/src/tally-$1" ] &&
		module=$(find "$root/usr/lib/modules" -name 'tally.ko*') &&
		[[ $module == */$with/updates/dkms/tally.ko* ]] &&
		[ "$(modinfo -F version "$module")" = "$1" ]
}

dkms_has_nothing() {
	in_root dkms status >"$work/status" && cat "$work/status" && [ ! -s "$work/status" ] &&
		! find "$root" -name 'tally*.ko*' | grep .
}

# modprobe finds the module that is to be loaded at boot.
loads_at_boot() {
	in_root sh -c 'modprobe -S "$0" --show-depends $(grep -v "^#" /usr/lib/modules-load.d/tally.conf)' \
		$with | grep 'insmod .*/tally.ko'
}

has_group() { in_root getent group perf && [ "$(in_root getent group perf | cut -d: -f3)" -lt 1000 ]; }

# udev reads all rules before it looks for the device, which does not exist.
udev_accepts() {
	in_root udevadm test /no/such/device >"$work/udev" 2>&1
	grep tally "$work/udev"
	grep -q 'Reading rules file: .*/60-tally.rules' "$work/udev" && ! grep -q '60-tally.rules:' "$work/udev"
}

# The manual pages that the units name are another check's.
systemd_accepts() {
	in_root systemd-analyze verify --man=no tally-export.socket tally-export.service >"$work/verify" 2>&1
	cat "$work/verify"
	[ ! -s "$work/verify" ]
}

# systemd's number for what a service can reach is 0 to 100, and 96 for one that hides nothing.
is_confined() { in_root systemd-analyze security --offline=true --no-pager --threshold=15 tally-export.service; }

socket_is() { [ "$(in_root systemctl is-enabled tally-export.socket)" = "$1" ]; }

prints_version() { [ "$(in_root tally --version)" = "tally $1" ]; }

# Starts the server as systemd does, with a Unix socket, and an empty file as the device: a
# request for / does not read the device. The socket listens when the server has ended.
serves_on_socket() {
	cat >"$root/packages/activate" <<-'END'
		use strict;
		use warnings;
		use Socket;

		$^F = 3;	# Files up to this number stay open in exec().
		alarm(30);
		open(my $device, '>', '/dev/tally') or die "device: $!";
		my $at = pack_sockaddr_un('/packages/socket');
		socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
		bind($listener, $at) && listen($listener, 5) or die "bind: $!";
		pipe(my $out, my $in) or die "pipe: $!";
		my $pid = fork() // die "fork: $!";
		if (!$pid) {
			alarm(30);	# exec() keeps it.
			open(STDERR, '>&', $in) or die "stderr: $!";
			POSIX::dup2(fileno($listener), 3) // die "dup2: $!";
			@ENV{qw(LISTEN_PID LISTEN_FDS)} = ($$, 1);
			exec('tally', 'export') or die "exec: $!";
		}
		close($in);
		my $said = <$out> // '';
		print $said;
		$said =~ /serving/ or die 'the server does not start';

		my $client;
		socket($client, AF_UNIX, SOCK_STREAM, 0) && connect($client, $at) or die "connect: $!";
		syswrite($client, "GET / HTTP/1.0\r\n\r\n");
		my $reply = join '', <$client>;
		print $reply;
		$reply =~ m{^HTTP/1\.\d 200 .*/metrics}s or die 'the reply is wrong';

		kill('TERM', $pid);
		waitpid($pid, 0);
		$? == 0 or die "the server ends with status $?";
		unpack('i', getsockopt($listener, SOL_SOCKET, SO_ACCEPTCONN)) or
			die 'the socket does not listen';
		socket($client, AF_UNIX, SOCK_STREAM, 0) && connect($client, $at) or die "connect again: $!";
	END
	in_root perl -MPOSIX /packages/activate
}

finds_library() { in_root ldconfig -p | grep "libtally.so.0 .* => .*/lib/$triplet/libtally.so.0"; }

# Removes the packages. A file stands for the device, and a script for modprobe, as this root has no
# module to unload: the device is root's afterwards, and the module is unloaded.
removes() {
	# shellcheck disable=SC2016,SC2086 # Several words.
	in_root sh -ec '
		: >/dev/tally
		chown root:perf /dev/tally
		chmod 660 /dev/tally
		mkdir /run/fake
		printf "#!/bin/sh\necho \"\$@\" >>/run/fake/said\n" >/run/fake/modprobe
		chmod 755 /run/fake/modprobe
		PATH=/run/fake:$PATH dpkg --remove "$@"
		cat /run/fake/said
		grep -qx -e "--remove --quiet tally" /run/fake/said
		rm -r /run/fake
		stat -c "%U %G %a" /dev/tally | grep -x "root root 600"' sh $packages
}

nothing_is_left() { diff "$work/before" <(snapshot); }

check 'make deb, without network, in a checkout that is read-only' builds
check 'an older version' builds_other
[ $failed = 0 ] || finish
check 'lintian' lintian_accepts
check 'tally-dkms has what make dkms-install copies' has_sources
check 'tally-dkms has pages of the functions for other modules' has_api_pages
check 'the files of libtally0' has_only libtally0 "usr/lib/$triplet/libtally.so.0"
check 'the files of python3-tally' has_only python3-tally usr/lib/python3/dist-packages/tally.py
check 'the files of libtally-dev' has_only libtally-dev usr/include/libtally{,_record}.h \
	usr/include/linux/tally.h "usr/lib/$triplet"/libtally.{a,so} \
	"usr/lib/$triplet/pkgconfig/libtally.pc" usr/share/doc/libtally-dev/README.md
# shellcheck disable=SC2046 # Several words, or none.
check 'the files of tally' has_only tally usr/bin/tally usr/lib/systemd/system/tally-export.{service,socket} \
	usr/lib/modules-load.d/tally.conf usr/lib/udev/rules.d/60-tally.rules \
	usr/share/doc/tally/README.md usr/share/doc/tally/examples/modprobe.d/tally.conf \
	$(git ls-files src/tool/dashboard.json | sed 's|.*/|usr/share/doc/tally/examples/|')
[ -z "$(git ls-files 'src/tool/*.1')" ] || check 'the manual pages of tally' has_pages
[ -z "$(git ls-files src/tool/completion.bash)" ] || check 'the completion of tally' has_completion
check 'libtally0 has the symbols of src/lib/libtally.map' has_symbols
check 'a program, with the shared and the static library' serves_programs

check 'a small Debian with what the packages depend on' makes_root
check 'its kernels' makes_kernels
snapshot >"$work/before"
check 'the older packages are installed' install_packages old
check 'all of them are' are installed "$old_version"
check 'dkms built for the kernel that has headers' dkms_has "$old_version"
check 'the command runs' prints_version "$old_version"
check 'tally-export.socket is not enabled' socket_is disabled
check 'it is now' in_root systemctl enable tally-export.socket
check 'the group is a group of the system' has_group
check 'the newer packages are installed' install_packages new
check 'all of them are' are installed "$version"
check 'dkms has the newer version alone' dkms_has "$version"
check 'the command runs' prints_version "$version"
check 'Python finds the module and the library' in_root python3 -c 'import tally; print(tally._library())'
check 'the linker finds the library' finds_library
check 'tally-export.socket is still enabled' socket_is enabled
check 'modprobe finds the module to load at boot' loads_at_boot
check 'udev accepts the rule' udev_accepts
check 'systemd accepts the units' systemd_accepts
check 'the service is confined' is_confined
check 'the server serves on the socket of systemd, and leaves it open' serves_on_socket
check 'the example has parameters of the module' example_holds
check 'the packages are removed, the module and the right to the device with them' removes
check 'dkms has nothing' dkms_has_nothing
# shellcheck disable=SC2086
check 'the packages are purged' in_root dpkg --purge $packages
check 'none of them is known' are unknown -
check 'nothing is left' nothing_is_left
check 'but the group' has_group
finish
