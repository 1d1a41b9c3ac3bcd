"""A program that records its path: its blocks and functions, and what they are in the sources."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from suspectra.base.cancellation import Token
from suspectra.base.location import Location
from suspectra.c.paths.conditions import CONDITION, CCondition, Conditions
from suspectra.c.paths.disassembly import UNKNOWN, Block, Disassembly, SourceLine
from suspectra.c.recording.crash_calls import is_fixed
from suspectra.evidence.source_paths import SourcePaths
from suspectra.evidence.sources import SourceReader
from suspectra.paths.path import Path as RunPath
from suspectra.paths.report import CALL, ReportedPlace
from suspectra.paths.searches.recorded_paths import truth


class Node(NamedTuple):
    """A block or a function of a program."""

    module: str  # the program, or a library
    address: int  # in that file
    is_function: bool  # whether it is a function


class TracedProgram:
    """Numbers the blocks and functions of programs, and says what they are."""

    def __init__(self, workspace: Path, paths: SourcePaths | None = None, token: Token | None = None):
        root = Path(os.path.realpath(workspace))
        self.nodes: list[Node] = []  # what the numbers stand for
        self._numbers: dict[Node, int] = {}
        self._paths, self._token, self._read = paths or SourcePaths(root), token, SourceReader(root)
        self._modules: dict[str, Disassembly] = {}
        self._fixed: dict[str, bool] = {}
        self._functions: dict[tuple[str, SourceLine], tuple[str, int]] = {}
        self._conditions: dict[str, Conditions] = {}
        self._places: dict[int, tuple[str, Location] | None] = {}
        self._outcomes: dict[int, Mapping[int, int]] = {}

    def number(self, address: int, is_function: bool, mappings: Sequence[tuple[int, int, str]]) -> int:
        """Find the number of a block or function."""
        place = self.address(address, mappings)
        if place is None:
            return -1
        return self._number_of(Node(*place, is_function))

    def first_of(self, number: int) -> int:
        """Find the same block or function in the program that was asked about first: several can have a library's."""
        if number < 0:
            return number
        node, block = self.nodes[number], self.block(number)
        module, begin = self.module(node.module), node.address if block is None else block.function
        line = module.lines.get(begin, UNKNOWN)
        first, there = self._functions.setdefault((module.functions.get(begin, ""), line), (node.module, begin))
        same = Node(first, node.address - begin + there, node.is_function)
        if not line.path or (block is not None and not self._is_like(block, same)):
            return number
        return self._number_of(same)

    def _is_like(self, block: Block, other: Node) -> bool:
        found = self.module(other.module).blocks.get(other.address)
        return found is not None and (found.place, found.decides) == (block.place, block.decides)

    def _number_of(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def address(self, address: int, mappings: Sequence[tuple[int, int, str]]) -> tuple[str, int] | None:
        """Find what was at an address in memory: the program or library, and the address in its file."""
        module = next((file for start, end, file in mappings if start <= address < end), None)
        if module is None:
            return None
        if module not in self._fixed:
            self._fixed[module] = is_fixed(module)
        base = 0 if self._fixed[module] else min(start for start, _, file in mappings if file == module)
        return module, address - base

    def module(self, path: str) -> Disassembly:
        """Disassemble a program or library, once."""
        if path not in self._modules:
            self._modules[path] = Disassembly.from_file(path, self._token)
        return self._modules[path]

    def block(self, number: int) -> Block | None:
        """Find a block.

        None for a function.
        """
        node = self.nodes[number]
        return None if node.is_function else self.module(node.module).blocks.get(node.address)

    def place(self, number: int) -> tuple[str, Location] | None:
        """Say what a node is in the sources of the workspace.

        The kind of its decision, or `CALL`, and its line; None in test code and outside of the workspace.
        """
        if number not in self._places:
            self._places[number] = self._place(number)
        return self._places[number]

    def reported(self, path: RunPath, position: int, wanted: bool | None) -> ReportedPlace:
        """Say what an event of a path is."""
        statement = int(path.statement[position])
        place = self.place(statement)
        assert place is not None
        instance = int(np.count_nonzero(path.statement[: position + 1] == statement))
        return ReportedPlace(place[1], place[0], instance, truth(int(path.outcome[position])), wanted)

    def arms(self, number: int, successors: Sequence[int]) -> Mapping[int, int]:
        """Number the ways on from a block.

        For each successor its arm: 1 where a condition was true, 0 where it was false, else a number from 2 on.
        """
        addresses = {self.nodes[one].address: one for one in successors}
        outcomes = self.outcomes(number, addresses)
        return {one: outcomes[address] for address, one in addresses.items()}

    def outcome(self, module: str, block: int, went: int) -> int:
        """Number the way that execution took from a block, as `outcomes` does."""
        number = self._number_of(Node(module, block, is_function=False))
        if number not in self._outcomes:
            self._outcomes[number] = self.outcomes(number)
        return self._outcomes[number].get(went, -1)

    def outcomes(self, number: int, more: Collection[int] = ()) -> Mapping[int, int]:
        """Number the blocks that can come next, by their addresses."""
        block, node = self.block(number), self.nodes[number]
        every = sorted({*([] if block is None else block.arms), *more})
        order = {address: place + 2 for place, address in enumerate(every)}
        if block is not None and len(every) == 2 and (condition := self._condition(block.decides)) is not None:
            blocks = self.module(node.module).blocks
            lines = [self._line_in(blocks[one].place, block.decides) if one in blocks else 0 for one in every]
            if (truth := condition.truth(*lines)) is not None:
                order = {every[0]: int(truth), every[1]: int(not truth)}
        return order

    def _place(self, number: int) -> tuple[str, Location] | None:
        node = self.nodes[number]
        if node.is_function:
            kind, line = CALL, self.module(node.module).lines.get(node.address, UNKNOWN)
        else:
            block = self.block(number)
            line = UNKNOWN if block is None else block.decides if block.jump else block.place
            condition = self._condition(line)
            kind = CONDITION if condition is None else condition.kind
        location = self.location(line)
        return None if location is None else (kind, location)

    def location(self, line: SourceLine) -> Location | None:
        """Find a line in the sources of the workspace; None in test code and outside of it."""
        found = self.anywhere(line)
        return None if found is None or self.is_test(found) else found

    def anywhere(self, line: SourceLine) -> Location | None:
        """Find a line in the sources of the workspace, test code included; None outside of it."""
        file = self._file(line)
        return None if file is None else Location(file, line.line, line.line)

    def is_test(self, place: Location) -> bool:
        """Whether a place is in test code."""
        return self._paths.is_test(place.file)

    def _condition(self, line: SourceLine) -> CCondition | None:
        file = self._file(line)
        if file is None:
            return None
        if file not in self._conditions:
            self._conditions[file] = Conditions((self._read(file) or b"").decode("utf-8", "replace"))
        return self._conditions[file].at(line.line)

    def _file(self, line: SourceLine) -> str | None:
        return self._paths.resolve(line.path) if line.path and line.line else None

    def _line_in(self, line: SourceLine, other: SourceLine) -> int:
        """The line, if it is in the same file."""
        return line.line if line.path == other.path else 0
