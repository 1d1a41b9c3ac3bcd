"""Finding an input for which two alterations of the program give different results.

While the unaltered test runs, the arguments of its calls of the program are noted. Then these functions are called with
them, and with others that are a little different, once with each alteration.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from suspectra_recorder.experiments.containment import RefusedCall
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.messages import Findings, RunRequest, ToldApart
from suspectra_recorder.experiments.mutants import Mutating
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys, time
from suspectra_recorder.instrumentation.parser_references import ast

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__builtins__ = library_references.builtins

_MAX_CALLS, _MAX_INPUTS, _MAX_ITEMS, _MAX_TEXT = 20, 400, 50, 300
_STEPS = 20_000
_VARIABLE, _METHODS = 0x04 | 0x08, "__"


class _Given(NamedTuple):
    """A call: the function, and its arguments by name."""

    function: FunctionType
    arguments: dict[str, Any]


class _Outcome(NamedTuple):
    """What a call gave."""

    known: object  # what has to be the same of equal outcomes
    text: str
    raised: bool


class TellingApart(RunKind):
    """The test as it is; afterwards the functions that it calls are called with each of ``"others"``."""

    def __init__(self, board: Switchboard, mutating: Mutating, name_of: Callable[[str], str | None]):
        self._board, self._mutating, self._name_of = board, mutating, name_of
        self._job: RunRequest = {"kind": "apart"}
        self._noted: dict[str, tuple[str, str, int, dict[str, Any]]] = {}
        self._before: TraceFunction | None = None

    def apply(self, job: RunRequest) -> None:
        """Note calls of the program from now on."""
        self._job, self._noted = job, {}
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, value: object) -> None:
        code = frame.f_code
        if len(self._noted) >= _MAX_CALLS or code.co_flags & _VARIABLE or code.co_name.startswith(("<", _METHODS)):
            return
        file = self._name_of(code.co_filename)
        caller = frame.f_back
        if file is None or caller is None or self._name_of(caller.f_code.co_filename) is not None:
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        try:
            arguments = copy.deepcopy({name: frame.f_locals[name] for name in names})
            key = f"{code.co_name} {_seen(arguments)}"
        except Exception:  # what can't be copied can't be given twice
            return
        self._noted.setdefault(key, (file, code.co_name, code.co_firstlineno, arguments))

    def take_back(self) -> Findings:
        """The first input that tells the alterations apart, if there is one."""
        sys.settrace(self._before)
        calls = []
        for file, name, line, arguments in self._noted.values():
            live = self._mutating.live(file, name, line)
            calls += [_Given(function, arguments) for function in live[:1]]
        end = time.monotonic() + self._job["most_seconds"]
        inputs = list(itertools.islice(_inputs(calls), _MAX_INPUTS))
        first, second = (self._outcomes(job, inputs, end) for job in self._job["others"])
        found: list[tuple[bool, int, ToldApart]] = []
        for number, (one, other) in enumerate(zip(first, second, strict=False)):
            if one is not None and other is not None and one.known != other.known:
                found.append((one.raised or other.raised, number, _difference(inputs[number], one, other)))
        return {"apart": min(found, key=lambda three: three[:2])[2]} if found else {}

    def _outcomes(self, job: RunRequest, inputs: Sequence[_Given], end: float) -> list[_Outcome | None]:
        outcomes: list[_Outcome | None] = []
        self._mutating.apply(job)
        try:
            for one in inputs:
                if time.monotonic() > end:
                    break
                outcomes.append(self._outcome(one))
        finally:
            self._board.leave()
            self._mutating.take_back()
        return outcomes

    def _outcome(self, given: _Given) -> _Outcome | None:
        """What a call gives; None where that can't be compared."""
        arguments = copy.deepcopy(given.arguments)
        code = given.function.__code__
        positional = code.co_varnames[: code.co_argcount]
        self._board.limit(_STEPS)
        try:
            result = given.function(
                *(arguments[name] for name in positional),
                **{name: value for name, value in arguments.items() if name not in positional},
            )
            if hasattr(result, "__next__"):
                result = list(itertools.islice(result, _MAX_ITEMS))
            left = _seen([result, arguments])
            return _Outcome(left, _short(result), raised=False)
        except (RefusedCall, MemoryError):
            return None
        except Exception as error:
            return _Outcome(("raises", type(error).__name__), f"raises {type(error).__name__}", raised=True)
        except BaseException:  # too many steps, or the end of the process
            return None


def _difference(given: _Given, one: _Outcome, other: _Outcome) -> ToldApart:
    texts = {name: _short(value) for name, value in given.arguments.items()}
    function = given.function
    return {
        "function": function.__qualname__,
        "module": function.__module__,
        "arguments": texts,
        "gives": [one.text, other.text],
        "can_be_written": "." not in function.__qualname__
        and all(map(_is_literal, (*texts.values(), *(two.text for two in (one, other) if not two.raised)))),
    }


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # of an object of the program
        return f"a {type(value).__name__}"
    return text if len(text) <= _MAX_TEXT else f"a {type(value).__name__}"


def _seen(value: Any, depth: int = 5) -> object:
    """What can be seen of a value."""
    if isinstance(value, (int, float, str, bytes, type(None), complex)):
        return type(value).__name__, repr(value)
    if depth == 0:
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(_seen(one, depth - 1) for one in value[:_MAX_ITEMS])
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, tuple(sorted(map(repr, value)))
    if isinstance(value, dict):
        return "dict", tuple((_seen(key, 2), _seen(one, depth - 1)) for key, one in value.items())
    inside = getattr(value, "__dict__", None)
    if inside:
        return type(value).__name__, _seen(dict(inside), depth - 1)
    text = repr(value)
    return type(value).__name__, "" if " at 0x" in text else text


def _inputs(calls: Sequence[_Given]) -> Iterator[_Given]:
    """The noted calls, then those with one argument changed, then with two."""
    yield from calls
    for call in calls:
        for name, value in call.arguments.items():
            for other in _near(value):
                yield call._replace(arguments={**call.arguments, name: other})
    for call in calls:
        for one, two in itertools.combinations(call.arguments, 2):
            for first, second in itertools.product(*(list(_near(call.arguments[name]))[:5] for name in (one, two))):
                yield call._replace(arguments={**call.arguments, one: first, two: second})


def _near(value: Any) -> Iterator[Any]:
    """Values of the same type that are a little different."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float, Decimal)):
        yield from (value + 1, value - 1, type(value)(0), -value, value * 2, value + 10)
    elif isinstance(value, str):
        yield from ("", value[:-1], value[1:], value + value[-1:], value[::-1], value.swapcase(), f" {value}")
    elif isinstance(value, date):
        yield from (value + timedelta(days=days) for days in (1, -1, 30))
    elif isinstance(value, (list, tuple)):
        kind = type(value) if type(value) in (list, tuple) else list
        yield from (kind(value[:-1]), kind(value[1:]), kind(), kind(value[::-1]), kind([*value, *value[-1:]]))
        if value and all(type(item) in (int, float) for item in value):
            yield kind(-item for item in value)
        for at, item in enumerate(value[:4]):
            for other in itertools.islice(_near(item), 4):
                yield kind([*value[:at], other, *value[at + 1 :]])
    elif isinstance(value, dict):
        for key in list(value)[:4]:
            yield {one: item for one, item in value.items() if one != key}
        for key in list(value)[:4]:
            for other in itertools.islice(_near(value[key]), 3):
                yield {**value, key: other}
    elif isinstance(value, (set, frozenset)):
        for item in list(value)[:4]:
            yield value - {item}
