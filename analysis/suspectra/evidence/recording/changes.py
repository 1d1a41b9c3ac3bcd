"""What changed since each failing test passed for the last time.

The sources of the process in which the test passed are compared with the present ones. A source that this process had
not loaded is the one of another process of its run, or else of the newest run before it. Where none had it, it is the
present one if that was written before the process began, else it is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Bools, Row
from suspectra.base.cancellation import checked
from suspectra.evidence.evidence import Replaced
from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.records import Record, Section
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.evidence.recording.versions import changed_statements

_Versions = dict[str, SourceMap]  # by path


class _Compared(NamedTuple):
    """What differs between the sources of a pass and those of a layout."""

    layout: Layout
    then: _Versions
    changed: Row


class ChangesSincePass:
    """Compares the sources of last passes with the present ones, run by run."""

    def __init__(self) -> None:
        self._compared: list[_Compared] = []
        self._state: list[tuple[Section, int]] = []  # all sections, and how many sources each had
        self._rows: dict[Section, Row] = {}  # by the section of the pass, in the layout of what was compared

    def update(
        self, records: Iterable[Record], passes: Mapping[str, Record], sections: Sequence[Section], layout: Layout
    ) -> dict[str, Row]:
        """Find what changed for each failing test, since its pass or another earlier record of it.

        Of shape (k,). For each failing test with an earlier record the sorted columns of what changed since. Tests for
        which the same changed have the same object, which is that of before where nothing changed.
        """
        wanted = [r.result.name for r in records if r.result.verdict.failing and r.result.name in passes]
        needed = dict.fromkeys(passes[name].section for name in wanted)
        state = [(section, len(section.maps)) for section in sections]
        if state != self._state or any(known.layout is not layout for known in self._compared):
            self._rows = {}
        if not self._rows.keys() >= needed.keys():
            before, self._compared, self._state = self._compared, [], []
            self._rows = {
                section: self._row(_versions_at(section, sections, layout), layout, before)
                for section in checked(needed)
            }
            self._state = state
        return {name: self._rows[passes[name].section] for name in wanted}

    def _row(self, then: _Versions, layout: Layout, before: Iterable[_Compared]) -> Row:
        for known in (*self._compared, *before):
            if known.layout is layout and known.then == then:
                if known not in self._compared:
                    self._compared.append(known)
                return known.changed
        known = _Compared(layout, then, _changed(then, layout))
        self._compared.append(known)
        return known.changed


def failed_before(
    records: Iterable[Record], passes: Mapping[str, Record], failures: Mapping[str, Record], changed: Mapping[str, Row]
) -> frozenset[str]:
    """Find the failing tests that failed before the program was changed, and never passed.

    By name. Something changed if statements differ from those of the first failure, or if a test that passed in its run
    or later fails now.
    """
    failing = {r.result.name: r for r in records if r.result.verdict.failing}
    broken = max((passes[name].time for name in failing if name in passes), default=0)
    found = set()
    for name in failing.keys() - passes.keys():
        first = failures.get(name, failing[name])
        differs = first.section.run != failing[name].section.run and len(changed[name]) > 0
        if differs or first.section.started <= broken:
            found.add(name)
    return frozenset(found)


def replaced(records: Iterable[Record], passes: Mapping[str, Record]) -> tuple[Replaced, ...]:
    """What failing tests ran with that is not what they passed with: the interpreter, and what was installed.

    Each once; nothing of what was not recorded both times.
    """
    found: dict[Replaced, None] = {}
    pairs = ((passes[r.result.name].section, r.section) for r in records if r.result.name in passes)
    for then, now in dict.fromkeys(pairs):
        if then.python and now.python and then.python != now.python:
            found[Replaced("Python", then.python, now.python)] = None
        if then.packages and now.packages:
            for name in sorted(then.packages.keys() | now.packages.keys()):
                versions = then.packages.get(name, ""), now.packages.get(name, "")
                if versions[0] != versions[1]:
                    found[Replaced(name, *versions)] = None
    return tuple(found)


def digests_at(section: Section, sections: Sequence[Section], layout: Layout) -> dict[str, str]:
    """The digests of the sources as they were when a process ran, by path."""
    then = _versions_at(section, sections, layout)
    return {path: source.measured.digest for path, source in then.items() if source.measured.digest is not None}


def _versions_at(section: Section, sections: Sequence[Section], layout: Layout) -> _Versions:
    """The sources as they were when a process ran: its own, those of its run, those of runs before, and what was there
    though nobody had imported it.
    """
    known = [one for one in sections if one.started <= section.started and one.run != section.run]
    known += [one for one in sections if one.run == section.run and one is not section]
    found: _Versions = {}
    for new in (m for one in (*known, section) for m in one.maps if m is not None):
        if new.traced or not _same(found.get(new.measured.path), new):  # else what is known of it has its statements
            found[new.measured.path] = new
    for path, present in layout.versions.items():
        if 0 < present.modified < section.started:
            found.setdefault(path, present)
    return found


def _changed(then: _Versions, layout: Layout) -> Row:
    """The columns of a layout that changed since."""
    now = layout.versions
    differing = [path for path, version in now.items() if not _same(then.get(path), version)]
    moved = _vanished(then, now) if differing else frozenset()
    parts = []
    for path in differing:
        old = then.get(path) or _renamed(now[path], then, now)
        own = _for_file(old, now[path], moved)
        parts.append(layout.start[path] + np.flatnonzero(own))
    return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32)


def _same(old: SourceMap | None, new: SourceMap) -> bool:
    return old is new or (old is not None and old.measured.digest == new.measured.digest)


def _for_file(old: SourceMap | None, new: SourceMap, moved: frozenset[str]) -> Bools:
    """Which statements of a source changed, without those of functions that were elsewhere before."""
    file = new.measured
    if old is not None and (_same(old, new) or not old.traced):  # a test module that was not measured then
        return np.zeros(len(file.checksum), bool)
    changed = np.ones(len(file.checksum), bool) if old is None else changed_statements(old.measured, file).copy()
    if moved and file.outline is not None and len(file.outline.functions) == len(file.functions):
        known = _keys(old)
        for number, (key, function) in enumerate(zip(file.outline.keys(), file.outline.functions, strict=True)):
            if key not in known and function.body in moved:
                changed &= file.function != number
    return changed


def _vanished(then: _Versions, now: Mapping[str, SourceMap]) -> frozenset[str]:
    """What the functions did that are no longer where they were."""
    found = set()
    for path, old in then.items():
        new, outline = now.get(path), old.measured.outline
        if old is not new and outline is not None:
            there = _keys(new)
            pairs = zip(outline.keys(), outline.functions, strict=True)
            found |= {function.body for key, function in pairs if key not in there}
    return frozenset(found)


def _keys(source: SourceMap | None) -> set[tuple[str, int]]:
    """What names the functions of a source, as far as that is known."""
    return set(source.measured.outline.keys()) if source is not None and source.measured.outline is not None else set()


def _renamed(new: SourceMap, then: _Versions, now: Mapping[str, SourceMap]) -> SourceMap | None:
    """The source that had another name: one that is gone and has at least half of the statements in common."""
    own = Counter(new.measured.checksum.tolist())
    best, most = None, (len(new.measured.checksum) + 1) // 2 - 1
    for path, old in then.items():
        if path not in now:
            common = (own & Counter(old.measured.checksum.tolist())).total()
            if common > most:
                best, most = old, common
    return best
