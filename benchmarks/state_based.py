"""How well experiments find faults, and what they cost: ranks of known faults, beside Ochiai and `evidence`.

    python benchmarks/state_based.py                                      # the programs of benchmarks/faulty_programs
    python benchmarks/state_based.py --subjects mutants --subjects releases --corpus CORPUS --cache DIR
    python benchmarks/state_based.py --subjects sqlparse --technique investigation
    python benchmarks/state_based.py --subjects fixes --subjects held-out --technique investigation   # clones projects
    python benchmarks/state_based.py --subjects FOLDER                    # subjects of your own

`faulty_subjects.py` describes what a subject is. Of each, the tests are recorded once in a copy. Then each technique
that needs experiments gets a new log, and `suspectra investigate --seconds N` makes them, for all failing tests of the
subject together. Techniques that search for the causes of one failure get the first failing test by name, and
`suspectra causes --seconds N` searches: the suspected causes are ranked first, all of them as a tie, then the other
wrong states, then the statements around, and what is left by Ochiai. Techniques that search for paths get the same
test, and `suspectra paths --seconds N` searches: the statements of the report are ranked in its order, then what is
left by Ochiai. Their score is that of the report over the program dependence graph (`evaluation/source_scores.py`), an
empty report being 0, and the share found is that of searches with a report. The rank is that of the best faulty
statement, and of a tie its middle. Seconds are those of the whole command; their median is that of the searches for
paths alone, from the start of their first process on, and beside it stands how long such a process takes to collect the
tests of the module, which no search can start without. States are those that were altered, alone or with others, in
however many runs; the share is the part of the nodes that a step leaves out, on average. Each result is added to a
file, from which an interrupted benchmark goes on; `--again` measures anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from faulty_subjects import FAMILIES, FAULTS, LEFT_OUT, Subject, subjects
from fixed_faults import LISTS
from fixed_faults import PACKAGES as PACKAGES_OF_FIXES

from suspectra.base.errors import NothingToRank
from suspectra.base.technique_info import Need
from suspectra.causes.techniques import TECHNIQUES as CAUSES
from suspectra.evaluation.appraisal import Appraisal
from suspectra.evaluation.faults import FaultList
from suspectra.evaluation.source_scores import pdg_score
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.experiments import FOLDER, with_experiments
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.localizer import Localizer
from suspectra.paths.searches.techniques import TECHNIQUES as PATHS
from suspectra.techniques import make_technique
from suspectra.techniques.catalogue import CATALOGUE

BASELINE = "ochiai"
OBSERVING = (BASELINE, "evidence")
_RERUNNING = frozenset({Need.EXPERIMENTS, Need.VALUES})
EXPERIMENTING = tuple(name for name, entry in CATALOGUE.items() if entry.info.needs & _RERUNNING)
ORDERED = tuple(f"{name}:fewest" for name in ("apg", "apg-inputs"))  # searches for paths in another order
MEASURED = (*EXPERIMENTING, *CAUSES, *PATHS, *ORDERED)
TOP = (1, 3, 5)
_LEFT = re.compile(r"(\d+) of (\d+) nodes left")
PACKAGES = ("pytest>=8,<9", "freezegun", "text-unidecode")  # what the tests of all families import but `fixes`
MAX_EXTRA_S = 600  # seconds beyond those that it gets, after which an investigation is ended
Result = dict[str, Any]
_COLLECTING = """
import sys, time
from pathlib import Path
from suspectra.experiments.machine import Machine
test, file, kinds, *command = sys.argv[1:]
began = time.perf_counter()
with Machine(command, Path.cwd(), file, [test], kinds.split(",")):
    print(time.perf_counter() - began)
"""


# measuring


def environment_of(cache: Path, name: str = "environment", packages: Sequence[str] = PACKAGES) -> Path:
    """The interpreter that runs the tests of subjects."""
    home = cache.absolute() / f"{name}-py{sys.version_info[0]}{sys.version_info[1]}"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        subprocess.run(
            [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *packages], check=True
        )
        (home / "ready").touch()
    return python


class Measured:
    """A copy of a subject whose tests were recorded."""

    def __init__(self, subject: Subject, python: Path, workspace: Path):
        self.subject, self.workspace = subject, workspace
        self.pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        shutil.copytree(subject.folder, workspace, ignore=LEFT_OUT)
        recorded = self.suspectra("record", "--", *self.pytest, timeout=MAX_EXTRA_S)
        if recorded.returncode not in (0, 1):
            raise RuntimeError(f"recording ended with {recorded.returncode}: {recorded.stderr[-500:]}")
        evidence = find_source(workspace, edges=True).read()
        self.failing = {test.name for test in evidence.tests if test.verdict.failing}
        self.tests = len(evidence.tests)

    def suspectra(self, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "suspectra", *arguments, timeout=timeout)

    def python(self, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON", "COV"))}
        path = os.pathsep.join([str(self.workspace), str(self.workspace / "src")])
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.workspace,
            env=kept | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def ranks(self, technique: str) -> Result:
        """The rank of the best faulty statement, and of the last one of its tie."""
        evidence = with_experiments(find_source(self.workspace, edges=True).read(), self.workspace)
        evidence = OBSERVATIONS.added_to(evidence, self.workspace)
        report = Localizer(make_technique(technique)).update(evidence)
        faults, problems = FaultList.read(self.workspace / FAULTS).elements(report.spectrum.elements)
        for problem in problems:
            print(f"  {self.subject.name}: {problem}", flush=True)
        try:
            first = Appraisal.from_report(report, faults).faults[0]
        except NothingToRank:
            return {"rank": len(report) + 1.0, "best": len(report) + 1, "worst": len(report) + 1}
        return {"rank": first.rank_average, "best": first.rank_best, "worst": first.rank_worst}

    def with_new_experiments(self, technique: str, seconds: float) -> Result:
        """The same after an investigation, and what that took."""
        shutil.rmtree(self.workspace / ".suspectra" / FOLDER, ignore_errors=True)
        options = ["--technique", technique, "--seconds", str(seconds), "--format", "json", "--top", "1"]
        began = time.perf_counter()
        try:
            made = self.suspectra("investigate", *options, "--", *self.pytest, timeout=seconds + MAX_EXTRA_S)
        except subprocess.TimeoutExpired:
            return {**self.ranks(technique), "seconds": seconds + MAX_EXTRA_S, "problem": "it did not end"}
        took = time.perf_counter() - began
        try:
            found = json.loads(made.stdout)
        except ValueError:
            return {**self.ranks(technique), "seconds": took, "problem": made.stderr.strip()[-500:]}
        experiments = found["experiments"]
        return {
            **self.ranks(technique),
            "runs": len(experiments),
            "repairs": sorted(
                f"{one['file']}:{one['line']} {one['kind']} {one['instance']} {one['action']} {one['test']}"
                for one in experiments
                if one["outcome"] == "passed" and one["test"] in self.failing
            ),
            "seconds": round(took, 2),
            "complete": found["complete"],
            "problems": [line for line in made.stderr.splitlines() if line.startswith("suspectra: ")],
        }

    def by_causes(self, found: Result) -> Result:
        """The rank of the best faulty statement if one reads what a search for causes has found, and then by Ochiai."""
        others = [[state] for name in ("transitive", "around") for state in found[name]]
        return self.by_statements([found["roots"], *others])

    def by_statements(self, groups: Sequence[Sequence[Result]]) -> Result:
        """The rank of the best faulty statement if one reads some groups, each of them a tie, and then by Ochiai."""
        report = Localizer(make_technique(BASELINE)).update(find_source(self.workspace, edges=True).read())
        elements = report.spectrum.elements
        read: list[list[int]] = []
        for group in groups:
            found = {elements.at(state["file"], state["line"]) for state in group}
            read.append([one for one in found if one is not None and not any(one in other for other in read)])
        level = report.level.astype(np.int64) + len(read)
        for place, numbers in enumerate(read):
            level[numbers] = place
        faults, _ = FaultList.read(self.workspace / FAULTS).elements(elements)
        ranked = report.level >= 0
        faulty = np.unique(np.concatenate(faults))
        first = int(level[faulty[ranked[faulty]]].min())
        before, equal = int((level[ranked] < first).sum()), int((level[ranked] == first).sum())
        return {"rank": before + (equal + 1) / 2, "best": before + 1, "worst": before + equal}

    def with_search(self, technique: str, seconds: float) -> Result:
        """A search for the causes of the first failing test."""
        options = ["--technique", technique, "--seconds", str(seconds), "--format", "json"]
        began = time.perf_counter()
        nothing: Result = {"roots": [], "transitive": [], "around": []}
        try:
            command = ("causes", sorted(self.failing)[0], *options, "--", *self.pytest)
            made = self.suspectra(*command, timeout=seconds + MAX_EXTRA_S)
        except subprocess.TimeoutExpired:
            return {**self.by_causes(nothing), "seconds": seconds + MAX_EXTRA_S, "problem": "it did not end"}
        took = round(time.perf_counter() - began, 2)
        try:
            found = json.loads(made.stdout)
        except ValueError:
            return {**self.by_causes(nothing), "seconds": took, "problem": made.stderr.strip()[-500:]}
        return {
            **self.by_causes(found),
            "runs": found["alterations"],
            "states": found["states"],
            "repairs": [f"{one['file']}:{one['line']} {one['instance']}" for one in found["roots"]],
            "shares": [round(1 - int(left) / int(nodes), 3) for left, nodes in _LEFT.findall(made.stderr)],
            "seconds": took,
            "complete": found["complete"],
            "problems": [line for line in made.stderr.splitlines() if line.startswith("suspectra: ")],
        }

    def with_paths(self, technique: str, seconds: float) -> Result:
        """A search for paths about the first failing test."""
        technique, _, order = technique.partition(":")
        options = ["--technique", technique, "--seconds", str(seconds), "--format", "json"]
        options += ["--order", order] if order else []
        began = time.perf_counter()
        try:
            command = ("paths", sorted(self.failing)[0], *options, "--", *self.pytest)
            made = self.suspectra(*command, timeout=seconds + MAX_EXTRA_S)
            found = json.loads(made.stdout)
        except subprocess.TimeoutExpired:
            return {
                **self.by_statements([]),
                "score": 0.0,
                "seconds": seconds + MAX_EXTRA_S,
                "problem": "it did not end",
            }
        except ValueError:
            took = round(time.perf_counter() - began, 2)
            return {**self.by_statements([]), "score": 0.0, "seconds": took, "problem": made.stderr.strip()[-500:]}
        return {
            **self.by_statements([[place] for place in found["report"]]),
            "runs": found["candidates"],
            "score": round(self.score([(place["file"], place["line"]) for place in found["report"]]), 3),
            "found": bool(found["report"]),
            "statements": len({(place["file"], place["line"]) for place in found["report"]}),
            "search": found["seconds"],
            "seconds": round(time.perf_counter() - began, 2),
            "start": self.collecting(technique),
            "complete": found["complete"],
            "problems": [
                *found["notes"],
                *(line for line in made.stderr.splitlines() if line.startswith("suspectra: ")),
            ],
        }

    def collecting(self, technique: str) -> float:
        """How long a process that waits for requests takes to collect the module of the first failing test."""
        test = sorted(self.failing)[0]
        words = (test, test.partition("::")[0], ",".join(PATHS[technique].kinds), *self.pytest)
        return float(self.python("-c", _COLLECTING, *words, timeout=MAX_EXTRA_S).stdout)

    def score(self, report: Sequence[tuple[str, int]]) -> float:
        """The score of a report over the program dependence graph."""
        elements = find_source(self.workspace, edges=True).read().elements
        faults, _ = FaultList.read(self.workspace / FAULTS).elements(elements)
        places = [elements.location(one) for one in np.unique(np.concatenate(faults)).tolist()]
        files = [path for path in self.workspace.rglob("*.py") if not path.name.startswith(("test_", "conftest"))]
        sources = {path.relative_to(self.workspace).as_posix(): path.read_bytes() for path in files}
        return pdg_score(sources, report, [(place.file, place.line) for place in places])


class Results:
    """Results of techniques, one line of JSON each, which are measured once."""

    def __init__(self, path: Path, *, again: bool):
        self._path, self.found = path, dict[tuple[str, ...], Result]()
        path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            path.unlink(missing_ok=True)
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            result = json.loads(line)
            self.found[tuple(result["key"])] = result

    def missing(self, subject: Subject, techniques: Iterable[str], seconds: float) -> list[str]:
        digest = subject.digest()
        return [name for name in techniques if self._key(subject, digest, name, seconds) not in self.found]

    def add(self, subject: Subject, technique: str, seconds: float, result: Result) -> None:
        key = self._key(subject, subject.digest(), technique, seconds)
        self.found[key] = {"key": key, **result}
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(self.found[key]) + "\n")

    def for_subject(self, subject: Subject, technique: str, seconds: float) -> Result | None:
        return self.found.get(self._key(subject, subject.digest(), technique, seconds))

    @staticmethod
    def _key(subject: Subject, digest: str, technique: str, seconds: float) -> tuple[str, ...]:
        return subject.name, digest, technique, "0" if technique in OBSERVING else f"{seconds:g}"


def measure(subject: Subject, techniques: Sequence[str], seconds: float, python: Path, results: Results) -> None:
    """Measure those techniques of a subject that have no result yet."""
    missing = results.missing(subject, techniques, seconds)
    if not missing:
        return
    with tempfile.TemporaryDirectory() as scratch:
        try:
            measured = Measured(subject, python, Path(scratch).resolve() / subject.folder.name)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{subject.name}: {error}", flush=True)
            return
        counts = {"kind": subject.kind, "tests": measured.tests, "failing": len(measured.failing)}
        for name in missing:
            observing = name in OBSERVING
            if observing:
                found = measured.ranks(name)
            elif name in CAUSES:
                found = measured.with_search(name, seconds)
            elif is_of_paths(name):
                found = measured.with_paths(name, seconds)
            else:
                found = measured.with_new_experiments(name, seconds)
            results.add(subject, name, seconds, counts | found)
            cost = "" if observing else f"  {found.get('runs', 0)} runs, {found['seconds']:.1f} s"
            problem = f"  {found['problem']}" if "problem" in found else ""
            print(f"{subject.name:32} {name:18} rank {found['rank']:7.1f}{cost}{problem}", flush=True)


def is_of_paths(technique: str) -> bool:
    """Whether it searches for paths, in whichever order."""
    return technique.partition(":")[0] in PATHS


# figures


def scores(by_technique: dict[str, dict[str, Result]]) -> Iterator[str]:
    """How scores, sizes of reports and times are distributed (paper 001, Table 4 and Figures 5 and 6)."""
    found = {name: list(one.values()) for name, one in by_technique.items() if is_of_paths(name)}
    if not found:
        return
    yield "| | " + " | ".join(found) + " |"
    yield "|---" + "|---:" * len(found) + "|"
    ranges = [
        ("100%", 1.0, 2.0),
        *((f"{n}-{n + 9}%", n / 100, n / 100 + 0.1) for n in range(90, 0, -10)),
        ("0-9%", 0, 0.1),
    ]
    for title, least, below in ranges:
        counts = [
            sum(least <= one["score"] < min(below, 1.0 if least < 1 else below) for one in some)
            for some in found.values()
        ]
        yield f"| score {title} | " + " | ".join(map(str, counts)) + " |"
    for title, most in (("1", 1), ("2-3", 3), ("4-7", 7), ("more", 10**9)):
        least = {1: 1, 3: 2, 7: 4}.get(most, 8)
        counts = [sum(least <= one.get("statements", 0) <= most for one in some) for some in found.values()]
        yield f"| statements in the report: {title} | " + " | ".join(map(str, counts)) + " |"
    for most in (1, 5, 20):
        counts = [sum(one.get("found", False) and one["search"] <= most for one in some) for some in found.values()]
        good = [sum(one["score"] >= 0.8 and one.get("search", 99) <= most for one in some) for some in found.values()]
        cells = [f"{count}, {of} of them good" for count, of in zip(counts, good, strict=True)]
        yield f"| found within {most} s, and with a score of 80% | " + " | ".join(cells) + " |"


def figures(found: Sequence[Result]) -> dict[str, float]:
    """Of one technique over some subjects."""
    ranks = [one["rank"] for one in found]
    made = [one for one in found if "runs" in one]
    seconds = sum(one["seconds"] for one in made)
    shares = [share for one in made for share in one.get("shares", ())]
    return {
        "subjects": len(found),
        "mean_rank": round(mean(ranks), 2),
        "median_rank": round(median(ranks), 1),
        **{f"top_{n}": sum(rank <= n for rank in ranks) for n in TOP},
        "runs": sum(one["runs"] for one in made),
        "seconds": round(seconds, 1),
        "rate": round(sum(one["runs"] for one in made) / seconds, 1) if seconds else 0.0,
        "complete": sum(bool(one["complete"]) for one in made),
        "states": sum(one.get("states", 0) for one in made),
        "score": round(mean([one["score"] for one in found if "score" in one] or [0.0]), 2),
        "found": sum(bool(one.get("found")) for one in found),
        "median_seconds": round(median([one["search"] for one in found if "search" in one] or [0.0]), 2),
        "median_start": round(median([one["start"] for one in found if "start" in one] or [0.0]), 2),
        "median_own": round(median([one["search"] - one["start"] for one in found if "start" in one] or [0.0]), 2),
        "share": round(mean(shares), 2) if shares else 0.0,
    }


def harmed(found: dict[str, Result], baseline: dict[str, Result]) -> dict[str, tuple[float, float]]:
    """The subjects whose fault a technique ranks behind where the baseline has it, with both ranks."""
    return {
        name: (baseline[name]["rank"], one["rank"])
        for name, one in found.items()
        if name in baseline and one["rank"] > baseline[name]["rank"]
    }


def table(by_technique: dict[str, dict[str, Result]]) -> Iterator[str]:
    columns = ["mean rank", "Top-1", "Top-3", "Top-5", "worse than Ochiai", "all tried", "runs", "seconds"]
    columns += ["runs a second", "states", "share", "found", "score", "median s", "pytest's start", "rest"]
    yield "| | " + " | ".join(columns) + " |"
    yield "|---" + "|---:" * len(columns) + "|"
    for name, found in by_technique.items():
        row = figures(list(found.values()))
        worse = len(harmed(found, by_technique[BASELINE]))
        cells: list[object] = [name, f"{row['mean_rank']:.2f}", *(row[f"top_{n}"] for n in TOP), worse]
        if row["runs"]:
            cells += [row["complete"], row["runs"], f"{row['seconds']:.0f}", f"{row['rate']:.0f}"]
            cells += [row["states"], f"{row['share']:.0%}"] if row["share"] else ["", ""]
            times = [f"{row[key]:.2f}" for key in ("median_seconds", "median_start", "median_own")]
            of_paths = [row["found"], f"{row['score']:.2f}", *times]
            cells += of_paths if is_of_paths(name) else [""] * len(of_paths)
        else:
            cells += [""] * 11
        yield "| " + " | ".join(map(str, cells)) + " |"


def shown(family: str, by_technique: dict[str, dict[str, Result]]) -> dict[str, Any]:
    """Print the figures of a family; the same for JSON."""
    print(f"\n{family}: {len(by_technique[BASELINE])} subjects")
    print("\n".join(table(by_technique)))
    print("\n".join(["", *scores(by_technique)]))
    said: dict[str, Any] = {}
    for name, found in by_technique.items():
        worse = harmed(found, by_technique[BASELINE])
        said[name] = {**figures(list(found.values())), "worse_than_ochiai": worse}
        if worse and name != BASELINE:
            listed = ", ".join(f"{subject.split('/')[-1]} {old:g} → {new:g}" for subject, (old, new) in worse.items())
            print(f"{name} is worse than Ochiai on: {listed}")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", action="append", metavar="|".join([*FAMILIES, "FOLDER"]), help="repeatable")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names of subjects (repeatable)")
    parser.add_argument("--technique", action="append", choices=MEASURED, help="repeatable; by default all")
    parser.add_argument("--seconds", type=float, default=20, help="of each investigation")
    parser.add_argument("--corpus", type=Path, help="folder of the corpus after which mutants and releases are made")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "state_based")
    parser.add_argument("--results", type=Path, help="by default a file of the cache")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    chosen = parser.parse_args()
    techniques = [*OBSERVING, *(chosen.technique or MEASURED)]
    python = environment_of(chosen.cache)
    fixes = (*PACKAGES, *PACKAGES_OF_FIXES)
    others = {one: environment_of(chosen.cache, "fixes", fixes) for one in LISTS if one in (chosen.subjects or ())}
    results = Results(chosen.results or chosen.cache / "results.jsonl", again=chosen.again)
    families: dict[str, dict[str, dict[str, Result]]] = {}
    for subject in subjects(chosen.subjects or ["small"], chosen.only, chosen.cache, chosen.corpus):
        measure(subject, techniques, chosen.seconds, others.get(subject.family, python), results)
        for name in techniques:
            if result := results.for_subject(subject, name, chosen.seconds):
                families.setdefault(subject.family, {}).setdefault(name, {})[subject.name] = result
    found = {family: shown(family, by_technique) for family, by_technique in families.items()}
    print(json.dumps({"benchmark": "state_based", "seconds": chosen.seconds, "families": found}))


if __name__ == "__main__":
    main()
