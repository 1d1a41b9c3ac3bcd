"""Where the exceptions that left traced functions came from."""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

_MAX = 20  # of one identity


class _Origin(NamedTuple):
    node: int
    place: tuple[str, int]
    raised_again: bool


class Origins:
    """The nodes where exceptions came from, by their identities.

    An exception may leave functions more than once: what a future keeps is raised where somebody waits for it. Then the
    first place counts, where its traceback begins. It may also be another exception that got the identity of an earlier
    one. So the traceback tells which one it is.
    """

    def __init__(self) -> None:
        self._found: dict[int, list[_Origin]] = {}

    def add(
        self, error: BaseException | None, trace: TracebackType | None, node: int, *, raised_again: bool = False
    ) -> None:
        """An exception leaves a function."""
        found = self._found.setdefault(id(error), [])
        if not found or found[-1].node != node:
            found.append(_Origin(node, _place(trace), raised_again))
            del found[:-_MAX]

    def known(self, error: BaseException, trace: TracebackType | None) -> int:
        """Find the node of an exception that has left a place before, such as the body of a ``with``; -1 for others."""
        place = _place(trace)
        return next((one.node for one in reversed(self._found.get(id(error), ())) if one.place == place), -1)

    def for_exception(self, error: BaseException, trace: TracebackType | None) -> int:
        """Find the node where an exception came from.

        -1 if it left no traced function.
        """
        found = self._found.get(id(error))
        if not found:
            return -1
        if trace is not None and not found[-1].raised_again:
            place = _place(trace)
            return next((one.node for one in reversed(found) if one.place == place), found[-1].node)
        return found[-1].node

    def clear(self) -> None:
        """Forget all exceptions."""
        self._found.clear()


def _place(trace: TracebackType | None) -> tuple[str, int]:
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
