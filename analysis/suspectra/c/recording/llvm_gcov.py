"""Reading profiles of clang by `llvm-cov gcov`, which knows more about them than their counters say.

It runs once for each test and folder of compilation, and prints the sources with counts. This takes a fiftieth of the
time of gcovr, which does the same and then finds out which lines are excluded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.gcovr import GcovrObject
from suspectra.evidence.source_paths import SourcePaths
from suspectra.processes.runner import CommandToRun, memory_folder, run
from suspectra.processes.scratch import ScratchFolder

TIMEOUT_S = 120.0
"""For one test."""

_LINE = re.compile(r"^ *([^:]+): *(\d+):(.*)$")
_FUNCTION = re.compile(r"^function (\S+) called \d+ returned ")
_BRANCH = re.compile(r"^branch +\d+ (?:taken (\d+)|never executed)")


def counted_files(
    command: str, objects: Sequence[GcovrObject], paths: SourcePaths, cancel: Token
) -> list[dict[str, object]]:
    """The sources of some objects with the counts of one test, in the form of gcovr's report.

    Raises EvidenceError when `llvm-cov` fails.
    """
    folders: dict[str, list[GcovrObject]] = {}
    for one in objects:
        folders.setdefault(one.folder, []).append(one)
    found: dict[str, _CountedFile] = {}
    for folder, group in folders.items():
        _read(_printed(command, folder, group, cancel).splitlines(), folder, paths, found)
    return [file.as_dict() for file in found.values()]


def _printed(command: str, folder: str, objects: Sequence[GcovrObject], cancel: Token) -> str:
    with ScratchFolder(memory_folder()) as scratch:
        names = []
        for number, one in enumerate(objects):
            names.append(f"{number}.gcda")
            os.symlink(os.path.abspath(one.notes), os.path.join(scratch, f"{number}.gcno"))
            os.symlink(os.path.abspath(one.profile), os.path.join(scratch, names[-1]))
        argv = (*command.split(), "-t", "-b", "-c", "-o", str(scratch), *names)
        ended = run(CommandToRun(argv, folder or str(scratch), os.environ, timeout=TIMEOUT_S), cancel)
    if ended.status:
        said = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        cure = "install the llvm-cov of the clang that built the program"
        raise EvidenceError(Problem("", command, f"it can't read the profile: {said[:300]}", cure))
    return ended.stdout.decode("utf-8", "replace")


class _CountedFile:
    """A source, whose lines several objects may count."""

    def __init__(self, path: str):
        self._path = path
        self._lines: dict[int, int] = {}
        self._branches: dict[int, list[int]] = {}
        self._functions: dict[str, int] = {}

    def count(self, number: int, executions: int, functions: Iterable[str]) -> None:
        self._lines[number] = self._lines.get(number, 0) + executions
        self._functions.update(dict.fromkeys(functions, number))

    def take(self, number: int, ordinal: int, times: int) -> None:
        branches = self._branches.setdefault(number, [])
        branches += [0] * (ordinal + 1 - len(branches))
        branches[ordinal] += times

    def as_dict(self) -> dict[str, object]:
        return {
            "file": self._path,
            "functions": [{"name": name, "lineno": number} for name, number in self._functions.items()],
            "lines": [
                {
                    "line_number": number,
                    "count": count,
                    "branches": [{"count": times} for times in self._branches.get(number, ())],
                }
                for number, count in sorted(self._lines.items())
            ],
        }


def _read(lines: Iterable[str], folder: str, paths: SourcePaths, found: dict[str, _CountedFile]) -> None:
    """Read what is printed: a header for each source, then its lines, with the branches behind each."""
    file, number, ordinal, begun = _CountedFile(""), 0, 0, []
    for text in lines:
        if branch := _BRANCH.match(text):
            file.take(number, ordinal, int(branch[1] or 0))
            ordinal += 1
        elif function := _FUNCTION.match(text):
            begun.append(function[1])
        elif line := _LINE.match(text):
            count, number, ordinal = line[1].strip(), int(line[2]), 0
            if number == 0 and line[3].startswith("Source:"):
                name = line[3].removeprefix("Source:")
                path = os.path.join(paths.workspace, paths.resolve(name, folder) or os.path.join(folder, name))
                file = found.setdefault(path, _CountedFile(path))
            elif number and count != "-":
                file.count(number, int(count.rstrip("*")) if count[0].isdigit() else 0, begun)
                begun = []
