# SPDX-License-Identifier: GPL-2.0
# Reads Debian's archive without root's rights. Sourced, never run.
# shellcheck shell=bash
#
# Each suite and architecture has a private apt root, called SUITE-ARCH, such as
# trixie-arm64; the root that has the sources of packages is called SUITE+source-ARCH, such as
# bookworm+source-amd64. The host's apt gets no foreign architecture, and its third-party sources
# are not used. Package lists are read when a root is first used, and then once an hour.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The suites, from old to new. If the machine's own suite is none of them, it is added in
# front.
suites=(bookworm trixie sid)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck source=/dev/null
own_suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
# shellcheck disable=SC2034 # Read by the scripts that source this file.
host_arch=$(dpkg --print-architecture)
[[ " ${suites[*]} " == *" $own_suite "* ]] || suites=("$own_suite" "${suites[@]}")

# What builds modules with W=1, besides the compiler; perl is for the kernel's kernel-doc.
tool_packages=(bash binutils coreutils dash diffutils findutils grep kmod make mawk perl sed
	xz-utils zstd)

# tools_folder SUITE ARCH GCC: prints the folder for these packages and a compiler.
tools_folder() {
	echo "$cache/tools/$1-$2-$3-$(printf %s "${tool_packages[*]}" | key_of)"
}

# has_arch SUITE ARCH: whether a suite has an architecture.
has_arch() { [ "$1 $2" != 'bookworm riscv64' ]; }

# sources SUITE: prints the lines of sources.list. The URIs are those of the host's apt.
# apt knows the origin after the host has run apt-get update. Before that, the name of the
# suite is compared. apt checks Debian's key in any case.
sources() {
	# shellcheck disable=SC2016
	env -u APT_CONFIG apt-get indextargets 'Created-By: Packages' \
		--format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' |
		awk -v key="$keyring" -v own="$own_suite" -v suite="${1%+source}" \
			-v type="$([[ $1 != *+source ]] && echo deb || echo deb-src)" '
			function line(uri, release, component) {
				print type " [signed-by=" key "]", uri, release, component
			}
			NF != 4 || $1 != "Debian" && ($1 != "$(ORIGIN)" || index($3, own) != 1) { next }
			$3 !~ /-/ { archive = $2 }
			$3 ~ /-security$/ { security = $2 }
			suite == own && $3 !~ /-backports/ { line($2, $3, $4) }
			END {
				if (archive && suite != own) {
					line(archive, suite, "main")
					if (suite != "sid")
						line(archive, suite "-updates", "main")
					if (suite != "sid" && security)
						line(security, suite "-security", "main")
				}
				if (archive && suite != "sid")
					line(archive, suite "-backports", "main")
			}' | sort -u
}

# apt_setup ROOT: makes a private apt root. The status file is empty, so for apt nothing
# is installed, and it fetches a package with all its dependencies.
apt_setup() {
	local dir=$cache/apt/$1
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/status"
	# Takes only the host's settings for fetching, such as proxies.
	{
		apt-config dump Acquire | grep -vE '^Acquire::(IndexTargets|CompressionTypes|Changelogs|cdrom|Languages)\b'
		cat <<-END
		Acquire::Languages "none";
		APT::Architecture "${1##*-}";
		APT::Architectures { "${1##*-}"; };
		APT::Install-Recommends "0";
		APT::Sandbox::User "";
		Dir::State "$dir/state";
		Dir::State::status "$dir/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "/dev/null";
		Dir::Log "/dev/null";
		END
	} >"$dir/apt.conf"
	sources "${1%-*}" >"$dir/sources.list"
	[ -s "$dir/sources.list" ] || die 1 "apt on this machine has no Debian source for '$own_suite'"
}

# in_apt ROOT COMMAND...: runs an apt tool on the private root.
in_apt() { APT_CONFIG=$cache/apt/$1/apt.conf "${@:2}"; }

# unread_lists ROOT: prints a sentence about the lists that apt-get update could not read.
unread_lists() {
	local root=$1 log=$cache/apt/$1/update.log release line why='' unread=()
	while read -r _ _ _ release _; do
		line=$(grep -m 1 -E "^[EW]: .*(/dists/| )${release}[ /]" "$log") || continue
		unread+=("$release")
		why=${why:-${line#?: }}
	done <"$cache/apt/$root/sources.list"
	why="the package lists of ${unread[*]} for ${root##*-} cannot be read: $why"
	case " ${unread[*]-} " in
	'  ')
		tail -n 20 "$log" >&2
		die 1 "apt-get update failed for $root" ;;
	" $own_suite-backports ") ;;
	*" $own_suite"*) die 1 "$why" ;;
	esac
	echo "$why"
}

# apt_update ROOT: updates the package lists, at most once an hour unless forced. Without
# a list of the machine's own suite, it exits. Other lists that cannot be read are named
# each time.
apt_update() {
	local root=$1 dir=$cache/apt/$1 log=$cache/apt/$1/update.log why
	(
		hold "$dir.lock"
		if [ -n "${force_update-}" ] || [ -z "$(find "$dir/updated" -mmin -60 2>/dev/null)" ]; then
			say "reading Debian's package lists of ${root%-*} for ${root##*-}"
			apt_setup "$root"
			: >"$dir/updated.new"
			in_apt "$root" apt-get --quiet --error-on=any update >"$log" 2>&1 ||
				unread_lists "$root" >"$dir/updated.new"
			mv "$dir/updated.new" "$dir/updated"
		fi
		while IFS= read -r why; do
			say "$why"
		done <"$dir/updated"
	)
}

# package_field ROOT PACKAGE FIELD: prints a field of the newest version; nothing if there
# is no such package.
package_field() {
	{ in_apt "$1" apt-cache show --no-all-versions "$2" 2>/dev/null || true; } |
		sed -n "s/^$3: //p" | head -n 1
}

# dependency ROOT PACKAGE PATTERN: prints the first dependency whose name matches.
dependency() {
	local found
	found=$(package_field "$1" "$2" Depends | sed 's/[,|]/\n/g' |
		sed -E 's/^ *([^ ]+).*/\1/' | grep -E "^$3\$" | head -n 1) ||
		die 1 "the package $2 depends on nothing named $3"
	echo "$found"
}

# kernels_of ROOT: prints RELEASE VERSION IMAGE for each kernel that has an image and
# headers of one version. IMAGE is the package with the kernel: from 6.19 on, linux-image-*
# is empty. A signed image comes before an unsigned one.
kernels_of() {
	in_apt "$1" apt-cache dumpavail | awk '
		$1 == "Package:" { package = $2 }
		$1 == "Version:" && package ~ /^linux-(headers|image|binary)-/ { version[package] = $2 }
		END {
			for (package in version) {
				release = package
				if (!sub(/^linux-headers-/, "", release) || release !~ /^[0-9]+\.[0-9]+\.[0-9]/)
					continue
				n = split("linux-binary- linux-binary-unsigned- linux-image-", names, " ")
				found = ""
				for (i = 1; i <= n && !found; i++)
					if (version[names[i] release] == version[package])
						found = names[i] release
				if (!found && version["linux-image-" release "-unsigned"] == version[package])
					found = "linux-image-" release "-unsigned"
				if (found)
					print release, version[package], found
			}
		}' | sort -V -k 2,2 -k 1,1
}

# merge_usr FOLDER: makes /bin, /lib and their like links into /usr. Packages of bookworm
# still have files there.
merge_usr() {
	local name
	for name in bin sbin lib lib64; do
		mkdir -p "$1/usr/$name"
		ln -s "usr/$name" "$1/$name"
	done
}

# extract FOLDER DEB...: unpacks packages, and follows the links of merge_usr.
extract() {
	local folder=$1 deb
	shift
	[ -e "$folder/usr" ] || merge_usr "$folder"
	for deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar --extract --directory "$folder" --keep-directory-symlink --no-same-owner
	done
}

# not_fetched ROOT WHAT...: exits. A mirror may be out of step with another suite than the
# machine's own, and then lists a package that it does not have.
not_fetched() {
	local status=1
	[[ $1 == "$own_suite"-* ]] || status=4
	die "$status" "could not download ${*:2}"
}

# unpack ROOT FOLDER PACKAGE[=VERSION]...: downloads packages, and unpacks them.
unpack() {
	local root=$1 folder=$2 debs=$2.debs
	shift 2
	say "fetching $*"
	mkdir -p "$folder" "$debs"
	(
		cd "$debs"
		# All users of this root share one lock, because apt has one cache file.
		hold "$cache/apt/$root.lock"
		in_apt "$root" apt-get --quiet download "$@" >"$folder.log" 2>&1
	) || {
		tail -n 20 "$folder.log" >&2
		not_fetched "$root" "$@"
	}
	extract "$folder" "$debs"/*.deb
	rm -rf "$debs" "$folder.log"
}

# unpack_closure ROOT FOLDER PACKAGE...: the same with all packages that they depend on.
unpack_closure() {
	local root=$1 folder=$2
	shift 2
	say "fetching $* and what they need of ${root%-*} for ${root##*-}"
	mkdir -p "$folder"
	(
		hold "$cache/apt/$root.lock"
		in_apt "$root" apt-get clean
		in_apt "$root" apt-get --quiet --yes --download-only install "$@" >"$folder.log" 2>&1 || {
			tail -n 20 "$folder.log" >&2
			not_fetched "$root" "$@"
		}
		extract "$folder" "$cache/apt/$root/cache/archives"/*.deb
		in_apt "$root" apt-get clean
	)
	rm -f "$folder.log"
}
