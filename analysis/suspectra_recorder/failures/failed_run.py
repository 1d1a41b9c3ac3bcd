"""Recording runs that failed before any test was collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suspectra_recorder.errors import Problem
from suspectra_recorder.folders import RecordingError
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, sys
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.recorded_files import RecordedFiles
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.settings import RecordingSettings

__builtins__ = library_references.builtins


def record_failure(settings: RecordingSettings, describe: Callable[[RecordedFiles], CollectionError]) -> None:
    """Write a recording with only the error, and report it to the launcher."""
    scope = RecordedFiles(settings.workspace)
    try:
        recorder = Recorder(scope, settings.run or os.urandom(16).hex())
    except RecordingError as error:
        report_problem(settings, error.problem)
        return
    recorder.not_collected(describe(scope))
    # nothing else is written, since nothing was instrumented
    recorder.log.close()
    report_status(settings, {"tests": 0, "errors": [error.as_dict() for error in recorder.errors]})


def report_problem(settings: RecordingSettings, problem: Problem) -> None:
    """Report to the launcher why nothing is recorded; on stderr where even that can't be written, as on a full disk."""
    if not report_status(settings, {"problem": problem.as_dict()}):
        sys.stderr.write(f"suspectra: {problem}\n")


def report_status(settings: RecordingSettings, line: Mapping[str, object]) -> bool:
    """Append a line to the status file of the launcher.

    False when it could not be written.
    """
    if settings.status:
        try:
            with open(settings.status, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        except OSError:
            return False
    return True
