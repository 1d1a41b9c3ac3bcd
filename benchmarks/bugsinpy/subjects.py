"""The kept bugs, and the ranks of their faults."""

from __future__ import annotations

import csv
import json
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


def faults_at(subject: Subject, path: Path, elements: Elements) -> tuple[Faults, Faults]:
    """The faulty statements and functions of a subject, among the elements of it or of the recording that it is of."""
    with np.load(path, allow_pickle=False) as arrays:
        meta = json.loads(str(arrays["meta"]))
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
        Faults(np.array(faulty, np.int64), meta["faulty_lines"], meta["lines"]),
        Faults(np.array(functions, np.int64), len(meta["faulty_functions"]), meta["functions"]),
    )


def ranks_of(report: RankedReport, faults: tuple[Faults, Faults]) -> tuple[float, float]:
    """The ranks of the fault among statements and among functions."""
    return statement_rank(report, faults[0]), function_rank(report, faults[1])
