# SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
"""Counters of the kernel for scripts: libtally in Python.

tally.py serves /dev/tally and perf_event_open(2) alike:

    import tally

    with tally.Device() as device:
        device.create('page-faults name=faults')
        with device.attach('faults') as faults:
            print(faults.read().value)

    with tally.open_event('page-faults', via='perf') as counter:
        work()
        print(counter.read().value)

    with tally.Reader() as reader:
        reader.open('cpu-clock:u', pid=1234, period=1000000, callchain=True, via='perf')
        for sample in reader:       # until the task ends
            print(sample.tid, hex(sample.ip))

A call that fails raises TallyError, with errno and a sentence. Different threads may use
different objects; one object serves one thread at a time. A child of os.fork() may use counters
and devices, but can only close a reader, which serves the process that made it. The structs and
constants are those of <libtally.h> and <linux/perf_event.h>. The library is libtally.so.0; the
environment variable TALLY_LIBRARY may name its file.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import errno
import fcntl
import functools
import io
import math
import os
import platform
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import (Annotated, Any, Callable, Dict, Iterator, List, Literal, NamedTuple, Optional, Tuple, Type,
                    TypeVar, Union, get_type_hints)

__all__ = ['Attr', 'Counter', 'Device', 'Reader', 'Running', 'Sample', 'TallyError', 'Unit',
           'Value', 'open_event']

PERF_TYPE_HARDWARE = 0
PERF_TYPE_SOFTWARE = 1
PERF_TYPE_TRACEPOINT = 2
PERF_TYPE_HW_CACHE = 3
PERF_TYPE_RAW = 4
PERF_TYPE_BREAKPOINT = 5

PERF_COUNT_HW_CPU_CYCLES = 0
PERF_COUNT_HW_INSTRUCTIONS = 1
PERF_COUNT_HW_CACHE_REFERENCES = 2
PERF_COUNT_HW_CACHE_MISSES = 3
PERF_COUNT_HW_BRANCH_INSTRUCTIONS = 4
PERF_COUNT_HW_BRANCH_MISSES = 5
PERF_COUNT_HW_BUS_CYCLES = 6
PERF_COUNT_HW_STALLED_CYCLES_FRONTEND = 7
PERF_COUNT_HW_STALLED_CYCLES_BACKEND = 8
PERF_COUNT_HW_REF_CPU_CYCLES = 9

PERF_COUNT_SW_CPU_CLOCK = 0
PERF_COUNT_SW_TASK_CLOCK = 1
PERF_COUNT_SW_PAGE_FAULTS = 2
PERF_COUNT_SW_CONTEXT_SWITCHES = 3
PERF_COUNT_SW_CPU_MIGRATIONS = 4
PERF_COUNT_SW_PAGE_FAULTS_MIN = 5
PERF_COUNT_SW_PAGE_FAULTS_MAJ = 6
PERF_COUNT_SW_ALIGNMENT_FAULTS = 7
PERF_COUNT_SW_EMULATION_FAULTS = 8

PERF_SAMPLE_IP = 1 << 0
PERF_SAMPLE_TID = 1 << 1
PERF_SAMPLE_TIME = 1 << 2
PERF_SAMPLE_ADDR = 1 << 3
PERF_SAMPLE_CALLCHAIN = 1 << 5
PERF_SAMPLE_CPU = 1 << 7
PERF_SAMPLE_PERIOD = 1 << 8

PERF_FORMAT_TOTAL_TIME_ENABLED = 1 << 0
PERF_FORMAT_TOTAL_TIME_RUNNING = 1 << 1
PERF_FORMAT_GROUP = 1 << 3

PERF_RECORD_LOST = 2
PERF_RECORD_THROTTLE = 5
PERF_RECORD_SAMPLE = 9
PERF_RECORD_LOST_SAMPLES = 13

# The directions of <asm/ioctl.h>, which some machines have at other bits.
_IOC_NONE, _IOC_READ = ((1 << 29, 2 << 29) if platform.machine().startswith(
    ('alpha', 'mips', 'ppc', 'sparc')) else (0, 2 << 30))

PERF_EVENT_IOC_ENABLE = _IOC_NONE | 0x2400
PERF_EVENT_IOC_DISABLE = _IOC_NONE | 0x2401
PERF_EVENT_IOC_RESET = _IOC_NONE | 0x2403
PERF_EVENT_IOC_ID = _IOC_READ | ctypes.sizeof(ctypes.c_void_p) << 16 | 0x2407

PERF_CONTEXT_MAX = 2**64 - 4095

LIBTALLY_ERROR_SIZE = 128
LIBTALLY_LINE_CREATE = 0
LIBTALLY_LINE_REMOVE = 1
LIBTALLY_LINE_ENABLE = 2
LIBTALLY_LINE_DISABLE = 3
LIBTALLY_VIA_PERF = 0
LIBTALLY_VIA_DEVICE = 1

Via = Literal['device', 'perf']

_VIA: Dict[str, int] = {'device': LIBTALLY_VIA_DEVICE, 'perf': LIBTALLY_VIA_PERF}

# A group of /dev/tally has at most 64 events.
_MOST_VALUES = 64


class TallyError(OSError):
    """A call that failed: errno, and a sentence without a full stop."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(number, text)
        self.text = text

    def __str__(self) -> str:
        return self.text


# ---- Mirrors of the C structs ----
#
# A mirror's annotations are its members, in C's order: the type in Python, and the type in C with
# the width of a bit-field. A member of a union has the name of the member at the same place.

Int = Annotated[int, ctypes.c_int]
UInt = Annotated[int, ctypes.c_uint]
ULong = Annotated[int, ctypes.c_ulong]
Size = Annotated[int, ctypes.c_size_t]
U8 = Annotated[int, ctypes.c_uint8]
U16 = Annotated[int, ctypes.c_uint16]
U32 = Annotated[int, ctypes.c_uint32]
S32 = Annotated[int, ctypes.c_int32]
U64 = Annotated[int, ctypes.c_uint64]
Bit = Annotated[int, ctypes.c_uint64, 1]
Address = Annotated[Optional[int], ctypes.c_void_p]
Text = Annotated[Optional[bytes], ctypes.c_char_p]
Double = Annotated[float, ctypes.c_double]
Text32 = Annotated[bytes, ctypes.c_char * 32]
Text64 = Annotated[bytes, ctypes.c_char * 64]
Text128 = Annotated[bytes, ctypes.c_char * 128]
Text256 = Annotated[bytes, ctypes.c_char * 256]

_Mirror = TypeVar('_Mirror', bound=Union[ctypes.Structure, ctypes.Union])

# Each mirror by its type in C.
_MIRRORS: Dict[str, Type[Any]] = {}


def _mirrors(c_type: str) -> Callable[[Type[_Mirror]], Type[_Mirror]]:
    """Gives a class the members that its annotations name."""
    def define(cls: Type[_Mirror]) -> Type[_Mirror]:
        fields: List[Any] = []
        same_place: Dict[str, str] = {}
        for name, hint in get_type_hints(cls, include_extras=True).items():
            c_member = getattr(hint, '__metadata__', (hint,))
            if isinstance(c_member[0], str):
                same_place[name] = c_member[0]
            else:
                fields.append((name, *c_member))
        setattr(cls, '_fields_', fields)
        for name, other in same_place.items():
            setattr(cls, name, getattr(cls, other))
        _MIRRORS[c_type] = cls
        return cls
    return define


@_mirrors('struct perf_event_attr')
class Attr(ctypes.Structure):
    """What an event counts and samples: struct perf_event_attr of Linux 6.3, all members 0 but
    those given."""

    type: U32
    size: U32
    config: U64
    sample_period: U64
    sample_freq: Annotated[int, 'sample_period']
    sample_type: U64
    read_format: U64
    disabled: Bit
    inherit: Bit
    pinned: Bit
    exclusive: Bit
    exclude_user: Bit
    exclude_kernel: Bit
    exclude_hv: Bit
    exclude_idle: Bit
    mmap: Bit
    comm: Bit
    freq: Bit
    inherit_stat: Bit
    enable_on_exec: Bit
    task: Bit
    watermark: Bit
    precise_ip: Annotated[int, ctypes.c_uint64, 2]
    mmap_data: Bit
    sample_id_all: Bit
    exclude_host: Bit
    exclude_guest: Bit
    exclude_callchain_kernel: Bit
    exclude_callchain_user: Bit
    mmap2: Bit
    comm_exec: Bit
    use_clockid: Bit
    context_switch: Bit
    write_backward: Bit
    namespaces: Bit
    ksymbol: Bit
    bpf_event: Bit
    aux_output: Bit
    cgroup: Bit
    text_poke: Bit
    build_id: Bit
    inherit_thread: Bit
    remove_on_exec: Bit
    sigtrap: Bit
    _reserved_1: Annotated[int, ctypes.c_uint64, 26]
    wakeup_events: U32
    wakeup_watermark: Annotated[int, 'wakeup_events']
    bp_type: U32
    bp_addr: U64
    kprobe_func: Annotated[int, 'bp_addr']
    uprobe_path: Annotated[int, 'bp_addr']
    config1: Annotated[int, 'bp_addr']
    bp_len: U64
    kprobe_addr: Annotated[int, 'bp_len']
    probe_offset: Annotated[int, 'bp_len']
    config2: Annotated[int, 'bp_len']
    branch_sample_type: U64
    sample_regs_user: U64
    sample_stack_user: U32
    clockid: S32
    sample_regs_intr: U64
    aux_watermark: U32
    sample_max_stack: U16
    _reserved_2: U16
    aux_sample_size: U32
    _reserved_3: U32
    sig_data: U64
    config3: U64

    def __init__(self, type: int = 0, config: int = 0, **members: int) -> None:
        super().__init__(type=type, config=config, size=ctypes.sizeof(Attr), **members)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a member. ctypes would take any other name, and cut a number to its bits."""
        if not hasattr(Attr, name):
            raise AttributeError(f'struct perf_event_attr has no member {name}')
        before = getattr(self, name)
        super().__setattr__(name, value)
        if getattr(self, name) != value:
            super().__setattr__(name, before)
            raise ValueError(f'{name} has no room for {value}')

    def copy(self) -> Attr:
        """Returns a copy."""
        return Attr.from_buffer_copy(self)


@_mirrors('struct libtally_target')
class _Target(ctypes.Structure):
    via: Int
    pid: Int
    cpu: Int
    group_fd: Int
    device: Int
    flags: UInt
    perf_flags: ULong
    name: Text
    error: Text128
    id: U64
    open: Address
    data: Address


@_mirrors('struct libtally_running')
class _Running(ctypes.Structure):
    id: U64
    config: U64
    type: U32
    cpu: S32
    pid: S32
    state: U32
    has_more: U32
    name: Text64
    owner: Text64
    what: Text128
    of_file: U32
    overflows: U64
    missed: U64
    lost: U64
    throttled: U64
    cgroup: Text256


@_mirrors('struct libtally_unit')
class _Unit(ctypes.Structure):
    scale: Double
    unit: Text32
    gauge: U32


@_mirrors('struct libtally_value')
class _Value(ctypes.Structure):
    value: U64
    enabled: U64
    running: U64
    id: U64
    state: U32
    reserved: U32


@_mirrors('struct libtally_counts')
class _Counts(ctypes.Structure):
    format: U64
    nr: U64
    enabled: U64
    running: U64
    words: Address
    stride: U64


@_mirrors('struct libtally_count_entry')
class _CountEntry(ctypes.Structure):
    value: U64
    id: U64
    lost: U64
    enabled: U64
    running: U64


@_mirrors('struct libtally_id')
class _Id(ctypes.Structure):
    has: U64
    time: U64
    id: U64
    stream_id: U64
    pid: U32
    tid: U32
    cpu: U32
    reserved: U32


@_mirrors('struct libtally_raw')
class _Raw(ctypes.Structure):
    data: Address
    size: Size


@_mirrors('struct libtally_regs')
class _Regs(ctypes.Structure):
    abi: U64
    mask: U64
    nr: U64
    regs: Address


@_mirrors('struct libtally_sample')
class _Sample(ctypes.Structure):
    has: U64
    ip: U64
    pid: U32
    tid: U32
    time: U64
    addr: U64
    id: U64
    stream_id: U64
    cpu: U32
    cpu_reserved: U32
    period: U64
    counts: _Counts
    nr_ips: U64
    ips: Address
    raw: Address
    raw_size: U32
    has_hw_idx: U32
    nr_branches: U64
    hw_idx: U64
    branches: Address
    branch_counters: Address
    regs_user: _Regs
    regs_intr: _Regs
    stack: Address
    stack_size: U64
    stack_used: U64
    weight: U64
    data_src: U64
    transaction: U64
    phys_addr: U64
    cgroup: U64
    data_page_size: U64
    code_page_size: U64
    aux: Address
    aux_size: U64
    rest: _Raw


@_mirrors('struct libtally_mmap')
class _Mmap(ctypes.Structure):
    pid: U32
    tid: U32
    addr: U64
    len: U64
    pgoff: U64
    filename: Text
    maj: U32
    min: U32
    ino: U64
    ino_generation: U64
    build_id_size: U32
    build_id: Address
    prot: U32
    flags: U32


@_mirrors('struct libtally_comm')
class _Comm(ctypes.Structure):
    pid: U32
    tid: U32
    comm: Text


@_mirrors('struct libtally_task')
class _Task(ctypes.Structure):
    pid: U32
    ppid: U32
    tid: U32
    ptid: U32
    time: U64


@_mirrors('struct libtally_throttle')
class _Throttle(ctypes.Structure):
    time: U64
    id: U64
    stream_id: U64


@_mirrors('struct libtally_lost')
class _Lost(ctypes.Structure):
    id: U64
    lost: U64


@_mirrors('struct libtally_read_record')
class _ReadRecord(ctypes.Structure):
    pid: U32
    tid: U32
    counts: _Counts


@_mirrors('struct libtally_aux')
class _Aux(ctypes.Structure):
    offset: U64
    size: U64
    flags: U64


@_mirrors('struct libtally_pid_tid')
class _PidTid(ctypes.Structure):
    pid: U32
    tid: U32


@_mirrors('struct libtally_namespaces')
class _Namespaces(ctypes.Structure):
    pid: U32
    tid: U32
    nr: U64
    links: Address


@_mirrors('struct libtally_ksymbol')
class _Ksymbol(ctypes.Structure):
    addr: U64
    len: U32
    ksym_type: U16
    flags: U16
    name: Text


@_mirrors('struct libtally_bpf_event')
class _BpfEvent(ctypes.Structure):
    type: U16
    flags: U16
    id: U32
    tag: Address


@_mirrors('struct libtally_cgroup')
class _Cgroup(ctypes.Structure):
    id: U64
    path: Text


@_mirrors('struct libtally_text_poke')
class _TextPoke(ctypes.Structure):
    addr: U64
    old_len: U16
    new_len: U16
    old_bytes: Address
    new_bytes: Address


@_mirrors('__typeof__(((struct libtally_record *)0)->u)')
class _Members(ctypes.Union):
    mmap: _Mmap
    lost: _Lost
    comm: _Comm
    task: _Task
    throttle: _Throttle
    read: _ReadRecord
    sample: _Sample
    aux: _Aux
    itrace_start: _PidTid
    switch_cpu_wide: _PidTid
    namespaces: _Namespaces
    ksymbol: _Ksymbol
    bpf_event: _BpfEvent
    cgroup: _Cgroup
    text_poke: _TextPoke
    aux_output_hw_id: U64


@_mirrors('struct libtally_record')
class _Record(ctypes.Structure):
    type: U32
    misc: U16
    size: U16
    known: U32
    header: Address
    format: Address
    id: _Id
    raw: _Raw
    extra: _Raw
    u: _Members


# ---- The library ----

# Each function's result and arguments.
_PROTOTYPES: Dict[str, Tuple[Any, ...]] = {
    'libtally_device_open': (ctypes.c_int, ctypes.c_char_p),
    'libtally_device_parse': (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p,
                              ctypes.c_size_t, ctypes.c_char_p),
    'libtally_device_unit': (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Unit),
                             ctypes.c_char_p),
    'libtally_device_line': (ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p,
                             ctypes.c_char_p),
    'libtally_device_next': (ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Running)),
    'libtally_device_attach': (ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p,
                               ctypes.c_uint64, ctypes.c_char_p),
    'libtally_device_attach_total': (ctypes.c_int, ctypes.c_int, ctypes.c_uint64,
                                     ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p),
    'libtally_state_name': (ctypes.c_char_p, ctypes.c_uint),
    'libtally_values_read': (ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Value),
                             ctypes.c_uint, ctypes.POINTER(ctypes.c_int)),
    'libtally_page_map': (ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)),
    'libtally_page_unmap': (None, ctypes.c_void_p),
    'libtally_page_values': (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Value), ctypes.c_uint,
                             ctypes.POINTER(ctypes.c_uint64)),
    'libtally_reader_new': (ctypes.c_void_p,),
    'libtally_reader_free': (None, ctypes.c_void_p),
    'libtally_reader_next': (ctypes.c_void_p, ctypes.c_void_p),
    'libtally_reader_parse': (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.POINTER(_Record)),
    'libtally_reader_late': (ctypes.c_uint64, ctypes.c_void_p),
    'libtally_reader_poll': (ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
    'libtally_reader_snapshot': (ctypes.c_int, ctypes.c_void_p),
    'libtally_reader_open': (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Attr),
                             ctypes.POINTER(_Target), ctypes.c_size_t, ctypes.c_char_p),
    'libtally_reader_ioctl': (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong),
    'libtally_open_event': (ctypes.c_int, ctypes.POINTER(Attr), ctypes.POINTER(_Target)),
    'libtally_read_counts': (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_uint64, ctypes.POINTER(_Counts)),
    'libtally_read_size': (ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint),
    'libtally_counts_get': (ctypes.c_int, ctypes.POINTER(_Counts), ctypes.c_uint64,
                            ctypes.POINTER(_CountEntry)),
    'libtally_scaled': (ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64,
                        ctypes.POINTER(ctypes.c_uint64)),
}


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    """Loads the library when it is first needed."""
    path = (os.environ.get('TALLY_LIBRARY') or ctypes.util.find_library('tally') or
            'libtally.so.0')
    try:
        library = ctypes.CDLL(path)
        for name, (result, *arguments) in _PROTOTYPES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise TallyError(errno.ENOENT, f'libtally cannot be loaded (TALLY_LIBRARY may name its '
                                       f'file): {error}') from None
    return library


def _error_text() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(LIBTALLY_ERROR_SIZE)


def _checked(result: int, text: bytes = b'') -> int:
    """Returns the result of a call; raises TallyError for a negative errno."""
    if result < 0:
        raise TallyError(-result, os.fsdecode(text) or os.strerror(-result))
    return result


def _bytes(text: str) -> bytes:
    """Returns the bytes of a text for C, where a NUL would end it."""
    if '\0' in text:
        raise ValueError('a name or line has no NUL')
    return os.fsencode(text)


# ---- Ends of objects ----

def _unmap(process: int, unmap: Callable[[int], Any], address: int) -> None:
    # A child of fork() has none of the mappings, and may have others at their addresses.
    if process == os.getpid():
        unmap(address)


def _at_end(owner: object, free: Callable[..., Any], *arguments: Any) -> weakref.finalize:
    """Frees something with its owner; at exit not at all, as other threads may still use it."""
    finalizer = weakref.finalize(owner, free, *arguments)
    finalizer.atexit = False
    return finalizer


# ---- Counts ----

@dataclass(frozen=True)
class Value:
    """Count of an event.

    value    count, as the PMU counted it; no count if running is 0
    enabled  nanoseconds the event was enabled, summed over CPUs
    running  nanoseconds the event counted, summed over CPUs
    state    'active', 'off', ...; '?' for a file of perf, which reports no state
    time     CLOCK_MONOTONIC of the page of counts, in nanoseconds; 0 for a page without a count
             yet, and for a value that was not read from a page
    """

    value: int
    enabled: int
    running: int
    state: str
    time: int = 0

    @property
    def scaled(self) -> Optional[int]:
        """Estimate for an event that had the PMU for a part of its time: value * enabled /
        running, rounded down. None if the event did not run."""
        result = ctypes.c_uint64()
        error: int = _library().libtally_scaled(self.value, self.enabled, self.running,
                                                ctypes.byref(result))
        return None if error < 0 else result.value


class Unit(NamedTuple):
    """How the count of an event is printed: struct libtally_unit.

    scale  factor of the count; 1 for none
    unit   unit of the product; empty for none
    gauge  whether the count is a level, such as a temperature: only the last value has a meaning,
           as a signed number, and it may fall
    """

    scale: float
    unit: str
    gauge: bool


@dataclass(frozen=True)
class Running:
    """An event of any owner: struct libtally_running.

    id         id of the event
    type       perf_event_attr's type
    config     perf_event_attr's config; 0 if the caller may not see it
    cpu        CPU; -1 for all CPUs, or for every CPU that the task runs on
    pid        task; 0 for one outside of the caller's PID namespace, -1 for all tasks
    state      'active', 'off', ...
    name       name; empty if the caller may not see it
    owner      kernel module that made the event
    what       the event as a line for debugfs; empty if the caller may not see it
    overflows  overflows since the event was made; None, here and below, if it is not known
    missed     overflows without a call of a handler, and hits that a kernel probe missed
    lost       number of records that found no room in a ring
    throttled  number of times that too many overflows turned the event off
    cgroup     path of the cgroup whose tasks count; empty for none
    of_file    whether the event belongs to an open file, and ends with it
    """

    id: int
    type: int
    config: int
    cpu: int
    pid: int
    state: str
    name: str
    owner: str
    what: str
    overflows: Optional[int]
    missed: Optional[int]
    lost: Optional[int]
    throttled: Optional[int]
    cgroup: Optional[str]
    of_file: bool = False


def _state_name(state: int) -> str:
    name: bytes = _library().libtally_state_name(state)
    return name.decode()


def _value_of(value: _Value, time: int = 0) -> Value:
    return Value(value.value, value.enabled, value.running, _state_name(value.state), time)


def _running_of(event: _Running) -> Running:
    more = bool(event.has_more)
    return Running(
        id=event.id, type=event.type, config=event.config, cpu=event.cpu, pid=event.pid,
        state=_state_name(event.state), name=os.fsdecode(event.name),
        owner=os.fsdecode(event.owner), what=os.fsdecode(event.what),
        overflows=event.overflows if more else None, missed=event.missed if more else None,
        lost=event.lost if more else None, throttled=event.throttled if more else None,
        cgroup=os.fsdecode(event.cgroup) if more else None, of_file=bool(event.of_file))


_Self = TypeVar('_Self', bound='_File')


class _File:
    """An open file, which is closed at the end of a with statement."""

    def __init__(self, fd: int) -> None:
        self._file = io.FileIO(fd)

    def fileno(self) -> int:
        """Returns the descriptor, for select and poll; ValueError if the file is closed."""
        return self._file.fileno()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class Counter(_File):
    """An open event. open_event() and Device.attach() make counters."""

    def enable(self) -> None:
        """Lets the event count. An attached event is its owner's: EPERM."""
        self._ioctl(PERF_EVENT_IOC_ENABLE)

    def disable(self) -> None:
        """Lets the event stand still; it keeps its count. An attached event: EPERM."""
        self._ioctl(PERF_EVENT_IOC_DISABLE)

    def reset(self) -> None:
        """Sets the count to 0. The times go on."""
        self._ioctl(PERF_EVENT_IOC_RESET)

    @property
    def id(self) -> int:
        """The event's id; for an event of /dev/tally, the one in Running."""
        number = ctypes.c_uint64()
        self._ioctl(PERF_EVENT_IOC_ID, number)
        return number.value

    def read(self) -> Value:
        """Reads the count, by a system call."""
        return self.read_group()[0]

    def read_group(self) -> List[Value]:
        """Reads the event and, for the leader of a group, all members, by one system call."""
        raise NotImplementedError

    def page(self) -> Value:
        """Reads the page of counts, which /dev/tally publishes at intervals. Only the first call
        takes a system call."""
        raise TallyError(errno.EOPNOTSUPP, 'perf publishes no page of counts')

    def _ioctl(self, request: int, argument: Union[int, ctypes.c_uint64] = 0) -> None:
        try:
            fcntl.ioctl(self.fileno(), request, argument)
        except OSError as error:
            raise TallyError(error.errno or errno.EIO, os.strerror(error.errno or errno.EIO)
                             ) from None


class _PerfCounter(Counter):
    """An event of perf_event_open(2)."""

    def __init__(self, fd: int, read_format: int) -> None:
        super().__init__(fd)
        self._read_format = read_format

    def read_group(self) -> List[Value]:
        size: int = _library().libtally_read_size(self._read_format, _MOST_VALUES)
        words = (ctypes.c_uint64 * (size // 8))()
        counts = _Counts()
        result: int = _library().libtally_read_counts(self.fileno(), words, size,
                                                      self._read_format, ctypes.byref(counts))
        if result == -errno.ENODATA:
            raise TallyError(errno.ENODATA, 'the event has no count: it is in the error state')
        _checked(result)
        return [self._nth(counts, n) for n in range(counts.nr)]

    @staticmethod
    def _nth(counts: _Counts, n: int) -> Value:
        entry = _CountEntry()
        _library().libtally_counts_get(ctypes.byref(counts), n, ctypes.byref(entry))
        return Value(entry.value, counts.enabled, counts.running, '?')


class _DeviceCounter(Counter):
    """An event of /dev/tally, made or attached."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._page: Optional[int] = None
        self._page_process = 0
        self._unmap: Optional[Callable[[], Any]] = None

    def read_group(self) -> List[Value]:
        values = (_Value * _MOST_VALUES)()
        number = _checked(_library().libtally_values_read(self.fileno(), -1, values, _MOST_VALUES,
                                                          None))
        return [_value_of(value) for value in values[:number]]

    def page(self) -> Value:
        value = _Value()
        time = ctypes.c_uint64()
        number = _checked(_library().libtally_page_values(self._map(), ctypes.byref(value), 1,
                                                          ctypes.byref(time)))
        if not number:
            raise TallyError(errno.ENODATA, 'the page of counts is empty')
        return _value_of(value, time.value)

    def close(self) -> None:
        if self._unmap:
            self._unmap()
        self._page = None
        super().close()

    def _map(self) -> int:
        """Returns the address of the page, which is mapped by the first call of a process."""
        fd = self.fileno()
        process = os.getpid()
        if self._page is None or self._page_process != process:
            page = ctypes.c_void_p()
            _checked(_library().libtally_page_map(fd, ctypes.byref(page)))
            self._page = page.value or 0
            self._page_process = process
            self._unmap = _at_end(self, _unmap, process, _library().libtally_page_unmap,
                                  self._page)
        return self._page


# ---- The device ----

class Device(_File):
    """/dev/tally."""

    def __init__(self) -> None:
        text = _error_text()
        super().__init__(_checked(_library().libtally_device_open(text), text.value))

    def parse(self, name: str) -> Attr:
        """Returns what an event's name means: cycles:u, cpu/event=0x3c/, sched:sched_switch."""
        text = _error_text()
        attr = Attr()
        _checked(_library().libtally_device_parse(self.fileno(), _bytes(name), ctypes.byref(attr),
                                                  ctypes.sizeof(attr), text), text.value)
        return attr

    def unit(self, name: str) -> Unit:
        """Returns how perf stat prints an event's count. Milliseconds for a clock: 1e-6, 'msec'.
        """
        text = _error_text()
        unit = _Unit()
        _checked(_library().libtally_device_unit(self.fileno(), _bytes(name), ctypes.byref(unit),
                                                 text), text.value)
        return Unit(unit.scale, os.fsdecode(unit.unit), bool(unit.gauge))

    def create(self, line: str) -> None:
        """Makes an event that belongs to no file and counts until it is removed, from a line:
        an event with options."""
        self._line(LIBTALLY_LINE_CREATE, line)

    def remove(self, name: str) -> None:
        """Removes the event or set of this name."""
        self._line(LIBTALLY_LINE_REMOVE, name)

    def enable(self, name: str) -> None:
        """Lets the event or set of this name count."""
        self._line(LIBTALLY_LINE_ENABLE, name)

    def disable(self, name: str) -> None:
        """Lets the event or set of this name stand still; it keeps its count."""
        self._line(LIBTALLY_LINE_DISABLE, name)

    def running(self) -> Iterator[Running]:
        """Yields the events of all owners, in the order in which they were made."""
        event = _Running()
        while _checked(_library().libtally_device_next(self.fileno(), ctypes.byref(event))):
            yield _running_of(event)

    def attach(self, event: Union[str, int], publish_ns: int = 0, total: bool = False) -> Counter:
        """Opens a counter of an event of any owner, by its name or id. The count begins at 0, or
        with total, which takes CAP_PERFMON, has all since the event was made. publish_ns is the
        interval of the page of counts, in nanoseconds; 0 for the default."""
        if isinstance(event, int) and not 0 < event < 2**64:
            raise ValueError('an id is a number from 1 on')
        if not 0 <= publish_ns < 2**64:
            raise ValueError('publish_ns is a number of nanoseconds')
        number, name = (event, b'') if isinstance(event, int) else (0, _bytes(event))
        text = _error_text()
        attach = _library().libtally_device_attach_total if total else \
            _library().libtally_device_attach
        return _DeviceCounter(_checked(attach(self.fileno(), number, name, publish_ns, text),
                                       text.value))

    def _line(self, op: int, line: str) -> None:
        text = _error_text()
        _checked(_library().libtally_device_line(self.fileno(), op, _bytes(line), text),
                 text.value)


# ---- Opening ----

# The names that perf gives to numbers of the kernel.
_GENERIC: Dict[str, Tuple[int, int]] = {
    'cpu-cycles': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
    'cycles': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
    'instructions': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
    'cache-references': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES),
    'cache-misses': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES),
    'branch-instructions': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    'branches': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    'branch-misses': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES),
    'bus-cycles': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES),
    'stalled-cycles-frontend': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
    'stalled-cycles-backend': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
    'ref-cycles': (PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES),
    'cpu-clock': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
    'task-clock': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK),
    'page-faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS),
    'faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS),
    'context-switches': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES),
    'cs': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES),
    'cpu-migrations': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS),
    'migrations': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS),
    'minor-faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN),
    'major-faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ),
    'alignment-faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS),
    'emulation-faults': (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS),
}


def _levels_why(attr: Attr, samples: bool) -> str:
    """Returns why a software event never happens in what its modifiers leave, in the words of the
    device; '' if it does. perf would count 0 or, of a clock, everything."""
    if attr.type != PERF_TYPE_SOFTWARE or not (attr.exclude_user or attr.exclude_kernel):
        return ''
    if attr.exclude_user and attr.exclude_kernel:
        return 'the event happens only in user space and the kernel, which are excluded'
    if attr.exclude_kernel and attr.config in (PERF_COUNT_SW_CONTEXT_SWITCHES,
                                               PERF_COUNT_SW_CPU_MIGRATIONS):
        return 'the event happens only in the kernel, which is excluded'
    if attr.config in (PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK) and not samples:
        return 'a clock counts in user space and in the kernel, whatever is excluded'
    return ''


def _generic(name: str, samples: bool = False) -> Optional[Attr]:
    """Parses a generic name with the modifiers u, k and h, as the device does; None for any other
    name."""
    event, _, modifiers = name.partition(':')
    if event not in _GENERIC or not set(modifiers) <= set('ukh'):
        return None
    attr = Attr(*_GENERIC[event])
    # As perf does it, a CPU's event does not count virtual machines.
    attr.exclude_guest = attr.type == PERF_TYPE_HARDWARE
    if modifiers:
        attr.exclude_user = 'u' not in modifiers
        attr.exclude_kernel = 'k' not in modifiers
        attr.exclude_hv = 'h' not in modifiers
    why = _levels_why(attr, samples)
    if why:
        raise TallyError(errno.EINVAL, why)
    return attr


def _attr_of(event: Union[str, Attr], via: str, samples: bool = False) -> Attr:
    """Returns a copy of the attr, or what the name means. perf needs no device for a generic
    name; the device parses all others."""
    if isinstance(event, Attr):
        return event.copy()
    attr = _generic(event, samples) if via == 'perf' else None
    if attr:
        return attr
    try:
        with Device() as device:
            return device.parse(event)
    except TallyError as error:
        if via != 'perf':
            raise
        raise TallyError(error.errno, f'{event} is no generic name: {error}') from None


def _target_of(via: str, pid: int, cpu: int, group: Optional[Counter] = None) -> _Target:
    if via not in _VIA:
        raise ValueError("via is 'device' or 'perf'")
    # ctypes would cut a number to 32 bits.
    if not all(-2**31 <= number < 2**31 for number in (pid, cpu)):
        raise ValueError('pid and cpu have 32 bits')
    return _Target(via=_VIA[via], pid=pid, cpu=cpu, device=-1,
                   group_fd=group.fileno() if group else -1)


def open_event(event: Union[str, Attr], *, pid: int = 0, cpu: int = -1, via: Via = 'device',
               group: Optional[Counter] = None, disabled: bool = False) -> Counter:
    """Opens an event by its name, or as attr says.

    pid       task whose work is counted; 0 for the calling thread, -1 for all tasks
    cpu       CPU; -1 for all. perf takes no -1 beside pid -1.
    via       'device' for /dev/tally, 'perf' for perf_event_open(2)
    group     leader of the group that the event joins
    disabled  True for an event that counts from enable() on, not at once
    """
    target = _target_of(via, pid, cpu, group)
    attr = _attr_of(event, via)
    attr.disabled |= disabled
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING
    # A member would read as its leader.
    if via == 'perf' and not group:
        attr.read_format |= PERF_FORMAT_GROUP
    fd = _checked(_library().libtally_open_event(ctypes.byref(attr), ctypes.byref(target)),
                  target.error)
    return _PerfCounter(fd, attr.read_format) if via == 'perf' else _DeviceCounter(fd)


# ---- Samples ----

@dataclass(frozen=True)
class Sample:
    """One sample.

    event      name given to Reader.open()
    ip         address of the instruction
    pid        process
    tid        thread
    time       nanoseconds, by the clock of attr
    cpu        CPU
    period     counts since the sample before; the event's period, if it is fixed
    addr       address that was accessed; None without PERF_SAMPLE_ADDR
    callchain  addresses, the innermost first, without perf's PERF_CONTEXT_*; empty without
               PERF_SAMPLE_CALLCHAIN
    """

    event: str
    ip: int
    pid: int
    tid: int
    time: int
    cpu: int
    period: int
    addr: Optional[int]
    callchain: Tuple[int, ...]


_USUAL = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU


def _callchain(sample: _Sample) -> Tuple[int, ...]:
    if not sample.ips:
        return ()
    ips = (ctypes.c_uint64 * sample.nr_ips).from_address(sample.ips)
    return tuple(ip for ip in ips if ip < PERF_CONTEXT_MAX)


def _sample_of(event: str, period: int, sample: _Sample) -> Sample:
    return Sample(event=event, ip=sample.ip, pid=sample.pid, tid=sample.tid, time=sample.time,
                  cpu=sample.cpu,
                  period=sample.period if sample.has & PERF_SAMPLE_PERIOD else period,
                  addr=sample.addr if sample.has & PERF_SAMPLE_ADDR else None,
                  callchain=_callchain(sample))


def _sampling(attr: Attr, period: int, frequency: int, callchain: bool) -> None:
    """Completes an attr for samples."""
    if period and frequency:
        raise ValueError('an event has a period or a frequency')
    if period or frequency:
        attr.sample_period = period or frequency
        attr.freq = bool(frequency)
    if not attr.sample_period:
        raise ValueError('samples need a period or a frequency')
    attr.sample_type |= _USUAL | (PERF_SAMPLE_CALLCHAIN if callchain else 0)
    # With PERF_SAMPLE_PERIOD, perf samples each count of a software event with a fixed period.
    if attr.freq:
        attr.sample_type |= PERF_SAMPLE_PERIOD
    # Without this, perf wakes the reader when half of the ring is full.
    if not attr.watermark and not attr.wakeup_events:
        attr.wakeup_events = 1


class Reader:
    """Samples of events, by time.

    lost       number of records that were lost, because the reader was late
    throttled  number of times that too many samples turned an event off for a moment
    bad        number of records that could not be parsed
    """

    def __init__(self) -> None:
        self.lost = 0
        self.throttled = 0
        self.bad = 0
        self._events: List[Tuple[str, int]] = []    # name and period, by number
        self._record = _Record()
        handle: Optional[int] = _library().libtally_reader_new()
        if not handle:
            raise MemoryError
        self._handle = handle
        self._process = os.getpid()
        self._free = _at_end(self, _library().libtally_reader_free, handle)

    def open(self, event: Union[str, Attr], *, period: int = 0, frequency: int = 0,
             callchain: bool = False, pid: int = 0, cpu: int = -1, via: Via = 'device',
             pages: int = 64, name: str = '', disabled: bool = False) -> None:
        """Opens an event that is sampled, as open_event() does, and maps its rings.

        period     counts from one sample to the next; or
        frequency  samples in a second; or neither, and attr has one of them
        callchain  True for samples with call chains
        cpu        CPU; -1 for all, here for perf beside pid -1, too
        pages      size of each ring in pages, a power of two
        name       name of the event in samples; the default is the event's own
        """
        handle = self._open_handle()
        if not 0 < pages < 2**31:
            raise ValueError('pages is a power of two')
        target = _target_of(via, pid, cpu)
        attr = _attr_of(event, via, samples=True)
        attr.disabled |= disabled
        _sampling(attr, period, frequency, callchain)
        name = name or (event if isinstance(event, str) else f'{attr.type}:{attr.config:#x}')
        _checked(_library().libtally_reader_open(handle, ctypes.byref(attr), ctypes.byref(target),
                                                 pages, _bytes(name)), target.error)
        self._events.append((name, attr.sample_period))

    def enable(self) -> None:
        """Lets all events count."""
        self._ioctl(PERF_EVENT_IOC_ENABLE)

    def disable(self) -> None:
        """Lets all events stand still."""
        self._ioctl(PERF_EVENT_IOC_DISABLE)

    def poll(self, timeout: Optional[float] = None) -> bool:
        """Waits for samples, for at most timeout seconds. Returns False when none can come any
        more, because all tasks have ended."""
        milliseconds = -1 if timeout is None else math.ceil(min(max(timeout, 0), 2e6) * 1000)
        result: int = _library().libtally_reader_poll(self._open_handle(), milliseconds)
        if result not in (-errno.EPIPE, -errno.EINTR):
            _checked(result)
        return result != -errno.EPIPE

    def samples(self) -> Iterator[Sample]:
        """Yields the samples that are in the rings, and does not wait."""
        while True:
            handle = self._open_handle()
            header: Optional[int] = _library().libtally_reader_next(handle)
            if not header:
                return
            sample = self._parse(handle, header)
            if sample:
                yield sample

    def __iter__(self) -> Iterator[Sample]:
        """Yields samples as they come, until all tasks have ended."""
        while True:
            yield from self.samples()
            if not self.poll():
                return

    def snapshot(self) -> int:
        """Copies rings of events with write_backward, whose samples samples() yields then.
        Returns the number of records."""
        return _checked(_library().libtally_reader_snapshot(self._open_handle()))

    @property
    def late(self) -> int:
        """The number of records of any type that were read behind one of a later time."""
        late: int = _library().libtally_reader_late(self._open_handle())
        return late

    def close(self) -> None:
        """Closes the events, and unmaps their rings."""
        self._free()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _open_handle(self) -> int:
        if not self._free.alive:
            raise ValueError('the reader is closed')
        if self._process != os.getpid():
            raise ValueError('the reader belongs to a process that this one was forked from')
        return self._handle

    def _ioctl(self, request: int) -> None:
        _checked(_library().libtally_reader_ioctl(self._open_handle(), request))

    def _parse(self, handle: int, header: int) -> Optional[Sample]:
        """Returns the record's sample; None for others. Counts lost, throttled and bad ones."""
        record = self._record
        number: int = _library().libtally_reader_parse(handle, header, ctypes.byref(record))
        if number < 0:
            self.bad += 1
        elif record.type == PERF_RECORD_SAMPLE:
            return _sample_of(*self._events[number], record.u.sample)
        elif record.type in (PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES):
            self.lost += record.u.lost.lost
        elif record.type == PERF_RECORD_THROTTLE:
            self.throttled += 1
        return None
