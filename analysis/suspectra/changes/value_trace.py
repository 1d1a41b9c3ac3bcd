"""The values of a run in the order in which they came to be, and the first one that differs from another run.

Two texts of a program are run. What both have corresponds line by line; what only one of them has is passed over, with
everything that it calls, until both runs do the same again. A decision is a value, too, so both runs do the same until
a value differs, but for what was changed.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.differing_parts import difference_of
from suspectra_recorder.experiments.messages import SourceTable, TracedRunAnswer
from suspectra_recorder.instrumentation.source import parse

MAX_VALUES = 300_000
"""Nodes of a run that are compared at most."""

_DECISIONS = (ast.If, ast.While, ast.Assert)
_AHEAD = 3  # nodes that have to correspond where two runs do the same again
_MAX_NAME = 40
_MAX_SHOWN = 80  # characters of a value
_INDEXED = re.compile(r"[\w.]+(?:\[[^\]]*\])*")  # what can be indexed as it is written
_TRUTHS = ("false", "true")
_PLAIN = frozenset({"True", "False", "None", "Ellipsis", "NotImplemented", "nan", "inf"})
_OF_TYPE = "of type "  # before the name of a type, which is all that is known of many values
_BEGINNINGS = {"(": "tuple", "[": "list", "'": "str", '"': "str"}

LineKeys = Mapping[str, Sequence[tuple[str, int, int]]]
"""By file, what corresponds to each of its lines: see `FileDifference.lines`."""


class ValueDifference(NamedTuple):
    """The first value that differs between two runs."""

    file: str  # relative to the workspace
    line: int  # in the text of the failing run
    name: str  # the variable or expression that has it
    before: str
    after: str
    equal: int  # how many values before it are equal

    def to_json(self) -> dict[str, object]:
        """In the form of `suspectra changes --format json`."""
        return self._asdict()

    @property
    def shown(self) -> tuple[str, str]:
        """The two values; of long ones the parts in which they differ."""
        was, now = (
            text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
            for text in difference_of(self.before, self.after)
        )
        return was, now


@dataclass(frozen=True, eq=False)
class ValueTrace:
    """The nodes of a run, with their places and values."""

    sites: tuple[ValueSite, ...]
    site: Ints  # of each node
    call: Ints  # the number of the call of each node; 0 for what is in none
    callers: Ints  # the number of the call that made each call, from call 1 on
    text: Ints  # the number of the text of each node
    outcome: Ints  # of each node: 0 or 1 for a decision, -1 for any other
    texts: Sequence[str]
    sources: Mapping[str, bytes]
    whole: bool  # whether all that ran is in it
    # the file and line to which a decision led, of nodes whose value is the text of that line
    leads: Mapping[int, tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def from_answer(
        cls, answer: TracedRunAnswer, columns: Mapping[str, Ints], source_of: Callable[[str], bytes]
    ) -> ValueTrace:
        """Take what a process has answered and written."""
        sites: dict[int, ValueSite] = {}
        for table in answer["sources"]:
            sites.update(enumerate(_sites(table), table["first"]))
        known = [sites.get(number, _NOWHERE) for number in range(max(sites, default=-1) + 1)]
        count = min(len(columns[name]) for name in ("site", "call", "text", "outcome"))
        site, call, text, outcome = (columns[name][:count] for name in ("site", "call", "text", "outcome"))
        sources = {table["path"]: source_of(table["path"]) for table in answer["sources"]}
        whole = not (answer["full"] or answer["threads"] or answer["processes"])
        texts = [_OF_TYPE + one if one.isidentifier() and one not in _PLAIN else one for one in answer["texts"]]
        return cls(tuple(known), site, call, columns["callers"], text, outcome, texts, sources, whole)

    def __len__(self) -> int:
        return len(self.site)

    @property
    def lines(self) -> frozenset[tuple[str, int]]:
        """The files and lines that were executed."""
        return frozenset((self.sites[site].file, self.sites[site].line) for site in np.unique(self.site).tolist())

    def value(self, node: int) -> str:
        """What a node has come to; empty for none."""
        outcome = int(self.outcome[node])
        return _TRUTHS[outcome] if outcome >= 0 else self.texts[int(self.text[node])]

    def keys(self, lines: LineKeys, numbers: dict[tuple[object, ...], int], *, in_calls: bool = False) -> Ints:
        """A number for each node, which is that of corresponding nodes of other runs.

        With `in_calls` they correspond only if the functions do that are under way.
        """
        known = [numbers.setdefault(one.key(lines), len(numbers)) for one in self.sites]
        places = np.array(known, np.int64)[self.site]
        if not in_calls or not len(places):
            return places
        calls, first = np.unique(self.call, return_index=True)
        begins = dict(zip(calls.tolist(), places[first].tolist(), strict=True))
        under_way = np.zeros(max(len(self.callers), int(calls[-1])) + 1, np.int64)
        for call in range(1, len(under_way)):  # a call has a greater number than the one that made it
            caller = int(self.callers[call - 1]) if call <= len(self.callers) else 0
            above = int(under_way[caller]) if 0 <= caller < call else 0
            under_way[call] = numbers.setdefault(("call", above, begins.get(call, -1)), len(numbers))
        pairs, inverse = np.unique(np.stack([under_way[self.call], places]), axis=1, return_inverse=True)
        inside = [numbers.setdefault(("inside", *pair), len(numbers)) for pair in pairs.T.tolist()]
        return np.array(inside, np.int64)[inverse.reshape(-1)]

    def first_change(self, lines: LineKeys) -> int:
        """The first node in a changed line; how many nodes there are if none is."""
        changed = self.changed(lines)
        return int(changed.argmax()) if changed.any() else len(self)

    def changed(self, lines: LineKeys) -> Bools:
        """Whether each node is in a changed line."""
        found: Bools = np.array([one.is_changed(lines) for one in self.sites], bool)[self.site]
        return found

    def variables(self, node: int) -> dict[str, str]:
        """What the variables were that a node reads, as far as that is known."""
        found: dict[str, str] = {}
        for variable in self.sites[int(self.site[node])].reads:
            binds = np.array([variable in one.binds for one in self.sites], bool)
            before = binds[self.site[:node]]
            here = np.flatnonzero(before & (self.call[:node] == self.call[node]))
            if not len(here):
                here = np.flatnonzero(before)
            if len(here) and (value := self.value(int(here[-1]))):
                found[variable[2]] = value
        return found

    def name(self, node: int) -> str:
        """The variable or the expression that has the value of a node."""
        site = self.sites[int(self.site[node])]
        if site.binds:
            return site.binds[0][2]
        return _expression(self.sources[site.file], site.line, site.column)


_Variable = tuple[str, int, str]  # with its file and scope


class ValueSite(NamedTuple):
    """A place at which values come up."""

    file: str
    line: int
    column: int
    kind: str  # tells apart what is at the same place
    reads: tuple[_Variable, ...]
    binds: tuple[_Variable, ...]
    is_test: bool  # whether it is in test code

    def key(self, lines: LineKeys) -> tuple[object, ...]:
        """What is equal for corresponding places of two texts."""
        keys = lines.get(self.file)
        if keys is None:
            return self.file, self.line, self.column, self.kind
        file, piece, line = keys[self.line - 1] if 0 < self.line <= len(keys) else (self.file, -1, -1)
        return (file, piece, line, self.kind, self.column if line >= 0 else -1)

    def is_changed(self, lines: LineKeys) -> bool:
        """Whether it is in a changed line."""
        return _is_changed(self.file, self.line, lines)


def _is_changed(file: str, line: int, lines: LineKeys) -> bool:
    keys = lines.get(file, ())
    return 0 < line <= len(keys) and keys[line - 1][2] < 0


_NOWHERE = ValueSite("", 0, 0, "", (), (), is_test=False)


def _sites(table: SourceTable) -> list[ValueSite]:
    variables = [(table["path"], scope, name) for scope, name in zip(table["scopes"], table["names"], strict=True)]

    def named(numbers: Sequence[int]) -> tuple[_Variable, ...]:
        return tuple(variables[number] for number in numbers if variables[number][2].isidentifier())

    return [
        ValueSite(table["path"], line, column, kind, named(reads), named(binds), table["test"])
        for line, _, column, kind, _, _, reads, binds in table["sites"]
    ]


def first_difference(
    passing: ValueTrace,
    failing: ValueTrace,
    before: LineKeys,
    after: LineKeys,
    unstable: Callable[[int], bool],
    *,
    in_functions: bool = False,  # whether what changed runs only while the test does, so no value differs before
) -> ValueDifference | None:
    """Find the first value of the failing run that the passing one has otherwise; one in test code only without others.

    `unstable` says of a node of the passing run whether it has another value each time. Values in corresponding calls
    come first: a function that calls itself may do so in one of the runs only.
    """
    found = [
        _first_difference(passing, failing, before, after, unstable, in_functions=in_functions, in_calls=in_calls)
        for in_calls in (True, False)
    ]
    in_program = (one for one, is_test in found if one is not None and not is_test)
    return next(in_program, next((one for one, _ in found if one is not None), None))


def _first_difference(
    passing: ValueTrace,
    failing: ValueTrace,
    before: LineKeys,
    after: LineKeys,
    unstable: Callable[[int], bool],
    *,
    in_functions: bool,
    in_calls: bool,
) -> tuple[ValueDifference | None, bool]:
    """The first different value, and whether it is in test code."""
    numbers: dict[tuple[object, ...], int] = {}
    keys = passing.keys(before, numbers, in_calls=in_calls), failing.keys(after, numbers, in_calls=in_calls)
    begin = passing.first_change(before), failing.first_change(after)
    if not in_functions or begin == (len(passing), len(failing)):
        begin = 0, 0
    equal, in_test = 0, None
    changed = passing.changed(before), failing.changed(after)
    for one, other in _corresponding(*keys, len(numbers), changed):
        values = passing.value(one), failing.value(other)
        if values[0] == values[1]:
            equal += bool(values[0])
        elif (
            all(values)
            and not _may_be_equal(*values)
            and (one >= begin[0] or other >= begin[1])
            and not unstable(one)
            and not (_leads_to_change(passing, one, before) and _leads_to_change(failing, other, after))
        ):
            if not failing.sites[int(failing.site[other])].is_test:
                return _difference(passing, failing, one, other, equal), False
            in_test = in_test or (one, other, equal)
    return (_difference(passing, failing, *in_test) if in_test else None), True


def _leads_to_change(trace: ValueTrace, node: int, lines: LineKeys) -> bool:
    """Whether a decision led to a changed line: another text there does not mean that it led elsewhere."""
    return node in trace.leads and _is_changed(*trace.leads[node], lines)


def _may_be_equal(one: str, other: str) -> bool:
    """Whether only one of two values could be written down, and both are of one type."""
    if one.startswith(_OF_TYPE) == other.startswith(_OF_TYPE):
        return False
    named, written = (one, other) if one.startswith(_OF_TYPE) else (other, one)
    name = named.removeprefix(_OF_TYPE)
    if (kind := _BEGINNINGS.get(written[0])) is not None:
        return kind == name
    if written[0] == "{":
        return name in ("dict", "set")
    if re.match(r"-?\d", written):
        return name in ("int", "float", "complex")
    return written.partition("(")[0] == name


def corresponding(one: ValueTrace, other: ValueTrace, lines: LineKeys) -> dict[int, int]:
    """The nodes of a run with those of another run of the same text."""
    numbers: dict[tuple[object, ...], int] = {}
    keys = one.keys(lines, numbers), other.keys(lines, numbers)
    return dict(_corresponding(*keys, len(numbers)))


def _corresponding(
    ours: Ints, theirs: Ints, count: int, changed: tuple[Bools, Bools] | None = None
) -> list[tuple[int, int]]:
    """The nodes of two runs that correspond to each other, in order.

    Right behind what `changed` the runs may do the same for a moment only, as where a wrong list is looped over.
    """
    found: list[tuple[int, int]] = []
    ahead = _ahead(ours, count), _ahead(theirs, count)
    places: dict[int, list[int]] = {}
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
            continue
        if changed is not None and (changed[0][i] or changed[1][j]):
            at_once = _behind(changed[0], i), _behind(changed[1], j)
            if at_once[0] < len(ours) and at_once[1] < len(theirs) and ours[at_once[0]] == theirs[at_once[1]]:
                i, j = at_once
                continue
        if not places:
            for at, key in enumerate(ahead[1]):
                places.setdefault(key, []).append(at)
        nearest = len(ours) + len(theirs)
        to = len(ours), len(theirs)
        for at in range(i, len(ours)):
            if at - i >= nearest:
                break
            known = places.get(ahead[0][at], ())
            if known and (first := bisect_left(known, j)) < len(known) and at - i + known[first] - j < nearest:
                to = at, known[first]
                nearest = at - i + known[first] - j
        i, j = to
    return found


def _behind(changed: Bools, node: int) -> int:
    """The first node from one on that is in no changed line."""
    while node < len(changed) and changed[node]:
        node += 1
    return node


def _ahead(keys: Ints, count: int) -> list[int]:
    """For each node a number for itself and those that follow it."""
    found = keys + 1
    padded = np.concatenate([keys + 1, np.zeros(_AHEAD, np.int64)])
    for step in range(1, _AHEAD):
        found = found * (count + 1) + padded[step : len(keys) + step]
    return [int(one) for one in found.tolist()]


def _difference(passing: ValueTrace, failing: ValueTrace, one: int, other: int, equal: int) -> ValueDifference:
    """Name what differs: a variable that a statement reads, or else its own value."""
    site = failing.sites[int(failing.site[other])]
    was, now = passing.variables(one), failing.variables(other)
    found = failing.name(other), passing.value(one), failing.value(other)
    found = next(((name, was[name], value) for name, value in now.items() if was.get(name, value) != value), found)
    return ValueDifference(site.file, site.line, *_inside(*found), equal)


def _inside(name: str, before: str, after: str) -> tuple[str, str, str]:
    """The only part in which two containers differ, where a name and literals are known."""
    try:
        was, now = ast.literal_eval(before), ast.literal_eval(after)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, before, after
    while type(was) is type(now) and isinstance(was, (dict, list, tuple)) and _INDEXED.fullmatch(name):
        steps: list[Any] = list(was) if isinstance(was, dict) else list(range(len(was)))
        if len(was) != len(now) or (isinstance(was, dict) and list(was) != list(now)):
            break
        different = [step for step in steps if repr(was[step]) != repr(now[step])]
        if len(different) != 1:
            break
        name, was, now = f"{name}[{different[0]!r}]", was[different[0]], now[different[0]]
        before, after = repr(was), repr(now)
    return name, before, after


def _expression(source: bytes, line: int, column: int) -> str:
    """The text of the longest expression that begins at a place; of a default value the parameter that has it."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    for arguments in (node for node in ast.walk(tree) if isinstance(node, ast.arguments)):
        positional = [*arguments.posonlyargs, *arguments.args][-len(arguments.defaults) :] if arguments.defaults else []
        defaults = [*zip(positional, arguments.defaults, strict=True)]
        defaults += [
            (one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
        ]
        for parameter, value in defaults:
            if (value.lineno, value.col_offset) == (line, column):
                return parameter.arg
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.stmt)))
    at = [node for node in nodes if (node.lineno, node.col_offset) == (line, column)]
    inside = [getattr(node, "test" if isinstance(node, _DECISIONS) else "value", None) for node in at]
    fitting = [node for node in [*at, *inside] if isinstance(node, ast.expr)]
    texts = [ast.unparse(node) for node in fitting] or [source.decode(errors="replace").splitlines()[line - 1].strip()]
    text = max(texts, key=len)
    return text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 1]}…"
