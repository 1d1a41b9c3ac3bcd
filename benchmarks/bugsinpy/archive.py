"""Keeping what a recording says of a bug in the format of a corpus: facts, and nothing of the sources.

What techniques read in sources, such as the kind of a statement, is kept as well. So a kept subject is ranked as its
recording is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bugs import Bug

from suspectra.base.arrays import Ints, Row
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.evidence import Evidence
from suspectra.program.python.definitions import definitions
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.program.statements import statements
from suspectra.spectrum import Elements


class NotThere(Exception):
    """Why a bug can't be kept."""


def keep(evidence: Evidence, bug: Bug, path: Path, provenance: dict[str, Any]) -> None:
    """Write the archive of a bug and its tracebacks. Only statements of what FauxPy ranked are kept.

    Raises NotThere where no statement is faulty.
    """
    spectrum = evidence.spectrum(include_tests=True)
    elements, edges = spectrum.elements, spectrum.edges
    ranked = np.array([bug.ranks(file) for file in elements.files], bool)
    wanted = np.flatnonzero(ranked[elements.file])
    column = np.full(len(elements), -1, np.int64)
    column[wanted] = np.arange(len(wanted))
    faulty = np.unique(column[_faulty(bug, elements)])
    faulty = faulty[faulty >= 0]
    if not len(faulty):
        raise NotThere("no statement of a measured file is faulty")

    sources = SourcesAsRun.for_program(evidence.program)
    suspected = np.flatnonzero((spectrum.counts.ef > 0) & ranked[elements.file])
    reading = tuple(np.unique(elements.file[suspected]).tolist())
    found = definitions(elements, sources, reading)
    of_reader = np.repeat(found.reader, np.diff(found.start))
    kept = (column[of_reader] >= 0) & (column[found.element[found.read]] >= 0)
    defined = np.flatnonzero(column[found.element] >= 0)
    readers, starts = np.unique(column[of_reader[kept]], return_index=True)
    functions = [elements.functions[number] for number in range(len(elements.functions))]
    arrays: dict[str, Any] = {
        "tests": np.array(spectrum.tests),
        "outcomes": spectrum.failed.astype(np.uint8),
        "elements": np.array([f"{elements.files[elements.file[one]]}:{elements.line[one]}" for one in wanted]),
        "end_line": elements.end_line[wanted],
        "function": elements.function[wanted],
        "function_names": np.array([f"{elements.files[f.file]}|{f.name}|{f.line}|{f.end_line}" for f in functions]),
        "faulty": faulty,
        "kind": statements(elements, edges, (), sources).kind[wanted],
        "definition": column[found.element[defined]],
        "definition_reader": readers,
        "definition_start": np.append(starts, np.count_nonzero(kept)),
        "definition_read": np.searchsorted(defined, found.read[kept]),
        **_rows("cov", spectrum.rows, column),
        "meta": json.dumps(provenance),
    }
    if edges is not None and spectrum.edge_rows is not None:
        own = np.flatnonzero(ranked[edges.file])
        place = np.full(len(edges), -1, np.int64)
        place[own] = np.arange(len(own))
        conditions = [
            (file, *one) for file in np.flatnonzero(ranked) if edges.conditions for one in edges.conditions[file]
        ]
        arrays |= {
            "functions": np.array(elements.files),
            "edges": np.stack([edges.file, edges.source, edges.target], axis=1)[own].astype(np.int32),
            "conditions": np.array(conditions, np.int32).reshape(-1, 5),
            **_rows("edge", spectrum.edge_rows, place),
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{name: _narrow(array) for name, array in arrays.items()})
    stacks = [
        {"test": test, "frames": [list(frame) for frame in stack.frames]}
        for test, stack in sorted(evidence.stacks.items())
        if stack is not None
    ]
    with open(path.with_suffix(".tb.json.gz"), "wb") as out, gzip.GzipFile("", "wb", mtime=0, fileobj=out) as packed:
        packed.write(json.dumps(stacks).encode())


def _faulty(bug: Bug, elements: Elements) -> Ints:
    places = [f"{fault.path}:{line}" for fault in bug.faults for line in fault.lines]
    found, _ = FaultList.parse(bug.name, " ".join(places)).elements(elements)
    return np.concatenate([np.zeros(0, np.int64), *found])


def _rows(name: str, rows: Sequence[Row], column: Ints) -> dict[str, Ints]:
    """The arrays of the columns of each test; equal rows are stored once."""
    number: dict[bytes, int] = {}
    unique: list[Ints] = []
    of_test = []
    for row in rows:
        own = column[row]
        own = own[own >= 0].astype(np.int32)
        if own.tobytes() not in number:
            number[own.tobytes()] = len(unique)
            unique.append(own)
        of_test.append(number[own.tobytes()])
    return {
        f"{name}_row": np.array(of_test, np.int32),
        f"{name}_indptr": np.cumsum([0, *map(len, unique)]),
        f"{name}_indices": np.concatenate([np.zeros(0, np.int32), *unique]),
    }


def _narrow(array: Any) -> Any:
    """The same numbers in the narrowest type."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu" or not array.size:
        return array.astype(np.int32) if array.dtype.kind == "i" else array
    return array.astype(np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))
