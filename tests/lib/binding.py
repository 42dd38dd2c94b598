# SPDX-License-Identifier: GPL-2.0
"""src/lib/tally.py on the events of perf: counts and samples of this process and a child."""
from __future__ import annotations

import ctypes
import errno
import mmap
import os
import select
import signal
import subprocess
import sys
import time
from typing import Callable, List

import tally
from checks import between, equal, main, raises, test

PAGE = mmap.PAGESIZE
FAULTS = tally.Attr(tally.PERF_TYPE_SOFTWARE, tally.PERF_COUNT_SW_PAGE_FAULTS, exclude_kernel=1)
CLOCK_MONOTONIC = 1

# What Python itself may fault meanwhile.
SLACK = 300


class Memory:
    """Pages that are not there yet: each one faults when it is touched."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.memory.madvise(mmap.MADV_NOHUGEPAGE)

    def touch(self) -> None:
        for at in range(0, self.pages * PAGE, PAGE):
            self.memory[at] = 1

    def addresses(self) -> List[int]:
        byte = ctypes.c_char.from_buffer(self.memory)
        start = ctypes.addressof(byte)
        return list(range(start, start + self.pages * PAGE, PAGE))


def touch(pages: int) -> None:
    Memory(pages).touch()


def nr_open() -> int:
    return len(os.listdir('/proc/self/fd'))


@test
def counts() -> None:
    """a counter counts page faults, from enable() to disable()"""
    with tally.open_event('page-faults', via='perf', disabled=True) as counter:
        touch(100)
        equal(counter.read(), tally.Value(0, 0, 0, '?'))
        equal(counter.read().scaled, None)
        counter.enable()
        touch(1000)
        counter.disable()
        first = counter.read()
        touch(1000)
        equal(counter.read(), first)
        between(1000, first.value, 1000 + SLACK)
        assert first.enabled == first.running > 0
        equal(first.scaled, first.value)
        counter.reset()
        equal(counter.read(), tally.Value(0, first.enabled, first.running, '?'))
        counter.enable()
        touch(500)
        between(500, counter.read().value, 500 + SLACK)


@test
def at_once() -> None:
    """an event without disabled=True counts at once"""
    with tally.open_event('faults:u', via='perf') as counter:
        touch(300)
        between(300, counter.read().value, 300 + SLACK)


@test
def modifiers() -> None:
    """modifiers leave out user space or the kernel, which faults for a program's read()"""
    counts_of = {}
    for name in ('faults', 'faults:u', 'faults:k', 'faults:uk'):
        memory = Memory(1000)
        with open('/dev/zero', 'rb', buffering=0) as zero, \
                tally.open_event(name, via='perf') as counter:
            zero.readinto(memory.memory)
            touch(500)
            counts_of[name] = counter.read().value
    between(1500, counts_of['faults'], 1500 + SLACK)
    between(500, counts_of['faults:u'], 500 + SLACK)
    between(1000, counts_of['faults:k'], 1000 + SLACK)
    between(1500, counts_of['faults:uk'], 1500 + SLACK)
    attr = tally._generic('cycles:u')
    assert attr
    equal((attr.exclude_user, attr.exclude_kernel, attr.exclude_hv, attr.exclude_guest),
          (0, 1, 1, 1))


@test
def never() -> None:
    """what never happens in what the modifiers leave is refused, as by the device"""
    for name, why in (('faults:h', 'only in user space and the kernel'),
                      ('cs:u', 'only in the kernel'), ('migrations:u', 'only in the kernel'),
                      ('task-clock:u', 'a clock counts'), ('cpu-clock:k', 'a clock counts')):
        error = raises(tally.TallyError, lambda: tally.open_event(name, via='perf'))
        equal(error.errno, errno.EINVAL)
        assert why in str(error), error
    tally.open_event('cs:k', via='perf').close()
    # Samples of a clock are of one level.
    with tally.Reader() as reader:
        reader.open('cpu-clock:u', period=1000000, via='perf')


@test
def by_attr() -> None:
    """an attr counts as its name does, and stays as it is"""
    attr = FAULTS.copy()
    with tally.open_event('page-faults:u', via='perf') as one, \
            tally.open_event(attr, via='perf', disabled=True) as two:
        two.enable()
        touch(1000)
        between(-SLACK, one.read().value - two.read().value, SLACK)
    equal(bytes(attr), bytes(FAULTS))


@test
def on_a_cpu() -> None:
    """an event counts on one CPU, for all tasks"""
    cpu = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        with tally.open_event('page-faults', pid=-1, cpu=cpu, via='perf') as counter:
            touch(1000)
            assert counter.read().value >= 1000
    finally:
        os.sched_setaffinity(0, before)


@test
def groups() -> None:
    """the leader of a group reads all members in one window, a member itself"""
    with tally.open_event('page-faults', via='perf', disabled=True) as leader, \
            tally.open_event('task-clock', via='perf', group=leader) as member:
        leader.enable()
        touch(1000)
        leader.disable()
        values = leader.read_group()
        equal(len(values), 2)
        between(1000, values[0].value, 1000 + SLACK)
        equal(values[0].enabled, values[1].enabled)
        assert values[1].value > 0
        equal(leader.read(), values[0])
        equal([value.value for value in member.read_group()], [values[1].value])
        assert leader.id != member.id


@test
def scaled() -> None:
    """a count is scaled, rounded down and at most the largest number"""
    equal(tally.Value(10, 100, 30, 'active').scaled, 33)
    equal(tally.Value(2**63, 100, 30, 'active').scaled, 2**64 - 1)
    equal(tally.Value(10, 100, 0, 'inactive').scaled, None)


@test
def refusals() -> None:
    """an event that cannot be opened raises errno and a sentence"""
    error = raises(tally.TallyError, lambda: tally.open_event('faults', pid=-1, via='perf'))
    equal((error.errno, str(error), error.text),
          (errno.EINVAL, 'perf_event_open: Invalid argument', 'perf_event_open: Invalid argument'))
    assert isinstance(error, OSError)
    error = raises(tally.TallyError, lambda: tally.open_event('faults', pid=2**31 - 2, via='perf'))
    equal(error.errno, errno.ESRCH)
    odd = tally.Attr(tally.PERF_TYPE_SOFTWARE, 12345)
    error = raises(tally.TallyError, lambda: tally.open_event(odd, via='perf'))
    equal(error.errno, errno.ENOENT)
    raises(ValueError, lambda: tally.open_event('faults', via='magic'))  # type: ignore[arg-type]
    raises(ValueError, lambda: tally.open_event('faults', pid=2**32, via='perf'))
    raises(ValueError, lambda: tally.open_event('faults', cpu=-2**31 - 1, via='perf'))
    with tally.open_event('faults', via='perf') as counter:
        equal(raises(tally.TallyError, counter.page).errno, errno.EOPNOTSUPP)
    with tally.Reader() as reader:
        error = raises(tally.TallyError, lambda: reader.open('faults', period=1, pages=3,
                                                             via='perf'))
        assert error.text.startswith('mmap: '), error


@test
def error_state() -> None:
    """an event in the error state has no count"""
    # Such an event reads as the end of a file.
    with tally._PerfCounter(os.open('/dev/null', os.O_RDONLY), 0) as counter:
        error = raises(tally.TallyError, counter.read)
    equal((error.errno, str(error)),
          (errno.ENODATA, 'the event has no count: it is in the error state'))


@test
def no_device() -> None:
    """without /dev/tally, Device() raises the library's sentence, and perf serves known names"""
    try:
        os.close(os.open('/dev/tally', os.O_RDWR))
        print('# this machine has /dev/tally')
        tally.Device().close()
        return
    except OSError as error:
        reason = error
    sentence = f'/dev/tally: {reason.strerror}'
    calls: List[Callable[[], object]] = [
        tally.Device, lambda: tally.open_event('faults'), lambda: tally.open_event(FAULTS),
        lambda: tally.Reader().open(FAULTS, period=1)]
    for call in calls:
        found = raises(tally.TallyError, call)
        equal((found.errno, str(found)), (reason.errno, sentence))
    for name in ('sched:sched_switch', 'faults:G', 'fault'):
        found = raises(tally.TallyError, lambda: tally.open_event(name, via='perf'))
        equal((found.errno, str(found)),
              (reason.errno, f'{name} is no generic name: {sentence}'))


@test
def attrs() -> None:
    """an attr has its size, refuses unknown members, and shares members of a union"""
    attr = tally.Attr(1, 2, sample_freq=99, freq=1, precise_ip=3)
    equal((attr.type, attr.config, attr.size), (1, 2, ctypes.sizeof(tally.Attr)))
    equal((attr.sample_period, attr.freq, attr.inherit_stat, attr.precise_ip), (99, 1, 0, 3))
    attr.config1 = 5
    equal((attr.bp_addr, attr.config2), (5, 0))
    raises(AttributeError, lambda: setattr(attr, 'sample_perid', 1))
    raises(AttributeError, lambda: tally.Attr(1, 2, sample_perid=1))
    for member, number in (('config', 2**64 + 2), ('config', -1), ('type', 2**32), ('pinned', 2)):
        raises(ValueError, lambda: setattr(attr, member, number))
    equal((attr.config, attr.type, attr.pinned), (2, 1, 0))
    raises(ValueError, lambda: tally.Attr(1, 2**64 + 2))
    with tally.Reader() as reader:
        for period, frequency, pages in (2**64 + 1, 0, 1), (0, -1, 1), (1, 0, 2**64 + 1):
            raises(ValueError, lambda: reader.open('faults', via='perf', period=period,
                                                   frequency=frequency, pages=pages))


@test
def closed() -> None:
    """what is closed is not used any more"""
    counter = tally.open_event('faults', via='perf')
    select.select([], [counter], [], 0)
    counter.close()
    counter.close()
    calls: List[Callable[[], object]] = [counter.read, counter.enable, counter.fileno]
    for call in calls:
        raises(ValueError, call)
    reader = tally.Reader()
    reader.open('faults', period=1, via='perf')
    touch(10)
    samples = reader.samples()
    next(samples)
    reader.close()
    reader.close()
    calls = [lambda: next(samples), reader.poll, reader.enable, reader.snapshot,
             lambda: reader.open('faults', period=1, via='perf')]
    for call in calls:
        raises(ValueError, call)


@test
def frees() -> None:
    """closed and forgotten objects leave no file open"""
    before = nr_open()
    with tally.open_event('faults', via='perf'), tally.Reader() as reader:
        reader.open('faults', period=1, via='perf')
        equal(nr_open(), before + 2)
    equal(nr_open(), before)
    forgotten = tally.Reader()
    forgotten.open('faults', period=1, via='perf')
    raises(tally.TallyError, lambda: forgotten.open('faults', period=1, pages=3, via='perf'))
    equal(nr_open(), before + 1)
    del forgotten
    equal(nr_open(), before)


@test
def samples_faults() -> None:
    """a reader yields a sample of each page that was touched, with its members"""
    memory = Memory(200)
    attr = FAULTS.copy()
    attr.sample_type = tally.PERF_SAMPLE_ADDR
    attr.use_clockid, attr.clockid = 1, CLOCK_MONOTONIC
    with tally.Reader() as reader:
        reader.open(attr, period=1, callchain=True, via='perf', name='touched')
        start = time.monotonic_ns()
        memory.touch()
        end = time.monotonic_ns()
        reader.disable()
        samples = list(reader.samples())
        equal((reader.lost, reader.bad, reader.throttled, reader.late), (0, 0, 0, 0))
        equal(list(reader.samples()), [])
    wanted = memory.addresses()
    # Others are faults of Python itself.
    mine = [sample for sample in samples if sample.addr in set(wanted)]
    equal([sample.addr for sample in mine], wanted)
    for sample in mine:
        equal((sample.event, sample.pid, sample.tid), ('touched', os.getpid(), os.getpid()))
        equal((sample.period, sample.callchain[0]), (1, sample.ip))
        assert sample.cpu in os.sched_getaffinity(0)
        between(start, sample.time, end)
    times = [sample.time for sample in samples]
    equal(times, sorted(times))


@test
def samples_plain() -> None:
    """samples have no address and no call chain unless they are asked for"""
    with tally.Reader() as reader:
        reader.open('faults:u', period=100, via='perf')
        touch(1000)
        samples = list(reader.samples())
    between(10, len(samples), 10 + SLACK / 100)
    equal({(s.event, s.period, s.addr, s.callchain) for s in samples},
          {('faults:u', 100, None, ())})


@test
def follows() -> None:
    """iteration follows a child on its clock, and ends with it"""
    code = ('import sys, time\nsys.stdin.readline()\n'
            'while time.process_time() < 0.3: pass\nprint(time.process_time())')
    with subprocess.Popen([sys.executable, '-S', '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child, tally.Reader() as reader:
        reader.open('cpu-clock', pid=child.pid, period=1000000, callchain=True, via='perf')
        child.stdin and child.stdin.close()
        samples = list(reader)
        equal(reader.poll(0), False)
        used = float(child.stdout.read() if child.stdout else 0)
    equal({(sample.pid, sample.tid) for sample in samples}, {(child.pid, child.pid)})
    assert all(sample.callchain for sample in samples)
    # The clock goes on while the hypervisor has the CPU; it began when the child was started.
    between(50, len(samples), used * 1000 * 5)
    assert sum(sample.period for sample in samples) >= 50 * 1000000


@test
def frequency() -> None:
    """an event with a frequency is sampled"""
    with tally.Reader() as reader:
        reader.open('cpu-clock', frequency=100, via='perf')
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        samples = list(reader.samples())
        between(5, len(samples), 1000)
        # The kernel sets the period of a clock by the frequency.
        between(1000000, samples[-1].period, 100000000)
        for period, wrong in (0, 0), (1, 1):
            raises(ValueError, lambda: reader.open('cpu-clock', via='perf', period=period,
                                                   frequency=wrong))


@test
def loses() -> None:
    """records without room are counted as lost"""
    memory = Memory(1000)
    with tally.Reader() as reader, tally.open_event(FAULTS, via='perf') as counter:
        reader.open(FAULTS, period=1, pages=1, via='perf')
        memory.touch()
        first = len(list(reader.samples()))
        between(10, first, 999)
        # The number of lost records is written with the next record.
        touch(1)
        rest = len(list(reader.samples()))
        assert reader.lost > 0
        between(first + rest + reader.lost, counter.read().value, first + rest + reader.lost + 50)
        assert first + rest + reader.lost >= 1000


@test
def waits() -> None:
    """poll() waits for a sample, and for no longer than it may"""
    with tally.Reader() as reader:
        reader.open(FAULTS, period=1, via='perf', disabled=True)
        start = time.monotonic()
        equal(reader.poll(0.2), True)
        between(0.19, time.monotonic() - start, 20)
        equal(list(reader.samples()), [])
        touch(10)
        equal(list(reader.samples()), [])
        reader.enable()
        touch(10)
        reader.disable()
        # poll(2) reports the samples that have come.
        start = time.monotonic()
        equal(reader.poll(20), True)
        between(0, time.monotonic() - start, 10)
        number = len(list(reader.samples()))
        between(10, number, 10 + SLACK)
        touch(10)
        equal(list(reader.samples()), [])


@test
def interrupted() -> None:
    """a signal ends poll(), and its handler is called"""
    calls: List[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    try:
        with tally.Reader() as reader:
            reader.open(FAULTS, period=1, via='perf', disabled=True)
            start = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            equal(reader.poll(20), True)
            between(0.09, time.monotonic() - start, 10)
    finally:
        signal.signal(signal.SIGALRM, before)
    equal(calls, [signal.SIGALRM])


@test
def snapshots() -> None:
    """a snapshot of a backward ring has the latest samples"""
    memory = Memory(2000)
    attr = FAULTS.copy()
    attr.write_backward = 1
    attr.sample_type = tally.PERF_SAMPLE_ADDR
    with tally.Reader() as reader:
        reader.open(attr, period=1, pages=4, via='perf')
        memory.touch()
        reader.disable()
        number = reader.snapshot()
        samples = list(reader.samples())
    equal(len(samples), number)
    between(50, number, 1999)
    wanted = memory.addresses()
    found = [sample.addr for sample in samples if sample.addr in set(wanted)]
    assert found, 'no sample is of the memory'
    equal(found, wanted[len(wanted) - len(found):])


@test
def two_events() -> None:
    """samples of two events have their names, and come by time"""
    with tally.Reader() as reader:
        reader.open('cpu-clock', period=1000000, via='perf')
        reader.open('minor-faults', period=1, pages=256, via='perf', name='small')
        end = time.process_time() + 0.1
        while time.process_time() < end:
            touch(10)
        samples = list(reader.samples())
    equal({sample.event for sample in samples}, {'cpu-clock', 'small'})
    times = [sample.time for sample in samples]
    equal(times, sorted(times))


main()
