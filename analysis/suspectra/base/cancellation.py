"""Cancellation of work whose result is no longer needed.

The caller runs long work under a token, and the work calls :func:`check` from time to time. No function has to pass
the token on, and the check costs next to nothing in work that can't be cancelled.

State that is kept for later is replaced only once the new one is complete, so work may be cancelled at any check.

Examples
--------
>>> token = Token()
>>> with cancellable(token):
...     check()
...     token.cancelled = True
...     check()
Traceback (most recent call last):
suspectra.base.cancellation.Cancelled
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """The work was cancelled."""


class Token:
    """Asks running work to stop."""

    def __init__(self) -> None:
        self.cancelled = False  # may be set in any thread

    def check(self) -> None:
        """Raises Cancelled when `cancelled` was set."""
        if self.cancelled:
            raise Cancelled


_NEVER = Token()
_token: ContextVar[Token] = ContextVar("token", default=_NEVER)


@contextmanager
def cancellable(token: Token) -> Iterator[None]:
    """Let a token cancel the body of a ``with`` statement, in this thread."""
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


def current_token() -> Token:
    """The token of this thread's work, for what waits in other threads or for processes."""
    return _token.get()


def check() -> None:
    """Raise if the current work was cancelled. Long work calls this every few hundredths of a second.

    Raises
    ------
    Cancelled
        When the token of the current work was cancelled.

    Examples
    --------
    >>> token = Token()
    >>> token.cancelled = True
    >>> check()
    >>> with cancellable(token):
    ...     check()
    Traceback (most recent call last):
    suspectra.base.cancellation.Cancelled
    """
    if _token.get().cancelled:
        raise Cancelled


def checked(items: Iterable[T]) -> Iterator[T]:
    """Iterate over the items, with a :func:`check` before each.

    Raises Cancelled before the next item, when the current work was cancelled.
    """
    token = _token.get()
    for item in items:
        if token.cancelled:
            raise Cancelled
        yield item
