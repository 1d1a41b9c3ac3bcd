"""Mutation operators of arithmetic and constants."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from suspectra.mutation.precedence import Precedence, precedence_of_expression, precedence_of_operator
from suspectra.mutation.site import Change, MutationSite, Operator
from suspectra.mutation.value_types import is_numeric, never_number

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.FloorDiv, ast.Add, ast.Pow),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr, ast.BitAnd),
}
_NEUTRAL: dict[type[ast.operator], int] = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Pow: 1}
_NOT_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_MAX_NUMBER = 10**18
_MAX_EXPONENT = 3


def _arithmetic(site: MutationSite) -> Iterator[Change]:
    """``+`` → ``-``, ``a - b`` → ``a``, ``-a`` → ``a``, ``+=`` → ``-=``."""
    node = site.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        yield site.put(node, site.operand(node.operand, Precedence.UNARY), precedence_of_expression(node.operand))
    elif isinstance(node, ast.AugAssign):
        symbol = SYMBOLS[type(node.op)]
        place = site.between(node.target, node.value, f"{symbol}=")
        if place is not None:
            if not never_number(node.value):
                yield from ((place, f"{SYMBOLS[other]}=") for other in _alternatives(node.op, node.value))
            yield place, "="
    elif isinstance(node, ast.BinOp):
        if not never_number(node.left) and not never_number(node.right):
            yield from _other_operators(site, node)
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            if not _is_neutral(type(node.op), dropped):
                yield site.put(node, site.operand(kept, Precedence.ANY), precedence_of_expression(kept))


def _other_operators(site: MutationSite, node: ast.BinOp) -> Iterator[Change]:
    for other in _alternatives(node.op, node.right):
        if _is_neutral(other, node.left) or _is_neutral(other, node.right):
            continue  # the same as the other operand alone
        level = precedence_of_operator(other())
        if level == precedence_of_operator(node.op):
            place = site.between(node.left, node.right, SYMBOLS[type(node.op)])
            if place is not None:
                yield place, SYMBOLS[other]
        else:
            left, right = site.operand(node.left, level), site.operand(node.right, Precedence(level + 1))
            yield site.put(node, f"{left} {SYMBOLS[other]} {right}", level)


def _alternatives(operator: ast.operator, right: ast.expr) -> list[type[ast.operator]]:
    """What may have been meant by an operator; no power of a variable, which may take forever."""
    small = isinstance(right, ast.Constant) and type(right.value) is int and abs(right.value) <= _MAX_EXPONENT
    return [other for other in _ARITHMETIC.get(type(operator), ()) if other is not ast.Pow or small]


def _is_neutral(operator: type[ast.operator], node: ast.expr) -> bool:
    """Whether an operand leaves the other one as it is."""
    neutral = _NEUTRAL.get(operator)
    return neutral is not None and isinstance(node, ast.Constant) and node.value == neutral


def _constant(site: MutationSite) -> Iterator[Change]:
    """``1`` → ``2``, ``True`` → ``False``, ``"text"`` → ``""``."""
    node = site.node
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield site.put(node, str(not value), Precedence.ATOM)
    elif isinstance(value, (int, float)):
        parent = site.parent
        neutral = _NEUTRAL.get(type(parent.op)) if isinstance(parent, (ast.BinOp, ast.AugAssign)) else None
        for other in dict.fromkeys((value + 1, value - 1, type(value)(0))):
            if other not in (value, neutral) and math.isfinite(other) and abs(other) < _MAX_NUMBER:
                bare = other >= 0 and not isinstance(site.parent, ast.Attribute)
                yield site.put(node, repr(other), Precedence.ATOM if bare else Precedence.UNARY)
    elif isinstance(value, (str, bytes)):
        empty = '""' if isinstance(value, str) else 'b""'
        yield site.put(node, empty if value else empty.replace('""', '" "'), Precedence.ATOM)


def _swapped_operands(site: MutationSite) -> Iterator[Change]:
    """``a - b`` → ``b - a``."""
    node = site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*_NOT_COMMUTATIVE, ast.Add)) and _may_be_swapped(node):
        level = precedence_of_operator(node.op)
        least = Precedence.AWAIT if level is Precedence.POWER else level
        after = Precedence.UNARY if level is Precedence.POWER else Precedence(level + 1)
        left, right = site.operand(node.right, least), site.operand(node.left, after)
        if left != right:
            yield site.put(node, f"{left} {SYMBOLS[type(node.op)]} {right}", level)


def _may_be_swapped(node: ast.BinOp) -> bool:
    """Whether the order of operands may matter: of a sum only where none is known to be a number."""
    if isinstance(node.op, ast.Add):
        return not any(is_numeric(operand) for operand in (node.left, node.right))
    return not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, (str, bytes)))


ARITHMETIC: dict[str, Operator] = {
    "arithmetic": _arithmetic,
    "constant": _constant,
    "operand": _swapped_operands,
}
"""By name."""
