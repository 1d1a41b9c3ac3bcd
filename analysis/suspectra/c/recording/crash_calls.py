"""The lines of the calls in a crash, from the addresses that the crash handler wrote.

A signal handler may do little, so it writes addresses and mappings. They become lines while tests are recorded, by
`addr2line`, since reading evidence runs nothing. Where the output says more, as a sanitizer's own stack, that is
preferred.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.failure_text import NamedLine
from suspectra.evidence.source_paths import SYSTEM
from suspectra.processes.runner import CommandToRun, run

CALLS_FILE, EXIT_FILE = "calls", "calls-exit"
"""The beginnings of the files' names in a test's scratch folder: for crashes, and for calls of ``exit``."""

_ADDR2LINE_TIMEOUT_S = 60.0
"""For ``addr2line`` to name the lines of a crash: many times what a large program takes."""

_MAX_FILE = 1 << 22
_FIXED = 2  # the type of an ELF file that is always loaded at its own addresses
_MAPPING = re.compile(r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) \S+ [0-9a-f]+ \S+ \d+ +(?P<path>/.*)$")
_PLACE = re.compile(r"^(?P<path>.+):(?P<line>\d+)(?: \(discriminator \d+\))?$")


class CodeAddress(NamedTuple):
    """Where a call was under way when a program crashed."""

    file: str  # the program or library with the code
    address: int  # the address in its debug information
    inherited: bool = False  # whether the call began in the process that forked this one


class CallUnderWay(NamedTuple):
    """A call that had not returned when a program crashed."""

    function: str  # the linker's name
    places: tuple[NamedLine, ...]  # its line, after the lines of calls that were inlined into it, the innermost first
    calling: bool  # whether it had called something, so that it did not crash by itself
    inherited: bool  # whether it began in the process that forked this one


class CrashCalls:
    """Reads the output of the crash handler, and asks ``addr2line`` for the lines."""

    def read(self, path: str, problems: list[Problem]) -> list[list[CallUnderWay]]:
        """Read the stacks of crashed processes, the first crash first, and of each the innermost call first.

        The calls in files that are not part of the system; empty if nothing crashed.
        """
        found = sorted(glob.glob(glob.escape(path) + ".*"), key=os.path.getmtime)
        return [calls for file in found if (calls := self._process(file, problems))]

    def _process(self, path: str, problems: list[Problem]) -> list[CallUnderWay]:
        with open(path, encoding="latin-1") as file:
            text = file.read(_MAX_FILE)
        calls: list[CallUnderWay] = []
        innermost = True
        for (module, inherited), addresses in groupby(calls_in_files(text), attrgetter("file", "inherited")):
            if not module.startswith(SYSTEM):
                for places in self._lines(module, [call.address for call in addresses], problems):
                    calls.append(CallUnderWay(places[-1].function, places, not innermost, inherited))
                    innermost = False
            innermost = False
        return calls

    def _lines(self, module: str, addresses: Sequence[int], problems: list[Problem]) -> list[tuple[NamedLine, ...]]:
        """The lines of each address in a file, also of inlined calls; nothing for one that has none."""
        tool = shutil.which("addr2line")
        if tool is None:
            cause = "the lines in which tests crashed are not known, as there is no addr2line"
            problems.append(Problem("", "", cause, "install binutils, and record these tests again"))
            return []
        # behind a signal, the address is that of the instruction itself
        asked = [one for address in addresses for one in (address, address + 1)]
        command = (tool, "-f", "-i", "-a", "-e", module, *map(hex, asked))
        try:
            done = run(CommandToRun(command, os.sep, os.environ, timeout=_ADDR2LINE_TIMEOUT_S))
        except EvidenceError as error:
            problems.append(error.problem)
            return []
        answers = list(_places(done.stdout.decode("utf-8", "replace").splitlines()))
        found = [places for at in range(0, len(answers), 2) if (places := next(filter(None, answers[at : at + 2]), ()))]
        if not found:
            cause = f"the lines in which tests crashed are not known, as {os.path.basename(module)} has no line numbers"
            problems.append(Problem("", "", cause, "compile it with -g, and record these tests again"))
        return found


def calls_in_files(text: str) -> list[CodeAddress]:
    """Parse the output of the crash handler. Calls in code that is not in a file are left out.

    Innermost first, without the calls of the handler itself.
    """
    head, _, tail = text.partition("\n\n")
    own, _, others = head.partition("\n-\n")
    first, *rest = _addresses(own) or [0]
    mapped = [(int(m["start"], 16), int(m["end"], 16), m["path"]) for m in map(_MAPPING.match, tail.splitlines()) if m]
    starts: dict[str, int] = {}
    for start, _, path in mapped:
        starts.setdefault(path, start)
    rest = rest[rest.index(first) :] if first in rest else rest
    calls = []
    for address, inherited in [*((one, False) for one in rest), *((one, True) for one in _addresses(others))]:
        # a return address is after the call, which may be on another line
        at = address if address == first else address - 1
        path = next((path for start, end, path in mapped if start <= at < end), None)
        if path is not None:
            calls.append(CodeAddress(path, at if is_fixed(path) else at - starts[path], inherited))
    return calls


def _addresses(text: str) -> list[int]:
    return [int(line, 16) for line in text.split() if re.fullmatch("[0-9a-f]{1,16}", line)]


@cache
def is_fixed(path: str) -> bool:
    """Whether a program is always loaded at its own addresses; one that can't be read is not."""
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little" if head[5:6] == b"\1" else "big") == _FIXED


def _places(lines: Iterable[str]) -> Iterator[tuple[NamedLine, ...]]:
    """Parse the output of ``addr2line``: after each address, pairs of lines with a function and a location."""
    for is_address, texts in groupby(lines, lambda line: line.startswith("0x")):
        if not is_address:
            pairs = list(texts)
            found = zip(pairs[::2], map(_PLACE.match, pairs[1::2]), strict=False)
            places = [(function, match) for function, match in found if match and not match["path"].startswith("??")]
            yield tuple(NamedLine(at["path"], int(at["line"]), f if f != "??" else "") for f, at in places)
