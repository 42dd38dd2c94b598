# SPDX-License-Identifier: GPL-2.0
"""What the tests in Python share. Tests print "ok TEXT" or "bad TEXT", as those in C do."""
from __future__ import annotations

import sys
import traceback
from typing import Callable, List, Type, TypeVar

_Test = Callable[[], None]
_tests: List[_Test] = []
_Error = TypeVar('_Error', bound=BaseException)


def test(function: _Test) -> _Test:
    """Marks a test, whose docstring is its text."""
    _tests.append(function)
    return function


def equal(is_: object, wanted: object) -> None:
    assert is_ == wanted, f'{is_!r}, not {wanted!r}'


def between(low: float, is_: float, high: float) -> None:
    assert low <= is_ <= high, f'{is_!r} is not between {low!r} and {high!r}'


def raises(kind: Type[_Error], call: Callable[[], object]) -> _Error:
    """Returns what the call raises."""
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError(f'nothing is raised: {result!r}')


def main() -> None:
    for function in _tests:
        try:
            function()
            word = 'ok'
        except Exception:
            word = 'bad'
            for line in traceback.format_exc().splitlines()[-8:]:
                print(f'# {line}')
        print(word, function.__doc__)
        sys.stdout.flush()
