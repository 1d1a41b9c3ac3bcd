"""Edits that fit the values of a few tests by chance: they are shown last, and called what they are."""

from __future__ import annotations

import ast
import textwrap

from suspectra.fixes.candidate import AS_BEFORE, Candidate

_TAKING = frozenset({"pop", "popleft", "popitem", "next"})
"""What takes something away, so that a second one gives what the test expects of some data only."""

_ORDERS, _EQUALITIES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)
_UNPARSABLE = (SyntaxError, ValueError, RecursionError)


def is_narrow(candidate: Candidate) -> bool:
    """Whether a constant stands for what was computed, one value is asked for, or something is done twice."""
    if candidate.kind == AS_BEFORE:
        return False
    edit = candidate.edit
    before, after = (_parsed(text) for text in (edit.replaced(candidate.source.text), edit.text))
    if after is None:
        return False
    if before is None:
        return _is_inserted_by_chance(candidate, after)
    if _taken(after) > _taken(before):
        return True
    old, new = _expression(before), _expression(after)
    if new is None or old is None:
        return _returns_constant(after) > _returns_constant(before) or _is_inserted_by_chance(candidate, after)
    return (_is_constant(new) and not _is_constant(old)) or _asks_for_one_value(old, new)


def _returns_constant(tree: ast.Module) -> bool:
    """Whether it is a return of a constant."""
    only = tree.body[0] if len(tree.body) == 1 else None
    return isinstance(only, ast.Return) and (only.value is None or _is_constant(only.value))


def _is_inserted_by_chance(candidate: Candidate, after: ast.Module) -> bool:
    """Whether one of the statements that come to others says little about why they are missing."""
    lines = [line.strip() for line in candidate.source.lines]
    near = lines[max(candidate.line - 2, 0) : candidate.end_line + 1]
    for node in after.body:
        text = ast.unparse(node)
        if isinstance(node, ast.Assign):
            if text not in lines and (_is_constant(node.value) or _taken(node)):
                return True
            if text in near and _taken(node):
                return True
        elif isinstance(node, ast.Expr) and text in near and _taken(node):
            return True
    return False


def _parsed(text: str) -> ast.Module | None:
    """What an edit replaces or writes; None for nothing, and for what is no whole statement or expression."""
    text = textwrap.dedent(text).strip()
    try:
        return ast.parse(text) if text else None
    except _UNPARSABLE:
        return None


def _expression(tree: ast.Module) -> ast.expr | None:
    only = tree.body[0] if len(tree.body) == 1 else None
    return only.value if isinstance(only, ast.Expr) else None


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)


def _taken(tree: ast.AST) -> int:
    """How often something is taken out of a container."""
    calls = (one.func for one in ast.walk(tree) if isinstance(one, ast.Call))
    return sum(getattr(one, "attr", getattr(one, "id", "")) in _TAKING for one in calls)


def _asks_for_one_value(old: ast.expr, new: ast.expr) -> bool:
    """Whether an order of two values became the question whether one is a third."""
    if not (isinstance(old, ast.Compare) and isinstance(new, ast.Compare)):
        return False
    sides = [[ast.dump(one) for one in (node.left, *node.comparators)] for node in (old, new)]
    return isinstance(old.ops[0], _ORDERS) and isinstance(new.ops[0], _EQUALITIES) and sides[0] != sides[1]
