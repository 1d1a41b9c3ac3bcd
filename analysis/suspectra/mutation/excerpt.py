"""The part of a mutated source that has to be compiled to replace the code of a function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from suspectra.mutation.edit import Edit, with_edits
from suspectra.mutation.mutant import Mutant
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.mutation.scopes import Function

_STATEMENTS = frozenset({"pass", "return None"})
_WORDS = frozenset({"in", "not in", "is", "is not"})


class CodeName(NamedTuple):
    """How the code of a function is known to Python."""

    name: str  # the function's name, `<lambda>` for one that has none
    line: int  # the first line of its code, that of the first decorator if there is one


class Excerpt(NamedTuple):
    """The outermost function around a change, with as much around it as decides what its code is."""

    text: str  # Python, each line on the line that it has in the file; only to be compiled
    functions: tuple[CodeName, ...]  # the functions around the change, from the outermost to the innermost


def excerpt(source: ParsedSource, mutant: Mutant) -> Excerpt | None:
    """The excerpt for a mutant."""
    return excerpt_of(source, [mutant.edit], mutant.functions, mutant.owners)


def edited_excerpt(
    source: ParsedSource, edit: Edit, functions: Sequence[Function], owners: Sequence[ast.stmt]
) -> tuple[Excerpt, Edit] | None:
    """The excerpt of a function as it is, and an edit of that text; None where there is none for the edit."""
    padded = _with_as_many_lines(source, edit)
    made = excerpt_of(source, [], functions, owners)
    return None if padded is None or made is None else (made, padded)


def excerpt_of(
    source: ParsedSource,
    edits: Sequence[Edit],
    functions: Sequence[Function],
    owners: Sequence[ast.stmt],
) -> Excerpt | None:
    """The excerpt for edits of the same outermost function, which don't overlap.

    Classes around the function are there with their names alone, for ``__class__`` and private names.

    None where lines would move, or what is around the function is on its own line.
    """
    statement, around = owners[-1], owners[:-1]
    first, last = first_line(statement), statement.end_lineno
    padded = [_with_as_many_lines(source, edit) for edit in edits]
    if None in padded or len(around) >= first:
        return None
    headers = [_header(source, owner) for owner in around]
    lines = [*headers, *[""] * (first - 1 - len(headers)), *source.lines[first - 1 : last]]
    names = tuple(CodeName(_name(function), first_line(function)) for function in functions)
    text = with_edits("\n".join(lines), (edit for edit in padded if edit is not None))
    return Excerpt(text, names)


def first_line(node: ast.stmt | Function) -> int:
    """The line on which a definition begins, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _name(function: Function) -> str:
    return "<lambda>" if isinstance(function, ast.Lambda) else function.name


def _header(source: ParsedSource, owner: ast.stmt) -> str:
    indent = source.lines[owner.lineno - 1].encode()[: owner.col_offset].decode()
    return f"{indent}class {owner.name}:" if isinstance(owner, ast.ClassDef) else f"{indent}if 1:"


def _with_as_many_lines(source: ParsedSource, edit: Edit) -> Edit | None:
    """The same change, with empty lines, so that what follows keeps its line."""
    empty = "\n" * edit.lines_removed
    if not empty:
        return edit
    if edit.text in _STATEMENTS or edit.whole_statement:
        rest = source.lines[edit.end_line - 1].encode()[edit.end_column :].decode().strip()
        return edit._replace(text=edit.text + empty) if not rest or rest.startswith("#") else None
    return None if edit.text in _WORDS else edit._replace(text=f"({edit.text}{empty})")
