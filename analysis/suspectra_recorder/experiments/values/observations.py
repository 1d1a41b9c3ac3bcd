"""What predicates hold for the values of a test: which of two numbers is less, signs, types, lengths, definitions.

A *site* is something that is asked about a value at a place, such as which of ``last`` and ``first`` is less. Each time
that it is observed, exactly one of its outcomes is true (Liblit et al. 2005 call these the predicates of a site). Only
how often is counted, so no value of the program is kept in what is reported.

It runs in the middle of the program, and never calls it: only values whose type is exactly one of Python's own are
compared, and types are found by identity.

Each assignment passes the new value on together with the variables that are certainly bound there
(`bound_variables.py`). The variables of a frame (``f_locals``) would be easier to read, but before Python 3.13 that
keeps objects alive that the program has dropped. Definitions are known by the identity of the frame, so ``locals()``
shows no more variables than before.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from functools import partial
from typing import Any

from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, ObservedSites, RunRequest
from suspectra_recorder.experiments.numbered_sources import NumberedSource, NumberedSources
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.values.literals import MAX_TEXT, as_number
from suspectra_recorder.experiments.values.observed_places import ObservedPlace, observe
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

MAX_TIMES = 1_000
"""How often a place is observed in a test."""

MAX_TYPES = 8
"""How many types of values are told apart at a place."""

_MAX_FRAMES = 100_000
_RELATIONS = ("<", "=", ">")
_MAX_NAME = 40
_type_name = type.__dict__["__name__"].__get__
_SIZED = {id(cls): cls for cls in (list, tuple, dict, set, frozenset, str, bytes, bytearray)}
_NUMBERS = frozenset({id(int), id(float)})
_Seen = tuple[int, Any]
"""What can be compared of a value: a family whose members have an order, and the number or text."""

_NUMBER, _LENGTH, _TEXT, _OTHER = range(4)


class Observations(Pausable, Instrument):
    """The observations of a process; instrumented code has them as a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: NumberedSources[ObservedPlace] = NumberedSources()  # the loaded sources with their places
        self.leave()

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Let the values of a source be observed."""
        return partial(self.sources.add, path, observe(tree, placeholder, self.sources.next))

    def leave(self) -> None:
        """Observe nothing."""
        self.put = self.used = _as_it_is
        self.enter = self.define = self.use = _ignore

    def observe(self) -> Callable[[], list[ObservedSites]]:
        """Observe values from now on.

        Gives a list for each place that was reached: the path, first and last line, and the sites, each with its kind,
        left and right side, and how often it had which outcome.
        """
        counts: dict[int, _Counts] = {}
        definitions: dict[int, dict[str, int]] = {}  # by the identity of a frame, the line that bound a variable last
        frame_of, paused, ident = sys._getframe, self.paused, _thread.get_ident

        def at(number: int) -> _Counts:
            found = counts.get(number)
            if found is None:
                found = counts[number] = _Counts(self._place(number))
            return found

        def counts_here(here: _Counts) -> bool:
            return here.times < MAX_TIMES and not (paused and ident() in paused)

        def put(number: int, value: Any, *others: Any) -> Any:
            here = at(number)
            if counts_here(here):
                here.times += 1
                here.value(0, value, others)
            return value

        def enter(number: int, *values: Any) -> None:
            here = at(number)
            names = here.place.names
            # frames end without a word; a few definitions that are lost do no harm
            if len(definitions) > _MAX_FRAMES:
                definitions.clear()
            definitions[id(frame_of(1))] = dict.fromkeys(names, 0)
            if counts_here(here):
                here.times += 1
                # each pair once: a parameter is compared with those behind it
                for index, value in enumerate(values):
                    here.value(index, value, values[index + 1 :])

        def define(number: int) -> None:
            place = at(number).place
            definitions.setdefault(id(frame_of(1)), {}).update(dict.fromkeys(place.names, place.line))

        def use(number: int) -> None:
            here = at(number)
            known = definitions.get(id(frame_of(1)))
            if known is not None and counts_here(here):
                here.times += 1
                here.definitions(known)

        def used(number: int, value: Any) -> Any:
            here = at(number)
            known = definitions.get(id(frame_of(1)))
            if known is not None and counts_here(here):
                here.times += 1
                here.definitions(known)
            return value

        self.put, self.enter, self.define, self.use, self.used = put, enter, define, use, used

        def observed() -> list[ObservedSites]:
            places = [(self._source(number).path, here) for number, here in sorted(counts.items())]
            return [
                (path, here.place.line, here.place.end_line, sites) for path, here in places if (sites := here.sites())
            ]

        return observed

    def _source(self, number: int) -> NumberedSource[ObservedPlace]:
        return self.sources.loaded[bisect(self.sources.loaded, number, key=lambda source: source.first) - 1]

    def _place(self, number: int) -> ObservedPlace:
        source = self._source(number)
        return source.points[number - source.first]


class _Counts:
    """How often each site of a place had which outcome."""

    def __init__(self, place: ObservedPlace):
        self.place = place
        self.times = 0
        self._names = (place.name, *place.names) if place.name else place.names
        self._counts: dict[tuple[str, str, str, str], int] = {}
        self._last: dict[int, _Seen] = {}
        self._types: set[int] = set()

    def value(self, index: int, value: Any, others: tuple[Any, ...]) -> None:
        """Observe the value with an index in the names, and those of the names behind it."""
        name = self._names[index]
        cls = type(value)
        # an identity: a class may have a `__hash__` of its own
        if id(cls) in self._types or len(self._types) < MAX_TYPES:
            self._types.add(id(cls))
            self._add("type", name, "", _type_name(cls)[:_MAX_NAME])
        if value is True or value is False:
            self._add("truth", name, "", "true" if value else "false")
            return
        seen = _seen(value)
        if seen is None:
            return
        family, content = seen
        if family == _NUMBER:
            self._add("sign", name, "", _relation(content, 0))
        if id(cls) in _SIZED:
            length = len(value)
            self._add("length", name, "", "0" if not length else "1" if length == 1 else "more")
        last = self._last.get(index)
        if last is not None and last[0] == family:
            self._compare("last", name, "", seen, last)
        # compared with the next value that is assigned here
        self._last[index] = seen
        for number, other in enumerate(others, index + 1):
            against = _seen(other)
            if against is not None:
                self._compare("pair", name, self._names[number], seen, against)

    def definitions(self, known: dict[str, int]) -> None:
        """Observe which statement bound each variable that is used."""
        for name in self.place.names:
            if name in known:
                self._add("definition", name, "", str(known[name]))

    def sites(self) -> list[tuple[str, str, str, dict[str, int]]]:
        """The sites, each with its kind, left and right side, and how often it had which outcome."""
        found: dict[tuple[str, str, str], dict[str, int]] = {}
        for (kind, left, right, outcome), times in self._counts.items():
            found.setdefault((kind, left, right), {})[outcome] = times
        return [(*site, outcomes) for site, outcomes in found.items()]

    def _compare(self, kind: str, left: str, right: str, one: _Seen, other: _Seen) -> None:
        """Compare two values of a family, or numbers and lengths."""
        (family, content), (others, against) = one, other
        if family == others == _TEXT:
            self._add(kind, left, right, "=" if content == against else "≠")
            return
        if family == _TEXT:
            family, content = _LENGTH, len(content)
        if others == _TEXT:
            others, against = _LENGTH, len(against)
        if family == others or (family < _TEXT and others < _TEXT):
            left = f"len({left})" if family == _LENGTH else left
            right = f"len({right})" if others == _LENGTH and right else right
            self._add(kind, left, right, _relation(content, against))

    def _add(self, kind: str, left: str, right: str, outcome: str) -> None:
        if outcome:
            key = kind, left, right, outcome
            self._counts[key] = self._counts.get(key, 0) + 1


def _seen(value: Any) -> _Seen | None:
    cls = id(type(value))
    if cls in _NUMBERS:
        return _NUMBER, value
    if cls == id(str) and len(value) <= MAX_TEXT:
        return _TEXT, value
    if cls in _SIZED:
        return _LENGTH, len(value)
    number = as_number(value)
    if number is None:
        return None
    return (_NUMBER if type(value).__module__ in ("decimal", "fractions") else _OTHER + cls), number


def _relation(one: Any, other: Any) -> str:
    """How two plain numbers compare; empty where they have no order."""
    return _RELATIONS[0] if one < other else _RELATIONS[1] if one == other else _RELATIONS[2] if one > other else ""


class ObservingRun(RunKind):
    """The program as it is, with what predicates hold for its values."""

    alters = False

    def __init__(self, sources: Callable[[], dict[str, str]]):
        self._sources = sources
        self.instrument = self._observations = Observations()
        self._observed: Callable[[], list[ObservedSites]] = list

    def apply(self, job: RunRequest) -> None:
        """Observe values from now on."""
        self._observed = self._observations.observe()

    def take_back(self) -> Findings:
        """What was observed, and the digests of all sources."""
        observed = self._observed()
        self._observations.leave()
        return {"observed": observed, "sources": self._sources()}


def _as_it_is(number: int, value: Any, *others: Any) -> Any:
    return value


def _ignore(number: int, *values: Any) -> None:
    pass
