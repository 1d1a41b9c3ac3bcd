"""The decisions that a failing run of a compiled program has made, and how they can come out differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

import numpy as np

from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.c.paths.disassembly import Block
from suspectra.c.paths.failing_run import CFailingRun
from suspectra.c.paths.flow import following
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.spectrum import Spectrum

_LOOPS = frozenset({"for", "while"})


@dataclass(frozen=True)
class CDecision:
    """A decision that a failing run has made."""

    node: int  # its number in the program
    block: Block  # what decides
    kind: str  # its statement
    location: Location  # its line
    # which executions of the block came to the decision, and by which address each went on
    times: tuple[tuple[int, int], ...]
    suspicion: float  # of its line, by Ochiai

    def turns(self) -> Iterator[Turn]:
        """List the ways in which it can come out differently, the last time first.

        If it has two ways on, after the last time comes the other way each time. If it went both ways, each of them
        follows, taken every time, but for loops, which would not end.
        """
        last, went = self.times[-1]
        yield from (Turn(self, last, to) for to in self.block.arms if to != went)
        if len(self.block.arms) > 2:
            return
        if len(self.times) > 1:
            yield Turn(self, 0, 0)
            # a condition that is too wide is right some times: where it is, the opposite would be wrong
            if self.kind not in _LOOPS and len({to for _, to in self.times}) > 1:
                yield from (Turn(self, 0, to) for to in self.block.arms)
        for when, went in reversed(self.times[:-1]):
            yield from (Turn(self, when, to) for to in self.block.arms if to != went)


class Turn(NamedTuple):
    """A decision that is to come out differently."""

    decision: CDecision
    time: int  # at which execution of its block, from 1; 0 for each
    to: int  # the block that is to come next; 0 for the other one of two than comes by itself

    @property
    def instance(self) -> int:
        """How many times the decision had been made then.

        This one included; that of the first time that it comes out differently, if it is turned each time.
        """
        return self._first[0]

    @property
    def went(self) -> int:
        """The block that came next by itself then."""
        return self._first[1]

    @property
    def comes(self) -> int:
        """The block that comes next instead."""
        return self.to or next(arm for arm in self.decision.block.arms if arm != self.went)

    @property
    def instead(self) -> list[tuple[int, int]]:
        """Pairs of blocks: where the first one would come next, the second one does."""
        if self.to:
            return [(self.went, self.to)]
        one, other = self.decision.block.arms
        return [(one, other), (other, one)]

    @property
    def _first(self) -> tuple[int, int]:
        return next(
            (place, to)
            for place, (when, to) in enumerate(self.decision.times, 1)
            if (when == self.time if self.time else to != self.to)
        )


def decisions_of(failing: CFailingRun, tests: TracedTests, name: str, spectrum: Spectrum) -> list[CDecision]:
    """Find the decisions of a failing test that are made by its program itself, and not by a library.

    The most suspicious ones first, and then the latest ones.

    Raises EvidenceError when there are none.
    """
    run, program = failing.run, tests.program
    module = tests.case(name).program
    next_block = following(run)
    blocks = np.flatnonzero(~run.is_entry & (run.node >= 0))
    order = blocks[np.argsort(run.node[blocks], kind="stable")]
    starts = np.flatnonzero(np.diff(run.node[order], prepend=-1))
    found = []
    for events in np.split(order, starts[1:]) if len(order) else []:
        number = int(run.node[events[0]])
        block, place = program.block(number), program.place(number)
        if block is None or place is None or len(block.arms) < 2 or number in failing.left_out:
            continue
        if program.nodes[number].module != module:
            continue  # the recorder is told of places by their distance from itself
        times = tuple(
            (count, program.nodes[int(run.node[next_block[event]])].address)
            for count, event in enumerate(events.tolist(), 1)
            if next_block[event] >= 0
        )
        if times:
            suspicion = _suspicion(spectrum, place[1])
            found.append((-suspicion, -int(events[-1]), CDecision(number, block, *place, times, suspicion)))
    if not found:
        cause = f"{name} makes no decision in its program that could come out differently"
        raise EvidenceError(Problem("", "", cause, "choose a test that executes code of the workspace"))
    return [decision for *_, decision in sorted(found, key=lambda one: one[:2])]


def turns_by_suspicion(decisions: Sequence[CDecision]) -> Iterator[Turn]:
    """All turns, those first that are worth most: the square of the suspicion, less for each further turn.

    The square of Ochiai is the share of failing tests that execute a line, times their share among all that do.
    """
    pending = [(-(decision.suspicion**2), place, 1, decision.turns()) for place, decision in enumerate(decisions)]
    heapify(pending)
    while pending:
        _, place, turn, turns = pending[0]
        if (one := next(turns, None)) is None:
            heappop(pending)
        else:
            yield one
            heapreplace(pending, (-(decisions[place].suspicion ** 2) / (turn + 1), place, turn + 1, turns))


def _suspicion(spectrum: Spectrum, location: Location) -> float:
    element = spectrum.elements.at(location.file, location.line)
    if element is None:
        return 0.0
    counts = spectrum.counts
    failing, executing = int(counts.ef[element]), int(counts.ef[element] + counts.ep[element])
    return failing / float(np.sqrt(counts.failed * executing)) if failing else 0.0
