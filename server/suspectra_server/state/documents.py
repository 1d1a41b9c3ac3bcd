"""The texts of the sources: as they were run, on disk, and in the editor.

Evidence refers to lines of a file as it was run, and has only the digest of that text. The text itself is kept as soon
as a file with that digest is read, so that later edits can be followed by comparing the two. If it was edited before it
was read, its statements are found again by their checksums, where the evidence has them.
"""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.workspace import TextDocument, Workspace

from suspectra.base.cancellation import Token
from suspectra.base.location import Location
from suspectra.evidence.sources import Sources, SourceText, SourceUnreadable
from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.stack import FailedLine
from suspectra_server.state.code_lines import code_lines

log = logging.getLogger(__name__)

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
LINE_END = re.compile(r"\r\n|\r|\n")

Lines = Sequence[str]  # without their ends
_NO_FILES: Mapping[str, MeasuredFile] = MappingProxyType({})


@dataclass(frozen=True)
class Units:
    """Conversion between Python's code points and the units of columns that client and server have agreed on."""

    encoding: str
    width: int

    @classmethod
    def for_encoding(cls, agreed: str | None) -> Units:
        """The units of an LSP position encoding; UTF-16 unless agreed otherwise."""
        return {"utf-8": cls("utf-8", 1), "utf-32": cls("utf-32-le", 4)}.get(agreed or "", cls("utf-16-le", 2))

    def count(self, text: str) -> int:
        """The length of a text in units."""
        return len(text) if text.isascii() else len(text.encode(self.encoding, "surrogatepass")) // self.width

    def code_points(self, line: str, units: int) -> int:
        """The index in `line` of a column in units, at most the length of the line."""
        if units <= 0 or line.isascii():
            return min(max(units, 0), len(line))
        data = line.encode(self.encoding, "surrogatepass")[: units * self.width]
        return len(data.decode(self.encoding, "ignore"))


class Document(TextDocument):
    """An open document. Its lines are those of LSP, and positions outside the text mean the nearest one inside."""

    @property
    def lines(self) -> Lines:
        """The lines without their ends: the same list as long as the text is the same."""
        text = self._source or ""
        if self._split is None or self._split[0] is not text:
            self._split = (text, LINE_END.split(text))
        return self._split[1]

    _split: tuple[str, list[str]] | None = None

    def apply_change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        """Apply one change."""
        if not isinstance(change, lsp.TextDocumentContentChangePartial):
            self._source = change.text
            return
        start, end = self._offset(change.range.start), self._offset(change.range.end)
        text = self._source or ""
        self._source = text[:start] + change.text + text[max(start, end) :]

    def _offset(self, position: lsp.Position) -> int:
        text, offset = self._source or "", 0
        for line, match in enumerate(LINE.finditer(text)):
            if line == position.line:
                units = Units.for_encoding(self.position_codec.encoding)
                return offset + units.code_points(match[0].rstrip("\r\n"), position.character)
            offset = match.end()
        return offset


class Documents(Workspace):
    """The open documents."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> Document:
        return Document(
            doc_uri, source or "", version, language_id, sync_kind=self._sync_kind, position_codec=self._position_codec
        )

    def update_text_document(
        self, text_doc: lsp.VersionedTextDocumentIdentifier, change: lsp.TextDocumentContentChangeEvent
    ) -> None:
        """Apply one change; a document that was never opened can't change."""
        if unquote(text_doc.uri) not in self.text_documents:
            log.warning("ignoring a change of %s, which is not open", text_doc.uri)
            return
        super().update_text_document(text_doc, change)


def moved_lines(old: Lines, new: Lines) -> list[int]:
    """For each old line its index among the new ones, -1 where it was edited or removed."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    moved = [*range(head), *([-1] * (len(old) - head - tail)), *range(len(new) - tail, len(new))]
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    for block in middle.get_matching_blocks():
        for i in range(block.size):
            moved[head + block.a + i] = head + block.b + i
    return moved


def moved_code(old: Lines, new: Lines, path: str) -> list[int]:
    """The same as :func:`moved_lines`, but changes of comments and white space are not edits."""
    moved = moved_lines(old, new)
    if -1 not in moved:
        return moved
    return moved_lines(code_lines(old, path), code_lines(new, path))


@dataclass(frozen=True)
class Placement:
    """Where the lines of a file as it was run are in its present text."""

    run: Lines
    now: Lines
    path: str  # the file; its name determines the language

    @cached_property
    def changed(self) -> bool:
        """Whether the code has changed; comments and white space are none."""
        if self._forward is None:
            return False
        run, now = ([line for line in lines if line] for lines in self._code)
        return run != now

    @cached_property
    def _forward(self) -> list[int] | None:
        return None if self.run == self.now else moved_code(self.run, self.now, self.path)

    @cached_property
    def _code(self) -> tuple[list[str], list[str]]:
        return code_lines(self.run, self.path), code_lines(self.now, self.path)

    @cached_property
    def _backward(self) -> dict[int, int]:
        return {line: i for i, line in enumerate(self._forward or ()) if line >= 0}

    def current_lines(self, location: Location) -> tuple[int, int] | None:
        """First and last line now, counted from 0; None if a line was edited, or code was inserted between them."""
        first, last = location.line - 1, location.end_line - 1
        if last >= len(self.run):
            return None
        if self._forward is None:
            return first, last
        lines = self._forward[first : last + 1]
        if lines[0] >= 0 and lines == list(range(lines[0], lines[0] + len(lines))):
            return lines[0], lines[-1]
        was, is_now = self._code
        code = [line for line, text in zip(lines, was[first : last + 1], strict=True) if text]
        if not code or min(code) < 0 or code != [line for line in range(code[0], code[-1] + 1) if is_now[line]]:
            return None
        return code[0], code[-1]

    def origin(self, line: int) -> int | None:
        """The line as it was run, counted from 1, of a line now, counted from 0; None if it is new or edited."""
        if self._forward is None:
            return line + 1 if line < len(self.run) else None
        origin = self._backward.get(line)
        return None if origin is None else origin + 1


@dataclass(frozen=True)
class PlacementByStatements(Placement):
    """Where the lines of a file are whose text as it was run was never read."""

    base: Lines  # the text in which the statements were found
    # for each line of the run its line in that text, counted from 0; -1 for those of edited statements
    found: tuple[int, ...]

    @cached_property
    def changed(self) -> bool:
        """Whether the text has changed: it had when it was read."""
        return True

    @cached_property
    def _forward(self) -> list[int]:
        if self.base == self.now:
            return list(self.found)
        moved = moved_code(self.base, self.now, self.path)
        return [moved[line] if line >= 0 else -1 for line in self.found]

    @cached_property
    def _code(self) -> tuple[list[str], list[str]]:
        return list(self.run), code_lines(self.now, self.path)


@dataclass(frozen=True)
class DocumentVersion:
    """A version of a file that was run."""

    path: str  # relative to the workspace
    digest: str | None  # of the text, None where it is not known

    @classmethod
    def for_error(cls, error: CollectionError) -> DocumentVersion:
        """The version of a file in which something kept tests from being collected."""
        return cls(error.file, error.digest)

    @classmethod
    def for_test_line(cls, line: FailedLine) -> DocumentVersion:
        """The version of a file in which a test failed."""
        return cls(line.file, line.digest)


@dataclass(frozen=True)
class Relocation:
    """The statements of a file as it was run, found in a later text of it."""

    file: MeasuredFile
    source: SourceText  # the later text
    lines: tuple[int, ...]  # for each line of the run its line there, counted from 0; -1 for those of edited statements

    @classmethod
    def for_file(cls, file: MeasuredFile, source: SourceText) -> Relocation | None:
        """Find the statements; None if none is found, or the text can't be parsed."""
        lines = file.lines_in(source.data)
        return cls(file, source, tuple((lines[1:] - 1).tolist())) if lines is not None and lines.any() else None

    @cached_property
    def run(self) -> Lines:
        """The lines of the run, as far as they are known."""
        lines = self.source.lines
        return [lines[line] if line >= 0 else "" for line in self.lines]

    def placement(self, now: Lines) -> Placement:
        """Where the lines are in a text."""
        return PlacementByStatements(self.run, now, self.file.path, self.source.lines, self.lines)


@dataclass(frozen=True)
class Reading:
    """The result of reading files."""

    number: int  # later readings have greater numbers
    found: Mapping[str, SourceText | None]  # by path; None for a file that can't be read
    # by path, for files that are not as they were run
    relocated: Mapping[str, Relocation] = field(default_factory=dict)


class Disk:
    """Reads the sources of one workspace folder, for one worker thread at a time."""

    def __init__(self, root: Path):
        self._sources = Sources(root)
        self._lock = threading.Lock()
        self._readings = itertools.count(1)
        self._as_run: dict[str, str] = {}  # the digests of the texts that were run, as far as they were read
        self._relocated: dict[str, Relocation] = {}

    def read(
        self, paths: Iterable[str], files: Mapping[str, MeasuredFile] = _NO_FILES, token: Token | None = None
    ) -> Reading:
        """Read files, each only if it has changed since it was last read.

        Raises Cancelled when the job was cancelled.
        """
        with self._lock:
            found: dict[str, SourceText | None] = {}
            for path in paths:
                if token is not None:
                    token.check()
                try:
                    found[path] = self._sources.get(path)
                except SourceUnreadable:
                    found[path] = None
            pairs = ((files.get(path), source) for path, source in found.items())
            placed = [self._relocate(file, source) for file, source in pairs if file and source]
            relocated = {one.file.path: one for one in placed if one is not None}
            return Reading(next(self._readings), found, relocated)

    def _relocate(self, file: MeasuredFile, source: SourceText) -> Relocation | None:
        """Find the statements of a file in a later text of it, unless the text that was run has been read before."""
        if file.digest == source.digest:
            self._as_run[file.path] = file.digest
        if file.digest is None or self._as_run.get(file.path) == file.digest:
            return None
        known = self._relocated.get(file.path)
        if known is None or known.file.digest != file.digest:
            known = Relocation.for_file(file, source)
            if known is not None:
                self._relocated[file.path] = known
        return known


class Texts:
    """The texts of the files of one workspace folder. It belongs to the loop; no method accesses the disk."""

    def __init__(self) -> None:
        self._on_disk: dict[str, tuple[int, SourceText | None]] = {}
        self._as_run: dict[tuple[str, str | None], tuple[DocumentVersion | MeasuredFile, SourceText]] = {}
        self._open: dict[str, Document] = {}
        self._relocated: dict[tuple[str, str | None], Relocation] = {}
        self._placements: dict[tuple[str, str | None], Placement] = {}

    def take(self, files: Iterable[DocumentVersion | MeasuredFile], reading: Reading) -> None:
        """Store what was read, and keep each text that is the one that was run."""
        for file in files:
            if file.path not in reading.found or self._on_disk.get(file.path, (0, None))[0] > reading.number:
                continue
            source = reading.found[file.path]
            self._on_disk[file.path] = reading.number, source
            known = self._as_run.get((file.path, file.digest))
            # evidence without digests: the first text that is read counts as the one that was run
            first = file.digest is None and not (known and known[0] is file)
            if source is not None and (first or file.digest == source.digest):
                self._as_run[file.path, file.digest] = file, source
            elif (relocation := reading.relocated.get(file.path)) and relocation.file.digest == file.digest:
                self._relocated[file.path, file.digest] = relocation

    def forget_except(self, files: Iterable[DocumentVersion | MeasuredFile]) -> None:
        """Drop the texts of all other versions."""
        versions = {(file.path, file.digest) for file in files}
        for kept in (self._as_run, self._relocated, self._placements):
            for version in kept.keys() - versions:
                kept.pop(version, None)
        for path in self._on_disk.keys() - {path for path, _ in versions}:
            self._on_disk.pop(path, None)

    def opened(self, path: str, document: Document) -> None:
        """Use the text of a document as the present one of its file."""
        self._open[path] = document

    def closed(self, path: str) -> None:
        """Go back to the text on disk."""
        self._open.pop(path, None)

    def document(self, path: str) -> Document | None:
        """The open document of a file."""
        return self._open.get(path)

    def open_paths(self) -> list[str]:
        """The files that are open."""
        return list(self._open)

    def source(self, file: DocumentVersion | MeasuredFile) -> SourceText | None:
        """The file as it was run; None if that text was never read."""
        known = self._as_run.get((file.path, file.digest))
        return known[1] if known else None

    def as_run(self, file: DocumentVersion | MeasuredFile) -> Lines | None:
        """The text that was run; None if it was never read."""
        source = self.source(file)
        return source.lines if source else None

    def on_disk(self, path: str) -> bool:
        """Whether the file could be read the last time."""
        return self._on_disk.get(path, (0, None))[1] is not None

    def now(self, path: str) -> Lines | None:
        """The text in the editor, or else on disk; None if there is no such file."""
        if document := self._open.get(path):
            return document.lines
        source = self._on_disk.get(path, (0, None))[1]
        return source.lines if source else None

    def placement(self, file: DocumentVersion | MeasuredFile) -> Placement | None:
        """Where the lines of the file are now; None if a text is missing."""
        version = file.path, file.digest
        run, now = self.as_run(file), self.now(file.path)
        relocation = self._relocated.get(version) if run is None else None
        if relocation is not None:
            run = relocation.run
        if run is None or now is None:
            return None
        known = self._placements.get(version)
        if known is None or known.run is not run or known.now is not now:
            known = Placement(run, now, file.path) if relocation is None else relocation.placement(now)
            self._placements[version] = known
        return known
