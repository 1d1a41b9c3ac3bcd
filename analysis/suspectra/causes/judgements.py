"""What somebody knows of states of a failing run: which are right, and which are wrong (paper 002, Section 6.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.causes.report import CauseState
from suspectra.dependences.narrowing import Alterations, Combination, Property

MAX_QUESTIONS = 12
"""Questions about one failure."""

_PLACE = re.compile(r"(.+?):([1-9][0-9]*)(?::([1-9][0-9]*))?")

Ask = Callable[[CauseState], "bool | None"]
"""Asks the user whether a state is right; None if that is not known."""


class Judgement(NamedTuple):
    """That somebody says whether what a line did is right."""

    file: str  # relative to the workspace
    line: int  # from 1
    instance: int  # which time it was executed, from 1; 0 for each time
    right: bool

    @classmethod
    def from_text(cls, text: str, *, right: bool) -> Judgement:
        """Read ``FILE:LINE`` or ``FILE:LINE:TIME``.

        Raises ValueError when the text is something else.
        """
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return cls(match[1], int(match[2]), int(match[3] or 0), right)

    def is_about(self, state: CauseState) -> bool:
        """Whether it says something of a state."""
        here = state.file == self.file and state.line <= self.line <= state.end_line
        return here and self.instance in (0, state.instance)


def judged(judgements: Iterable[Judgement], states: Mapping[int, CauseState], site: Ints) -> dict[int, bool]:
    """Find out which nodes are known to be right, and which are wrong. Of two judgements the last one counts.

    All that a line did is right; of a wrong one it is what it did last, since parts of it may be right.

    Raises EvidenceError when one is about no state on which the failure depends.
    """
    found: dict[int, bool] = {}
    for one in judgements:
        nodes = [node for node, state in states.items() if one.is_about(state)]
        if not nodes:
            time = f" (time {one.instance})" if one.instance else ""
            cause = f"the failure depends on no state of {one.file}:{one.line}{time} that could be judged"
            raise EvidenceError(Problem("", "", cause, "judge a state that `suspectra causes` has listed"))
        about = nodes if one.right else [node for node in nodes if site[node] == site[max(nodes)]]
        found.update(dict.fromkeys(about, one.right))
    return found


@dataclass
class JudgedAlterations:
    """Alterations, and what somebody knows.

    What is known to be right is not altered, and what is known to be wrong needs no run. If a state is found polluted,
    the user can be asked whether it is right all the same: another value may make up for a fault behind it.
    """

    alterations: Alterations
    known: dict[int, bool]  # which nodes are right; grows by what the user answers
    state: Callable[[int], CauseState]  # what a node is, for the user
    ask: Ask | None = None
    asked: int = field(default=0, init=False)

    def polluted(self, nodes: Combination, wanted: Property) -> bool:
        """Whether the failure can disappear if these nodes have other values, as far as nobody knows better."""
        if any(self.known.get(node) is False for node in nodes):
            return True
        if any(self.known.get(node) for node in nodes) or not self.alterations.polluted(nodes, wanted):
            return False
        return not all(self._is_right(node) for node in nodes)

    def _is_right(self, node: int) -> bool:
        if node not in self.known and self.ask is not None and self.asked < MAX_QUESTIONS:
            self.asked += 1
            if (answer := self.ask(self.state(node))) is not None:
                self.known[node] = answer
        return self.known.get(node, False)
