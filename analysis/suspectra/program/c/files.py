"""Reads the files of compiled C and C++ objects: notes (``.gcno``) and profiles (``.gcda``).

``gcc --coverage`` and ``clang --coverage`` write both. The *notes* describe the control flow of one object when it is
compiled; the *profile* contains the counters of its arcs when a program ends. This module turns the bytes of both into
plain Python values and checks whether they belong together. It opens no files.

References
----------
The record layout is that of gcc's public header ``gcov-io.h``.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from suspectra.base.errors import EvidenceError, Problem
from suspectra.program.c.object import (
    ENTRY,
    EXIT,
    INITIALIZER,
    KNOWN_GCC,
    LOST,
    MAX_LINES,
    ON_TREE,
    CFunction,
    CObject,
    Compiler,
    Profile,
)

_NOTES, _DATA = 0x67636E6F, 0x67636461  # "gcno", "gcda"
_FUNCTION, _BLOCKS, _ARCS, _LINES, _ARC_COUNTERS = 0x01000000, 0x01410000, 0x01430000, 0x01450000, 0x01A10000

_REBUILD = "build and run the tests again with one compiler, and delete old .gcno and .gcda files before"
_COROUTINE = ".actor"  # how the name of a function with the body of a coroutine ends; gcov hides it
_CALLS_OF_COROUTINE = 12  # at least so many blocks of a coroutine have no other line than its first one

_RERUN = "delete the file and run the test again, with a longer time limit if it was stopped by one"


def parse_notes(data: bytes, name: str) -> CObject:
    """Read a ``.gcno`` file.

    Raises EvidenceError when the file is empty, truncated, not a notes file, or of an unknown compiler.
    """
    if not data:
        raise _error(name, "", "it is empty: the compiler was stopped while it wrote it", "build the object again")
    records = _Records(data, name, _NOTES)
    if not records.compiler.known:
        raise _unknown(records.compiler, name)
    try:
        folder = _start_of_functions(records)
        drafts = _drafts(records)
        if records.compiler.is_clang:
            for draft in drafts:
                draft.add_split_arcs()
                draft.end_line = 0  # it leaves out the line of its end
                if draft.is_coroutine():
                    draft.begin_with_the_call()
                    draft.add_suspensions()
            _leave_out_lines_of_headers(drafts)
        functions = [draft.finished() for draft in drafts]
    except (struct.error, IndexError, ValueError):
        raise _error(name, f"byte {records.at}", "it is cut off or damaged", "build the object again") from None
    for function in functions:
        _check_graph(function, name, len(data))
    return CObject(name, records.compiler, records.stamp, folder, tuple(functions))


def written_by(data: bytes, name: str) -> tuple[Compiler, str]:
    """Return which compiler wrote a ``.gcno`` file, even if the rest of it can't be read.

    May be one whose files are not supported.

    The folder in which it ran; empty where the file does not say.

    Raises EvidenceError when it is not a notes file.
    """
    records = _Records(data, name, _NOTES)
    try:
        folder = _start_of_functions(records)
    except (struct.error, IndexError, ValueError):
        folder = ""  # truncated, or of an unknown layout
    return records.compiler, folder


def _start_of_functions(records: _Records) -> str:
    """Read what precedes the functions, tell clang from the gcc whose format it writes, and return the folder."""
    compiler = records.compiler
    folder = records.string() if compiler.major >= 9 else ""
    if compiler.major >= 8:
        records.word()  # whether unexecuted blocks are marked
    if folder in ("", ".") and compiler.major >= 9 and not _first_column(records):
        records.compiler = Compiler("clang", compiler.major, compiler.minor)
        return ""
    return folder


def _first_column(records: _Records) -> int:
    """The start column of the first function, which is 0 in files of clang; 1 if there is no function."""
    start = records.at
    try:
        if records.word() != _FUNCTION:
            return 1
        records.at += 16  # length, ident and checksums
        records.string()
        records.at += 4  # artificial
        records.string()
        records.at += 4  # line
        return records.word()
    except (struct.error, IndexError):
        return 1
    finally:
        records.at = start


def parse_profile(data: bytes, notes: CObject, name: str) -> Profile:
    """Read a ``.gcda`` file against the notes of its object.

    Raises EvidenceError when the file can't be used: it is empty, of another build or of another compiler.
    """
    if not data:
        raise _error(
            name, "", "it is empty: the program was killed, or the disk was full, before it wrote its profile", _RERUN
        )
    records = _Records(data, name, _DATA)
    if (records.compiler.major, records.compiler.minor) != (notes.compiler.major, notes.compiler.minor):
        cause = f"it was written by a program of {records.compiler}, but {notes.name} by {notes.compiler}"
        raise _error(name, "header", cause, _REBUILD)
    if records.stamp != notes.stamp:
        cause = f"its stamp {records.stamp:08x} is of another build than {notes.name} ({notes.stamp:08x})"
        raise _error(name, "header", cause, _REBUILD)
    raw = bytearray(8 * notes.counters)
    problems: list[Problem] = []
    try:
        _fill(raw, records, notes)
    except (struct.error, IndexError):
        cause = "it breaks off, so its last functions count as not executed: the program was killed while writing"
        problems.append(Problem(name, f"byte {records.at}", cause, _RERUN))
    counters = array("q")
    counters.frombytes(raw)
    return Profile(counters, tuple(problems))


def _fill(counters: bytearray, records: _Records, notes: CObject) -> None:
    """Copy the counters of every function to their offsets, as 64-bit integers in this machine's byte order.

    A profile has two records for each function, and a test suite has millions of them, so both are read at once.
    """
    data, size, at = records.data, len(records.data), records.at
    unit = 1 if records.compiler.bytewise else 4
    word, pair = struct.Struct(records.order + "I").unpack_from, struct.Struct(records.order + "IiIIIIi").unpack_from
    plain = records.order == "<" and sys.byteorder == "little"
    slots = notes.slots
    while at < size:
        records.at = at
        if size - at < 28 or word(data, at)[0] != _FUNCTION:
            tag = word(data, at)[0]
            if not tag:
                return
            length = struct.unpack_from(records.order + "i", data, at + 4)[0] * unit
            at += 8 + max(length, 0)  # a function without code, or a summary of the run
            if at > size:
                raise IndexError(at)
            continue
        _, head, ident, _, checksum, tag, length = pair(data, at)
        if head * unit != 12:
            at += 8 + max(head * unit, 0)  # a function that was left out
            continue
        slot = slots.get(ident)
        if slot is None or slot[0] != checksum:
            cause = f"function {ident:#x} is not the one in {notes.name}: the file is of another build"
            raise _error(records.name, f"byte {at}", cause, _REBUILD)
        if tag != _ARC_COUNTERS:
            at += 20
            continue
        start, length = at + 28, length * unit
        if abs(length) != slot[2]:
            cause = f"function {slot[3]} has {abs(length) // 8} counters, {notes.name} says {slot[2] // 8}"
            raise _error(records.name, f"byte {at}", cause, _REBUILD)
        at = start + max(length, 0)
        if at > size:
            raise IndexError(at)
        if length > 0:  # a negative length stands for counters that are all zero
            counters[slot[1] : slot[1] + length] = data[start:at] if plain else _turned(records, start, length // 8)
    if not notes.compiler.is_clang:
        raise IndexError(at)  # the end marker is missing


def _turned(records: _Records, start: int, count: int) -> bytes:
    """Convert counters of another byte order: two words each, the lower one always first."""
    words = records.words_at(start, 2 * count)
    pairs = zip(words[::2], words[1::2], strict=True)
    return array("q", [low | (high - (high >> 31 << 32)) << 32 for low, high in pairs]).tobytes()


@dataclass
class _Draft:
    """A function while its records are being read."""

    ident: int
    cfg_checksum: int
    name: str
    artificial: bool
    file: str
    line: int
    end_line: int
    blocks: int = 0
    arcs: list[tuple[int, int, int]] = field(default_factory=list)
    lines: list[tuple[int, str, int]] = field(default_factory=list)

    def add_split_arcs(self) -> None:
        """Add what clang leaves out of split arcs: the part before a new block, of which it loses the counter.

        The new block stands behind the one where the arc begins, and the part behind it has no counter either. The
        count follows if the part before it is the only way between two parts of the tree.
        """
        entered = {target for _, target, _ in self.arcs}
        split = {source for source, _, flags in self.arcs if flags & ON_TREE and source not in entered} - {ENTRY, EXIT}
        if not split:
            return
        uncounted = _Forest()
        uncounted.join(EXIT, ENTRY)  # what leaves a function has entered it
        for source, target, flags in self.arcs:
            if flags & ON_TREE:
                uncounted.join(source, target)
        before = EXIT
        for block in range(EXIT + 1, self.blocks):
            if block not in split:
                before = block
            elif before != EXIT:
                self.arcs.append((before, block, ON_TREE if uncounted.join(before, block) else LOST))

    def is_coroutine(self) -> bool:
        """Whether it looks like a coroutine of C++, of which notes of clang do not tell.

        It allocates its frame if it has to, and what it calls for that, and for its promise, is all on its first line.
        """
        found = self._lines_of_blocks()
        frame = {(source, target) for source, target, _ in self.arcs if source in (EXIT + 1, EXIT + 2)}
        return (
            frame == {(EXIT + 1, EXIT + 2), (EXIT + 1, EXIT + 3), (EXIT + 2, EXIT + 3)}
            and found.get(EXIT + 1) == found.get(EXIT + 2) == {self.line}
            and sum(lines == {self.line} for lines in found.values()) >= _CALLS_OF_COROUTINE
            and any(line != self.line for _, _, line in self.lines)
        )

    def begin_with_the_call(self) -> None:
        """Leave out lines of the first blocks that come later: flags of what they create are cleared at the start."""
        found = self._lines_of_blocks()
        first = next((block for block in range(EXIT + 4, self.blocks) if found.get(block) == {self.line}), EXIT + 4)
        later = {line for block, _, line in self.lines if block >= first}
        self.lines = [
            (block, file, line)
            for block, file, line in self.lines
            if block >= first or line == self.line or line not in later
        ]

    def add_suspensions(self) -> None:
        """Add the ways out of a coroutine that is suspended, which clang leaves out from version 17 on."""
        ways: dict[int, list[int]] = {}
        for source, target, _ in self.arcs:
            ways.setdefault(source, []).append(target)
        known = Counter(target for targets in ways.values() if len(targets) == 3 for target in targets)
        if max(known.values(), default=0) < 2:  # those at its start and at its end
            self.arcs += [(source, EXIT, LOST) for source, targets in ways.items() if len(targets) == 2]

    def _lines_of_blocks(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for block, _, line in self.lines:
            found.setdefault(block, set()).add(line)
        return found

    def finished(self) -> CFunction:
        return CFunction(
            self.ident,
            self.cfg_checksum,
            self.name,
            self.artificial,
            self.file,
            self.line,
            self.end_line,
            self.blocks,
            tuple(self.arcs),
            tuple(self.lines),
        )


class _Forest:
    """Arcs that form no circle."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def join(self, one: int, other: int) -> bool:
        """Add an arc; whether it forms no circle with the others."""
        tops = self._top(one), self._top(other)
        self._above[tops[0]] = tops[1]
        return tops[0] != tops[1]

    def _top(self, block: int) -> int:
        while (above := self._above.get(block, block)) != block:
            self._above[block] = self._above.get(above, above)
            block = above
        return block


class _Records:
    """Reads the header of a file, then its records one by one."""

    def __init__(self, data: bytes, name: str, kind: int):
        self.data, self.name, self.at = data, name, 0
        self.order = self._byte_order(kind)
        self._word = struct.Struct(self.order + "I").unpack_from
        try:
            self.at = 4
            self.compiler = _compiler(self.word(), name)
            self.stamp = self.word()
            if self.compiler.bytewise:
                self.word()  # checksum of the whole object
        except struct.error:
            raise _error(name, "header", "it is cut off", _REBUILD) from None

    def _byte_order(self, kind: int) -> str:
        magic = kind.to_bytes(4, "big")
        if self.data[:4] == magic:
            return ">"
        if self.data[:4] == magic[::-1]:
            return "<"
        extension = "gcno" if kind == _NOTES else "gcda"
        raise _error(self.name, "header", f"it is not a .{extension} file of gcc or clang", _REBUILD)

    def word(self) -> int:
        value: int = self._word(self.data, self.at)[0]
        self.at += 4
        return value

    def words_at(self, start: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"{self.order}{count}I", self.data, start)

    def string(self) -> str:
        length = self.word()
        if not self.compiler.bytewise:
            length *= 4
        if self.at + length > len(self.data):
            raise IndexError(length)
        text = self.data[self.at : self.at + length].rstrip(b"\0")
        self.at += length
        return text.decode("utf-8", "surrogateescape")


def _drafts(records: _Records) -> Sequence[_Draft]:
    """Read the functions of a notes file."""
    drafts: list[_Draft] = []
    file = ""
    unit = 1 if records.compiler.bytewise else 4
    while records.data[records.at : records.at + 8].strip(b"\0"):
        tag, length = records.word(), records.word() * unit
        end = records.at + length
        if end > len(records.data):
            raise IndexError(end)
        if tag == _FUNCTION:
            drafts.append(_function(records))
            file = ""
        elif tag == _BLOCKS and drafts:
            drafts[-1].blocks = records.word() if records.compiler.major >= 8 else length // 4
        elif tag == _ARCS and drafts:
            words = records.words_at(records.at, length // 4)
            pairs = zip(words[1::2], words[2::2], strict=True)
            drafts[-1].arcs += [(words[0], target, flags & 7) for target, flags in pairs]
        elif tag == _LINES and drafts:
            file = _lines(records, end, drafts[-1], file)
        records.at = end  # unknown records (conditions, paths) are skipped by their length
    return drafts


def _leave_out_lines_of_headers(drafts: Sequence[_Draft]) -> None:
    """Leave out lines inside of other functions, where no global variable is computed.

    clang up to 18 takes a global variable of a header, such as that in `<iostream>`, for one of the source.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for draft in drafts:
        if not draft.name.startswith(INITIALIZER):
            own = [line for _, file, line in draft.lines if file == draft.file]
            spans.setdefault(draft.file, []).append((draft.line, max(own, default=draft.line)))
    for draft in drafts:
        if draft.name.startswith(INITIALIZER):
            draft.lines = [
                (block, file, line)
                for block, file, line in draft.lines
                if not any(first <= line <= last for first, last in spans.get(file, ()))
            ]


def _function(records: _Records) -> _Draft:
    ident, _, checksum = records.word(), records.word(), records.word()
    name = records.string()
    modern = records.compiler.major >= 8
    shown = name.endswith(_COROUTINE) or name.startswith(INITIALIZER)
    artificial = bool(records.word()) and not shown if modern else False
    file, line = records.string(), records.word()
    end_line = 0
    if modern:
        records.word()  # start column
        end_line = records.word()
    return _Draft(ident, checksum, name, artificial, file, line, end_line)


def _lines(records: _Records, end: int, draft: _Draft, file: str) -> str:
    """Read the lines of one block; return the source file that was named last."""
    block = records.word()
    while records.at < end:
        line = records.word()
        if line:
            draft.lines.append((block, file, line))
            continue
        named = records.string()
        if not named:
            break
        file = named
    return file


def _check_graph(function: CFunction, name: str, size: int) -> None:
    """Refuse more blocks than fit into the file, and arcs of blocks that do not exist: the file must be damaged."""
    if function.blocks > size:
        cause = f"it says it has {function.blocks} blocks: the file is damaged"
        raise _error(name, f"function {function.name}", cause, "build the object again")
    if max((line for _, _, line in function.lines), default=0) > MAX_LINES:
        cause = "it names a line beyond any source: the file is damaged"
        raise _error(name, f"function {function.name}", cause, "build the object again")
    numbers = [block for source, target, _ in function.arcs for block in (source, target)]
    numbers += [block for block, _, _ in function.lines]
    if numbers and max(numbers) >= function.blocks:
        cause = f"it names block {max(numbers)} of {function.blocks}: the file is damaged"
        raise _error(name, f"function {function.name}", cause, "build the object again")


def _compiler(word: int, name: str) -> Compiler:
    """Read the version word: ``B22*`` is gcc 12.2 (the letter counts tens), clang writes ``408*``."""
    text = word.to_bytes(4, "big").decode("ascii", "replace")
    if text[0] in "4" and text[1:3].isdigit():
        compiler = Compiler("clang", 4, int(text[1:3]))
        return compiler if compiler.minor >= 7 else Compiler("gcc", 4, compiler.minor)
    if text[0] in "ABCDEFG" and text[1:3].isdigit():
        major = (ord(text[0]) - ord("A")) * 10 + int(text[1])
        return Compiler("gcc", major, int(text[2]))
    raise _error(name, "header", f"its version {text!r} is not one that a compiler writes", _REBUILD)


def _unknown(compiler: Compiler, name: str) -> EvidenceError:
    known = f"gcc {KNOWN_GCC[0]} to {KNOWN_GCC[-1]} and clang from 11 on"
    cause = f"it was written by {compiler}, which is not known; known are {known}"
    cure = "let `suspectra record-c` run the tests, which asks gcovr, or build with one of these"
    return _error(name, "header", cause, cure)


def _error(file: str, place: str, cause: str, cure: str) -> EvidenceError:
    return EvidenceError(Problem(file, place, cause, cure))
