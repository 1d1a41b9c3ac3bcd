"""Changes that belong to one definition: all of them together, or none, leave a text that can be parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from suspectra.changes.definitions import parsed
from suspectra.changes.units import ChangeUnit, FileDifference, leading_lines
from suspectra.paths.delta_debugging import Differences
from suspectra.program.languages import is_c, is_python


def blocks(differences: Iterable[FileDifference], units: Sequence[ChangeUnit]) -> list[Differences]:
    """Put changes together, by their numbers, that are in one statement of a module or class, in either text.

    Of C it is one function; of other files, each change is alone.
    """
    number = {unit: at for at, unit in enumerate(units)}
    parent = list(range(len(units)))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = one = parent[parent[one]]
        return one

    for difference in differences:
        if (is_python(difference.path) or is_c(difference.path)) and difference.pieces:
            first: dict[tuple[bool, int], int] = {}
            for unit, statement in _statements_of_units(difference):
                parent[root(number[unit])] = root(first.setdefault(statement, number[unit]))
    found: dict[int, set[int]] = {}
    for one in range(len(units)):
        found.setdefault(root(one), set()).add(one)
    return [frozenset(several) for several in found.values()]


def _statements_of_units(difference: FileDifference) -> Iterator[tuple[ChangeUnit, tuple[bool, int]]]:
    """Each change with the statements in which it is, by the text and their first line there."""
    for is_new, text in enumerate((difference.before, difference.after)):
        found = _statements(parsed(text).body) if is_python(difference.path) else functions_of_c(text)
        of_line = {line: lines.start for lines in found for line in lines}
        at = 1
        for piece in difference.pieces:
            part = piece.after if is_new else piece.before
            end = at + part.count("\n") + (not part.endswith("\n") and bool(part))
            if piece.unit is not None:
                for line in range(at + leading_lines(part), end):
                    if line in of_line:
                        yield piece.unit, (bool(is_new), of_line[line])
            at = end


def functions_of_c(text: bytes | None) -> Iterator[range]:
    """The lines of each function, as far as its braces begin lines or end the line of its name: nothing is parsed."""
    lines = (text or b"").decode(errors="replace").splitlines()
    begin = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("}") and begin:
            yield range(begin, number + 1)
            begin = 0
        elif not begin and line.rstrip().endswith("{") and not line[:1].isspace():
            begin = number
            while begin > 1 and (before := lines[begin - 2].rstrip()) and not before.endswith((";", "}", "*/")):
                if before.startswith("#"):
                    break
                begin -= 1


def _statements(body: Sequence[ast.stmt]) -> Iterator[range]:
    """The lines of each statement of a module, and of the header and each statement of a class."""
    for node in body:
        decorators = getattr(node, "decorator_list", ())
        begin, end = min([node.lineno, *(one.lineno for one in decorators)]), (node.end_lineno or node.lineno) + 1
        if isinstance(node, ast.ClassDef):
            yield range(begin, max(node.body[0].lineno, begin + 1))
            yield from _statements(node.body)
        else:
            yield range(begin, end)
