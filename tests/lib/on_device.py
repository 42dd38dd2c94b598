# SPDX-License-Identifier: GPL-2.0
"""src/lib/tally.py on the fake device of device.c, which is preloaded."""
from __future__ import annotations

import ctypes
import errno
import mmap
import os
import subprocess
import sys
import traceback
from typing import Callable, List, Union

import tally
from checks import equal, main, raises, test

# As struct tally_page's first value and time lie in the page: see <linux/tally.h>.
PAGE_AT = 1280
VALUE_AT = PAGE_AT + 24
TIME_AT = PAGE_AT + 16


def mappings() -> List[int]:
    """Returns the addresses of mappings of events' files."""
    with open('/proc/self/maps', encoding='ascii') as maps:
        return [int(line.split('-')[0], 16) for line in maps if 'memfd:event' in line]


def mapped() -> int:
    return len(mappings())


def nr_open() -> int:
    return len(os.listdir('/proc/self/fd'))


@test
def parses() -> None:
    """a name becomes an attr, or an error with the device's sentence"""
    with tally.Device() as device:
        attr = device.parse('cycles:u')
        equal((attr.type, attr.config1, attr.exclude_kernel, attr.exclude_user), (0, 17, 1, 0))
        assert attr.size in (128, 136)
        equal(device.parse('cycles').exclude_kernel, 0)
        error = raises(tally.TallyError, lambda: device.parse('nonsense'))
        equal((error.errno, str(error)), (errno.ENOENT, 'no such event'))
        raises(ValueError, lambda: device.parse('cycles\0'))
    raises(ValueError, lambda: device.parse('cycles'))


@test
def units() -> None:
    """a name has a unit and a factor, and may be a gauge"""
    with tally.Device() as device:
        equal(device.unit('cycles'), tally.Unit(0.25, 'msec', False))
        equal(device.unit('cycles-gauge'), tally.Unit(0.25, 'msec', True))
        equal(raises(tally.TallyError, lambda: device.unit('nonsense')).errno, errno.ENOENT)


@test
def later_library() -> None:
    """an attr has this module's size, and an event that needs more is an error"""
    with tally.Device() as device:
        attr = device.parse('cycles')
        equal((attr.config1, attr.config2, attr.size), (17, 136, 136))
        error = raises(tally.TallyError, lambda: device.parse('cycles-later'))
        equal(error.errno, errno.E2BIG)


@test
def lists() -> None:
    """the running events have all members of the device, or None for what is not known"""
    with tally.Device() as device:
        equal(list(device.running()), [
            tally.Running(3, 11, 12, 13, -1, 'active', 'first', 'tally', 'cycles cpu=1 name=first',
                          21, 22, 23, 24, '/a'),
            tally.Running(5, 11, 12, 13, -1, 'off', '', 'tally', '', None, None, None, None, None,
                          True),
        ])


@test
def lines() -> None:
    """lines make, disable, enable and remove an event"""
    def states() -> List[str]:
        return [event.state for event in device.running() if event.name == 'made']

    with tally.Device() as device:
        device.create('page-faults name=made')
        equal([event.what for event in device.running()][2:], ['page-faults name=made'])
        equal(states(), ['active'])
        device.disable('made')
        equal(states(), ['off'])
        device.enable('made')
        equal(states(), ['active'])
        device.remove('made')
        equal(states(), [])
        for call in (device.remove, device.enable, device.disable):
            error = raises(tally.TallyError, lambda: call('made'))
            equal((error.errno, str(error)), (errno.ENOENT, 'no event has this name'))
        error = raises(tally.TallyError, lambda: device.create('page-faults'))
        equal((error.errno, str(error)), (errno.EINVAL, 'the fake needs a name'))


@test
def attaches() -> None:
    """an attached counter reads value, times, state and the scaled count"""
    with tally.Device() as device:
        events: List[Union[str, int]] = ['first', 3]
        for event in events:
            with device.attach(event) as counter:
                value = counter.read()
                equal(value, tally.Value(200, 90, 30, 'active'))
                equal((value.scaled, counter.id), (600, 3))
                counter.reset()
                equal(raises(tally.TallyError, counter.enable).errno, errno.EPERM)
                equal(raises(tally.TallyError, counter.disable).errno, errno.EPERM)
        equal(device.attach(5).id, 5)
        error = raises(tally.TallyError, lambda: device.attach(5, total=True))
        equal((error.errno, str(error)), (errno.EACCES, 'the fake knows no total'))
        events = ['third', 4]
        for unknown in events:
            error = raises(tally.TallyError, lambda: device.attach(unknown))
            equal((error.errno, str(error)), (errno.ENOENT, 'there is no such event'))
        error = raises(tally.TallyError, lambda: device.attach('n' * 64))
        equal((error.errno, str(error)), (errno.ENOENT, 'no event has so long a name'))
        for wrong in 0, -1, 2**64:
            raises(ValueError, lambda: device.attach(wrong))
        raises(ValueError, lambda: device.attach(3, publish_ns=2**64))


@test
def pages() -> None:
    """the page of counts is mapped once, and read as it is now"""
    with tally.Device() as device, device.attach(3) as counter:
        equal(mapped(), 0)
        equal(counter.page(), tally.Value(100, 60, 20, 'active', 77))
        os.pwrite(counter.fileno(), (101).to_bytes(8, sys.byteorder), VALUE_AT)
        os.pwrite(counter.fileno(), (78).to_bytes(8, sys.byteorder), TIME_AT)
        equal(counter.page(), tally.Value(101, 60, 20, 'active', 78))
        equal(mapped(), 1)
        # A writer that does not end.
        os.pwrite(counter.fileno(), (1).to_bytes(4, sys.byteorder), 8)
        equal(raises(tally.TallyError, counter.page).errno, errno.EAGAIN)
        counter.close()
        equal(mapped(), 0)
        raises(ValueError, counter.page)


@test
def opens() -> None:
    """an event of the device is enabled and disabled; its leader reads its group"""
    with tally.open_event('cycles', disabled=True) as leader:
        equal(leader.read().state, 'off')
        leader.enable()
        equal(leader.read().state, 'active')
        with tally.open_event(tally.Attr(0, 0, config1=17), group=leader):
            equal([value.value for value in leader.read_group()], [200, 201])
            equal(leader.read().value, 200)
        leader.disable()
        equal(leader.read().state, 'off')
    error = raises(tally.TallyError, lambda: tally.open_event(tally.Attr(1, 2)))
    equal((error.errno, str(error)), (errno.EOPNOTSUPP, 'the fake has cycles only'))


@test
def names_for_perf() -> None:
    """the device parses what perf's user gives no generic name to"""
    error = raises(tally.TallyError, lambda: tally.open_event('nonsense', via='perf'))
    equal(str(error), 'nonsense is no generic name: no such event')


@test
def samples() -> None:
    """a reader yields the sample in the device's ring, and counts the other records"""
    with tally.Reader() as reader:
        reader.open('cycles', period=1000)
        equal(list(reader.samples()),
              [tally.Sample('cycles', 0x1234, 5, 6, 7, 8, 1000, None, ())])
        equal((reader.bad, reader.throttled, reader.lost, reader.late), (1, 1, 0, 0))


@test
def frees() -> None:
    """closed and forgotten objects leave nothing open or mapped"""
    before = nr_open()
    device = tally.Device()
    counter = device.attach(3)
    counter.page()
    equal((nr_open(), mapped()), (before + 2, 1))
    del counter
    equal((nr_open(), mapped()), (before + 1, 0))
    makers: List[Callable[[], object]] = [
        lambda: tally.open_event('nonsense'), lambda: device.attach('third')]
    for call in makers:
        raises(tally.TallyError, call)
    device.close()
    equal(nr_open(), before)


def in_child(call: Callable[[], None]) -> None:
    """Calls a function in a child of fork(), which must end well."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            call()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(status)
    equal(os.waitpid(pid, 0)[1], 0)


@test
def forks() -> None:
    """a child of fork() reads and closes counters, and leaves what is mapped at their addresses"""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]

    def uses() -> None:
        equal(mapped(), 0)
        equal(counter.page(), tally.Value(100, 60, 20, 'active', 77))
        equal(counter.read(), tally.Value(200, 90, 30, 'active'))

    def closes() -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100000     # MAP_FIXED_NOREPLACE
        equal(libc.mmap(at, mmap.PAGESIZE, mmap.PROT_READ, flags, -1, 0), at)
        counter.close()
        equal(ctypes.string_at(at, 1), b'\0')

    with tally.Device() as device, device.attach(3) as counter:
        equal(counter.page().value, 100)
        at, = mappings()
        in_child(uses)
        in_child(closes)
        equal((counter.page().value, mapped()), (100, 1))


@test
def forks_reader() -> None:
    """a child of fork() can only close a reader, which changes nothing for the parent"""
    def uses() -> None:
        calls: List[Callable[[], object]] = [reader.poll, lambda: list(reader.samples())]
        for call in calls:
            raises(ValueError, call)
        files = len(os.listdir('/proc/self/fd'))
        reader.close()
        equal(len(os.listdir('/proc/self/fd')), files - 1)

    with tally.Reader() as reader:
        reader.open('cycles', period=1000)
        in_child(uses)
        equal([sample.ip for sample in reader.samples()], [0x1234])


@test
def exits() -> None:
    """at exit nothing is freed, as other threads may use it, and nothing is said"""
    code = '''
import tally
library = tally._library()
library.libtally_reader_free = library.libtally_page_unmap = lambda at: print('freed', flush=True)
reader = tally.Reader()
counter = tally.Device().attach(3)
counter.page()
counter.itself = counter'''
    result = subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    equal((result.returncode, result.stdout), (0, ''))


main()
