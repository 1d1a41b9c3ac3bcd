"""What assigned values go through: they are noted, or one of them is replaced; and comparisons are noted.

It runs in the middle of the program, and never calls it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from suspectra_recorder.experiments.decisions.decision_points import EVERY
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings
from suspectra_recorder.experiments.numbered_sources import NumberedSource, NumberedSources
from suspectra_recorder.experiments.values.assignments import Assignment, rewrite
from suspectra_recorder.experiments.values.inner_numbers import Path, changed, numbers
from suspectra_recorder.experiments.values.literals import as_number, from_text, to_text
from suspectra_recorder.experiments.values.stored_attributes import UNCHANGED
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

MAX_VALUES = 100_000
"""How many values of a run are noted."""

MAX_COMPARISONS = 3_000
"""How many comparisons of a run are noted."""

_NEXT_COMPARISONS = 300  # after a value was replaced


class ReplacedValue(NamedTuple):
    """Which value is replaced, and by what."""

    path: str  # of its source, which need not be loaded yet
    number: int  # which of the source's assignments
    instance: int  # its how many-th time, from 1 on, or `EVERY`
    part: list[str]  # which number inside the value, as `inner_numbers` has it; empty for the whole
    text: str  # the new value, as `literals` has it
    # the name of the symbol that the new value is from then on, as `symbols` has it; empty for a plain value
    symbol: str = ""


class AssignedValues(Instrument):
    """The assigned values of a process; instrumented code has it as a constant."""

    def __init__(self) -> None:
        self.put = self.left = self.right = _as_it_is
        self.sources: NumberedSources[Assignment] = NumberedSources()  # the loaded sources, with their assignments
        self.failed: list[tuple[object, object]] = []  # the sides of comparisons that made the test fail

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Let the values of a source go through this object."""
        return partial(self.sources.add, path, *rewrite(tree, placeholder, self.sources.next))

    def leave(self) -> None:
        """Let the program assign what it will."""
        self.put = self.left = self.right = _as_it_is
        self.sources.unwatch()
        self.failed.clear()

    def note(self) -> Callable[[], Findings]:
        """Take note of all values and comparisons from now on.

        Gives what was noted: `values` has the number of an assignment and the index of a text for each value, in order;
        `texts` has the texts, empty for objects without numbers, `o` and the numbers with their paths for others;
        `distances` has how far apart the sides of each comparison were; `failed` has the texts of the sides of the
        comparisons that made the test fail.
        """
        values = array("L")
        index: dict[str, int] = {}
        comparisons = self._compare(MAX_COMPARISONS)

        def put(number: int, value: object) -> object:
            if len(values) < 2 * MAX_VALUES:
                # now, since the object may change
                text = _described(value)
                values.append(number)
                values.append(index.setdefault(text, len(index)))
            return value

        self.put, self.left, self.right = put, comparisons.left, comparisons.right

        def noted() -> Findings:
            comparisons.take(self.failed)
            failed = [[_described(left), _described(right)] for left, right in self.failed]
            places = [(source.path, source.first, source.points) for source in self.sources.loaded]
            return {
                "values": values.tolist(),
                "texts": list(index),
                "distances": comparisons.distances,
                "failed": failed,
                "assignments": places,
            }

        return noted

    def replace(
        self, wanted: Sequence[ReplacedValue], *, compare: bool = False, symbols: SymbolicPath | None = None
    ) -> Callable[[], Findings]:
        """Put other values in the place of some.

        Gives `reached`, how often one was replaced, and `distances` if those were asked for.
        """
        new_values = [(tuple(one.part), one.instance, _new_value(one, symbols)) for one in wanted]
        targets: dict[int, list[tuple[Path, int, object]]] = {}
        passed: dict[int, int] = {}
        replaced = 0
        comparisons = self._compare(0)

        def find(source: NumberedSource[Assignment]) -> None:
            for one, new_value in zip(wanted, new_values, strict=True):
                if source.path == one.path:
                    targets.setdefault(source.first + one.number, []).append(new_value)

        def put(number: int, value: object) -> object:
            nonlocal replaced
            if number in targets:
                times = passed[number] = passed.get(number, 0) + 1
                for part, instance, new in targets[number]:
                    if instance in (EVERY, times):
                        other = changed(value, part, new)
                        # the value may have no such part this time
                        if other is not UNCHANGED:
                            replaced += 1
                            # only what comes after the change can be due to it
                            comparisons.most = _NEXT_COMPARISONS
                            value = other
            return value

        self.sources.watch(find)
        self.put = put
        if compare:
            self.left, self.right = comparisons.left, comparisons.right

        def answer() -> Findings:
            if not compare:
                return {"reached": replaced}
            comparisons.take(self.failed)
            return {"reached": replaced, "distances": comparisons.distances}

        return answer

    def _compare(self, most: int) -> _Comparisons:
        self.failed.clear()
        return _Comparisons(most)


class _Comparisons:
    """How far apart the sides of comparisons were, if both are numbers, or have numbers in the same places."""

    def __init__(self, most: int):
        self.most = most
        self.distances: dict[str, float] = {}  # by number of the comparison, its how many-th time, and path
        self._left: dict[int, dict[Path, object]] = {}
        self._times: dict[int, int] = {}

    def left(self, number: int, value: object) -> object:
        """The left side of a comparison."""
        self._left[number] = numbers(value) if self.most else {}
        return value

    def right(self, number: int, value: object) -> object:
        """The right side of a comparison; both are evaluated by now."""
        times = self._times[number] = self._times.get(number, 0) + 1
        left = self._left.pop(number, None)
        if left and len(self.distances) < self.most:
            self._add(f"{number} {times} ", left, numbers(value))
        return value

    def take(self, failed: list[tuple[object, object]]) -> None:
        """The comparisons that made a test fail."""
        for number, (left, right) in enumerate(failed):
            self._add(f"failed {number} ", numbers(left), numbers(right))

    def _add(self, key: str, left: dict[Path, object], right: dict[Path, object]) -> None:
        for path, number in left.items():
            # infinity and NaN have no distance
            one, other = as_number(number), as_number(right.get(path))
            if one is not None and other is not None and abs(distance := one - other) < float("inf"):
                self.distances[key + "".join(path)] = distance


def _new_value(wanted: ReplacedValue, symbols: SymbolicPath | None) -> object:
    value = from_text(wanted.text)
    return symbols.symbol(wanted.symbol, value) if wanted.symbol and symbols is not None else value


def _described(value: object) -> str:
    """A value as text; of another object its numbers."""
    text = to_text(value)
    if text:
        return text
    found = [[path, written] for path, number in numbers(value).items() if (written := to_text(number))]
    return "o" + json.dumps(found) if found else ""


def _as_it_is(number: int, value: object) -> object:
    return value
