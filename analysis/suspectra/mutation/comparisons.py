"""Mutation operators of comparisons and bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.parsed_source import Span
from suspectra.mutation.precedence import Precedence
from suspectra.mutation.site import Change, Operator, Site
from suspectra.mutation.value_types import is_number, is_read

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_BOUNDARY: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_NEGATED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_OTHER_ORDERS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: (">", "!="),
    ast.LtE: (">=", "=="),
    ast.Gt: ("<", "!="),
    ast.GtE: ("<=", "=="),
    ast.Eq: ("<=", ">="),
    ast.NotEq: ("<", ">"),
}


def _relational(site: Site) -> Iterator[Change]:
    """``==`` → ``!=``, ``<`` → ``>``: comparisons of another kind."""
    for operator, place, ordered in _comparisons(site):
        if not isinstance(site.parent, ast.UnaryOp):  # `not a < b` → `a < b` is the same change
            yield place, _NEGATED[operator]
        if ordered:
            yield from ((place, other) for other in _OTHER_ORDERS.get(operator, ()))


def _boundary(site: Site) -> Iterator[Change]:
    """``<`` → ``<=``, ``a[i]`` → ``a[i + 1]``, ``range(n)`` → ``range(n - 1)``: bounds that are off by one."""
    for operator, place, _ in _comparisons(site):
        if operator in _BOUNDARY:
            yield place, _BOUNDARY[operator]
    node, parent = site.node, site.parent
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) or not is_read(node):
        return
    index = isinstance(parent, ast.Subscript) and node is parent.slice
    in_range = (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == "range"
        and node in parent.args[:2]
    )
    if index or in_range or isinstance(parent, ast.Slice):
        text = site.source.segment(node)
        yield site.put(node, f"{text} + 1", Precedence.SUM)
        yield site.put(node, f"{text} - 1", Precedence.SUM)


def _comparisons(site: Site) -> Iterator[tuple[type[ast.cmpop], Span, bool]]:
    """Each operator of a comparison, where it is, and whether its operands may have an order."""
    node = site.node
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        place = site.between(left, right, _COMPARISONS[type(operator)])
        if place is not None:
            ordered = not any(isinstance(one, ast.Constant) and not is_number(one.value) for one in (left, right))
            yield type(operator), place, ordered


COMPARISONS: dict[str, Operator] = {"boundary": _boundary, "relational": _relational}
"""By name."""
