"""Certainty: how often `suspectra why` is right when it is nearly certain, and when it calls its answer likely.

    python benchmarks/why_certainty.py [small] [classic] [FOLDER]... [--seconds 20] [--only GLOB]...

Of each program with a known fault (see `faulty_subjects`) the tests are recorded, and `suspectra why` answers once. The
table has a row for each degree of certainty: how many answers have it, and how many name a faulty statement, or one in
the function of a fault.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from faulty_subjects import FAULTS, LEFT_OUT, Subject, subjects

from suspectra.evaluation.faults import FaultList

IN_WORDS = {"certain": "certain", "high": "nearly certain", "medium": "likely", "low": "only a hint"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=["small"])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/suspectra-benchmarks").expanduser())
    parser.add_argument("--corpus", type=Path)
    chosen = parser.parse_args()
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for subject in subjects(chosen.families, chosen.only, chosen.cache, chosen.corpus):
        with tempfile.TemporaryDirectory() as scratch:
            folder = shutil.copytree(subject.folder, Path(scratch) / subject.folder.name, ignore=LEFT_OUT)
            answer = answered(folder, chosen.seconds)
        certainty, place = answer.get("certainty", "low"), answer.get("place") or "-"
        at_fault, in_function = judged(subject, place)
        row = counts[certainty]
        for column, it_is in enumerate((True, at_fault, at_fault or in_function)):
            row[column] += int(it_is)
        said = "at the fault" if at_fault else "in its function" if in_function else "elsewhere"
        print(f"{subject.name}: {IN_WORDS[certainty]}, {place}: {said}", file=sys.stderr, flush=True)
    print("| `why` says | answers | a faulty statement | its function |\n|---|---:|---:|---:|")
    for certainty, words in IN_WORDS.items():
        if counts[certainty][0]:
            answers, faulty, near = counts[certainty]
            print(f"| {words} | {answers} | {faulty} | {near} |")


def answered(folder: Path, seconds: float) -> dict[str, str]:
    """What `suspectra why` answers about the first failure group."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'src'}"}

    def suspectra(*words: str) -> str:
        command = [sys.executable, "-m", "suspectra", *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout

    suspectra("record", "--", sys.executable, "-m", "pytest", "-q")
    found: dict[str, str] = json.loads(suspectra("why", "--seconds", f"{seconds:g}", "--format", "json") or "{}")
    return found


def judged(subject: Subject, place: str) -> tuple[bool, bool]:
    """Whether a place is a faulty statement, and whether it is in the function of one."""
    file, _, line = place.rpartition(":")
    places = [place for fault in FaultList.read(subject.folder / FAULTS).faults for place in fault]
    own = [number for at in places if at.file == file for number in range(at.first, at.last + 1)]
    if not own:
        return False, False
    tree = ast.parse((subject.folder / file).read_text("utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    around = [(n.lineno, n.end_lineno or n.lineno) for n in ast.walk(tree) if isinstance(n, kinds)]

    def innermost(number: int) -> tuple[int, int]:
        return max((one for one in around if one[0] <= number <= one[1]), default=(0, 0))

    return int(line) in own, innermost(int(line)) in map(innermost, own)


if __name__ == "__main__":
    main()
