"""Mutation operators of conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.precedence import Precedence, demanded, precedence_of_expression
from suspectra.mutation.site import Change, Operator, Site


def _logical(site: Site) -> Iterator[Change]:
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


def _negation(site: Site) -> Iterator[Change]:
    """``if a`` → ``if not a``, ``not a`` → ``a``."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield site.put(node, site.operand(node.operand, Precedence.ANY), precedence_of_expression(node.operand))
        return
    tested = getattr(parent, "test", None) is node or isinstance(parent, ast.BoolOp)
    tested |= isinstance(parent, ast.comprehension) and node in parent.ifs
    one_comparison = isinstance(node, ast.Compare) and len(node.ops) == 1  # which `relational` negates
    if isinstance(node, ast.expr) and tested and not one_comparison and not isinstance(node, ast.Constant):
        yield site.put(node, f"not {site.operand(node, Precedence.NOT)}", Precedence.NOT)


CONDITIONS: dict[str, Operator] = {"negation": _negation, "logical": _logical}
"""By name."""
