"""The difference between two texts of a file, in units that can be made one by one.

Of Python a unit is a logical line, such as a statement or the header of a function, or what was inserted or deleted
with everything inside of it. Of other files it is a line that became another one, or a run of lines that were inserted
or deleted. A file that is new, gone or no text is one unit. That a file was moved is one unit, too, and what was edited
in it are others.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import NamedTuple

from suspectra.program.languages import is_python

_MANY_LINES = 5_000  # of more, lines that occur often are not looked at
_MAX_PAIRS = 900  # lines that differ, of both texts: of more, nobody asks which became which
_ALIKE = 0.5  # the least share that two lines have in common if one became the other
_CONTINUED = ("else", "elif", "except", "finally")  # what begins a part of the statement before it
_LEAVING = ("return", "raise", "break", "continue")  # what begins a statement behind which nothing is executed
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class ChangeUnit:
    """A change that can be made alone."""

    file: str  # relative to the workspace
    line: int  # where it is in the present text, from 1; of what was deleted, the line that follows
    end_line: int  # its last line there; less than `line` where nothing is left of it
    before: str  # the text that was there, empty where there was none
    after: str  # the text that is there now
    moved_from: str = ""  # if it is that the file was moved: where it was

    def __str__(self) -> str:
        return self.file if self.moved_from else f"{self.file}:{self.line}"

    def to_json(self) -> dict[str, object]:
        """In the form of `suspectra changes --format json`."""
        moved = {"moved_from": self.moved_from} if self.moved_from else {}
        place = {"file": self.file, "line": self.line, "end_line": self.end_line}
        return {**place, "before": self.before, "after": self.after, **moved}


class _Piece(NamedTuple):
    """A part of both texts."""

    before: str
    after: str
    unit: ChangeUnit | None  # None where they say the same


@dataclass(frozen=True, eq=False)
class FileDifference:
    """Two texts of a file as pieces."""

    path: str  # relative to the workspace
    before: bytes | None  # None where there was no such file
    after: bytes | None
    pieces: tuple[_Piece, ...]  # empty where the file is one unit
    units: tuple[ChangeUnit, ...]
    move: ChangeUnit | None = None  # the unit that it was moved, which is the first one then

    @classmethod
    def between(cls, path: str, before: bytes | None, after: bytes | None) -> FileDifference:
        """Compare two texts, either of which may be missing."""
        old, new = _decoded(before), _decoded(after)
        if before is None or after is None or old is None or new is None:
            unit = ChangeUnit(path, 1, _lines(new or ""), old or "", new or "")
            return cls(path, before, after, (), (unit,))
        pieces = tuple(_pieces(path, old, new))
        units = tuple(piece.unit for piece in pieces if piece.unit is not None)
        return cls(path, before, after, pieces, units)

    @classmethod
    def moved(cls, path: str, old_path: str, before: bytes, after: bytes) -> FileDifference:
        """Compare the texts of a file that was moved."""
        move = ChangeUnit(path, 1, 0, "", "", old_path)
        found = cls.between(path, before, after)
        if not found.pieces:  # no text: it is moved as a whole
            return cls(path, before, after, (), (move,), move)
        return cls(path, before, after, found.pieces, (move, *found.units), move)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the file is, and where it was."""
        return (self.path,) if self.move is None else (self.path, self.move.moved_from)

    def contents(self, made: Collection[ChangeUnit]) -> dict[str, bytes | None]:
        """What the files are, by their paths, if only some units are made."""
        content = self.content(made)
        if self.move is None:
            return {self.path: content}
        here = self.path if self.move in made else self.move.moved_from
        return {path: content if path == here else None for path in self.paths}

    def content(self, made: Collection[ChangeUnit]) -> bytes | None:
        """The text in which only some units are made; None for no file."""
        if not self.pieces:
            return self.after if not self.units or self.units[0] in made else self.before
        return "".join(
            piece.after if piece.unit is None or piece.unit in made else piece.before for piece in self.pieces
        ).encode()

    def lines(self, made: Collection[ChangeUnit], changed: Collection[ChangeUnit]) -> list[tuple[str, int, int]]:
        """What corresponds to each line of the text in which only some units are made, whichever others are.

        The path, the number of its piece, and the line in that; -1 for each line of the units in `changed`.
        """
        found: list[tuple[str, int, int]] = []
        for number, piece in enumerate(self.pieces):
            text = piece.after if piece.unit is None or piece.unit in made else piece.before
            found += [(self.path, number, -1 if piece.unit in changed else line) for line in range(_lines(text))]
        return found


class _Line(NamedTuple):
    """A logical line of Python with the comments before it, or a line of any other text."""

    key: tuple[int, str]  # what it says: its indentation, and its text without comments and white space
    text: str

    @property
    def indent(self) -> int:
        return self.key[0]


def _decoded(data: bytes | None) -> str | None:
    try:
        return None if data is None or b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def names_in(text: str) -> frozenset[str]:
    """Find the names that a text mentions, whatever they are."""
    return frozenset(name for name in _NAME.findall(text) if not iskeyword(name))


def _pieces(path: str, old: str, new: str) -> Iterator[_Piece]:
    before, after = _logical(path, old), _logical(path, new)
    at = 1  # in the present text
    for olds, news in _aligned(before, after, python=is_python(path)):
        texts = "".join(line.text for line in olds), "".join(line.text for line in news)
        if [line.key for line in olds] == [line.key for line in news]:
            yield _Piece(*texts, None)
            at += _lines(texts[1])
            continue
        python = is_python(path)
        if python and olds and news:  # what is above a statement that became another one is no change of it
            (old_lead, old_text), (new_lead, new_text) = map(_without_lead, texts)
            if old_lead or new_lead:
                yield _Piece(old_lead, new_lead, None)
            at += _lines(new_lead)
            texts = old_text, new_text
        length = _lines(texts[1])
        lead = leading_lines(texts[1]) if python else 0
        yield _Piece(*texts, ChangeUnit(path, at + lead, at + length - 1, *texts))
        at += length


def _without_lead(text: str) -> tuple[str, str]:
    """The comments and empty lines before what a text says, and the rest."""
    lines = text.splitlines(keepends=True)
    count = leading_lines(text)
    return "".join(lines[:count]), "".join(lines[count:])


def leading_lines(text: str) -> int:
    """Count the lines of comments and white space that are before what a text says."""
    lines = enumerate(text.split("\n"))
    return next((number for number, line in lines if line.strip() and not line.lstrip().startswith("#")), 0)


def _logical(path: str, text: str) -> list[_Line]:
    lines = text.splitlines(keepends=True)
    if not is_python(path):
        return [_Line((0, line.rstrip("\r\n")), line) for line in lines]
    found: list[_Line] = []
    words: list[str] = []
    indent = start = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE:
                found.append(_Line((indent, " ".join(words)), "".join(lines[start : token.end[0]])))
                words, start = [], token.end[0]
            elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                indent = indent if words else token.start[1]
                words += [token.string] if token.string else []
    except (tokenize.TokenError, SyntaxError, IndentationError):  # no Python, or not yet
        return [_Line((0, line.rstrip("\r\n")), line) for line in lines]
    if rest := "".join(lines[start:]):
        found.append(_Line((0, " ".join(words)), rest))
    return found


def _aligned(
    before: Sequence[_Line], after: Sequence[_Line], *, python: bool
) -> Iterator[tuple[Sequence[_Line], Sequence[_Line]]]:
    """Parts of both texts: equal ones, and what became what."""
    matcher = difflib.SequenceMatcher(
        None, [line.key for line in before], [line.key for line in after], max(len(before), len(after)) > _MANY_LINES
    )
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        olds, news = before[i:i_end], after[j:j_end]
        many = len(olds) * len(news) > _MAX_PAIRS
        pairs = [] if tag == "equal" else _in_order(olds, news) if many else _pairs(olds, news)
        if tag == "equal" or (many and not pairs):
            yield olds, news
            continue
        i = j = 0
        for old, new in [*pairs, (len(olds), len(news))]:
            if python:
                yield from _replaced(list(_statements(olds[i:old])), list(_statements(news[j:new])))
            elif i < old or j < new:
                yield olds[i:old], news[j:new]
            if old < len(olds):
                yield olds[old : old + 1], news[new : new + 1]
            i, j = old + 1, new + 1


def _replaced(
    olds: list[Sequence[_Line]], news: list[Sequence[_Line]]
) -> Iterator[tuple[Sequence[_Line], Sequence[_Line]]]:
    """Statements at one place that are not alike: what was deleted, what was inserted, and the last as one change.

    The old one would still run before the new one, which may never be reached then.
    """
    together = olds and news and olds[-1][0].indent == news[-1][0].indent
    if together and (len(olds) == len(news) == 1 or all(_leaves(part[-1][0]) for part in (olds, news))):
        last = [(olds.pop(), news.pop())]
    else:
        last = []
    yield from ((part, ()) for part in olds)
    yield from (((), part) for part in news)
    yield from last


def _leaves(line: _Line) -> bool:
    return line.key[1].startswith(_LEAVING)


def _in_order(olds: Sequence[_Line], news: Sequence[_Line]) -> list[tuple[int, int]]:
    """The pairs where there are as many lines as before, and each has much in common with what it was."""
    pairs = list(enumerate(range(len(news)))) if len(olds) == len(news) else []
    return pairs if all(_likeness(olds[old], news[new]) >= _ALIKE for old, new in pairs) else []


def _pairs(olds: Sequence[_Line], news: Sequence[_Line]) -> list[tuple[int, int]]:
    """Which line became which: the pairs, in order, that have most in common."""
    best: list[list[tuple[float, tuple[tuple[int, int], ...]]]] = [[(0.0, ())] * (len(news) + 1)]
    for i, old in enumerate(olds):
        row: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
        for j, new in enumerate(news):
            likeness = _likeness(old, new)
            found = max(best[i][j + 1], row[j], key=lambda one: one[0])
            if likeness >= _ALIKE and best[i][j][0] + likeness > found[0]:
                found = best[i][j][0] + likeness, (*best[i][j][1], (i, j))
            row.append(found)
        best.append(row)
    return list(best[-1][-1][1])


def _likeness(old: _Line, new: _Line) -> float:
    if old.indent != new.indent:
        return 0.0
    matcher = difflib.SequenceMatcher(None, old.key[1], new.key[1], autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE else 0.0


def _statements(lines: Sequence[_Line]) -> Iterator[Sequence[_Line]]:
    """Lines in parts that can be left out one by one: each with what is nested in it, and with its decorators."""
    start = 0
    for at in range(1, len(lines)):
        line, first = lines[at], lines[start]
        begins = line.indent <= first.indent and not line.key[1].startswith(_CONTINUED)
        if begins and not lines[at - 1].key[1].startswith("@"):
            yield lines[start:at]
            start = at
    if lines:
        yield lines[start:]
