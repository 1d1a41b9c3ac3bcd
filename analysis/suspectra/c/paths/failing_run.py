"""A failing run of a test of a compiled program, and what is the same in two of them."""

from __future__ import annotations

from typing import NamedTuple

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.flow import Flow, unsteady
from suspectra.c.paths.traced_run import CTracedRun
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.evidence.evidence import Verdict

_STEADY = 0.5  # the share of a failing run's events that must be the same each time


class CFailingRun(NamedTuple):
    """A run of a failing test, which was run twice."""

    run: CTracedRun  # the first one
    left_out: frozenset[int]  # nodes that are not compared, as they differ between both
    events: int  # decisions and calls of the workspace, without these
    seconds: float  # how long the longer one took

    @classmethod
    def from_test(cls, name: str, tests: TracedTests) -> CFailingRun:
        """Run a failing test twice.

        Raises EvidenceError when it does not fail, records nothing, or is another run each time.
        """
        first, again = tests.run(name), tests.run(name)
        if not (first.verdict.failing and again.verdict.failing):
            ended = first.verdict if not first.verdict.failing else again.verdict
            words = "passes" if ended is Verdict.PASSED else "is skipped"
            cause, cure = f"{name} {words} in the build that records paths", "record the tests again"
        elif not len(first.run):
            cause = f"{name} executes nothing that was compiled to record its path"
            cure = "name the build folder of its program, and let that record; programs of other builds are not traced"
        else:
            left_out = unsteady(tests.program, first.run, again.run)
            flow = Flow(tests.program, [first.run])
            every, events = len(flow.path(first.run)), len(flow.path(first.run, left_out))
            if every and events >= _STEADY * every:
                return cls(first.run, left_out, events, max(first.seconds, again.seconds))
            cause = f"{name} makes no decision in the workspace, and calls none of its functions"
            cure = "choose a test that executes code of the workspace"
            if every:
                cause = f"two runs of {name} take different paths: {events:,} of {every:,} events are the same"
                cure = "let it not depend on time, chance, threads or what ran before"
        raise EvidenceError(Problem("", "", cause, cure))
