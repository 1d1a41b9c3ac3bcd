"""Decisions of a failing test of a compiled program that let it pass if they come out the other way."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from suspectra.base.english import are, many, ordinal
from suspectra.c.paths.decisions import Turn, decisions_of, turns_by_suspicion
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.c.paths.turned_tests import TurnedTests, refuse_if_started_by_another
from suspectra.paths.report import PathReport, ReportedPlace
from suspectra.paths.searches.recorded_paths import truth
from suspectra.paths.searches.search import PathSearchLimits
from suspectra.runs.experiment import ExperimentOutcome


class CSwitching(CPathSearcher):
    """Runs a failing test with one decision after the other turned, until it passes."""

    def __init__(self, setting: CPathSetting):
        super().__init__(setting)
        self._tried = self._astray = self._left = 0

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Turn decisions of suspicious lines first, and of each the last one first.

        Raises EvidenceError when nothing can be found out about the test.
        """
        tests, name = self.setting.tests, self.setting.test
        refuse_if_started_by_another(tests.case(name))
        failing = self.failing_run()
        decisions = decisions_of(failing, tests, name, self.setting.spectrum)
        self._left = sum(1 for decision in decisions for _ in decision.turns())
        turned = TurnedTests(tests, name, failing, self.setting.token)
        for turn in turns_by_suspicion(decisions):
            yield self._report(None, complete=False)
            if limits.over or (limits.candidates and self._tried >= limits.candidates):
                return
            found = turned.run(turn).outcome
            self._tried += 1
            self._left -= 1
            self._astray += found is ExperimentOutcome.NOT_REACHED
            if found.repairs and turned.run(turn).outcome.repairs:
                yield self._report(turn, complete=True)
                return
        yield self._report(None, complete=True)

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
        outcome, wanted = (truth(outcomes.get(block, -1)) for block in (turn.went, turn.comes))
        return ReportedPlace(decision.location, decision.kind, turn.instance, outcome, wanted)

    def _limits(self, turn: Turn | None, *, complete: bool) -> Iterator[str]:
        if self._astray:
            verb = "was" if self._astray == 1 else "were"
            yield f"{many(self._astray, 'decision')} {verb} not made again, or not at the same time."
        if turn is not None:
            yield "It may only keep an error from being noticed: then the fault is in what comes before."
        elif not complete:
            yield f"{many(self._left, 'candidate')} {are(self._left)} left: give more seconds."
        else:
            yield "No decision lets the test pass if it alone comes out the other way: a value is wrong, probably."


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
