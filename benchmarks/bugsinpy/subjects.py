"""The kept bugs, and the ranks of their faults."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bugs import LEVELS
from scores import Faults, function_rank, statement_rank

from suspectra.evaluation.corpus import INDEX, Subject
from suspectra.report import RankedReport
from suspectra.spectrum import Elements

FOLDER = Path(__file__).parent / "subjects"
RANKS = Path(__file__).parent / "published.csv"
INDEX_FIELDS = (
    "family",
    "subject",
    "path",
    "tests",
    "failing",
    "runs",
    *(f"investigation_{level}" for level in LEVELS),
)


def read_index_rows() -> list[dict[str, Any]]:
    """The rows of the index, with what was measured when the bugs were rebuilt."""
    path = FOLDER / INDEX
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def facts_of(path: Path) -> dict[str, Any]:
    """What the archive says of the bug, beside what its tests execute."""
    with np.load(path, allow_pickle=False) as arrays:
        facts: dict[str, Any] = json.loads(str(arrays["meta"]))
    return facts


def faults_at(subject: Subject, path: Path, elements: Elements) -> tuple[Faults, Faults]:
    """The faulty statements and functions of a subject, among the elements of it or of the recording that it is of."""
    meta = facts_of(path)
    kept = subject.spectrum.elements
    places = [(kept.files[kept.file[one]], int(kept.line[one])) for one in subject.faulty]
    faulty = [element for place in places if (element := elements.at(*place)) is not None]
    known = {(file, name, last): first for file, name, first, last in meta["faulty_functions"]}
    functions = [
        number
        for number, function in enumerate(elements.functions)
        if known.get((elements.files[function.file], function.name.rpartition(".")[2], function.end_line), 1 << 30)
        <= function.line
    ]
    return (
        Faults(np.array(faulty, np.int64), len(meta["faulty_places"]), meta["lines"]),
        Faults(np.array(functions, np.int64), len(meta["faulty_functions"]), meta["functions"]),
    )


def begun(subject: Subject, path: Path, faults: Faults) -> Faults:
    """Of the faulty statements those that begin on a faulty line; the others only contain one."""
    elements, lines = subject.spectrum.elements, {(file, line) for file, line in facts_of(path)["faulty_places"]}
    begins = [(elements.files[elements.file[one]], int(elements.line[one])) in lines for one in faults.faulty]
    return replace(faults, faulty=faults.faulty[begins])


def ranks_of(report: RankedReport, faults: tuple[Faults, Faults]) -> tuple[float, float]:
    """The ranks of the fault among statements and among functions."""
    return statement_rank(report, faults[0]), function_rank(report, faults[1])
