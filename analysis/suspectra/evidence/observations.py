"""Reading and writing the log of observations. Reading it executes nothing; it counts only with the sources it fits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.experiments import FOLDER
from suspectra.evidence.logged_sources import LoggedSources, read_log
from suspectra.observation import KINDS, Observation, PredicateSite
from suspectra.quantity import many
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder

NAME = "observations.jsonl"

LOG = f".suspectra/{FOLDER}/{NAME}"
"""The log's path in a workspace."""

_AGAIN = "run `suspectra investigate --technique value-predicates` again"
_MAX_TEXT = 200


@dataclass(frozen=True)
class Logged:
    """An observation with the digests of the sources that it was made with.

    Parameters
    ----------
    observation : Observation
        What was observed.
    sources : mapping of str to str
        By path.

    Examples
    --------
    >>> Logged(Observation("test_a", True, {}), {"cart.py": "0f"}).observation.test
    'test_a'
    """

    observation: Observation
    sources: Mapping[str, str]


def read_observations(
    workspace: Path, recorded: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[tuple[Logged, ...], tuple[Problem, ...]]:
    """The observations with the sources of a workspace as they are now.

    Parameters
    ----------
    workspace : Path
        The folder.
    recorded : mapping of str to str, optional
        The digests of sources when the tests were recorded, by path: with others, lines are not comparable.

    Returns
    -------
    observations : tuple of Logged
        One for each test.
    problems : tuple of Problem
        What could not be read, and what was left out.

    Examples
    --------
    >>> read_observations(folder)
    ((), ())
    """
    boundary = Boundary(workspace)
    data, problem = read_log(boundary, LOG)
    problems = [problem] if problem is not None else []
    sources = LoggedSources(boundary, recorded)
    found: dict[str, Logged] = {}
    damaged = old = 0
    for line in data.splitlines():
        logged = _logged(line)
        if logged is None:
            damaged += 1
        elif sources.hold(logged.sources):
            found[logged.observation.test] = logged
        else:
            old += 1
    if damaged:
        problems.append(Problem(LOG, "", f"{many(damaged, 'line')} of it can't be read", _AGAIN))
    if old:
        cause = f"{many(old, 'test')} {'was' if old == 1 else 'were'} observed with other sources, and left out"
        problems.append(Problem(LOG, "", cause, _AGAIN))
    return tuple(found.values()), tuple(problems)


def with_observations(evidence: Evidence, workspace: Path) -> Evidence:
    """The same evidence, with the observations of its workspace.

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
    >>> with_observations(evidence, folder).observations
    ()
    """
    logged, problems = read_observations(workspace, {file.path: file.digest for file in evidence.files})
    observations = tuple(one.observation for one in logged)
    return replace(evidence, observations=observations, problems=(*evidence.problems, *problems))


def write_observations(workspace: Path, logged: Iterable[Logged]) -> None:
    """Replace the log of observations; readers see the old or the new one.

    Parameters
    ----------
    workspace : Path
        The folder.
    logged : iterable of Logged
        All that it shall contain.

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
    >>> site = PredicateSite("cart.py", 1, 1, "sign", "total", "")
    >>> seen = Logged(Observation("test_a", True, {site: {"=": 2}}), {"cart.py": sha256(b"total = 0").hexdigest()})
    >>> write_observations(folder, [seen])
    >>> read_observations(folder)[0][0].observation.sites
    {PredicateSite(file='cart.py', line=1, end_line=1, kind='sign', left='total', right=''): {'=': 2}}
    """
    root = make_recording_folder(os.path.realpath(workspace), FOLDER)
    try:
        with complete_file(os.path.join(root, NAME)) as stream:
            for one in logged:
                stream.write(json.dumps(_entry(one)).encode() + b"\n")
    except OSError as error:
        cause = f"observations can't be kept: {error.strerror or error}"
        raise EvidenceError(Problem(LOG, "", cause, "make its folder writable")) from None


def _entry(logged: Logged) -> dict[str, Any]:
    places: dict[tuple[str, int, int], list[object]] = {}
    for site, outcomes in logged.observation.sites.items():
        places.setdefault(site[:3], []).append([site.kind, site.left, site.right, dict(outcomes)])
    observed = logged.observation
    listed = [[*place, sites] for place, sites in places.items()]
    return {"test": observed.test, "failed": observed.failed, "sources": dict(logged.sources), "places": listed}


def _logged(line: bytes) -> Logged | None:
    """What a line says; None where it is damaged."""
    try:
        entry = json.loads(line)
        test, failed, sources = entry["test"], entry["failed"], entry["sources"]
        sites = {
            _site(place, site): _outcomes(outcomes)
            for *place, several in entry["places"]
            for *site, outcomes in several
        }
        if not (type(test) is str and type(failed) is bool and type(sources) is dict):
            return None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return Logged(Observation(test, failed, sites), sources)


def _site(place: list[Any], site: list[Any]) -> PredicateSite:
    file, line, end_line = place
    kind, left, right = site
    texts = file, kind, left, right
    if kind not in KINDS or not all(type(text) is str and len(text) <= _MAX_TEXT for text in texts[1:]):
        raise ValueError
    if type(file) is not str or type(line) is not int or type(end_line) is not int:
        raise ValueError
    return PredicateSite(file, line, end_line, kind, left, right)


def _outcomes(outcomes: Any) -> dict[str, int]:
    if not all(type(times) is int and times > 0 and len(outcome) <= _MAX_TEXT for outcome, times in outcomes.items()):
        raise ValueError
    return dict(outcomes)
