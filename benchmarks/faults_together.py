"""How techniques rank the faults of programs that have several at once, with and without cloning (paper 004, §5).

`suspectra study --faults 2` composes versions of which each was run alone, as the paper does. Here two and three faults
are in one program (`classic_subjects.py`), and its tests are recorded, so that faults may hide each other. Of each
program at most four pairs and four triples are taken of which each fault alone makes some test fail and changes no
number of lines. Up to six failing tests and 57 passing ones are kept.

    python benchmarks/faults_together.py [--cache DIR]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from classic_subjects import (
    CLASSICS,
    MAX_DRAWN,
    PASSING,
    PROGRAMS,
    SEED,
    Arguments,
    Classic,
    function_of,
    write_program,
)
from group_experiments import limited

MAX_PROGRAMS = 4  # of each program, pairs as well as triples
FAILING = 6
FORMULAS = ("ochiai", "op2", "jaccard", "wong2", "tarantula")


def programs(together: int) -> Iterator[tuple[str, Classic, str, str, list[int], list[Arguments]]]:
    """Programs with so many faults: name, what they are made from, both sources, the faulty lines, and arguments."""
    for name, classic in CLASSICS.items():
        correct = (PROGRAMS / f"{name}.py").read_text("utf-8")
        made = 0
        for chosen in combinations(classic.faults, together):
            single = [correct.replace(*fault) for fault in chosen]
            faulty = correct
            for fault in chosen:
                faulty = faulty.replace(*fault)
            lines = [first_difference(correct, one) for one in single]
            if made == MAX_PROGRAMS or len(set(lines)) < together or any(line is None for line in lines):
                continue
            changed = [number for number in lines if number is not None]
            if any(faulty.splitlines()[k - 1] == correct.splitlines()[k - 1] for k in changed):
                continue  # one fault has undone another one
            if cases := drawn(classic, correct, single, faulty):
                made += 1
                yield f"{name}-{made}", classic, correct, faulty, changed, cases


def first_difference(correct: str, faulty: str) -> int | None:
    """The line of a fault, counted from 1; None if it changes the number of lines."""
    before, after = correct.splitlines(), faulty.splitlines()
    if len(before) != len(after):
        return None
    return next((number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]), None)


def drawn(classic: Classic, correct: str, single: list[str], faulty: str) -> list[Arguments]:
    """Arguments with which the program fails and others with which it does not; none if a fault alone has no effect."""
    right, wrong, *alone = (limited(function_of(one, classic.entry)) for one in (correct, faulty, *single))
    failing: list[Arguments] = []
    passing: list[Arguments] = []
    seen = [False] * len(single)
    draw, known = random.Random(SEED), set[str]()
    for _ in range(MAX_DRAWN):
        arguments = classic.draw(draw)
        if repr(arguments) in known:
            continue
        known.add(repr(arguments))
        wanted = right(arguments)
        if wrong(arguments) == wanted:
            passing.append(arguments)
            continue
        due_to = [one(arguments) != wanted for one in alone]
        if len(failing) < FAILING or any(new and not old for new, old in zip(due_to, seen, strict=True)):
            failing.append(arguments)
            seen = [old or new for old, new in zip(seen, due_to, strict=True)]
    return [*failing, *passing[:PASSING]] if all(seen) and passing else []


def record(folder: Path, name: str, classic: Classic, correct: str, faulty: str, cases: list[Arguments]) -> None:
    """Write a program and record its tests, if they are not there yet."""
    if (folder / ".suspectra").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shown = cases if "," in classic.parameters else [value for (value,) in cases]
    write_program(folder, name, classic, correct, faulty, repr(shown))
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
    subprocess.run([*command, "-p", "no:cacheprovider"], cwd=folder, capture_output=True, check=False, timeout=1200)


def study_together(cache: Path, names: Sequence[str]) -> None:
    """Print the tables of programs with two faults and with three."""
    techniques = ", ".join(f'"{name}"' for name in names)
    for together in (2, 3):
        home = cache / f"faults-{together}"
        study = [f'[study]\ntechniques = [{techniques}]\nclone = "both"\n']
        for title, classic, correct, faulty, lines, cases in programs(together):
            name = title.partition("-")[0]
            record(home / title, name, classic, correct, faulty, cases)
            (home / title / "faults.txt").write_text("".join(f"{name}.py:{line}\n" for line in lines), "utf-8")
            subject = {"family": name, "name": title, "workspace": title}
            subject |= {"recording": f"{title}/.suspectra/recording", "faults": f"{title}/faults.txt"}
            values = "".join(f'{key} = "{value}"\n' for key, value in subject.items())
            study.append(f"[[subject]]\n{values}each_fault = true\n")
        (home / "study.toml").write_text("\n".join(study), "utf-8")
        print(f"── {together} faults in each of {len(study) - 1} programs", flush=True)
        command = [sys.executable, "-m", "suspectra", "study", str(home / "study.toml"), "--format", "markdown"]
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="a folder that keeps the programs")
    parser.add_argument("--technique", action="append", help=f"by default {', '.join(FORMULAS)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study_together((options.cache or Path(folder)).absolute(), options.technique or FORMULAS)


if __name__ == "__main__":
    main()
