"""Reading the log of experiments. Nothing in it is executed, and what sources no longer are counts no more."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from suspectra.errors import Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.sources import MAX_SOURCE
from suspectra.experiment import Experiment, Outcome
from suspectra.quantity import many

FOLDER, NAME = "experiments", "log.jsonl"
MAX_LOG = 64 << 20
"""Bytes of a log that are read."""

LOG = f".suspectra/{FOLDER}/{NAME}"
"""The log's path in a workspace."""

_AGAIN = "run `suspectra investigate` again"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "Outcome": str,
}


def read_experiments(
    workspace: Path, recorded: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[tuple[Experiment, ...], tuple[Problem, ...]]:
    """The experiments with the sources of a workspace as they are now.

    Parameters
    ----------
    workspace : Path
        The folder.
    recorded : mapping of str to str, optional
        The digests of sources when the tests were recorded, by path: with others, lines are not comparable.

    Returns
    -------
    experiments : tuple of Experiment
        In the order in which they were made; where one was made again, the last.
    problems : tuple of Problem
        What could not be read, and what was left out.

    Examples
    --------
    >>> read_experiments(folder)
    ((), ())
    """
    return _experiments(Boundary(workspace), lambda: recorded)


def with_experiments(evidence: Evidence, workspace: Path) -> Evidence:
    """The same evidence, with the experiments of its workspace.

    Parameters
    ----------
    evidence : Evidence
        As its source has it.
    workspace : Path
        Where the log is looked for.

    Returns
    -------
    Evidence
        Its problems include those of the log.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Evidence("by hand", (), (), (), np.zeros(0, np.int32))
    >>> with_experiments(evidence, folder).experiments
    ()
    """
    experiments, problems = _experiments(
        Boundary(workspace), lambda: {file.path: file.digest for file in evidence.files}
    )
    if not experiments and not problems and not evidence.experiments:
        return evidence
    return replace(evidence, experiments=experiments, problems=(*evidence.problems, *problems))


def _experiments(
    boundary: Boundary, recorded: Callable[[], Mapping[str, str | None]]
) -> tuple[tuple[Experiment, ...], tuple[Problem, ...]]:
    data, problem = _read(boundary)
    if problem is not None:
        return (), (problem,)
    if not data:
        return (), ()
    log = _Log(boundary, recorded())
    for line in data.splitlines():
        log.take(line)
    return tuple(log.found.values()), tuple(log.problems())


def _read(boundary: Boundary) -> tuple[bytes, Problem | None]:
    real = boundary.real(LOG)
    if real is None:
        return b"", Problem(LOG, "", "it leads out of the workspace, so it was not read", "remove the link")
    try:
        if not os.path.lexists(real):
            return b"", None
        if not stat.S_ISREG(os.stat(real).st_mode):
            return b"", Problem(LOG, "", "it is not a file, so it was not read", "remove it")
        with open(real, "rb") as stream:
            data = stream.read(MAX_LOG + 1)
    except OSError as error:
        return b"", Problem(LOG, "", f"it can't be read: {error.strerror or error}", "check its permissions")
    if len(data) > MAX_LOG:
        return b"", Problem(LOG, "", f"it is larger than {MAX_LOG >> 20} MB, so it was not read", "remove it")
    return data, None


class _Log:
    """What has been read of a log."""

    def __init__(self, boundary: Boundary, recorded: Mapping[str, str | None]):
        self._recorded = recorded
        self.found: dict[tuple[object, ...], Experiment] = {}
        self._boundary = boundary
        self._current: dict[str, str] = {}  # digests of sources as they are
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
            self._valid[entry["sources"]] = self._holds(entry["digests"])
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

    def _holds(self, digests: Mapping[str, object]) -> bool:
        """Whether all sources are what they were, and what they were when the tests were recorded."""
        return bool(digests) and all(
            self._digest(path) == digest and (self._recorded.get(path) or digest) == digest
            for path, digest in digests.items()
        )

    def _digest(self, path: str) -> str:
        if path not in self._current:
            real = self._boundary.real(path)
            try:
                with open(real or os.devnull, "rb") as stream:
                    regular = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
                    self._current[path] = hashlib.sha256(stream.read(MAX_SOURCE)).hexdigest() if regular else ""
            except (OSError, ValueError):
                self._current[path] = ""
        return self._current[path]

    def problems(self) -> Iterator[Problem]:
        """What was not taken."""
        if self._damaged:
            cause = f"{many(self._damaged, 'line')} of it can't be read"
            yield Problem(LOG, "", cause, _AGAIN)
        if self._old:
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
        values["outcome"] = Outcome(values["outcome"])
    except ValueError:
        return None
    return Experiment(**values)
