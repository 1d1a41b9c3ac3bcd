"""Patches that others wrote: unified differences, read with suspicion.

Only lines of Python files of the program can be changed. What names another place, adds, removes or renames files, or
is no text is refused in words, and so is what does not fit.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

MAX_LENGTH, MAX_FILES = 200_000, 20
"""Characters of a patch, and files that it changes."""

_REFUSED_LINES = {
    r"GIT binary patch|Binary files .* differ$": "it contains binary data",
    r"rename (from|to) ": "it renames a file",
    r"copy (from|to) ": "it copies a file",
    r"new file mode \d+$": "it adds a file",
    r"deleted file mode \d+$": "it removes a file",
    r"(old|new) mode \d+$": "it changes the mode of a file",
}
"""What git says of a file. A patch that was sent by mail begins with words of its own, which may be like these."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@")

_SIDES = frozenset("abciow")
"""What git writes before the names of both sides: a reversed difference has `b` first, others name the index."""

_ESCAPE = re.compile(r'\\([0-3][0-7]{2}|["\\])')


class PatchRefused(Exception):
    """A patch that is not tried, and why."""


@dataclass
class _Hunk:
    first: int  # the line from 1 where it should be
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def decoded(self, encoding: str) -> _Hunk:
        """The hunk with lines whose bytes are no UTF-8 read as those of the file."""
        return _Hunk(self.first, *([_decoded(line, encoding) for line in some] for some in (self.before, self.after)))


def patched(
    text: str, read: Callable[[str], bytes | None], is_test: Callable[[str], bool]
) -> dict[str, tuple[str, str]]:
    """The files that a patch changes, each with its text before and after.

    Lines end with a line feed. Raises PatchRefused when it may not be tried, or does not fit.
    """
    if len(text) > MAX_LENGTH:
        raise PatchRefused(f"it has more than {MAX_LENGTH:,} characters")
    hunks: dict[str, list[_Hunk]] = {}
    for path, hunk in _hunks(text.replace("\r\n", "\n").split("\n")):
        hunks.setdefault(path, []).append(hunk)
    if not hunks:
        raise PatchRefused("it is not a unified difference that changes anything")
    if len(hunks) > MAX_FILES:
        raise PatchRefused(f"it changes more than {MAX_FILES} files")
    found = {}
    for path, several in hunks.items():
        if is_test(path):
            raise PatchRefused(f"{path} is test code")
        source = read(path)
        if source is None:
            raise PatchRefused(f"no recorded test executes {path}")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            old = source.decode(encoding).replace("\r\n", "\n")
        except (UnicodeDecodeError, SyntaxError, LookupError):
            raise PatchRefused(f"{path} can't be read: its encoding is not the one that it names") from None
        found[path] = old, _applied(old, [hunk.decoded(encoding) for hunk in several], path)
    return found


def _hunks(lines: list[str]) -> Iterator[tuple[str, _Hunk]]:
    path, at = "", 0
    while at < len(lines):
        line = lines[at]
        for begin, reason in _REFUSED_LINES.items():
            if re.match(begin, line):
                raise PatchRefused(reason)
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            path = _path(line[4:], lines[at + 1][4:])
            at += 2
        elif match := _HUNK.match(line):
            if not path:
                raise PatchRefused("a change stands before the name of its file")
            hunk = _Hunk(int(match[1]))
            left = int(match[2] or 1)
            at += 1
            while (
                at < len(lines)
                and (left > 0 or lines[at][:1] in ("+", "\\"))
                and lines[at][:1] in (" ", "+", "-", "\\", "")
            ):
                mark, rest = lines[at][:1], lines[at][1:]
                if mark in (" ", "-", ""):
                    hunk.before.append(rest)
                    left -= 1
                if mark in (" ", "+", ""):
                    hunk.after.append(rest)
                at += 1
            if left:
                raise PatchRefused("a change has fewer lines than it says")
            if at < len(lines) and lines[at][:1] in (" ", "-") and not lines[at].startswith(("-- ", "--- ")):
                raise PatchRefused("a change has more lines than it says")
            yield path, hunk
        else:
            at += 1


def _path(old: str, new: str) -> str:
    """The path of a file inside of the workspace, which both sides of a difference have to name."""
    names = [_unquoted(one.split("\t")[0].strip()) for one in (old, new)]
    if "/dev/null" in names:
        raise PatchRefused("it adds or removes a file")
    if all(one[:1] in _SIDES and one[1:2] == "/" for one in names) and names[0][0] != names[1][0]:
        names = [one[2:] for one in names]
    path = names[1]
    if names[0] != path:
        raise PatchRefused("it renames a file")
    parts = path.split("/")
    odd = any(character in path for character in '\\:"\0') or not path.isprintable()
    if not path or path.startswith("/") or odd or any(part in ("", ".", "..") for part in parts):
        raise PatchRefused("it names a place outside of the workspace")
    if not path.endswith(".py"):
        raise PatchRefused(f"{path} is not Python")
    return path


def _unquoted(name: str) -> str:
    """A name as git writes those with letters outside of ASCII, in quotes and with the numbers of bytes."""
    if len(name) < 2 or not (name[0] == name[-1] == '"'):
        return name
    parts = _ESCAPE.split(name[1:-1])  # text, and between two texts what is escaped
    found = [
        part.encode() if number % 2 == 0 else bytes([int(part, 8) & 0xFF]) if part.isdigit() else part.encode()
        for number, part in enumerate(parts)
    ]
    return b"".join(found).decode(errors="replace")


def _decoded(line: str, encoding: str) -> str:
    """A line as it stands in a file: where it is no UTF-8, its bytes are kept in surrogates."""
    if line.isascii():
        return line
    with suppress(UnicodeError):
        line.encode()
        return line
    try:
        return line.encode(errors="surrogateescape").decode(encoding, errors="replace")
    except UnicodeError:
        raise PatchRefused("it contains characters that no file can have") from None


def _applied(text: str, hunks: list[_Hunk], path: str) -> str:
    lines = text.split("\n")
    moved = 0
    for hunk in hunks:
        at = hunk.first - 1 + moved if hunk.before else hunk.first + moved
        size = len(hunk.before)
        if lines[at : at + size] != hunk.before or at > len(lines) - (not lines[-1]):
            places = [one for one in range(len(lines) - size + 1) if lines[one : one + size] == hunk.before]
            if len(places) != 1 or not size:
                raise PatchRefused(f"it does not fit {path}:{hunk.first}")
            at = places[0]
        lines[at : at + size] = hunk.after
        moved += len(hunk.after) - size
    return "\n".join(lines)
