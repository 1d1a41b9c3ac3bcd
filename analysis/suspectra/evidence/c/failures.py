"""The locations of failures of C and C++ tests, from a JUnit report."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.formats.outcomes import read_failures
from suspectra.evidence.source_paths import SourcePaths
from suspectra_recorder.log.stack import Stack


class CFailures:
    """Adds the failures in a JUnit report to evidence."""

    def __init__(self, paths: SourcePaths):
        # paths of its own, as files outside must not be reported
        self._paths = SourcePaths(paths.workspace, paths.mapping, paths.test_patterns)
        self._known: dict[str, Stack] = {}

    def added(self, evidence: Evidence, outcomes: object) -> Evidence:
        """Return the evidence with the stacks of failed tests."""
        if not isinstance(outcomes, str | os.PathLike) or Path(outcomes).suffix != ".xml":
            return evidence
        measured = {file.path: file for file in evidence.files}
        failing = {test.name for test in evidence.tests if test.verdict.failing}

        @cache
        def resolve(path: str) -> tuple[str, bool] | None:
            name = self._paths.resolve(path)
            if name not in measured:  # a relative path may start at another folder
                end = "/" + re.sub(r"^(\.\.?/)+", "", path)
                ends = [one for one in measured if f"/{one}".endswith(end)]
                name = ends[0] if len(ends) == 1 else None
            return (name, not measured[name].is_test) if name is not None else None

        failures = read_failures(os.path.join(self._paths.workspace, outcomes), Boundary(self._paths.workspace))
        stacks = {name: failure.stack(resolve) for name, failure in failures.items() if name in failing}
        self._known = {name: _same(self._known.get(name), stack) for name, stack in stacks.items() if stack.frames}
        return replace(evidence, stacks=self._known)


def _same(previous: Stack | None, current: Stack) -> Stack:
    return previous if previous is not None and previous == current else current
