"""Undoing a change as a candidate: the line as it was when the tests passed is the likeliest fix of all."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from suspectra.changes.units import ChangeUnit
from suspectra.fixes.candidate import AS_BEFORE, Candidate
from suspectra.fixes.fix_site import FunctionScope
from suspectra.mutation.edit import Edit
from suspectra.mutation.parsed_source import ParsedSource

_COST = 1.0
_UNPARSABLE = (SyntaxError, ValueError, RecursionError)


def undone(file: str, unit: ChangeUnit, scopes: Iterable[FunctionScope]) -> Candidate | None:
    """The candidate that undoes a change in one of some scopes of the file; None where it lies in none of them."""
    scope = min((one for one in scopes if _contains(one, unit)), key=_size, default=None)
    if scope is None or (edit := _edit(scope.source, unit)) is None:
        return None
    last = max(unit.end_line, unit.line)
    made = Candidate(
        file, scope.source, edit, AS_BEFORE, _COST, unit.line, last, scope.functions, scope.owners,
        is_definition=scope.is_definition,
    )  # fmt: skip
    return made if _is_program(made) else None


def _is_program(made: Candidate) -> bool:
    """Whether what is run can be parsed: a header without its block can't."""
    job = made.to_json()
    texts = [*job.get("definitions", ()), *(text for _, text in job.get("members", ()))]
    try:
        for text in texts or [Edit(*job["edit"]).apply(job["source"])]:
            ast.parse(text)
    except (KeyError, *_UNPARSABLE):
        return False
    return True


def _contains(scope: FunctionScope, unit: ChangeUnit) -> bool:
    first, last = _lines(scope)
    # what was deleted at the end of a block has the line behind it
    return first <= unit.line and max(unit.end_line, unit.line - 1) <= last


def _lines(scope: FunctionScope) -> tuple[int, int]:
    """The lines of a function behind its head; of a definition its own, of a function's head only these."""
    statement = scope.owners[-1] if scope.is_definition else scope.function
    body = getattr(statement, "body", None)
    begin = body[0].lineno if isinstance(body, list) else statement.lineno
    end = statement.end_lineno or statement.lineno
    if not scope.is_definition:
        return begin, end
    return statement.lineno, begin - 1 if isinstance(body, list) else end


def _size(scope: FunctionScope) -> int:
    first, last = _lines(scope)
    return last - first


def _edit(source: ParsedSource, unit: ChangeUnit) -> Edit | None:
    """The edit that brings the text before a change back; None where the file has another text there."""
    before, after = (_lines_of(text) for text in (unit.before, unit.after))
    last = max(unit.end_line, unit.line - 1)
    first = last - len(after) + 1  # blank lines and comments before a statement belong to it
    if first < 1 or source.lines[first - 1 : last] != after:
        return None
    while len(before) > 1 and len(after) > 1 and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    if before and after:
        return Edit(first, 0, last, _width(source, last), "\n".join(before), whole_statement=True)
    # a line more or less is an edit at the end of the one before
    if first == 1:
        return None
    text = "".join(f"\n{line}" for line in before)
    return Edit(first - 1, _width(source, first - 1), last, _width(source, last), text, whole_statement=True)


def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _width(source: ParsedSource, line: int) -> int:
    return len(source.lines[line - 1].encode())
