"""A C or C++ test: what to run, and how to judge the result."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suspectra.base.location import Location
from suspectra.evidence.evidence import Verdict
from suspectra.processes.events import ProgramEnded, Stopped

MAX_SHOWN = 120
"""How much of a line of output a message shows, in bytes."""

SHOWN_BEFORE = 40
"""How much of that is in front of the first difference, in a long line."""

COMPLAINT = re.compile(r"(?i)assert|(?<!\bno )(?<!\b0 )(?:fail|error)|expected|mismatch|not ok")
"""What a line of output has that says why a test fails; "no error" does not."""

_HEADER = re.compile(r"\[ *(?:RUN|OK|PASSED|FAILED|SKIPPED) *\]|\[[-=]+\]|\d+%: Checks: ")
"""How lines of output begin that name a test or count some, and say nothing of why one fails."""

NOTED, NOTED_FILE = "SUSPECTRA_TESTS", "tests"
"""The variable that names the file in which a program notes which of its cases it runs, and its usual name."""

_TAP_FAILED = re.compile(r"^(not ok\b(?!.*#\s*(?:TODO|SKIP)).*|Bail out!.*)$", re.MULTILINE | re.IGNORECASE)
_TAP_SKIPPED = re.compile(r"^1\.\.0\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class CCase:
    """A test to run.

    The properties are those of CTest; see its manual.
    """

    name: str  # the name from CTest, the test program or the user
    argv: tuple[str, ...]  # program and arguments; `{scratch}` stands for a folder that is deleted after the test
    folder: str  # working folder
    # variables that are added to the recorder's own environment
    environment: Mapping[str, str] = field(default_factory=dict)
    modifications: tuple[str, ...] = ()  # CTest's `ENVIRONMENT_MODIFICATION`
    timeout: float | None = None  # seconds
    will_fail: bool = False  # whether the test passes if it fails, and the other way round
    # patterns that are searched in its output
    pass_patterns: tuple[str, ...] = ()
    fail_patterns: tuple[str, ...] = ()
    skip_patterns: tuple[str, ...] = ()
    skip_code: int | None = None  # the exit code of a skipped test
    # file with the standard output of a passing test; the exit code and patterns are then ignored
    expected: Path | None = None
    report: str = ""  # JUnit or GoogleTest XML that the test itself writes; `{scratch}` as above
    location: Location | None = None  # where the test is defined, if known
    depends: tuple[str, ...] = ()  # tests that must run before it
    # fixtures that it sets up, needs and cleans up
    setup: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()  # resources that one test at a time may use
    serial: bool = False  # whether no other test may run at the same time
    disabled: bool = False  # whether it is listed, but does not run
    required_files: tuple[str, ...] = ()  # files that must exist
    tap: bool = False  # whether its output says by lines of TAP how it ends
    problem: str = ""  # why it can't be run; empty if it can
    whole: CCase | None = None  # runs all cases of the program, if this is one of several
    noted: str = ""  # the name that its program notes when it runs it, where the case is chosen by a number

    @property
    def program(self) -> str:
        """The file of the program that its command starts, without links."""
        return os.path.realpath(os.path.join(self.folder, self.argv[0]))


def judge(case: CCase, ended: ProgramEnded) -> tuple[Verdict, str]:
    """Judge a test, as CTest does.

    A crash or a time-out always fails. A pass pattern replaces the exit code, a fail pattern overrides both, and
    ``WILL_FAIL`` inverts the result.

    The first line of the reason if it failed, else empty.
    """
    if ended.stopped is Stopped.TIMEOUT:
        return Verdict.FAILED, f"timed out after {case.timeout:g} s"
    if ended.stopped is Stopped.OUTPUT:
        return Verdict.FAILED, "wrote too much output"
    if ended.signal:
        complaint = _complaint(ended.stderr.decode("utf-8", "replace"))  # what assert() says, for example
        return Verdict.FAILED, f"crashed: {signal_name(ended.signal)}{f': {complaint}' if complaint else ''}"
    if case.expected is not None:
        return _compare(case.expected, ended.stdout)
    output = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    skipped = ended.code == case.skip_code or (case.tap and _TAP_SKIPPED.search(output))
    if skipped or _found(case.skip_patterns, output):
        return Verdict.SKIPPED, "skipped by itself"
    reason = ""
    if case.pass_patterns and not _found(case.pass_patterns, output):
        wanted = " or ".join(f'"{pattern}"' for pattern in case.pass_patterns)
        reason = f"its output contains nothing like {wanted}"
    elif found := _found(case.fail_patterns, output):
        reason = f'its output contains something like "{found}"'
    elif case.tap and (failed := _TAP_FAILED.search(output)):
        reason = failed[0].strip()
    elif ended.code and not case.pass_patterns:
        reason = _first_complaint(output) or f"exit code {ended.code}"
    if case.will_fail:
        return (Verdict.PASSED, "") if reason else (Verdict.FAILED, "it was expected to fail and did not")
    return (Verdict.FAILED, reason) if reason else (Verdict.PASSED, "")


def cmake_pattern(pattern: str) -> re.Pattern[str]:
    """Translate one of CMake's regular expressions into Python's syntax.

    CMake knows only ``^ $ . [] * + ? | ()``, and a backslash to escape a character. Its anchors match only at the ends
    of the whole text.
    """
    parts, at, in_set = [], 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            at += 1
            parts.append(re.escape(pattern[at]))
        elif in_set:
            in_set = char != "]" or parts[-1] in ("[", "[^")
            parts.append("\\" + char if char in "[&~|" else char)
            if parts[-2:] == ["[", "^"]:
                parts[-2:] = ["[^"]
        elif char == "[":
            in_set = True
            parts.append(char)
        else:
            parts.append({"$": r"\Z", "{": r"\{", "}": r"\}"}.get(char, char))
        at += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def _found(patterns: tuple[str, ...], output: str) -> str:
    return next((pattern for pattern in patterns if cmake_pattern(pattern).search(output)), "")


def _compare(expected: Path, stdout: bytes) -> tuple[Verdict, str]:
    try:
        wanted = expected.read_bytes()
    except OSError:
        return Verdict.SKIPPED, f"there is no file {expected.name} of expected output"
    if stdout == wanted:
        return Verdict.PASSED, ""
    got, want = stdout.splitlines(keepends=True), wanted.splitlines(keepends=True)
    at = _first_difference(got, want)
    line, other = got[at] if at < len(got) else b"", want[at] if at < len(want) else b""
    if all(one.endswith(b"\n") for one in (line, other) if one):
        line, other = line.removesuffix(b"\n"), other.removesuffix(b"\n")
    # the beginnings of long lines are often the same
    same = _first_difference(line, other)
    begin = same - SHOWN_BEFORE if same > SHOWN_BEFORE + MAX_SHOWN // 2 else 0
    shown, expectation = (
        _part(one, begin) if at < len(all_) else "nothing" for one, all_ in ((line, got), (other, want))
    )
    return Verdict.FAILED, f"output line {at + 1}: {shown}, expected {expectation}"


def _first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _part(line: bytes, begin: int) -> str:
    """A line from some byte on, in quotes."""
    cut = line[begin : begin + MAX_SHOWN]
    return f"{'…' if begin else ''}{cut.decode('utf-8', 'replace')!r}{'…' if len(line) > begin + MAX_SHOWN else ''}"


def _first_complaint(output: str) -> str:
    """The first line of the output that says what is wrong, else its last line."""
    lines = _lines(output)
    return _complaint(output) or (lines[-1] if lines else "")[:300]


def _complaint(output: str) -> str:
    """The first line of the output that says what is wrong, if any does, with the next one if it announces that."""
    lines = _lines(output)
    at = next((at for at, line in enumerate(lines) if COMPLAINT.search(line)), len(lines))
    return " ".join(lines[at : at + 1 + lines[at].endswith(":")] if at < len(lines) else ())[:300]


def _lines(output: str) -> list[str]:
    """The lines that say something; also headers if there is nothing else."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return [line for line in lines if not _HEADER.match(line)] or lines


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
