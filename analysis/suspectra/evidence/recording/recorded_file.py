"""A measured file with what tells its statements again in another text of it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from tokenize import TokenError

import numpy as np

from suspectra.base.arrays import Ints, ranges
from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.instrumentation.outline import Outline

_CELLS = "__suspectra_cells__"
_NONE = np.zeros(0, np.int64)
_MAX_LINES = 1_000_000  # a recording may say anything


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedFile(MeasuredFile):
    """One source file as a recording knows it. A recording keeps no source text."""

    checksum: Ints  # checksum of the text of each statement; shape (k,)
    outline: Outline | None = None  # the outline of its functions; None if the recording has none

    @classmethod
    def from_text(cls, path: str, text: bytes) -> RecordedFile:
        """The file as it would be recorded.

        Raises SyntaxError, ValueError, RecursionError, MemoryError, TokenError when Python can't compile the text.
        """
        from suspectra_recorder.instrumentation.rewriting import instrument  # most readers of recordings parse nothing

        found = instrument(text, path, _CELLS)[1]
        columns = [(one.line, one.end_line, one.function, one.checksum) for one in found.statements]
        line, end_line, function, checksum = np.array(columns, np.int64).reshape(-1, 4).T.astype(np.int32)
        functions = tuple((one.name, one.line, one.end_line) for one in found.functions)
        return cls(path, None, line, end_line, function, functions, checksum=checksum, outline=found.outline)

    def lines_in(self, text: bytes) -> Ints | None:
        """Find the lines of the statements in another text of the file.

        Of shape (lines + 1,). For each line of the run, counted from 1, its line in the text; 0 for one that was
        edited, and where there is no statement. None if Python can't compile the text, or the recording has impossible
        lines.
        """
        last = int(self.end_line.max(initial=0))
        # a recording may claim any line; an array for it must not take all memory
        if last > _MAX_LINES:
            return None
        try:
            other = RecordedFile.from_text(self.path, text)
        except (SyntaxError, ValueError, RecursionError, MemoryError, TokenError):
            return None
        lines = np.zeros(last + 1, np.int32)
        there = self.statements_in(other)
        kept = np.flatnonzero(there >= 0)
        old, new = self.line[kept], other.line[there[kept]]
        height = self.end_line[kept] - old
        lines[old] = new  # of one that was laid out anew, its first line
        same = height == other.end_line[there[kept]] - new
        old, new, height = old[same], new[same], height[same] + 1
        lines[ranges(old, old + height)] = ranges(new, new + height)
        return lines

    def statements_in(self, other: RecordedFile) -> Ints:
        """Find the statements in another version of the file.

        Equivalent functions have the same statements, even if formatted differently; other statements are compared as
        text.

        Of shape (k,). The index of each statement in the other version, -1 if it is not there.
        """
        out = np.full(len(self.checksum), -1, np.int64)
        own, others = self.by_function(), other.by_function()
        taken = np.zeros(len(other.checksum), bool)
        same = self.functions_in(other)
        for number in np.flatnonzero(same >= 0).tolist():
            old, new = own.get(number, _NONE), others.get(int(same[number]), _NONE)
            if len(old) == len(new):
                out[old] = new
                taken[new] = True
        old, new = np.flatnonzero(out < 0), np.flatnonzero(~taken)
        texts = self.checksum[old].tolist(), other.checksum[new].tolist()
        matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
        for a, b, size in matcher.get_matching_blocks():
            out[old[a : a + size]] = new[b : b + size]
        return out

    def functions_in(self, other: RecordedFile) -> Ints:
        """Find the functions that do the same in another version of the file.

        Of shape (functions,). The index of each function in the other version, -1 if it is not there or does something
        else.
        """
        same = np.full(len(self.functions), -1, np.int64)
        if self.outline is None or other.outline is None or len(self.outline.functions) != len(same):
            return same
        numbers = {key: number for number, key in enumerate(other.outline.keys())}
        for number, (key, function) in enumerate(zip(self.outline.keys(), self.outline.functions, strict=True)):
            found = numbers.get(key, -1)
            if found >= 0 and other.outline.functions[found].body == function.body:
                same[number] = found
        return same

    def by_function(self) -> dict[int, Ints]:
        """The statements of each function.

        Of shape (statements of the function,).
        """
        order = np.argsort(self.function, kind="stable")
        numbers, starts = np.unique(self.function[order], return_index=True)
        return dict(zip(numbers.tolist(), np.split(order, starts)[1:], strict=True))
