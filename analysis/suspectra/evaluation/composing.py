"""Versions with several faults, composed of versions with one (paper 004, §3.2.1).

A test of the composed version fails if it fails in one of its versions, and executes what it does in the first of
these; passing tests are those of the first version. What faults would do to each other in one program is not seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np

from suspectra.evaluation.corpus import Subject, SubjectFile, read_subject
from suspectra.spectrum import Edges, Spectrum

MAX_COMPOSITIONS = 12
"""Compositions of each program."""
_TRIED = 5000


@dataclass(frozen=True)
class ComposedFiles:
    """The files of versions that are composed."""

    versions: tuple[SubjectFile, ...]

    @property
    def name(self) -> str:
        """The names of the versions."""
        return "+".join(one.name for one in self.versions)

    def files(self) -> list[Path]:
        """The files that its results depend on."""
        return [path for one in self.versions for path in one.files()]

    def read(self) -> Subject:
        """Read the versions, and compose them.

        Raises EvidenceError when a version can't be read.
        """
        return compose([read_subject(one) for one in self.versions])


def compose(subjects: Sequence[Subject]) -> Subject:
    """Put versions with equal statements together."""
    base, spectra = subjects[0].spectrum, [subject.spectrum for subject in subjects]
    version_of: dict[str, int] = dict.fromkeys(base.tests, -1)
    for version, spectrum in enumerate(spectra):
        for test in np.flatnonzero(spectrum.failed).tolist():
            if version_of.get(name := spectrum.tests[test], -1) < 0:
                version_of[name] = version
    row = [(version, spectra[max(version, 0)].test_index[name]) for name, version in version_of.items()]
    spectrum = Spectrum(
        tuple(version_of),
        np.array([version >= 0 for version, _ in row]),
        base.elements,
        tuple(spectra[max(version, 0)].rows[test] for version, test in row),
        base.candidates,
        *_edges(spectra, row),
    )
    if base.raised is not None:
        raised = [spectra[max(version, 0)].raised for version, _ in row]
        places = [-1 if one is None else int(one[test]) for one, (_, test) in zip(raised, row, strict=True)]
        spectrum = replace(spectrum, raised=np.array(places, np.int32))
    name = "+".join(subject.name for subject in subjects)
    faults = tuple((subject.name, subject.faulty) for subject in subjects)
    faulty = np.unique(np.concatenate([subject.faulty for subject in subjects]))
    return replace(subjects[0], name=name, spectrum=spectrum, faulty=faulty, faults=faults)


def _edges(
    spectra: Sequence[Spectrum], row: Sequence[tuple[int, int]]
) -> tuple[Edges | None, tuple[np.ndarray, ...] | None]:
    """One table of the edges of all versions, those of files of the first, and what each test took of them."""
    base = spectra[0]
    if base.edges is None or any(one.edges is None or one.edge_rows is None for one in spectra):
        return None, None
    number = {path: i for i, path in enumerate(base.elements.files)}
    table: dict[tuple[int, int, int, int], int] = {}
    columns = []  # of each version's edges in the table, -1 for those in files that the first version lacks
    for one in spectra:
        assert one.edges is not None
        files = [number.get(one.elements.files[file], -1) for file in one.edges.file.tolist()]
        keys = zip(
            files, *(part.tolist() for part in (one.edges.source, one.edges.target, one.edges.function)), strict=True
        )
        columns.append(np.array([table.setdefault(key, len(table)) if key[0] >= 0 else -1 for key in keys], np.int32))
    file, source, target, function = np.array(list(table), np.int32).reshape(-1, 4).T
    taken = []
    for version, test in row:
        rows = spectra[max(version, 0)].edge_rows
        assert rows is not None
        own = columns[max(version, 0)][rows[test]]
        taken.append(np.sort(own[own >= 0]))
    return Edges(file, source, target, function, base.edges.kind), tuple(taken)


def compositions(
    files: Iterable[SubjectFile], faults: int, most: int = MAX_COMPOSITIONS, seed: int = 0
) -> list[ComposedFiles]:
    """Choose some of all ways to compose so many versions of a program, those in which each fault fails tests alone.

    Versions are of one program if their statements are equal. The same seed gives the same choice.

    Raises EvidenceError when a version can't be read.
    """
    alike: dict[object, list[_Version]] = defaultdict(list)
    for file in files:
        subject = read_subject(file)
        spectrum, elements = subject.spectrum, subject.spectrum.elements
        key = elements.files, elements.file.tobytes(), elements.line.tobytes()
        failing = frozenset(spectrum.tests[test] for test in np.flatnonzero(spectrum.failed).tolist())
        alike[key].append(_Version(file, failing, tuple(subject.faulty.tolist())))
    chance = np.random.default_rng(seed)
    found: list[ComposedFiles] = []
    for versions in alike.values():
        count = len(versions)
        ways = (
            [tuple(sorted(chance.choice(count, faults, replace=False).tolist())) for _ in range(_TRIED)]
            if comb(count, faults) > _TRIED
            else list(combinations(range(count), faults))
        )
        chosen = ([versions[one] for one in ways[k]] for k in chance.permutation(len(ways)).tolist())
        composed = dict.fromkeys(ComposedFiles(tuple(one.file for one in some)) for some in chosen if _apart(some))
        found += islice(composed, most)
    return found


class _Version(NamedTuple):
    file: SubjectFile
    failing: frozenset[str]
    faulty: tuple[int, ...]


def _apart(versions: Sequence[_Version]) -> bool:
    """Whether the faults are different, and each fails tests that no other fails."""
    times = Counter(name for one in versions for name in one.failing)
    different = len({one.faulty for one in versions}) == len(versions)
    return different and all(any(times[name] == 1 for name in one.failing) for one in versions)
