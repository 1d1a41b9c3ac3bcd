"""Fixes as differences of files, as `git apply` takes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from difflib import unified_diff

from suspectra.fixes.candidate import Candidate
from suspectra_recorder.instrumentation.parser_references import io, tokenize

_NO_END = "\\ No newline at end of file\n"


def edited(source: bytes, candidates: Sequence[Candidate]) -> bytes:
    """A file with edits."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    text = source.decode(encoding)
    ending = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    for edit in sorted({edit for one in candidates for edit in one.edits}, reverse=True):
        text = edit.apply(text)
    return text.replace("\n", ending).encode(encoding)


def edits_by_file(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """The edits of each file."""
    found: dict[str, list[Candidate]] = defaultdict(list)
    for one in candidates:
        found[one.file].append(one)
    return found


def difference(candidates: Sequence[Candidate], read: Callable[[str], bytes | None]) -> str:
    """The unified difference that edits make of what is read; empty for files that can't be read."""
    found = []
    for file, several in sorted(edits_by_file(candidates).items()):
        source = read(file)
        if source is not None:
            before, after = (text.decode(errors="surrogateescape") for text in (source, edited(source, several)))
            found += [_with_end(line) for line in unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}")]
    return "".join(found)


def _lines(text: str) -> list[str]:
    """Lines with their ends, which are line feeds alone: other separators are part of a line."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _with_end(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_END}"
