"""Variables of a function that only changes of it define: what reads one needs what sets it.

The name may be known elsewhere in the file, so that nobody sees by the names of files that it is new there.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from suspectra.changes.definitions import parsed
from suspectra.changes.units import ChangeUnit, FileDifference, names_in
from suspectra.program.languages import is_python


def local_needs(differences: Iterable[FileDifference], units: Sequence[ChangeUnit]) -> Iterator[tuple[int, int]]:
    """Pairs of changes, by their numbers: the first one reads a variable that the second one newly sets."""
    number = {unit: at for at, unit in enumerate(units)}
    for difference in differences:
        if not is_python(difference.path) or not difference.pieces:
            continue
        own = [unit for unit in difference.units if unit.end_line >= unit.line and not unit.moved_from]
        for node in ast.walk(parsed(difference.after)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = [unit for unit in own if node.lineno <= unit.line <= (node.end_lineno or node.lineno)]
                for reads, sets in _pairs(node, inside) if len(inside) > 1 else ():
                    yield number[reads], number[sets]


def _pairs(
    function: ast.FunctionDef | ast.AsyncFunctionDef, inside: Sequence[ChangeUnit]
) -> Iterator[tuple[ChangeUnit, ChangeUnit]]:
    lines = {line: unit for unit in inside for line in range(unit.line, unit.end_line + 1)}
    set_by: dict[str, set[ChangeUnit | None]] = defaultdict(set)  # None for what did not change
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            set_by[node.id].add(lines.get(node.lineno))
        elif isinstance(node, ast.arg):
            set_by[node.arg].add(None)
    for name, setting in set_by.items():
        if any(unit is None or name in names_in(unit.before) for unit in setting):
            continue
        for unit in inside:
            if unit not in setting and name in names_in(unit.after) - names_in(unit.before):
                yield from ((unit, one) for one in setting if one is not None)
