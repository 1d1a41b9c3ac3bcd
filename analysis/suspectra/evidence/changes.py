"""What changed since failing tests passed, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.base.english import first_of
from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence
from suspectra.failure_groups.since import Since
from suspectra.runs.experiment import GOING_WITH, UNDO, Experiment
from suspectra.spectrum import Spectrum, changes_by_git

_MAX_LISTED = 8  # lines or names in one sentence


def failing_since(evidence: Evidence) -> dict[str, Since]:
    """Since when tests fail, as far as that is known, by name: from earlier runs, or from runs without changes."""
    assumed = changes_by_git(evidence.changed)
    undone = [one for one in evidence.experiments if one.kind == UNDO]
    return (
        dict.fromkeys(evidence.failed_before, Since.BEFORE)
        | {test: Since.CHANGE for test in evidence.changed if test not in assumed}
        | {one.test: Since.CHANGE for one in undone if one.outcome.repairs}
    )


class ChangedLines(NamedTuple):
    """Lines of a file that changed and run while modules are imported, outside of what failing tests execute."""

    file: str  # relative to the workspace
    lines: tuple[int, ...]  # where the statements begin, ascending


def changed_at_import(evidence: Evidence, ranked: Bools | None = None) -> tuple[ChangedLines, ...]:
    """What changed in code that runs at import: constants, definitions, what they are made of.

    By file. Statements that a failing test executes, for which they changed, are in the ranking instead.
    """
    if not evidence.changed:
        return ()
    elements = evidence.elements
    found: Bools = np.zeros(len(elements), bool)
    for changed in {id(row): row for row in evidence.changed.values()}.values():
        found[changed] = True
    imported = np.zeros(len(elements), bool)
    imported[evidence.at_import] = True
    for test, row in zip(evidence.tests, evidence.rows, strict=True):
        if test.name in evidence.changed:
            imported[row] = False
    if ranked is not None:
        imported &= ~ranked
    where = np.flatnonzero(found & imported)
    files, lines = elements.file[where], elements.line[where]
    return tuple(
        ChangedLines(elements.files[file], tuple(lines[files == file].tolist())) for file in np.unique(files).tolist()
    )


def besides(evidence: Evidence, spectrum: Spectrum | None = None) -> tuple[str, ...]:
    """What changed outside of what failing tests execute, in sentences, that first which broke tests.

    Foreign names among them; empty where nothing is known to have changed. What a ranking of the spectrum shows is not
    said once more.
    """
    elements = evidence.elements

    def is_shown(one: Experiment) -> bool:
        found = elements.touched(one.file, one.line, one.end_line)
        return spectrum is not None and any(spectrum.counts.ef[at] for at in found)

    undone = [one for one in evidence.undone_elsewhere if not is_shown(one)]
    found = list(_without_changes(undone))
    said = {(one.file, line) for one in evidence.undone_elsewhere for line in range(one.line, one.end_line + 1)}
    at_import = [
        one._replace(lines=tuple(line for line in one.lines if (one.file, line) not in said))
        for one in changed_at_import(evidence, None if spectrum is None else spectrum.changed_for > 0)
    ]
    if imported := [f"{one.file}:{_listed(map(str, one.lines))}" for one in at_import if one.lines]:
        found.append(f"Also changed, in code that runs at import: {_listed(imported, '; ')}.")
    if evidence.replaced:
        found.append(f"Also changed: {_listed(map(str, evidence.replaced))}.")
    return tuple(found)


def broken_elsewhere(evidence: Evidence, names: Collection[str] | None = None) -> Iterator[str]:
    """The changes without which some tests pass, or any, and which no suspect shows, as those of a file of data."""
    return _without_changes(one for one in evidence.undone_elsewhere if names is None or one.test in names)


def _without_changes(undone: Iterable[Experiment]) -> Iterator[str]:
    alone, together = dict[Location, list[str]](), dict[str, list[Location]]()
    for one in undone:
        if one.place != GOING_WITH:
            at, test = Location(one.file, one.line, one.line), one.test.rpartition("::")[2]
            if one.action == "1":  # changes that were undone with it
                alone.setdefault(at, []).append(test)
            else:
                together.setdefault(test, []).append(at)
    found: dict[tuple[Location, ...], list[str]] = {(at,): tests for at, tests in alone.items()}
    for test, several in together.items():
        found.setdefault(tuple(several), []).append(test)
    for places, tests in found.items():
        change = "change" if len(places) == 1 else "changes"
        passes = "passes" if len(tests) == 1 else "pass"
        yield f"Without your {change} at {first_of(list(map(str, places)))} {first_of(tests)} {passes}."


def _listed(names: Iterable[str], between: str = ", ") -> str:
    names = list(names)
    more = f"{between}and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return between.join(names[:_MAX_LISTED]) + more
