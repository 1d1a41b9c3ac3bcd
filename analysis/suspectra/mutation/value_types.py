"""What the text of an expression alone says about its value."""

from __future__ import annotations

import ast

_TRUTHS = frozenset({"isinstance", "issubclass", "any", "all", "callable", "hasattr", "startswith", "endswith", "bool"})
_ABOUT = ("is", "has")  # how names of functions begin that answer yes or no
_NEVER_NUMBERS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)


def is_number(value: object) -> bool:
    """Whether a constant is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_numeric(node: ast.expr) -> bool:
    """Whether an expression is certainly a number.

    False where the text does not say it.
    """
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)) or any(
            map(is_numeric, (node.left, node.right))
        )
    return isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes))


def is_truth(node: ast.expr) -> bool:
    """Whether an expression is true or false, as far as its text and the names of functions say that.

    False where the text does not say it.
    """
    if isinstance(node, ast.Call):
        name = called_name(node.func)
        return name in _TRUTHS or name.startswith(_ABOUT)
    if isinstance(node, ast.BoolOp):
        return all(map(is_truth, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def never_number(node: ast.expr) -> bool:
    """Whether an expression is certainly no number.

    False where the text does not say it.
    """
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, (int, float, complex))
    return isinstance(node, _NEVER_NUMBERS)


def called_name(function: ast.expr) -> str:
    """The name by which a function is called.

    Without the object that has it; empty where there is none.
    """
    return getattr(function, "id", getattr(function, "attr", ""))


def is_read(node: ast.expr) -> bool:
    """Whether an expression is evaluated, and neither assigned nor deleted."""
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
