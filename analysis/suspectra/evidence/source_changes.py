"""Which lines of a source differ from those of an older text of it.

Python is compared statement by statement, as recordings are; other languages line by line, without comments and white
space. For the latter the digests of the lines are enough (`SourceLines`), so a recording keeps no source text.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from tokenize import TokenError

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.evidence.recording.recorded_file import RecordedFile
from suspectra.evidence.recording.versions import changed_statements
from suspectra.program.languages import is_c, is_python
from suspectra.runs.measured_file import MeasuredFile

_MANY_LINES = 5_000
_MAX_LINES = 1_000_000  # a recording may say anything
_LINE = struct.Struct("<IQ")  # its number, and the digest of its text
# comments, and texts in which one may seem to begin
_TEXT = r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_C_COMMENT = re.compile(rf"//[^\n]*|/\*.*?(?:\*/|\Z)|{_TEXT}", re.S)
_COMMENT = re.compile(rf"#[^\n]*|{_TEXT}", re.S)


def changed_lines(path: str, old: bytes | None, new: bytes) -> Ints:
    """Find the lines that changed, and those on both sides of what was deleted.

    Of shape (k,). Lines of the new text, ascending and counted from 1. Of Python the first line of each statement.
    """
    if is_python(path):
        try:
            file = RecordedFile.from_text(path, new)
            return file.line if old is None else file.line[changed_statements(RecordedFile.from_text(path, old), file)]
        except (SyntaxError, ValueError, RecursionError, MemoryError, TokenError):
            pass  # one of them is no Python, or not yet
    return SourceLines.from_text(path, new).changed_since(SourceLines.from_text(path, old or b""))


@dataclass(frozen=True)
class SourceLines:
    """The lines of a source that say something, without comments and white space."""

    lines: tuple[tuple[int, int], ...]  # the number of each line, from 1, and a digest of its text with 64 bits

    @classmethod
    def from_text(cls, path: str, text: bytes) -> SourceLines:
        """Those of a text.

        Without empty lines.
        """
        lines = _texts(text, _C_COMMENT if is_c(path) else _COMMENT)
        return cls(tuple((number, _digest(line)) for number, line in lines))

    @classmethod
    def from_bytes(cls, data: bytes) -> SourceLines:
        """The inverse of :meth:`to_bytes`.

        Raises ValueError when the data is cut off.
        """
        try:
            return cls(tuple(_LINE.iter_unpack(data)))
        except struct.error:
            raise ValueError("the digests of its lines are cut off") from None

    def to_bytes(self) -> bytes:
        """Encode the digests."""
        return b"".join(_LINE.pack(*line) for line in self.lines)

    def changed_since(self, old: SourceLines) -> Ints:
        """Find the lines that changed, and those on both sides of what was deleted.

        Of shape (k,). Lines of this text, ascending and counted from 1.
        """
        return np.array(sorted(set(_changed(old.lines, self.lines))), np.int32)

    def lines_in(self, other: SourceLines, last: int) -> Ints | None:
        """Find the lines in another text.

        Lines that occur often, such as ``return 0;``, could be those of another function. They are found where only
        equal lines are between them and an earlier line that both texts have once, or edited ones without a ``}``.

        Of shape (last + 1,). For each line of this text, counted from 1, its line in the other; 0 where it is not
        found. None if lines of this text have impossible numbers.
        """
        numbers = np.array([number for number, _ in self.lines], np.int64)
        if last > _MAX_LINES or np.any(np.diff(numbers, prepend=0) < 1):
            return None
        found = np.zeros(last + 1, np.int32)
        old, new = ([digest for _, digest in source.lines] for source in (self, other))
        once = _single(old) & _single(new)
        a_end = b_end = 0
        for a, b, size in _matcher(old, new).get_matching_blocks():
            skipped = 0
            if _CLOSING in old[a_end:a] or _CLOSING in new[b_end:b]:
                skipped = next((at for at in range(size) if old[a + at] in once), size)
            here = numbers[a + skipped : a + size]
            there = np.array([number for number, _ in other.lines[b + skipped : b + size]], np.int32)
            found[here[here <= last]] = there[here <= last]
            if skipped < size:
                a_end, b_end = a + size, b + size
        return found


def changed_columns(files: Sequence[MeasuredFile], then: Mapping[str, bytes | None], now: Mapping[str, bytes]) -> Row:
    """Find the statements of measured files that differ from an older state of their sources.

    Of shape (k,).
    """
    columns: list[Ints] = [np.zeros(0, np.int64)]
    start = 0
    for file in files:
        new = now.get(file.path) if file.path in then else None
        if new is not None and file.digest in (None, hashlib.sha256(new).hexdigest()):
            columns.append(start + statements_with(changed_lines(file.path, then[file.path], new), file))
        start += len(file.line)
    return np.concatenate(columns).astype(np.int32)


def statements_with(lines: Ints, file: MeasuredFile) -> Ints:
    """Find the statements of a file that have one of some lines.

    A line of a function may be in no statement: compilers count only some lines of a long expression, and none of a
    declaration or of a decision that is constant. It stands for the statements around it in its function, unless one of
    these has a line of its own among the lines.

    Of shape (m,). Their indices in the file, ascending.
    """
    changed = np.searchsorted(lines, file.line) < np.searchsorted(lines, file.end_line, "right")
    found = set(np.flatnonzero(changed).tolist())
    for line in lines[~_inside(lines, file.line, file.end_line)].tolist():
        at = int(np.searchsorted(file.line, line))
        around = [near for near in (at - 1, at) if 0 <= near < len(file.line) and _in_one_function(file, line, near)]
        if not any(changed[near] for near in around):
            found.update(around)
    return np.array(sorted(found), np.int64)


def _inside(lines: Ints, first: Ints, last: Ints) -> Bools:
    """Whether each line is in one of some spans."""
    return np.searchsorted(first, lines, "right") > np.searchsorted(np.sort(last), lines)


def _in_one_function(file: MeasuredFile, line: int, statement: int) -> bool:
    """Whether a line is in the function of a statement."""
    function = int(file.function[statement])
    return function >= 0 and file.functions[function][1] <= line <= file.functions[function][2]


def _texts(source: bytes, comment: re.Pattern[str]) -> list[tuple[int, str]]:
    """The lines that say something, without comments and with one space for any white space."""
    text = source.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    text = comment.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if line]


def _digest(line: str) -> int:
    return int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8).digest(), "little")


_CLOSING = _digest("}")


def _changed(old: Sequence[tuple[int, int]], new: Sequence[tuple[int, int]]) -> Iterator[int]:
    matcher = _matcher([line for _, line in old], [line for _, line in new])
    for tag, _, _, first, end in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            yield from (number for number, _ in new[first:end])
        elif tag == "delete":
            yield from (number for number, _ in new[max(first - 1, 0) : first + 1])


def _matcher(old: list[int], new: list[int]) -> difflib.SequenceMatcher[int]:
    # without the heuristic the time grows with the square of the most frequent line
    return difflib.SequenceMatcher(None, old, new, autojunk=len(new) > _MANY_LINES)


def _single(lines: Iterable[int]) -> set[int]:
    """Lines that occur once."""
    return {line for line, count in Counter(lines).items() if count == 1}
