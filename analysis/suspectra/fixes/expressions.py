"""What can stand in the place of an expression: templates, ingredients of the file, and what names there can make.

Costs are about the logarithm of how rarely such an edit is what was missing: a wrong operator, an index that is off by
one and a wrong name are frequent, a whole expression out of nothing is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations, pairwise

from suspectra.fixes.fix_site import FixSite
from suspectra.mutation.arithmetic import SYMBOLS
from suspectra.mutation.comparisons import SIGNS
from suspectra.mutation.precedence import demanded, precedence_of_expression

Made = tuple[str, str, float]
"""The new text, the name of the template, and the cost."""

_QUOTES = frozenset("'\"\n")
_MAX_NAMES = 10
_MAX_KEPT = 80
_MAX_METHODS = 20
_MAX_PERMUTED, _MAX_ITEMS = 8, 40
"""Arguments or items of which any two are exchanged, and of which each is left out."""

EXCEPTIONS = (
    "LookupError", "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "OSError", "ArithmeticError",
    "RuntimeError", "NotImplementedError",
)  # fmt: skip
"""Those that are raised and handled most."""

_TOGETHER = 5
"""Names of which any two are asked together."""

NEAR = 8
"""Names that are tried where several could stand: those that were used last."""

_ORDERS = ("<", "<=", ">", ">=", "==", "!=")
_CLOSE = frozenset(
    {("<", "<="), (">", ">="), ("==", "!="), ("in", "not in"), ("is", "is not"), ("<", ">"), ("<=", ">=")}
)
_NUMERIC, _BITS = ("+", "-", "*", "//", "/", "%"), ("&", "|", "^")
_MAX_KNOWN = 12
"""Values that are named together and may lack one, and values that this may be."""

_UNLIKE = 0.3
"""What it costs to change one of two calls of the same function that stand beside each other."""

_SHARED = 1.1
"""What it costs to copy a parameter whose default value is kept, and changes with the object."""

_SUMMARIES = ("sum", "max", "min", "len")
"""Functions that make one number of the items of a container."""

_OPPOSITES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "append": "extend",
    "extend": "append",
    "add": "discard",
    "startswith": "endswith",
    "endswith": "startswith",
    "lower": "upper",
    "upper": "lower",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "strip": "rstrip",
    "find": "rfind",
    "rfind": "find",
    "index": "rindex",
    "split": "rsplit",
    "rsplit": "split",
    "partition": "rpartition",
    "rpartition": "partition",
    "match": "search",
    "search": "match",
    "floor": "ceil",
    "ceil": "floor",
    "popleft": "pop",
    "pop": "popleft",
    "appendleft": "append",
    "bisect_left": "bisect_right",
    "bisect_right": "bisect_left",
    "bisect": "bisect_left",
    "items": "values",
    "keys": "values",
    "values": "keys",
    "union": "intersection",
    "intersection": "union",
    "issubset": "issuperset",
    "issuperset": "issubset",
    "update": "add",
    "int": "round",
    "round": "int",
    "sorted": "list",
    "list": "sorted",
    "set": "list",
}
_SIBLINGS = (
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
    (
        "startswith",
        "endswith",
        "find",
        "rfind",
        "index",
        "rindex",
        "count",
        "partition",
        "rpartition",
        "split",
        "rsplit",
    ),
    ("lower", "upper", "casefold", "title", "capitalize", "swapcase", "strip"),
    ("isdigit", "isalpha", "isalnum", "isspace", "islower", "isupper", "isdecimal", "isnumeric"),
    ("ljust", "rjust", "center", "zfill"),
    ("splitlines", "split"),
    ("append", "add", "extend", "insert", "appendleft", "update", "discard", "remove"),
    ("keys", "values", "items"),
    ("pop", "get", "setdefault", "popleft", "popitem"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("match", "search", "fullmatch", "findall", "finditer"),
    ("total_seconds", "seconds", "days"),
)
"""Methods of Python's own types that take the same arguments, and are taken for each other."""

_KEYWORDS = {
    "sorted": ("reverse=True", "key=len", "key=str", "key=str.lower"),
    "sort": ("reverse=True", "key=len", "key=str"),
    "max": ("default=0", "default=None", "key=len"),
    "min": ("default=0", "default=None", "key=len"),
    "enumerate": ("start=1",),
    "sum": ("start=1",),
    "split": ("maxsplit=1",),
    "rsplit": ("maxsplit=1",),
    "splitlines": ("keepends=True",),
    "open": ("encoding='utf-8'", "newline=''"),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "indent=2"),
    "mkdir": ("parents=True", "exist_ok=True"),
    "makedirs": ("exist_ok=True",),
    "round": ("ndigits=2",),
    "sub": ("count=1",),
    "next": ("None",),
    "popitem": ("last=False",),
    "move_to_end": ("last=False",),
    "compile": ("flags=re.IGNORECASE", "flags=re.MULTILINE", "flags=re.DOTALL"),
}
"""Arguments of functions and methods of Python's own that are forgotten."""

_MAKING = ("list", "tuple", "set", "frozenset", "sorted", "dict")
"""Types of Python's own that are made of what can be iterated, and are taken for each other."""

_ORDERING = frozenset({"sorted", "sort", "min", "max"})
"""Functions that can be told what to compare."""

_PATTERN_PARTS = (
    ("+", "*"), ("*", "+"), ("+", "+?"), ("*", "*?"), ("+?", "+"), ("*?", "*"), ("?", ""), (".", "\\."), ("\\.", "."),
    ("a-z", "a-zA-Z"), ("A-Z", "a-zA-Z"), ("0-9", "0-9."), ("\\d", "[\\d.]"), ("\\d", "\\w"), ("\\w", "[\\w-]"),
    ("\\s", "\\s*"), ("^", ""), ("$", ""), ("\\b", ""), (" ", "\\s+"),
)  # fmt: skip
"""Parts of regular expressions, and what is often meant instead."""

_ATOM = re.compile(r"\\[dwsDWS.]|(?<!\\)[\])]|(?<!\\)\.")
_REPEATED = ("+", "*", "?", "{")
"""The ends of what can be repeated in a regular expression, and what says how often."""

_WITH_NUMBERS = (ast.BinOp, ast.Compare, ast.Slice, ast.Call, ast.Subscript)
"""Where a number may stand for what a variable has."""

_WITH_ATTRIBUTES, _MAX_ATTRIBUTES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call), 12
"""What may be an object of which a part was meant, and how many of the attributes in a file are tried."""

_EACH = ("int", "str", "float", "abs", "len")

_WRAPPED = (
    ("{} + 1", 1.4),
    ("{} - 1", 1.4),
    ("{} or None", 3.2),
    ("list({})", 2.0),
    ("sorted({})", 2.2),
    ("{}[::-1]", 2.6),
    ("{}[1:]", 2.3),
    ("{}[:-1]", 2.3),
    ("{}[0]", 2.4),
    ("{}[-1]", 2.4),
    ("{}[1]", 2.5),
    ("str({})", 2.3),
    ("int({})", 2.3),
    ("abs({})", 2.2),
    ("len({})", 2.3),
    ("set({})", 2.5),
    ("tuple({})", 2.5),
    ("dict({})", 2.6),
    ("max({}, 0)", 2.2),
    ("max(0, {})", 2.2),
    ("round({})", 2.7),
    ("float({})", 2.7),
    ("reversed({})", 2.7),
    ("-{}", 2.2),
    ("[{}]", 2.4),
    ("{} ** 2", 2.6),
    ("{} * 2", 2.7),
    ("{} * 100", 2.6),
    ("{} / 100", 2.7),
    ("{} // 2", 2.7),
    ("{} or []", 3.0),
    ("{} or ''", 3.0),
    ("{} or 0", 3.0),
    ("[one.strip() for one in {}]", 2.8),
    ("[one for one in {} if one]", 2.6),
    *((f"[{name}(one) for one in {{}}]", 2.7) for name in _EACH),
)
_UNFITTED = (ast.Slice, ast.Starred, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
"""What stands only in certain places, so that no other expression can."""

_CHANGING_TRUTH = frozenset(
    {"{}[1:]", "{}[:-1]", "{}[0]", "{}[-1]", "int({})", "max({}, 0)", "max(0, {})", "[one for one in {} if one]"}
)
"""Those that make something else of a value of which only the truth matters."""

_TRUE_OR_FALSE = frozenset(
    {"isinstance", "issubclass", "hasattr", "callable", "any", "all", "bool", "startswith", "endswith", "isdigit",
     "isalpha", "isalnum", "isspace", "islower", "isupper", "is_file", "is_dir", "exists"}
)  # fmt: skip
"""Functions and methods that answer a question."""

_COPIES = frozenset({"list({})", "dict({})", "set({})", "tuple({})"})
_BARE = {"copy": 2.0, "strip": 2.3, "lower": 2.4, "rstrip": 2.6, "upper": 2.6, "items": 2.6, "values": 2.6}
"""Methods that are forgotten often, and what that costs."""


def expression_stages(place: FixSite) -> list[tuple[float, Callable[[FixSite], Iterator[Made]]]]:
    """The templates for the place of an expression, each with what its edits cost at least."""
    if not isinstance(getattr(place.node, "ctx", ast.Load()), ast.Load):
        return [(1.7, _targets)]
    if isinstance(place.node, _UNFITTED):
        return [(1.7, _yields), (1.3, _awaited)]
    if place.in_table:
        return [(1.2, _constants)]
    return [*_TEMPLATES]


def parsed(text: str) -> ast.expr | None:
    """The expression that a text is; None if it is none."""
    return _parsed_before(text) if len(text) <= _MAX_KEPT else _parsed(text)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


# a tree takes a hundred times what its text takes
_parsed_before = lru_cache(maxsize=1 << 14)(_parsed)


def fitting(place: FixSite, text: str) -> str | None:
    """A text as it can stand in a place, in parentheses where it needs them; None if it is no expression."""
    made = parsed(text)
    node = place.node
    if isinstance(node, _UNFITTED) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return text
    if made is None or not isinstance(node, ast.expr):
        return None
    if text.startswith("("):  # without parentheses that it does not need
        inner = parsed(text[1:-1]) if _QUOTES.intersection(text) else made
        if inner is not None and ast.dump(inner) == ast.dump(made):
            text = text[1:-1] if inner is not made else ast.unparse(made)
    loose = precedence_of_expression(made) < demanded(place.parent, node) or isinstance(made, ast.Tuple)
    enclosed = isinstance(made, ast.Tuple) and text[:1] == "(" and text == ast.unparse(made)
    if loose and not enclosed and not place.source.in_parentheses(node):
        if isinstance(made, ast.Tuple) and isinstance(place.parent, (ast.Subscript, ast.Assign, ast.Return)):
            return text
        return f"({text})"
    return text


def _operand(place: FixSite, node: ast.expr) -> str:
    """The text of an expression as a part of something else."""
    text = place.source.segment(node)
    simple = isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict))
    return text if simple else f"({text})"


def _comparison(place: FixSite) -> Iterator[Made]:
    node = place.node
    if not isinstance(node, ast.Compare):
        return
    parts = [node.left, *node.comparators]
    for number, operator in enumerate(node.ops):
        now = SIGNS[type(operator)]
        others = (
            _ORDERS if now in _ORDERS else ("in", "not in") if "in" in now.split() else ("is", "is not", "==", "!=")
        )
        for other in (*others, *(("is",) if now == "==" else ())):
            if other != now:
                signs = [SIGNS[type(one)] for one in node.ops]
                signs[number] = other
                text = _operand(place, parts[0]) + "".join(
                    f" {sign} {_operand(place, part)}" for sign, part in zip(signs, parts[1:], strict=True)
                )
                yield text, "comparison", 1.0 if (now, other) in _CLOSE or (other, now) in _CLOSE else 1.5
    if len(parts) > 2:
        texts = [_operand(place, part) for part in parts]
        for sign in _ORDERS:  # the same everywhere
            yield f" {sign} ".join(texts), "comparison", 1.5
    if len(parts) == 2:
        left, right = (_operand(place, part) for part in parts)
        sign = SIGNS[type(node.ops[0])]
        if sign in _ORDERS:
            for other in _ORDERS:
                for more in ("+ 1", "- 1"):
                    yield f"{left} {other} {right} {more}", "comparison", 1.6 if other == sign else 2.8
        for constant in ("0", "1", "2"):
            for other in _ORDERS if sign in _ORDERS else ():
                yield f"{left} {other} {constant}", "comparison", 2.7
        for part in (left, right):
            yield part, "left out", 2.4
        yield f"not {left}", "comparison", 2.6


def _calculation(place: FixSite) -> Iterator[Made]:
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    left, right, now = _operand(place, node.left), _operand(place, node.right), SYMBOLS[type(node.op)]
    family = _BITS if now in _BITS else _NUMERIC
    for other in (*family, *(one for one in (*_NUMERIC, *_BITS) if one not in family)):
        if other != now:
            near = {now, other} in ({"+", "-"}, {"*", "/"}, {"/", "//"}, {"//", "%"}) or family is _BITS
            yield f"{left} {other} {right}", "operator", 1.2 if near else 1.9 if other in family else 2.8
    yield f"{right} {now} {left}", "order", 1.5
    yield left, "left out", 1.6
    yield right, "left out", 1.6
    if isinstance(node.left, ast.BinOp):  # another grouping
        inner = node.left
        first, second = _operand(place, inner.left), _operand(place, inner.right)
        sign = SYMBOLS[type(inner.op)]
        yield f"{first} {sign} ({second} {now} {right})", "order", 1.8


def _logic(place: FixSite) -> Iterator[Made]:
    node = place.node
    if isinstance(node, ast.BoolOp):
        texts = [_operand(place, one) for one in node.values]
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield f" {other} ".join(texts), "logic", 1.2
        for number in range(len(texts)):
            rest = [*texts[:number], *texts[number + 1 :]]
            yield f" {word} ".join(rest), "left out", 1.6
            negated = [*texts]
            negated[number] = f"(not {texts[number]})"
            yield f" {word} ".join(negated), "logic", 1.6
    elif isinstance(node, ast.UnaryOp):
        yield _operand(place, node.operand), "left out", 1.1 if isinstance(node.op, ast.Not) else 1.5
    # what is negated already is changed by leaving that out
    if _is_asked(place) and isinstance(node, ast.expr) and not _is_not(node) and not _is_not(place.parent):
        yield f"not {_operand(place, node)}", "logic", 1.2


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_asked(place: FixSite) -> bool:
    """Whether only the truth of an expression matters."""
    parent, node = place.parent, place.node
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return node is parent.test
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


is_asked = _is_asked


def _constants(place: FixSite) -> Iterator[Made]:
    node = place.node
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield str(not value), "constant", 1.4
        return
    if value is None:
        for text in ("[]", "0", "''", "{}", "True", "False"):
            yield text, "constant", 2.6
        if not isinstance(place.parent, ast.Compare):
            for number, name in enumerate(place.names[:NEAR]):
                yield name, "name", 1.9 + 0.08 * number
    elif isinstance(value, int):
        for number, cost in (
            (value + 1, 1.2),
            (value - 1, 1.2),
            (0, 2.0),
            (1, 2.0),
            (-value, 2.0),
            (2, 2.5),
            (-1, 2.4),
            (value * 10, 2.3),
            (value // 10, 2.5),
            (value * 2, 2.6),
            (value // 2, 2.6),
        ):
            yield str(number), "constant", cost
    elif isinstance(value, float):
        for near in (value * 10, value / 10, value * 100, value / 100, 1 - value, 1 + value, -value, 0.0, 1.0):
            yield repr(round(near, 12)), "constant", 2.3
    if isinstance(value, int) and isinstance(
        place.parent, (ast.BinOp, ast.Compare, ast.Slice, ast.Call, ast.Subscript)
    ):
        for number, name in enumerate(place.names[:NEAR]):
            yield name, "name", 1.9 + 0.08 * number
    counts: Mapping[object, int] = place.scope.ingredients.constants.get(type(value), {})
    for other in place.scope.constants.get(type(value), ()) if not place.in_table else ():
        if other != value:
            yield repr(other), "constant", 2.2 - 0.1 * min(counts.get(other, 0), 4)
    if isinstance(value, str):
        text = place.text
        for match in re.finditer(r"\d+", text):
            for number in (int(match[0]) + 1, int(match[0]) - 1):
                if number >= 0:
                    yield f"{text[: match.start()]}{number}{text[match.end() :]}", "constant", 1.9
        if _is_pattern(place):
            yield from _patterns(text)
        for changed in (value.strip(), value.lower(), value.upper(), f"{value} ", ""):
            if changed != value:
                yield repr(changed), "constant", 2.6


def _is_pattern(place: FixSite) -> bool:
    """Whether a text is the first argument of a function of `re`."""
    call = place.parent
    function = call.func if isinstance(call, ast.Call) and call.args[:1] == [place.node] else None
    return getattr(getattr(function, "value", None), "id", "") == "re"


def _patterns(text: str) -> Iterator[Made]:
    """A regular expression that takes a little more or less."""
    first, last = re.search("[\"']", text), text[-1:]
    if first is None:
        return
    begin, end = first.start() + 1, len(text) - 1
    for old, new in _PATTERN_PARTS:
        for match in re.finditer(re.escape(old), text[:end]):
            if match.start() >= begin:
                yield f"{text[: match.start()]}{new}{text[match.end() :]}", "constant", 2.0
    for match in _ATOM.finditer(text, begin, end):
        if text[match.end() : match.end() + 1] not in _REPEATED:
            for sign in "+*?":
                yield f"{text[: match.end()]}{sign}{text[match.end() :]}", "constant", 2.0
    if text[begin - 1 : begin + 2] != last * 3:
        for made in (
            f"{text[:begin]}^{text[begin:]}",
            f"{text[:end]}${last}",
            f"{text[:end]}+{last}",
            f"{text[:end]}*{last}",
        ):
            yield made, "constant", 2.2


def _names(place: FixSite) -> Iterator[Made]:
    node, ingredients = place.node, place.scope.ingredients
    called = isinstance(place.parent, ast.Call) and node is place.parent.func
    if isinstance(node, ast.Name):
        if called:
            if node.id in _OPPOSITES:
                yield _OPPOSITES[node.id], "function", 1.2
            if node.id in _SUMMARIES and isinstance(place.parent, ast.Call) and len(place.parent.args) == 1:
                for name in _SUMMARIES:
                    yield name, "function", 1.7
            if isinstance(place.statement, ast.Raise) and place.parent is place.statement.exc:
                for number, name in enumerate(dict.fromkeys([*ingredients.exceptions, *EXCEPTIONS])):
                    yield name, "exception", 1.4 + 0.1 * min(number, 6)
            for name in _MAKING if node.id in _MAKING else ():
                yield name, "function", 1.9
            for name, _ in ingredients.called.most_common():
                yield name, "function", 2.2
            for name, arity in ingredients.arities.items():
                if name in ingredients.globals and arity == ingredients.arities.get(node.id, arity):
                    yield name, "function", 2.4
            return
        if node.id in place.names or node.id not in place.readable:
            for number, name in enumerate(place.names):
                yield name, "name", 1.2 + 0.1 * min(number, 8)
            for name in place.scope.own_attributes:
                same = name.partition(".")[2] == node.id
                yield name, "attribute", 1.2 if same else 2.3
        else:
            for name in sorted(ingredients.globals):
                yield name, "name", 2.2
    elif isinstance(node, ast.Attribute):
        base = _operand(place, node.value)
        if called:
            if node.attr in _OPPOSITES:
                yield f"{base}.{_OPPOSITES[node.attr]}", "method", 1.3
            for family in _SIBLINGS:
                for name in family if node.attr in family else ():
                    yield f"{base}.{name}", "method", 1.9
            for name, count in ingredients.methods.most_common(30):
                yield f"{base}.{name}", "method", 2.5 - 0.1 * min(count, 4)
            return
        if isinstance(node.value, ast.Name) and node.value.id == place.scope.itself:
            for name in place.scope.own_attributes:
                yield name, "attribute", 1.3
        if node.attr in place.names:
            yield node.attr, "name", 1.4
        for name, count in ingredients.attributes.most_common(40):
            yield f"{base}.{name}", "attribute", 1.9 - 0.1 * min(count, 4)


def _awaited(place: FixSite) -> Iterator[Made]:
    node = place.node
    if not isinstance(place.scope.function, ast.AsyncFunctionDef) or isinstance(place.parent, ast.Await):
        return
    if isinstance(node, ast.Await):
        yield place.source.segment(node.value), "await", 1.8
    elif isinstance(node, ast.Call) and not (place.bound and _runs_later(place)):
        yield f"await {place.text}", "await", 1.3


def _runs_later(place: FixSite) -> bool:
    """Whether an expression is in a function without a name, or in a generator: nothing can be waited for there."""
    around = (one for one in ast.walk(place.statement) if isinstance(one, (ast.Lambda, ast.GeneratorExp)))
    return any(inner is place.node for one in around for inner in ast.walk(one))


def _calls(place: FixSite) -> Iterator[Made]:
    node = place.node
    if not isinstance(node, ast.Call):
        return
    source, function = place.source, place.source.segment(node.func)
    generator = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
    positional = [source.segment(one) for one in node.args]
    named = [
        f"{one.arg}={source.segment(one.value)}" if one.arg else f"**{source.segment(one.value)}"
        for one in node.keywords
    ]
    for one in node.args:
        if not isinstance(one, (ast.Starred, ast.GeneratorExp)):
            yield source.segment(one), "left out call", 1.7
    if isinstance(node.func, ast.Attribute):
        yield _operand(place, node.func.value), "left out call", 1.8
    if generator:
        return

    def call(arguments: list[str], keywords: list[str] = named, callee: str = function) -> str:
        return f"{callee}({', '.join([*arguments, *keywords])})"

    for first, second in _exchanged(len(positional)):
        swapped = [*positional]
        swapped[first], swapped[second] = swapped[second], swapped[first]
        yield call(swapped), "order", 1.3 if second == first + 1 else 1.8
    for number in range(min(len(positional), _MAX_ITEMS)):
        yield call([*positional[:number], *positional[number + 1 :]]), "argument", 2.0
    for number in range(min(len(named), _MAX_ITEMS)):
        yield call(positional, [*named[:number], *named[number + 1 :]]), "argument", 2.2
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    keywords = place.scope.ingredients.keywords.get(name, set()) - {one.arg for one in node.keywords}
    for keyword in sorted(keywords):
        if keyword in place.names:
            yield call([*positional, *named], [f"{keyword}={keyword}"]), "argument", 1.6
        for value in ("True", "False", "None", "0", "1"):
            yield call([*positional, *named], [f"{keyword}={value}"]), "argument", 2.4
    for given in _KEYWORDS.get(name, ()):
        if given.partition("=")[0] not in {one.arg for one in node.keywords}:
            yield call([*positional, *named], [given]), "argument", 1.9
    if name in _ORDERING and "key" not in {one.arg for one in node.keywords}:
        for number, attribute in enumerate(place.scope.ingredients.attributes):
            yield call([*positional, *named], [f"key=lambda one: one.{attribute}"]), "argument", 2.0 + 0.05 * number
        for at in ("0", "1", "-1"):
            yield call([*positional, *named], [f"key=lambda one: one[{at}]"]), "argument", 2.2
    if not named:
        for value in (*place.names[:NEAR], *place.scope.own_attributes[:NEAR], "1", "0", "True", "None", "''"):
            yield call([*positional, value]), "argument", 2.3


def _displays(place: FixSite) -> Iterator[Made]:
    node = place.node
    if isinstance(node, (ast.Tuple, ast.List)):
        texts = [place.source.segment(one) for one in node.elts]
        opened, closed = ("[", "]") if isinstance(node, ast.List) else ("", "") if place.text[:1] != "(" else ("(", ")")
        for first, second in _exchanged(len(texts)):
            swapped = [*texts]
            swapped[first], swapped[second] = swapped[second], swapped[first]
            yield f"{opened}{', '.join(swapped)}{closed}", "order", 1.6
        for number in range(len(texts) if isinstance(node, ast.List) and len(texts) <= _MAX_ITEMS else 0):
            yield f"[{', '.join([*texts[:number], *texts[number + 1 :]])}]", "item", 2.2
        if isinstance(node, ast.List) and len(texts) <= 3:
            for value in ("[]", "None", "0", "''", *place.names[:NEAR]):
                yield f"[{', '.join([*texts, value])}]", "item", 2.2 if texts else 1.9
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and 0 < len(node.elts) <= _MAX_KNOWN and not place.in_table:
        yield from _one_more(place, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and (item := _only_item(place, node.left)):
        # each item is an object of its own then
        yield f"[{item} for _ in range({_operand(place, node.right)})]", "copy", 1.6
    if isinstance(node, (ast.List, ast.ListComp)):
        for name in place.names[:NEAR]:
            yield f"{name} + {place.text}", "calculation", 2.5
            yield f"{place.text} + {name}", "calculation", 2.5
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        yield _operand(place, node.value), "left out", 2.2
        base, key = _operand(place, node.value), place.source.segment(node.slice)
        if isinstance(node.slice, ast.Constant):
            yield f"{base}.get({key})", "method", 2.4
    if isinstance(node, ast.Attribute) and not (isinstance(place.parent, ast.Call) and node is place.parent.func):
        yield _operand(place, node.value), "left out", 2.3
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        base = _operand(place, node.value)
        lower, upper = (
            "" if one is None else place.source.segment(one) for one in (node.slice.lower, node.slice.upper)
        )
        for begin, end, cost in (
            (lower, "", 1.8),
            ("", upper, 1.8),
            (f"{lower or 0} + 1", upper, 1.5),
            (f"{lower} - 1" if lower else "1", upper, 1.5),
            (lower, f"{upper} + 1" if upper else "-1", 1.5),
            (lower, f"{upper} - 1" if upper else "-1", 1.5),
        ):
            yield f"{base}[{begin}:{end}]", "slice", cost
        for name in place.names[:NEAR]:
            yield f"{base}[{name}:{upper}]", "slice", 2.2
            yield f"{base}[{lower}:{name}]", "slice", 2.2
    if isinstance(node, ast.IfExp):
        test, body, other = (_operand(place, one) for one in (node.test, node.body, node.orelse))
        yield f"{other} if {test} else {body}", "order", 1.8
        yield body, "left out", 2.2
        yield other, "left out", 2.2


def _one_more(place: FixSite, node: ast.Tuple | ast.List | ast.Set) -> Iterator[Made]:
    """One more of the values that are named, such as the next number."""
    values = [one.value for one in node.elts if isinstance(one, ast.Constant)]
    kinds = {type(one) for one in values}
    if len(values) < len(node.elts) or len(kinds) != 1:
        return
    texts = [place.source.segment(one) for one in node.elts]
    brackets = {ast.List: "[]", ast.Tuple: "()"}.get(type(node), "{}")
    numbers = [one for one in values if type(one) is int]
    made = {repr(one): 1.8 for one in (max(numbers) + 1, min(numbers) - 1)} if numbers else {}
    for number, other in enumerate(place.scope.constants.get(kinds.pop(), ())[:_MAX_KNOWN]):
        made.setdefault(repr(other), 2.3 + 0.02 * number)
    for text, cost in made.items():
        if text not in texts:
            several = [text, *texts] if numbers and text == repr(min(numbers) - 1) else [*texts, text]
            yield f"{brackets[0]}{', '.join(several)}{brackets[1]}", "item", cost


def _exchanged(count: int) -> Iterator[tuple[int, int]]:
    """The numbers of two of several arguments or items, which change their places."""
    if count <= _MAX_PERMUTED:
        yield from combinations(range(count), 2)
    elif count <= _MAX_ITEMS:
        yield from pairwise(range(count))


def _only_item(place: FixSite, node: ast.expr) -> str:
    """The text of the one item of a list; empty for anything else."""
    return place.source.segment(node.elts[0]) if isinstance(node, ast.List) and len(node.elts) == 1 else ""


def _swapped_names(place: FixSite) -> Iterator[Made]:
    """Two variables of an expression, each in the place of the other."""
    node = place.node
    if not isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.ListComp, ast.GeneratorExp)):
        return
    called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in called]
    if len(names) > _MAX_NAMES or any(one.lineno != one.end_lineno for one in names) or "\n" in place.text:
        return
    for first, second in combinations(sorted({one.id for one in names}), 2):
        others = {first: second, second: first}
        text = place.text.encode()
        for one in sorted(names, key=lambda name: -name.col_offset):
            if one.id in others:
                at = one.col_offset - node.col_offset
                text = text[:at] + others[one.id].encode() + text[at + len(one.id.encode()) :]
        yield text.decode(), "order", 1.8 if len(names) <= 4 else 2.2


def _bound_now(place: FixSite) -> Iterator[Made]:
    """A function that keeps the value that a variable has now."""
    node = place.node
    if not isinstance(node, ast.Lambda) or node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
        return
    own = {one.arg for one in node.args.args}
    free = {one.id for one in ast.walk(node.body) if isinstance(one, ast.Name)} - own
    before, _, body = place.text.partition(":")
    if node.args.defaults or "{" in before:
        return
    for name in sorted(free.intersection((*place.names, *place.bound))):
        yield f"{before}{',' if own else ''} {name}={name}:{body}", "binding", 1.6


def _wrapped(place: FixSite) -> Iterator[Made]:
    node, parent = place.node, place.parent
    if isinstance(node, ast.Constant) or (isinstance(parent, ast.Call) and node is parent.func):
        return
    if isinstance(parent, ast.Expr):
        return
    if _answers(node):
        return
    text = _operand(place, node) if isinstance(node, ast.expr) else ""
    yield from _methods(place, text)
    if isinstance(parent, ast.Attribute):
        return
    counted = isinstance(parent, (ast.Subscript, ast.Slice, ast.Compare)) or (
        isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == "range"
    )
    asked = _is_asked(place)
    one_of_several = _UNLIKE if _has_twin(place) else 0.0
    for form, cost in _WRAPPED:
        if asked and form not in _CHANGING_TRUTH:
            continue
        yield (
            form.format(place.text if "({}" in form else text),
            "copy" if form in _COPIES else "wrapping",
            cost + one_of_several - (0.2 if counted and "1" in form else 0),
        )
    ingredients = place.scope.ingredients
    if isinstance(parent, (ast.comprehension, ast.For)) and node is parent.iter:
        yield f"zip(*{text})", "wrapping", 2.6
    known = {*ingredients.called, getattr(place.scope.function, "name", "")}
    for name, arity in ingredients.arities.items():
        if arity == 1 and name in ingredients.globals and name not in known:
            yield f"{name}({place.text})", "wrapping", 2.7
    for name, count in (
        ingredients.attributes.most_common(_MAX_ATTRIBUTES) if isinstance(node, _WITH_ATTRIBUTES) else ()
    ):
        yield f"{text}.{name}", "attribute", 2.6 - 0.1 * min(count, 4)
    for name, count in ingredients.called.most_common():
        if ingredients.arities.get(name, 1) == 1:
            yield f"{name}({place.text})", "wrapping", 2.7 - 0.1 * min(count, 4)
    for name, count in ingredients.of_one.items():
        if name.partition(".")[0] in (place.scope.itself, *ingredients.globals):
            yield f"{name}({place.text})", "wrapping", 2.7 - 0.1 * min(count, 4)
    for number, name in enumerate(() if asked else place.names[:NEAR]):
        if name == text:
            continue
        more = 0.05 * number
        for sign in ("+", "-"):
            yield f"{text} {sign} {name}", "calculation", 2.2 + more
        for sign in ("*", "//", "%", "/"):
            yield f"{text} {sign} {name}", "calculation", 2.8 + more
        yield f"{name} + {text}", "calculation", 2.5 + more
        yield f"max({name}, {text})", "wrapping", 2.2 + more
        yield f"min({name}, {text})", "wrapping", 2.3 + more
        yield f"{text}[{name}:]", "slice", 2.4 + more
        yield f"{text}[:{name}]", "slice", 2.4 + more
        yield f"{text}[{name}]", "item", 2.6 + more


def _has_twin(place: FixSite) -> bool:
    """Whether another operand or argument beside an expression calls the same: both are mostly treated alike."""
    node, parent = place.node, place.parent
    if not isinstance(node, ast.Call) or not isinstance(parent, (ast.Call, ast.BinOp, ast.Compare)):
        return False
    others = (one for one in ast.iter_child_nodes(parent) if one is not node and isinstance(one, ast.Call))
    return any(ast.dump(one.func) == ast.dump(node.func) for one in others)


def _answers(node: ast.AST) -> bool:
    """Whether an expression gives nothing but true or false."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", getattr(node.func, "attr", "")) in _TRUE_OR_FALSE
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _methods(place: FixSite, text: str) -> Iterator[Made]:
    """What a method without arguments makes of a value."""
    known = _BARE | {
        name: 2.8 - 0.1 * min(count, 4)
        for name, count in place.scope.ingredients.bare_methods.most_common(_MAX_METHODS)
        if name not in _BARE
    }
    if _is_shared_default(place):
        known["copy"] = _SHARED
    for name, cost in known.items():
        yield f"{text}.{name}()", "copy" if name == "copy" else "wrapping", cost


def _is_shared_default(place: FixSite) -> bool:
    """Whether it is a parameter whose default value all calls share, and which is kept."""
    node, arguments = place.node, place.scope.function.args
    if not isinstance(node, ast.Name) or not isinstance(place.parent, ast.Assign):
        return False
    with_default = [*arguments.posonlyargs, *arguments.args][::-1][: len(arguments.defaults)]
    pairs = [*zip(with_default, arguments.defaults[::-1], strict=True)]
    pairs += [(one, given) for one, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given]
    return any(one.arg == node.id and isinstance(given, (ast.Dict, ast.List, ast.Set)) for one, given in pairs)


def _ingredients(place: FixSite) -> Iterator[Made]:
    """Other expressions of the function, and of the file."""
    node, parent = place.node, place.parent
    if isinstance(parent, ast.Call) and node is parent.func:
        return
    kinds = (ast.Compare,) if _is_asked(place) else (ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp)
    line = place.statement.lineno
    for text, other in place.scope.expressions.items():
        if isinstance(other, kinds) and place.fits(other) and not isinstance(getattr(other, "ctx", None), ast.Del):
            yield text, "ingredient", 2.1 + min(abs(other.lineno - line), 20) * 0.04


def atoms(place: FixSite) -> Iterator[tuple[str, float]]:
    """Conditions of names: about nothing, emptiness, and what stands in the file."""
    near = place.names[:NEAR]
    for number, name in enumerate([*near, *place.scope.own_attributes[:NEAR]]):
        more = 0.05 * number
        yield f"not {name}", 0.2 + more
        yield name, 0.3 + more
        yield f"{name} is None", 0.2 + more
        yield f"{name} is not None", 0.4 + more
        for text in (f"{name} == 0", f"{name} == 1", f"{name} > 0", f"{name} < 0", f"{name} != 0", f"{name} > 1"):
            yield text, 0.7 + more
        yield f"len({name}) > 1", 0.9 + more
        yield f"len({name}) == 1", 0.9 + more
    for number, (text, node) in enumerate(place.scope.conditions.items()):
        if place.fits(node):
            yield text, 0.3 + 0.03 * min(number, 20)
    for key, container in place.scope.kept_in:  # such as whether it has been seen
        if key in place.names and container in place.readable:
            yield f"{key} in {container}", 0.2
            yield f"{key} not in {container}", 0.3
    for one, other in combinations(near[:_TOGETHER], 2):
        yield f"not {one} and not {other}", 0.9
        yield f"{one} or {other}", 0.9
    for first, one in enumerate(near):
        for second, other in enumerate(near):
            if one != other:
                more = 0.05 * (first + second)
                if first < second:
                    for sign in ("==", "!=", "<", ">", "<=", ">="):
                        yield f"{one} {sign} {other}", 0.7 + more
                yield f"{one} in {other}", 0.7 + more
                yield f"{one} not in {other}", 0.7 + more


def _conditions(place: FixSite) -> Iterator[Made]:
    """A condition that is stronger or weaker, or another one."""
    node = place.node
    if not _is_asked(place) or not isinstance(node, ast.expr):
        return
    text = _operand(place, node) if isinstance(node, ast.BoolOp) else place.text
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield f"{text} is not None", "condition", 1.8  # what is false is not what is missing
    bases = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    guarded = {f"{one.value.id} is None" for one in bases if isinstance(one.value, ast.Name)}
    guarded |= {f"{one.value.id} is not None" for one in bases if isinstance(one.value, ast.Name)}
    for atom, cost in atoms(place):
        nearer = 0.5 if atom in guarded else 0.0
        if isinstance(node, ast.Constant):
            yield atom, "condition", 1.7 + cost
            continue
        for word in ("and", "or"):
            part = f"({atom})" if word == "and" and " or " in atom else atom
            yield f"{text} {word} {part}", "condition", 1.9 + cost - nearer
            yield f"{part} {word} {text}", "condition", 2.0 + cost - nearer
        if not (atom.startswith("not ") and _is_not(place.parent)):  # the whole negation may be the rest of it
            yield atom, "condition", 2.4 + cost


def _names_instead(place: FixSite) -> Iterator[Made]:
    """A variable in the place of something longer."""
    node, parent = place.node, place.parent
    if isinstance(node, (ast.Call, ast.Subscript, ast.BinOp, ast.IfExp)) and not isinstance(parent, ast.Expr):
        for number, name in enumerate(place.names[:NEAR]):
            yield name, "name", 2.1 + 0.05 * number


def _synthesis(place: FixSite) -> Iterator[Made]:
    """Expressions of two names or constants."""
    node, parent = place.node, place.parent
    if _is_asked(place) or isinstance(parent, (ast.Attribute, ast.Expr)):
        return
    if isinstance(parent, ast.Call) and node is parent.func:
        return
    truth = isinstance(node, ast.Constant) and isinstance(node.value, bool)
    near = place.names[:NEAR]
    if truth or isinstance(node, ast.Compare):
        for atom, cost in atoms(place):
            yield atom, "synthesis", 2.0 + cost
        return
    leaves = [*near, *place.scope.own_attributes[:4], *(f"len({name})" for name in near[:4])]
    for first, one in enumerate(leaves):
        for second, other in enumerate([*leaves, "1", "2"]):
            more = 0.04 * (first + second)
            if one != other:
                yield f"{one} - {other}", "synthesis", 3.0 + more
                if first < second:
                    yield f"{one} + {other}", "synthesis", 3.0 + more
                    yield f"{one} * {other}", "synthesis", 3.4 + more
        for other in leaves:
            if one != other:
                yield f"{one}[{other}]", "synthesis", 3.2 + 0.04 * first
        yield f"[{one}]", "synthesis", 2.8 + 0.04 * first
        for at in ("0", "-1", "1"):
            yield f"{one}[{at}]", "synthesis", 2.8 + 0.04 * first


def _formats(place: FixSite) -> Iterator[Made]:
    """Another format of a value in an f-string."""
    node, text = place.node, place.text
    if not isinstance(node, ast.JoinedStr):
        return
    for part in node.values:
        if isinstance(part, ast.FormattedValue) and isinstance(spec := part.format_spec, ast.JoinedStr):
            old, known = ast.unparse(part.value), ast.unparse(spec)[2:-1]
            if len(spec.values) == 1 and text.count(f"{old}:{known}}}") == 1:
                for other in _other_formats(known):
                    yield text.replace(f"{old}:{known}}}", f"{old}:{other}}}"), "format", 1.6


def _other_formats(spec: str) -> Iterator[str]:
    for match in re.finditer(r"\d+", spec):
        for number in (int(match[0]) + 1, int(match[0]) - 1):
            if number >= 0:
                yield f"{spec[: match.start()]}{number}{spec[match.end() :]}"
    for one in "<>^":
        for other in "<>^":
            if one in spec and one != other:
                yield spec.replace(one, other)
    for digits in re.finditer(r"(?<!\d)[1-9]\d*", spec):
        yield f"{spec[: digits.start()]}0{spec[digits.start() :]}"


def _targets(place: FixSite) -> Iterator[Made]:
    """Another variable, item or attribute that is assigned."""
    node, parent = place.node, place.parent
    if not isinstance(parent, (ast.Assign, ast.AugAssign)) or isinstance(node, (ast.Tuple, ast.List, ast.Starred)):
        return
    seen = {place.text}
    for text, other in place.scope.expressions.items():
        if isinstance(other, (ast.Subscript, ast.Attribute)) and place.fits(other) and text not in seen:
            seen.add(text)
            yield text, "target", 2.3 if type(other) is type(node) else 2.8
    for name in place.names[:NEAR]:
        if name not in seen:
            yield name, "target", 2.2
    if isinstance(node, ast.Subscript):
        base = place.source.segment(node.value)
        key = place.source.segment(node.slice)
        for name in place.names[:NEAR]:
            yield f"{base}[{name}]", "target", 2.2
            yield f"{name}[{key}]", "target", 2.4
        for more in ("+ 1", "- 1"):
            yield f"{base}[{key} {more}]", "target", 1.7


def _yields(place: FixSite) -> Iterator[Made]:
    node = place.node
    if isinstance(node, ast.Yield) and node.value is not None:
        yield f"yield from {place.source.segment(node.value)}", "generator", 1.7
    elif isinstance(node, ast.YieldFrom):
        yield f"yield {place.source.segment(node.value)}", "generator", 1.7


_TEMPLATES: tuple[tuple[float, Callable[[FixSite], Iterator[Made]]], ...] = (
    (1.0, _comparison),
    (1.2, _calculation),
    (1.1, _logic),
    (1.2, _constants),
    (1.2, _names),
    (1.3, _awaited),
    (1.3, _calls),
    (1.5, _displays),
    (1.6, _formats),
    (1.8, _swapped_names),
    (1.6, _bound_now),
    (1.2, _wrapped),
    (1.4, _conditions),
    (2.1, _ingredients),
    (2.1, _names_instead),
    (2.0, _synthesis),
)
