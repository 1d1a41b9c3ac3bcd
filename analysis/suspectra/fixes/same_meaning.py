"""What is the same calculation in other words: `len(a) + 1 > 1` and `len(a) > 1 - 1` ask what `len(a) > 0` asks.

`if a or b` asks what `if b or a` asks, as long as neither of them can raise: `if a is None or a.b` does not.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

_UNPARSABLE = (SyntaxError, ValueError, RecursionError)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_EQUALITIES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_BY_ONE = (ast.Mult, ast.FloorDiv, ast.Div, ast.Pow)


class Meaning(NamedTuple):
    """What a statement calculates."""

    text: str  # the same for all that calculate the same; empty for what is no statement
    roundabout: bool  # whether it could be written with fewer numbers


def meaning(statement: str) -> Meaning:
    """Find out what a statement, or the head of a compound one, calculates."""
    text = textwrap.dedent(statement).strip()
    text = text[2:] if text.startswith("elif ") else text
    calculated = _Calculated()
    try:
        tree = ast.parse(f"{text} pass" if text.endswith(":") else text)
        return Meaning(ast.dump(calculated.visit(tree)), calculated.roundabout)
    except _UNPARSABLE:
        return Meaning("", False)


class _Calculated(ast.NodeTransformer):
    """Adds whole numbers up, and brings those that are added to a side of a comparison to the other one."""

    roundabout = False

    def visit_If(self, node: ast.If) -> ast.stmt:
        """Bring the parts of a condition into one order."""
        self.generic_visit(node)
        node.test = _in_one_order(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        """The same for the condition of a loop."""
        self.generic_visit(node)
        node.test = _in_one_order(node.test)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Bring the numbers of a sum together at its end."""
        if isinstance(node.op, _BY_ONE) and _number(node.right) == 1:
            self.roundabout = True
            return self._visited(node.left)
        if not isinstance(node.op, (ast.Add, ast.Sub)):
            self.generic_visit(node)
            return node
        numbers, base = [], None
        for term, adds in _terms(node, True):
            number = _number(term)
            if number is not None:
                numbers.append(number if adds else -number)
            elif base is None and adds:
                base = self._visited(term)
            else:
                first = base if base is not None else ast.Constant(0)
                base = ast.BinOp(first, ast.Add() if adds else ast.Sub(), self._visited(term))
        self.roundabout |= len(numbers) > 1
        return ast.Constant(sum(numbers)) if base is None else _sum(base, sum(numbers))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Write a negative number as one."""
        self.generic_visit(node)
        number = _number(node.operand)
        return ast.Constant(-number) if isinstance(node.op, ast.USub) and number is not None else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Let the numbers stand on the right."""
        self.generic_visit(node)
        if len(node.ops) > 1 or not isinstance(node.ops[0], _ORDERS):
            return node
        (base, added), (other, subtracted) = _split(node.left), _split(node.comparators[0])
        number = _number(other)
        self.roundabout |= bool(added and (subtracted or number))
        if number is not None:
            return ast.Compare(base, node.ops, [ast.Constant(number - added)])
        return ast.Compare(base, node.ops, [_sum(other, subtracted - added)])

    def _visited(self, node: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(node)
        return found


def _in_one_order(condition: ast.expr) -> ast.expr:
    """The same condition, of which only the truth counts, with its parts in an order that does not depend on theirs."""
    if not isinstance(condition, ast.BoolOp):
        return condition
    parts = list(map(_in_one_order, condition.values))
    return ast.BoolOp(condition.op, sorted(parts, key=ast.dump) if all(map(_never_raises, parts)) else parts)


def _never_raises(node: ast.expr) -> bool:
    """Whether asking for the truth of something can't raise, where names are bound and comparisons are sane."""
    if isinstance(node, ast.BoolOp):
        return all(map(_never_raises, node.values))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _never_raises(node.operand)
    if isinstance(node, ast.Compare):
        return all(isinstance(one, _EQUALITIES) for one in node.ops) and all(
            map(_never_raises, (node.left, *node.comparators))
        )
    return isinstance(node, (ast.Name, ast.Constant))


def _terms(node: ast.expr, adds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What is added and subtracted in a sum, from the left."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _terms(node.left, adds)
        yield from _terms(node.right, adds == isinstance(node.op, ast.Add))
    else:
        yield node, adds


def _number(node: ast.AST) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _split(node: ast.expr) -> tuple[ast.expr, int]:
    """An expression without the number that is added at its end, and that number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (number := _number(node.right)) is not None:
        return node.left, number
    return node, 0


def _sum(base: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(base, ast.Add(), ast.Constant(number)) if number else base
