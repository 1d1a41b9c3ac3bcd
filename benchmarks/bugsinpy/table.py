"""Published ranks of FauxPy beside those of Suspectra, on the same bugs of BugsInPy.

    python benchmarks/bugsinpy/table.py               # all kept bugs
    python benchmarks/bugsinpy/table.py 'thefuck_*'

FauxPy's are those that its authors published, of single techniques and of their averages (`AvgAlfa`: Ochiai, DStar,
Metallaxis, MUSE, predicate switching and stack traces; `AvgSbst`: Ochiai, DStar and stack traces). Ours are computed
here from what the tests executed, but for `investigation`, which was measured when the bugs were rebuilt, then with
functions in the order of their first statements. A rank is
the number of places that one reads until the first faulty one, on average over the orders of a tie (`scores.py`).
Theirs count lines, ours statements: a faulty line may be within a statement of several lines, where FauxPy often has
none. The rows with `begun` count such faults as not found.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from statistics import mean, median
from typing import Any

from bugs import LEVELS
from scores import statement_rank
from subjects import FOLDER, RANKS, begun, faults_at, ranks_of, read_index_rows

from suspectra.evaluation.corpus import SubjectFile, read_subject
from suspectra.techniques import make_technique

TECHNIQUES = ("evidence", "ochiai", "dstar")
THEIRS = ("Ochiai", "DStar", "Metallaxis", "Muse", "PS", "ST", "AvgSbst", "AvgAlfa")
INVESTIGATION = "investigation"
SHOWN = ("Ochiai", "DStar", "Metallaxis", "AvgAlfa", *TECHNIQUES, INVESTIGATION)
"""The techniques that the table of bugs has columns for; FauxPy's names have capitals."""

BEGUN = ", begun"
TOP = (1, 3, 5, 10)
Ranks = dict[str, float]


def measured(row: Mapping[str, str]) -> dict[str, Ranks]:
    """For each level, the ranks of a kept bug."""
    path = FOLDER / row["path"]
    subject = read_subject(SubjectFile(row["family"], row["subject"], path))
    found: dict[str, Ranks] = {level: {} for level in LEVELS}
    faults = faults_at(subject, path, subject.spectrum.elements)
    for name in TECHNIQUES:
        report = make_technique(name).localize(subject.spectrum, subject.program)
        for level, rank in zip(LEVELS, ranks_of(report, faults), strict=True):
            found[level][name] = rank
        found["statement"][name + BEGUN] = statement_rank(report, begun(subject, path, faults[0]))
    for level in LEVELS:
        if row[f"investigation_{level}"]:
            found[level][INVESTIGATION] = float(row[f"investigation_{level}"])
    return found


def published() -> dict[tuple[str, str], Ranks]:
    with RANKS.open(newline="", encoding="utf-8") as file:
        return {(row["bug"], row["level"]): {name: float(row[name]) for name in THEIRS} for row in csv.DictReader(file)}


def figures(ranks: Sequence[float]) -> dict[str, float]:
    top = {f"top_{n}": sum(rank <= n for rank in ranks) for n in TOP}
    return {**top, "mrr": round(mean(1 / rank for rank in ranks), 3), "median": median(ranks)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="names of bugs, or globs; all unless given")
    wanted = parser.parse_args().bugs
    rows = [
        row
        for row in read_index_rows()
        if not wanted or any(fnmatchcase(row["subject"], pattern) for pattern in wanted)
    ]
    theirs = published()
    with ProcessPoolExecutor() as pool:
        own = list(pool.map(measured, rows))
    printed: dict[str, Any] = {"bugs": len(rows)}
    for level in LEVELS:
        ranks = [theirs[row["subject"], level] | found[level] for row, found in zip(rows, own, strict=True)]
        print(f"\n{level}s, ranks of each bug\n")
        lines = [
            [row["subject"], row["tests"], row["failing"], *(in_short(one.get(name)) for name in SHOWN)]
            for row, one in zip(rows, ranks, strict=True)
        ]
        print_table(["bug", "tests", "failing", *SHOWN], lines)
        printed[level] = print_figures(f"{level}s", ranks)
        altered = [one for one in ranks if INVESTIGATION in one]
        if 0 < len(altered) < len(ranks):
            printed[f"{level}, with experiments"] = print_figures(f"{level}s, bugs with experiments", altered)
    print("\n" + json.dumps(printed))


def print_figures(title: str, ranks: Sequence[Ranks]) -> dict[str, dict[str, float]]:
    """Print how many faults are among the first, for each technique that ranked all of these bugs."""
    names = (*THEIRS, *TECHNIQUES, *(name + BEGUN for name in TECHNIQUES), INVESTIGATION)
    found = {name: figures([one[name] for one in ranks]) for name in names if all(name in one for one in ranks)}
    print(f"\n{title}: {len(ranks)}\n")
    lines = [
        [name, *(str(one[f"top_{n}"]) for n in TOP), f"{one['mrr']:.3f}", in_short(one["median"])]
        for name, one in found.items()
    ]
    print_table(["", *(f"Top-{n}" for n in TOP), "MRR", "median rank"], lines)
    return found


def in_short(rank: float | None) -> str:
    return "" if rank is None else f"{rank:.1f}".removesuffix(".0")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
