"""Which statements call which functions, according to Python's names and the tests."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.cancellation import checked
from suspectra.program import Program
from suspectra.program.file_cache import Remembered
from suspectra.program.languages import is_python
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum import Elements, PerTest, Spectrum
from suspectra_recorder.instrumentation.source import parse

# a call of one of these names may be a call of the method of a built-in type
_COMMON = frozenset(
    name
    for kind in (str, bytes, bytearray, list, tuple, dict, set, int, float, complex, object, type, slice, memoryview)
    for name in dir(kind)
) | frozenset(dir(builtins))
_COMMON |= {"read", "write", "close", "open", "flush", "seek", "readline", "readlines", "match", "search", "group"}


@dataclass(frozen=True, eq=False)
class StatementCalls:
    """Which statements call which functions.

    A call counts where exactly one measured function has the name that is called, no built-in type has a method of that
    name, and some test executed both ends; anything else is left out rather than guessed. A class's name stands for its
    ``__init__``.
    """

    pairs: Ints  # elements x, y where x calls the function whose first statement is y; ascending; shape (k, 2)
    _named: _Named | None = None

    @classmethod
    def from_program(
        cls,
        spectrum: Spectrum,
        program: Program | None,  # the sources
        progress: Callable[[float], object] = lambda fraction: None,
        previous: StatementCalls | None = None,  # the calls before a change
        files: Collection[str] | None = None,  # the paths of the files whose calls are wanted; all unless given
    ) -> StatementCalls:
        """Find the calls that tests made.

        Pairs of a calling statement and the first statement of the called function.
        """
        elements = spectrum.elements
        if program is None or program.source_of is None or not len(elements):
            return cls(np.zeros((0, 2), np.int64))
        source_of = SourcesAsRun(program.files, program.source_of)
        named = previous._named if previous is not None else None
        if named is None or named.elements is not elements or named.source_of != source_of:
            named = _Named.find(elements, source_of, progress, files)
        pairs = named.met(spectrum)
        if previous is not None and named is previous._named and np.array_equal(pairs, previous.pairs):
            return previous
        return cls(pairs, named)


@dataclass(frozen=True, eq=False)
class _Named:
    """The calls in the sources, whether a test made them or not."""

    elements: Elements
    source_of: SourcesAsRun
    pairs: Ints

    @classmethod
    def find(
        cls,
        elements: Elements,
        source_of: SourcesAsRun,
        progress: Callable[[float], object],
        files: Collection[str] | None,
    ) -> _Named:
        named = _by_unique_name(elements, _first_statements(elements))
        pairs = set()
        if files is None:  # what is cached of all other files stays
            _callers.begin()
        # large test data would take longer to read than the first experiments
        wanted = elements.files if files is None else files
        for done, path in enumerate(checked(wanted)):
            progress(done / len(wanted))
            data = source_of(path) if is_python(path) else None
            if data is None:
                continue
            span = elements.in_file(path)
            lines = elements.line[span].astype(np.int32).tobytes(), elements.end_line[span].astype(np.int32).tobytes()
            for caller, name in _callers(data, *lines):
                target, caller = named.get(name), caller + span.start
                if target is not None and caller != target:
                    pairs.add((caller, target))
        return cls(elements, source_of, np.array(sorted(pairs), np.int64).reshape(-1, 2))

    @cached_property
    def _met_by_test(self) -> PerTest[Ints]:
        return PerTest(self._met)

    def _met(self, spectrum: Spectrum, tests: list[int]) -> Iterator[Ints]:
        """The pairs of which each test executed both ends."""
        executed = np.zeros(len(self.elements), bool)
        for row in checked(spectrum.rows[test] for test in tests):
            executed[row] = True
            yield np.flatnonzero(executed[self.pairs].all(axis=1))
            executed[row] = False

    def met(self, spectrum: Spectrum) -> Ints:
        """The pairs of which any test executed both ends."""
        if not len(self.pairs):
            return self.pairs
        some = np.zeros(len(self.pairs), bool)
        for pairs in checked(self._met_by_test.results(spectrum)):
            some[pairs] = True
        return self.pairs[some]


def _first_statements(elements: Elements) -> dict[int, int]:
    """The first statement of each function, by index of the function."""
    inside = np.flatnonzero(elements.function >= 0)
    functions, first = np.unique(elements.function[inside], return_index=True)
    return dict(zip(functions.tolist(), inside[first].tolist(), strict=True))


def _by_unique_name(elements: Elements, begins: dict[int, int]) -> dict[str, int]:
    known: dict[str, set[int]] = {}
    for index, start in begins.items():
        parts = elements.functions[index].name.split(".")
        name = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
        known.setdefault(name, set()).add(start)
    return {name: min(at) for name, at in known.items() if len(at) == 1 and name not in _COMMON}


@Remembered
def _callers(data: bytes, lines: bytes, end_lines: bytes) -> tuple[tuple[int, str], ...]:
    """The innermost statement around each call, and the called name; empty if the source can't be parsed."""
    first, last = np.frombuffer(lines, np.int32), np.frombuffer(end_lines, np.int32)
    found = []
    for line, name in _calls(data):
        containing = np.flatnonzero((first <= line) & (line <= last))
        if len(containing):
            found.append((int(containing[np.argmax(first[containing])]), name))
    return tuple(found)


def _calls(data: bytes) -> Iterator[tuple[int, str]]:
    """Line and called name of every call."""
    try:
        tree = parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            yield node.lineno, node.func.id if isinstance(node.func, ast.Name) else node.func.attr
