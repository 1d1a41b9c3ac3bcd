"""What SQLite may open in an altered run: it opens files itself, which no audit hook is told of by their true names."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

_ATTACH = 24
"""The number by which SQLite asks whether a file may be attached; copies are attached, too."""

_DENY = 1

_URI_AT = 7
"""Which argument of `connect` says whether the name is an address."""


class Databases:
    """The databases of one process."""

    def __init__(self, attached: Callable[[str], bool]):
        self._attached = attached  # whether a connection may attach a file
        self._open: list[Any] = []  # those that were connected before anybody was told of it
        self.connects = False  # whether a connection is being made that is guarded then
        self._knows_addresses = False  # whether it is known that the name that is being opened is an address
        self._references: list[tuple[Any, str, Any]] = []  # where `connect` is called from, and what to call instead
        known = sys.modules.get("_sqlite3")
        if known is not None:
            self._open = [one for one in gc.get_objects() if issubclass(type(one), known.Connection)]
            self._references = list(self._find(known.connect, sys.modules["sqlite3"].connect))

    def prepare(self) -> None:
        """Ask from now on what connections may attach, and whether names are addresses."""
        for one in self._open:
            self._guard(one)
        self._open.clear()
        for module, name, instead in self._references:
            setattr(module, name, instead)

    def files(self, name: str, *, strictly: bool) -> Iterator[str]:
        """The files that may be written under a name; strictly also those that it names if it is no address."""
        if name in ("", ":memory:"):
            return
        if not name.startswith("file:"):
            yield name
            return
        place, _, options = name.removeprefix("file:").partition("#")[0].partition("?")
        if place.startswith("//"):
            place = f"/{place[2:].partition('/')[2]}"
        modes = {value for key, value in parse_qsl(options) if key == "mode"}
        if place not in ("", ":memory:") and not (modes and modes <= {"memory", "ro"}):
            yield unquote(place)
        if strictly and not self._knows_addresses:
            yield name

    def _find(self, *functions: Any) -> Iterator[tuple[Any, str, Any]]:
        instead = {id(one): self._connecting(one) for one in functions}
        for loaded in list(sys.modules.values()):
            for name, value in list(getattr(loaded, "__dict__", {}).items()):
                if id(value) in instead:
                    yield loaded, name, instead[id(value)]

    def _guard(self, connection: Any) -> None:
        with suppress(Exception):  # one of another thread, or one that is closed
            connection.set_authorizer(self._decide)

    def _decide(self, action: int, name: str | None, *_: object) -> int:
        return 0 if action != _ATTACH or self._attached(name or "") else _DENY

    def _connecting(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        def connecting(*arguments: Any, **named: Any) -> Any:
            self._knows_addresses = bool(named.get("uri") or any(arguments[_URI_AT : _URI_AT + 1]))
            self.connects = True
            try:
                connection = connect(*arguments, **named)
            finally:
                self.connects = self._knows_addresses = False
            self._guard(connection)  # at its audit event it is not complete yet
            return connection

        return connecting
