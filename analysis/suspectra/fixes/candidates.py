"""The candidates of a function: everything that the templates make of its places.

There are tens of thousands in a function of twenty lines, and most are never run. So templates make drafts, in stages
of which it is known what they cost at least, and a draft is written down when it is its turn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.days import shifted
from suspectra.fixes.expressions import Made, expression_stages, fitting, is_asked, parsed
from suspectra.fixes.fix_site import FixSite, FunctionScope, fix_sites
from suspectra.fixes.statements import StatementEdit, head_edits, statement_stages
from suspectra.mutation.edit import Edit
from suspectra.mutation.parsed_source import TextSpan

PARTS = ("templates", "ingredients", "synthesis", "guards", "insertion")
"""The parts of the search that make candidates."""

LEAST_COST = 1.0
"""What every edit costs at least."""

_PART_OF = {
    "ingredient": "ingredients",
    "target": "ingredients",
    "synthesis": "synthesis",
    "condition": "synthesis",
    "guarded": "guards",
    "insertion": "insertion",
}


class Draft(NamedTuple):
    """A candidate that is not written down yet: most are never needed."""

    cost: float
    write: Callable[[], Candidate | None]  # None where it would be no program


class Stage(NamedTuple):
    """The drafts of one template at one place."""

    least: float  # what each costs at least
    drafts: Callable[[], Iterator[Draft]]


def candidates(
    file: str,
    scope: FunctionScope,
    wanted: Callable[[int], bool],
    parts: Collection[str] = PARTS,
) -> Iterator[Candidate]:
    """The candidates of the statements of a function that begin on wanted lines, in no order."""
    seen: set[Edit] = set()
    for places in sites_by_line(scope, wanted).values():
        for stage in stages(file, places, parts):
            for draft in stage.drafts():
                candidate = draft.write()
                if candidate is not None and candidate.edit not in seen:
                    seen.add(candidate.edit)
                    yield candidate


def sites_by_line(scope: FunctionScope, wanted: Callable[[int], bool]) -> dict[int, list[FixSite]]:
    """The places of the statements that begin on wanted lines."""
    found: dict[int, list[FixSite]] = {}
    for place in fix_sites(scope):
        if wanted(place.head[0]):
            found.setdefault(place.head[0], []).append(place)
    return found


def stages(file: str, places: Iterable[FixSite], parts: Collection[str] = PARTS) -> Iterator[Stage]:
    """What may make candidates at these places."""
    for place in places:
        if isinstance(place.node, ast.stmt):
            if place.scope.is_definition:
                yield Stage(1.8, partial(_statement_drafts, file, place, head_edits, parts))
                continue
            for least, statements in statement_stages(place):
                yield Stage(least, partial(_statement_drafts, file, place, statements, parts))
            continue
        if day_is_possible(place):
            yield Stage(LEAST_COST, partial(_other_days, file, place))
        for least, expressions in expression_stages(place):
            yield Stage(least, partial(_expression_drafts, file, place, expressions, parts))


def needed_values(file: str, places: Iterable[FixSite], texts: Iterable[str]) -> Iterator[Draft]:
    """Constants with which failing tests are known to pass, for the one that a statement assigns or returns."""
    for place in places:
        holders = ast.Assign | ast.AnnAssign | ast.Return
        if isinstance(place.node, ast.Constant) and isinstance(place.parent, holders):
            for text in texts:
                if isinstance(parsed(text), ast.Constant):
                    yield Draft(LEAST_COST, partial(_expression, file, place, text, "constant", LEAST_COST))


def part_of(kind: str) -> str:
    """The part of the search that a template belongs to."""
    return _PART_OF.get(kind, "guards" if kind.startswith("guard ") else "templates")


def _statement_drafts(
    file: str, place: FixSite, template: Callable[[FixSite], Iterator[StatementEdit]], parts: Collection[str]
) -> Iterator[Draft]:
    for made in template(place):
        if part_of(made.kind) in parts:
            yield Draft(made.cost, partial(_statement, file, place, made))


def _statement(file: str, place: FixSite, made: StatementEdit) -> Candidate:
    scope, (line, end_line) = place.scope, place.head
    condition = made.condition if place.is_first_on_its_line else ""
    if made.kind in ("exception", "handler"):  # a handler is far from the head of its statement
        line, end_line = made.edit.line, made.edit.end_line
    return Candidate(
        file, place.source, made.edit, made.kind, made.cost, line, end_line, scope.functions, scope.owners,
        old="False" if condition else "", new=condition, is_condition=bool(condition), hides=made.hides,
        is_definition=scope.is_definition,
    )  # fmt: skip


def _expression_drafts(
    file: str, place: FixSite, template: Callable[[FixSite], Iterator[Made]], parts: Collection[str]
) -> Iterator[Draft]:
    for text, kind, cost in template(place):
        if part_of(kind) in parts:
            yield Draft(cost, partial(_expression, file, place, text, kind, cost))


def _expression(file: str, place: FixSite, text: str, kind: str, cost: float) -> Candidate | None:
    fitted = fitting(place, text)
    if fitted is None or fitted == place.text:
        return None
    scope, source, (line, end_line) = place.scope, place.source, place.head
    old, new, edited = place.text, fitted, place.node
    if place.f_string is not None:
        edited, inside = place.f_string, source.span(edited)
        whole = source.span(edited)
        before, after = source.part(TextSpan(whole.start, inside.start)), source.part(TextSpan(inside.end, whole.end))
        old, new = f"{before}{old}{after}", f"{before}{new}{after}"
        if not isinstance(parsed(f"({new})"), ast.JoinedStr):
            return None
    computed = place.is_comparable and kind != "copy"
    return Candidate(
        file, source, source.edit(source.span(edited), new), kind, cost, line, end_line, scope.functions,
        scope.owners, old=old if computed else "", new=new if computed else "",
        is_condition=is_asked(place), hides=_decides_to_raise(place), raises_at=_raises_at(place.statement),
        said=_said(place.text, fitted) if kind == "wrapping" else "", is_definition=scope.is_definition,
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


def day_is_possible(place: FixSite) -> bool:
    """Whether a value that is read there may be a date."""
    node, scope = place.node, place.scope
    if scope.ingredients.day is None or scope.is_definition or place.f_string is not None:
        return False
    if isinstance(place.parent, ast.Attribute):
        return False
    if isinstance(place.parent, ast.Call) and node is place.parent.func:
        return False
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load)


def _other_days(file: str, place: FixSite) -> Iterator[Draft]:
    """A date that is one day later or earlier."""
    handed_on = isinstance(place.parent, ast.Call)  # it is better changed where it is used
    for number in range(2):
        cost = 2.4 if handed_on else 1.0
        yield Draft(cost, partial(_other_day, file, place, number, cost))


def _other_day(file: str, place: FixSite, number: int, cost: float) -> Candidate | None:
    scope, source, day = place.scope, place.source, place.scope.ingredients.day
    assert day is not None
    text, run_text, new, said = shifted(place.text, day)[number]
    if (fitted := fitting(place, text)) is None:
        return None
    opened, closed = ("(", ")") if fitted != text else ("", "")
    line, end_line = place.head
    return Candidate(
        file, source, source.edit(source.span(place.node), fitted), "another day", cost,
        line, end_line, scope.functions, scope.owners,
        old=place.text if place.is_comparable else "", new=new if place.is_comparable else "",
        said=said, run_text=f"{opened}{run_text}{closed}", imports=day.imports,
    )  # fmt: skip


def _decides_to_raise(place: FixSite) -> bool:
    """Whether an expression is a part of a condition that leads to an exception."""
    statement = place.statement
    if isinstance(statement, ast.Assert):
        return True
    in_condition = isinstance(statement, ast.If) and any(one is place.node for one in ast.walk(statement.test))
    return in_condition and bool(_raises_at(statement))


def _raises_at(statement: ast.stmt) -> int:
    """The line of the exception that a condition leads to; 0 for any other statement."""
    arms = (statement.body, statement.orelse) if isinstance(statement, ast.If) else ()
    return next((arm[-1].lineno for arm in arms if arm and isinstance(arm[-1], ast.Raise)), 0)
