"""Value predicates beside SFLKit's scalar pairs and def-use pairs, on the programs of benchmarks/faulty_programs.

    python benchmarks/value_predicates.py [--only GLOB]

SFLKit comes from PyPI, in an environment of its own. Each tool records and ranks the same programs, SFLKit by Ochiai
over one kind of feature at a time. SFLKit's scores of lines are those of its suggestions; lines without one are ranked
last. The rank is that of the best faulty statement among the statements that Suspectra ranks; of a tie, its middle.
Prints a line for each program, the figures, and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from faulty_subjects import FAULTS, subjects
from rank_figures import rank_figures
from state_based import TOP, Measured

from suspectra.base.errors import NothingToRank
from suspectra.evaluation.appraisal import Appraisal
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.discovery import find_source
from suspectra.localizer import Localizer
from suspectra.report import RankedReport
from suspectra.techniques import make_technique

FEATURES = ("line", "scalar_pair", "def_use")
PACKAGES = ("sflkit==0.5.7", "pytest>=8,<9", "freezegun", "text-unidecode")
RUN = """\
import sys, pathlib
from sflkit.runners.run import PytestRunner

PytestRunner().run(*map(pathlib.Path, sys.argv[1:]))
"""
STEP_S = 120


def environment_of(cache: Path) -> Path:
    """The interpreter of SFLKit."""
    home = cache / "sflkit"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        subprocess.run([*pip, *PACKAGES], check=True)
        (home / "ready").touch()
    return home / "bin" / "python"


def suggestions(python: Path, folder: Path, feature: str, work: Path) -> Iterator[tuple[str, int, float]]:
    """File, line and score of what SFLKit suggests."""
    (work / "sflkit.ini").write_text(
        f"[target]\npath={folder}\nlanguage=python\n"
        f"[events]\npredicates={feature}\nmetrics=Ochiai\npassing={work}/events/passing\n"
        f"failing={work}/events/failing\nmapping={work}/mapping.json\n"
        f"[instrumentation]\npath={work}/instrumented\nexclude=test\n[test]\nrunner=pytest_runner\n"
    )
    command, config = str(python.parent / "sflkit"), f"{work}/sflkit.ini"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # it starts a bare `python`
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{work}/instrumented"}
    for step in (
        [command, "instrument", "-c", config],
        [str(python), "-c", RUN, f"{work}/instrumented", f"{work}/events"],
        [command, "analyze", "-c", config, "-o", f"{work}/out.json"],
    ):
        subprocess.run(step, cwd=work, env=environment, check=True, capture_output=True, timeout=STEP_S)
    if not any(one.is_file() for one in (work / "events").rglob("*")):
        raise ValueError("it ran no test")
    for found in json.loads((work / "out.json").read_text())[feature.upper()]["Ochiai"]:
        for place in found["locations"]:
            file, _, line = place.rpartition(":")
            yield file, int(line), found["suspiciousness"]


def rank_of(report: RankedReport, folder: Path) -> float:
    """The rank of the best faulty statement."""
    faults, _ = FaultList.read(folder / FAULTS).elements(report.spectrum.elements)
    try:
        return float(Appraisal.from_report(report, faults).faults[0].rank_average)
    except NothingToRank:
        return len(report) + 1.0


def sflkit_rank(python: Path, measured: Measured, feature: str) -> float:
    """The rank by one kind of feature of SFLKit."""
    report = Localizer(make_technique("ochiai")).update(find_source(measured.workspace).read())
    spectrum = report.spectrum
    scores = np.full(len(spectrum.elements), -1.0)
    with tempfile.TemporaryDirectory() as work:
        for file, line, score in suggestions(python, measured.subject.folder, feature, Path(work).resolve()):
            element = spectrum.elements.at(file, line)
            if element is not None:
                scores[element] = max(scores[element], score)
    return rank_of(RankedReport.from_scores(report.technique, spectrum, scores), measured.workspace)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names of programs (repeatable)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "state_based")
    chosen = parser.parse_args()
    python = environment_of(chosen.cache)
    ranks: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    failed: dict[str, list[str]] = {}
    for subject in subjects(["small"], chosen.only, chosen.cache, None):
        found: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as scratch:
            measured = Measured(subject, Path(sys.executable), Path(scratch).resolve() / subject.folder.name)
            began = time.perf_counter()
            found["value-predicates"] = measured.with_new_experiments("value-predicates", 20)["rank"]
            seconds.setdefault("value-predicates", []).append(time.perf_counter() - began)
            for feature in FEATURES:
                began = time.perf_counter()
                try:
                    found[f"SFLKit {feature}"] = sflkit_rank(python, measured, feature)
                except (subprocess.SubprocessError, OSError, LookupError, ValueError) as error:
                    said = error.stderr.decode()[-200:] if isinstance(error, subprocess.CalledProcessError) else error
                    failed.setdefault(f"SFLKit {feature}", []).append(subject.name)
                    print(f"{subject.name}: SFLKit {feature}: {said}", flush=True)
                    continue
                seconds.setdefault(f"SFLKit {feature}", []).append(time.perf_counter() - began)
            found["ochiai"] = measured.ranks("ochiai")["rank"]
        print(f"{subject.name:28}" + "  ".join(f"{name} {rank:g}" for name, rank in found.items()), flush=True)
        if len(found) == len(FEATURES) + 2:  # only where all of them ran
            for name, rank in found.items():
                ranks.setdefault(name, []).append(rank)
    figures = rank_figures(ranks, seconds, "subjects", TOP)
    print(json.dumps({"benchmark": "value_predicates", "figures": figures, "failed": failed}))


if __name__ == "__main__":
    main()
