"""Fixes: for how many faulty programs `suspectra fix` finds a change that all tests accept, and how often it is right.

    python benchmarks/fixes.py small
    python benchmarks/fixes.py quixbugs --quixbugs FOLDER
    python benchmarks/fixes.py small --first --seconds 60 --without pruning
    python benchmarks/fixes.py small --ranks

FOLDER is a checkout of github.com/jkoppel/QuixBugs: 40 programs of some lines, each with a fault and tests. A test that
takes more than a second of processor time fails there, and one that does so with the correction is left out. Right is
a fix that equals the published correction on all tests of the program and on 1,000 inputs that are made from theirs. Of
a program with `faults.txt`, a fix on a faulty line counts as at the fault. `--without` leaves a part of the search out:
templates, ingredients, synthesis, guards, insertion, pruning, order, pairs, or forks of a test where it comes to the
altered function. With `--first` a search ends at the first fix: how many changes that takes depends little on how fast
the machine is. `--only` chooses programs by globs. `--ranks` tells what fixes add to a ranking: the ranks of the best
faulty statements, ties at their middle, before any experiment, after `suspectra investigate` for as many seconds, and
after a search for fixes besides.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from faulty_subjects import FAULTS, LEFT_OUT, Subject, fits, subjects
from state_based import TOP, Measured

from suspectra.cli.rerun import suspicious_tests
from suspectra.evidence.discovery import find_source
from suspectra.experiments.inquiry import RerunSetup
from suspectra.fixes.diff import edited
from suspectra.fixes.fix import Fix, in_order
from suspectra.fixes.search import ALL_PARTS, FixInquiry

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
LIMIT = """\
import signal

import pytest


@pytest.fixture(autouse=True)
def limit():
    def late(*_):
        raise TimeoutError("the test takes more than a second")

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
"""
COMPARE = Path(__file__).parent / "compare_programs.py"


@dataclass
class Result:
    """What was found for a program."""

    name: str
    fixes: int = 0
    at_fault: int = 0  # the number of the first fix on a faulty line; 0 for none
    right: int = 0  # the number of the first one that is right; 0 for none, -1 where that is not known
    first_s: float = 0.0
    tried: int = 0
    pruned: int = 0
    seconds: float = 0.0
    processor_s: float = 0.0  # of all processes together
    problem: str = ""
    shown: str = ""  # the first fix


@dataclass
class Limits:
    """How far a search goes, and with what."""

    seconds: float
    parts: list[str]
    most: float = math.inf  # fixes of a group


def searched(folder: Path, limits: Limits) -> tuple[FixInquiry, list[tuple[float, Fix]], float]:
    """The search, what it has found after how many seconds, and the processor time that it took."""
    evidence = find_source(folder, edges=True).read()
    tests, suspicion = suspicious_tests(evidence, folder, ())
    setup = RerunSetup(folder, (*PYTEST, *importing(folder)))
    inquiry = FixInquiry(setup, tests, suspicion, seconds=limits.seconds, parts=limits.parts, most=limits.most)
    began, used = time.monotonic(), sum(os.times()[:4])
    found = [(time.monotonic() - began, fix) for fix in inquiry.steps()]
    return inquiry, found, sum(os.times()[:4]) - used


def record(folder: Path, *arguments: str) -> None:
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, *importing(folder), "--tb=no", *arguments]
    subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=600)


def importing(folder: Path) -> tuple[str, ...]:
    """What lets tests import the program of a folder, and not one that is installed."""
    return "-o", f"pythonpath={folder} {folder / 'src'}"


def quixbugs_subject(source: Path, name: str, folder: Path, programs: str = "python_programs") -> None:
    """A folder with one program, its tests and what they need."""
    (folder / "python_programs").mkdir(parents=True)
    for file in (f"{name}.py", "node.py"):
        if (source / programs / file).exists():
            shutil.copy(source / programs / file, folder / "python_programs" / file)
    (folder / "python_testcases").mkdir()
    for file in (f"test_{name}.py", "load_testdata.py", "node.py"):
        shutil.copy(source / "python_testcases" / file, folder / "python_testcases" / file)
    cases = source / "json_testcases" / f"{name}.json"
    (folder / "json_testcases").mkdir()
    if cases.exists():
        shutil.copy(cases, folder / "json_testcases")
    (folder / "conftest.py").write_text((source / "conftest.py").read_text() + "\n\n" + LIMIT)


def left_out(source: Path, name: str, above: Path) -> tuple[str, ...]:
    """The options that leave out the tests that the correction does not pass."""
    folder = above / "correct"
    quixbugs_subject(source, name, folder, "correct_python_programs")
    words = [*PYTEST, *importing(folder), "--tb=no", "-rf"]
    said = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=600, text=True).stdout
    failed = re.findall(r"^FAILED (.*?)(?: - .*)?$", said, re.MULTILINE)
    return tuple(f"--deselect={one}" for one in failed)


def faulty_lines(wrong: Path, right: Path) -> set[int]:
    """The lines of a program that its correction changes; for what is missing the line where it belongs."""
    from difflib import SequenceMatcher

    def code(path: Path) -> list[str]:
        text = path.read_text()
        tree = ast.parse(text)
        last = max(node.end_lineno or 0 for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
        return [line.rstrip() for line in text.split("\n")[:last]]

    before, after = code(wrong), code(right)
    found: set[int] = set()
    for kind, begin, end, _, _ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            found |= set(range(begin + 1, end + 1)) or {begin, begin + 1}
    return found


def measure_quixbugs(source: Path, name: str, limits: Limits) -> Result:
    result = Result(name)
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / name
        quixbugs_subject(source, name, folder)
        record(folder, f"python_testcases/test_{name}.py", *left_out(source, name, Path(above)))
        inquiry, found, result.processor_s = searched(folder, limits)
        fill(result, inquiry, found)
        wrong, right = (source / place / f"{name}.py" for place in ("python_programs", "correct_python_programs"))
        lines = faulty_lines(wrong, right)
        for number, fix in enumerate(in_order([fix for _, fix in found]), 1):
            if (
                not result.at_fault
                and fix.file.endswith(f"{name}.py")
                and lines & set(range(fix.line, fix.end_line + 1))
            ):
                result.at_fault = number
            if not result.right and number <= 10:
                changed = Path(above) / f"{name}.py"
                changed.write_bytes(edited(wrong.read_bytes(), fix.candidates))
                if equal(source, name, changed, right):
                    result.right = number
    return result


def equal(source: Path, name: str, changed: Path, right: Path) -> bool:
    """Whether a program does what the correction does."""
    words = [sys.executable, str(COMPARE), str(source), name, str(changed), str(right)]
    ended = subprocess.run(words, capture_output=True, check=False, timeout=300)
    return ended.returncode == 0


def fill(result: Result, inquiry: FixInquiry, found: list[tuple[float, Fix]]) -> None:
    result.fixes, result.first_s = len(found), round(found[0][0], 2) if found else 0.0
    result.tried, result.pruned, result.seconds = inquiry.tried, inquiry.pruned, round(inquiry.elapsed, 1)
    result.problem = "; ".join(problem.cause for problem in inquiry.problems)[:200]
    if found:
        first = in_order([fix for _, fix in found])[0]
        edits = " and ".join(one.edit.text.strip() for one in first.candidates)
        result.shown = f"{first.file}:{first.line} {first.kind}: {edits}"


def measure_folder(name: str, folder: Path, limits: Limits) -> Result:
    result = Result(name, right=-1)
    words = [word for line in (folder / FAULTS).read_text().splitlines() for word in line.partition("#")[0].split()]
    faults = {tuple(word.split(":")) for word in words}
    with tempfile.TemporaryDirectory() as above:
        copy = Path(above) / folder.name
        shutil.copytree(folder, copy, ignore=LEFT_OUT)
        record(copy)
        inquiry, found, result.processor_s = searched(copy, limits)
        fill(result, inquiry, found)
        for number, fix in enumerate(in_order([fix for _, fix in found]), 1):
            on = {(one.file, str(line)) for one in fix.candidates for line in range(one.line, one.end_line + 1)}
            if not result.at_fault and on & faults:
                result.at_fault = number
    return result


@dataclass
class Ranks:
    """The rank of the best faulty statement of a program in each ranking."""

    name: str
    evidence: float = 0.0
    investigated: float = 0.0
    with_fixes: float = 0.0
    problem: str = ""


def measure_ranks(subject: Subject, limits: Limits) -> Ranks:
    with tempfile.TemporaryDirectory() as above:
        measured = Measured(subject, Path(sys.executable), Path(above) / subject.folder.name)
        before = measured.ranks("evidence")
        investigated = measured.with_new_experiments("investigation", limits.seconds)
        searched(measured.workspace, limits)
        after = measured.ranks("investigation")
        problem = str(investigated.get("problem", ""))
    return Ranks(subject.name, before["rank"], investigated["rank"], after["rank"], problem)


def ranking_table(results: list[Ranks]) -> None:
    ranked = [one for one in results if not one.problem]
    print(f"{len(ranked):3} programs {'':20} mean    MRR  " + "  ".join(f"Top-{most}" for most in TOP))
    for name in ("evidence", "investigated", "with_fixes"):
        ranks = [getattr(one, name) for one in ranked]
        top = "  ".join(f"{sum(rank <= most for rank in ranks):5}" for most in TOP)
        print(f"{name:32} {fmean(ranks):6.2f} {fmean(1 / rank for rank in ranks):6.3f} {top}")
    print(json.dumps([asdict(one) for one in results]))


def table(results: list[Result]) -> None:
    print(f"{'program':32} fixes  at fault  right  first s    run  pruned   run/s  first fix")
    for one in results:
        rate = one.tried / max(one.seconds, 0.1)
        right = one.right if one.right > 0 else "-"
        said = one.shown[:70] if one.fixes else one.problem[:80]
        print(
            f"{one.name:32} {one.fixes:5} {one.at_fault or '-':>9} {right:>6} {one.first_s:8.1f} {one.tried:6}"
            f" {one.pruned:7} {rate:7.0f}  {said}"
        )
    count = len(results)
    fixed = sum(one.fixes > 0 for one in results)
    print(
        f"{fixed} of {count} with a fix; {sum(one.at_fault > 0 for one in results)} with one at the fault, first in"
        f" {sum(one.at_fault == 1 for one in results)}; right first in {sum(one.right == 1 for one in results)},"
        f" among ten in {sum(one.right > 0 for one in results)}"
    )
    if fixed:
        run = median(one.tried for one in results if one.fixes)
        print(f"{run:.0f} changes run for a program with a fix, in the middle")
    spent, processor_s = (sum(getattr(one, name) for one in results) for name in ("seconds", "processor_s"))
    runs, pruned = (sum(getattr(one, name) for one in results) for name in ("tried", "pruned"))
    print(
        f"{runs / spent:.0f} candidates run a second, {(runs + pruned) / spent:.0f} with those that were left out;"
        f" {(runs + pruned) / max(processor_s, 0.1):.0f} of these a second of processor time"
    )
    print(json.dumps({"fixed": fixed, "of": count, "results": [asdict(one) for one in results]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="+", help="quixbugs, or families of faulty_subjects.py, such as small.")
    parser.add_argument("--quixbugs", type=Path, help="A checkout of QuixBugs.")
    parser.add_argument("--corpus", type=Path, help="A corpus, for families that are rebuilt after it.")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/suspectra-fixes"))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--without", action="append", choices=ALL_PARTS, default=[])
    parser.add_argument("--first", action="store_true", help="End each search at the first fix.")
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1, help="Programs at a time.")
    chosen = parser.parse_args()
    parts = [part for part in ALL_PARTS if part not in chosen.without]
    limits = Limits(chosen.seconds, parts, 1 if chosen.first else math.inf)
    for family in chosen.families:
        if chosen.ranks:
            ranked = subjects([family], chosen.only, chosen.cache, chosen.corpus)
            ranking_table([ranks_or_problem(one, limits) for one in ranked])
            continue
        measure: dict[str, Callable[[], Result]] = {}
        if family == "quixbugs":
            if chosen.quixbugs is None:
                sys.exit("name a checkout of QuixBugs with --quixbugs")
            for path in sorted((chosen.quixbugs / "python_testcases").glob("test_*.py")):
                name = path.stem.removeprefix("test_")
                if fits(name, chosen.only):
                    measure[name] = partial(measure_quixbugs, chosen.quixbugs, name, limits)
        else:
            for one in subjects([family], chosen.only, chosen.cache, chosen.corpus):
                measure[one.name] = partial(measure_folder, one.name, one.folder, limits)
        with ThreadPoolExecutor(chosen.jobs) as pool:
            table(list(pool.map(guarded, measure, measure.values())))


def ranks_or_problem(subject: Subject, limits: Limits) -> Ranks:
    try:
        one = measure_ranks(subject, limits)
    except Exception as error:
        one = Ranks(subject.name, problem=f"{type(error).__name__}: {error}")
    ranks = f"{one.evidence:7.4g} {one.investigated:7.4g} {one.with_fixes:7.4g}"
    print(f"{one.name:32} {ranks}  {one.problem[:80]}", flush=True)
    return one


def guarded(name: str, measure: Callable[[], Result]) -> Result:
    try:
        return measure()
    except Exception as error:
        return Result(name, problem=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
