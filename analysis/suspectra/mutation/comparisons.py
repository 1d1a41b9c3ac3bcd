"""Mutation operators of comparisons and bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.parsed_source import TextSpan
from suspectra.mutation.precedence import Precedence
from suspectra.mutation.site import Change, MutationSite, Operator
from suspectra.mutation.value_types import called_name, is_number, is_read, never_number

SIGNS: dict[type[ast.cmpop], str] = {
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
_TIGHTER: dict[type[ast.cmpop], str] = {ast.Lt: "-", ast.LtE: "+", ast.Gt: "+", ast.GtE: "-"}
"""Which bound differs from the same one with or without its own value."""

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
    ast.Is: ("==",),
    ast.IsNot: ("!=",),
}


_COUNTING = frozenset(
    {"len", "int", "abs", "round", "sum", "ord", "index", "find", "rindex", "rfind", "count", "min", "max"}
)
_TAKING_NO_NUMBER = frozenset(
    {"range", "len", "isinstance", "issubclass", "iter", "next", "sorted", "list", "tuple", "set", "frozenset", "dict"}
    | {"sum", "any", "all", "enumerate", "zip", "map", "filter", "getattr", "hasattr", "setattr", "super", "type"}
    | {"open", "print", "repr", "vars", "join", "append", "add", "extend", "startswith", "endswith"}
    | {"strip", "lstrip", "rstrip", "split", "rsplit", "partition", "replace", "format", "encode", "decode", "write"}
    | {"compile", "match", "search", "fullmatch", "sub", "finditer", "findall"}
)
_MAX_ARGUMENTS = 3  # of a call: of more, each is less likely to be the one


def _relational(site: MutationSite) -> Iterator[Change]:
    """``==`` → ``!=``, ``<`` → ``>``, ``is`` → ``==``: comparisons of another kind."""
    for operator, place, ordered in _comparisons(site):
        if not isinstance(site.parent, ast.UnaryOp):  # `not a < b` → `a < b` is the same change
            yield place, _NEGATED[operator]
        if ordered:
            yield from ((place, other) for other in _OTHER_ORDERS.get(operator, ()))


def _boundary(site: MutationSite) -> Iterator[Change]:
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


def _comparisons(site: MutationSite) -> Iterator[tuple[type[ast.cmpop], TextSpan, bool]]:
    """Each operator of a comparison, where it is, and whether its operands may have an order."""
    node = site.node
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        place = site.between(left, right, SIGNS[type(operator)])
        if place is not None:
            ordered = not any(isinstance(one, ast.Constant) and not is_number(one.value) for one in (left, right))
            yield type(operator), place, ordered


def _off_by_one(site: MutationSite) -> Iterator[Change]:
    """``f(n)`` → ``f(n + 1)``, ``return n`` → ``return n - 1``, ``a < n`` → ``a < n - 1``."""
    node = site.node
    if isinstance(node, ast.expr) and _may_be_counted(site, node):
        for sign in _signs(site.parent, node):
            yield site.put(node, f"{site.operand(node, Precedence.SUM)} {sign} 1", Precedence.SUM)


def _signs(parent: ast.AST, node: ast.expr) -> str:
    """In which directions a value may be off by one that no other operator corrects."""
    if isinstance(parent, ast.Compare):
        if len(parent.ops) > 1 or node is parent.left:
            return ""
        return _TIGHTER.get(type(parent.ops[0]), "")
    if isinstance(parent, ast.Call):
        passed = node in parent.args and called_name(parent.func) not in _TAKING_NO_NUMBER
        return "+-" if passed and len(parent.args) <= _MAX_ARGUMENTS else ""
    return "+-" if isinstance(parent, (ast.Return, ast.keyword)) else ""


def _may_be_counted(site: MutationSite, node: ast.expr) -> bool:
    """Whether nothing says that a value is no number, and no number in it is changed anyway."""
    if isinstance(node, ast.Name):
        return (node.id in site.variables or node.id.isupper()) and node.id not in site.not_counted
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and site.source.segment(node) not in site.not_counted
    if isinstance(node, ast.Call):
        return called_name(node.func) in _COUNTING
    if isinstance(node, ast.BinOp):
        sides = node.left, node.right
        counted = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv))
        return counted and not any(isinstance(side, ast.Constant) or never_number(side) for side in sides)
    return False


COMPARISONS: dict[str, Operator] = {"boundary": _boundary, "relational": _relational, "off by one": _off_by_one}
"""By name."""
