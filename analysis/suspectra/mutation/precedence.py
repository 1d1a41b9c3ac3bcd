"""How tightly the parts of an expression bind, to know where a replacement needs parentheses."""

from __future__ import annotations

import ast
from enum import IntEnum


class Precedence(IntEnum):
    """From the loosest to the tightest, as in Python's grammar."""

    NAMED = 0
    ANY = 1
    CONDITIONAL = 2
    OR = 3
    AND = 4
    NOT = 5
    COMPARE = 6
    BIT_OR = 7
    BIT_XOR = 8
    BIT_AND = 9
    SHIFT = 10
    SUM = 11
    PRODUCT = 12
    UNARY = 13
    POWER = 14
    AWAIT = 15
    ATOM = 16


_BINARY: dict[type[ast.operator], Precedence] = {
    ast.BitOr: Precedence.BIT_OR,
    ast.BitXor: Precedence.BIT_XOR,
    ast.BitAnd: Precedence.BIT_AND,
    ast.LShift: Precedence.SHIFT,
    ast.RShift: Precedence.SHIFT,
    ast.Add: Precedence.SUM,
    ast.Sub: Precedence.SUM,
    ast.Pow: Precedence.POWER,
}
_OTHERS: dict[type[ast.expr], Precedence] = {
    ast.NamedExpr: Precedence.NAMED,
    ast.Yield: Precedence.NAMED,
    ast.YieldFrom: Precedence.NAMED,
    ast.Lambda: Precedence.ANY,
    ast.IfExp: Precedence.CONDITIONAL,
    ast.Compare: Precedence.COMPARE,
    ast.Await: Precedence.AWAIT,
}


def precedence_of_operator(operator: ast.operator) -> Precedence:
    """How tightly a binary operator binds."""
    return _BINARY.get(type(operator), Precedence.PRODUCT)


def precedence_of_expression(node: ast.expr) -> Precedence:
    """How tightly an expression binds without parentheses.

    `ATOM` where it can stand anywhere.
    """
    if isinstance(node, ast.BoolOp):
        return Precedence.OR if isinstance(node.op, ast.Or) else Precedence.AND
    if isinstance(node, ast.UnaryOp):
        return Precedence.NOT if isinstance(node.op, ast.Not) else Precedence.UNARY
    if isinstance(node, ast.BinOp):
        return precedence_of_operator(node.op)
    return _OTHERS.get(type(node), Precedence.ATOM)


def demanded(parent: ast.AST, node: ast.expr) -> Precedence:
    """How tightly an expression must bind to stand where another is."""
    if isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
        own = precedence_of_expression(parent)
        return Precedence(own + 1) if isinstance(parent, ast.BoolOp) else own
    if isinstance(parent, ast.BinOp):
        return _for_operand(parent, node)
    if isinstance(parent, (ast.Compare, ast.Starred)):
        return Precedence.BIT_OR
    if isinstance(parent, ast.IfExp):
        return Precedence.ANY if node is parent.orelse else Precedence.OR
    if isinstance(parent, ast.comprehension):
        return Precedence.OR
    if isinstance(parent, (ast.Attribute, ast.Await)):
        return Precedence.ATOM
    if (isinstance(parent, ast.Subscript) and node is parent.value) or (
        isinstance(parent, ast.Call) and node is parent.func
    ):
        return Precedence.ATOM
    return Precedence.ANY


def _for_operand(parent: ast.BinOp, node: ast.expr) -> Precedence:
    own = precedence_of_operator(parent.op)
    if own is Precedence.POWER:
        return Precedence.AWAIT if node is parent.left else Precedence.UNARY
    return own if node is parent.left else Precedence(own + 1)
