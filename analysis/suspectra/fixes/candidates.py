"""The candidates of a function: everything that the templates make of its places, the likeliest first."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.days import shifted
from suspectra.fixes.expressions import expression_edits, fitting, is_asked
from suspectra.fixes.fix_site import FixSite, FunctionScope, fix_sites
from suspectra.fixes.statements import statement_edits
from suspectra.mutation.edit import Edit

PARTS = ("templates", "ingredients", "synthesis", "guards", "insertion")
"""The parts of the search that make candidates."""

_PART_OF = {
    "ingredient": "ingredients",
    "target": "ingredients",
    "synthesis": "synthesis",
    "condition": "synthesis",
    "guarded": "guards",
    "insertion": "insertion",
}


def candidates(
    file: str,
    scope: FunctionScope,
    wanted: Callable[[int], bool],
    parts: Collection[str] = PARTS,
) -> Iterator[Candidate]:
    """The candidates of the statements of a function that begin on wanted lines."""
    seen: set[Edit] = set()
    for place in fix_sites(scope):
        line, end_line = place.head
        if not wanted(line):
            continue
        for candidate in _at_site(file, place, line, end_line):
            if part_of(candidate.kind) in parts and candidate.edit not in seen:
                seen.add(candidate.edit)
                yield candidate


def part_of(kind: str) -> str:
    """The part of the search that a template belongs to."""
    return _PART_OF.get(kind, "guards" if kind.startswith("guard ") else "templates")


def _at_site(file: str, place: FixSite, line: int, end_line: int) -> Iterator[Candidate]:
    scope, source = place.scope, place.source
    first_on_its_line = not source.lines[line - 1].encode()[: place.statement.col_offset].strip()
    if isinstance(place.node, ast.stmt):
        for made in statement_edits(place):
            condition = made.condition if first_on_its_line else ""
            yield Candidate(
                file, source, made.edit, made.kind, made.cost, line, end_line, scope.functions, scope.owners,
                old="False" if condition else "", new=condition, is_condition=bool(condition), hides=made.hides,
            )  # fmt: skip
        return
    comparable = first_on_its_line and not place.bound and isinstance(getattr(place.node, "ctx", ast.Load()), ast.Load)
    span, asked = source.span(place.node), is_asked(place)
    hides = _decides_to_raise(place)
    yield from _other_days(file, place, line, end_line, comparable=comparable)
    for text, kind, cost in expression_edits(place):
        computed = comparable and kind != "copy"
        yield Candidate(
            file, source, source.edit(span, text), kind, cost, line, end_line, scope.functions, scope.owners,
            old=place.text if computed else "", new=text if computed else "", is_condition=asked, hides=hides,
            said=_said(place.text, text) if kind == "wrapping" else "", is_definition=scope.is_definition,
        )  # fmt: skip


def _said(old: str, new: str) -> str:
    """What a value is instead, where that is the same function of the old value each time."""
    return next((f"`{old}` is {what}" for form, what in _SAID.items() if new == form.format(old)), "")


_SAID = {
    "{} + 1": "one more",
    "{} - 1": "one less",
    "-{}": "negated",
    "{}[1:]": "without its first item",
    "{}[:-1]": "without its last item",
    "{} * 2": "doubled",
}


def _other_days(file: str, place: FixSite, line: int, end_line: int, *, comparable: bool) -> Iterator[Candidate]:
    """A date that is one day later or earlier."""
    scope, source, node = place.scope, place.source, place.node
    day = scope.ingredients.day
    readable = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if (
        day is None
        or scope.is_definition
        or not readable
        or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    ):
        return
    if isinstance(place.parent, ast.Attribute) or (isinstance(place.parent, ast.Call) and node is place.parent.func):
        return
    for text, run_text, new, said in shifted(place.text, day):
        if (fitted := fitting(place, text)) is not None:
            opened, closed = ("(", ")") if fitted != text else ("", "")
            handed_on = isinstance(place.parent, ast.Call)  # it is better changed where it is used
            yield Candidate(
                file, source, source.edit(source.span(node), fitted), "another day", 2.4 if handed_on else 1.6,
                line, end_line, scope.functions, scope.owners,
                old=place.text if comparable else "", new=new if comparable else "",
                said=said, run_text=f"{opened}{run_text}{closed}", imports=day.imports,
            )  # fmt: skip


def _decides_to_raise(place: FixSite) -> bool:
    """Whether an expression is a part of a condition that leads to an exception."""
    statement = place.statement
    if isinstance(statement, ast.Assert):
        return True
    if not isinstance(statement, ast.If) or not any(one is place.node for one in ast.walk(statement.test)):
        return False
    return any(arm and isinstance(arm[-1], ast.Raise) for arm in (statement.body, statement.orelse))
