"""Value predicates and switching for C beside Ochiai: ranks of ten faults, and what they cost.

    python benchmarks/c_state.py [--only GLOB] [--seconds 30]

The faults are two crashes, two wrong constants, two missing guards, two wrong operators and two that are off by one,
one of each in examples/reckoner (without its own fault) and in benchmarks/faulty_c/toolbox. Each is built, its tests
are recorded, and `suspectra investigate --ctest` runs them again, with each technique in a log of its own. The rank is
that of the best faulty line; of a tie, its middle. Where code is missing, the faulty line is the one behind it. Needs
CMake, gcc and binutils. Prints a line for each fault, the figures, and one JSON object.
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
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from rank_figures import rank_figures

from suspectra.base.errors import NothingToRank
from suspectra.evaluation.appraisal import Appraisal
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique

ROOT = Path(__file__).parents[1]
RECKONER, TOOLBOX = ROOT / "examples" / "reckoner", ROOT / "benchmarks" / "faulty_c" / "toolbox"
OWN_FAULT = ("src/evaluate.c", re.compile(r"double result = 0;.*"), "double result = numbers[0];")
MADE_BY = {"value-predicates": "value-predicates", "switching": "switching", "investigation": "switching"}
LIMIT_S = 1200.0


class Fault(NamedTuple):
    """A change that breaks a program."""

    name: str
    program: Path
    file: str
    right: str  # occurs once in the file
    wrong: str


FAULTS = (
    Fault("crash-choice", RECKONER, "src/evaluate.c", "*value != 0 ? 1 : 2", "*value != 0 ? 1 : 3"),
    Fault("crash-unlink", TOOLBOX, "toolbox.c", "if (before == NULL)", "if (kept == NULL)"),
    Fault("constant-root", RECKONER, "src/evaluate.c", "if (numbers[0] < 0)", "if (numbers[0] < -1)"),
    Fault("constant-leap", TOOLBOX, "toolbox.c", "year % 400", "year % 300"),
    Fault(
        "guard-division",
        RECKONER,
        "src/evaluate.c",
        '        if (right == 0)\n            return fail(evaluation, "division by zero", "");\n',
        "",
    ),
    Fault("guard-quoted", TOOLBOX, "toolbox.c", "*line == ',' && !quoted", "*line == ','"),
    Fault("operator-smallest", RECKONER, "src/evaluate.c", "numbers[i] < result", "numbers[i] > result"),
    Fault("operator-price", TOOLBOX, "toolbox.c", "pieces >= 10)", "pieces > 10)"),
    Fault(
        "one-off-mean",
        RECKONER,
        "src/evaluate.c",
        "double sum = 0;\n    for (size_t i = 0;",
        "double sum = 0;\n    for (size_t i = 1;",
    ),
    Fault("one-off-search", TOOLBOX, "toolbox.c", "int low = 0,", "int low = 1,"),
)


def planted(fault: Fault, folder: Path) -> int:
    """Copy the program with the fault, and build it. The faulty line."""
    shutil.copytree(fault.program, folder, ignore=shutil.ignore_patterns("build", ".suspectra"))
    if fault.program == RECKONER:
        own = folder / OWN_FAULT[0]
        text, times = OWN_FAULT[1].subn(OWN_FAULT[2], own.read_text(), count=1)
        assert times == 1
        own.write_text(text)
    path = folder / fault.file
    text = path.read_text()
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: its text occurs {text.count(fault.right)} times")
    differs = next((at for at, (a, b) in enumerate(zip(fault.right, fault.wrong, strict=False)) if a != b), 0)
    before = text[: text.index(fault.right) + differs]
    path.write_text(text.replace(fault.right, fault.wrong))
    for step in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build", "-j2"]):
        subprocess.run(step, cwd=folder, check=True, capture_output=True)
    return before.count("\n") + 1


def suspectra(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line, with a cache of its own."""
    return subprocess.run(
        [sys.executable, "-m", "suspectra", *arguments],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": f"{folder}-cache"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def rank(folder: Path, technique: str, place: str) -> float:
    """The rank of a line."""
    evidence = find_source(folder, edges=True).read()
    if technique in MADE_BY:
        evidence = OBSERVATIONS.added_to(with_experiments(evidence, folder), folder)
    report = Localizer(make_technique(technique)).update(evidence)
    faults, problems = FaultList.parse("", place).elements(report.spectrum.elements)
    for problem in problems:
        raise ValueError(f"{problem}")
    try:
        return float(Appraisal.from_report(report, faults).faults[0].rank_average)
    except NothingToRank:
        return len(report) + 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB", help="names of faults")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each technique and fault (30)")
    chosen = parser.parse_args()
    ranks: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    runs: list[int] = []
    faults = [fault for fault in FAULTS if fnmatch(fault.name, chosen.only)]
    for fault in faults:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve() / fault.name
            place = f"{fault.file}:{planted(fault, folder)}"
            suspectra(folder, "record-c", "--ctest", "build")
            # so that the second build is there: what a technique takes is measured without it
            suspectra(folder, "investigate", "--ctest", "build", "--technique", "switching", "--seconds", "0.01")
            found = {name: rank(folder, name, place) for name in ("ochiai", "evidence")}
            for name in ("value-predicates", "switching"):
                shutil.rmtree(folder / ".suspectra" / "experiments", ignore_errors=True)
                options = ["--technique", name, "--seconds", str(chosen.seconds), "--format", "json"]
                began = time.perf_counter()
                done = suspectra(folder, "investigate", "--ctest", "build", *options)
                seconds.setdefault(name, []).append(time.perf_counter() - began)
                if done.returncode:
                    print(f"{fault.name}: {name}: {done.stderr[-300:]}", flush=True)
                found |= {one: rank(folder, one, place) for one, made in MADE_BY.items() if made == name}
                if name == "switching":
                    runs.append(len(json.loads(done.stdout)["experiments"]) if done.stdout else 0)
        print(f"{fault.name:20} {place:20}" + "  ".join(f"{name} {one:g}" for name, one in found.items()), flush=True)
        for name, one in found.items():
            ranks.setdefault(name, []).append(one)
    figures = rank_figures(ranks, seconds, "faults", (1, 3, 5))
    print(json.dumps({"benchmark": "c_state", "figures": figures, "altered_runs": runs}))


if __name__ == "__main__":
    main()
