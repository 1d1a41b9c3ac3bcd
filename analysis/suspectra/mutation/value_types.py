"""What the text of an expression alone says about its value."""

from __future__ import annotations

import ast

_TRUTHS = frozenset({"isinstance", "issubclass", "any", "all", "callable", "hasattr", "startswith", "endswith", "bool"})
_ABOUT = ("is", "has")  # how names of functions begin that answer yes or no
_NEVER_NUMBERS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)


def is_number(value: object) -> bool:
    """Whether a constant is a number.

    Parameters
    ----------
    value : object
        The constant.

    Returns
    -------
    bool
        False for True and False.

    Examples
    --------
    >>> is_number(1), is_number(True)
    (True, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_numeric(node: ast.expr) -> bool:
    """Whether an expression is certainly a number.

    Parameters
    ----------
    node : ast.expr
        Any.

    Returns
    -------
    bool
        False where the text does not say it.

    Examples
    --------
    >>> is_numeric(ast.parse("a - b", mode="eval").body), is_numeric(ast.parse("a + b", mode="eval").body)
    (True, False)
    """
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)) or any(
            map(is_numeric, (node.left, node.right))
        )
    return isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes))


def is_truth(node: ast.expr) -> bool:
    """Whether an expression is true or false, as far as its text and the names of functions say that.

    Parameters
    ----------
    node : ast.expr
        Any.

    Returns
    -------
    bool
        False where the text does not say it.

    Examples
    --------
    >>> [is_truth(ast.parse(text, mode="eval").body) for text in ("a > b", "text.isdigit()", "a")]
    [True, True, False]
    """
    if isinstance(node, ast.Call):
        name = called_name(node.func)
        return name in _TRUTHS or name.startswith(_ABOUT)
    if isinstance(node, ast.BoolOp):
        return all(map(is_truth, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def never_number(node: ast.expr) -> bool:
    """Whether an expression is certainly no number.

    Parameters
    ----------
    node : ast.expr
        Any.

    Returns
    -------
    bool
        False where the text does not say it.

    Examples
    --------
    >>> never_number(ast.parse("[a]", mode="eval").body), never_number(ast.parse("a", mode="eval").body)
    (True, False)
    """
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, (int, float, complex))
    return isinstance(node, _NEVER_NUMBERS)


def called_name(function: ast.expr) -> str:
    """The name by which a function is called.

    Parameters
    ----------
    function : ast.expr
        What a call calls.

    Returns
    -------
    str
        Without the object that has it; empty where there is none.

    Examples
    --------
    >>> called_name(ast.parse("text.strip", mode="eval").body)
    'strip'
    """
    return getattr(function, "id", getattr(function, "attr", ""))


def is_read(node: ast.expr) -> bool:
    """Whether an expression is evaluated, and neither assigned nor deleted.

    Parameters
    ----------
    node : ast.expr
        Any.

    Returns
    -------
    bool
        True for those that can't be assigned.

    Examples
    --------
    >>> statement = ast.parse("a = b").body[0]
    >>> is_read(statement.value), is_read(statement.targets[0])
    (True, False)
    """
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
