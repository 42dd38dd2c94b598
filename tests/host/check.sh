#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=50
#
# scripts/check passes a small module that is right, and finds each mistake that this
# test puts into it. The module is compiled without a kernel's build system.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

check=$PWD/scripts/check
order=$PWD/scripts/order
tree=$work/tree

# fresh: makes two files. event/event.c may call base/count.c, and not the reverse.
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree"/src/module/{base,event} "$tree"/src/lib "$tree"/tests "$tree"/scripts \
		"$tree"/include/tally
	cd "$tree" || exit
	git init --quiet .
	printf '%s\n' '```order' 'main.c   the start' 'event/ | set/   both' 'base/     below' 'compat.h' \
		'```' >src/README.md
	printf '#!/bin/sh\nexit 0\n' >scripts/run
	# shellcheck disable=SC2016
	printf '%s\n' 'obj-m := tally.o' 'tally-y := $(addprefix src/module/,main.o base/count.o event/event.o)' \
		'ccflags-y := -I$(src)/include -I$(src)/src/module -DEXPORT_SYMBOL_TALLY=EXPORT_SYMBOL_GPL' >Kbuild
	printf '%s\n' '// SPDX-License-Identifier: GPL-2.0' '#include <linux/module.h>' '' \
		'MODULE_DESCRIPTION("Small");' 'MODULE_LICENSE("GPL");' >src/module/main.c
	cat >src/module/base/count.h <<-END
		/* SPDX-License-Identifier: GPL-2.0 */
		#ifndef TALLY_COUNT_H
		#define TALLY_COUNT_H

		int tally_count(int by);

		#endif
	END
	cat >src/module/base/count.c <<-END
		// SPDX-License-Identifier: GPL-2.0
		#include <linux/export.h>
		#include "base/count.h"

		int tally_count(int by)
		{
			return by + 1;
		}
		EXPORT_SYMBOL_TALLY(tally_count);
	END
	cat >include/tally/tally.h <<-END
		/* SPDX-License-Identifier: GPL-2.0 */
		#ifndef TALLY_H
		#define TALLY_H

		/**
		 * tally_count - add to a number
		 * @by: how many
		 *
		 * Context: Any.
		 * Return: the number.
		 */
		int tally_count(int by);

		#endif
	END
	mkdir -p tests/modules/consumer
	printf '%s\n' '/* SPDX-License-Identifier: GPL-2.0 */' \
		'ANSWERS(tally_count, ANYWHERE, true);' >tests/modules/consumer/null_rows.h
	cat >src/module/event/event.h <<-END
		/* SPDX-License-Identifier: GPL-2.0 */
		#ifndef TALLY_EVENT_H
		#define TALLY_EVENT_H

		int tally_event(void);
		int tally_event_again(void);

		#endif
	END
	printf '/* SPDX-License-Identifier: GPL-2.0 */\n' >src/module/compat.h
	: >README.md
	cat >src/module/event/event.c <<-END
		// SPDX-License-Identifier: GPL-2.0
		#include "base/count.h"
		#include "event/event.h"

		int tally_event(void)
		{
			return tally_count(1);
		}
	END
}

# Compiles the files, and prints what scripts/order reports for them.
ordered() {
	local file
	mkdir -p linux
	: >linux/export.h
	find src/module/*/ -name '*.c' | while read -r file; do
		gcc -w -D'EXPORT_SYMBOL_TALLY(x)=' -I. -Isrc/module -c -o "${file%.c}.o" "$file" || echo "$file does not compile"
	done
	"$order" src/README.md src/module src/module
}

# add FILE: appends standard input to the file.
add() { cat >>"src/module/$1"; }

# rightly COMMAND...: passes if the command accepts a module without a mistake.
rightly() (
	fresh
	"$@"
)

# finds MUTATION PATTERN COMMAND...: passes if the command fails, and prints PATTERN,
# after the function MUTATION has changed the module.
finds() (
	mutation=$1 pattern=$2
	shift 2
	fresh
	$mutation
	if "$@" >"$work/out" 2>&1; then
		cat "$work/out"
		exit 1
	fi
	cat "$work/out"
	grep -q -e "$pattern" "$work/out"
)

call_upwards() {
	sed -i 's/by + 1/tally_event() + by/' src/module/base/count.c
	echo 'int tally_event(void);' | add base/count.h
}
call_of_level() {
	mkdir src/module/set
	echo 'int tally_count(int); int tally_event(void); int tally_set(void) { return tally_event(); }' |
		add set/set.c
}
include_upwards() { sed -i '4i #include "event/event.h"' src/module/base/count.h; }
include_by_file() { sed -i 's,"base/count.h","count.h",' src/module/base/count.c; }
circle() {
	echo 'int tally_event(void); int tally_event_again(void) { return tally_event(); }' |
		add event/again.c
	sed -i 's/tally_count(1)/tally_event_again()/' src/module/event/event.c
}
new_folder() {
	mkdir src/module/new
	echo 'int tally_count(int); int tally_new(void) { return tally_count(2); }' | add new/new.c
}
lean_on_others() { sed -i 's/(int by)/(u32 by)/' src/module/base/count.h; }
long_file() { yes '/* more */' | head -600 | add base/count.c; }
long_function() {
	{
		printf 'int tally_long(void)\n{\n'
		yes '	tally_event();' | head -60
		printf '	return 0;\n}\n'
	} | add event/event.c
}
no_doc() { sed -i 's,^/\*\*,/*,' include/tally/tally.h; }
no_row() { : >tests/modules/consumer/null_rows.h; }
no_context() { sed -i '/Context:/d' include/tally/tally.h; }
wrong_doc() { sed -i 's/@by/@of/' include/tally/tally.h; }
bad_style() { printf 'int tally_style( void ) { return 1;}\n' | add base/count.c; }
# The word is put together, because codespell would find it in this file.
misspelt() { printf '/* recei%s */\n' ve | sed 's/ei/ie/' | add base/count.c; }
# shellcheck disable=SC2016
bad_shell() { printf '#!/bin/sh\ncd $1 && rm -r "$unset"/*\n' >scripts/run; }
lone_barrier() { printf '/*\n * A. None.\n */\n#define after barrier() /* B */\n' | add base/count.c; }
two_of_a_letter() {
	printf '/*\n * A. One.\n */\n#define after barrier() /* A */\n' | tee -a src/module/base/count.c | add event/event.c
}
# A script that passes, and then its library no longer sets the variable.
changed_lib() {
	echo external-sources=true >.shellcheckrc
	printf '# shellcheck shell=sh\nexport from_lib=1\n' >scripts/lib.sh
	printf '#!/bin/sh\n. scripts/lib.sh\necho "$from_lib"\n' >scripts/run
	part shellcheck || exit
	printf '# shellcheck shell=sh\n' >scripts/lib.sh
}
idle_probe() { mkdir src/module/probes && cp src/module/main.c src/module/probes/idle.c; }
version_check() { echo '#if LINUX_VERSION_CODE > 1' | add base/count.c; }

# use_unexported OPTION: calls a function that no kernel exports, in those with an option.
use_unexported() {
	printf '\n#ifdef CONFIG_%s\n#include <linux/sched/stat.h>\n%s\n#endif\n' "$1" \
		'int tally_tasks(void); int tally_tasks(void) { return nr_processes(); }' | add base/count.c
}

cloud_is_right() { use_unexported PREEMPT_RT && part compile-6.1-cloud-x86_64; }

unused() { sed -i 's/return by + 1/int unused; return by + 1/' src/module/base/count.c; }
not_static() { printf '\nint tally_lonely;\n' | add base/count.c; }

# The command fails again for a file that has not changed since.
twice() { ! "$@" >"$work/first" && "$@"; }

part() { "$check" --in "$tree" "$1"; }

check 'order: nothing' rightly ordered
check 'order: a call upwards' finds call_upwards 'count.c uses tally_event of event/event.c, which is above' ordered
check 'order: a call of what is level' finds call_of_level 'which is level' ordered
check 'order: an include upwards' finds include_upwards 'count.h includes a header of event/event.h, which is above' ordered
check 'order: an include that names no folder' finds include_by_file 'no header by its folder' ordered
check 'order: a circle in one folder' finds circle 'a circle of 2 files' ordered
check 'order: a folder that is not in it' finds new_folder 'not in the order' ordered
for part in build-debian-6.1 headers limits exported kernel-doc checkpatch codespell shellcheck \
	compat letters; do
	check "$part: nothing" rightly part $part
done
check 'build: a warning' finds unused 'unused variable' twice part build-debian-6.1
check 'build: a warning of sparse' finds not_static 'tally_lonely. was not declared' twice part build-debian-6.1
for part in compile-6.1-rt-x86_64 compile-6.12-stock-riscv64; do
	check "$part: nothing" rightly part $part
done
check 'compile: an unexported function in one flavour' finds 'use_unexported PREEMPT_RT' \
	'nr_processes.*undefined' twice part compile-6.1-rt-x86_64
check 'compile: which the others do not call' rightly cloud_is_right
skip=
! rightly part compile-6.12-stock-riscv64 | grep -q '# SKIP ' || skip='# SKIP its kernel cannot be fetched now'
check "compile: an unexported function on one architecture $skip" ${skip:+true} \
	finds 'use_unexported RISCV' 'nr_processes.*undefined' twice part compile-6.12-stock-riscv64
check 'headers: one that leans on others' finds lean_on_others u32 part headers
check 'limits: a file' finds long_file 'count.c: 6[0-9]* lines, at most 600' part limits
check 'limits: a function' finds long_function 'event.c:.* lines, at most 60' part limits
check 'exported: no kernel-doc' finds no_doc 'tally_count() lacks kernel-doc' part exported
check 'exported: no context' finds no_context 'lacks a line "Context:"' part exported
check 'exported: no call with NULL' finds no_row '< tally_count' part exported
check 'kernel-doc: a parameter' finds wrong_doc "'by' not described" twice part kernel-doc
check 'checkpatch: blanks' finds bad_style SPACING twice part checkpatch
check 'codespell: a word' finds misspelt '==> receive' part codespell
check 'shellcheck: a variable' finds bad_shell SC2154 twice part shellcheck
check 'shellcheck: a variable that a library has lost' finds changed_lib SC2154 twice part shellcheck
check 'compat: a version check' finds version_check LINUX_VERSION part compat
check 'compat: a probe that is not compiled' finds idle_probe '< idle' part compat
check 'letters: a barrier that no comment explains' finds lone_barrier 'no comment defines B' part letters
check 'letters: a comment without a barrier' finds lone_barrier 'no barrier is marked A' part letters
check 'letters: one that stands for two' finds two_of_a_letter 'stands in base/count.c, too' part letters
check 'letters: one that is not listed' finds two_of_a_letter 'A is defined in .*, listed as nowhere' part letters
# shellcheck source=scripts/lib.sh
(. scripts/lib.sh && checkout=$tree && rm -rf "$(dirname "$(build_folder debian-6.1)")")
finish
