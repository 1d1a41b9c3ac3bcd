"""One run of a program that records its path: which blocks and functions it executed, in which calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from suspectra.base.arrays import Bools, Ints
from suspectra.c.paths.traced_program import TracedProgram

MAX_EVENTS = 3_000_000
"""Basic blocks and calls that a thread may execute while its path is recorded."""

_ENTERED, _ADDRESS = np.uint64(1 << 47), np.uint64((1 << 47) - 1)
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ [0-9a-f]+ \S+ \d+ +(/.*)$")

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class CTracedRun:
    """The blocks and functions that a run executed, in order; one thread after the other."""

    node: Ints  # the number that the program gives to what is executed; shape (events,)
    is_entry: Bools  # whether it is the beginning of a function, and not a block; shape (events,)
    call: Ints  # the call that each event belongs to; shape (events,)
    # the last block that was executed before each call, in the calling function; -1 for none; shape (calls,)
    caller: Ints
    returned: Bools  # whether each call had ended when the run did; shape (calls,)
    complete: bool  # whether the run ended before `MAX_EVENTS`

    def __len__(self) -> int:
        return len(self.node)

    def in_common(self, program: TracedProgram) -> CTracedRun:
        """The same run, with the code of libraries that several programs contain as that of the first of them."""
        numbers, inverse = np.unique(self.node, return_inverse=True)
        common = np.array([program.first_of(int(number)) for number in numbers], np.int64)
        return replace(self, node=common[inverse]) if len(common) else self

    @classmethod
    def read(cls, folder: Path, program: TracedProgram) -> CTracedRun:
        """Read what the recorder in a program has written.

        The threads in the order in which they began.
        """
        parts: list[CTracedRun] = []
        for file in sorted(folder.glob("*.path")):
            process = file.name.split("-")[1]
            parts.append(_thread(np.fromfile(file, np.uint64), mappings_in(folder / f"{process}.maps"), program))
        return _joined(parts)


def mappings_in(file: Path) -> list[tuple[int, int, str]]:
    """Read where a process had which files in its memory.

    First and last address, and file; none if that can't be read.
    """
    try:
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [(int(match[1], 16), int(match[2], 16), match[3]) for match in map(_MAPPING.match, lines) if match]


def _thread(words: _Words, mappings: list[tuple[int, int, str]], program: TracedProgram) -> CTracedRun:
    """The events of one thread."""
    empty = np.flatnonzero(words == 0)
    words = words[: empty[0]] if len(empty) else words
    complete = len(words) < MAX_EVENTS
    address, inverse = np.unique(words & (_ENTERED | _ADDRESS), return_inverse=True)
    names = np.array([program.number(int(one & _ADDRESS), bool(one & _ENTERED), mappings) for one in address], np.int64)
    node, depth = names[inverse] if len(names) else np.zeros(0, np.int64), (words >> np.uint64(48)).astype(np.int64)
    is_entry = (words & _ENTERED) != 0
    # compilers record the first block of a function just before its beginning
    late = np.flatnonzero(is_entry[1:] & ~is_entry[:-1] & (depth[1:] == depth[:-1])) + 1
    for column in (node, is_entry):
        column[late], column[late - 1] = column[late - 1].copy(), column[late].copy()
    begins = is_entry.copy()
    begins[:1] = True
    begins[1:] |= depth[1:] > depth[:-1]
    call_at = _last_at_depth(begins, depth)  # the event with which the call of each event began
    first = np.flatnonzero(begins)
    number = np.full(len(words), -1, np.int64)
    number[first] = np.arange(len(first))
    call = number[call_at]
    caller = _caller(first, depth)
    returned = np.ones(len(first), bool)
    if len(words):  # calls that are open at the end: the last one of each depth up to the last event's
        last = np.full(int(depth.max()) + 1, -1, np.int64)
        last[depth[first]] = np.arange(len(first))
        open_ = last[1 : int(depth[-1]) + 1]
        returned[open_[open_ >= 0]] = False
    return CTracedRun(node, is_entry, call, caller, returned, complete)


def _last_at_depth(begins: Bools, depth: Ints) -> Ints:
    """For each event the last one of its depth, itself included, with which a call began."""
    order = np.argsort(depth, kind="stable")
    place = np.where(begins[order], np.arange(len(order)), -1)
    found = np.empty(len(order), np.int64)
    found[order] = order[np.maximum.accumulate(place)]  # the first of each depth begins a call
    return found


def _caller(first: Ints, depth: Ints) -> Ints:
    """For each beginning of a call the event before it in the calling function: it is one level higher."""
    size = len(depth) + 1
    ordered = np.sort(depth * size + np.arange(len(depth)))
    place = np.searchsorted(ordered, (depth[first] - 1) * size + first) - 1
    found = np.append(ordered, -1)[place]
    return np.where((place >= 0) & (found // size == depth[first] - 1), found % size, -1)


def _joined(parts: list[CTracedRun]) -> CTracedRun:
    """One thread after the other."""
    none = np.zeros(0, np.int64)
    events = np.cumsum([0, *map(len, parts)]).tolist()
    calls = np.cumsum([0, *(len(part.caller) for part in parts)]).tolist()
    return CTracedRun(
        np.concatenate([none, *(part.node for part in parts)]),
        np.concatenate([none > 0, *(part.is_entry for part in parts)]),
        np.concatenate([none, *(part.call + at for part, at in zip(parts, calls, strict=False))]),
        np.concatenate(
            [none, *(np.where(p.caller < 0, -1, p.caller + at) for p, at in zip(parts, events, strict=False))]
        ),
        np.concatenate([none > 0, *(part.returned for part in parts)]),
        all(part.complete for part in parts),
    )
