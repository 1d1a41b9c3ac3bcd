"""Stacks of failing tests, from the exceptions that ended them.

The program's exception classes may override any attribute: ``__cause__``, ``__class__``, ``__name__``. So attributes
are read through the descriptors of :class:`BaseException` and :class:`type`. Exceptions are never converted to text;
the message comes from the test runner.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, os, sys
from suspectra_recorder.log.collection import file_digest
from suspectra_recorder.log.stack import MAX_FRAMES, FailedLine, Stack, StackFrame, make_stack
from suspectra_recorder.recorded_files import RecordedFiles

__builtins__ = library_references.builtins

SAYING_NOTHING = frozenset(("Exception", "BaseException", "object"))
"""The names of bases that all exceptions have."""

_MAX_CAUSES = 20
_MAX_LEAVES = 100
_MAX_KINDS = 3
_MAX_ARGUMENT = 100_000  # characters
_PLAIN_TYPES = (str, int, float, bool, bytes, type(None))
_HEXADECIMAL = "0123456789abcdefABCDEF"
_base = vars(BaseException)
_traceback, _cause, _context = (_base[name].__get__ for name in ("__traceback__", "__cause__", "__context__"))
_arguments = _base["args"].__get__
_suppresses_context = _base["__suppress_context__"].__get__
_qualified_name = vars(type)["__qualname__"].__get__
_name, _bases = (vars(type)[name].__get__ for name in ("__name__", "__mro__"))
_GROUP = getattr(builtins, "BaseExceptionGroup", None)  # for Python 3.10 there is the package exceptiongroup


class Tracebacks:
    """Makes stacks of exceptions."""

    def __init__(self, scope: RecordedFiles):
        self._scope = scope
        self._known: dict[str, tuple[str, bool]] = {}  # by path: the name, empty for others, and whether it is ranked
        self._test_code: dict[str, str] = {}  # by path: the name, empty for what is no test code
        self._digests: dict[str, str] = {}  # by path

    def stack(
        self, error: BaseException, traceback: TracebackType | None, test: str, *, assertion: bool = False
    ) -> Stack:
        """The stack of an exception that ended a test, given the name of the test's function.

        If it was not raised in ranked code but one of the exceptions that led to it was, the innermost frame of that
        one is appended. For a group, the frames of its first exception that was raised in ranked code are appended.
        """
        example = self._line_of_example(error)
        # a doctest reports what its example raised by an exception of its own
        error, traceback = raised_by_example(error, traceback)
        name = _qualified_name(type(error))
        frames, omitted, ranked = self._frames(traceback)
        if (leaves := list(_leaves(error))) and not ranked:
            name = _name_of_group(name, leaves)
            frames += self._first_ranked(leaves)
        elif not ranked:
            frames += self._first_ranked(causes_of(error))[-1:]
        stack = make_stack(frames, name, "", assertion or issubclass(type(error), AssertionError), omitted)
        if example is not None:
            return replace(stack, test_line=example)
        own, innermost = self._test_lines(traceback, test)
        return replace(stack, test_line=innermost, own_line=own if own != innermost else None)

    def _first_ranked(self, errors: Iterator[BaseException] | list[BaseException]) -> list[StackFrame]:
        """The frames of the first exception that was raised in ranked code."""
        for error in errors:
            frames, _, ranked = self._frames(_traceback(error))
            if ranked:
                return frames
        return []

    def _frames(self, traceback: TracebackType | None) -> tuple[list[StackFrame], int, bool]:
        """The frames in recorded code, the number of omitted ones, and whether the innermost is in ranked code."""
        frames: list[StackFrame] = []
        omitted, ranked = 0, False
        while traceback is not None:
            code = traceback.tb_frame.f_code
            name, ranked = self._file(code.co_filename)
            if name:
                frames.append(StackFrame(name, traceback.tb_lineno or 0, getattr(code, "co_qualname", code.co_name)))
                if len(frames) > 2 * MAX_FRAMES:  # a recursion may be deep
                    del frames[MAX_FRAMES // 2]
                    omitted += 1
            traceback = traceback.tb_next
        return frames, omitted, ranked

    def _test_lines(self, traceback: TracebackType | None, test: str) -> tuple[FailedLine | None, FailedLine | None]:
        """The line of the test's own function, and the innermost line in test code of the workspace."""
        own: TracebackType | None = None
        innermost: TracebackType | None = None
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self._test_name(code.co_filename):
                innermost = traceback
                # a decorator, a fixture or a hook of the workspace may be further out
                if own is None and code.co_name == test:
                    own = traceback
            traceback = traceback.tb_next
        return self._failed_line(own), self._failed_line(innermost)

    def _failed_line(self, call: TracebackType | None) -> FailedLine | None:
        path = call.tb_frame.f_code.co_filename if call else ""
        return self._line(path, self._test_name(path), call.tb_lineno or 0) if call else None

    def _line(self, path: str, name: str, line: int) -> FailedLine | None:
        if path not in self._digests:
            self._digests[path] = file_digest(path)
        return FailedLine(name, line, self._digests[path]) if name and line > 0 else None

    def _line_of_example(self, error: BaseException) -> FailedLine | None:
        """The line of the example of a doctest that failed; None for any other failure."""
        failed = _failed_example(error)
        if failed is None:
            return None
        path = os.path.abspath(str(failed.test.filename))
        if failed.test.lineno is None or not os.path.isfile(path):
            return None
        return self._line(path, self._scope.name(path) or "", failed.test.lineno + failed.example.lineno + 1)

    def _test_name(self, path: str) -> str:
        """The name of a file of the workspace that is test code, empty for any other."""
        known = self._test_code.get(path)
        if known is None:
            known = ""
            if path.endswith(".py") and self._scope.is_test_code(path):
                known = self._scope.name(path) or ""
            self._test_code[path] = known
        return known

    def _file(self, path: str) -> tuple[str, bool]:
        known = self._known.get(path)
        if known is None:
            name = self._scope(path) or ""
            known = self._known[path] = name, bool(name) and not self._scope.is_test_code(path)
        return known


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that led to one, by Python's rules for tracebacks.

    The nearest first.
    """
    # a program may link exceptions in a circle
    seen = {id(error)}
    for _ in range(_MAX_CAUSES):
        before = _cause(error)
        if before is None and not _suppresses_context(error):
            before = _context(error)
        if before is None or id(before) in seen:
            return
        seen.add(id(before))
        yield before
        error = before


def type_names(error: BaseException) -> list[str]:
    """The names under which a recording may have the exception with which a test failed.

    Those of its type and of the bases of that; for a group also those of the exceptions in it.
    """
    error, _ = raised_by_example(error, None)
    names = [_name(type(error))]
    for one in (error, *_leaves(error)):
        names += [name for base in _bases(type(one)) if (name := _name(base)) not in SAYING_NOTHING]
    return list(dict.fromkeys(names))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions of a group and of the groups in it; none of any other exception."""
    group = _GROUP or getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", None)
    if group is None or not issubclass(type(error), group):
        return
    # a class of the program that is derived from it may override the attribute
    inner = vars(group)["exceptions"].__get__
    pending, found = [error], 0
    while pending and found < _MAX_LEAVES:
        nested = pending.pop(0)
        if issubclass(type(nested), group):
            pending[:0] = inner(nested)[:_MAX_LEAVES]
        else:
            found += 1
            yield nested


def _name_of_group(name: str, leaves: list[BaseException]) -> str:
    kinds = list(dict.fromkeys(_qualified_name(type(leaf)) for leaf in leaves))
    return f"{name}[{', '.join(kinds[:_MAX_KINDS])}{', …' if len(kinds) > _MAX_KINDS else ''}]"


def raised_by_example(
    error: BaseException, traceback: TracebackType | None
) -> tuple[BaseException, TracebackType | None]:
    """Unwrap what an example of a doctest raised from the exception that reports it.

    The same one where no example raised it.
    """
    failed = _failed_example(error)
    if hasattr(failed, "exc_info"):
        return failed.exc_info[1], failed.exc_info[2]
    return error, traceback


def _failed_example(error: BaseException) -> Any:
    """The exception that reports the first example of a doctest that failed; None for any other exception."""
    inner: Any = error
    if type(inner).__name__ == "MultipleDoctestFailures" and type(inner).__module__ == "_pytest.doctest":
        inner = next(iter(inner.failures), inner)
    doctest = sys.modules.get("doctest")
    kinds = (getattr(doctest, "DocTestFailure", None), getattr(doctest, "UnexpectedException", None))
    return inner if doctest is not None and type(inner) in kinds else None


def message_digest(error: BaseException) -> str:
    """A digest of an exception's type and arguments, the same wherever its objects are in memory."""
    text = f"{type(error).__name__}{_in_plain_text(_arguments(error), 3)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _in_plain_text(value: object, depth: int) -> str:
    if type(value) is tuple and depth:
        return "(" + ",".join([_in_plain_text(part, depth - 1) for part in value]) + ")"
    if type(value) is str:
        # without addresses, which differ from run to run
        first, *others = value[:_MAX_ARGUMENT].split("0x")
        return repr("0x".join([first, *(other.lstrip(_HEXADECIMAL) for other in others)]))
    return repr(value) if type(value) in _PLAIN_TYPES else type(value).__name__
