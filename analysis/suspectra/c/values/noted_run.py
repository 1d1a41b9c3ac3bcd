"""One run of a program that notes its values: these with their places in the sources, in order."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suspectra.base.location import Location
from suspectra.c.paths.disassembly import Block, SourceLine, Store
from suspectra.c.paths.source_texts import SourceTexts
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_run import mappings_in
from suspectra.c.values.frames import PARAMETER, FrameVariable, shown_text, variables_in
from suspectra.changes.value_trace import MAX_VALUES, ValueSite, ValueTrace

MAX_EVENTS = 1_000_000
"""Blocks, calls and values that a thread may note."""

_EVENT = np.dtype([("depth", "u4"), ("what", "u2"), ("kind", "u2"), ("at", "u8"), ("data", "V48")])
_VARIABLE = np.dtype([("function", "i8"), ("place", "i4"), ("size", "u2"), ("kind", "u2")])
"""As the recorder has them."""

_CONSTANT, _POINT, _SIZE = 16, 32, 15
_AROUND = 16  # bytes that one instruction writes at most
_MAX_NAME = 40
_NO_OUTCOME = -1


class _What(IntEnum):
    BLOCK = 1
    ENTER = 2
    EXIT = 3
    COMPARED = 4
    VALUE = 5
    TEXT = 6


class NotingProgram(NamedTuple):
    """A program that notes its values, with the variables of its functions."""

    path: str
    variables: Sequence[FrameVariable]

    @classmethod
    def from_program(cls, path: str, program: TracedProgram) -> NotingProgram:
        """Read its variables; of a program without the recorder there are none."""
        return cls(path, variables_in(path) if program.module(path).recorder else ())

    def write_table(self, beginning: Path, program: TracedProgram) -> None:
        """Write what the recorder has to know."""
        recorder = program.module(self.path).recorder
        table = np.zeros(len(self.variables), _VARIABLE)
        for row, one in zip(table, self.variables, strict=True):
            kind = one.type.kind | (PARAMETER if one.is_parameter else 0)
            row["function"], row["place"] = one.function - recorder, one.place
            row["size"], row["kind"] = one.type.size, kind
        table.tofile(f"{beginning}{Path(self.path).stat().st_ino}")


def read_values(folder: Path, noting: NotingProgram, program: TracedProgram, texts: SourceTexts) -> ValueTrace:
    """Read what the recorder in a program has written, one thread after the other."""
    nodes = _Nodes(program, texts)
    for file in sorted(folder.glob("*.noted")):
        process = file.name.split("-")[1]
        events = np.fromfile(file, _EVENT)
        events = events[events["what"] > 0]
        _Thread(nodes, noting, program, mappings_in(folder / f"{process}.maps")).read(events)
        nodes.whole &= len(events) < MAX_EVENTS
    return nodes.trace()


class _Nodes:
    """The nodes of a run."""

    def __init__(self, program: TracedProgram, texts: SourceTexts):
        self._program, self.texts = program, texts
        self._sites: dict[ValueSite, int] = {}
        self._places: dict[SourceLine, Location | None] = {}
        self._known: dict[str, int] = {}
        self._site, self._call, self._text, self._outcome = list[int](), list[int](), list[int](), list[int]()
        self._leads: dict[int, tuple[str, int]] = {}
        self.whole = True
        self.callers: list[int] = []  # the number of the call that made each call
        self.call = 0  # the number of the call whose nodes are added

    def place(self, line: SourceLine) -> Location | None:
        """Where a line is in the workspace."""
        if line not in self._places:
            self._places[line] = self._program.anywhere(line)
        return self._places[line]

    def add(
        self, place: Location | None, kind: str, name: str = "", value: str = "", outcome: int = _NO_OUTCOME
    ) -> None:
        """Add what happens at a place; nothing outside of the workspace."""
        if place is None or len(self._site) >= MAX_VALUES:
            return
        binds = ((place.file, 0, name),) if name else ()
        is_test = self._program.is_test(place)
        site = ValueSite(place.file, place.line, 0, kind, (), binds, is_test)
        self._call.append(self.call)
        self._site.append(self._sites.setdefault(site, len(self._sites)))
        self._text.append(self._known.setdefault(value, len(self._known)))
        self._outcome.append(outcome)

    def add_way(self, place: Location, name: str, there: Location, text: str) -> None:
        """Add to which line a decision led."""
        count = len(self._site)
        self.add(place, "way", name, text)
        if len(self._site) > count:
            self._leads[count] = there.file, there.line

    def trace(self) -> ValueTrace:
        """All of them."""
        columns = (self._site, self._call, self.callers, self._text, self._outcome)
        site, call, callers, text, outcome = (np.array(one, np.int64) for one in columns)
        return ValueTrace(
            tuple(self._sites),
            site,
            call,
            callers,
            text,
            outcome,
            tuple(self._known),
            {},
            self.whole,
            self._leads,
        )


@dataclass
class _Call:
    """A call that is under way."""

    number: int
    entering: bool = False
    block: tuple[str, int] | None = None  # the program or library of the block that is executed, and its address
    stored: int = 0  # up to which address the code of the block is executed
    values: dict[int, str] = field(default_factory=dict)  # of variables by number
    changed: dict[int, None] = field(default_factory=dict)  # those that were read since


class _Thread:
    """Reads the events of one thread."""

    def __init__(
        self, nodes: _Nodes, noting: NotingProgram, program: TracedProgram, mappings: list[tuple[int, int, str]]
    ):
        self._nodes, self._noting, self._program, self._mappings = nodes, noting, program, mappings
        self._calls: list[_Call] = []
        self._at: dict[int, tuple[str, int] | None] = {}
        self._places: dict[int, Mapping[int, int]] = {}  # of the variables of each function
        for number, one in enumerate(noting.variables):
            self._places.setdefault(one.function, {})[one.place] = number  # type: ignore[index]

    def read(self, events: npt.NDArray[np.void]) -> None:
        """Add the nodes of all events."""
        columns = (events[name].tolist() for name in ("depth", "what", "kind", "at", "data"))
        for depth, what, kind, at, data in zip(*columns, strict=True):
            del self._calls[depth:]
            while len(self._calls) < depth:
                self._begin()
            call = self._calls[depth - 1]
            self._nodes.call = call.number
            if what in (_What.VALUE, _What.TEXT):
                self._value(call, what, at, data)
                continue
            call.entering = False
            if what == _What.BLOCK:
                self._block(call, self._address(at))
            elif what == _What.ENTER:
                self._enter(depth, self._address(at), self._address(struct.unpack_from("<Q", data)[0]))
            elif what == _What.EXIT:
                self._written(call, None)
                self._calls.pop()
            else:
                self._compared(call, self._address(at), kind, *struct.unpack_from("<QQ", data))

    def _begin(self) -> None:
        self._nodes.callers.append(self._calls[-1].number if self._calls else 0)
        self._calls.append(_Call(len(self._nodes.callers)))

    def _address(self, address: int) -> tuple[str, int] | None:
        if address not in self._at:
            self._at[address] = self._program.address(address, self._mappings)
        return self._at[address]

    def _value(self, call: _Call, what: int, number: int, data: bytes) -> None:
        if number >= len(self._noting.variables):
            return
        one = self._noting.variables[number]
        if what == _What.TEXT:
            call.values[number] = shown_text(data)
        else:
            call.values[number] = one.type.text(struct.unpack_from("<Q", data)[0])
        if call.entering and one.is_parameter:
            line = self._program.module(self._noting.path).lines.get(one.function)
            self._add(self._nodes.place(line) if line else None, one, call.values[number])
        else:
            call.changed[number] = None

    def _add(self, place: Location | None, one: FrameVariable, value: str) -> None:
        if value:
            self._nodes.add(place, f"variable {one.name}", one.name, value)

    def _enter(self, depth: int, function: tuple[str, int] | None, comes_from: tuple[str, int] | None) -> None:
        if depth > 1:
            self._written(self._calls[depth - 2], comes_from)
        call = self._calls[depth - 1]
        self._nodes.call = call.number
        call.entering, call.values, call.changed = True, {}, {}
        if function is not None:
            self._nodes.add(self._nodes.place(self._lines(function)), "call")

    def _lines(self, function: tuple[str, int]) -> SourceLine:
        module = self._program.module(function[0])
        return module.lines.get(function[1]) or SourceLine("", 0)

    def _found(self, block: tuple[str, int] | None) -> Block | None:
        return None if block is None else self._program.module(block[0]).blocks.get(block[1])

    def _block(self, call: _Call, at: tuple[str, int] | None) -> None:
        self._written(call, None)
        before, found = self._found(call.block), self._found(at)
        there = self._nodes.place(found.place) if found is not None else None
        if before is not None and call.block is not None and at is not None and before.jump and call.block[0] == at[0]:
            self._decided(call, before, at[1], there)
        call.block, call.stored = at, at[1] if at is not None else 0
        if found is not None:
            self._nodes.add(there, "block")

    def _decided(self, call: _Call, block: Block, went: int, there: Location | None) -> None:
        """Add whether a condition was true, or else the line to which a decision led."""
        place = self._nodes.place(block.decides)
        if place is None or call.block is None:
            return
        outcome, condition = self._program.outcome(*call.block, went), self._cut(self._nodes.texts.condition(place))
        if outcome in (0, 1):
            self._nodes.add(place, "decision", condition, outcome=outcome)
        else:
            self._led(place, condition, there)

    def _led(self, place: Location, condition: str, there: Location | None) -> None:
        """Add to which line a decision led."""
        if there is None:
            self._nodes.add(place, "way")
            return
        said = f"`{self._cut(self._nodes.texts.line(there).strip())}`"
        if (there.file, there.line) == (place.file, place.line):  # so clang leaves a `switch` without such a case
            said = "none of its cases" if said.startswith("`switch") else ""
        self._nodes.add_way(place, f"what follows `{condition}`", there, said)

    def _written(self, call: _Call, until: tuple[str, int] | None) -> None:
        """Add what the code has written since, up to an address, and what else has become another value."""
        self._nodes.call = call.number
        here = list(self._stores(call, until))
        variables, changed = self._noting.variables, call.changed
        last: dict[int, Store] = {}
        for number, store in here:
            last.pop(number, None)
            last[number] = store
        for number in changed:
            if number not in last and (near := self._near(call, variables[number].place)) is not None:
                last[number] = near
        for number, store in last.items():
            self._add(self._nodes.place(store.line), variables[number], call.values.get(number, ""))
        for number in changed.keys() - last.keys():
            found = self._found(call.block)
            place = None if found is None else self._nodes.place(found.decides if found.jump else found.place)
            self._add(place, variables[number], call.values[number])
        changed.clear()
        if until is not None:
            call.stored = until[1]

    def _stores(self, call: _Call, until: tuple[str, int] | None) -> Iterator[tuple[int, Store]]:
        """The variables that the block writes next, as far as these are read."""
        found = self._found(call.block)
        if found is None or call.block is None or call.block[0] != self._noting.path:
            return
        places = self._places.get(found.function, {})
        for store in self._program.module(call.block[0]).stores.get(call.block[1], ()):
            if store.address >= call.stored and (until is None or store.address < until[1]):
                number = places.get(store.place)
                if number is not None and number in call.values:
                    yield number, store

    def _near(self, call: _Call, place: int) -> Store | None:
        """What writes several variables at once, as a copied structure."""
        if call.block is None:
            return None
        stores = self._program.module(call.block[0]).stores.get(call.block[1], ())
        near = [one for one in stores if one.place <= place < one.place + _AROUND and one.address >= call.stored]
        return max(near, key=lambda one: one.place, default=None)

    def _compared(self, call: _Call, at: tuple[str, int] | None, kind: int, *bits: int) -> None:
        self._written(call, at)
        code = None if at is None else self._program.module(at[0]).comparisons.get(at[1])
        place = None if code is None else self._nodes.place(code.line)
        if code is None or place is None:
            return
        values = [_number(one, kind & _SIZE, bool(kind & _POINT)) for one in bits]
        constant = int(values[0]) if kind & _CONSTANT else None
        what = self._cut(self._nodes.texts.line(place).strip())
        sides = self._nodes.texts.sides(code, constant, place) or (what, what)
        shown = values if constant is None else values[1:]
        for number, (name, value) in enumerate(zip(sides, shown, strict=False)):
            self._nodes.add(place, f"comparison {code.number} {number}", name, value)

    def _cut(self, text: str) -> str:
        return text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 1]}…"


def _number(bits: int, size: int, has_point: bool) -> str:
    data = bits.to_bytes(8, "little")[:size]
    if has_point:
        return f"{struct.unpack('<f' if size == 4 else '<d', data)[0]:.{7 if size == 4 else 16}g}"
    return str(int.from_bytes(data, "little", signed=True))
