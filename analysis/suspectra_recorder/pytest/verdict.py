"""The verdict of a test, from pytest's reports of its phases.

========================= =========================================================================
setup failed               error; the test counts as failing, its body never ran
call failed                failed (also an unexpected pass of a strict xfail, and any failed subtest, and a failure in
                           a phase that a plugin names: that of pytest-forked when the test's process crashed)
teardown failed            error, unless the call failed already
call or setup skipped      skipped; xfailed when the failure was expected
call passed, but expected  xpassed
to fail
otherwise                  passed
========================= =========================================================================

A test that is run again within one session (pytest-rerunfailures) is judged by its last attempt and marked
flaky if an earlier one ended differently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import TYPE_CHECKING

from suspectra_recorder.log.colours import without_colours

if TYPE_CHECKING:
    import pytest

PHASES = ("setup", "call", "teardown")
_MAX_TEXT = 100_000
_MAX_MESSAGE = 500
_EXAMPLE = re.compile(r"\d{3,} |\?\?\? |EXAMPLE LOCATION UNKNOWN")


@dataclass
class Attempt:
    """One attempt of a test: pytest's outcome of each phase, and the first message of a failure."""

    phases: dict[str, str] = field(default_factory=dict)  # the outcome of each phase that ran
    expected_to_fail: bool = False  # whether the test is marked as an expected failure
    message: str = ""  # the first line of the first failure; empty if there is none
    seconds: float = 0.0  # how long the phases took

    def add(self, report: pytest.TestReport) -> None:
        """Add the report of a phase; the reports of subtests precede that of their test."""
        self.seconds += getattr(report, "duration", 0.0) or 0.0
        outcome = "failed" if str(report.outcome) == "rerun" else report.outcome  # "rerun" is not one of pytest's
        if outcome == "failed" and not self.message:
            self.message = failure_message(report)
        # one that passed or was skipped says nothing of the whole test
        if _is_subtest(report) and outcome != "failed":
            return
        # the test itself may pass after a subtest has failed
        if self.phases.get(report.when) != "failed":
            self.phases[report.when] = outcome
        if outcome != "failed" and getattr(report, "wasxfail", None) is not None:
            self.expected_to_fail = True

    @property
    def verdict(self) -> str:
        """The value of an :class:`suspectra.evidence.evidence.Verdict`."""
        setup, call = self.phases.get("setup"), self.phases.get("call")
        failed = {phase for phase, outcome in self.phases.items() if outcome == "failed"}
        if failed - {"setup", "teardown"}:
            return "failed"
        if failed:
            return "error"
        if "skipped" in (setup, call):
            return "xfailed" if self.expected_to_fail else "skipped"
        return "xpassed" if self.expected_to_fail else "passed"


class Attempts:
    """All attempts of one test in one session."""

    def __init__(self) -> None:
        self.all: list[Attempt] = []

    def add(self, report: pytest.TestReport) -> None:
        """Add a report; that of a setup starts a new attempt."""
        if report.when == "setup" or not self.all:
            self.all.append(Attempt())
        self.all[-1].add(report)

    @property
    def last(self) -> Attempt:
        """The last attempt, which counts."""
        return self.all[-1]

    @property
    def flaky(self) -> bool:
        """Whether an earlier attempt ended differently."""
        return any(attempt.verdict != self.last.verdict for attempt in self.all[:-1])


def failure_message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the first line of what went wrong.

    At most 500 characters; may be empty.
    """
    shown = getattr(report, "longrepr", None)
    said = getattr(getattr(shown, "reprcrash", None), "message", None) or getattr(shown, "errorstring", None)
    text = (said if isinstance(said, str) else "") or _from_doctest(shown) or _text(report)
    lines = without_colours(text[:_MAX_TEXT]).splitlines()
    line = next((line.strip() for line in lines if line.strip()), "")
    return line[:_MAX_MESSAGE]


def _from_doctest(shown: object) -> str:
    """What a doctest expected and got, or which exception it raised, behind the lines of the example."""
    for _, lines in getattr(shown, "reprlocation_lines", ()):
        behind = list(dropwhile(_EXAMPLE.match, lines))
        if behind:
            said = behind[:1] if behind[0].startswith("UNEXPECTED") else behind  # a traceback would follow
            return " ".join(" ".join(said).split())
    return ""


def _text(report: object) -> str:
    try:
        return str(getattr(report, "longrepr", "") or "")
    except Exception:  # a defect of the representation's class
        return ""


def _is_subtest(report: object) -> bool:
    return type(report).__name__ in ("SubtestReport", "SubTestReport")
