"""Which values a property test draws for its arguments, as far as its strategies say so in words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from suspectra.dependences.exploration import Constraint, Term
from suspectra_recorder.experiments.inputs.characters import FIRST, LAST

_MAX_NUMBER = 10**9  # of a number that nothing bounds, besides what the failing input has


def domain(parts: Iterable[tuple[str, str, float]], strategies: Mapping[str, str]) -> list[Constraint]:
    """The constraints that every input of a test fulfils."""
    found: list[Constraint] = []
    parsed = {name: _parsed(text) for name, text in strategies.items()}
    for name, kind, value in parts:
        symbol = ("symbol", name, "float" if kind == "float" else "int")
        argument, _, rest = name.partition("[")
        strategy = _inside(parsed.get(argument), rest)
        if kind == "bool":
            found += _between(symbol, 0, 1)
        elif kind == "char":
            found += _characters(symbol, strategy)
        else:
            found += _between(symbol, *_bounds(strategy, value))
    return found


def fixed(strategies: Mapping[str, str]) -> dict[str, str]:
    """The arguments whose strategies do not say which values they draw."""
    return {name: text for name, text in strategies.items() if not _is_known(_parsed(text))}


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.replace("<unknown>", "None"), mode="eval").body
    except SyntaxError:
        return None


def _is_known(strategy: ast.expr | None) -> bool:
    if not (isinstance(strategy, ast.Call) and isinstance(strategy.func, ast.Name)):
        return False
    if strategy.func.id in ("lists", "tuples"):
        return not _options(strategy).keys() - {"elements", "min_size", "max_size"} and all(
            map(_is_known, _positional(strategy))
        )
    alphabet = _options(strategy).get("alphabet")
    if alphabet is not None and not isinstance(alphabet, ast.Constant):
        return False
    return strategy.func.id in ("integers", "floats", "booleans", "text")


def _options(strategy: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in strategy.keywords if keyword.arg is not None}


def _positional(strategy: ast.Call) -> list[ast.expr]:
    elements = _options(strategy).get("elements")
    return [*strategy.args, *([] if elements is None else [elements])]


def _inside(strategy: ast.expr | None, rest: str) -> ast.Call | None:
    """The strategy of a part such as ``[2][0]``, without the brackets of its beginning."""
    place, _, deeper = rest.partition("]")
    if not isinstance(strategy, ast.Call) or not isinstance(strategy.func, ast.Name):
        return None
    if strategy.func.id in ("lists", "tuples") and place:
        inside = _positional(strategy)
        number = int(place) if strategy.func.id == "tuples" and place.isdigit() else 0
        return _inside(inside[number], deeper.removeprefix("[")) if number < len(inside) else None
    return strategy


def _number(node: ast.expr | None) -> float | None:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if isinstance(value, (int, float)) else None


def _bounds(strategy: ast.Call | None, value: float) -> tuple[float, float]:
    options = {} if strategy is None else _options(strategy)
    least, most = _number(options.get("min_value")), _number(options.get("max_value"))
    furthest = max(_MAX_NUMBER, 2 * abs(value))
    return (-furthest if least is None else least), (furthest if most is None else most)


def _between(symbol: Term, least: float, most: float) -> Iterator[Constraint]:
    yield (">=", symbol, least), True
    yield ("<=", symbol, most), True


def _characters(symbol: Term, strategy: ast.Call | None) -> Sequence[Constraint]:
    alphabet = None if strategy is None else _options(strategy).get("alphabet")
    if isinstance(alphabet, ast.Constant) and isinstance(alphabet.value, str) and alphabet.value:
        term: Term = False
        for character in alphabet.value:
            equal = ("==", symbol, ord(character))
            term = equal if term is False else ("or", equal, term)
        return [(term, True)]
    return list(_between(symbol, FIRST, LAST))
