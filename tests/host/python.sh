#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check: seconds=20
#
# The Python module of the library: types, mirrors of the C structs, events of perf, a fake
# device, the installation. And the dashboard for what `tally export` writes.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src/lib MYPYPATH=src/lib:tests/lib
export TALLY_LIBRARY=$work/lib/libtally.so.0

types() {
	mypy --strict --python-version 3.9 --cache-dir "$work/mypy" "$@"
}

# The numbers of ioctls of a 64-bit PowerPC, as its headers have them.
other_ioctls() {
	python3 -c '
import platform
platform.machine = lambda: "ppc64le"
import tally
assert tally.PERF_EVENT_IOC_DISABLE == 0x20002401, tally.PERF_EVENT_IOC_DISABLE
assert tally.PERF_EVENT_IOC_ID == 0x40082407, tally.PERF_EVENT_IOC_ID'
}

build_library() {
	make -s -j"$(nproc)" -f src/lib/lib.mk OUT="$work/lib" CFLAGS=-O1
}

# run NAME PROGRAM...: each "ok" or "bad" of the program is a test of its own.
run() {
	local name=$1 line status
	shift
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	while IFS= read -r line; do
		case $line in
		ok\ *) check "$name: ${line#ok }" true ;;
		bad\ *) check "$name: ${line#bad }" false ;;
		*) echo "$line" ;;
		esac
	done <"$work/out"
	check "$name ends well" test "$status" = 0 -a -s "$work/out" -a ! -s "$work/err"
	head -30 "$work/err" | sed 's/^/# /'
}

layout() {
	mkdir -p "$work/layout" && python3 tests/lib/layout.py "$1" "$work/layout"
}

# notices TEXT FROM TO COMMAND...: with a change in tally.py, the command fails and prints the text.
notices() {
	local text=$1 from=$2 to=$3
	shift 3
	mkdir -p "$work/changed" && sed "s/$from/$to/" src/lib/tally.py >"$work/changed/tally.py" || return
	! cmp -s src/lib/tally.py "$work/changed/tally.py" || { echo 'nothing is changed'; return 1; }
	! PYTHONPATH=$work/changed "$@" >"$work/notice" 2>&1 || { echo 'nothing is noticed'; return 1; }
	cat "$work/notice"
	grep -qF "$text" "$work/notice"
}

changed_types() { types "$work/changed/tally.py"; }

# Without the library, and with one that is no libtally, the module says so when it is used.
no_library() {
	local file
	for file in /no/such/library libc.so.6; do
		TALLY_LIBRARY=$file python3 -c 'import tally; tally.Device()' 2>"$work/err" && return 1
		cat "$work/err"
		grep -q '^tally.TallyError: libtally cannot be loaded (TALLY_LIBRARY may name its file): ' \
			"$work/err" || return
	done
	grep -q 'libtally_device_open' "$work/err"
}

# The installed module finds the installed library by itself.
installs() {
	local dir=/usr/lib/python3/dist-packages
	make -s -f src/lib/lib.mk OUT="$work/lib" CFLAGS=-O1 DESTDIR="$work/dest" PREFIX=/usr install &&
		cmp src/lib/tally.py "$work/dest$dir/tally.py" &&
		make -s -f src/lib/lib.mk OUT="$work/lib" CFLAGS=-O1 DESTDIR="$work/dest" PREFIX=/usr \
			PYTHONDIR=/opt/python install &&
		cmp src/lib/tally.py "$work/dest/opt/python/tally.py" &&
		(cd / && env -u TALLY_LIBRARY PYTHONPATH="$work/dest$dir" LD_LIBRARY_PATH="$work/dest/usr/lib" \
			python3 -c 'import tally; assert tally.Value(1, 4, 2, "off").scaled == 2')
}

metrics() {
	gcc -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc/lib -Isrc/tool -o "$work/metrics" \
		tests/lib/metrics.c src/tool/openmetrics.c src/tool/say.c "$work/lib/libtally.a" &&
		"$work/metrics" >"$work/plain" && "$work/metrics" open >"$work/open"
}

hides() {
	! grep -i 'ffffffff\|1844674407' "$work/plain" "$work/open" &&
		grep -F 'tally_event_state{event="id:5",what="mem:0x?,0x?,1234567890",owner="tally",cpu="all"} 0' \
			"$work/plain" &&
		grep -F 'tally_event_state{event="id:3",what="kprobe:0x?/config=0x1234/",owner="tally",cpu="all"} 8' \
			"$work/plain"
}

# Megabytes become bytes, and of the bytes of a path those stay that are text.
in_base_units() {
	grep -F 'tally_event_total{event="set/member",what="power/dram/",owner="tally",cpu="2",pid="3",cgroup="/a\\x2d\\377ä",unit="bytes",set="set"} 3072.000000000' \
		"$work/plain"
}

# The counter of a gauge would seem to begin anew when it falls.
has_gauge() {
	grep -qx '# TYPE tally_event_gauge gauge' "$1" &&
		! grep 'tally_event_total{event="level"' "$1" &&
		grep -F 'tally_event_gauge{event="level",what="thermal/zone/",owner="tally",cpu="0",unit="C"} -10.500000000' "$1"
}

dashboard() {
	python3 tests/lib/dashboard.py "${2-src/tool/dashboard.json}" "$work/$1"
}

# faulty TEXT FROM TO: in a dashboard with this change, the fault is found.
faulty() {
	sed "s/$2/$3/" src/tool/dashboard.json >"$work/dashboard.json"
	! cmp -s src/tool/dashboard.json "$work/dashboard.json" || { echo 'nothing is changed'; return 1; }
	! dashboard plain "$work/dashboard.json" >"$work/notice" 2>&1 || { echo 'nothing is found'; return 1; }
	cat "$work/notice"
	grep -qF "$1" "$work/notice"
}

check 'mypy --strict, Python 3.9' types src/lib/tally.py tests/lib/*.py
check 'mypy notices a wrong type' notices error 'value: int$' 'value: str' changed_types
for part in structs constants functions; do
	check "$part are those of C" layout $part
done
check 'a member that is missing is noticed' notices 'struct libtally_running.lost: at' \
	'^    missed: U64$' '' layout structs
check 'a member of another size is noticed' notices 'struct libtally_sample.cpu: at' \
	'^    cpu: U32$' '    cpu: U64' layout structs
check 'a bit at another place is noticed' notices 'struct perf_event_attr.exclude_kernel: bits' \
	'^    pinned: Bit$' '' layout structs
check 'a wrong constant is noticed' notices 'PERF_SAMPLE_CPU: ' \
	'^PERF_SAMPLE_CPU = 1 << 7' 'PERF_SAMPLE_CPU = 1 << 6' layout constants
check 'a wrong argument is noticed' notices 'libtally_reader_poll: ' \
	"'libtally_reader_poll': (ctypes.c_int" "'libtally_reader_poll': (ctypes.c_long" layout functions
check 'the ioctls of another machine' other_ioctls
check 'the library builds' build_library
run perf python3 tests/lib/binding.py
check 'the fake device builds' build_device
run device env LD_PRELOAD="$work/device.so" python3 tests/lib/on_device.py
check 'a library that cannot be loaded: a sentence' no_library
check 'make lib-install' installs
check 'the metrics are written' metrics
check 'an address is hidden' hides
check 'a unit is a base unit, and a path is text' in_base_units
check 'a gauge is no counter' has_gauge "$work/plain"
check 'a gauge is no counter in OpenMetrics' has_gauge "$work/open"
check 'the dashboard shows the metrics of Prometheus' dashboard plain
check 'the dashboard shows the metrics of OpenMetrics' dashboard open
check 'an unknown metric is found' faulty 'there is no metric tally_event_dropped_total' \
	tally_event_lost_total tally_event_dropped_total
check 'a metric that is not shown is found' faulty 'tally_event_missed_total is not shown' \
	tally_event_missed_total tally_event_lost_total
check 'an unknown label is found' faulty 'there is no label name' '{event=~' '{name=~'
check 'an unknown value of a label is found' faulty 'the label cpu has no value none' \
	'cpu!=..all' 'cpu!=\\"none'
check 'an unknown label of a legend is found' faulty 'the legend has no label core' '{{cpu}}' '{{core}}'
check 'a label that an aggregate drops is found' faulty 'the legend has no label event' \
	'"rate(\(tally_event_overflows_total[^)]*\))"' '"sum(rate(\1))"'
check 'an unknown state is found' faulty 'silent is shown as quiet' '"silent"' '"quiet"'
check 'an unknown function is found' faulty 'irate2 is no function' 'increase(' 'irate2('
check 'an unknown variable is found' faulty 'there is no variable evnt' '\$event' '$evnt'
check 'a variable without its label is found' faulty 'with the label events' \
	'tally_event_state, event)' 'tally_event_state, events)'
check 'panels that overlap are found' faulty 'lies over' '"y": 23' '"y": 20'
finish
