#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=10
#
# The manual pages and the completion of the command tally: they have the options that
# --help prints, and no others; and the installation. And the pages that make doc makes of
# include/tally/tally.h.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh
unset ARGP_HELP_FMT MANPATH

build() {
	make -s -j"$(nproc)" -f src/lib/lib.mk OUT="$work/lib" CFLAGS=-O0 "$work/lib/libtally.a" &&
		make -s -j"$(nproc)" -f src/tool/tool.mk OUT="$work/tool" LIB="$work/lib" CFLAGS=-O0
}

installs() {
	make -s -f src/tool/tool.mk install OUT="$work/tool" LIB="$work/lib" CFLAGS=-O0 \
		DESTDIR="$work/dest" PREFIX=/usr || return
	diff <(cd "$work/dest" && find . -type f | sort) <(
		{
			printf './usr/%s\n' bin/tally share/bash-completion/completions/tally \
				share/man/man1/tally.1
			printf './usr/share/man/man1/tally-%s.1\n' "${commands[@]}"
			for page in "${module_pages[@]}"; do
				printf './usr/share/man/man%s/%s\n' "${page##*.}" "${page##*/}"
			done
		} | sort
	)
}

# ---- what the command prints ----------------------------------------------

# Options of a command, as "-e, --event=list" in each line. The value is in small letters.
help_options() {
	"$work/tool/tally" "$1" --help |
		sed -nE 's/^ +(-[^ ,]+(, -[^ ,]+)*)( .*)?$/\1/p' |
		perl -pe 's/=(\S+)/=\L$1/' | sort
}

# Names alone, one a line: "-e" and "--event". With '=', a long one with a value ends so.
names() { sed 's/, /\n/g' | sed "s/=.*/${1-}/" | sort; }

# ---- pages ----------------------------------------------------------------

# The page of a command, which may be another one's.
page_of() {
	local page=src/tool/tally-$1.1 other
	other=$(sed -n 's|^\.so man1/||p' "$page") || return
	echo "${other:+src/tool/}${other:-$page}"
}

# The same as help_options, of the list of options in a page.
page_options() {
	perl -ne 'next unless s/^\.It Fl /-/;
		s/ , Fl /, -/g; s/\\&//g; s/ Ns = Ns /=/; s/Oo Ar (\S+) Oc/[$1]/; s/ : Ns /:/; s/Ar //g;
		print' "$1" | sort
}

# lint PAGE: mandoc prints nothing, but for pages of other projects that may not be installed.
lint() {
	if [ "$(wc -l <"$1")" = 1 ]; then
		grep -qxE '\.so man1/tally-[a-z]+\.1' "$1" && [ -f "src/tool/$(sed 's|.*/||' "$1")" ]
		return
	fi
	! mandoc -T lint -W all "$1" 2>/dev/null | grep -v 'STYLE: referenced manual not found'
}

# same_options COMMAND PAGE
same_options() { diff <(help_options "$1") <(page_options "$2"); }

# Each option in the synopsis is one of --help.
synopsis() {
	local words
	words=$(mandoc -T ascii -O width=1000 "$2" | col -b | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' |
		grep -oE '(^|[^[:alnum:]-])--?[[:alnum:]?][[:alnum:]-]*' | sed 's/^[^-]*//')
	# Letters behind one dash are several options.
	diff /dev/null <(
		while read -r word; do
			case $word in
			--*) echo "$word" ;;
			*) sed 's/^-//; s/./-&\n/g' <<<"$word" | sed '/^$/d' ;;
			esac
		done <<<"$words" | sed '/^$/d' | sort -u | comm -23 - <(help_options "$1" | names)
	)
}

# tally(1) lists the commands that `tally help` prints, in that order.
lists_commands() {
	diff <(printf '%s\n' "${commands[@]}") \
		<(sed -n '/^\.Sh DESCRIPTION/,/^\.Sh EVENTS/s/^\.It Cm //p' src/tool/tally.1)
}

refers_to_pages() {
	local page
	while read -r page; do
		[ -f "src/tool/$page" ] || [ -f "src/man/$page" ] || { echo "there is no $page"; return 1; }
	done < <(sed -nE 's/^\.Xr (tally(-[a-z]+)?) ([0-9]).*/\1.\3/p' "$@")
}

# Pages of the module have lines of at most 80 bytes.
is_narrow() { ! LC_ALL=C grep -nE '^.{81}' "$1"; }

# The options of a line that the module takes
line_options() {
	sed -nE 's/.*strcmp\(key, "([a-z_]+)"\).*/\1=/p; s/^\t\t\{ "([a-z_]+)", .*\},$/\1/p' \
		src/module/builder/line.c | sort
}

page_has_line_options() {
	diff <(line_options) <(sed -nE '/^\.Sh OPTIONS/,/^\.Sh EXAMPLES/s/^\.It Cm ([a-z_]+=?).*/\1/p' \
		src/man/tally-events.7 | sort)
}

# bad SED COMMAND PAGE: a page that sed has changed is noticed.
bad() {
	sed "$1" "$3" >"$work/bad.1"
	! cmp -s "$3" "$work/bad.1" && ! same_options "$2" "$work/bad.1" >/dev/null
}

bad_lint() {
	sed 's/^\.Sh EXIT STATUS/&\n.Bl -tag/' src/tool/tally-list.1 >"$work/bad.1"
	! lint "$work/bad.1" >/dev/null
}

bad_reference() {
	sed 's/^\.Xr tally-events 7.*/.Xr tally-events 5/' src/tool/tally-list.1 >"$work/bad.1"
	! refers_to_pages "$work/bad.1" >/dev/null
}

bad_synopsis() {
	sed 's/^\.Op Fl giq/.Op Fl giqz/' src/tool/tally-record.1 >"$work/bad.1"
	! synopsis record "$work/bad.1" >/dev/null
}

# renders NAME SECTION: an installed page is rendered, from the folder that .so is relative to.
renders() {
	(cd "$work/dest/usr/share/man" && mandoc -T ascii "man$2/$1.$2") | col -b >"$work/rendered" &&
		grep -q '^NAME' "$work/rendered" && grep -q "^     .*$1" "$work/rendered"
}

# ---- pages of the functions for other modules -----------------------------

makes_doc() { SOURCE_DATE_EPOCH=86400 make -s doc OUT="$work/doc"; }

# has_functions FOLDER: each exported function is the name of one page, and its file has this name.
has_functions() {
	local name=/^\.SH\ NAME/'{n;s/ .*//p}'
	diff /dev/null <(exported | comm -23 - <(sed -n "$name" "$1"/*.9 | sort | uniq -u)) &&
		diff <(for page in "$1"/*.9; do basename "$page" .9; done) <(sed -n "$name" "$1"/*.9)
}

# As lint, but names of C keep their case in a title, and lines are as long as in the header.
lint_doc() {
	! mandoc -T lint -W all "$1"/*.9 | grep -vE 'STYLE: (lower case character in document title|input text line longer)'
}

# No page has the date of today.
doc_has_date() {
	! grep -L "^\.TH .* 9 1970-01-02 \"tally $(sed -n 's/^PACKAGE_VERSION=//p' dkms.conf | tr -d '"')\"" \
		"$work/doc/man9"/*.9 | grep .
}

# The index has each page, and no other.
doc_has_index() {
	diff <(grep -oP 'href="\K[^"]+' "$work/doc/html/index.html" | sort) \
		<(for page in "$work/doc/man9"/*.9; do basename "$page" .9; done | sed 's/$/.html/' | sort) &&
		(cd "$work/doc/html" && grep -ohP 'href="\K[^"#]+' -- *.html | sort -u | xargs ls)
}

# bad_doc COMMAND...: with this done to a copy of the pages, one is missing or too many.
bad_doc() {
	rm -rf "$work/bad" && cp -r "$work/doc/man9" "$work/bad" && (cd "$work/bad" && "$@") &&
		! has_functions "$work/bad" >/dev/null
}

bad_lint_doc() {
	mkdir "$work/lint" && sed 's/^\.B struct.*/&\n.BX/' "$work/doc/man9/tally_build.9" >"$work/lint/a.9" &&
		! lint_doc "$work/lint"
}

# ---- completion -----------------------------------------------------------

# A tally that lists made-up events as running
stub() {
	mkdir -p "$work/bin"
	cat >"$work/bin/tally" <<-END
		#!/bin/bash
		case "\$*" in
		'list --running --names')
			printf '%s\n' faults pair/cs pair/cycles sched:sched_switch ;;
		*) exec "$work/tool/tally" "\$@" ;;
		esac
	END
	chmod +x "$work/bin/tally"
	# Prints the replies for the words that follow, as bash has broken them. \$1 is the file
	# of bash-completion, if any, and \$2 the list of running events.
	cat >"$work/complete.sh" <<-END
		[ -z "\$1" ] || . "\$1"
		. "$work/dest/usr/share/bash-completion/completions/tally"
		_tally_file=\$2
		shift 2
		COMP_WORDBREAKS=\$' \t\n"\'><=;|&(:'
		COMP_WORDS=("\$@") COMP_CWORD=\$((\$# - 1)) COMP_LINE= COMP_TYPE=9 COMP_KEY=9
		for word; do
			case \$word in
			= | :) COMP_LINE=\${COMP_LINE% }\$word ;;
			*) COMP_LINE+="\$word " ;;
			esac
		done
		COMP_LINE=\${COMP_LINE% } COMP_POINT=\${#COMP_LINE}
		_tally "$work/bin/tally" "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
		printf '%s\n' "\${COMPREPLY[@]}"
	END
}

# replies WORD...: sorted replies, and what goes to standard error. compopt complains that bash
# does not complete at this moment.
replies() {
	bash "$work/complete.sh" "$bash_completion" "$work/running" "$@" 2>&1 |
		sed '/^$/d; /compopt: not currently executing/d' | sort -u
}

# offers 'REPLY ...' WORD...: the replies are these and no others.
offers() {
	diff <(tr ' ' '\n' <<<"$1" | sed '/^$/d' | sort) <(shift; replies tally "$@")
}

# includes 'REPLY ...' WORD...: the replies have these among them.
includes() {
	diff /dev/null <(comm -23 <(tr ' ' '\n' <<<"$1" | sort) <(shift; replies tally "$@"))
}

# Options of a command: those of --help, also behind each option that takes a value.
completes_options() {
	local wanted short
	wanted=$(help_options "$1" | names '=')
	offers "$(tr '\n' ' ' <<<"$wanted")" "$1" - || return
	for short in $(help_options "$1" | sed -nE 's/^(-[^-]), .*=.*/\1/p'); do
		offers "$(tr '\n' ' ' <<<"$wanted")" "$1" "$short" 1 - ||
			{ echo "behind $short"; return 1; }
	done
}

completes_line_options() { offers "$(line_options | tr '\n' ' ')" create cs ''; }

completes_commands() { offers "${commands[*]} help --help --version" ''; }

completes_running_from_debugfs() {
	printf '%s\n' 'other cpu=all active 1 1 100.00% 2 of 2' 'set/cs cpu=0 active 1 1 100.00%' \
		>"$work/running"
	offers 'other set' remove '' && offers 'other set/cs' snapshot ''
	local status=$?
	rm "$work/running"
	return "$status"
}

completes_files() {
	: >"$work/one-file"
	offers "$work/one-file" record -o "$work/one-f" &&
		offers "$work/one-file" export --textfile = "$work/one-f"
}

# No name is expanded.
expands_nothing() {
	# shellcheck disable=SC2016
	echo '$(touch${IFS}touched) cpu=all active' >"$work/running"
	(cd "$work" && replies tally remove '') >"$work/replies"
	rm "$work/running"
	cat "$work/replies"
	[ ! -e "$work/touched" ] && grep -q touched "$work/replies"
}

completion() {
	local with=${1:-without bash-completion} command
	bash_completion=${2-}
	check "completion, $with: commands" completes_commands
	for command in "${commands[@]}"; do
		check "completion, $with: options of $command" completes_options "$command"
	done
	check "completion, $with: an option's beginning" offers '--repeat=' stat --rep
	check "completion, $with: events" offers 'page-faults' stat -e page-f
	check "completion, $with: the end of a list" offers 'cs,page-faults' stat --event = cs,page-f
	check "completion, $with: a set in quotes" offers '{cs,page-faults' stat -e "'{cs,page-f"
	check "completion, $with: a set without quotes" offers '\{cs\,page-faults' stat -e '{cs,page-f'
	check "completion, $with: not inside of terms" offers '' stat -e cpu/event=1,page-f
	check "completion, $with: a value behind letters" offers 'page-faults' stat -ie page-f
	check "completion, $with: forms of create" offers 'func:' create fun
	check "completion, $with: options of a line" completes_line_options
	check "completion, $with: what a line excludes" offers 'user,kernel' create cs exclude = user,ker
	check "completion, $with: running events" offers 'faults pair sched:sched_switch' remove ''
	check "completion, $with: behind a colon" offers 'sched_switch' enable sched : sched_
	check "completion, $with: members" offers 'pair/cs pair/cycles' stat --attach = pair
	check "completion, $with: names from debugfs" completes_running_from_debugfs
	check "completion, $with: keys to sort by" offers 'rate count name' top -s ''
	check "completion, $with: addresses" offers '9868' export --listen = 127.0.0.1 : ''
	check "completion, $with: files" completes_files
	check "completion, $with: a program" includes 'true' stat -e cs -- tru
	check "completion, $with: a program behind a condition" includes 'true' watch "'cs > 1/s'" tru
	check "completion, $with: options between both" includes '--interval=' watch "'cs > 1/s'" --int
	check "completion, $with: nothing of a name is expanded" expands_nothing
}

check 'the command builds' build
[ -x "$work/tool/tally" ] || finish
mapfile -t commands < <("$work/tool/tally" help | sed -nE 's/^  ([a-z]+) .*/\1/p')
check 'it has commands' test "${#commands[@]}" -ge 12
module_pages=(src/man/*.[1-8])
check 'make install' installs

for page in src/tool/*.1 "${module_pages[@]}"; do
	check "${page##*/}: mandoc has no warning" lint "$page"
done
check 'mandoc notices a wrong page' bad_lint
check 'tally.1 has all commands' lists_commands
check 'pages refer to pages that exist' refers_to_pages src/tool/*.1 "${module_pages[@]}"
check 'a reference to no page is noticed' bad_reference
check 'tally-events.7 has the options of a line' page_has_line_options
for page in "${module_pages[@]}"; do
	check "${page##*/}: lines of at most 80 bytes" is_narrow "$page"
done
for command in "${commands[@]}"; do
	page=$(page_of "$command")
	check "tally-$command.1 has the options of --help" same_options "$command" "$page"
	check "tally-$command.1: the synopsis, too" synopsis "$command" "$page"
done
check 'an option that the page lacks is noticed' bad '/^\.It Fl i ,/d' stat src/tool/tally-stat.1
check 'an option that --help lacks is noticed' \
	bad 's/^\.It Fl i ,.*/&\n.It Fl z , Fl -zero/' stat src/tool/tally-stat.1
check 'another name of a value is noticed' bad 's/Ns Ar ms/Ns Ar n/' stat src/tool/tally-stat.1
check 'a wrong synopsis is noticed' bad_synopsis
for command in "${commands[@]}"; do
	check "tally-$command.1 is rendered" renders "tally-$command" 1
done
check 'tally.1 is rendered' renders tally 1
for page in "${module_pages[@]}"; do
	name=${page##*/}
	check "$name is rendered" renders "${name%.*}" "${name##*.}"
done

check 'make doc' makes_doc
check 'functions are exported' test "$(exported | wc -l)" -ge 80
check 'each of them has a page' has_functions "$work/doc/man9"
check 'a page that is missing is noticed' bad_doc rm tally_build.9
check 'a second page is noticed' bad_doc cp tally_build.9 tally_built.9
check 'mandoc has no warning of the pages' lint_doc "$work/doc/man9"
check 'mandoc notices a wrong one' bad_lint_doc
check 'they have the date that is given' doc_has_date
check 'the index has each of them' doc_has_index

stub
completion
completion 'with bash-completion' /usr/share/bash-completion/bash_completion
finish
