"""Value replacement: which values make a failing test pass in the place of one that the program assigns.

The test is run once with its values noted. Then each statement is tried: with its alternates
(:mod:`~suspectra.experiments.alterations.alternates`) each time that it assigns, and at single times; the most
suspicious statement first, and of equal ones the one that was executed first. A statement that repairs is left at
once, since what counts is whether it does.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from suspectra.base.errors import EvidenceError
from suspectra.experiments.alterations.alternates import Alternate, one_more, pool, published, roots
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.repeated_test import TRACE_S, RepeatedTest
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.runs.experiment import EVERY, Experiment
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest
from suspectra_recorder.experiments.values.inner_numbers import numbers
from suspectra_recorder.experiments.values.literals import CONTAINER_TYPES, from_text, shown, to_text

MAX_PASSING = 8
"""Passing tests whose values are noted."""

PASSING_SHARE = 0.1
"""Of the time that is left, how much may go into noting them."""

_CHUNK = 50  # alternates, after which the numbers of their statements are moved

Part = tuple[str, ...]


class ValuePlace(NamedTuple):
    """A place where the program assigns a value."""

    file: str  # relative to the workspace
    number: int  # which assignment of the file, from 0
    kind: str  # `assignment`, `augmented`, `return`, `yield` or `argument`
    name: str  # what gets the value
    # lines from 1, both included; the column in bytes from 0
    line: int
    column: int
    end_line: int


@dataclass(frozen=True)
class Replacement(Alteration):
    """Another value is assigned."""

    place: ValuePlace  # where
    instance: int  # its how many-th time, from 1, or `suspectra.runs.experiment.EVERY`
    part: Part  # which number inside the value, as `inner_numbers` of the recorder has it; empty for the whole
    alternate: Alternate  # what is put there
    logged: bool = True  # whether the value may be logged; otherwise only why it is tried
    compare: bool = False  # whether the comparisons that follow are noted

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        return {
            "kind": "value",
            "file": self.place.file,
            "number": self.place.number,
            "instance": self.instance,
            "part": list(self.part),
            "text": to_text(self.alternate.value),
            "compare": self.compare,
        }

    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test."""
        place, (role, value) = self.place, self.alternate
        return Experiment(
            test,
            "value",
            place.file,
            place.line,
            place.end_line,
            place.column,
            self.name,
            self.instance,
            role,
            detail=shown(value) if self.logged else f"({role})",
        )

    @property
    def name(self) -> str:
        """What gets the value: ``line.until``, or ``until of the return value``."""
        part = "".join(self.part)
        if self.place.kind == "assignment" or not part:
            return self.place.name + part
        return f"{part.removeprefix('.')} of {self.place.name}"


@dataclass(frozen=True)
class NotedValues:
    """An unaltered run, with the values that it assigned."""

    # for each place the texts of its values in order: as the recorder's `literals` has them, or `o` and the numbers of
    # an object as JSON, or empty
    values: Mapping[ValuePlace, Sequence[str]]
    distances: Mapping[str, float]  # how far apart the sides of comparisons were
    failed: tuple[str, ...]  # the texts of the sides of the comparison that made it fail

    @classmethod
    def from_answer(cls, answer: MachineRunAnswer) -> NotedValues:
        """What a machine answered to a job of the kind ``values``.

        Places that were not reached are left out.
        """
        places: dict[int, ValuePlace] = {}
        for path, first, assignments in answer.get("assignments", ()):
            for index, (kind, name, line, column, end_line) in enumerate(assignments):
                places[first + index] = ValuePlace(path, index, kind, name, line, column, end_line)
        texts, noted = answer.get("texts", ()), answer.get("values", ())
        values: dict[ValuePlace, list[str]] = {}
        for number, text in zip(noted[::2], noted[1::2], strict=True):
            values.setdefault(places[number], []).append(texts[text])
        failed = tuple(side for sides in answer.get("failed", ()) for side in sides)
        return cls(values, answer.get("distances", {}), failed)


def parts_of(text: str) -> dict[Part, object]:
    """The value, and the numbers inside it, that a text describes.

    By path; the empty path has the whole value, if that could be written down.
    """
    if text.startswith("o"):
        return {tuple(path): from_text(number) for path, number in json.loads(text[1:])}
    if not text:
        return {}
    value = from_text(text)
    return {(): value, **numbers(value)}


def other_values(
    parts: Mapping[Part, object],
    seen: Sequence[Mapping[Part, object]],
    failed: Sequence[Mapping[Part, object]],
    *,
    containers: bool = False,
) -> Iterator[tuple[Part, Iterable[Alternate]]]:
    """Find values that may be tried in the place of one.

    For the whole, if that could be written down; else for each number inside it, and None for the whole.
    """
    in_container = any(type(parts.get(())) is cls for cls in CONTAINER_TYPES)
    if () in parts and (containers or not in_container):
        value = parts[()]
        same = [other[()] for other in seen if () in other]
        expected = [side[()] for side in failed if () in side]
        yield (), _once(published(value, same), pool(value, same, expected))
    if () in parts and not in_container:
        return
    for part, number in parts.items():
        if not part:
            continue
        same = [other[part] for other in seen if part in other]
        expected = [side[part] for side in failed if part in side]
        found = _once(published(number, same), pool(number, (), expected))
        yield part, (one for one in found if one.value is not None)
    if not (containers and in_container):
        yield (), [Alternate("None", None)]


@dataclass
class ValueReplacing:
    """Tries other values in a failing test."""

    test: RepeatedTest
    # how suspicious the statement in a file at a line is, which may change meanwhile; 0 where nothing is to be tried
    at: Callable[[str, int], float] = lambda file, line: 1.0
    turn: Callable[[str, int], int] = lambda file, line: 0  # when it is a statement's turn
    # passing tests of the same module, whose values are tried too; those that are most like it first
    passing: Sequence[str] = ()
    logged: bool = True  # whether values may be logged
    # file and line of the statements that repair; they are not tried. Grows
    repaired: set[tuple[str, int]] = field(default_factory=set)
    complete: bool = field(default=False, init=False)  # whether everything was tried

    def experiments(self, end: float, known: Collection[tuple[object, ...]] = ()) -> Iterator[Experiment]:
        """Try values until the time is up.

        Raises TimeIsUp when the values of the unaltered test are not known in time.
        """
        self.complete = False
        noted = self._noted(self.test.test, TRACE_S, end)
        seen = self._seen(noted, end)
        for chunk in self._chunks(noted, seen):
            yield from self._try((one for _, replacements in chunk for one in replacements), end, known)
            yield from self._move([tried for tried, _ in chunk], noted, end, known)
            if time.monotonic() >= end:
                return
        self.complete = True

    def _noted(self, test: str, seconds: float, end: float) -> NotedValues:
        (answer,) = self.test.runs.ask(test, [{"kind": "values"}], steps=MAX_DECISIONS, seconds=seconds, end=end)
        return NotedValues.from_answer(answer)

    def _seen(self, noted: NotedValues, end: float) -> dict[ValuePlace, dict[str, None]]:
        """The texts of each place, those of this run first."""
        seen = {place: dict.fromkeys(texts) for place, texts in noted.values.items()}
        until = time.monotonic() + (end - time.monotonic()) * PASSING_SHARE
        for test in self.passing[:MAX_PASSING]:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                other = self._noted(test, left, end)
            except EvidenceError:
                continue  # it was not collected
            for place, texts in other.values.items():
                if place in seen:
                    seen[place].update(dict.fromkeys(texts))
        return seen

    def _chunks(
        self, noted: NotedValues, seen: Mapping[ValuePlace, Iterable[str]]
    ) -> Iterator[list[tuple[_Tried, list[Replacement]]]]:
        """What is tried, in order: the more suspicious a place, and the fewer of it came before, the earlier."""
        failed = [parts_of(text) for text in noted.failed]
        others = {place: [parts_of(text) for text in texts] for place, texts in seen.items()}
        left = [
            (place, instance, number)
            for place, texts in noted.values.items()
            for number, instance in enumerate(_times(len(texts)), 1)
        ]
        while True:
            at = {place: self._suspicion(place) for place in others}
            left = [entry for entry in left if at[entry[0]] > 0]
            if not left:
                return
            turn = {place: self.turn(place.file, place.line) for place, _, _ in left}
            first = min(turn.values())
            now = sorted((one for one in left if turn[one[0]] == first), key=lambda entry: -at[entry[0]] / entry[2])
            chunk: list[tuple[_Tried, list[Replacement]]] = []
            count = 0
            for place, instance, _ in now:
                if count >= _CHUNK:
                    break
                tried = _Tried(place, instance, parts_of(noted.values[place][instance - 1]))
                chunk.append((tried, list(self._alternates(tried, others[place], failed))))
                count += len(chunk[-1][1])
            done = {(tried.place, tried.instance) for tried, _ in chunk}
            left = [entry for entry in left if entry[:2] not in done]
            yield chunk

    def _suspicion(self, place: ValuePlace) -> float:
        """0 for a place that is not tried, or no longer."""
        return 0.0 if (place.file, place.line) in self.repaired else self.at(place.file, place.line)

    def _alternates(
        self, tried: _Tried, seen: Sequence[Mapping[Part, object]], failed: Sequence[Mapping[Part, object]]
    ) -> Iterator[Replacement]:
        """Other values for the whole, if that could be written down, else for the numbers inside it."""
        for part, alternates in other_values(tried.parts, seen, failed):
            yield from self._replacements(tried, part, alternates)

    def _replacements(
        self, tried: _Tried, part: Part, alternates: Iterable[Alternate], *, compare: bool = False
    ) -> Iterator[Replacement]:
        for alternate in alternates if self.logged else _numbered(alternates):
            yield Replacement(tried.place, tried.instance, part, alternate, self.logged, compare)

    def _move(
        self, several: Sequence[_Tried], noted: NotedValues, end: float, known: Collection[tuple[object, ...]]
    ) -> Iterator[Experiment]:
        """Move numbers by one, and where that moves comparisons, to what makes their sides equal."""
        moved = (
            replacement
            for tried in several
            for part, number in tried.parts.items()
            if (more := one_more(number)) is not None
            for replacement in self._replacements(tried, part, [Alternate("one more", more)], compare=True)
        )
        tried_at = {(tried.place, tried.instance): tried for tried in several}
        solved: list[Replacement] = []
        for replacement, answer in self.test.answers(self._open(moved), end, known):
            yield self._experiment(replacement, answer)
            if not answer.outcome.repairs:
                tried = tried_at[replacement.place, replacement.instance]
                number, distances = tried.parts[replacement.part], answer.noted.get("distances", {})
                solved += self._replacements(tried, replacement.part, roots(number, noted.distances, distances))
        yield from self._try(solved, end, known)

    def _try(
        self, replacements: Iterable[Replacement], end: float, known: Collection[tuple[object, ...]]
    ) -> Iterator[Experiment]:
        for replacement, answer in self.test.answers(self._open(replacements), end, known):
            yield self._experiment(replacement, answer)

    def _open(self, replacements: Iterable[Replacement]) -> Iterator[Replacement]:
        """Those of statements that do not repair yet."""
        return (one for one in replacements if (one.place.file, one.place.line) not in self.repaired)

    def _experiment(self, replacement: Replacement, answer: AlteredRunAnswer) -> Experiment:
        experiment = self.test.made(replacement, answer)
        if experiment.outcome.repairs:
            self.repaired.add((experiment.file, experiment.line))
        return experiment


class _Tried(NamedTuple):
    """A time that a place is reached, with the value that it assigns then."""

    place: ValuePlace
    instance: int
    parts: dict[Part, object]


def _times(count: int) -> list[int]:
    """The times at which a place is tried, in order; of one that is reached once that is the same as every time."""
    return [EVERY] if count == 1 else [EVERY, count, 1, *range(count - 1, 1, -1)]


def _once(*several: Iterable[Alternate]) -> Iterator[Alternate]:
    """Each value once."""
    texts = set()
    for alternate in chain(*several):
        text = to_text(alternate.value)
        if text not in texts:
            texts.add(text)
            yield alternate


def _numbered(alternates: Iterable[Alternate]) -> Iterator[Alternate]:
    """Roles that occur once each."""
    times = Counter[str]()
    for role, value in alternates:
        times[role] += 1
        yield Alternate(role if times[role] == 1 else f"{role} {times[role]}", value)
