"""Stopping work that nobody waits for any more.

Whoever starts work that may take long runs it under a token, and whatever takes long looks at it now and then by
:func:`check`. No function has to hand the token on, and work that nobody may cancel pays next to nothing.

Examples
--------
>>> token = Token()
>>> with cancellable(token):
...     check()
...     token.cancelled = True
...     check()
Traceback (most recent call last):
suspectra.cancellation.Cancelled
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """Work found that nobody waits for its result any more.

    Examples
    --------
    >>> raise Cancelled
    Traceback (most recent call last):
    suspectra.cancellation.Cancelled
    """


class Token:
    """Tells running work that it is not wanted any more.

    Attributes
    ----------
    cancelled : bool
        May be set in any thread.

    Examples
    --------
    >>> token = Token()
    >>> token.check()
    >>> token.cancelled = True
    >>> token.check()
    Traceback (most recent call last):
    suspectra.cancellation.Cancelled
    """

    def __init__(self) -> None:
        self.cancelled = False

    def check(self) -> None:
        """Stop here if cancelled.

        Raises
        ------
        Cancelled
            When `cancelled` was set.
        """
        if self.cancelled:
            raise Cancelled


_NEVER = Token()
_token: ContextVar[Token] = ContextVar("token", default=_NEVER)


@contextmanager
def cancellable(token: Token) -> Iterator[None]:
    """Whatever runs inside, in this thread, can be cancelled by the token.

    Parameters
    ----------
    token : Token
        Set `cancelled` on it, from any thread, to stop what runs inside.

    Examples
    --------
    >>> token = Token()
    >>> with cancellable(token):
    ...     check()
    ...     token.cancelled = True
    ...     check()
    Traceback (most recent call last):
    suspectra.cancellation.Cancelled
    """
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


def check() -> None:
    """Stop here if the work at hand was cancelled. To be called every few hundredths of a second.

    Raises
    ------
    Cancelled
        When the token that the work runs under was cancelled.

    Examples
    --------
    >>> token = Token()
    >>> token.cancelled = True
    >>> check()
    >>> with cancellable(token):
    ...     check()
    Traceback (most recent call last):
    suspectra.cancellation.Cancelled
    """
    if _token.get().cancelled:
        raise Cancelled


def checked(items: Iterable[T]) -> Iterator[T]:
    """The same items, with a :func:`check` before each.

    Parameters
    ----------
    items : iterable of T
        Anything that can be looped over.

    Yields
    ------
    T
        One of `items`.

    Raises
    ------
    Cancelled
        Before the next item, when the work at hand was cancelled.

    Examples
    --------
    >>> list(checked(range(3)))
    [0, 1, 2]
    """
    token = _token.get()
    for item in items:
        if token.cancelled:
            raise Cancelled
        yield item
