"""Other ways to group failing tests, for `group_accuracy.py` to compare with.

Five use coverage: a greedy cover, and average-linkage clustering by four distances. The thresholds are those with which
each did best on these corpora. Four use tracebacks alone.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from suspectra.base.arrays import Bools, Floats, Ints
from suspectra.spectrum import Spectrum


@dataclass(frozen=True)
class Raised:
    """How a test failed.

    Parameters
    ----------
    type, message : str
        Of the exception.
    frames : tuple of (str, int, str)
        File, line and function of each frame of its traceback, outermost first.
    """

    type: str
    message: str
    frames: tuple[tuple[str, int, str], ...]


def tracebacks(path: Path) -> dict[str, Raised]:
    """Read the tracebacks of a subject by test; none where there is no file."""
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        found = json.load(stream)
    return {
        one["test"]: Raised(one.get("type", ""), one.get("message", ""), tuple(map(tuple, one["frames"])))
        for one in found
    }


@dataclass(frozen=True, eq=False)
class FailingTests:
    """What is known of failing tests.

    Parameters
    ----------
    spectrum : Spectrum
        Whose failing tests they are.
    raised : mapping of str to Raised
        How they failed, where that is known.
    """

    spectrum: Spectrum
    raised: Mapping[str, Raised]

    @cached_property
    def names(self) -> list[str]:
        """By name."""
        return sorted(self.spectrum.tests[i] for i in np.flatnonzero(self.spectrum.failed).tolist())

    @cached_property
    def passing(self) -> Ints:
        """How many passing tests execute each statement and take each branch."""
        counts = self.spectrum.counts.ep
        return counts if self.spectrum.edges is None else np.append(counts, self.spectrum.edge_hit_counts.ep)

    @cached_property
    def rows(self) -> Bools:
        """What each test executes; shape (tests, statements + branches)."""
        spectrum, rows = self.spectrum, np.zeros((len(self.names), len(self.passing)), bool)
        for row, name in zip(rows, self.names, strict=True):
            test = spectrum.test_index[name]
            row[spectrum.rows[test]] = True
            if spectrum.edge_rows is not None:
                row[len(spectrum.elements) + spectrum.edge_rows[test]] = True
        return rows


Groups = Sequence[Hashable]
Method = Callable[[FailingTests], Groups]


def greedy_cover(tests: FailingTests) -> Groups:
    """The best statement or branch by Kulczynski2 and the failing tests that execute it, then again for the rest."""
    rows, left, number = tests.rows, np.arange(len(tests.names)), 0
    label = np.zeros(len(left), int)
    while len(left) and (hits := rows[left].sum(axis=0)).any():
        score = np.where(hits > 0, hits / len(left) + hits / np.maximum(hits + tests.passing, 1), 0)
        own = rows[left, int(score.argmax())]
        label[left[own]] = number = number + 1
        left = left[~own]
    label[left] = Counter(label.tolist()).most_common(1)[0][0]
    return label.tolist()


def _clusters(similarity: Floats, cut: float) -> Groups:
    """Average linkage, cut where the distance exceeds a threshold."""
    distance = np.clip(1 - similarity, 0, 1)  # rounded
    return fcluster(linkage(distance[np.triu_indices(len(distance), 1)], "average"), cut, "distance").tolist()


def _jaccard(weights: Floats) -> Floats:
    """The Jaccard index of any two rows of weights."""
    both = np.array([np.minimum(weights, row).sum(axis=1) for row in weights])
    either = np.array([np.maximum(weights, row).sum(axis=1) for row in weights])
    return np.asarray(both / np.where(either > 0, either, 1))


def cosine(tests: FailingTests) -> Groups:
    """Cosine of coverage, in which what e passing tests execute weighs 1 / (1 + e)."""
    weights = tests.rows / (1 + tests.passing)
    length = np.sqrt((weights**2).sum(axis=1))[:, None]
    weights = weights / np.where(length > 0, length, 1)
    return _clusters(weights @ weights.T, 0.7)


def weighted_jaccard(tests: FailingTests) -> Groups:
    """Jaccard of coverage, weighted by the inverse document frequency among passing tests."""
    weights = np.log((2 + tests.spectrum.counts.passed) / (1 + tests.passing))
    return _clusters(_jaccard(np.where(tests.rows, weights, 0.0)), 0.7)


def most_suspicious(tests: FailingTests) -> Groups:
    """Jaccard of the most suspicious 5 % of what each test executes (Jones, Bowring & Harrold 2007)."""
    chosen = np.zeros(tests.rows.shape)
    for row, one in zip(chosen, tests.rows, strict=True):
        executed = np.flatnonzero(one)
        row[executed[np.argsort(tests.passing[executed], kind="stable")[: -(-len(executed) // 20)]]] = 1
    return _clusters(_jaccard(chosen), 0.8)


def rank_proximity(tests: FailingTests) -> Groups:
    """Likeness of the rankings that each failing test alone gives, by reciprocal ranks (after Liu & Han 2006)."""
    weights = np.zeros(tests.rows.shape)
    for row, one in zip(weights, tests.rows, strict=True):
        executed = np.flatnonzero(one)
        row[executed] = 1 / np.searchsorted(np.sort(tests.passing[executed]), tests.passing[executed], "right")
    return _clusters(_jaccard(weights), 0.8)


def _by(key: Callable[[Raised], Hashable]) -> Method:
    return lambda tests: [key(tests.raised[name]) if name in tests.raised else "" for name in tests.names]


def _own(raised: Raised) -> list[tuple[str, int, str]]:
    """The frames in the program: neither in a library nor in a test."""
    return [frame for frame in raised.frames if not re.search(r"site-packages|\.\./|test", frame[0])]


COVERAGE: Mapping[str, Method] = {
    "greedy cover": greedy_cover,
    "cosine, cut .7": cosine,
    "rank proximity, cut .8": rank_proximity,
    "weighted Jaccard, cut .7": weighted_jaccard,
    "Jaccard of the top 5 %, cut .8": most_suspicious,
}
TRACEBACKS: Mapping[str, Method] = {
    "exception and function": _by(
        lambda raised: (raised.type, *[(file, function) for file, _, function in _own(raised)[-1:]])
    ),
    "exception": _by(lambda raised: raised.type),
    "message without numbers and names": _by(
        lambda raised: (raised.type, re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", "_", raised.message))
    ),
    "whole stack": _by(lambda raised: (raised.type, *_own(raised))),
}
