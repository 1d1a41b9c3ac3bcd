"""Which passing tests a change can make a difference to, by what each executes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import CodeType

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.fixes.candidate import AS_BEFORE, Candidate
from suspectra.mutation.edit import Edit
from suspectra.spectrum import Spectrum

_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_KINDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_UNPARSABLE = (SyntaxError, ValueError, RecursionError)
_ELSEWHERE = ("handler", "exception", AS_BEFORE)
"""What is asked on another line than it stands, as where a statement fails."""


class ExecutingTests:
    """The passing tests that execute what candidates change."""

    def __init__(self, spectrum: Spectrum):
        self._spectrum = spectrum
        self._of_lines: dict[tuple[str, int, int], list[str]] = {}
        self._stays: dict[Candidate, bool] = {}

    def for_function(self, candidate: Candidate) -> list[str]:
        """Those that execute anything of the outermost function around it."""
        function = candidate.functions[0]
        return self._executing(candidate.file, function.lineno + 1, function.end_lineno or function.lineno)

    def for_change(self, candidate: Candidate) -> list[str]:
        """Those that execute the statement, where all others compute the same as before."""
        if candidate not in self._stays:
            self._stays[candidate] = stays_in_statement(candidate)
        own = candidate.file, candidate.line, candidate.end_line
        # what is on no line of its own is known by its function alone
        if self._stays[candidate] and len(self._elements(*own)):
            return self._executing(*own)
        return self.for_function(candidate)

    def for_line(self, file: str, line: int) -> list[str]:
        """Those that execute a line."""
        return self._executing(file, line, line)

    def _elements(self, file: str, first: int, last: int) -> Ints:
        elements = self._spectrum.elements
        part = elements.in_file(file)
        lines = elements.line[part]
        return part.start + np.flatnonzero((lines >= first) & (lines <= last))

    def _executing(self, file: str, first: int, last: int) -> list[str]:
        key = file, first, last
        if key not in self._of_lines:
            rows = {
                row
                for element in self._elements(*key).tolist()
                for row in self._spectrum.tests_executing(element).tolist()
                if not self._spectrum.failed[row]
            }
            self._of_lines[key] = [self._spectrum.tests[row] for row in sorted(rows)]
        return self._of_lines[key]


def stays_in_statement(candidate: Candidate) -> bool:
    """Whether a candidate changes nothing for those that do not execute its statement.

    It does where a function gets or loses a variable or a `yield`, and where something is defined that is executed
    later.
    """
    if candidate.is_definition or candidate.kind in _ELSEWHERE:
        return False
    lines = range(candidate.line, candidate.end_line + 1)
    if any(isinstance(one, _DEFINING) and one.lineno in lines for one in ast.walk(candidate.owners[-1])):
        return False
    job = candidate.to_json()
    try:
        before, after = (_frames(text) for text in (job["source"], Edit(*job["edit"]).apply(job["source"])))
    except (KeyError, *_UNPARSABLE):
        return False
    return before == after


def _frames(text: str) -> list[tuple[str, frozenset[str], int]]:
    """The functions of a text, each with its variables and its kind."""
    return sorted(_frames_of(compile(text, "", "exec", dont_inherit=True)), key=repr)


def _frames_of(code: CodeType) -> Iterator[tuple[str, frozenset[str], int]]:
    if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
        yield code.co_name, frozenset((*code.co_varnames, *code.co_cellvars)), code.co_flags & _KINDS
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _frames_of(one)
