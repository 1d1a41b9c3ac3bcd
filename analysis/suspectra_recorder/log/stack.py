"""The stack of a failing test: the frames of its traceback in measured code.

It is a part of the test's record. In a frame of its own it would have to be matched with its test, by name and time,
when logs are merged, compacted or cut off, and could be left over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.log.collection import MAX_NAME, one_line
from suspectra_recorder.log.frames import inside
from suspectra_recorder.log.missing_packages import MISSING_FIXTURE, missing_module, missing_package

__builtins__ = library_references.builtins

MAX_FRAMES = 32
MAX_MESSAGE = 500
MAX_DETAILS = 12
_HALF = MAX_FRAMES // 2


class StackFrame(NamedTuple):
    """One call on the stack."""

    file: str  # relative to the workspace, with forward slashes
    line: int  # counted from 1
    function: str = ""  # its name, qualified if known; empty if unknown

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.function}" if self.function else "")


class FailedLine(NamedTuple):
    """The line of test code in which a test failed."""

    file: str  # relative to the workspace, with forward slashes
    line: int  # counted from 1
    # SHA-256 (hexadecimal) of the file at that time, since the sources of tests need not be part of a recording; empty
    # if it could not be read
    digest: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Stack:
    """Where a test failed, and by what."""

    frames: tuple[StackFrame, ...]  # the calls in measured code, outermost first
    # the name of the exception's type, or a signal that ended the test (`SIGSEGV`); empty if unknown
    exception: str = ""
    message: str = ""  # its first line, without the name of the type
    assertion: bool = False  # whether an assertion ended the test, rather than another exception or a crash
    omitted: int = 0  # the number of frames left out between the outer and the inner half of `frames`
    test_line: FailedLine | None = None  # the innermost call in test code, measured or not; None if unknown
    details: tuple[str, ...] = ()  # the first of the further lines of the message, such as how two values differ
    # the line of the test itself, where `test_line` is in a helper that the test calls
    own_line: FailedLine | None = None

    @property
    def innermost(self) -> StackFrame | None:
        """The frame in which the exception was raised, or the nearest measured one."""
        return self.frames[-1] if self.frames else None

    @property
    def failed_lines(self) -> tuple[FailedLine, ...]:
        """The lines of test code in which it failed, that of the test itself first."""
        return tuple(line for line in (self.own_line, self.test_line) if line is not None)

    @property
    def is_missing_fixture(self) -> bool:
        """Whether the test asked for a fixture that nothing has, so that it did not begin."""
        return self.exception == MISSING_FIXTURE and not self.frames and self.test_line is None

    @property
    def missing_module(self) -> str:
        """The module that could not be imported as it is not there; empty for other exceptions."""
        return missing_module(self.exception, self.message)

    @property
    def what(self) -> str:
        """The exception and its message."""
        return ": ".join(part for part in (self.exception, self.message) if part)

    @property
    def missing_package(self) -> str:
        """The package that brings the fixture which the test asked for; empty where that is not known."""
        return missing_package(self.exception, self.message) if self.is_missing_fixture else ""

    def __str__(self) -> str:
        place = f"at {self.frames[-1]}" if self.frames else ""
        return " ".join(part for part in (self.what, place) if part)

    def saying(self, message: str) -> Stack:
        """Return the same stack with a message, if it has none.

        With its first line, and the next ones as details.
        """
        if self.message:
            return self
        return replace(self, message=_first_line(message, self.exception), details=_further_lines(message))

    def as_dict(self) -> dict[str, object]:
        """Return the fields by name, as in a recording."""
        return {
            "frames": self.frames,
            "exception": self.exception,
            "message": self.message,
            "assertion": self.assertion,
            "omitted": self.omitted,
            "test_line": self.test_line,
            "own_line": self.own_line,
            "details": self.details,
        }

    @classmethod
    def from_dict(cls, head: dict[str, Any]) -> Stack:
        """Make a stack from a recording, with all texts limited to one line of bounded length.

        Raises LookupError, TypeError, ValueError when it has another form.
        """
        frames = (StackFrame(inside(file), int(line), str(function)) for file, line, function in head["frames"])
        stack = make_stack(
            frames, str(head["exception"]), str(head["message"]), bool(head["assertion"]), int(head["omitted"])
        )
        return replace(
            stack,
            test_line=_test_line(head.get("test_line")),
            own_line=_test_line(head.get("own_line")),
            details=_bounded(map(str, head.get("details", ()))),
        )


def make_stack(
    frames: Iterable[StackFrame], exception: str = "", message: str = "", assertion: bool = False, omitted: int = 0
) -> Stack:
    """Make a stack from data that is not trusted, bounded and without control characters."""
    kept: Sequence[StackFrame] = [
        StackFrame(frame.file, frame.line, one_line(frame.function, MAX_NAME)) for frame in frames if frame.line > 0
    ]
    if len(kept) > MAX_FRAMES:
        omitted += len(kept) - MAX_FRAMES
        # of a deep recursion both ends: how it began, and where it failed
        kept = [*kept[:_HALF], *kept[-_HALF:]]
    message = _first_line(message, exception)
    return Stack(tuple(kept), one_line(exception, MAX_NAME), message, assertion, max(omitted, 0))


def _first_line(message: str, exception: str) -> str:
    """The first line of a message, without the name of the exception's type before it."""
    # a message may be a whole text that was compared
    first = next((line for line in message[: 8 * MAX_MESSAGE].splitlines() if line.strip()), "")
    head, _, rest = first.partition(": ")
    name = exception.partition("[")[0]  # an exception group without its members
    if name and (head == name or head.endswith(f".{name}")):
        first = rest
    return one_line(first, MAX_MESSAGE)


def _test_line(given: Any) -> FailedLine | None:
    """A line of test code from a recording."""
    if given is None:
        return None
    file, line, digest = given
    return FailedLine(inside(file), int(line), one_line(str(digest), MAX_NAME)) if int(line) > 0 else None


def _further_lines(message: str) -> tuple[str, ...]:
    """The lines of a message after the first."""
    return _bounded([line for line in message[: 8 * MAX_MESSAGE].splitlines() if line.strip()][1:])


def _bounded(lines: Iterable[str]) -> tuple[str, ...]:
    """A few lines of bounded length, without empty ones."""
    kept = islice((line for line in lines if line.strip()), MAX_DETAILS)
    return tuple(one_line(line, MAX_MESSAGE) for line in kept)
