"""What is the same calculation in other words: `len(a) + 1 > 1` and `len(a) > 1 - 1` ask what `len(a) > 0` asks."""

from __future__ import annotations

import ast
import operator
import textwrap

_UNPARSABLE = (SyntaxError, ValueError, RecursionError)
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def meaning(statement: str) -> str:
    """The same text for statements, or heads of compound ones, that calculate the same; empty for what is none."""
    text = textwrap.dedent(statement).strip()
    text = text[2:] if text.startswith("elif ") else text
    try:
        tree = ast.parse(f"{text} pass" if text.endswith(":") else text)
        return ast.dump(_Calculated().visit(tree))
    except _UNPARSABLE:
        return ""


class _Calculated(ast.NodeTransformer):
    """Adds whole numbers up, and brings those that are added to a side of a comparison to the other one."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Add two numbers; of ``a + 1 + 1`` the two at the end."""
        self.generic_visit(node)
        right = _number(node.right)
        if right is None or type(node.op) not in _SIGNS:
            return node
        more = right if isinstance(node.op, ast.Add) else -right
        left = _number(node.left)
        if left is not None:
            return ast.Constant(left + more)
        base, before = _split(node.left)
        return _sum(base, before + more)

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
        if number is not None:
            return ast.Compare(base, node.ops, [ast.Constant(number - added)])
        return ast.Compare(base, node.ops, [_sum(other, subtracted - added)])


def _number(node: ast.AST) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _split(node: ast.expr) -> tuple[ast.expr, int]:
    """An expression without the number that is added at its end, and that number."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS and (number := _number(node.right)) is not None:
        return node.left, number if isinstance(node.op, ast.Add) else -number
    return node, 0


def _sum(base: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(base, ast.Add(), ast.Constant(number)) if number else base
