"""Finding where a test failed in the output of test runners, assertions and sanitizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from suspectra_recorder.log.colours import without_colours
from suspectra_recorder.log.stack import Stack, StackFrame, make_stack

MAX_TEXT = 1 << 17
"""The number of characters that are read of a text: half of them from its start, half from its end."""

_MAX_LINE = 1000
_ANOTHER = re.compile(
    r"^The above exception was the direct cause of the following exception:$"
    r"|^During handling of the above exception, another exception occurred:$"
)
_SECOND_OF_GROUP = re.compile(r"^\s*\+-+ 2 -+$")
_PYTEST = re.compile(
    r"^(?![E>] )(?P<file>[A-Za-z]:[\\/][^:]+|\S[^:]*):(?P<line>\d+):(?: (?:in (?P<function>\S.*)|(?P<kind>[\w.]+))?)?$"
)
_PYTHON = re.compile(r'^[\s|+]*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_KIND = re.compile(r'^(?:failed on \w+ with ")?(?P<kind>[^\W\d][\w.]*)(?:: |"?$)')
_ASSERTIONS = ("AssertionError", "Failed")

_FRAME = re.compile(
    r"^\s*#(?P<number>\d+)\s+(?:0x[0-9a-fA-F]+ )?in (?P<function>.+) (?P<file>[^\s:]+):(?P<line>\d+)(?::\d+)?$"
)
_SANITIZER = re.compile(r"ERROR: (?:Address|Leak|Memory|Thread|HWAddress)Sanitizer: (?P<kind>[\w-]+)")
_ACCESS = re.compile(r"^(?:READ|WRITE) of size \d+")
_FILE = r"(?P<file>[^\s:()][^:()]*):(?P<line>\d+)"
_PLACES = (  # a part that a line must contain, whether it is an assertion, and its pattern
    ("runtime error: ", False, re.compile(rf"^{_FILE}(?::\d+)?: runtime error: (?P<message>.*)$")),
    (
        "Assertion ",
        True,
        re.compile(rf"^(?:[^:]*: )?{_FILE}: (?:(?P<function>.*): )?Assertion [`'](?P<message>.*)' failed"),
    ),
    (
        "Assertion failed: ",
        True,
        re.compile(r"^Assertion failed: (?P<message>.*) \((?P<file>[^:()]+): (?P<function>[^:]+): (?P<line>\d+)\)"),
    ),
    (
        "Assertion failed: ",
        True,
        re.compile(
            r"^Assertion failed: \((?P<message>.*)\), function (?P<function>[^,]+), file (?P<file>[^,]+),"
            r" line (?P<line>\d+)"
        ),
    ),
    (": Failure", True, re.compile(rf"^{_FILE}: Failure$")),  # GoogleTest
    (": FAILED:", True, re.compile(rf"^{_FILE}: FAILED:$")),  # Catch2
    ("ERROR: ", True, re.compile(rf"^{_FILE}: (?:FATAL )?ERROR: (?P<message>.*)$")),  # doctest
    (":FAIL", True, re.compile(rf"^{_FILE}:(?P<function>\w+):FAIL:? ?(?P<message>.*)$")),  # Unity
    (  # its fixtures, which print a dot for each test before
        ":FAIL",
        True,
        re.compile(rf"^\.?{_FILE}:TEST\(\w+, (?P<function>\w+)\):FAIL:? ?(?P<message>.*)$"),
    ),
    (": error: ", True, re.compile(rf"^(?:\[ *ERROR *\] --- )?{_FILE}: error: (?P<message>.*)$")),  # cmocka
    (":", True, re.compile(rf"^{_FILE}:[FE]:[^:]*:(?P<function>[^:]*):\d+: (?P<message>.*)$")),  # Check
    (
        "error: in ",
        True,
        re.compile(
            r'^(?P<file>[^\s()]+)\((?P<line>\d+)\): (?:fatal )?error: in "(?P<function>[^"]*)": (?P<message>.*)$'
        ),
    ),  # Boost.Test
    (":Assertion", True, re.compile(rf"^{_FILE}:Assertion$")),  # CppUnit
    (") line: ", True, re.compile(r"^\d+\) test: .* \(F\) line: (?P<line>\d+) (?P<file>.+)$")),  # CppUnit, as text
    (") ", True, re.compile(rf"^\d+\) \w+: {_FILE}: (?P<message>.*)$")),  # CuTest
    ("at ", True, re.compile(rf"^at {_FILE}$")),  # Catch2 in XML
    (":", True, re.compile(rf"^{_FILE}$")),  # GoogleTest in XML
)

Resolve = Callable[[str], tuple[str, bool] | None]
"""Given a path, returns its name in the workspace and whether its code may be suspected; None outside."""


class NamedLine(NamedTuple):
    """A line named in a text."""

    path: str  # the path as in the text
    line: int  # counted from 1
    function: str  # name of the function, empty if it is not given


@dataclass(frozen=True)
class Failure:
    """A failure described by a text."""

    raised: tuple[tuple[NamedLine, ...], ...]  # the calls of each exception, outermost first
    exception: str = ""  # the name of its type; empty if it is not given
    message: str = ""
    assertion: bool = False  # whether an assertion failed

    def stack(self, resolve: Resolve) -> Stack:
        """Make the stack of the calls in the workspace.

        If the exception was not raised in code that may be suspected, but an exception that caused it was, the location
        of the latter is added as the innermost frame.
        """
        frames: list[StackFrame] = []
        for number, places in enumerate(reversed(self.raised)):
            found = [(place, resolve(place.path)) for place in places]
            inside = [StackFrame(name[0], place.line, place.function) for place, name in found if name is not None]
            ranked = bool(found) and found[-1][1] is not None and found[-1][1][1]
            if number == 0:
                frames = inside
            elif ranked:
                frames += inside[-1:]
            if ranked:
                break
        return make_stack(frames, self.exception, self.message, self.assertion)


def python_failure(text: str, message: str = "", kind: str = "") -> Failure | None:
    """Parse a failure in a report of pytest or unittest.

    None if the text names no line.
    """
    message = without_colours(message)
    raised: list[list[NamedLine]] = [[]]
    named_kind = ""
    for line in _lines(text):
        if _ANOTHER.match(line):
            raised.append([])
        elif _SECOND_OF_GROUP.match(line):
            break
        elif match := _PYTHON.match(line) or _PYTEST.match(line):
            raised[-1].append(NamedLine(match["file"], _number(match["line"]), match["function"] or ""))
            named_kind = match.groupdict().get("kind") or named_kind
    chain = tuple(tuple(places) for places in raised if places)
    if not chain:
        return None
    found = _KIND.match(message.partition("\n")[0])
    kind = (named_kind or kind or (found["kind"] if found else "")).rpartition(".")[2]
    message = re.sub(r'^failed on \w+ with "(.*)"$', r"\1", message, flags=re.DOTALL)
    return Failure(chain, kind, message, kind.endswith(_ASSERTIONS))


def c_failure(text: str, calls: Sequence[NamedLine] = (), kind: str = "") -> Failure | None:
    """Parse a failure in the output of a C or C++ test.

    None if no line is named.
    """
    lines = list(_lines(text))
    frames = list(_first_stack(lines))
    sanitizer = next((match["kind"] for line in lines if (match := _SANITIZER.search(line))), "")
    place, assertion, message = _first_place(lines)
    if sanitizer:
        kind, assertion = sanitizer, False
        message = next((match[0] for line in lines if (match := _ACCESS.match(line))), "")
    if innermost_first := frames or list(calls):
        return Failure((tuple(reversed(innermost_first)),), kind, message, assertion)
    if place is None:
        return None
    return Failure(((place,),), kind, message, assertion)


def _first_stack(lines: Iterable[str]) -> Iterator[NamedLine]:
    """The calls of the first stack that a sanitizer prints, innermost first."""
    previous = -1
    for line in lines:
        numbered = re.match(r"^\s*#(\d+) ", line)
        if numbered is None:
            continue
        number = _number(numbered[1])
        if number <= previous:
            return
        previous = number
        if match := _FRAME.match(line):
            yield NamedLine(match["file"], _number(match["line"]), match["function"])


def _first_place(lines: Sequence[str]) -> tuple[NamedLine | None, bool, str]:
    """The first location of an error, whether it is an assertion, and the message."""
    for number, line in enumerate(lines):
        for part, assertion, pattern in _PLACES:
            if part in line and (match := pattern.match(line)):
                named = match.groupdict()
                after = " ".join(other.strip() for other in lines[number + 1 : number + 4]).strip()
                place = NamedLine(named["file"], _number(named["line"]), named.get("function") or "")
                return place, assertion, named.get("message") or after
    return None, False, ""


def _lines(text: str) -> Iterator[str]:
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]}\n{text[-MAX_TEXT // 2 :]}"
    return (line[:_MAX_LINE] for line in text.splitlines())


def _number(digits: str) -> int:
    """A line number; 0, which is not a line, for a number that is too long."""
    return int(digits) if len(digits) < 9 else 0
