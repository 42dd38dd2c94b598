# SPDX-License-Identifier: GPL-2.0
# Functions that the scripts of this folder share. Sourced, never run.
# shellcheck shell=bash

# The top folder of the checkout, for any working directory.
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# Read by the scripts that source this file.
# shellcheck disable=SC2034
program=${0##*/}

say() { printf '%s: %s\n' "$program" "$*" >&2; }

# die STATUS SENTENCE...: prints the sentence and exits with the status.
die() {
	local status=$1
	shift
	say "$@"
	exit "$status"
}

# The folder for all downloads and builds. It is outside the checkout, so that `git clean`
# removes nothing of it, and checkouts share their kernels.
cache=${TALLY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tally}
case $cache in
/*) ;;
*) die 2 "the cache folder must be an absolute path: $cache" ;;
esac
# kbuild splits paths at white space and colons.
case $cache in
*[[:space:]:]*) die 2 "the cache folder's path has a space or a colon in it, which kbuild cannot handle: '$cache'; set TALLY_CACHE to another folder" ;;
esac

# hold FILE [flock options]: takes a lock until this shell or subshell ends.
hold() {
	local file=$1 fd
	shift
	mkdir -p "${file%/*}"
	exec {fd}>"$file"
	flock "$@" "$fd"
}

# Prints 12 hex digits of the hash of standard input, for the name of a folder.
key_of() { sha256sum | cut -c1-12; }

# ---- the project, built for one kernel ----------------------------------

# build_folder KERNEL: prints the folder where the project is built for a kernel. Each
# checkout and kernel has its own, so that their objects never mix. It is outside the
# checkout, whose path may have spaces. A build with other options sets variant, and so
# has a folder of its own.
variant=
build_folder() {
	local key
	key=$(printf %s "$checkout" | key_of)
	echo "$cache/build/$key/$1$variant"
}

# sync_sources FOLDER: copies the checkout's sources that differ in content. Their times
# are not copied, so a changed source is newer than its objects. Built files stay, unless
# the folder of their source is gone.
sync_sources() {
	mkdir -p "$1"
	(
		cd "$1" || exit
		find . -depth -type d ! -name '.tmp_*' | while IFS= read -r dir; do
			[ -d "$checkout/$dir" ] || rm -r "$dir"
		done
	)
	# The filters keep built files from being deleted.
	rsync --recursive --links --perms --checksum --delete --delete-excluded \
		--filter='P *.o' --filter='P *.ko' --filter='P *.a' \
		--filter='P *.mod' --filter='P *.mod.c' --filter='P .*.cmd' \
		--filter='P .*.d' --filter='P Module.symvers' --filter='P modules.order' \
		--filter='P .tmp_*' --filter='P .module-common.*' --filter='P *.gcno' \
		--filter='P probes.h' --filter='P *.probe' \
		--exclude=/.git --exclude='*.o' --exclude='*.ko' --exclude='*.a' \
		--exclude='*.mod' --exclude='*.mod.c' --exclude='.*.cmd' \
		--exclude=Module.symvers --exclude=modules.order --exclude='.tmp_*' \
		--exclude=probes.h --exclude='*.probe' --exclude=/matrix.json \
		"$checkout/" "$1/"
}

# move_paths FROM FOLDER: a folder is a copy of a build folder FROM, whose path stands in kbuild's
# and gcc's files of commands and dependencies. Replaces it there, and keeps their times for make.
move_paths() {
	find "$2" "$2.out" "$2.out.lib" -type f \( -name '.*.cmd' -o -name '*.d' -o -name '*.mod' \
		-o -name modules.order \) -print0 2>/dev/null |
		xargs -0 -r perl -e '
		my ($from, $to) = splice(@ARGV, 0, 2);
		for my $file (@ARGV) {
			my @times = (stat $file)[8, 9];
			open(my $f, "<", $file) or die "$file: $!\n";
			my $text = join "", <$f>;
			$text =~ s/\Q$from\E/$to/g or next;
			open($f, ">", $file) or die "$file: $!\n";
			print $f $text;
			close $f;
			utime @times, $file;
		}' "$1" "$2"
}

# seed FOLDER: fills a new build folder with a copy of another checkout's folder for this
# kernel, so that a fresh clone does not build everything.
seed() {
	local folder=$1 from
	[ ! -e "$folder" ] || return 0
	mkdir -p "${folder%/*}"
	# Takes the newest folder in which no build runs.
	find "$cache/build"/*/"${folder##*/}" -maxdepth 0 -printf '%T@ %p\n' 2>/dev/null |
		sort -rn | while read -r _ from; do
		(
			hold "$from.lock" --nonblock && [ ! -e "$from.unfinished" ] || exit
			for part in "" .out .out.lib; do
				[ ! -d "$from$part" ] || cp -a "$from$part" "$folder$part" || exit
			done
		) || continue
		move_paths "$from" "$folder"
		break
	done
}

# prepare FOLDER: brings the sources of a build folder up to date, and marks it as unfinished.
prepare() {
	# A build that was killed may leave an object without its symbol versions, which
	# make would not build again.
	if [ -e "$1.unfinished" ]; then
		rm -rf "$1" "$1.out" "$1".out.*
	fi
	mkdir -p "${1%/*}"
	: >"$1.unfinished"
	# Without a folder to copy, everything is built.
	seed "$1" || true
	sync_sources "$1"
}

# The modules of guests have no debug information, which would be most of what a guest copies.
# A warning makes no object: so scripts/check knows that a build that stands had none.
guest_flags=(W=1 KCFLAGS='-Werror -g0' CONFIG_DEBUG_INFO_BTF_MODULES=)

# build_project KERNEL [make arguments]: brings the build folder up to date. The caller
# holds build_folder's lock. Afterwards modules.order lists the modules.
build_project() {
	local name=$1 folder log mutants=()
	shift
	[[ $name != debug-* ]] || mutants=(TALLY_MUTANTS=y)
	folder=$(build_folder "$name")
	log=$folder.log
	prepare "$folder" || return 2
	if [ -e "$folder/Kbuild" ]; then
		"$checkout/scripts/kernels" make "$name" M="$folder" TALLY_TESTS=y "${mutants[@]}" "${guest_flags[@]}" \
			-j"$(nproc)" "$@" \
			modules >"$log" 2>&1 </dev/null || {
			cat "$log" >&2
			say "the modules do not build for $name"
			return 2
		}
	else
		: >"$log"
		rm -f "$folder/modules.order"
	fi
	# Debian built its kernel with another point release of the compiler.
	grep -iE 'warning:' "$log" | grep -v 'the compiler differs from the one used' >&2 || true
	rm "$folder.unfinished"
}

# programs_folder ARCH: prints the folder where the test programs are built. Kernels of one
# architecture share them.
programs_folder() { variant='' build_folder "programs-$1"; }

# build_programs KERNEL: brings the static test programs of the kernel's architecture up to
# date, in the folder programs_folder.out. The caller holds the lock of programs_folder.
# They are made with programs_args, too.
programs_args=()
build_programs() {
	local folder
	local -a args
	folder=$(programs_folder "$("$checkout/scripts/kernels" arch "$1")")
	read -r -a args <<<"$("$checkout/scripts/kernels" make-args "$1") "
	prepare "$folder" || return 2
	mkdir -p "$folder.out"
	make -s -C "$folder" -f scripts/guest/programs.mk OUT="$folder.out" -j"$(nproc)" \
		"${args[@]}" "${programs_args[@]}" >"$folder.log" 2>&1 </dev/null || {
		cat "$folder.log" >&2
		say "the test programs do not build for $1"
		return 2
	}
	cat "$folder.log" >&2
	rm "$folder.unfinished"
}

# modules_of KERNEL: prints the .ko files of the last build, one per line.
modules_of() {
	local folder
	folder=$(build_folder "$1")
	[ -e "$folder/modules.order" ] || return 0
	# By the kernel's version, paths are absolute or not, and end in .o or .ko.
	sed -e 's/\.o$/.ko/' -e "s|^$folder/||" -e "s|^|$folder/|" "$folder/modules.order"
}
