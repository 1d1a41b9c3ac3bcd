"""A run whose process ended before it reported: where that happened, as evidence and in words.

A killed process writes nothing more. What it was doing is in a file that it had mapped into memory
(`suspectra_recorder.activity`). A collection error of the whole run is made of it, so that whatever shows those shows
crashes, too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from suspectra.evidence.opening import open_evidence, read_evidence
from suspectra.recording.endings import in_words
from suspectra_recorder.activity import COLLECTION, IMPORT, Doing
from suspectra_recorder.folders import RecordingError
from suspectra_recorder.log.collection import CollectionError, at_place, cut_off
from suspectra_recorder.log.frames import FrameKind, LogDamage
from suspectra_recorder.log.reader import LoggedRun, LogReader, RecordedTest
from suspectra_recorder.recorded_files import RecordedFiles
from suspectra_recorder.run_log import LogOfRun

_HEAD = 1 << 20  # bytes of a log in which its first record is


@dataclass(frozen=True)
class Crash:
    """The end of a run without a report."""

    status: int  # the exit status of the command; 128 + n if signal n ended it
    doing: tuple[Doing, ...] = ()  # what the process did, the outermost first
    not_run: int = 0  # how many of its tests did not run to their end

    def sentence(self, workspace: str) -> str:
        """Say how and where the run ended."""
        return f"{self.error(workspace).message}; the tests that finished are recorded"

    def error(self, workspace: str) -> CollectionError:
        """Describe the crash as what kept the run from being complete.

        Of the whole run, with the place if it is known.
        """
        # whoever ends the process gives its status, so that of pytest has no meaning here
        how = in_words(self.status) if self.status > 128 else f"its process ended early, with status {self.status}"
        where, place = self._where(workspace)
        return at_place(cut_off(self.not_run, where=where, how=how), place, workspace)

    def record(self, workspace: str, run: str, logs: Iterable[str]) -> None:
        """Add the crash to the recording."""
        about = next((head for path in logs if (head := _head(path))), {})  # how the tests are run again
        with contextlib.suppress(RecordingError):
            log = LogOfRun(workspace, run, "", about)
            error = replace(self.error(workspace), time=log.now())
            log.write(FrameKind.ERROR, json.dumps(error.as_dict()).encode())
            log.close()

    def _where(self, workspace: str) -> tuple[str, tuple[str, int] | None]:
        """The innermost place in the workspace, in words and as file and line."""
        name = RecordedFiles(workspace).name
        inside = [(one, file) for one in self.doing if one.path and (file := name(one.path))]
        imported = next((file for one, file in reversed(inside) if one.what == IMPORT), "")
        named = next(((one, file) for one, file in reversed(inside) if one.what != IMPORT), None)
        while_imported = f"while {imported} was imported" if imported else ""
        if named is None:
            return (f" {while_imported}" if imported else ""), (imported, 1) if imported else None
        one, file = named
        place = (imported, 1) if imported else (file, one.line)
        if one.what != COLLECTION:
            return f" in {one.name}{f', {while_imported}' if imported else ''}", place
        if imported:
            return f" {while_imported}{f' for {one.name}' if imported != one.name and one.name else ''}", place
        return (f" while {one.name} was collected", place) if one.name else ("", None)


def not_run(logs: Iterable[str]) -> int:
    """Count the tests that were about to run in a run, and have no record; 0 where that is not known."""
    plan, ended = 0, set[str]()
    for path in logs:
        ran = _Ran()
        with contextlib.suppress(OSError, ValueError, LogDamage):
            ran.read(read_evidence(path, follow=False))
        plan = max(plan, ran.plan)
        ended |= ran.tests
    return max(0, plan - len(ended))


class _Ran(LogReader):
    """Takes from a log which tests ran, and how many were about to."""

    def __init__(self) -> None:
        super().__init__()
        self.plan, self.tests = 0, set[str]()

    def on_plan(self, tests: int) -> None:
        self.plan = tests

    def on_test(self, test: RecordedTest) -> None:
        self.tests.add(test.name)


class _Head(LogReader):
    """Takes from a log what it says of its run, except for what belongs to the log."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, object] = {}

    def on_run(self, run: LoggedRun) -> None:
        self.fields = {name: value for name, value in run.head.items() if name not in ("started", "worker")}


def _head(path: str) -> dict[str, object]:
    head = _Head()
    with contextlib.suppress(OSError, ValueError, LogDamage), open_evidence(path, follow=False) as stream:
        head.read(stream.read(_HEAD))  # damaged where it is cut off
    return head.fields
