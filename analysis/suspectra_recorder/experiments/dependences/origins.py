"""Where the exceptions that left traced functions came from."""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

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

    Examples
    --------
    >>> origins = Origins()
    >>> error = ValueError()
    >>> def first():
    ...     raise error
    >>> def second():
    ...     first()
    >>> try:
    ...     second()
    ... except ValueError:
    ...     trace = error.__traceback__.tb_next
    ...     origins.add(error, trace.tb_next, node=4)
    ...     origins.add(error, trace, node=9)
    >>> origins.for_exception(error, trace.tb_next), origins.for_exception(error, None)
    (4, 9)
    >>> origins.for_exception(KeyError(), None)
    -1
    """

    def __init__(self) -> None:
        self._found: dict[int, list[_Origin]] = {}

    def add(
        self, error: BaseException | None, trace: TracebackType | None, node: int, *, raised_again: bool = False
    ) -> None:
        """An exception leaves a function.

        Parameters
        ----------
        error : BaseException
            The exception.
        trace : TracebackType
            From that function on.
        node : int
            Where it came from.
        raised_again : bool
            Whether a handler raised it again: then the node says why.
        """
        found = self._found.setdefault(id(error), [])
        if not found or found[-1].node != node:
            found.append(_Origin(node, _place(trace), raised_again))
            del found[:-_MAX]

    def for_exception(self, error: BaseException, trace: TracebackType | None) -> int:
        """Find the node where an exception came from.

        Parameters
        ----------
        error : BaseException
            The exception.
        trace : TracebackType or None
            The innermost part of its traceback in traced code, if that is known.

        Returns
        -------
        int
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
        """Forget all exceptions.

        Examples
        --------
        >>> Origins().clear()
        """
        self._found.clear()


def _place(trace: TracebackType | None) -> tuple[str, int]:
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
