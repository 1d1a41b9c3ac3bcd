"""Decisions of a failing test of a compiled program that let it pass if they come out the other way."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import NamedTuple

import numpy as np

from suspectra.base.english import are, many, ordinal
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.c.paths.debugger import UNALTERED, Debugger, SwitchedTest, refuse_if_started_by_another
from suspectra.c.paths.disassembly import Block
from suspectra.c.paths.flow import following
from suspectra.c.paths.gdb_script import GdbSwitch
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.c.paths.traced_run import CTracedRun
from suspectra.evidence.evidence import Verdict
from suspectra.paths.report import PathReport, ReportedPlace
from suspectra.paths.searches.recorded_paths import truth
from suspectra.paths.searches.search import PathSearchLimits
from suspectra.spectrum import Spectrum

_LOOPS = frozenset({"for", "while"})
_BATCH = 8  # runs of one gdb, which needs a moment to start
_TIME_FACTOR = 2.0  # how many times as long as unaltered a run may take

_GDB_S = 2.0
"""What a run may take besides, since gdb needs time for itself."""


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


class CSwitching(CPathSearcher):
    """Runs a failing test in gdb, with one decision after the other turned, until it passes."""

    def __init__(self, setting: CPathSetting):
        super().__init__(setting)
        self._tried = self._astray = self._left = 0

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Turn decisions of suspicious lines first, and of each the last one first.

        Raises EvidenceError when the test can't be run in gdb, or passes there.
        """
        refuse_if_started_by_another(self.setting.tests.case(self.setting.test))
        run = self.failing_run()
        decisions = self._decisions(run)
        total = sum(1 for decision in decisions for _ in decision.turns())
        self._left = total
        debugger = self._debugger(decisions)
        turns = _by_suspicion(decisions)
        while batch := list(islice(turns, min(_BATCH, limits.candidates or _BATCH))):
            yield self._report(None, complete=False)
            if limits.over or (limits.candidates and self._tried >= limits.candidates):
                return
            unaltered, *all_found = debugger.run([UNALTERED, *(_switch(debugger, turn) for turn in batch)])
            if not unaltered.verdict.failing:
                cause = f"{self.setting.test} does not fail in gdb"
                raise EvidenceError(Problem("", "", cause, "let it not depend on time, chance or its environment"))
            for turn, found in zip(batch, all_found, strict=True):
                self._tried += 1
                self._left -= 1
                self._astray += not found.switched
                if _repaired(found) and _repaired(debugger.run([_switch(debugger, turn)])[0]):
                    yield self._report(turn, complete=True)
                    return
        yield self._report(None, complete=True)

    def _decisions(self, run: CTracedRun) -> list[CDecision]:
        """The decisions of the program itself, the most suspicious ones first, and then the latest ones."""
        program = self.setting.tests.program
        next_block = following(run)
        blocks = np.flatnonzero(~run.is_entry & (run.node >= 0))
        order = blocks[np.argsort(run.node[blocks], kind="stable")]
        starts = np.flatnonzero(np.diff(run.node[order], prepend=-1))
        found = []
        for events in np.split(order, starts[1:]) if len(order) else []:
            number = int(run.node[events[0]])
            block, place = program.block(number), program.place(number)
            if block is None or place is None or len(block.arms) < 2 or number in self.left_out:
                continue
            if not program.module(program.nodes[number].module).recorder:
                continue  # in a library: gdb stops in the program
            times = tuple(
                (count, program.nodes[int(run.node[next_block[event]])].address)
                for count, event in enumerate(events.tolist(), 1)
                if next_block[event] >= 0
            )
            if times:
                suspicion = _suspicion(self.setting.spectrum, place[1])
                found.append((-suspicion, -int(events[-1]), CDecision(number, block, *place, times, suspicion)))
        return [decision for *_, decision in sorted(found, key=lambda one: one[:2])]

    def _debugger(self, decisions: list[CDecision]) -> Debugger:
        tests = self.setting.tests
        if not decisions:
            cause = f"{self.setting.test} makes no decision in its program that could come out differently"
            raise EvidenceError(Problem("", "", cause, "choose a test that executes code of the workspace"))
        module = tests.program.nodes[decisions[0].node].module
        seconds = _TIME_FACTOR * self.seconds + _GDB_S
        case = tests.case(self.setting.test)
        return Debugger(case, module, tests.program.module(module), seconds, self.setting.token)

    def _report(self, turn: Turn | None, *, complete: bool) -> PathReport:
        places: tuple[ReportedPlace, ...] = ()
        summary = ""
        if turn is not None:
            places = (self._place(turn),)
            summary = f"{self.setting.test} passes {_condition(places[0], turn)}."
        parts = places[0] if places else None
        notes = (*self._limits(turn, complete=complete), *self.notes())
        return PathReport(
            "apg", self.setting.test, places, None, places, self._tried, complete, 0.0, summary, parts, notes
        )

    def _place(self, turn: Turn) -> ReportedPlace:
        decision = turn.decision
        outcomes = self.setting.tests.program.outcomes(decision.node)
        instance, went = next(
            (place, to)
            for place, (when, to) in enumerate(decision.times, 1)
            if (when == turn.time if turn.time else to != turn.to)
        )
        to = turn.to or next(arm for arm in decision.block.arms if arm != went)
        outcome, wanted = truth(outcomes.get(went, -1)), truth(outcomes.get(to, -1))
        return ReportedPlace(decision.location, decision.kind, instance, outcome, wanted)

    def _limits(self, turn: Turn | None, *, complete: bool) -> Iterator[str]:
        if self._astray:
            verb = "was" if self._astray == 1 else "were"
            yield f"{many(self._astray, 'decision')} {verb} not made again in gdb, or not at the same time."
        if turn is not None:
            yield "It may only keep an error from being noticed: then the fault is in what comes before."
        elif not complete:
            yield f"{many(self._left, 'candidate')} {are(self._left)} left: give more seconds."
        else:
            yield "No decision lets the test pass if it alone comes out the other way: a value is wrong, probably."


def _repaired(found: SwitchedTest) -> bool:
    return found.switched > 0 and found.verdict is Verdict.PASSED


def _switch(debugger: Debugger, turn: Turn) -> GdbSwitch:
    block = turn.decision.block
    to = block.arms[turn.to] if turn.to else 0
    at = debugger.at(block.address, turn.time)
    return GdbSwitch(at=at, block=block.address, jump=block.jump, arms=list(block.arms.values()), to=to)


def _by_suspicion(decisions: list[CDecision]) -> Iterator[Turn]:
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


def _condition(place: ReportedPlace, turn: Turn) -> str:
    """How the decision comes out, as the end of a sentence."""
    when = (
        " each time"
        if turn.time == 0
        else ""
        if len(turn.decision.times) == 1
        else f" the {ordinal(place.instance)} time"
    )
    how = "the other way" if place.wanted is None or not turn.to else str(place.wanted).lower()
    return f"if the {place.kind} at {place.location.file}:{place.location.line} comes out {how}{when}"
