"""Whether `suspectra changes` finds a seeded fault among the real difference of two releases, and what that costs.

Each subject is a newer release in which one of the statements that differ from the older release has a mutant. Of the
tests of the newer release, those count that pass with both releases as they are and fail with the mutant. The change is
found if it is in one of the causes; `of` says of how many changes that one is made. Beside it: how many lines changed,
which somebody would read. A bisection over commits can name one commit only, the release.

    python benchmarks/changes.py [--seeds N] [--seconds S] [--python PYTHON] [--sources DIR] [PACKAGE OLDER NEWER]...
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from changed_since_pass import distribution

from suspectra.base.errors import EvidenceError
from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import ChangeIsolation
from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.mutation.mutant import mutants
from suspectra.mutation.parsed_source import ParsedSource

RELEASES = (("xmltodict", "0.12.0", "0.13.0"),)
OUTCOME = re.compile(r"^(PASSED|FAILED) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
PATH = os.pathsep.join(("src", "."))  # where projects have their packages
MAX_TRIED = 30  # mutants until one is seen by a test


@dataclass(frozen=True)
class Seeded:
    """A release with a fault in one of its changes."""

    workspace: Path
    baseline: Baseline
    tests: list[str]
    faulty: ChangeUnit


def outcomes(folder: Path, python: str) -> dict[str, str]:
    """How the tests of a folder end."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": PATH}
    command = [python, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--color=no"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {name: outcome for outcome, name in OUTCOME.findall(done.stdout)}


def texts(folder: Path) -> dict[str, bytes]:
    """The files of a release that tests may use."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def seeded(older: Path, newer: Path, scratch: Path, chance: random.Random, count: int, python: str) -> Iterator[Seeded]:
    """Releases with a fault each."""
    before, after = texts(older), texts(newer)
    passing = [{name for name, ended in outcomes(one, python).items() if ended == "PASSED"} for one in (older, newer)]
    both = passing[0] & passing[1]
    if not both:
        print(f"{newer.name}: no test passes with both releases", file=sys.stderr)
        return
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    difference = {path: FileDifference.between(path, before.get(path), after.get(path)) for path in changed}
    places = [
        (path, unit)
        for path, one in difference.items()
        if path.endswith(".py") and "test" not in path and one.pieces
        for unit in one.units
        if unit.end_line >= unit.line
    ]
    chance.shuffle(places)
    found = tried = 0
    for path, unit in places:
        if found == count or tried > MAX_TRIED * count:
            return
        source = ParsedSource(after[path])
        possible = list(mutants(source, range(unit.line, unit.end_line + 1)))
        if not possible:
            continue
        tried += 1
        text = chance.choice(possible).edit.apply(source.text).encode()
        workspace = scratch / f"{newer.name}-{found}"
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.copytree(newer, workspace)
        (workspace / path).write_bytes(text)
        failing = [name for name, ended in outcomes(workspace, python).items() if ended == "FAILED" and name in both]
        if not failing:
            continue
        found += 1
        baseline = Baseline.from_texts(older.name, workspace, {one: before.get(one) for one in changed})
        faulty = next(
            one
            for one in baseline.units
            if one.file == path and one.line <= unit.end_line and one.end_line >= unit.line
        )
        yield Seeded(workspace, baseline, failing, faulty)


def judged(subject: Seeded, seconds: float, python: str) -> dict[str, object]:
    """What the search finds."""
    tests = [FailingTest(name, name.partition("::")[0]) for name in subject.tests]
    setup = RerunSetup(subject.workspace, (python, "-m", "pytest", "-p", "no:xdist"))
    search = ChangeIsolation(setup=setup, tests=tests, baselines=[subject.baseline], seconds=seconds)
    error = ""
    try:
        for _ in search.steps():
            pass
    except EvidenceError as problem:
        error = str(problem)
    place = subject.faulty.file, subject.faulty.line
    hits = [cause for cause in search.causes if place in {(unit.file, unit.line) for unit in cause.units}]
    lines = sum(unit.end_line - unit.line + 1 for unit in subject.baseline.units)
    return {
        "subject": subject.workspace.name,
        "changes": len(subject.baseline.units),
        "lines": lines,
        "found": bool(hits),
        "of": len(hits[0].units) if hits else 0,
        "causes": len(search.causes),
        "runs": search.runs,
        "seconds": round(search.elapsed, 1),
        "complete": search.complete,
        "error": error,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="faults for each pair of releases")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pytest and what the tests need")
    parser.add_argument("--sources", type=Path, help="where source distributions are, or are put")
    parser.add_argument("releases", nargs="*", help="PACKAGE OLDER NEWER, again and again")
    chosen = parser.parse_args()
    given: Sequence[Sequence[str]] = [chosen.releases[i : i + 3] for i in range(0, len(chosen.releases), 3)] or RELEASES
    rows: list[dict[str, object]] = []
    print(f"{'subject':24} {'changes':>7} {'lines':>6} {'found':>6} {'of':>3} {'causes':>6} {'runs':>5} {'seconds':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        sources = chosen.sources or Path(scratch) / "sources"
        sources.mkdir(exist_ok=True)
        os.environ["PYTHONPATH"] = PATH
        for name, older, newer in given:
            before, after = (distribution(sources, name, version) for version in (older, newer))
            for subject in seeded(before, after, Path(scratch), random.Random(name), chosen.seeds, chosen.python):
                row = judged(subject, chosen.seconds, chosen.python)
                rows.append(row)
                print(
                    f"{row['subject']:24} {row['changes']:7} {row['lines']:6} {row['found']!s:>6} {row['of']:3}"
                    f" {row['causes']:6} {row['runs']:5} {row['seconds']:8} {row['error']}",
                    flush=True,
                )
    print(json.dumps(summary(rows)))


def summary(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """The figures over all subjects."""
    seconds = [float(str(row["seconds"])) for row in rows]
    return {
        "subjects": len(rows),
        "found": sum(bool(row["found"]) for row in rows),
        "alone": sum(row["of"] == 1 for row in rows),
        "changes": [min(int(str(row["changes"])) for row in rows), max(int(str(row["changes"])) for row in rows)],
        "runs_median": statistics.median(int(str(row["runs"])) for row in rows),
        "seconds_median": statistics.median(seconds),
        "seconds_most": max(seconds),
    }


if __name__ == "__main__":
    main()
