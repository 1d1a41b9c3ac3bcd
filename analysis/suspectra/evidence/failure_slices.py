"""Reading and writing the log of slices. Reading it executes nothing; a slice counts only with the sources it fits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.experiments import FOLDER
from suspectra.evidence.logged_sources import LoggedSources, read_log
from suspectra.failure_slice import FailureSlice
from suspectra.quantity import many
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder

NAME = "slices.jsonl"

LOG = f".suspectra/{FOLDER}/{NAME}"
"""The log's path in a workspace."""

_AGAIN = "run `suspectra slice --failure` again"


@dataclass(frozen=True, eq=False)
class LoggedSlice:
    """A slice with the digests of the sources that the test loaded.

    Parameters
    ----------
    found : FailureSlice
        The slice.
    sources : mapping of str to str
        Digests by path.

    Examples
    --------
    >>> LoggedSlice(FailureSlice("test_a", {}), {"cart.py": "0f"}).found.test
    'test_a'
    """

    found: FailureSlice
    sources: Mapping[str, str]


def read_slices(
    workspace: Path, recorded: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[tuple[LoggedSlice, ...], tuple[Problem, ...]]:
    """The slices with the sources of a workspace as they are now.

    Parameters
    ----------
    workspace : Path
        The folder.
    recorded : mapping of str to str, optional
        The digests of sources when the tests were recorded, by path: with others, lines are not comparable.

    Returns
    -------
    slices : tuple of LoggedSlice
        One for each test.
    problems : tuple of Problem
        What could not be read, and what was left out.

    Examples
    --------
    >>> read_slices(folder)
    ((), ())
    """
    boundary = Boundary(workspace)
    data, problem = read_log(boundary, LOG)
    problems = [problem] if problem is not None else []
    sources = LoggedSources(boundary, recorded)
    found: dict[str, LoggedSlice] = {}
    damaged = old = 0
    for line in data.splitlines():
        logged = _logged(line)
        if logged is None:
            damaged += 1
        elif sources.hold(logged.sources):
            found[logged.found.test] = logged
        else:
            old += 1
    if damaged:
        problems.append(Problem(LOG, "", f"{many(damaged, 'line')} of it can't be read", _AGAIN))
    if old:
        cause = f"{many(old, 'slice')} {'was' if old == 1 else 'were'} made with other sources, and left out"
        problems.append(Problem(LOG, "", cause, _AGAIN))
    return tuple(found.values()), tuple(problems)


def with_slices(evidence: Evidence, workspace: Path) -> Evidence:
    """The same evidence, with the slices of its workspace.

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
    >>> with_slices(evidence, folder).slices
    ()
    """
    logged, problems = read_slices(workspace, {file.path: file.digest for file in evidence.files})
    return replace(evidence, slices=tuple(one.found for one in logged), problems=(*evidence.problems, *problems))


def write_slices(workspace: Path, made: Iterable[LoggedSlice]) -> None:
    """Add slices to the log; of a test, and of other sources, older ones are removed.

    Parameters
    ----------
    workspace : Path
        The folder.
    made : iterable of LoggedSlice
        The new ones.

    Raises
    ------
    EvidenceError
        When it can't be written.
    RecordingError
        When its folder is a link, or can't be made.

    Examples
    --------
    >>> from hashlib import sha256
    >>> _ = (folder / "cart.py").write_bytes(b"total = 0")
    >>> digests = {"cart.py": sha256(b"total = 0").hexdigest()}
    >>> write_slices(folder, [LoggedSlice(FailureSlice("test_a", {("cart.py", 1): 2}), digests)])
    >>> read_slices(folder)[0][0].found.distance
    {('cart.py', 1): 2}
    """
    root = make_recording_folder(os.path.realpath(workspace), FOLDER)
    known = {one.found.test: one for one in read_slices(workspace)[0]} | {one.found.test: one for one in made}
    try:
        with complete_file(os.path.join(root, NAME)) as stream:
            for one in known.values():
                stream.write(json.dumps(_entry(one)).encode() + b"\n")
    except OSError as error:
        cause = f"slices can't be kept: {error.strerror or error}"
        raise EvidenceError(Problem(LOG, "", cause, "make its folder writable")) from None


def _entry(logged: LoggedSlice) -> dict[str, object]:
    lines: dict[str, list[tuple[int, int]]] = {}
    for (file, line), distance in logged.found.distance.items():
        lines.setdefault(file, []).append((line, distance))
    return {"test": logged.found.test, "sources": dict(logged.sources), "lines": lines}


def _logged(line: bytes) -> LoggedSlice | None:
    """What a line says; None where it is damaged."""
    try:
        entry = json.loads(line)
        test, sources = entry["test"], entry["sources"]
        distance = {(file, number): steps for file, lines in entry["lines"].items() for number, steps in lines}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    if type(test) is not str or type(sources) is not dict:
        return None
    if not all(type(number) is int and type(steps) is int for (_, number), steps in distance.items()):
        return None
    return LoggedSlice(FailureSlice(test, distance), sources)
