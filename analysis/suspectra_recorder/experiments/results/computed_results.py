"""Computing what expressions would give, each time that a run comes to the statement in which they would stand.

What gives the same each time as the expression that is there changes nothing; of expressions that all give the same
only one has to be run. The test runs unaltered: the expressions are evaluated in its live frames by an `Evaluator`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.results.evaluator import (
    Evaluator,
    RaisedInstead,
    UnknownResult,
    key_of,
    truth,
)
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, sys, time
from suspectra_recorder.instrumentation.parser_references import ast

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__builtins__ = library_references.builtins

_MAX_VISITS = 40
"""How often expressions of a place are evaluated: often enough that what is equal by then is equal."""


RAISES = "raises"
"""Stands for the type of an expression that raises an exception."""


class _StatementResults:
    """The expressions of a statement, and what they have given by now."""

    def __init__(self, texts: list[str]):
        self.texts = texts
        self.nodes = [_parsed(text) for text in texts]
        self.visits = 0
        self.whole = True  # whether expressions were evaluated each time
        # by expression the digests of its results in order; None once one is not known
        self.values: list[list[bytes] | None] = [None if node is None else [] for node in self.nodes]
        self.truths: list[list[bytes] | None] = [None if node is None else [] for node in self.nodes]
        self.types = [""] * len(self.nodes)  # of the first value of each; empty where none is known

    def visit(self, evaluator: Evaluator, end: float) -> None:
        """Evaluate all expressions, as far as there is time."""
        self.visits += 1
        for number, node in enumerate(self.nodes):
            values, truths = self.values[number], self.truths[number]
            if node is None or (values is None and truths is None):
                continue
            if time.monotonic() > end:
                self.values[number] = self.truths[number] = None  # others have more results
                continue
            try:
                value = evaluator.value(node)
            except UnknownResult:
                self.values[number] = self.truths[number] = None
            except RaisedInstead as raised:
                self.types[number] = self.types[number] or RAISES
                for results in (values, truths):
                    if results is not None:
                        results.append(_digest(("raises", str(raised))))
            else:
                self.types[number] = self.types[number] or type(value).__name__
                if values is not None:
                    self.values[number] = _with(values, lambda: key_of(value, node, evaluator.identity))  # noqa: B023  # called at once
                if truths is not None:
                    self.truths[number] = _with(truths, lambda: truth(value))  # noqa: B023  # called at once


def _with(digests: list[bytes], result: Callable[[], object]) -> list[bytes] | None:
    try:
        digests.append(_digest(result()))
    except (UnknownResult, RecursionError, MemoryError):
        return None
    return digests


class ComputingResults(RunKind):
    """The test as it is; expressions are evaluated where it comes to the statements of a function."""

    alters = False

    def __init__(self, name_of: Callable[[str], str | None]):
        self._name_of = name_of
        self._job: RunRequest = {"kind": "results"}
        self._places: dict[int, _StatementResults] = {}
        self._file, self._function = "", ("", 0)
        self._end, self._salt = 0.0, ""
        self._left = True
        self._before: TraceFunction | None = None

    def apply(self, job: RunRequest) -> None:
        """Watch the function from now on."""
        self._file, (name, line) = job["file"], job["functions"][-1]
        self._function = name, line
        self._places = {place: _StatementResults(texts) for place, texts in job["expressions"]}
        # objects that only this run has are equal to no other run's
        self._salt = f"{time.monotonic_ns()} "
        self._end = time.monotonic() + job["most_seconds"]
        self._left = True
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def take_back(self) -> Findings:
        """For each place how often it was come to, and for each expression digests of its results and its type."""
        sys.settrace(self._before)
        results = []
        for line, place in self._places.items():
            digests = _joined(place.values), _joined(place.truths)
            results.append((line, place.visits, place.whole, *digests, place.types))
        self._places = {}
        return {"results": results}

    def _call(self, frame: FrameType, event: str, value: object) -> TraceFunction | None:
        code = frame.f_code
        if (code.co_name, code.co_firstlineno) != self._function or self._name_of(code.co_filename) != self._file:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, value: Any) -> TraceFunction:
        if event == "line" and (place := self._places.get(frame.f_lineno)) is not None:
            if place.visits >= _MAX_VISITS or not self._left:
                place.visits += 1
                place.whole = False
            elif time.monotonic() > self._end:
                self._left = place.whole = False
            else:
                code = frame.f_code
                known = frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars))
                place.visit(Evaluator(frame.f_locals, frame.f_globals, known, self._salt), self._end)
        return self._line


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _joined(results: list[list[bytes] | None]) -> list[str]:
    """Equal results have equal digests; empty where they are not known."""
    return ["" if one is None else hashlib.blake2b(b"".join(one), digest_size=8).hexdigest() for one in results]


def _digest(result: object) -> bytes:
    return hashlib.blake2b(repr(result).encode("utf-8", "surrogatepass"), digest_size=8).digest()
