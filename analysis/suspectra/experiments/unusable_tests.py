"""Why experiments can't be made with a test."""

from __future__ import annotations

import builtins
import re

from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.failures.tracebacks import SAYING_NOTHING

CURE_OF_A_PASS = (
    "record the tests again; if it fails there again, look at tests that run before it: they may leave something behind"
)
"""For a test that fails in the recording and passes alone."""

_CURE_OF_ANOTHER_FAILURE = (
    "record the tests again; if it fails as before, look at tests that run before it: they may leave something behind"
)

_CURE_OF_A_LONG_ONE = "choose a test that does less; if this one has many cases, let a test have only those that fail"

_CURE_OF_A_PASSING_TEST = "run all tests before you keep a repair: some were not run with it"

_ALONE = {
    ExperimentOutcome.PASSED: "passes when it runs alone",
    ExperimentOutcome.FAILED: "fails when it runs alone",
    ExperimentOutcome.SKIPPED: "is skipped when it runs alone",
    ExperimentOutcome.CRASHED: "ends its process when it runs alone",
    ExperimentOutcome.NOT_REACHED: "was not run",
    ExperimentOutcome.REFUSED: "was refused what it does outside of its process",
}


def unusable(
    test: str, outcome: ExperimentOutcome, *, seconds: float, decisions: int = 0, fails: bool = True
) -> EvidenceError:
    """Say why experiments can't be made with a test, by how it ends when nothing is altered."""
    if outcome is ExperimentOutcome.STEPS:
        cause = f"{test} makes more than {decisions:,} decisions"
    elif outcome is ExperimentOutcome.TIMEOUT:
        cause = f"{test} takes more than {seconds:.0f} s"
    else:
        cause = f"{test}{'' if fails else ', which passed,'} {_ALONE[outcome]}"
    cures = {
        ExperimentOutcome.PASSED: CURE_OF_A_PASS,
        ExperimentOutcome.STEPS: _CURE_OF_A_LONG_ONE,
        ExperimentOutcome.TIMEOUT: _CURE_OF_A_LONG_ONE,
    }
    cure = cures.get(outcome, "record the tests again, or choose another test") if fails else _CURE_OF_A_PASSING_TEST
    return EvidenceError(Problem("", "", cause, cure))


def require_recorded_failure(test: str, recorded: str, answer: AlteredRunAnswer) -> None:
    """Refuse a test that fails alone for another reason: all that is found would be about that.

    Only types of exceptions are compared, as messages may contain times and addresses. A type and one of its bases
    count as the same, and so do a group and an exception in it.

    Raises EvidenceError when it fails with another exception.
    """
    types = answer.noted.get("types")
    if answer.outcome is not ExperimentOutcome.FAILED or not recorded or not types or _types_of(recorded) & set(types):
        return
    cause = f"{test} fails with {answer.exception} when it runs alone, and failed with {recorded} when it was recorded"
    raise EvidenceError(Problem("", "", cause, _CURE_OF_ANOTHER_FAILURE))


def _types_of(recorded: str) -> set[str]:
    """The names of a recorded exception, without modules and functions: of those in a group, and of builtin bases."""
    found = {part.rpartition(".")[2] for part in re.split(r"[][, …]+", recorded)} - {""}
    for kind in [getattr(builtins, name, None) for name in found]:
        if isinstance(kind, type):
            found |= {base.__name__ for base in kind.__mro__}
    return found - (SAYING_NOTHING - {recorded})
