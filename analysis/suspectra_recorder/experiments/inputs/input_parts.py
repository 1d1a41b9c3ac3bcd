"""The parts of an input that can be others: the numbers, truths and characters inside its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspectra_recorder.experiments.inputs.characters import FIRST, LAST, MAX_CHARACTERS, plain, text_of
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath, Term
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

MAX_PARTS = 120
"""Parts of an input; what comes after them stays as it is."""

_MAX_BITS, _MAX_DEPTH, _MAX_ITEMS = 64, 5, 500
_MAX_SHOWN = 2_000

Given = Mapping[str, "int | float | bool"]


class InputParts:
    """Puts values and symbols into the arguments of a call."""

    def __init__(self, path: SymbolicPath | None, given: Given):
        self.found: list[tuple[str, str, int | float]] = []  # the symbol, kind and value of each part
        self._path, self._given = path, given

    def replaced(self, name: str, value: Any, depth: int = _MAX_DEPTH) -> Any:
        """The same value with other parts."""
        cls = type(value)
        if cls is str:
            return self._text(name, value)
        if cls in _KINDS:
            return self._number(name, value, _KINDS[cls])
        if depth and cls in (list, tuple):
            return cls([self.replaced(f"{name}[{place}]", item, depth - 1) for place, item in enumerate(value)])
        if depth and cls is dict and all(type(key) in (str, int) for key in value):
            return {key: self.replaced(f"{name}[{key!r}]", item, depth - 1) for key, item in value.items()}
        return value

    def _number(self, name: str, value: Any, kind: str) -> Any:
        if len(self.found) >= MAX_PARTS or not _is_small(value):
            return value
        value = type(value)(self._given.get(name, value))
        self.found.append((name, kind, int(value) if kind == "bool" else value))
        if self._path is None:
            return value
        return self._path.flag(name, value) if kind == "bool" else self._path.symbol(name, value)

    def _text(self, name: str, value: str) -> Any:
        if len(value) > MAX_CHARACTERS:
            return value
        codes: list[Term] = []
        characters = []
        for place, character in enumerate(value):
            symbol, code = f"{name}[{place}]", ord(character)
            if FIRST <= code <= LAST and len(self.found) < MAX_PARTS:
                code = int(self._given.get(symbol, code))
                self.found.append((symbol, "char", code))
                codes.append(("symbol", symbol, "int"))
            else:
                codes.append(code)
            characters.append(chr(code))
        text = "".join(characters)
        return text if self._path is None else text_of(self._path, text, codes)


def as_written(value: object, depth: int = _MAX_DEPTH) -> str:
    """A value as Python writes it, without calling anything of the program.

    What `ast.literal_eval` can read; empty where the value is of another type or too large.
    """
    value = plain(value)
    if type(value) in _WRITTEN:
        text = repr(value)
        return text if len(text) <= _MAX_SHOWN else ""
    if depth and type(value) in _BRACKETS and len(value) <= _MAX_ITEMS:  # type: ignore[arg-type]
        return _container(value, depth)
    return ""


def _container(value: Any, depth: int) -> str:
    begin, end = _BRACKETS[type(value)]
    if type(value) is dict:
        pairs = [(as_written(key, depth - 1), as_written(item, depth - 1)) for key, item in value.items()]
        inside = [f"{key}: {item}" if key and item else "" for key, item in pairs]
    else:
        inside = [as_written(item, depth - 1) for item in value]
    if not all(inside) or (type(value) is set and not value):
        return ""
    comma = "," if type(value) is tuple and len(inside) == 1 else ""
    text = f"{begin}{', '.join(inside)}{comma}{end}"
    return text if len(text) <= _MAX_SHOWN else ""


def _is_small(value: float) -> bool:
    if isinstance(value, int):
        return int.bit_length(value) <= _MAX_BITS
    # neither infinite nor NaN
    return value - value == 0


_KINDS: dict[type, str] = {int: "int", bool: "bool", float: "float"}
_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}")}
_WRITTEN = frozenset({type(None), bool, int, float, str, bytes})
