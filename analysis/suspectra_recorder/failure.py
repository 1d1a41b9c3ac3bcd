"""Recordings of runs that failed before any test was collected."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from suspectra_recorder.folders import RecordingError
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.scope import Scope
from suspectra_recorder.settings import Settings


def record_failure(settings: Settings, describe: Callable[[Scope], CollectionError]) -> None:
    """Write a recording that holds nothing but why there is none, and tell the launcher.

    Parameters
    ----------
    settings : Settings
        What was asked for: the workspace and the run.
    describe : callable
        Makes the error, given the scope that names files.
    """
    scope = Scope(settings.workspace)
    try:
        recorder = Recorder(scope, settings.run or os.urandom(16).hex())
    except RecordingError as error:
        report_status(settings, {"problem": error.problem.as_dict()})
        return
    recorder.not_collected(describe(scope))
    recorder.log.close()
    report_status(settings, {"tests": 0, "errors": [error.as_dict() for error in recorder.errors]})


def report_status(settings: Settings, line: dict[str, Any]) -> None:
    """Add a line to the file by which the launcher learns how the run went.

    Parameters
    ----------
    settings : Settings
        They name the file; where they name none, nothing happens.
    line : dict of str to Any
        What JSON can hold.
    """
    if settings.status:
        try:
            with open(settings.status, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        except OSError:
            pass
