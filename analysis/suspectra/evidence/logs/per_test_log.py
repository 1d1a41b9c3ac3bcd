"""Logs with one line for each test. Reading one executes nothing; a line counts only with the sources it fits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.logs.experiments import FOLDER
from suspectra.evidence.logs.logged_sources import LoggedSources, read_log
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder

ThingT = TypeVar("ThingT")


@dataclass(frozen=True, eq=False)
class Logged(Generic[ThingT]):
    """What is known of a test, with the digests of the sources that it loaded."""

    test: str  # its name
    found: ThingT  # what is known
    sources: Mapping[str, str]  # digests by path


@dataclass(frozen=True)
class PerTestLog(Generic[ThingT]):
    """How a log is read and written."""

    name: str  # of the file, in the folder of experiments
    attribute: str  # the attribute of evidence for what it contains
    encode: Callable[[ThingT], Mapping[str, object]]  # gives what JSON can have, besides the test and the sources
    # the reverse, from the test's name and the entry; raises ValueError, TypeError, LookupError or AttributeError for a
    # damaged one
    decode: Callable[[str, Mapping[str, Any]], ThingT]
    # says what a number of lines is that were made with other sources, such as `2 slices were made`
    left_out: Callable[[int], str]
    made_by: str  # the command that makes it

    @property
    def path(self) -> str:
        """Where it is in a workspace."""
        return f".suspectra/{FOLDER}/{self.name}"

    def read(
        self, workspace: Path, recorded: Callable[[], Mapping[str, str | None]] = dict
    ) -> tuple[tuple[Logged[ThingT], ...], tuple[Problem, ...]]:
        """Read what fits the sources of a workspace as they are now.

        What could not be read, and what was left out.
        """
        boundary = Boundary(workspace)
        data, problem = read_log(boundary, self.path)
        if not data:
            return (), (problem,) if problem is not None else ()
        causes: list[str] = []
        sources = LoggedSources(boundary, recorded())
        found: dict[str, Logged[ThingT]] = {}
        damaged = old = 0
        for line in data.splitlines():
            logged = self._logged(line)
            if logged is None:
                damaged += 1
            elif sources.hold(logged.sources):
                found[logged.test] = logged
            else:
                old += 1
        if damaged:
            causes.append(f"{damaged} {'line' if damaged == 1 else 'lines'} of it can't be read")
        if old:
            causes.append(f"{self.left_out(old)} with other sources, and left out")
        problems = tuple(Problem(self.path, "", cause, f"run `{self.made_by}` again") for cause in causes)
        return tuple(found.values()), problems

    def added_to(self, evidence: Evidence, workspace: Path) -> Evidence:
        """The same evidence, with what the log of its workspace says."""
        logged, problems = self.read(workspace, lambda: evidence.digests)
        if not (logged or problems or getattr(evidence, self.attribute)):
            return evidence
        found: dict[str, Any] = {self.attribute: tuple(one.found for one in logged)}
        return replace(evidence, **found, problems=(*evidence.problems, *problems))

    def write(self, workspace: Path, logged: Iterable[Logged[ThingT]]) -> None:
        """Replace the log; readers see the old or the new one.

        Raises EvidenceError when it can't be written. Raises RecordingError when its folder is a link, or can't be
        made.
        """
        root = make_recording_folder(os.path.realpath(workspace), FOLDER)
        try:
            with complete_file(os.path.join(root, self.name)) as stream:
                for one in logged:
                    entry = {"test": one.test, "sources": dict(one.sources), **self.encode(one.found)}
                    stream.write(json.dumps(entry).encode() + b"\n")
        except OSError as error:
            cause = f"it can't be written: {error.strerror or error}"
            raise EvidenceError(Problem(self.path, "", cause, "make its folder writable")) from None

    def _logged(self, line: bytes) -> Logged[ThingT] | None:
        """What a line says; None where it is damaged."""
        try:
            entry = json.loads(line)
            test, sources = entry["test"], entry["sources"]
            if type(test) is not str or type(sources) is not dict:
                return None
            return Logged(test, self.decode(test, entry), sources)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
