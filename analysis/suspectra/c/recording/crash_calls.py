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
from suspectra.c.recording.crash_handler import LIBRARY
from suspectra.evidence.failure_text import NamedLine
from suspectra.evidence.source_paths import SYSTEM
from suspectra.processes.runner import CommandToRun, run

CALLS_FILE, OPEN_FILE = "calls", "calls-open"
"""The beginnings of the files' names in a test's scratch folder.

For crashes, and for processes that have written no profile.
"""

MEASURED_FILE = "calls-measured"
"""The same for the programs and libraries that write profiles."""

LEFT_FILE = "calls-left"
"""The same for calls that an exception, a jump or the end of a thread left."""

OTHER_FILES = ("calls-exit", LEFT_FILE, "calls-thread")
"""The same for calls of ``exit``, those that were left, and those of other threads."""

_UNKNOWN = {
    "stack": ("its stack is damaged", "find out what damages it: build it with -fsanitize=address"),
    "child": (
        "a process with the memory of another one (vfork) was killed or crashed",
        "start it by fork(), or let it end by _exit() or exec",
    ),
    "threads": ("other threads still ran when it ended", "let it wait for its threads before it ends"),
    "cancelled": ("a thread was cancelled", "let the thread end by itself"),
    "stacks": ("it switched between stacks (swapcontext)", "let each of its coroutines end"),
    "unwinder": (
        "its exceptions could not be followed, as it has an unwinder of its own",
        "link it without -static-libgcc",
    ),
    "jumps": ("not each longjmp() or exception could be followed", "record on x86-64, with fewer threads"),
}

_ADDR2LINE_TIMEOUT_S = 300.0
"""For ``addr2line`` to name the lines of a crash: many times what a large program takes."""

_MAX_FILE = 1 << 22
_FIXED = 2  # the type of an ELF file that is always loaded at its own addresses
_MAPPING = re.compile(r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) \S+ [0-9a-f]+ \S+ \d+ +(?P<path>/.*)$")
_SAID = re.compile(r"^\?(\w+)$", re.MULTILINE)
_CALL = re.compile(
    r"^(?P<mark>[+~]?)(?P<interrupted>!?)(?P<address>[0-9a-f]{1,16})(?: (?P<times>[0-9a-f]{1,16}))?$", re.MULTILINE
)
_SIGNS = {"": 1, "+": -1, "~": 0}
_PLACE = re.compile(r"^(?P<path>.+):(?P<line>\d+)(?: \(discriminator \d+\))?$")


class CodeAddress(NamedTuple):
    """Where a call was under way when a program crashed."""

    file: str  # the program or library with the code
    address: int  # the address in its debug information
    inherited: bool = False  # whether the call began in the process that forked this one
    calling: bool = True  # whether it had called something, so that no signal interrupted it
    # how many calls were under way there; below 0 where as many go on, behind fork() or setjmp(), 0 where an exception
    # was handled
    times: int = 1


class CallUnderWay(NamedTuple):
    """A call that had not returned when a program crashed."""

    function: str  # the linker's name
    places: tuple[NamedLine, ...]  # its line, after the lines of calls that were inlined into it, the innermost first
    calling: bool  # whether it had called something, so that it did not crash by itself
    inherited: bool  # whether it began in the process that forked this one
    address: int  # where in the code of its file
    times: int  # how many there were, far out in a deep recursion; below 0 if they go on there, 0 by an exception


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
        with_lines: dict[str, bool] = {}
        for module, group in groupby(calls_in_files(text), attrgetter("file")):
            if module.startswith(SYSTEM) or os.path.basename(module).startswith(LIBRARY):
                continue
            under_way = list(group)
            lines = self._lines(module, under_way, problems)
            with_lines[module] = with_lines.get(module, False) or lines is None
            for call, places in zip(under_way, lines or (), strict=False):
                if places:
                    with_lines[module] = True
                    name, at = places[-1].function, call.address
                    calls.append(CallUnderWay(name, places, call.calling, call.inherited, at, call.times))
        for name in (os.path.basename(module) for module, some in with_lines.items() if not some):
            cause = f"the lines in which tests crashed are not known, as {name} has no line numbers"
            problems.append(Problem("", "", cause, "compile it with -g, and record these tests again"))
        return calls

    def _lines(
        self, module: str, calls: Sequence[CodeAddress], problems: list[Problem]
    ) -> list[tuple[NamedLine, ...]] | None:
        """The lines of each call in a file, also of inlined calls; nothing for one that has none.

        None if addr2line can't be asked.
        """
        tool = shutil.which("addr2line")
        if tool is None:
            cause = "the lines in which tests crashed are not known, as there is no addr2line"
            problems.append(Problem("", "", cause, "install binutils, and record these tests again"))
            return None
        # behind a signal, the address is that of the instruction itself
        asked = [one for call in calls for one in (call.address, call.address + 1)]
        command = (tool, "-f", "-i", "-a", "-e", module, *map(hex, asked))
        try:
            done = run(CommandToRun(command, os.sep, os.environ, timeout=_ADDR2LINE_TIMEOUT_S))
        except EvidenceError as error:
            problems.append(error.problem)
            return None
        if done.stopped:
            name = os.path.basename(module)
            cause = f"the lines in which tests crashed are not known, as addr2line took too long to read {name}"
            problems.append(Problem("", "", cause, "record these tests again while the machine is less busy"))
            return None
        answers = list(_places(done.stdout.decode("utf-8", "replace").splitlines()))
        return [next(filter(None, answers[at : at + 2]), ()) for at in range(0, len(answers), 2)]


def unwritten_profiles(folder: str) -> int:
    """How many processes of a test with a scratch folder have written no profile."""
    return len(glob.glob(os.path.join(glob.escape(folder), f"{OPEN_FILE}.*")))


def unknown_calls(folder: str) -> list[Problem]:
    """Why not all is known of the calls that a test with a scratch folder did not end; empty if it is."""
    names: dict[str, None] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"{CALLS_FILE}*"))):
        with open(path, encoding="latin-1") as file:
            names |= dict.fromkeys(_SAID.findall(file.read(_MAX_FILE).partition("\n\n")[0]))
    return [Problem("", "", *_UNKNOWN[name]) for name in names if name in _UNKNOWN]


INLINED = Problem("", "", "exceptions or jumps left calls that the compiler had inlined", "build with -O0")
"""What is not known of calls that were left: where an exception went on in such a function."""


def calls_in_files(text: str) -> list[CodeAddress]:
    """Parse the output of the crash handler. Calls in code that is not in a file are left out.

    Innermost first.
    """
    head, _, tail = text.partition("\n\n")
    own, _, others = head.partition("\n-\n")
    mapped = [(int(m["start"], 16), int(m["end"], 16), m["path"]) for m in map(_MAPPING.match, tail.splitlines()) if m]
    starts: dict[str, int] = {}
    for start, _, path in mapped:
        starts.setdefault(path, start)
    calls = []
    for match, inherited in [
        *((one, False) for one in _CALL.finditer(own)),
        *((one, True) for one in _CALL.finditer(others)),
    ]:
        # a return address is after the call, which may be on another line
        at = int(match["address"], 16) - (not match["interrupted"])
        path = next((path for start, end, path in mapped if start <= at < end), None)
        if path is not None:
            address = at if is_fixed(path) else at - starts[path]
            times = int(match["times"] or "1", 16) * _SIGNS[match["mark"]]
            calls.append(CodeAddress(path, address, inherited, not match["interrupted"], times))
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


def _places(lines: Iterable[str]) -> Iterator[tuple[NamedLine, ...]]:
    """Parse the output of ``addr2line``: after each address, pairs of lines with a function and a location."""
    for is_address, texts in groupby(lines, lambda line: line.startswith("0x")):
        if not is_address:
            pairs = list(texts)
            found = zip(pairs[::2], map(_PLACE.match, pairs[1::2]), strict=False)
            places = [(function, match) for function, match in found if match and not match["path"].startswith("??")]
            yield tuple(NamedLine(at["path"], int(at["line"]), f if f != "??" else "") for f, at in places)
