"""Mutation operators of conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.precedence import Precedence, demanded, precedence_of_expression
from suspectra.mutation.site import Change, MutationSite, Operator
from suspectra.mutation.value_types import is_truth


def _logical(site: MutationSite) -> Iterator[Change]:
    """``and`` → ``or``, and conditions without one of their operands."""
    node = site.node
    if not isinstance(node, ast.BoolOp):
        return
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    level = Precedence.AND if other == "and" else Precedence.OR
    if len(node.values) == 2 and level >= demanded(site.parent, node):
        place = site.between(node.values[0], node.values[1], word)
        if place is not None:
            yield place, other
    else:
        operands = [site.operand(value, Precedence(level + 1)) for value in node.values]
        yield site.put(node, f" {other} ".join(operands), level)
    for left_out in range(len(node.values)):
        rest = [value for number, value in enumerate(node.values) if number != left_out]
        if len(rest) == 1:
            yield site.put(node, site.operand(rest[0], Precedence.ANY), precedence_of_expression(rest[0]))
        else:
            own = precedence_of_expression(node)
            text = f" {word} ".join(site.operand(value, Precedence(own + 1)) for value in rest)
            yield site.put(node, text, own)


def _negation(site: MutationSite) -> Iterator[Change]:
    """``if a`` → ``if not a``, ``not a`` → ``a``, ``return a.isdigit()`` → ``return not a.isdigit()``."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield site.put(node, site.operand(node.operand, Precedence.ANY), precedence_of_expression(node.operand))
        return
    tested = _is_tested(parent, node) or isinstance(parent, ast.BoolOp)
    tested |= isinstance(parent, (ast.Return, ast.Assign)) and isinstance(node, ast.expr) and is_truth(node)
    one_comparison = isinstance(node, ast.Compare) and len(node.ops) == 1  # which `relational` negates
    if isinstance(node, ast.expr) and tested and not one_comparison and not isinstance(node, ast.Constant):
        yield site.put(node, f"not {site.operand(node, Precedence.NOT)}", Precedence.NOT)


def _none(site: MutationSite) -> Iterator[Change]:
    """``if a`` → ``if a is not None``, ``a is None`` → ``not a``, ``a or b`` → ``b if a is None else a``.

    What is empty or 0 is taken for what is missing, or the reverse.
    """
    node, parent = site.node, site.parent
    if isinstance(node, ast.Compare):
        (other,), operator = node.comparators[:1], node.ops[0]
        if len(node.ops) == 1 and isinstance(other, ast.Constant) and other.value is None:
            if isinstance(operator, (ast.Is, ast.Eq)):
                yield site.put(node, f"not {site.operand(node.left, Precedence.NOT)}", Precedence.NOT)
            elif isinstance(operator, (ast.IsNot, ast.NotEq)):
                yield site.put(node, site.operand(node.left, Precedence.ANY), precedence_of_expression(node.left))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _may_be_none(node.operand):
        yield site.put(node, f"{site.operand(node.operand, Precedence.BIT_OR)} is None", Precedence.COMPARE)
    elif isinstance(node, ast.expr) and _is_tested(parent, node) and _may_be_none(node):
        yield site.put(node, f"{site.operand(node, Precedence.BIT_OR)} is not None", Precedence.COMPARE)
    elif isinstance(node, ast.BoolOp) and not _is_tested(parent, node):
        yield from _default(site, node)


def _default(site: MutationSite, node: ast.BoolOp) -> Iterator[Change]:
    """``a or b`` → ``b if a is None else a``."""
    first, *others = node.values
    if isinstance(node.op, ast.Or) and len(others) == 1 and isinstance(first, (ast.Name, ast.Attribute)):
        kept, default = site.operand(first, Precedence.BIT_OR), site.operand(others[0], Precedence.OR)
        yield site.put(node, f"{default} if {kept} is None else {kept}", Precedence.CONDITIONAL)


def _is_tested(parent: ast.AST, node: ast.AST) -> bool:
    """Whether an expression is a condition."""
    in_comprehension = isinstance(parent, ast.comprehension) and node in parent.ifs
    return getattr(parent, "test", None) is node or in_comprehension


def _may_be_none(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) and not is_truth(node)


CONDITIONS: dict[str, Operator] = {"negation": _negation, "logical": _logical, "none": _none}
"""By name."""
