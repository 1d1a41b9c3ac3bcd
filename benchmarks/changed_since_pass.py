"""Ranks of faults with and without what changed: between two releases, and by an edit of one statement.

Each subject is the newer release with one function of the older one. Everything in which the two releases differ counts
as changed for each failing test. `misleading` counts what the two differ in outside of the function at fault alone.
All other subjects stand for edits: the faulty statement alone has changed (`edit`), it and another statement that
failing tests execute (`edit_and_other`), or the other one alone (`other`), which is drawn by chance.

Source distributions are taken from the folder `--sources`, where each is unpacked as NAME-VERSION; those that are
missing are downloaded with pip into a temporary folder.

    python benchmarks/changed_since_pass.py --corpus CORPUS --sources DIR
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.evidence.source_changes import changed_lines
from suspectra.spectrum import common
from suspectra.techniques import make_technique

RELEASES = re.compile(r"sdist (\S+) ([\d.]+), with (\S+) of ([\d.]+)")
TOP = (1, 5)


@dataclass(frozen=True)
class Change:
    """A subject, and the statements in which its releases differ."""

    subject: Subject
    changed: Ints

    @property
    def misleading(self) -> Ints:
        """What changed outside of the function at fault."""
        function = self.subject.spectrum.elements.function
        return self.changed[~np.isin(function[self.changed], function[self.subject.faulty])]

    def rank(self, changed: Ints) -> float:
        """The rank of the best faulty statement, the mean over its tie."""
        spectrum = self.subject.spectrum
        failing = [spectrum.tests[test] for test in np.flatnonzero(spectrum.failed).tolist()]
        seen = replace(spectrum, changed=dict.fromkeys(failing, changed.astype(np.int32)))
        report = make_technique("evidence").localize(seen, self.subject.program)
        return min(report.suspect_of(int(element)).rank_average for element in self.subject.faulty)


def changes(corpus: Path, sources: Path) -> Iterator[Change]:
    """The subjects whose provenance names two releases."""
    for file in read_index(corpus, sources)[0]:
        with np.load(file.path, allow_pickle=False) as arrays:
            provenance = json.loads(str(arrays["meta"]))["provenance"] if "meta" in arrays.files else ""
        if (releases := RELEASES.search(provenance)) is None:
            continue
        name, newer, _, older = releases.groups()
        folders = [distribution(sources, name, version) for version in (newer, older)]
        subject = read_subject(file)
        yield Change(subject, differing(subject, file.path, *folders))


def edits(corpus: Path, chance: np.random.Generator) -> Iterator[tuple[Change, dict[str, Ints]]]:
    """The other subjects, and the statements that are said to have changed, by name."""
    for file in read_index(corpus)[0]:
        with np.load(file.path, allow_pickle=False) as arrays:
            provenance = json.loads(str(arrays["meta"]))["provenance"] if "meta" in arrays.files else ""
        if RELEASES.search(provenance) is None:
            subject = read_subject(file)
            executed = np.setdiff1d(np.flatnonzero(subject.spectrum.counts.ef), subject.faulty)
            other = chance.choice(executed, 1)
            one = Change(subject, np.asarray(subject.faulty))
            both = np.sort(np.concatenate([other, one.changed]))
            given = {"not_used": other[:0], "edit": one.changed, "edit_and_other": both, "other": other}
            yield one, given


def differing(subject: Subject, archive: Path, newer: Path, older: Path) -> Ints:
    """The statements of a subject that are not in both releases, and the neighbours of what is in one alone."""
    with gzip.open(archive.with_suffix(".src.json.gz")) as packed:
        fault = json.load(packed)
    elements, found = subject.spectrum.elements, []
    for number, path in enumerate(elements.files):
        own = fault["source"].encode() if path == fault["file"] else text(newer, path)
        if own is None:
            sys.exit(f"{newer} has no {path}")
        lines = [changed_lines(path, text(release, path), own) for release in (newer, older)]
        here = np.flatnonzero(elements.file == number)
        found.append(here[np.isin(elements.line[here], np.concatenate(lines))])
    return np.concatenate(found)


def text(release: Path, path: str) -> bytes | None:
    """A file of a release, None where it has none."""
    return (release / path).read_bytes() if (release / path).is_file() else None


def distribution(sources: Path, name: str, version: str) -> Path:
    """The folder of an unpacked source distribution, which is fetched where it is missing."""
    folder = sources / f"{name}-{version}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as scratch:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "-d", scratch]
            subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", f"{name}=={version}"], check=True)
            with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as packed:
                packed.extractall(sources, filter="data")
    return folder


def figures(ranks: Iterable[float]) -> dict[str, float]:
    """Mean rank, mean reciprocal rank, and how many are among the first."""
    ranks = list(ranks)
    top = {f"top_{n}": sum(rank <= n for rank in ranks) for n in TOP}
    return {"mean": round(mean(ranks), 2), "mrr": round(mean(1 / rank for rank in ranks), 3), **top}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of a corpus with an index.csv")
    parser.add_argument("--sources", type=Path, help="folder of unpacked source distributions")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = list(changes(chosen.corpus, chosen.sources or Path(scratch)))
        ranks: dict[str, list[float]] = {"not_used": [], "used": [], "misleading": []}
        marked: list[int] = []
        none = np.zeros(0, np.int32)
        print(f"{'subject':24} {'changed':>8} {'executed':>8} {'marked':>6} {'rank':>7} {'with it':>7} {'misled':>7}")
        for one in found:
            given = {"not_used": none, "used": one.changed, "misleading": one.misleading}
            for name, changed in given.items():
                ranks[name].append(one.rank(changed))
            spectrum = one.subject.spectrum
            executed = common(np.flatnonzero(spectrum.counts.ef).astype(np.int32), one.changed.astype(np.int32))
            marked.append(len(executed))
            own = bool(np.isin(one.subject.faulty, one.changed).any())
            last = [ranks[name][-1] for name in given]
            print(f"{one.subject.name:24} {len(one.changed):8} {len(executed):8} {'yes' if own else 'no':>6}", end="")
            print("".join(f" {rank:7.1f}" for rank in last))
    table = {name: figures(values) for name, values in ranks.items()}
    print(f"\n{len(found)} subjects; failing tests execute {median(marked):g} changed statements (median)")
    show(table)
    edited: dict[str, list[float]] = {}
    for one, given in edits(chosen.corpus, np.random.default_rng(1)):
        for name, changed in given.items():
            edited.setdefault(name, []).append(one.rank(changed))
    by_edit = {name: figures(values) for name, values in edited.items()}
    print(f"\n{len(edited['edit'])} subjects as edits")
    show(by_edit)
    print(json.dumps({"subjects": len(found), **table, "edits": by_edit}))


def show(table: Mapping[str, Mapping[str, float]]) -> None:
    """One line for each row."""
    for name, values in table.items():
        print(f"{name:16} " + "  ".join(f"{key} {value}" for key, value in values.items()))


if __name__ == "__main__":
    main()
