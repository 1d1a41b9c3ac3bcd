"""Mutation operators of calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.parsed_source import ParsedSource, TextSpan
from suspectra.mutation.precedence import Precedence, precedence_of_expression
from suspectra.mutation.site import Change, MutationSite, Operator
from suspectra.mutation.value_types import called_name, is_truth

_SYMMETRIC = frozenset({"min", "max", "gcd", "lcm", "hypot", "isclose", "print"})
_OPPOSITES: dict[str, list[str]] = {}
for _one, _other in (
    *(("min", "max"), ("any", "all"), ("startswith", "endswith"), ("lower", "upper"), ("lstrip", "rstrip")),
    *(("find", "rfind"), ("index", "rindex"), ("split", "rsplit"), ("partition", "rpartition"), ("floor", "ceil")),
    *(("append", "extend"), ("append", "appendleft"), ("pop", "popleft"), ("add", "discard"), ("keys", "values")),
    *(("union", "intersection"), ("issubset", "issuperset"), ("removeprefix", "removesuffix"), ("ljust", "rjust")),
    *(("bisect_left", "bisect_right"), ("insort_left", "insort_right"), ("match", "fullmatch"), ("match", "search")),
    *(("isupper", "islower"), ("isalpha", "isalnum"), ("isdigit", "isalnum"), ("floor", "round")),
):
    _OPPOSITES.setdefault(_one, []).append(_other)
    _OPPOSITES.setdefault(_other, []).append(_one)
_OTHER_TYPES = frozenset(
    {"len", "isinstance", "issubclass", "range", "super", "type", "print", "getattr", "hasattr", "open", "any", "all"}
    | {"next", "iter", "enumerate", "zip", "map", "filter", "callable", "id", "vars", "dir", "ord", "chr", "partial"}
    | {"get", "pop", "popitem", "items", "keys", "values", "index", "find", "rfind", "count", "split", "rsplit", "join"}
    | {"splitlines", "partition", "rpartition", "startswith", "endswith", "encode", "decode", "read", "write", "group"}
    | {"groups", "match", "search", "fullmatch", "finditer", "findall", "append", "extend", "add", "format"}
)
"""Functions and methods whose result has another type than what they are called with."""

_MAX_KEYWORDS = 4  # of a call that are left out, one at a time


def _argument(site: MutationSite) -> Iterator[Change]:
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
        yield TextSpan(start, end), other + source.part(TextSpan(left_end, right_start)) + one


def _call(site: MutationSite) -> Iterator[Change]:
    """``min`` → ``max``, ``match`` → ``search``: the opposite function, or one that is often taken for it."""
    node = site.node
    if isinstance(node, ast.Call):
        name = called_name(node.func)
        if name in _OPPOSITES:
            end = site.source.span(node.func).end
            place = TextSpan(end - len(name.encode()), end)
            if site.source.part(place) == name:
                yield from ((place, other) for other in _OPPOSITES[name])


def _left_out(site: MutationSite) -> Iterator[Change]:
    """``f(a, b)`` → ``f(a)``, ``f(a, key=b)`` → ``f(a)``: the last argument, or one that has a name."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    named = [keyword for keyword in node.keywords if keyword.arg is not None][:_MAX_KEYWORDS]
    may_lack = len(node.args) > 1 or (isinstance(node.func, ast.Attribute) and not node.keywords)
    if node.args and may_lack and not isinstance(node.args[-1], (ast.Starred, ast.GeneratorExp)):
        yield site.put(node, _call_of(site, node, without=node.args[-1]), Precedence.ATOM)
    for keyword in named:
        yield site.put(node, _call_of(site, node, without=keyword), Precedence.ATOM)


def _call_of(site: MutationSite, node: ast.Call, *, without: ast.AST) -> str:
    """The text of a call without one of its arguments."""
    arguments = [site.operand(one, Precedence.ANY) for one in node.args if one is not without]
    for keyword in node.keywords:
        if keyword is not without:
            name = "**" if keyword.arg is None else f"{keyword.arg}="
            arguments.append(name + site.operand(keyword.value, Precedence.ANY))
    return f"{site.operand(node.func, Precedence.ATOM)}({', '.join(arguments)})"


def _unwrapped(site: MutationSite) -> Iterator[Change]:
    """``f(a)`` → ``a``, ``a.f()`` → ``a``: what a function is called with, in place of its result."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Call) or isinstance(parent, (ast.Expr, ast.Raise, ast.Await, ast.withitem)):
        return
    name = called_name(node.func)
    if name in _OTHER_TYPES or name[:1].isupper() or is_truth(node):
        return
    inner = _receiver(site, node.func) if isinstance(node.func, ast.Attribute) else None
    if inner is None and node.args and isinstance(node.func, ast.Name):
        inner = node.args[0]
    if inner is not None and not isinstance(inner, (ast.Starred, ast.GeneratorExp)):
        yield site.put(node, site.operand(inner, Precedence.ANY), precedence_of_expression(inner))


def _receiver(site: MutationSite, function: ast.Attribute) -> ast.expr | None:
    """The object whose method is called, unless it may be a module or a class, or is the object of this method."""
    first: ast.expr = function.value
    while isinstance(first, (ast.Attribute, ast.Subscript)):
        first = first.value
    if isinstance(first, ast.Name):
        is_own = first.id == site.itself and first is not function.value
        return function.value if is_own or first.id in site.variables else None
    return function.value


CALLS: dict[str, Operator] = {
    "argument": _argument,
    "call": _call,
    "left out argument": _left_out,
    "left out call": _unwrapped,
}
"""By name."""
