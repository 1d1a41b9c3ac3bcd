"""Which changes a failing test can notice, and in which order it is likely to fail for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from suspectra.changes.blocks import functions_of_c
from suspectra.changes.definitions import parsed
from suspectra.changes.mixed_tests import ExecutedChanges
from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.paths.delta_debugging import Differences
from suspectra.program.languages import is_c, is_python

_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|conftest)(?:[/_.-]|$)|(?:^|/)test")
_Line = tuple[str, int]  # a file, and a line of its present text


@dataclass(frozen=True, eq=False)
class ChangePlaces:
    """The functions in which changes are, by their numbers, and the lines that tell whether a run notices them."""

    units: Sequence[ChangeUnit]
    functions: Mapping[int, frozenset[_Line]]  # of changes inside of one, its body; these need no loading
    headers: Mapping[_Line, frozenset[_Line]]  # of functions, each with its body
    gone: frozenset[str]  # modules that are no more
    modules: frozenset[str]  # those that are

    @classmethod
    def from_differences(cls, differences: Iterable[FileDifference], units: Sequence[ChangeUnit]) -> ChangePlaces:
        """Look at the present texts."""
        bodies: dict[str, list[frozenset[_Line]]] = {}
        headers: dict[_Line, frozenset[_Line]] = {}
        gone, modules = set[str](), set[str]()
        for one in differences:
            if is_python(one.path):
                (gone if one.after is None else modules).add(one.path)
                gone.update(one.paths[1:])
                found = list(_functions(one.path, one.after)) if one.after is not None else []
                bodies[one.path] = [body for _, body in found]
                headers.update((line, body) for lines, body in found for line in lines)
            elif is_c(one.path):
                found_in_c = functions_of_c(one.after)
                bodies[one.path] = [frozenset((one.path, line) for line in lines) for lines in found_in_c]
        functions: dict[int, frozenset[_Line]] = {}
        for number, unit in enumerate(units):
            lines = {(unit.file, unit.line), (unit.file, max(unit.line, unit.end_line))}
            if not unit.moved_from and (inside := [body for body in bodies.get(unit.file, ()) if lines <= body]):
                functions[number] = min(inside, key=len)
        return cls(units, functions, headers, frozenset(gone), frozenset(modules))

    def noticed(self, executed: ExecutedChanges, test: str) -> dict[int, float]:
        """The changes that a test can notice, each with the time at which it executed them last, 0 for before."""
        when: dict[_Line, float] = dict.fromkeys(executed.imported, 0.0)
        when.update({line: float(at) for at, line in enumerate(executed.tests.get(test, ()), 1)})
        files = {file for file, _ in when}
        found: dict[int, float] = {}
        for number, unit in enumerate(self.units):
            body = self.functions.get(number)
            if unit.file not in self.modules and (not body or test not in executed.tests):
                if unit.file in self.gone or unit.file in executed.opened:
                    found[number] = 0.0
            elif body:
                if times := [when[line] for line in body & when.keys()]:
                    own = [when[line] for line in _lines(unit) if line in when]
                    found[number] = max(own, default=0.0 if unit.end_line >= unit.line else max(times))
            elif unit.end_line < unit.line:
                if unit.file in files:
                    found[number] = 0.0
            else:
                seen = [line for line in _lines(unit) if line in when and self._counts(line, when)]
                if seen:
                    found[number] = max(when[line] for line in seen)
        return found

    def _counts(self, line: _Line, when: Mapping[_Line, float]) -> bool:
        """Whether a line does something: to define a function that is not called does nothing."""
        body = self.headers.get(line)
        return body is None or not body.isdisjoint(when)

    def in_turn(self, blocks: Iterable[Differences], noticed: Mapping[int, float]) -> list[Differences]:
        """Put blocks of changes in the order in which they are left out: the most likely ones come first.

        These are what was executed last, and not in tests. What needs no loading comes before the data that were read,
        and these before what has to be loaded for each run.
        """

        def turn(block: Differences) -> tuple[bool, int, float]:
            kinds = [
                0 if number in self.functions else 1 if self.units[number].file not in self.modules else 2
                for number in block
            ]
            of_tests = all(is_test(self.units[number].file) for number in block)
            return of_tests, max(kinds), -max(noticed.get(number, 0.0) for number in block)

        return sorted(blocks, key=turn)


def is_test(file: str) -> bool:
    """Whether a file is one of tests, by its name."""
    return _TEST.search(file) is not None


def _lines(unit: ChangeUnit) -> Iterator[_Line]:
    return ((unit.file, line) for line in range(unit.line, unit.end_line + 1))


def _functions(path: str, text: bytes) -> Iterator[tuple[frozenset[_Line], frozenset[_Line]]]:
    """The lines of the header of each function, and those of its body."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            header = range(begin, node.body[0].lineno)
            yield frozenset((path, line) for line in header), frozenset((path, line) for line in body)
