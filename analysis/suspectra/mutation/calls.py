"""Mutation operators of calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.parsed_source import ParsedSource, Span
from suspectra.mutation.site import Change, Operator, Site
from suspectra.mutation.value_types import called_name

_SYMMETRIC = frozenset({"min", "max", "gcd", "lcm", "hypot", "isclose", "print"})
_OPPOSITES = {
    one: other
    for pair in (
        ("min", "max"),
        ("any", "all"),
        ("startswith", "endswith"),
        ("lower", "upper"),
        ("lstrip", "rstrip"),
        ("find", "rfind"),
        ("index", "rindex"),
        ("split", "rsplit"),
        ("partition", "rpartition"),
        ("floor", "ceil"),
        ("append", "extend"),
        ("keys", "values"),
    )
    for one, other in (pair, pair[::-1])
}


def _argument(site: Site) -> Iterator[Change]:
    """``f(a, b)`` → ``f(b, a)``."""
    node = site.node
    if isinstance(node, ast.Call) and called_name(node.func) not in _SYMMETRIC:
        for first, second in zip(node.args, node.args[1:], strict=False):
            yield from _swapped(site.source, first, second)


def _swapped(source: ParsedSource, first: ast.expr, second: ast.expr) -> Iterator[Change]:
    alone = (ast.Starred, ast.NamedExpr, ast.Yield, ast.YieldFrom)
    one, other = source.segment(first), source.segment(second)
    if one != other and not isinstance(first, alone) and not isinstance(second, alone):
        (start, left_end), (right_start, end) = source.span(first), source.span(second)
        yield Span(start, end), other + source.part(Span(left_end, right_start)) + one


def _call(site: Site) -> Iterator[Change]:
    """``min`` → ``max``, ``startswith`` → ``endswith``: the opposite function."""
    node = site.node
    if isinstance(node, ast.Call):
        name = called_name(node.func)
        if name in _OPPOSITES:
            end = site.source.span(node.func).end
            place = Span(end - len(name.encode()), end)
            if site.source.part(place) == name:
                yield place, _OPPOSITES[name]


CALLS: dict[str, Operator] = {"argument": _argument, "call": _call}
"""By name."""
