"""Where to look next: the debugging model over a ranking, and the results that the features use.

Everything runs in the worker thread, except reading a finished :class:`NavigationModel`. The debugging model and its
solvers are imported when the first one is made: that takes as long as starting the rest of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suspectra.base.cancellation import Token
from suspectra.base.errors import NothingToRank, Problem, SuspectraError
from suspectra.evidence.evidence import Evidence, EvidenceSource
from suspectra.markov.jumps import JumpModel
from suspectra.spectrum import Elements, Spectrum
from suspectra_server.state.ranking import Ranking

if TYPE_CHECKING:
    from suspectra.markov.debugging_model import DebuggingModel
    from suspectra.markov.move import Move
    from suspectra.program.calls import StatementCalls
    from suspectra.program.dynamic_flow import DynamicFlow

MAX_ELEMENTS, MAX_HITS = 300_000, 20_000_000
"""The most statements, and executions of a statement by a test, for which a navigation model is made: with more, the
control flow would take more memory than the ranking, and block the worker thread."""
MAX_FUNCTIONS = 100  # functions with suspects whose next moves are computed in advance


@dataclass(frozen=True)
class NavigationBasis:
    """What a navigation model is computed from; models with an equal basis are equal."""

    ranking: Ranking
    excluded: frozenset[int]  # elements that are examined or innocent
    jumps: JumpModel


@dataclass(frozen=True, eq=False)
class NavigationModel:
    """The debugging model, and results that were computed in advance."""

    basis: NavigationBasis
    model: DebuggingModel | None  # None if every suspect is excluded, or if the suite is too large
    # the most likely move from the best suspect of each function
    next: Mapping[int, Move] = field(default_factory=dict)
    # expected steps from the top of the ranking, once they are known; shape (elements,)
    steps: NDArray[np.float64] | None = None
    current: int | None = None  # the element that the reader is on
    steps_from_current: NDArray[np.float64] | None = None  # expected steps from that element; shape (elements,)
    problem: Problem | None = None  # why there are no expected steps

    @property
    def complete(self) -> bool:
        """Whether all steps are computed, or can't be."""
        known = self.steps is not None and (self.current is None or self.steps_from_current is not None)
        return known or self.model is None or self.problem is not None

    def solved(self, token: Token) -> NavigationModel:
        """With expected steps from the top of the ranking, and from where the reader is."""
        if self.complete or self.model is None:
            return self
        try:
            # a list that nobody jumps off needs no solver to be measured from its top
            if not self.model.chain.is_ranked_list or self.current is not None:
                self.model.solve(_checking(token))
            steps = self.model.expected_steps if self.steps is None else self.steps
            current = None if self.current is None else self.model.expected_steps_from(self.current)
            return replace(self, steps=steps, steps_from_current=current)
        except SuspectraError as error:
            return replace(self, problem=error.problem)

    def steps_from(self, element: int, token: Token) -> NDArray[np.float64] | None:
        """Expected steps from an element by element; None where there are none."""
        if self.model is None or self.problem:
            return None
        try:
            self.model.solve(_checking(token))
            return self.model.expected_steps_from(element)
        except SuspectraError:
            return None

    def at(self, element: int | None) -> NavigationModel:
        """With the reader on another element."""
        return self if element == self.current else replace(self, current=element, steps_from_current=None)


@dataclass(frozen=True, eq=False)
class _Knowledge:
    """What one state of the evidence says about which statements belong together."""

    evidence: Evidence
    flow: DynamicFlow
    calls: StatementCalls

    def holds_for(self, evidence: Evidence) -> bool:
        """Whether the tests executed what they did: readers hand over the same rows for what did not change."""
        rows, own = evidence.rows, self.evidence.rows
        return (
            evidence.elements is self.evidence.elements
            and len(rows) == len(own)
            and all(row is other for row, other in zip(rows, own, strict=True))
        )


class NavigationModels:
    """Makes navigation models, each with what can be taken over from the previous one."""

    def __init__(self, edged_source: Callable[[], EvidenceSource | None]):
        self._edged_source = edged_source
        self._knowledge: _Knowledge | None = None
        self._edged: Spectrum | None = None
        self._last: NavigationModel | None = None

    def make(self, basis: NavigationBasis, token: Token) -> NavigationModel:
        """The navigation model on this basis: the last one where it still fits."""
        last = self._last
        if last is not None and last.basis == basis:
            return last
        if _too_large(basis.ranking.spectrum_over_all):
            cause = "the suite is too large for the debugging model: there are no expected steps"
            cure = "read in the order of the ranking, or record fewer tests"
            self._last = NavigationModel(basis, None, problem=Problem("", "", cause, cure))
            return self._last
        from suspectra.markov.debugging_model import DebuggingModel  # the first time slow, as scipy comes with it

        token.check()
        known = self._know(basis.ranking, token)
        token.check()
        try:
            model = DebuggingModel(
                basis.ranking.ranked, known.flow, known.calls, basis.jumps, basis.excluded, last.model if last else None
            )
        except NothingToRank:
            self._last = NavigationModel(basis, None)
            return self._last
        self._last = NavigationModel(basis, model, _next(basis.ranking, model, token))
        return self._last

    def solve(self, navigation: NavigationModel, token: Token) -> NavigationModel:
        """The navigation model with its expected steps."""
        solved = navigation.solved(token)
        if self._last is not None and self._last.basis == solved.basis:
            self._last = solved.at(None)
        return solved

    def _know(self, ranking: Ranking, token: Token) -> _Knowledge:
        if ranking.evidence is None:
            raise LookupError("a ranking that has a report was made from evidence")
        if self._knowledge is not None and self._knowledge.holds_for(ranking.evidence):
            return self._knowledge
        from suspectra.program.calls import StatementCalls
        from suspectra.program.dynamic_flow import DynamicFlow

        token.check()
        evidence, spectrum = self._with_edges(ranking.evidence, ranking.spectrum_over_all)
        token.check()
        program = evidence.program
        previous = self._knowledge
        flow = DynamicFlow.from_spectrum(spectrum, program.graphs, previous.flow if previous else None)
        token.check()
        calls = StatementCalls.from_program(spectrum, program, _checking(token), previous.calls if previous else None)
        self._knowledge = _Knowledge(ranking.evidence, flow, calls)
        return self._knowledge

    def _with_edges(self, evidence: Evidence, spectrum: Spectrum) -> tuple[Evidence, Spectrum]:
        """The evidence of a ranking with its edges, or without if they can't be read."""
        source = self._edged_source() if evidence.edges is None else None
        if source is None:
            return evidence, spectrum
        try:
            edged = source.read()
        except SuspectraError:
            return evidence, spectrum
        if not _same(edged.elements, spectrum.elements):  # it is newer, and is being ranked
            return evidence, spectrum
        self._edged = edged.spectrum(previous=self._edged)
        return edged, self._edged


def _too_large(spectrum: Spectrum) -> bool:
    return len(spectrum.elements) > MAX_ELEMENTS or sum(map(len, spectrum.rows)) > MAX_HITS


def _same(one: Elements, other: Elements) -> bool:
    return (
        one.files == other.files
        and np.array_equal(one.file, other.file)
        and np.array_equal(one.line, other.line)
        and np.array_equal(one.end_line, other.end_line)
    )


def _next(ranking: Ranking, model: DebuggingModel, token: Token) -> dict[int, Move]:
    """The most likely move from the best suspect of each function that is not excluded."""
    function = model.report.spectrum.elements.function
    seen: set[int] = set()
    found: dict[int, Move] = {}
    for suspect in ranking.suspects:
        own = int(function[suspect.element])
        if own < 0 or own in seen or suspect.element in model.excluded:
            continue
        token.check()
        seen.add(own)
        found.update((suspect.element, move) for move in model.next_moves(suspect.element, limit=1))
        if len(seen) == MAX_FUNCTIONS:
            break
    return found


def _checking(token: Token) -> Callable[[float], None]:
    return lambda fraction: token.check()
