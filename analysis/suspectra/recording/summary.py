"""What is said about a recorded run when it is over."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.processes.events import ProgramEnded
from suspectra.recording.endings import NO_TESTS, TESTS_FAILED, in_words
from suspectra_recorder.settings import recording_folder

if TYPE_CHECKING:
    from suspectra.recording.crash import Crash

_HOW_TO_START = (
    "let the command be pytest, `python -m unittest`, or a script or module that itself runs pytest or names unittest"
    " or Django, without -I, -E, -S or -p no:suspectra; `suspectra record-c` records tests of C and C++"
)
_INTERRUPTED = {128 + int(number) for name in ("INT", "TERM", "HUP") if (number := getattr(signal, f"SIG{name}", 0))}
_NO_SUSPECTS = (
    "nothing of it may be a suspect: what the tests executed is test code, or outside of the workspace. Fix: name the"
    " program by --source, or let test code be suspected by --include-tests"
)
_ELSEWHERE = (
    "unittest ran no test in this process, and what it runs in others is not recorded. Fix: leave out an option such as"
    " --parallel, or let the command be the one that the script starts"
)


def summary_of(status: list[dict[str, Any]], crash: Crash | None, workspace: str, ended: ProgramEnded) -> list[str]:
    """Summarize a recording in lines; if the tests did not complete, the last line says why."""
    code = ended.status
    interrupted = ended.interrupted or ended.stopped is not None or code in _INTERRUPTED
    problems = [line["problem"] for line in status if "problem" in line]
    if problems:
        return [str(Problem(**problems[0]))]
    if crash is not None:
        return [crash.sentence(workspace)]
    if not status and interrupted:
        return ["the run was interrupted before a test began; nothing was recorded"]
    if not status:
        # what a program other than pytest means by its status is not known
        how = in_words(code) if code > 128 else f"it ended with status {code}"
        cause = f"nothing was recorded: neither pytest nor unittest was seen to start ({how})"
        return [str(Problem("", "", cause, _HOW_TO_START))]
    tests = sum(int(line.get("tests", 0)) for line in status)
    lost = sum(int(line.get("lost", 0)) for line in status)
    left = max(int(line.get("planned", 0)) for line in status) - tests - lost
    # those that were selected as new, and where some did not run, which is not known
    new = max(int(line.get("new", 0)) for line in status) if left <= 0 else 0
    count = f"{many(tests, 'test')}{f', {new} of them new,' if new else ''}"
    how = " by sys.monitoring" if any(line.get("monitoring") for line in status) else ""
    lines = [f"recorded {count}{how} in {recording_folder(workspace)}"]
    if lost:
        why = next(str(line["stopped"]) for line in status if line.get("stopped"))
        lines.append(f"{many(lost, 'test')} ran, but could not be recorded: {why}")
    lines += {str(line["objection"]) for line in status if line.get("objection")}
    deselected = [int(line["deselected"]) for line in status if "deselected" in line]
    if not tests and code in (0, TESTS_FAILED) and _by_unittest(status):
        if not deselected:
            lines.append(_ELSEWHERE)
        elif not any(deselected) and code == 0:
            code = NO_TESTS  # as from Python 3.12 on
    if tests and not any(line.get("suspects", True) for line in status if line.get("tests")):
        lines.append(_NO_SUSPECTS)
    if any(line.get("interrupted") for line in status):
        from suspectra_recorder.log.collection import cut_off

        lines.append(cut_off(max(0, left), how="it was interrupted").message)
    elif found := [error for line in status for error in line.get("errors", ())]:
        lines.append(f"error: {_errors(found)}")
    elif code not in (0, TESTS_FAILED):
        lines.append(in_words(code, unittest=_by_unittest(status), deselected=max(deselected, default=0)))
    return lines


def _errors(found: list[dict[str, Any]]) -> str:
    """Summarize the collection errors, without duplicates from workers of pytest-xdist.

    What is to be done about a module or plugin that is missing is not in its message, as it is for other errors.
    """
    from suspectra_recorder.log.collection import CollectionError, summary

    errors: dict[str, CollectionError] = {}
    for error in map(CollectionError.from_dict, found):
        errors.setdefault(error.collector, error)
    first = next(iter(errors.values()))
    cure = f". Fix: {first.cure}" if first.missing_package else ""
    return f"{summary(errors.values())}{cure}"


def _by_unittest(status: list[dict[str, Any]]) -> bool:
    return any(line.get("runner") == "unittest" for line in status)
