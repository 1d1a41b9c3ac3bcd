"""The columns of a trace, which are written to a file as they grow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from suspectra_recorder.experiments.values.descriptions import MAX_LENGTH, described, is_cheap
from suspectra_recorder.experiments.values.literals import LITERAL_TYPES
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins

MAX_NODES = 2_000_000
"""How many nodes a trace has at most."""

MAX_IMPORTED = 100_000
"""How many of them may be made while modules are imported, before the test begins."""

CHUNK = 1 << 15
"""Nodes that are kept before they are written."""

_MAX_TEXTS = 200_000
_MAX_DESCRIBED = 20_000  # values that are no literals, and are shown by what is in them

NAMES = ("site", "call", "text", "outcome", "source", "target", "shared", "owners", "bound", "callers")
"""The columns, in the order of their numbers in the file."""

_LITERALS = {id(cls) for cls in LITERAL_TYPES}
_type_name = type.__dict__["__name__"].__get__


class Columns:
    """The nodes of a run, and what they depend on."""

    def __init__(self, descriptor: int, most: int = MAX_NODES):
        self.descriptor, self.most = descriptor, most
        self.count = 0
        self.imported = 0  # nodes that were made before the run
        self.full = False
        self.parts: dict[str, array[int]] = {name: array("b" if name == "outcome" else "i") for name in NAMES}
        self.texts = [""]
        self.used: set[int] = set()  # sites of nodes that are written
        self._of_type: dict[int, int] = {}
        self._of_text: dict[str, int] = {"": 0}
        self._of_number: dict[int, int] = {}
        self._of_string: dict[str, int] = {}
        self._kept: list[object] = []
        self._left = _MAX_DESCRIBED
        self._write_down()

    def _write_down(self) -> None:
        """The functions that take a node: closures, since they are called for each."""
        site, call, text, outcome, source, target, shared, owners, bound, callers = (
            self.parts[name].append for name in NAMES
        )

        def node(place: int, number: int, literal: int, came_out: int, sources: list[int]) -> int:
            made = self.count
            site(place)
            call(number)
            text(literal)
            outcome(came_out)
            for one in sources:
                source(one)
                target(made)
            self.count = made + 1
            return made

        def edge(one: int, made: int) -> None:
            if one < made:
                source(one)
                target(made)

        def share(made: int, place: int, number: int) -> None:
            shared(made)
            shared(place)
            shared(number)

        def owner(number: int, of: tuple[int, int]) -> None:
            owners(number)
            owners(of[0])
            owners(of[1])

        def bind(position: int, place: int, number: int, made: int) -> None:
            bound(position)
            bound(place)
            bound(number)
            bound(made)

        self.node, self.edge, self.share, self.owner, self.bind = node, edge, share, owner, bind
        self.called = callers

    def sites_of(self, nodes: Iterable[int]) -> set[int]:
        """The places of some of the last nodes; of older ones nothing is known any more."""
        sites, written = self.parts["site"], self.count - len(self.parts["site"])
        return {sites[node - written] for node in nodes if node >= written}

    def text(self, value: object) -> int:
        """The number of a value's text."""
        cls = type(value)
        # exactly: the program may derive classes of its own, with a `__repr__` that would be called
        if type(value) is int:
            known = self._of_number.get(value)
            if known is None:
                known = self._new(repr(value) if value.bit_length() < 128 else "int")
                # a loop may count to millions
                if len(self._of_number) < _MAX_TEXTS:
                    self._of_number[value] = known
            return known
        if type(value) is str:
            if len(value) > MAX_LENGTH:
                return self._new(described(value))
            known = self._of_string.get(value)
            if known is None:
                known = self._new(repr(value))
                if len(self._of_string) < _MAX_TEXTS:
                    self._of_string[value] = known
            return known
        if value is None or value is True or value is False:
            return self._new("None" if value is None else "True" if value else "False")
        if is_cheap(cls):
            return self._new(described(value))
        if self._left or id(cls) in _LITERALS:
            self._left -= id(cls) not in _LITERALS
            if text := described(value):
                return self._new(text)
        return self._named(cls)

    def _named(self, cls: Any) -> int:
        known = self._of_type.get(id(cls))
        if known is None:
            known = self._of_type[id(cls)] = self._new(str(_type_name(cls)))
            self._kept.append(cls)
        return known

    def _new(self, text: str) -> int:
        known = self._of_text.get(text)
        if known is None:
            if len(self.texts) >= _MAX_TEXTS:
                return 0
            known = self._of_text[text] = len(self.texts)
            self.texts.append(text)
        return known

    def flush_if_full(self) -> None:
        """Write what has grown, now and then."""
        if self.descriptor and len(self.parts["site"]) >= CHUNK:
            self.flush()

    def go_on(self, descriptor: int, most: int) -> None:
        """A run begins, and what was imported for it is here already."""
        self.descriptor, self.imported = descriptor, self.count
        self.most = self.count + most

    def flush(self) -> None:
        """Write all columns."""
        # only the tables of sources with nodes are sent
        self.used.update(self.parts["site"])
        if not self.descriptor:
            return
        for number, name in enumerate(NAMES):
            part = self.parts[name]
            data = part.tobytes()
            if data:
                _write(self.descriptor, number.to_bytes(4, "little") + len(data).to_bytes(4, "little"))
                _write(self.descriptor, data)
                del part[:]


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
