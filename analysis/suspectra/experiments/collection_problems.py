"""Why a machine can't run a test: pytest does not get as far as collecting it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.waiting import WaitingProcess
from suspectra_recorder.experiments.messages import Greeting

_ERROR = re.compile(r"(?:^|\s)error: (?!usage:)(.+)", re.IGNORECASE)  # of pytest itself, or of its options


def first_line(
    process: WaitingProcess, command: Sequence[str], file: str, *, seconds: float, end: float, late: Problem
) -> bytes:
    """Wait for the line that a process writes once pytest has started there, within so many seconds.

    Raises EvidenceError when pytest ended before, or with `late` when it says nothing. Raises TimeIsUp at the `end`.
    """
    try:
        return next(process.lines(seconds_until(end, seconds)))
    except EOFError:
        process.ended()
        if process.error is not None:
            raise process.error from None
        raise EvidenceError(ended_early(file, process.printed, command)) from None
    except TimeoutError:
        seconds_until(end)
        raise EvidenceError(late) from None


def ended_early(file: str, printed: Sequence[str], command: Sequence[str]) -> Problem:
    """Say why pytest ended before it collected a module.

    With the error, or else the last line, and the command that shows everything.
    """
    said = [line.strip() for line in printed if line.strip()]
    errors = [found[1] for line in said if (found := _ERROR.search(line))]
    reason = (errors or said or ["it printed nothing"])[-1]
    alone = shlex.join([*_as_typed(command), file])
    return Problem(file, "", f"pytest ended before it collected it: {reason}", f"run `{alone}` to see why")


def _as_typed(command: Sequence[str]) -> list[str]:
    """A command without what found its interpreter."""
    start = next((at for at, words in enumerate(pairwise(command)) if words == ("-m", "pytest")), None)
    if start is not None:
        return ["python", *command[start:]]
    if "-c" in command[1:2]:  # code that starts pytest as its script does
        return ["pytest", *command[3:]]
    return [os.path.basename(command[0]), *command[1:]]


def not_collected(file: str, test: str, greeting: Greeting | None) -> Problem:
    """Say why a test was not collected with its module.

    With the first complaint of pytest.
    """
    if marker := greeting and greeting["excluded"].get(test):
        cause = f"{test} is not run again, since it has the marker {marker}"
        return Problem(file, "", cause, "do not exclude this marker if the test can do no harm")
    if errors := greeting and greeting["errors"]:
        cure = "correct this, or put what pytest needs behind --, such as `-- pytest --ds=shop.settings` for Django"
        return Problem(file, "", f"pytest, which runs tests again, can't collect {test}: {errors[0]}", cure)
    if greeting and test in greeting["by_unittest"]:
        cause = f"pytest, which runs tests again, does not find {test}; only unittest does, as by load_tests"
        return Problem(file, "", cause, "let the name of its method begin with test, in a class that pytest can make")
    cause = f"{test} was not collected when its module was collected again"
    cure = (
        "put the options with which it was recorded behind --, as in `-- pytest -c FILE`; if names depend on the order"
        " of a set, record with PYTHONHASHSEED=0"
    )
    return Problem(file, "", cause, cure)
