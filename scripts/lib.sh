# SPDX-License-Identifier: GPL-2.0
# What scripts/kernels and scripts/vm share. Sourced, never run.
# shellcheck shell=bash

# The folder of the checkout, whatever folder the caller stands in.
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# Read by the scripts that source this file.
# shellcheck disable=SC2034
program=${0##*/}

say() { printf '%s: %s\n' "$program" "$*" >&2; }

# die STATUS SENTENCE...
die() {
	local status=$1
	shift
	say "$@"
	exit "$status"
}

# Everything that is downloaded or built lives here, outside the checkout, so
# that `git clean` costs nothing and checkouts share their kernels.
cache=${TALLY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tally}
case $cache in
/*) ;;
*) die 2 "the cache folder must be an absolute path: $cache" ;;
esac
# kbuild splits paths at white space and at colons.
case $cache in
*[[:space:]:]*) die 2 "the cache folder's path has a space or a colon in it, which kbuild cannot handle: '$cache'; set TALLY_CACHE to another folder" ;;
esac

# hold FILE [flock options]: take a lock until this shell (or subshell) ends.
hold() {
	local file=$1 fd
	shift
	mkdir -p "${file%/*}"
	exec {fd}>"$file"
	flock "$@" "$fd"
}

# The 12 hex digits that stand for standard input in a folder's name.
key_of() { sha256sum | cut -c1-12; }

# ---- the project, built for one kernel ----------------------------------

# Where the project is built for a kernel: one folder per checkout and kernel,
# so that objects never meet, and outside the checkout, whose path may hold
# spaces. What is built with other options sets variant, for a folder of its own.
variant=
build_folder() {
	local key
	key=$(printf %s "$checkout" | key_of)
	echo "$cache/build/$key/$1$variant"
}

# sync_sources FOLDER: the checkout's sources, by content and without the times:
# whatever differs is newer than the objects made from it. What is built stays where
# its source was: with the folder, if that is gone.
sync_sources() {
	mkdir -p "$1"
	(
		cd "$1" || exit
		find . -depth -type d ! -name '.tmp_*' | while IFS= read -r dir; do
			[ -d "$checkout/$dir" ] || rm -r "$dir"
		done
	)
	# What is excluded is also not deleted.
	rsync --recursive --links --perms --checksum --delete --delete-excluded \
		--filter='P *.o' --filter='P *.ko' --filter='P *.a' \
		--filter='P *.mod' --filter='P *.mod.c' --filter='P .*.cmd' \
		--filter='P .*.d' --filter='P Module.symvers' --filter='P modules.order' \
		--filter='P .tmp_*' --filter='P .module-common.*' --filter='P *.gcno' \
		--exclude=/.git --exclude='*.o' --exclude='*.ko' --exclude='*.a' \
		--exclude='*.mod' --exclude='*.mod.c' --exclude='.*.cmd' \
		--exclude=Module.symvers --exclude=modules.order --exclude='.tmp_*' \
		"$checkout/" "$1/"
}

# seed FOLDER: a build folder that is new begins as a copy of one that another
# checkout has for that kernel, so that a fresh clone does not build everything. The
# two paths differ in the key of the checkout, which kbuild's and gcc's lists of
# commands and dependencies hold.
seed() {
	local folder=$1 from
	[ ! -e "$folder" ] || return 0
	mkdir -p "${folder%/*}"
	# The newest that nobody is building in.
	find "$cache/build"/*/"${folder##*/}" -maxdepth 0 -printf '%T@ %p\n' 2>/dev/null |
		sort -rn | while read -r _ from; do
		(
			hold "$from.lock" --nonblock && [ ! -e "$from.unfinished" ] || exit
			for part in "" .programs .programs.lib; do
				[ ! -d "$from$part" ] || cp -a "$from$part" "$folder$part" || exit
			done
		) || continue
		# With their times, by which make goes.
		find "$folder" "$folder.programs" "$folder.programs.lib" -type f \( -name '.*.cmd' \
			-o -name '*.d' -o -name '*.mod' -o -name modules.order \) -print0 2>/dev/null |
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
			}' "${from%/*}" "${folder%/*}"
		break
	done
}

# build_project KERNEL [make arguments]: bring the build folder up to date.
# The caller holds build_folder's lock. Afterwards the modules are listed in
# modules.order; static test programs are in the folder KERNEL.programs, made
# with programs_args as well.
programs_args=()
build_project() {
	local name=$1 folder kdir log
	local -a args
	shift
	folder=$(build_folder "$name")
	log=$folder.log
	kdir=$("$checkout/scripts/kernels" dir "$name")
	read -r -a args <<<"$("$checkout/scripts/kernels" make-args "$name") "
	# A build that was killed may have left an object without the versions of
	# its symbols, which nothing would make again.
	if [ -e "$folder.unfinished" ]; then
		rm -rf "$folder" "$folder.programs" "$folder.programs.lib"
	fi
	mkdir -p "${folder%/*}"
	: >"$folder.unfinished"
	seed "$folder"
	mkdir -p "$folder.programs"
	sync_sources "$folder"

	if [ -e "$folder/Kbuild" ]; then
		make -C "$kdir" M="$folder" "${args[@]}" TALLY_TESTS=y -j"$(nproc)" "$@" modules >"$log" 2>&1 </dev/null || {
			cat "$log" >&2
			say "the modules do not build for $name"
			return 2
		}
	else
		: >"$log"
		rm -f "$folder/modules.order"
	fi
	make -s -C "$folder" -f scripts/guest/programs.mk OUT="$folder.programs" \
		"${args[@]}" "${programs_args[@]}" >>"$log" 2>&1 </dev/null || {
		cat "$log" >&2
		say "the test programs do not build for $name"
		return 2
	}
	# Debian's kernel was built by another point release of the compiler.
	grep -E 'warning:' "$log" | grep -v 'the compiler differs from the one used' >&2 || true
	rm "$folder.unfinished"
}

# modules_of KERNEL: the .ko files that the last build made, one per line.
modules_of() {
	local folder
	folder=$(build_folder "$1")
	[ -e "$folder/modules.order" ] || return 0
	# Absolute or not, and .o or .ko, as the kernel's version has it.
	sed -e 's/\.o$/.ko/' -e "s|^$folder/||" -e "s|^|$folder/|" "$folder/modules.order"
}
