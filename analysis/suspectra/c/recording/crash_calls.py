"""The lines of the calls in a crash, from the addresses that the crash handler wrote.

A signal handler may do little, so it writes addresses and mappings. They become lines while tests are recorded, by
`addr2line`, since reading evidence runs nothing. Where the output says more, as a sanitizer's own stack, that is
preferred.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.failure_text import NamedLine
from suspectra.evidence.source_paths import SYSTEM
from suspectra.processes.runner import CommandToRun, run

CALLS_FILE = "calls"
"""The file's name in a test's scratch folder."""

_ADDR2LINE_TIMEOUT_S = 60.0
"""For ``addr2line`` to name the lines of a crash: many times what a large program takes."""

_MAX_FILE = 1 << 22
_FIXED = 2  # the type of an ELF file that is always loaded at its own addresses
_MAPPING = re.compile(r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) \S+ [0-9a-f]+ \S+ \d+ +(?P<path>/.*)$")
_PLACE = re.compile(r"^(?P<path>.+):(?P<line>\d+)(?: \(discriminator \d+\))?$")


class CrashedCall(NamedTuple):
    """A call on the stack of a crash."""

    file: str  # the program or library with the code
    address: int  # the address in its debug information


class CrashCalls:
    """Reads the output of the crash handler, and asks ``addr2line`` for the lines."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._lock = threading.Lock()

    def read(self, path: str, problems: list[Problem]) -> list[NamedLine]:
        """Read the stack of a crashed program, innermost call first.

        The calls in files that are not part of the system; empty if nothing crashed.
        """
        try:
            with open(path, encoding="latin-1") as file:
                text = file.read(_MAX_FILE)
        except OSError:
            return []
        places: list[NamedLine] = []
        for module, calls in groupby(calls_in_files(text), attrgetter("file")):
            if not module.startswith(SYSTEM):
                places += self._lines(module, [call.address for call in calls], problems)
        return places

    def _lines(self, module: str, addresses: Sequence[int], problems: list[Problem]) -> list[NamedLine]:
        """The lines of addresses in a file, also of inlined calls."""
        tool = shutil.which("addr2line")
        if tool is None:
            cause = "the lines in which tests crashed are not known, as there is no addr2line"
            self._report(Problem("", "", cause, "install binutils, and record these tests again"), problems)
            return []
        command = (tool, "-f", "-C", "-i", "-a", "-e", module, *map(hex, addresses))
        try:
            done = run(CommandToRun(command, os.sep, os.environ, timeout=_ADDR2LINE_TIMEOUT_S))
        except EvidenceError as error:
            self._report(error.problem, problems)
            return []
        places = list(_places(done.stdout.decode("utf-8", "replace").splitlines()))
        if not places:
            cause = f"the lines in which tests crashed are not known, as {os.path.basename(module)} has no line numbers"
            self._report(Problem("", "", cause, "compile it with -g, and record these tests again"), problems)
        return places

    def _report(self, problem: Problem, problems: list[Problem]) -> None:
        """Report a problem, but only once."""
        with self._lock:
            if problem.cause not in self._reported:
                self._reported.add(problem.cause)
                problems.append(problem)


def calls_in_files(text: str) -> list[CrashedCall]:
    """Parse the output of the crash handler. Calls in code that is not in a file are left out.

    Innermost first, without the calls of the handler itself.
    """
    head, _, tail = text.partition("\n\n")
    first, *rest = [int(line, 16) for line in head.split() if re.fullmatch("[0-9a-f]{1,16}", line)] or [0]
    mapped = [(int(m["start"], 16), int(m["end"], 16), m["path"]) for m in map(_MAPPING.match, tail.splitlines()) if m]
    starts: dict[str, int] = {}
    for start, _, path in mapped:
        starts.setdefault(path, start)
    calls = []
    for address in rest[rest.index(first) :] if first in rest else rest:
        # a return address is after the call, which may be on another line
        at = address if address == first else address - 1
        path = next((path for start, end, path in mapped if start <= at < end), None)
        if path is not None:
            calls.append(CrashedCall(path, at if is_fixed(path) else at - starts[path]))
    return calls


@cache
def is_fixed(path: str) -> bool:
    """Whether a program is always loaded at its own addresses; one that can't be read is not."""
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little" if head[5:6] == b"\1" else "big") == _FIXED


def _places(lines: Iterable[str]) -> Iterator[NamedLine]:
    """Parse the output of ``addr2line``: each address, then a line with the function and one with the location."""
    function = ""
    expecting = "function"
    for line in lines:
        if line.startswith("0x") and expecting == "function":
            continue
        if expecting == "function":
            function, expecting = line, "place"
        else:
            expecting = "function"
            if (match := _PLACE.match(line)) and not match["path"].startswith("??"):
                yield NamedLine(match["path"], int(match["line"]), "" if function == "??" else function)
