"""The stacks of failing tests, in the lines of the current versions of the sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.records import Record
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.evidence.recording.versions import remapped
from suspectra_recorder.log.stack import Stack, StackFrame


class Stacks:
    """Maps recorded stacks to the sources of a layout."""

    def __init__(self) -> None:
        self._placed: dict[Record, tuple[Layout, Stack]] = {}

    def update(self, records: Iterable[Record], layout: Layout) -> dict[str, Stack]:
        """Map the stacks of some records."""
        previous, self._placed = self._placed, {}
        for record in records:
            if record.stack is not None:
                known, stack = previous.get(record, (None, record.stack))
                if known is not layout:
                    placed = _placed(record.stack, _versions(record), layout)
                    stack = stack if placed == stack else placed
                self._placed[record] = layout, stack
        return {record.result.name: stack for record, (_, stack) in self._placed.items()}


def _versions(record: Record) -> dict[str, SourceMap]:
    """The versions of the sources when the test ran."""
    return {m.measured.path: m for m in record.section.maps if m is not None and m.traced}


def _placed(stack: Stack, old: dict[str, SourceMap], layout: Layout) -> Stack:
    frames = (_moved(frame, old.get(frame.file), layout.versions.get(frame.file)) for frame in stack.frames)
    return replace(stack, frames=tuple(frame for frame in frames if frame is not None))


def _moved(frame: StackFrame, old: SourceMap | None, new: SourceMap | None) -> StackFrame | None:
    """Map a frame to the lines of the newer version, None if that lacks the statement."""
    if old is None or new is None:
        return None
    measured = old.measured
    at = np.flatnonzero((measured.line <= frame.line) & (frame.line <= measured.end_line))
    if not len(at):
        return None
    statement, line = int(at[-1]), frame.line  # of several statements on the line, the innermost begins last
    if old is not new:
        new_statement = int(remapped(old, new).statement[statement])
        if new_statement < 0:
            return None
        first, last = int(new.measured.line[new_statement]), int(new.measured.end_line[new_statement])
        line = min(first + line - int(measured.line[statement]), last)
        measured, statement = new.measured, new_statement
    function = int(measured.function[statement])
    return StackFrame(frame.file, line, measured.functions[function][0] if function >= 0 else frame.function)
