"""The log of observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspectra.base.english import many
from suspectra.evidence.logs.per_test_log import PerTestLog
from suspectra.runs.observation import KINDS, Observation, PredicateSite

_MAX_TEXT = 200


def _encoded(observed: Observation) -> dict[str, object]:
    places: dict[tuple[str, int, int], list[object]] = {}
    for site, outcomes in observed.sites.items():
        places.setdefault(site[:3], []).append([site.kind, site.left, site.right, dict(outcomes)])
    return {"failed": observed.failed, "places": [[*place, sites] for place, sites in places.items()]}


def _decoded(test: str, entry: Mapping[str, Any]) -> Observation:
    failed = entry["failed"]
    if type(failed) is not bool:
        raise ValueError
    sites = {
        _site(place, site): _outcomes(outcomes) for *place, several in entry["places"] for *site, outcomes in several
    }
    return Observation(test, failed, sites)


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


def _left_out(count: int) -> str:
    return f"{many(count, 'test')} {'was' if count == 1 else 'were'} observed"


OBSERVATIONS = PerTestLog(
    "observations.jsonl",
    "observations",
    _encoded,
    _decoded,
    _left_out,
    "suspectra investigate --technique value-predicates",
)
"""How values compared in tests: counts, no values."""
