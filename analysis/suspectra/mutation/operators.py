"""Mutation operators: which small changes of a node of the syntax tree could undo a fault.

Each takes a `Site` and gives changes: what is replaced, and by what. None gives a change that keeps the meaning, such
as swapping equal arguments, or one that can only fail, such as subtracting from a string.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from suspectra.mutation.parsed_source import ParsedSource, Span
from suspectra.mutation.precedence import Precedence, demanded, precedence_of_expression, precedence_of_operator
from suspectra.mutation.scopes import Attributes, Variables

Change = tuple[Span, str]

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
_SYMBOLS: dict[type[ast.operator], str] = {
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
    ast.Mult: (ast.Div, ast.FloorDiv, ast.Add),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mult),
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
_NEVER_NUMBERS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
_WORDS_BETWEEN = {"not in": r"not[\s\\]+in", "is not": r"is[\s\\]+not"}
_MAX_NUMBER = 10**18


@dataclass(frozen=True)
class Site:
    r"""A node, and what operators need to know of where it is.

    Parameters
    ----------
    node : ast.AST
        What can be changed.
    parent : ast.AST
        What directly contains it.
    source : ParsedSource
        Its text.
    variables : Variables
        Those of the function.
    attributes : Attributes
        Those of objects, in the function.
    own_attributes : Attributes or None
        Those of objects, in the class of a method.
    itself : str
        The name of the object in a method; empty elsewhere.
    last : bool
        Whether nothing of the function, or of the loop for ``continue``, would follow this statement anyway.

    Examples
    --------
    >>> source = ParsedSource(b"def f(a, b):\n    return a > b")
    >>> function = source.tree.body[0]
    >>> node, local = function.body[0].value, Variables(function, method=False)
    >>> site = Site(node, function.body[0], source, local, Attributes(function), None, "", True)
    >>> site.operand(node.left, Precedence.COMPARE), source.part(site.between(node.left, node.comparators[0], ">"))
    ('a', '>')
    >>> site.put(node, "False", Precedence.ATOM)[1]
    'False'
    """

    node: ast.AST
    parent: ast.AST
    source: ParsedSource
    variables: Variables
    attributes: Attributes
    own_attributes: Attributes | None
    itself: str
    last: bool

    def put(self, node: ast.expr, text: str, precedence: Precedence) -> Change:
        """Replace a whole expression.

        Parameters
        ----------
        node : ast.expr
            The node of this site, or a part of it whose parent that is.
        text : str
            The replacement.
        precedence : Precedence
            How tightly it binds.

        Returns
        -------
        Change
            With parentheses where the place needs them.
        """
        parent = self.parent if node is self.node else self.node
        if precedence < demanded(parent, node) and not self.source.in_parentheses(node):
            text = f"({text})"
        return self.source.span(node), text

    def operand(self, node: ast.expr, least: Precedence) -> str:
        """The text of an expression as an operand of something else.

        Parameters
        ----------
        node : ast.expr
            The expression.
        least : Precedence
            How tightly it must bind.

        Returns
        -------
        str
            In parentheses where it needs them.
        """
        text = self.source.segment(node)
        broken = "\n" in text and (precedence_of_expression(node) < Precedence.ATOM or isinstance(node, ast.Constant))
        return f"({text})" if broken or precedence_of_expression(node) < least else text

    def between(self, left: ast.expr, right: ast.expr, symbol: str) -> Span | None:
        """Where the operator between two operands is; None where it is not found.

        Parameters
        ----------
        left, right : ast.expr
            The operands.
        symbol : str
            The operator.

        Returns
        -------
        Span or None
            Without white space around it.
        """
        start, end = self.source.span(left).end, self.source.span(right).start
        gap = self.source.part(Span(start, end))
        pattern = _WORDS_BETWEEN.get(symbol, re.escape(symbol))
        found = re.match(rf"(?:[\s\\)]|#[^\n]*)*({pattern})(?:[\s\\(]|#[^\n]*)*\Z", gap)
        if found is None:
            return None
        first, last = (start + len(gap[:at].encode()) for at in found.span(1))
        return Span(first, last)


Operator = Callable[[Site], Iterator[Change]]


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
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) or not _is_read(node):
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
            ordered = not any(isinstance(one, ast.Constant) and not _is_number(one.value) for one in (left, right))
            yield type(operator), place, ordered


def _arithmetic(site: Site) -> Iterator[Change]:
    """``+`` → ``-``, ``a - b`` → ``a``, ``-a`` → ``a``, ``+=`` → ``-=``."""
    node = site.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        yield site.put(node, site.operand(node.operand, Precedence.UNARY), precedence_of_expression(node.operand))
    elif isinstance(node, ast.AugAssign):
        symbol = _SYMBOLS[type(node.op)]
        place = site.between(node.target, node.value, f"{symbol}=")
        if place is not None:
            if not _never_number(node.value):
                yield from ((place, f"{_SYMBOLS[other]}=") for other in _ARITHMETIC.get(type(node.op), ()))
            yield place, "="
    elif isinstance(node, ast.BinOp):
        if not _never_number(node.left) and not _never_number(node.right):
            yield from _other_operators(site, node)
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            if not _is_neutral(type(node.op), dropped):
                yield site.put(node, site.operand(kept, Precedence.ANY), precedence_of_expression(kept))


def _other_operators(site: Site, node: ast.BinOp) -> Iterator[Change]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        if _is_neutral(other, node.left) or _is_neutral(other, node.right):
            continue  # the same as the other operand alone
        level = precedence_of_operator(other())
        if level == precedence_of_operator(node.op):
            place = site.between(node.left, node.right, _SYMBOLS[type(node.op)])
            if place is not None:
                yield place, _SYMBOLS[other]
        else:
            left, right = site.operand(node.left, level), site.operand(node.right, Precedence(level + 1))
            yield site.put(node, f"{left} {_SYMBOLS[other]} {right}", level)


def _logical(site: Site) -> Iterator[Change]:
    """``and`` → ``or``, and conditions without one of their operands."""
    node = site.node
    if not isinstance(node, ast.BoolOp):
        return
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    level = Precedence.AND if other == "and" else Precedence.OR
    if len(node.values) == 2 and level >= demanded(site.parent, node):
        place = site.between(node.values[0], node.values[1], word)
        if place is not None:
            yield place, other
    else:
        operands = [site.operand(value, Precedence(level + 1)) for value in node.values]
        yield site.put(node, f" {other} ".join(operands), level)
    for left_out in range(len(node.values)):
        rest = [value for number, value in enumerate(node.values) if number != left_out]
        if len(rest) == 1:
            yield site.put(node, site.operand(rest[0], Precedence.ANY), precedence_of_expression(rest[0]))
        else:
            own = precedence_of_expression(node)
            text = f" {word} ".join(site.operand(value, Precedence(own + 1)) for value in rest)
            yield site.put(node, text, own)


def _constant(site: Site) -> Iterator[Change]:
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


def _negation(site: Site) -> Iterator[Change]:
    """``if a`` → ``if not a``, ``not a`` → ``a``."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield site.put(node, site.operand(node.operand, Precedence.ANY), precedence_of_expression(node.operand))
        return
    tested = getattr(parent, "test", None) is node or isinstance(parent, ast.BoolOp)
    tested |= isinstance(parent, ast.comprehension) and node in parent.ifs
    one_comparison = isinstance(node, ast.Compare) and len(node.ops) == 1  # which `relational` negates
    if isinstance(node, ast.expr) and tested and not one_comparison and not isinstance(node, ast.Constant):
        yield site.put(node, f"not {site.operand(node, Precedence.NOT)}", Precedence.NOT)


def _argument(site: Site) -> Iterator[Change]:
    """``f(a, b)`` → ``f(b, a)``, ``a - b`` → ``b - a``."""
    node = site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*_NOT_COMMUTATIVE, ast.Add)):
        if _may_be_swapped(node):
            level = precedence_of_operator(node.op)
            least = Precedence.AWAIT if level is Precedence.POWER else level
            after = Precedence.UNARY if level is Precedence.POWER else Precedence(level + 1)
            left, right = site.operand(node.right, least), site.operand(node.left, after)
            if left != right:
                yield site.put(node, f"{left} {_SYMBOLS[type(node.op)]} {right}", level)
    elif isinstance(node, ast.Call) and _name_of(node.func) not in _SYMMETRIC:
        for first, second in zip(node.args, node.args[1:], strict=False):
            yield from _swapped(site.source, first, second)


def _may_be_swapped(node: ast.BinOp) -> bool:
    """Whether the order of operands may matter: of a sum only where none is known to be a number."""
    if isinstance(node.op, ast.Add):
        return not any(_is_numeric(operand) for operand in (node.left, node.right))
    return not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, (str, bytes)))


def _is_numeric(node: ast.expr) -> bool:
    """Whether an expression is a number, as far as its text alone says that."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)) or any(
            map(_is_numeric, (node.left, node.right))
        )
    return isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes))


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
        name = _name_of(node.func)
        if name in _OPPOSITES:
            end = site.source.span(node.func).end
            place = Span(end - len(name.encode()), end)
            if site.source.part(place) == name:
                yield place, _OPPOSITES[name]


def _variable(site: Site) -> Iterator[Change]:
    """``a`` → ``b``, ``self.a`` → ``self.b``: another variable of the function, another attribute of the object."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.Name) and _is_read(node):
        is_function = isinstance(parent, ast.Call) and node is parent.func
        is_object = isinstance(parent, ast.Attribute)
        if node.id in site.variables and not is_function and not is_object and site.source.segment(node) == node.id:
            for other in site.variables.others(node):
                if not _does_nothing(parent, other):
                    yield site.source.span(node), other
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _is_read(node):
        own = site.own_attributes is not None and node.value.id == site.itself
        attributes = site.own_attributes if own and site.own_attributes is not None else site.attributes
        text = site.source.segment(node)
        if text.endswith(node.attr):
            base = text[: -len(node.attr)]
            yield from ((site.source.span(node), base + other) for other in attributes.others(node, node.value.id))


def _does_nothing(parent: ast.AST, name: str) -> bool:
    """Whether a value would be assigned to the variable that it comes from."""
    return isinstance(parent, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in parent.targets
    )


def _return_none(site: Site) -> Iterator[Change]:
    """``return a`` → ``return None``."""
    node = site.node
    if isinstance(node, ast.Return) and node.value is not None:
        already = isinstance(node.value, ast.Constant) and node.value.value is None
        yield from () if already else [(site.source.span(node), "return None")]


_DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete)
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_YIELDS = (ast.Yield, ast.YieldFrom)  # without them a generator may be a plain function


def _deletion(site: Site) -> Iterator[Change]:
    """A statement → ``pass``, unless nothing would follow a jump anyway."""
    node = site.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    if (isinstance(node, _JUMPS) and site.last) or any(isinstance(part, _YIELDS) for part in ast.walk(node)):
        return
    if isinstance(node, (*_DELETED, *_JUMPS)):
        yield site.source.span(node), "pass"


OPERATORS: dict[str, Operator] = {
    "boundary": _boundary,
    "relational": _relational,
    "negation": _negation,
    "logical": _logical,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "variable": _variable,
    "argument": _argument,
    "call": _call,
    "return none": _return_none,
    "deletion": _deletion,
}
"""All operators by name, in the order in which their mutants are tried at a node."""


def _is_neutral(operator: type[ast.operator], node: ast.expr) -> bool:
    """Whether an operand leaves the other one as it is."""
    neutral = _NEUTRAL.get(operator)
    return neutral is not None and isinstance(node, ast.Constant) and node.value == neutral


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _never_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, (int, float, complex))
    return isinstance(node, _NEVER_NUMBERS)


def _name_of(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))
