"""What instrumented code calls while inputs are tried: arguments come in, results go out, and symbols are looked up.

Python's own containers and conversions would lose the terms of symbols. So ``a in b``, ``a[b]``, ``"".join(a)`` and
calls of ``int``, ``ord``, ``chr`` and ``str`` are done here instead, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from suspectra_recorder.experiments.decisions.paths import CallMarks
from suspectra_recorder.experiments.inputs.characters import codes_of, path_of, plain, same, text_of
from suspectra_recorder.experiments.inputs.input_parts import Given, InputParts, as_written
from suspectra_recorder.experiments.inputs.rewriting import InputRewriting
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath, Term, number_of
from suspectra_recorder.experiments.inputs.truth_terms import all_of, any_of, ask
from suspectra_recorder.experiments.messages import CallByTest
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins
__tracebackhide__ = True

MAX_CALLS = 1_000
"""Calls by a test that are noted."""

_MAX_ITEMS = 100  # of a container, in a term
_ZERO, _NINE = 48, 57

_frame = sys._getframe


class InputMarks(CallMarks):
    """Gives one call of the program by a test other arguments."""

    tests = True

    def __init__(self, is_test: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_test = is_test
        self._known: dict[str, bool] = {}
        self._defaults: dict[tuple[str, str], dict[str, Any]] = {}  # by file and function: of its parameters
        self.try_input(None, {}, call=0)

    def try_input(self, path: SymbolicPath | None, given: Given, *, call: int, whole: bool = False) -> None:
        """Change the arguments of a call from now on."""
        self._call, self._path, self._whole = call, path, whole
        self._frame: object = None
        self.calls: list[CallByTest] = []
        self.parts = InputParts(path, given)
        self.function, self.result = "", ""
        self.arguments: dict[str, str] = {}
        self.unsupported: dict[str, str] = {}
        self.begin = self.end = -1

    def position(self) -> int:
        """How many events the present thread has."""
        thread = self._thread()
        return 0 if thread is None else len(thread.events)

    def change(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Put other parts into arguments."""
        changed = {}
        for name, value in arguments.items():
            before = len(self.parts.found)
            now = self.parts.replaced(name, value)
            if len(self.parts.found) == before and name not in ("self", "cls"):
                self.unsupported[name] = type(value).__name__
            self.arguments[name] = as_written(now) or type(value).__name__
            changed[name] = now
        return changed

    # what instrumented code calls

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Mark functions, their arguments and results, and operations that would lose terms; in tests these alone."""
        is_test = self._is_test(path)
        InputRewriting(placeholder, functions=not is_test).fields(tree, "")
        ast.fix_missing_locations(tree)
        return super().insert(tree, path, placeholder, asserts=asserts) if not is_test else _nothing

    def default(self, function: str, name: str, value: Any) -> Any:
        """A parameter has got a default value."""
        self._defaults.setdefault((_frame(1).f_code.co_filename, function), {})[name] = value
        return value

    def arguments_of(self, function: str, gives: bool, names: Sequence[str], *values: Any) -> Sequence[Any]:
        """A function has got arguments."""
        # a call inside of the one that got the input belongs to it
        if not self._call or self._frame is not None:
            return values
        frame = _frame(1)
        caller = frame.f_back
        if caller is None or not self._from_test(caller.f_code.co_filename):
            return values
        defaults = self._defaults.get((frame.f_code.co_filename, function), {})
        given = dict(zip(names, values, strict=True))
        # defaults are the program's, and no input: they stay as they are
        passed = {name: value for name, value in given.items() if value is not defaults.get(name, self)}
        # to note the calls of the test, which takes the place of trying one
        if self._call < 0:
            if len(self.calls) < MAX_CALLS:
                parts = InputParts(None, {})
                for name, value in passed.items():
                    parts.replaced(name, value)
                count, line = len(parts.found), caller.f_lineno
                self.calls.append({"function": function, "line": line, "parts": count, "gives": gives})
            return values
        self._call -= 1
        if self._call:
            return values
        self._frame, self.function, self.begin = frame, function, self.position()
        return list({**given, **self.change(passed)}.values())

    def _from_test(self, file: str) -> bool:
        if file not in self._known:
            self._known[file] = self._is_test(file)
        return self._known[file]

    def returns(self, value: Any) -> Any:
        """A function returns.

        The same; a plain one where the symbols end.
        """
        if self._frame is not None and self.end < 0 and not self._whole and _frame(1) is self._frame:
            self.end, self.result = self.position(), as_written(value) or type(value).__name__
            if self._path is not None:
                self._path.closed = True
            return plain(value)
        return value

    def contains(self, item: Any, holder: Any) -> bool:
        """Whether something is in a container."""
        path, texts = path_of(item), type(holder) is str
        if path is not None and (texts or type(holder) in _LOOKED_UP) and len(holder) <= _MAX_ITEMS:
            found = plain(item) in holder
            if texts:
                size = len(item)
                # for texts all parts of that length are what it could be
                others = {holder[place : place + size] for place in range(len(holder) - size + 1)}
            else:
                others = {key for key in holder if type(key) is str}
            return ask(path, any_of([same(codes_of(item), codes_of(other)) for other in sorted(others)]), found)
        path, term, _ = number_of(item)
        if path is not None and type(holder) in _LOOKED_UP and len(holder) <= _MAX_ITEMS:
            keys = [key for key in holder if type(key) is int]
            return ask(path, any_of([("==", term, key) for key in keys]), plain(item) in holder)
        return item in holder

    def item(self, holder: Any, key: Any) -> Any:
        """An item of a container."""
        path, term, size = number_of(key)
        value = plain(key)
        if path is not None and type(holder) in (list, tuple):
            inside = -len(holder) <= value < len(holder)
            ask(path, ("and", (">=", term, 0 if value >= 0 else -len(holder)), ("<", term, len(holder))), inside)
            if inside and 0 <= value:
                return _chosen(path, [(("==", term, place), item) for place, item in enumerate(holder)], value, size)
        elif path is not None:
            ask(path, ("==", term, value), True)
        elif (text := path_of(key)) is not None and type(holder) is dict and len(holder) <= _MAX_ITEMS:
            keys = [one for one in holder if type(one) is str]
            choices = [(same(codes_of(key), codes_of(one)), holder[one]) for one in keys]
            ask(text, any_of([truth for truth, _ in choices]), value in holder)
            if value in holder:
                return _chosen(text, choices, keys.index(value), len(value))
        return holder[key if path is None else value]

    def call(self, function: Any, argument: Any) -> Any:
        """Call what may be a conversion of Python's own."""
        path = path_of(argument)
        if path is not None and function is int:
            return _converted(path, argument)
        if path is not None and function is ord and len(argument) == 1:
            code = codes_of(argument)[0]
            return path.number(ord(plain(argument)), code, 1) if isinstance(code, tuple) else code
        if path is not None and function is str:
            return argument
        path, term, _ = number_of(argument)
        if path is not None and function is int:
            return path.number(int.__int__(argument), term, number_of(argument)[2])
        if path is not None and function is chr:
            return text_of(path, function(int.__int__(argument)), [term])
        return function(argument)

    def join(self, separator: Any, parts: Any) -> Any:
        """Join texts, or call another method of this name."""
        if not isinstance(separator, str):
            return separator.join(parts)
        parts = list(parts)
        path = next((path for part in (separator, *parts) if (path := path_of(part)) is not None), None)
        joined = separator.join(parts)
        if path is None:
            return joined
        between = codes_of(separator)
        codes: list[Term] = []
        for number, part in enumerate(parts):
            codes += [*(between if number else ()), *codes_of(part)]
        return text_of(path, plain(joined), codes)


_LOOKED_UP = frozenset({dict, set, frozenset})


def _chosen(path: SymbolicPath, choices: Sequence[tuple[Term, Any]], taken: int, size: int) -> Any:
    """One of some values; if all are integers, which one is chosen stays open."""
    terms = [number_of(value) for _, value in choices]
    numbers = all(
        type(value) is int or known is not None for (_, value), (known, _, _) in zip(choices, terms, strict=True)
    )
    if not numbers or len(choices) > _MAX_ITEMS:
        for number, (truth, _) in enumerate(choices):
            if number == taken:
                ask(path, truth, True)
        return choices[taken][1]
    chosen: Term = terms[-1][1]
    for (truth, _), (_, term, _) in zip(choices[-2::-1], terms[-2::-1], strict=True):
        chosen = ("if", truth, term, chosen) if isinstance(truth, tuple) else term if truth else chosen
    total = sum(more for _, _, more in terms) + size * len(choices)
    return path.number(plain(choices[taken][1]), chosen, total) if isinstance(chosen, tuple) else choices[taken][1]


def _converted(path: SymbolicPath, text: Any) -> Any:
    """``int(text)``, where all characters but a sign are digits."""
    codes, value = codes_of(text), plain(text)
    # that there is a sign stays as it is
    signed = value[:1] in ("+", "-")
    begin = 1 if signed else 0
    if signed:
        ask(path, same(codes[:1], (ord(value[0]),)), True)
    digits = codes[begin:]
    is_number = value[begin:].isascii() and value[begin:].isdigit()
    terms = [all_of([(">=", code, _ZERO), ("<=", code, _NINE)]) for code in digits if isinstance(code, tuple)]
    ask(path, all_of(terms), is_number)
    if not is_number:
        return int(value)
    term: Term = 0
    for code in digits:
        digit = ("-", code, _ZERO) if isinstance(code, tuple) else code - _ZERO
        term = digit if term == 0 else ("+", ("*", term, 10), digit)
    if value[:1] == "-":
        term = ("negative", term)
    return path.number(int(value), term, 4 * len(codes)) if isinstance(term, tuple) else int(value)


def _nothing() -> None:
    pass
