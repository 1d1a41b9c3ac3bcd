"""A model of a reader who works through a report: expected steps, HT_Rank, and next moves (paper 003)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cached_property import CachedProperty
from suspectra.base.errors import NothingToRank, Problem
from suspectra.markov.chain import Chain, ranked_list, suspicious_behaviour
from suspectra.markov.elimination_plan import Progress
from suspectra.markov.hitting_times import HittingTimes, HittingTimeSolver, hitting_times
from suspectra.markov.jumps import JumpModel
from suspectra.markov.locations import Locations
from suspectra.markov.move import HIGHER, NEXT, SAME_PLACE, Move
from suspectra.markov.neighbourhood import ModelNode, Neighbourhood, edges_among, states_around
from suspectra.markov.neighbours import Neighbours
from suspectra.markov.ranking_walk import RankingWalk
from suspectra.markov.reading_plan import ReadingPlan, fault_chances, plan_reading
from suspectra.markov.structure import Structure
from suspectra.program import Program
from suspectra.program.calls import StatementCalls
from suspectra.program.dynamic_flow import DynamicFlow
from suspectra.report import RankedReport, SubgraphReport

_NO_PAIRS = np.zeros((0, 2), np.int64)


class DebuggingModel:
    """The Markov chain over a report and the structure of the program.

    Raises NothingToRank when every candidate is excluded.
    """

    def __init__(
        self,
        report: RankedReport,
        flow: DynamicFlow | None = None,
        calls: StatementCalls | None = None,
        jumps: JumpModel | None = None,
        excluded: Iterable[int] = (),
        previous: DebuggingModel | None = None,
    ):
        # a suspectra.report.SubgraphReport gives the chain of paper 003, Definition 30, any other that of Definition
        # 29. An unordered report has two levels: what it names, and the rest
        self.report = report
        # the probabilities with which readers leave the ranking; by default those of the paper
        self.jumps = jumps or JumpModel()
        self.excluded = frozenset(excluded)  # elements that the reader has examined or declared innocent
        self._solver: HittingTimeSolver | None = None
        self._flow = _NO_PAIRS if flow is None else flow.pairs
        self._calls = _NO_PAIRS if calls is None else calls.pairs
        if previous is not None and self._same_chain_as(previous):
            self._take_over(previous)
            return
        self._function = np.asarray(report.spectrum.elements.function, np.int64)
        self._locations = Locations.from_report(report, self.excluded)
        self.chain = self._build()
        # keep only the solver of the previous model, so that models do not form an ever longer chain
        self._previous = previous._solver if previous is not None else None

    @classmethod
    def from_report(
        cls,
        report: RankedReport,
        program: Program | None = None,
        jumps: JumpModel | None = None,
        excluded: Iterable[int] = (),
        previous: DebuggingModel | None = None,
    ) -> DebuggingModel:
        """Build the model of a report with all structure that the evidence and the sources have.

        Finding the calls reads the sources. A caller that builds many models keeps its :class:`DynamicFlow` and
        :class:`StatementCalls`, and passes them to the constructor.

        Raises NothingToRank when every candidate is excluded.
        """
        flow = DynamicFlow.from_spectrum(report.spectrum, program.graphs if program is not None else ())
        return cls(report, flow, StatementCalls.from_program(report.spectrum, program), jumps, excluded, previous)

    @classmethod
    def for_studies(cls, report: RankedReport, program: Program | None = None, p_jump: float = 0.5) -> DebuggingModel:
        """Build the model with the jump matrix of paper 003, Definition 26, by which techniques are compared.

        Its control flow is that of failing runs, and nobody jumps along calls.

        Raises NothingToRank when there is no candidate.
        """
        graphs = program.graphs if program is not None else ()
        flow = DynamicFlow.from_spectrum(report.spectrum, graphs, failing=True)
        return cls(report, flow, jumps=JumpModel(p_jump))

    def _same_chain_as(self, other: DebuggingModel) -> bool:
        """Whether the chain would be the same: it depends on the levels of the report, not on their scores."""
        return (
            self.report.spectrum.elements is other.report.spectrum.elements
            and self._flow is other._flow
            and self._calls is other._calls
            and (self.jumps, self.excluded) == (other.jumps, other.excluded)
            and not any(isinstance(model.report, SubgraphReport) for model in (self, other))
            and np.array_equal(self.report.level, other.report.level)
        )

    def _take_over(self, other: DebuggingModel) -> None:
        self._function, self._locations, self.chain = other._function, other._locations, other.chain
        self._previous, self._solver = other._previous, other._solver
        DebuggingModel._from_start.share(other, self)
        DebuggingModel._ranking_walk.share(other, self)

    def _build(self) -> Chain:
        if not len(self.elements):
            raise NothingToRank(
                Problem("", "", "every suspect has been examined", "reset the examined marks, or add failing tests")
            )
        structure = Structure(
            self._function[self.elements], self._locations.pairs(self._flow), self._locations.pairs(self._calls)
        )
        if not isinstance(self.report, SubgraphReport) or not self.report.subgraphs:
            return ranked_list(self.report.level[self.elements], structure, self.jumps)
        used_subgraphs: list[int] = []
        members: list[Ints] = []
        for i, graph in enumerate(self.report.subgraphs):
            inside = self._locations.of_element[graph.elements]
            inside = np.unique(inside[inside >= 0])
            if len(inside):
                used_subgraphs.append(i)
                members.append(inside)
        if not used_subgraphs:
            return ranked_list(self.report.level[self.elements], structure, self.jumps)
        self._kept_subgraphs = used_subgraphs
        level = self.report.subgraph_level[used_subgraphs]
        return suspicious_behaviour(level, members, len(self.elements), structure, self.jumps)

    def solve(self, progress: Progress | None = None) -> HittingTimeSolver:
        """Eliminate the chain now, with a progress bar, instead of when a result is first needed.

        Raises UsageError when the chain is not ergodic, with the reason.
        """
        if self._solver is None:
            self._solver = HittingTimeSolver(self.chain, self._previous, progress)
            self._previous = None
        return self._solver

    @property
    def solver(self) -> HittingTimeSolver:
        """The eliminated chain."""
        return self.solve()

    @CachedProperty
    def _from_start(self) -> HittingTimes:
        # without jumps there is a closed form
        return hitting_times(self.chain) if self.chain.is_ranked_list else self.solve().from_start()

    @property
    def elements(self) -> Ints:
        """The element that represents each location of the chain, shape (locations,)."""
        return self._locations.elements

    @property
    def expected_steps(self) -> Floats:
        """Expected steps from the top of the report by element, inf for elements not in the chain; shape
        (elements,).
        """
        return self._locations.by_element(self._from_start.steps)

    @property
    def ht_rank(self) -> Floats:
        """HT_Rank by element (paper 003, Definition 25), inf for elements not in the chain; shape (elements,)."""
        return self._locations.by_element(self._from_start.rank)

    def expected_steps_from(self, element: int) -> Floats:
        """Return the expected steps to every element from one that may be excluded or not a candidate.

        Of shape (elements,). Infinite for an element that is not in the chain.
        """
        return self._locations.by_element(self._times_from(element).steps)

    def order_from(self, element: int | None = None) -> Ints:
        """Return the elements of the chain, fewest expected steps first, from the top of the report or from an element.

        Of shape (k,).
        """
        times = self._from_start if element is None else self._times_from(element)
        return self.elements[np.argsort(times.rank, kind="stable")]

    def next_moves(self, element: int, limit: int | None = 10) -> list[Move]:
        """Return the elements to look at next from an element, likeliest first.

        Their probabilities are the distribution of the first other location in the chain, however often the reader
        comes back to the element before. Excluded elements are not in the chain. Without a limit the probabilities add
        up to 1, unless no element is left.
        """
        step, first = self._step_from(element), self.chain.first_location
        chance = np.zeros(len(self.elements))
        chance[self.chain.location] = step[first:]
        chance += self._ranking_walk.first_met(step[:first])
        current = self._locations.of_element[element]
        if current >= 0:
            # whoever comes back chooses as before, so this only makes all other probabilities larger
            chance[current] = 0
        chance /= chance.sum() or 1.0
        by_rank = np.lexsort((self.report.level[self.elements], -np.round(chance, 12)))
        best = [k for k in by_rank[:limit].tolist() if chance[k] > 0]
        return [Move(int(self.elements[k]), float(chance[k]), self._reasons(element, k)) for k in best]

    def plan(self, element: int | None = None) -> ReadingPlan:
        """Return the order of elements that is expected to lead to the fault in the fewest steps.

        From the top of the report, or from an element that the reader sees, which is left out.
        """
        near: list[int] | None = None
        seen: int | None = None
        if element is not None:
            near = self._jumps_from(element)[0].tolist() if self.jumps.p_jump else []
            seen = int(self._locations.of_element[element])
        plan = plan_reading(self.chain, fault_chances(self.report, self.elements), near, seen)
        return replace(plan, order=self.elements[plan.order])

    def has_neighbours(self, element: int) -> bool:
        """Whether an element has a neighbour to which a reader can jump.

        True if a neighbour is not excluded.
        """
        return bool(len(self._jumps_from(element)[0]))

    def is_neighbour(self, element: int, other: int) -> bool:
        """Whether a reader may jump from an element to another one, for any `p_jump` above 0.

        False if `other` is excluded.
        """
        location = self._locations.of_element[other]
        return bool(location >= 0 and location in self._jumps_from(element)[0])

    def reasons(self, element: int, other: int) -> tuple[str, ...]:
        """Return what connects an element to another one in the chain, the most specific reason first.

        Raises KeyError when `other` is not a candidate, or excluded.
        """
        if self._locations.of_element[other] < 0:
            raise KeyError(f"element {other} is not in the model")
        return self._reasons(element, int(self._locations.of_element[other]))

    def neighbourhood(self, element: int, limit: int = 8) -> Neighbourhood:
        """Return the chain around an element, for a picture.

        It has the likeliest next states of the element. For each of these in the ranking, it also has the ranks before
        and after it, and the three likeliest further states.

        Raises KeyError when the element is not a candidate, in no subgraph, or excluded.
        """
        state = self._state_of(element)
        if state < 0:
            raise KeyError(f"element {element} is not in the model")
        states = states_around(self.chain, state, limit)
        return Neighbourhood(tuple(map(self._node, states)), edges_among(self.chain, states))

    def _node(self, state: int) -> ModelNode:
        chain = self.chain
        if state < chain.groups:
            return ModelNode(state, "rank", state + 1)
        if state < chain.first_location:
            return ModelNode(state, "subgraph", self._kept_subgraphs[state - chain.groups] + 1)
        location = chain.location[state - chain.first_location]
        return ModelNode(state, "location", int(self.elements[location]))

    def _state_of(self, element: int) -> int:
        """The state of an element's location, -1 if it is not in the chain."""
        location = self._locations.of_element[element]
        return int(self.chain.state_of_location[location]) if location >= 0 else -1

    def _times_from(self, element: int) -> HittingTimes:
        solver, state = self.solve(), self._state_of(element)
        if state >= 0:
            return solver.from_state(state)
        times = solver.from_distribution(self._step_from(element))
        with np.errstate(divide="ignore"):
            return HittingTimes(times.steps + 1, np.logaddexp(times.log_steps, 0.0))

    def _step_from(self, element: int) -> Floats:
        """The distribution of the next state, for an element that may be outside the chain.

        From outside, a reader jumps to a neighbour inside, or goes to the place of the element in the ranking. Of shape
        (states of the paper,).
        """
        step, state = np.zeros(self.chain.first_hub), self._state_of(element)
        if state >= 0:
            targets, probability = self.chain.row(state)
            step[targets] = probability
            return step
        neighbours, shares = self._jumps_from(element)
        states = self.chain.state_of_location[neighbours]
        inside = shares[states >= 0]
        leave = self.jumps.p_jump if len(inside) else 0.0
        step[states[states >= 0]] = leave * inside / (inside.sum() or 1.0)
        step[self._group_near(element)] += 1 - leave
        return step

    def _jumps_from(self, element: int) -> tuple[Ints, Floats]:
        """The locations to which a reader may jump from an element, and their shares of the jumps."""
        weight = self._neighbours.weights(element, self._locations)
        neighbours = np.flatnonzero(weight)
        return neighbours, weight[neighbours] / (weight.sum() or 1.0)

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours(self._function, self._flow, self._calls, self.jumps)

    def _group_near(self, element: int) -> int:
        """The group in the chain at an element's level or after it; the last group if there is none."""
        level = int(self.report.level[element])
        if level < 0 or self.chain.subgraphs:
            return 0
        present = np.unique(self.report.level[self.elements])
        return min(int(np.searchsorted(present, level)), len(present) - 1)

    @CachedProperty
    def _ranking_walk(self) -> RankingWalk:
        return RankingWalk(self.chain)

    def _reasons(self, element: int, location: int) -> tuple[str, ...]:
        other = int(self.elements[location])
        if reasons := self._neighbours.reasons(element, other):
            return tuple(reasons)
        current_level, other_level = self.report.level[element], self.report.level[other]
        return (NEXT if other_level > current_level >= 0 else SAME_PLACE if other_level == current_level else HIGHER,)
