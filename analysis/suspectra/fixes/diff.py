"""Fixes as differences of files, as `git apply` takes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Protocol

from suspectra.mutation.edit import Edit, with_edits
from suspectra_recorder.instrumentation.parser_references import io, tokenize


class FileEdits(Protocol):
    """Edits of one file."""

    @property
    def file(self) -> str:
        """Its path relative to the workspace."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What is changed."""


_SIGNS = {"-": "−", "+": "+"}
_NO_END = "\\ No newline at end of file\n"


def edited(source: bytes, candidates: Sequence[FileEdits]) -> bytes:
    """A file with edits."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    before = source.decode(encoding)
    text = before.replace("\r\n", "\n")
    text = with_edits(text, {edit for one in candidates for edit in one.edits})
    return _with_endings(text.split("\n"), before.split("\n")).encode(encoding)


def _with_endings(lines: list[str], before: list[str]) -> str:
    """Lines, each with the end that it had; new ones with that of what they stand for."""
    bare = [line.removesuffix("\r") for line in before]
    if bare == before:
        return "\n".join(lines)
    found: list[str] = []
    for kind, first, end, new_first, new_end in SequenceMatcher(None, bare, lines, autojunk=False).get_opcodes():
        if kind == "equal":
            found += before[first:end]
        else:
            carriage = "\r" if before[min(first, len(before) - 2)].endswith("\r") else ""
            found += [line + carriage for line in lines[new_first:new_end]]
    found[-1] = found[-1].removesuffix("\r")  # the text ends there
    return "\n".join(found)


def edits_by_file(candidates: Sequence[FileEdits]) -> dict[str, list[FileEdits]]:
    """The edits of each file."""
    found: dict[str, list[FileEdits]] = defaultdict(list)
    for one in candidates:
        found[one.file].append(one)
    return found


def difference(candidates: Sequence[FileEdits], read: Callable[[str], bytes | None]) -> str:
    """The unified difference that edits make of what is read; empty for files that can't be read."""
    return "".join(text for text, _ in _differences(candidates, read))


def difference_as_bytes(candidates: Sequence[FileEdits], read: Callable[[str], bytes | None]) -> bytes:
    """The same with the bytes of the files, whatever their encodings are."""
    return b"".join(text.encode(encoding) for text, encoding in _differences(candidates, read))


def _differences(candidates: Sequence[FileEdits], read: Callable[[str], bytes | None]) -> Iterator[tuple[str, str]]:
    """That of each file, and the encoding of the file."""
    for file, several in sorted(edits_by_file(candidates).items()):
        if (source := read(file)) is None:
            continue
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        encoding = encoding.removesuffix("-sig")  # the mark at the beginning is a part of the first line
        before, after = (_lines(text.decode(encoding)) for text in (source, edited(source, several)))
        changed = unified_diff(before, after, f"a/{file}", f"b/{file}")
        yield "".join(map(_with_end, changed)), encoding


def _lines(text: str) -> list[str]:
    """Lines with their ends, which are line feeds alone: other separators are part of a line."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _with_end(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_END}"


def shown_lines(diff: str) -> tuple[str, ...]:
    """The lines of a difference that are shown, without their indentation; what it imports comes last."""
    hunks = [hunk.splitlines()[1:] for hunk in re.split("^@@", diff, flags=re.MULTILINE)[1:]]
    shown = [_changed(hunk) for hunk in hunks if hunk]
    return tuple(line for lines in sorted(shown, key=_is_import) for line in lines)


def _changed(hunk: Sequence[str]) -> list[str]:
    """What a hunk removes and adds; if it only adds, with what is before and behind that."""
    changed = [number for number, line in enumerate(hunk) if line[:1] in _SIGNS]
    if all(hunk[number].startswith("+") for number in changed):
        changed = [number for number in range(changed[0] - 1, changed[-1] + 2) if 0 <= number < len(hunk)]
    return [f"{_SIGNS.get(hunk[number][:1], ' ')} {hunk[number][1:].strip()}" for number in changed]


def _is_import(lines: Sequence[str]) -> bool:
    return all(line[2:].startswith(("import ", "from ")) for line in lines if line[:1] != " ")
