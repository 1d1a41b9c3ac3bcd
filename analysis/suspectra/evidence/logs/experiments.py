"""Reading the log of experiments. Nothing in it is executed, and what sources no longer are counts no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.logs.logged_sources import LoggedSources, read_log
from suspectra.runs.experiment import Experiment, ExperimentOutcome

FOLDER, NAME = "experiments", "log.jsonl"
LOG = f".suspectra/{FOLDER}/{NAME}"
"""The log's path in a workspace."""

_AGAIN = "run `suspectra investigate` again"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    ExperimentOutcome.__name__: str,
}


def read_experiments(
    workspace: Path, recorded: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[tuple[Experiment, ...], tuple[Problem, ...]]:
    """The experiments with the sources of a workspace as they are now.

    In the order in which they were made; where one was made again, the last.

    What could not be read, and what was left out.
    """
    return _experiments(Boundary(workspace), lambda: recorded)


def read_causes(workspace: Path, recorded: Mapping[str, str | None]) -> list[Mapping[str, object]]:
    """The changes that broke tests, as a search for them has written them, with the sources as they are now."""
    boundary = Boundary(workspace)
    data, _ = read_log(boundary, LOG)
    log = _Log(boundary, recorded)
    for line in data.splitlines():
        log.take(line)
    return log.causes


def with_experiments(evidence: Evidence, workspace: Path) -> Evidence:
    """The same evidence, with the experiments of its workspace."""
    experiments, problems = _experiments(Boundary(workspace), lambda: evidence.digests)
    if not experiments and not problems and not evidence.experiments:
        return evidence
    return replace(evidence, experiments=experiments, problems=(*evidence.problems, *problems))


def _experiments(
    boundary: Boundary, recorded: Callable[[], Mapping[str, str | None]]
) -> tuple[tuple[Experiment, ...], tuple[Problem, ...]]:
    data, problem = read_log(boundary, LOG)
    if problem is not None:
        return (), (problem,)
    if not data:
        return (), ()
    log = _Log(boundary, recorded())
    for line in data.splitlines():
        log.take(line)
    return tuple(log.found.values()), tuple(log.problems())


class _Log:
    """What has been read of a log."""

    def __init__(self, boundary: Boundary, recorded: Mapping[str, str | None]):
        self.found: dict[tuple[object, ...], Experiment] = {}
        self.causes: list[Mapping[str, object]] = []  # of the last search for changes that broke tests
        self._sources = LoggedSources(boundary, recorded)
        self._valid: dict[str, bool] = {}  # by the number of their digests
        self._old: set[tuple[object, ...]] = set()
        self._damaged = 0

    def take(self, line: bytes) -> None:
        """Read one line."""
        try:
            entry = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            entry = ()
        if entry is None:
            return
        if isinstance(entry, dict) and isinstance(entry.get("sources"), str) and isinstance(entry.get("digests"), dict):
            self._valid[entry["sources"]] = self._sources.hold(entry["digests"])
            return
        if isinstance(entry, dict) and isinstance(entry.get("causes"), list):
            if self._valid.get(str(entry.get("with")), False):
                self.causes = [one for one in entry["causes"] if isinstance(one, dict)]
            return
        experiment = _experiment(entry)
        if experiment is None:
            self._damaged += 1
        elif self._valid.get(str(entry.get("with")), False):
            self.found.pop(experiment.key, None)
            self.found[experiment.key] = experiment
            self._old.discard(experiment.key)
        elif experiment.key not in self.found:
            self._old.add(experiment.key)

    def problems(self) -> Iterator[Problem]:
        """What was not taken."""
        if self._damaged:
            cause = f"{many(self._damaged, 'line')} of it can't be read"
            yield Problem(LOG, "", cause, _AGAIN)
        if self._old and not self.found:
            left_out = "it is left out" if len(self._old) == 1 else "they are left out"
            made = "was" if len(self._old) == 1 else "were"
            cause = f"{many(len(self._old), 'experiment')} {made} made with other sources, so {left_out}"
            yield Problem(LOG, "", cause, _AGAIN)


def _experiment(entry: Any) -> Experiment | None:
    """An experiment out of a line; None where that contains none."""
    if not isinstance(entry, dict):
        return None
    values: dict[str, Any] = {}
    for field in fields(Experiment):
        value = entry.get(field.name)
        if not isinstance(value, _TYPES[str(field.type)]) or (field.type == "int" and isinstance(value, bool)):
            return None
        values[field.name] = value
    try:
        values["outcome"] = ExperimentOutcome(values["outcome"])
    except ValueError:
        return None
    return Experiment(**values)
