"""A plugin of pytest that notes the processor time at the beginning of each test, for `dependences.py`.

It appends eight bytes for each to the file that the environment names. In a child of a machine, which runs a test again
and again, the difference of two is what a run cost with all that comes before and after the test.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

VARIABLE = "RUN_CLOCK"
NAME = Path(__file__).stem
_TIME = struct.Struct("d")

if VARIABLE in os.environ:
    _file = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Note the time."""
    os.write(_file, _TIME.pack(time.process_time()))
    yield


def times_in(file: Path) -> list[float]:
    """The processor times, in seconds, that were noted in a file."""
    return [seconds for (seconds,) in _TIME.iter_unpack(file.read_bytes())]
