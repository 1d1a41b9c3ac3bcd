"""Several failures: a search for each one that the causes of those before do not explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from suspectra.base.english import first_of
from suspectra.base.errors import EvidenceError, Problem
from suspectra.causes.inquiry import CauseInquiry
from suspectra.causes.report import CauseReport, CauseState, Narrowing
from suspectra.experiments.inquiry import Inquiry
from suspectra.experiments.repeated_tests import FailingTest

Ask = Callable[[FailingTest, float, Sequence[CauseState]], CauseInquiry]
"""Given a test, how many seconds there are, and the causes that are known, makes the inquiry."""

LEAST_S = 10.0
"""For a search, before it leaves half of the time to the other failures: it has to trace the test first."""

_NOTHING = CauseReport("", (), (), (), (), (), 0, False, 0.0)


@dataclass
class Failures(Inquiry[Narrowing]):
    """Searches for the causes of several failures (section 4.3 of Li, Li, Huo & Feng 2016).

    Where there are several faults, a search may find one of them and leave the others out, since they are on the other
    side of a frontier. The paper has the found ones corrected and the tests run again. Here the other failing tests say
    the same without a correction: where none of the causes known by now makes a test pass, another fault does matter.
    """

    tests: Sequence[FailingTest]  # in the order in which they are looked at
    ask: Ask  # makes the inquiry into one failure
    reports: list[CauseReport] = field(default_factory=list, init=False)  # of the tests that were searched
    # the cause of another failure that explains a test, by its name
    explained: dict[str, CauseState] = field(default_factory=dict, init=False)
    current: str = field(default="", init=False)  # the test that is looked at

    def steps(self) -> Generator[Narrowing]:
        """Search for the causes of one failure after the other.

        Raises EvidenceError when the only test can't be traced or altered; of several tests, that is a problem.
        """
        end = self.begin()
        for number, test in enumerate(self.tests):
            left = end - time.monotonic()
            if left <= 0:
                self._note_those_without_time(self.tests[number:])
                return
            self.current = test.name
            if number + 1 < len(self.tests):
                left = max(left / 2, min(left, LEAST_S))
            known = [root for report in self.reports for root in report.roots]
            inquiry = self.ask(test, left, known)
            refusal: EvidenceError | None = None
            try:
                with closing(inquiry.steps()) as steps:
                    yield from steps
            except EvidenceError as error:
                refusal = error
            finally:  # also when the search is stopped
                self.note(inquiry.problems)
                if inquiry.explained_by is not None:
                    self.explained[test.name] = inquiry.explained_by
                elif refusal is None:
                    self.reports.append(inquiry.report)
            if refusal is not None:
                if len(self.tests) == 1:
                    raise refusal
                self.note([refusal.problem])

    def _note_those_without_time(self, tests: Sequence[FailingTest]) -> None:
        cause = f"there was no time for {first_of([test.name for test in tests])}"
        self.note([Problem("", "", cause, "give it more seconds")])

    def to_json(self) -> dict[str, object]:
        """What was found, for other tools.

        The report of the first test, with its `test`; `explained`: by the names of other tests, the cause that explains
        each; and `further`: the reports of tests that no cause of those before explains.
        """
        reports = [{"test": report.test, **report.to_json()} for report in self.reports or [_NOTHING]]
        explained = {test: state._asdict() for test, state in self.explained.items()}
        return {**reports[0], "explained": explained, "further": reports[1:]}
