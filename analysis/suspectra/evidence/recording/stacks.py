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
    r"""Maps recorded stacks to the sources of a layout.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> from suspectra_recorder.log.reader import Source
    >>> def version(text):
    ...     module_map = instrument(text, "cart.py", "cells")[1]
    ...     head = {"path": "cart.py", "digest": str(len(text)), "is_test": False}
    ...     return SourceMap.from_source(Source(head, module_map.to_bytes(), b""))
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> old, new = version(b"total = 0\nprint(total)\n"), version(b"import math\ntotal = 0\nprint(total)\n")
    >>> from suspectra.evidence.recording.records import Section
    >>> stack = Stack((StackFrame("cart.py", 2),), "NameError")
    >>> record = Record(TestResult("test_sum", Verdict.FAILED), 2, Section("monday", 1, [old]), b"", stack)
    >>> print(Stacks().update([record], Layout({"cart.py": new}, edges=False))["test_sum"])
    NameError at cart.py:3
    """

    def __init__(self) -> None:
        self._placed: dict[Record, tuple[Layout, Stack]] = {}

    def update(self, records: Iterable[Record], layout: Layout) -> dict[str, Stack]:
        """Map the stacks of some records.

        Parameters
        ----------
        records : iterable of Record
            Those that count, at least those with a stack.
        layout : Layout
            The versions of the sources.

        Returns
        -------
        dict of str to Stack
            The stacks by the name of the test, without frames in removed lines. Unchanged stacks are the same objects
            as before.
        """
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
