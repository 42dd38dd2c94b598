# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of the command tally, for bash. The functions use bash-completion where it is
# loaded, and work without it. Names of events may be text of other users, so no name is
# expanded: compgen -W would do that.
#
# The functions below share the variables of _tally: cur, words, cword, tally.

# File of debugfs that lists the events that are counted.
_tally_file=/sys/kernel/debug/tally/events

_tally_commands='list stat top record snapshot create remove enable disable watch export doctor'

# _tally_options COMMAND: prints the options of a command. Those with a value end with '='.
_tally_options()
{
	local targets='-a --all-cpus -C= --cpu= -p= --pid= -t= --tid= -G= --cgroup='
	local own=''
	case $1 in
	list) own='--json --names --running' ;;
	stat) own="-e= --event= --pfm-events= --attach= -i --no-inherit -D= --delay=
		--timeout= -A --no-aggr -I= --interval-print= --interval-count= -r= --repeat=
		-x= --field-separator= -j --json-output --json -o= --output= --append $targets" ;;
	top) own='--once -d= --delay= -s= --sort=' ;;
	record) own="-e= --event= -c= --count= -F= --freq= -g --call-graph= -i --no-inherit
		-m= --mmap-pages= -o= --output= -q --quiet $targets" ;;
	snapshot) own='-o= --output=' ;;
	watch) own="-I= --interval= -n= --count= $targets" ;;
	export) own='--files --listen= --textfile= --interval= --once' ;;
	doctor) own='--hotplug --probe --self-test' ;;
	esac
	printf '%s %s' "$own" '-? --help --usage'
}

# ---- words ----------------------------------------------------------------

# Sets words, cword and cur as bash-completion does. bash breaks words at ':' and '='; these
# are put together again if no blank is between them.
_tally_words()
{
	local rest=${COMP_LINE:0:COMP_POINT} word i

	words=() cword=-1
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then
			cword=$((cword + 1))
			rest=${rest#"${rest%%[![:blank:]]*}"}
		fi
		# The cursor may stand inside of the last word.
		[[ $rest == "$word"* ]] || word=$rest
		words[cword]+=$word
		rest=${rest#"$word"}
	done
	cur=${words[cword]}
	prev=${words[cword - 1]}
	if [[ $cur == --?*=* ]]; then
		split=true
		prev=${cur%%=*}
		cur=${cur#*=}
	fi
}

# _tally_takes COMMAND OPTION: whether the option takes a value.
_tally_takes()
{
	local option options
	read -rd '' -a options < <(_tally_options "$1")
	for option in "${options[@]}"; do
		[[ $option != "$2=" ]] || return 0
	done
	return 1
}

# ---- sources: each prints a name a line -------------------------------------

# _tally_events KIND...: names of events that this machine can count, of all kinds but those
# given. Names with a part to be filled in are printed up to it.
_tally_events()
{
	local kind name not=" $* "
	"$tally" list --json 2>/dev/null |
		sed -nE 's/^\{"event":"([^"\\]*)","kind":"([^"\\]*)".*/\2 \1/p' |
		while read -r kind name; do
			[[ $not != *" $kind "* ]] || continue
			case $kind in
			raw) ;;
			breakpoint | probe | function) printf '%s\n' "${name%%:*}:" ;;
			*) printf '%s\n' "$name" ;;
			esac
		done
}

# Names of libpfm4.
_tally_pfm()
{
	"$tally" list --json 2>/dev/null |
		sed -nE 's/^\{"event":"([^"\\]*)","kind":"libpfm4".*/\1/p'
}

# Names of events that are counted now.
_tally_running()
{
	if [[ -r $_tally_file ]]; then
		cut -d ' ' -f 1 "$_tally_file"
	else
		"$tally" list --running --names 2>/dev/null
	fi
}

# The same without members of sets, but with the sets.
_tally_whole()
{
	_tally_running | sed 's|/.*||' | sort -u
}

_tally_cpus()
{
	local folder
	for folder in /sys/devices/system/cpu/cpu[0-9]*; do
		printf '%s\n' "${folder##*/cpu}"
	done
}

_tally_pids()
{
	local folder
	for folder in /proc/[0-9]*; do
		printf '%s\n' "${folder##*/}"
	done
}

_tally_tids()
{
	local folder
	for folder in /proc/[0-9]*/task/[0-9]*; do
		printf '%s\n' "${folder##*/}"
	done
}

# _tally_cgroups BEGINNING: paths below the root of the cgroups.
_tally_cgroups()
{
	local root
	for root in /sys/fs/cgroup /sys/fs/cgroup/perf_event /sys/fs/cgroup/unified; do
		[[ -e $root/cgroup.procs ]] || continue
		compgen -d -- "$root/$1" | sed "s|^$root/||"
	done
}

# ---- replies ----------------------------------------------------------------

# compopt fails if no completion runs, as in tests.
_tally_compopt()
{
	compopt "$@" 2>/dev/null
	return 0
}

# Adds each line that begins with what is typed.
_tally_offer()
{
	local word
	while IFS= read -r word; do
		[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
	done
}

# The same for the last part of a list, behind a comma or brace.
_tally_offer_list()
{
	local word part=${cur##*[,\{]} slashes
	# Terms of a PMU stand between slashes, the length of a breakpoint behind one.
	slashes=$(sed -E 's/(^|[,{])mem:[^,}]*//g; s/[^/]//g' <<<"$cur")
	((${#slashes} % 2 == 0)) || return
	while IFS= read -r word; do
		[[ $word != "$part"* ]] || COMPREPLY+=("${cur%"$part"}$word")
	done
	_tally_compopt -o nospace
}

_tally_offer_files()
{
	local word
	_tally_compopt -o filenames
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <(compgen -f -- "$cur")
}

# Fits the replies to what bash replaces: the text behind the last ':' or '=', or behind a
# quote. Characters that mean something to the shell get a backslash.
_tally_fit()
{
	local breaks='' head='' i

	[[ $COMP_WORDBREAKS != *:* ]] || breaks+=:
	[[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
	[[ -z $quote ]] || return 0
	[[ -z $breaks || $cur != *["$breaks"]* ]] || head=${cur%"${cur##*["$breaks"]}"}
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$head"}
		[[ ${COMPREPLY[i]} != *[!][:alnum:]_.,:/=+%@^-]* ]] ||
			printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
	done
}

# ---- parts of a command line ------------------------------------------------

# _tally_value OPTION: the value of an option.
_tally_value()
{
	case $1 in
	-e | --event) _tally_offer_list < <(_tally_events function) ;;
	--pfm-events) _tally_offer_list < <(_tally_pfm) ;;
	--attach) _tally_offer < <(_tally_running) ;;
	-C | --cpu) _tally_offer_list < <(_tally_cpus) ;;
	-p | --pid) _tally_offer_list < <(_tally_pids) ;;
	-t | --tid) _tally_offer_list < <(_tally_tids) ;;
	-G | --cgroup) _tally_offer_list < <(_tally_cgroups "${cur##*,}") ;;
	-o | --output | --textfile) _tally_offer_files; return ;;
	-s | --sort) _tally_offer < <(printf '%s\n' rate count name) ;;
	--listen) _tally_offer < <(printf '%s\n' 127.0.0.1:9868 :9868) ;;
	esac
	_tally_fit
}

# An option behind the event of tally create.
_tally_line_option()
{
	local word key=${cur%%=*}
	case $cur in
	cpu=*) _tally_offer < <(echo cpu=all; _tally_cpus | sed 's/^/cpu=/') ;;
	pid=*) _tally_offer < <(_tally_pids | sed 's/^/pid=/') ;;
	cgroup=*) _tally_offer < <(_tally_cgroups "${cur#*=}" | sed 's/^/cgroup=/') ;;
	exclude=*)
		cur=${cur#*=}
		_tally_offer_list < <(printf '%s\n' user kernel hv idle host guest)
		cur=$key=$cur
		COMPREPLY=("${COMPREPLY[@]/#/$key=}")
		;;
	*=*) ;;
	*)
		for word in budget= cgroup= cpu= disabled enable_on_exec exclude= exclusive freq= \
			inherit inherit_thread max_rate= name= period= pid= pinned \
			remove_on_exec require sigtrap; do
			[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
		done
		[[ ${COMPREPLY-} != *= ]] || _tally_compopt -o nospace
		;;
	esac
	_tally_fit
}

# _tally_program INDEX: the program that is run, whose name is that word, and its arguments.
_tally_program()
{
	local before i have='' word
	if declare -F _command_offset >/dev/null; then
		# The word's number among the words as bash breaks them
		printf -v before %s "${words[@]:0:$1}"
		for ((i = 0; i < COMP_CWORD; i++)); do
			[[ $have != "$before" ]] || break
			have+=${COMP_WORDS[i]}
		done
		_command_offset "$i"
	elif (($1 == cword)); then
		_tally_compopt -o filenames
		while IFS= read -r word; do
			COMPREPLY+=("$word")
		done < <(compgen -c -- "$cur" | sort -u)
	else
		_tally_offer_files
	fi
}

# _tally_argument COMMAND NUMBER: an argument, whose number counts from 0.
_tally_argument()
{
	case $1:$2 in
	stat:* | record:* | watch:[1-9]*) _tally_program "$cword"; return ;;
	list:0) _tally_offer < <(_tally_events) ;;
	create:0) _tally_offer < <(_tally_events libpfm4) ;;
	create:*) _tally_line_option; return ;;
	remove:* | enable:* | disable:*) _tally_offer < <(_tally_whole) ;;
	snapshot:0) _tally_offer < <(_tally_running) ;;
	watch:0) _tally_offer < <(_tally_events function; _tally_running) ;;
	esac
	_tally_fit
}

_tally_option()
{
	local option options
	read -rd '' -a options < <(_tally_options "$1")
	for option in "${options[@]}"; do
		# A short option and its value are two words.
		[[ $option == --* ]] || option=${option%=}
		[[ $option != "$cur"* ]] || COMPREPLY+=("$option")
	done
	[[ ${COMPREPLY-} != *= ]] || _tally_compopt -o nospace
}

# _tally COMMAND...: what bash calls.
_tally()
{
	local cur='' prev='' words=() cword=0 split='' quote='' tally=${1/#\~/$HOME}
	local command word i number=0 pending='' ended='' IFS=$' \t\n'

	COMPREPLY=()
	if declare -F _init_completion >/dev/null; then
		_init_completion -s -n : || return
	else
		_tally_words
	fi
	# A reply stands behind the quote that is open, and has no backslashes there.
	case $cur in
	[\'\"]*) quote=${cur:0:1} cur=${cur:1} ;;
	*) cur=${cur//\\/} ;;
	esac
	if ((cword == 1)); then
		for word in $_tally_commands help --help --version; do
			[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
		done
		return
	fi
	command=${words[1]}
	[[ " $_tally_commands " == *" $command "* ]] || return
	for ((i = 2; i < cword; i++)); do
		word=${words[i]}
		if [[ -n $pending ]]; then
			pending=
		elif [[ -n $ended || $word != -?* ]]; then
			case $command:$number in
			stat:0 | record:0 | watch:1) _tally_program "$i"; return ;;
			esac
			number=$((number + 1))
		elif [[ $word == -- ]]; then
			ended=1
		elif [[ $word == --* ]]; then
			! _tally_takes "$command" "$word" || pending=$word
		else
			# Letters follow each other up to one with a value, which may follow, too.
			while word=${word:1} && [[ -n $word ]]; do
				_tally_takes "$command" "-${word:0:1}" || continue
				((${#word} > 1)) || pending=-$word
				break
			done
		fi
	done
	if [[ $split == true && -z $ended ]]; then
		_tally_value "$prev"
	elif [[ -n $pending ]]; then
		_tally_value "$pending"
	elif [[ $cur == -* && -z $ended ]]; then
		_tally_option "$command"
	else
		_tally_argument "$command" "$number"
	fi
} && complete -F _tally tally
