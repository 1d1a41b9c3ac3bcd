"""Published ranks of FauxPy beside those of Suspectra, on the same bugs of BugsInPy.

    python benchmarks/bugsinpy/table.py               # all kept bugs
    python benchmarks/bugsinpy/table.py 'thefuck_*'

FauxPy's are those that its authors published, of single techniques and of their averages (`AvgAlfa`: Ochiai, DStar,
Metallaxis, MUSE, predicate switching and stack traces; `AvgSbst`: Ochiai, DStar and stack traces). Ours are computed
here from what the tests executed, but for `investigation`, which was measured when the bugs were rebuilt. A rank is
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
SHOWN = ("Ochiai", "DStar", "Metallaxis", "AvgAlfa")
"""Those of them that the table of bugs has columns for."""

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
            found[level]["investigation"] = float(row[f"investigation_{level}"])
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
        print(f"\n{level}s, ranks of each bug (FauxPy's names have capitals)\n")
        print_table(
            ["bug", "tests", "failing", *SHOWN, *TECHNIQUES, "investigation"],
            [
                [row["subject"], row["tests"], row["failing"], *map(in_short, map(one.get, columns()))]
                for row, one in zip(rows, ranks, strict=True)
            ],
        )
        print(f"\n{level}s, {len(rows)} bugs\n")
        names = (*THEIRS, *TECHNIQUES, "investigation", *(name + BEGUN for name in TECHNIQUES))
        every = {name: [one[name] for one in ranks if name in one] for name in names}
        summary = {name: figures(values) | {"bugs": len(values)} for name, values in every.items() if values}
        print_table(
            ["", "bugs", *(f"Top-{n}" for n in TOP), "MRR", "median rank"],
            [
                [name, *(str(one[key]) for key in ("bugs", *map("top_{}".format, TOP))), *in_words(one)]
                for name, one in summary.items()
            ],
        )
        printed[level] = summary
    print("\n" + json.dumps(printed))


def in_words(one: Mapping[str, float]) -> tuple[str, str]:
    return f"{one['mrr']:.3f}", in_short(one["median"])


def columns() -> tuple[str, ...]:
    return (*SHOWN, *TECHNIQUES, "investigation")


def in_short(rank: float | None) -> str:
    return "" if rank is None else f"{rank:.1f}".removesuffix(".0")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
