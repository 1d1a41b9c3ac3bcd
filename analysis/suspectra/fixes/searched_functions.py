"""Where a search for fixes looks: what all failing tests of a group execute, and the definitions that this reads."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from suspectra.base.errors import Problem
from suspectra.evidence.test_code import TestCode
from suspectra.experiments.inquiry import SuspicionSource
from suspectra.fixes.fix_site import FunctionScope, definitions, scopes
from suspectra.fixes.helper_modules import helper_modules
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.spectrum import Spectrum

_UNPARSABLE = (SyntaxError, ValueError, RecursionError)


class SearchedFunction(NamedTuple):
    """A function, or a statement of a module or class that defines something."""

    file: str
    scope: FunctionScope
    lines: dict[int, float]  # how suspicious its statements are, by line

    @property
    def suspicion(self) -> float:
        """That of its most suspicious statement."""
        return max(self.lines.values())


class SearchedFunctions:
    """Those of a failure group, the most suspicious first, and definitions last."""

    def __init__(
        self, suspects: SuspicionSource, group: int, failing: int, note: Callable[[Sequence[Problem]], object]
    ):
        self._suspects, self._note = suspects, note
        spectrum = suspects.spectrum(group)
        executed = _executed(spectrum, failing, lambda file, line: suspects.at(group, file, line))
        ranked = sorted(
            {(value, file, line) for file, lines in executed.items() for line, value in lines.items()}, reverse=True
        )
        self._ranks = {(file, line): rank for rank, (_, file, line) in enumerate(ranked, 1)}
        sources = {file: source for file in executed if (source := self._source(file)) is not None}
        self._helpers = self._helper_modules(sources, spectrum)
        self.all = [*self._bodies(sources, executed)]
        self.all += _definitions(self.all, executed)

    def rank(self, file: str, line: int) -> int:
        """The rank of a statement among those that are searched, from 1."""
        return self._ranks.get((file, line), len(self._ranks) + 1)

    def are_for_tests(self, file: str) -> bool:
        """Whether those of a file exist only for tests."""
        return file in self._helpers

    def _bodies(
        self, sources: Mapping[str, ParsedSource], executed: Mapping[str, dict[int, float]]
    ) -> list[SearchedFunction]:
        found: list[SearchedFunction] = []
        for file, source in sources.items():
            inner: dict[int, FunctionScope] = {}
            for scope in scopes(source):  # those around come first
                for line in range(scope.function.lineno, (scope.function.end_lineno or 0) + 1):
                    inner[line] = scope
            own: dict[FunctionScope, dict[int, float]] = defaultdict(dict)
            for line, value in executed[file].items():
                if line in inner and line > inner[line].function.lineno:
                    own[inner[line]][line] = value
            found += [SearchedFunction(file, scope, lines) for scope, lines in own.items()]
        return sorted(found, key=lambda one: (self.are_for_tests(one.file), -one.suspicion))

    def _helper_modules(self, sources: Mapping[str, ParsedSource], spectrum: Spectrum) -> set[str]:
        tests = TestCode({test.partition("::")[0] for test in spectrum.tests})

        def read(file: str) -> ast.Module | None:
            source = sources.get(file) or self._source(file)
            return source.tree if source else None

        program = [file for file in spectrum.elements.files if file not in tests]
        return helper_modules({file: source.tree for file, source in sources.items()}, program, read)

    def _source(self, file: str) -> ParsedSource | None:
        source = self._suspects.read(file)
        try:
            return None if source is None else ParsedSource(source)
        except _UNPARSABLE as error:
            self._note([Problem(file, "", f"it can't be changed: {error}", "check its encoding")])
            return None


def _executed(spectrum: Spectrum, failing: int, suspicion: Callable[[str, int], float]) -> dict[str, dict[int, float]]:
    """The lines that all failing tests execute, or else any of them, each with how suspicious it is."""
    elements, counts = spectrum.elements, spectrum.counts
    executed = np.flatnonzero((counts.ef >= failing) & spectrum.candidates)
    if not len(executed):
        executed = np.flatnonzero((counts.ef > 0) & spectrum.candidates)
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for element in executed.tolist():
        file, line = elements.files[elements.file[element]], int(elements.line[element])
        found[file][line] = suspicion(file, line)
    return found


def _definitions(
    functions: Sequence[SearchedFunction], executed: Mapping[str, dict[int, float]]
) -> Iterator[SearchedFunction]:
    """The definitions of what functions read, and the heads of those that are executed."""
    read: dict[str, set[str]] = defaultdict(set)
    sources = {one.file: one.scope.source for one in functions}
    for one in functions:
        for node in ast.walk(one.scope.function):
            if isinstance(node, ast.Name):
                read[one.file].add(node.id)
            elif isinstance(node, ast.Attribute):
                read[one.file].add(node.attr)
    for file, names in read.items():
        for scope in definitions(sources[file], names, executed[file]):
            yield SearchedFunction(file, scope, {scope.owners[-1].lineno: 0.0})
