"""Saying how a run gets on while it lasts: a line of JSON for each event, for a program that shows it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress

_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class Progress:
    """Adds lines to a file: ``{"tests": 817}`` once it is known how many run, ``{"failed": false}`` as each test ends.

    ``{"trouble": "no tests were found"}`` says why they do not come to their end. Every process of a run adds its own.
    What can't be written is left out.

    Parameters
    ----------
    path : str
        The file, which exists; empty to say nothing.
    """

    def __init__(self, path: str):
        self._path = path

    def collected(self, tests: int) -> None:
        """So many tests will run.

        Parameters
        ----------
        tests : int
            How many.
        """
        self._add({"tests": tests})

    def ended(self, failed: bool) -> None:
        """A test ended.

        Parameters
        ----------
        failed : bool
            Whether it failed.
        """
        self._add({"failed": failed})

    def trouble(self, text: str) -> None:
        """The tests do not come to their end.

        Parameters
        ----------
        text : str
            Why, for the user.
        """
        self._add({"trouble": text})

    def _add(self, event: dict[str, int | bool | str]) -> None:
        if self._path:
            with suppress(OSError):
                _append(self._path, json.dumps(event).encode() + b"\n")


def _append(
    path: str,
    data: bytes,
    # tests may have replaced those of the module, or closed every file that was open
    open_: Callable[[str, int], int] = os.open,
    write: Callable[[int, bytes], int] = os.write,
    close: Callable[[int], None] = os.close,
) -> None:
    descriptor = open_(path, _FLAGS)
    try:
        write(descriptor, data)
    finally:
        close(descriptor)
