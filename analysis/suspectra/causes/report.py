"""What a search for causes has found, as places of the program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.english import ordinal
from suspectra.dependences.narrowing import FoundCauses
from suspectra.dependences.trace import DependenceTrace

MAX_AROUND = 20
"""Statements around the root causes that are listed."""

_OF_A_CHANGE = ("file", "line", "end_line", "diff")
_OUTCOMES = {0: "false", 1: "true"}


class CauseState(NamedTuple):
    """A state of the failing run."""

    file: str  # relative to the workspace
    # from 1, both included
    line: int
    end_line: int
    instance: int  # which time the statement was executed, from 1
    value: str  # the value that it had, in short; how it came out, of a decision
    # where a decision begins that is only a part of its line, or goes over several, in bytes from 0; 0 otherwise
    column: int = 0
    operand: str = ""  # the text of such a decision; empty otherwise

    @property
    def place(self) -> tuple[str, int, int, str]:
        """What it is a state of: file, line, and which decision of the line."""
        return self.file, self.line, self.column, self.operand

    def __str__(self) -> str:
        time = "" if self.instance == 1 else f" (the {ordinal(self.instance)} time)"
        return f"{self.file}:{self.line}{time}" + (f": {self.value}" if self.value else "")


class ConfirmingChange(NamedTuple):
    """A change of one statement with which the test passes, and all passing tests that execute it."""

    file: str  # relative to the workspace
    # from 1, both included
    line: int
    end_line: int
    said: str  # which tests pass with it, in a sentence
    lines: tuple[str, ...]  # what it removes and adds
    diff: str  # as `git apply` takes it

    def is_of(self, state: CauseState) -> bool:
        """Whether a state is one of the changed statement."""
        return state.file == self.file and self.line <= state.line <= self.end_line


class Member(NamedTuple):
    """A state that was altered."""

    file: str  # relative to the workspace
    line: int  # from 1
    instance: int  # which time the statement was executed, from 1
    polluted: bool  # whether the failure can disappear if it is another, alone or with others


class Narrowing(NamedTuple):
    """How far the search is: what a step has found.

    As text it says where the search goes on, and not where the fault is: what was altered in vain counts as right,
    though the right value may not have been tried, or an earlier assertion may have refused it.
    """

    cut: tuple[Member, ...]  # what was altered
    after: tuple[CauseState, ...]  # what counts as right; none at first, when that is what the test gives
    before: tuple[CauseState, ...]  # what counts as wrong; at first the failure
    # how many nodes there were between these before the step, and how many are left
    nodes: int
    left: int
    fails_later: bool = False  # whether it is searched for what makes the test fail later, since nothing makes it pass

    @property
    def share(self) -> float:
        """Which part of the nodes the step has left out."""
        return 1 - self.left / self.nodes if self.nodes else 0.0

    def __str__(self) -> str:
        before, after = _lines(self.before), _lines(self.after)
        if not before:
            return "the search ends where inputs are used"
        if not after:
            return f"the search goes on before {before}"
        if len(self.after) == len(self.before) == 1:
            return f"the search goes on between {after} and {before}"
        return f"the search goes on after {after}, and before {before}"


@dataclass(frozen=True)
class CauseReport:
    """The causes of the failure of one test."""

    test: str  # its name
    # the suspected causes: that whose statement `change` changes, then the most suspicious by all tests first
    roots: tuple[CauseState, ...]
    # how the fault got from there to the failure, or the fault where the search went past it; ordered as the roots
    transitive: tuple[CauseState, ...]
    # the first states of statements near the roots, by the number of dependences between them
    around: tuple[CauseState, ...]
    chain: tuple[CauseState, ...]  # from the first root to the failure, one after the other
    steps: tuple[Narrowing, ...]  # all steps
    alterations: int  # how many altered runs there were
    complete: bool  # whether the search came to its end
    seconds: float  # how long it took
    fails_later: bool = False  # whether the test fails later if the causes are altered, since nothing makes it pass
    states: int = 0  # how many states were examined: altered, or known to the user. Each counts once
    # values that count as right since the test passed with no other one, though the right one may not have been tried
    guessed: tuple[CauseState, ...] = ()
    # what tells which state is at fault, of all with which the test would pass; None where nothing does
    change: ConfirmingChange | None = None

    def after(self, seconds: float) -> CauseReport:
        """The same with another time."""
        return replace(self, seconds=seconds)

    def to_json(self) -> dict[str, object]:
        """The report for other tools.

        With `roots`, `transitive`, `around`, `guessed`, `cuts`, `states`, `alterations`, `complete`, `seconds`,
        `fails_later`, and `change`, which is null where nothing confirms a cause.
        """
        listed = {"roots": self.roots, "transitive": self.transitive, "around": self.around, "guessed": self.guessed}
        return {
            **{name: [state._asdict() for state in states] for name, states in listed.items()},
            "cuts": [[member._asdict() for member in step.cut] for step in self.steps],
            "states": self.states,
            "alterations": self.alterations,
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "fails_later": self.fails_later,
            "change": self.change and {name: getattr(self.change, name) for name in _OF_A_CHANGE},
        }


class CauseStates:
    """The nodes of a trace as states of the program."""

    def __init__(self, trace: DependenceTrace):
        self._trace = trace

    def for_node(self, node: int) -> CauseState:
        """The state that a node is."""
        trace = self._trace
        site = trace.sites[trace.graph.site[node]]
        value = _OUTCOMES.get(int(trace.outcome[node])) or trace.value[node]
        file, line, column, operand = site.place
        return CauseState(file, line, site.end_line, int(trace.graph.instance[node]), value, column, operand)

    def all(self, nodes: Iterable[int]) -> tuple[CauseState, ...]:
        """The states that some nodes are.

        In the same order, each once.
        """
        return tuple(dict.fromkeys(map(self.for_node, nodes)))

    def members(self, cut: Iterable[int], polluted: Iterable[int]) -> tuple[Member, ...]:
        """The states that were altered in a step.

        In the order of the cut.
        """
        wrong = set(polluted)
        states = ((node, self.for_node(node)) for node in cut)
        return tuple(Member(one.file, one.line, one.instance, node in wrong) for node, one in states)

    def around(self, roots: Sequence[int]) -> tuple[CauseState, ...]:
        """The statements near the roots, by the number of dependences between."""
        if not roots:
            return ()
        trace = self._trace
        hops = trace.graph.hops(roots)
        near = np.flatnonzero((hops > 0) & ~trace.is_test)
        near = near[np.lexsort((near, hops[near]))]
        known = {self.for_node(root).place for root in roots}
        found: list[CauseState] = []
        for node in near.tolist():
            state = self.for_node(node)
            if state.place not in known:
                known.add(state.place)
                found.append(state)
                if len(found) == MAX_AROUND:
                    break
        return tuple(found)

    def chain(self, causes: FoundCauses) -> tuple[CauseState, ...]:
        """How the first root leads to the failure, through transitive causes where one is on the way."""
        if not causes.roots:
            return ()
        trace = self._trace
        at, nodes = causes.roots[0], [causes.roots[0]]
        for stop in (*causes.transitive, trace.failure):
            distance = trace.graph.distance([stop])
            if stop == at or distance[at] < 0:
                continue  # another way leads there
            nodes += self._leg(at, distance)
            at = stop
        states: list[CauseState] = []
        for state in map(self.for_node, nodes):
            if states and states[-1].place == state.place:
                states[-1] = state  # the last state of a line is what goes on
            else:
                states.append(state)
        return tuple(states)

    def _leg(self, at: int, distance: Ints) -> list[int]:
        """The nodes of a shortest chain of dependences, without the first one."""
        graph = self._trace.graph
        found: list[int] = []
        while distance[at] > 0:
            users = graph.users_of(at)
            nearer = users[distance[users] == distance[at] - 1]
            at = int(nearer[0])
            found.append(at)
        return found


def _lines(states: Sequence[CauseState]) -> str:
    by_file: dict[str, list[int]] = {}
    for state in states:
        lines = by_file.setdefault(state.file, [])
        if state.line not in lines:
            lines.append(state.line)
    return " and ".join(f"{file}:{', '.join(map(str, sorted(lines)[:5]))}" for file, lines in by_file.items())
