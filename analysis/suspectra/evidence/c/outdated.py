"""Failing tests of an older program: those that execute a function which was changed and built again since.

Their verdict says nothing of the program as it is. They do not count until they are run again, and a problem says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from suspectra.base.arrays import Bools, Row
from suspectra.base.english import first_of, many
from suspectra.base.errors import Problem
from suspectra.evidence.c.store import CRecording
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.source_changes import SourceLines
from suspectra.runs.measured_file import MeasuredFile


def without_outdated(
    evidence: Evidence,
    recording: CRecording,
    now: Mapping[str, tuple[str, SourceLines | None]],
    lost: Mapping[str, Collection[str]],
) -> Evidence:
    """The evidence, with outdated failing tests as ones that were not run.

    `now` has the digest and, if known, the lines of each source in the newest build; `lost` has the files of functions
    that a test executed, and whose control flow is another one now, so that they are in no row.
    """
    affected: dict[tuple[str, str], Bools] = {}
    tests: list[TestResult] = []
    names: dict[str, list[str]] = {}
    for result, row in zip(evidence.tests, evidence.rows, strict=True):
        stored = recording.tests.get(result.name)
        if result.verdict.failing and stored is not None:
            then = recording.digests_of(stored)
            changed = {path for path, digest in then.items() if path in now and now[path][0] != digest}
            file = min(changed.intersection(lost.get(result.name, ())), default="") or _changed_file(
                evidence.files, row, then, changed, now, recording, affected
            )
            if file:
                names.setdefault(file, []).append(result.name)
                result = replace(
                    result, verdict=Verdict.SKIPPED, message=f"outdated: {file} was changed and built since"
                )
        tests.append(result)
    if not names:
        return evidence
    problems = [*evidence.problems, *(_outdated(file, tests_of) for file, tests_of in sorted(names.items()))]
    return replace(evidence, tests=tuple(tests), problems=tuple(problems))


def _changed_file(
    files: Sequence[MeasuredFile],
    row: Row,
    then: Mapping[str, str],
    changed: Collection[str],
    now: Mapping[str, tuple[str, SourceLines | None]],
    recording: CRecording,
    affected: dict[tuple[str, str], Bools],
) -> str:
    """The first file of which a test executes what was changed since it ran; empty if there is none."""
    start = 0
    for file in files if changed else ():
        first, last = np.searchsorted(row, [start, start + len(file.line)])
        if file.path in changed and first < last:
            key = (file.path, then[file.path])
            if key not in affected:
                digest, lines = now[file.path]
                affected[key] = _affected(file, recording.lines(then[file.path]), lines or recording.lines(digest))
            if affected[key][row[first:last] - start].any():
                return file.path
        start += len(file.line)
    return ""


def _affected(file: MeasuredFile, old: SourceLines | None, new: SourceLines | None) -> Bools:
    """The statements of changed functions; all where something outside of functions changed, or nothing is known."""
    if old is None or new is None:
        return np.ones(len(file.line), bool)
    found = np.zeros(len(file.line), bool)
    for line in new.changed_since(old).tolist():
        spans = [(first, last) for _, first, last in file.functions if first <= line <= last]
        if not spans:
            return np.ones(len(file.line), bool)
        for first, last in spans:
            found |= (file.line >= first) & (file.line <= last)
    return found


def _outdated(file: str, names: Sequence[str]) -> Problem:
    which = "it does" if len(names) == 1 else "they do"
    cause = (
        f"it was changed and built since {many(len(names), 'test')} failed ({first_of(names)}), so {which} not count"
    )
    return Problem(file, "", cause, "run the tests again")
