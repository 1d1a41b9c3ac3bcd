"""The failing tests that can be run again, and where they are in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from suspectra.experiments.repeated_tests import FailingTest
from suspectra_server.session.folder import Folder

WHY, WHY_SHORT, NEXT = "Why does it fail?", "Why?", "Next"
WHICH_CHANGE = "Which change broke it?"
WOULD_PASS = "Find out what would make it pass"
COMPARE_VALUES = "Compare values with passing tests"
CAUSE = "Find the cause"
FIX = "Find a fix"
COMPARE_RUNS = "Compare with a passing run"
LED_HERE = "What led here"
INFLUENCED = "What this influenced"
DEBUG, DEBUG_HERE = "Debug", "Debug here"
_DEFINITION = re.compile(r"\s*(?:async\s+)?def\s+(?P<name>\w+)")


def can_be_investigated(folder: Folder) -> bool:
    """Whether pytest runs the tests of a folder, as far as that is known from its recording."""
    return bool(folder.snapshot.ranking.failing) and folder.rankings.recorded_by != "record-c"


def can_be_compared(folder: Folder) -> bool:
    """Whether failing tests can run again with nothing altered, beside passing ones: those of pytest and of CTest."""
    return can_be_investigated(folder) or bool(folder.snapshot.ranking.failing and folder.rankings.build)


def failing_tests(folder: Folder, names: Iterable[str] | None = None) -> tuple[FailingTest, ...]:
    """The failing tests of a folder that have these names; by default those of the current failure group.

    What is found out about tests of a group is not about those that execute none of its suspects.
    """
    ranking, apart = folder.snapshot.ranking, set(folder.snapshot.unexplained)
    group = ranking.group.tests if ranking.group else ranking.failing
    wanted = names if names is not None else [name for name in group if name not in apart]
    stacks = ranking.evidence.stacks if ranking.evidence else {}
    return tuple(FailingTest.recorded(ranking.failing[name], stacks) for name in wanted if name in ranking.failing)


def tests_in_text(folder: Folder, path: str) -> dict[int, list[str]]:
    """The failing tests that are defined in an open file, by the line of their definition, from 0.

    Test code need not be part of the recording, so its text as run is not known. A test is where its function is
    defined in the text now; of several functions with that name it is the nearest to where it was.
    """
    document = folder.texts.document(path)
    tests = [test for test in folder.snapshot.ranking.failing.values() if test.location and test.location.file == path]
    if document is None or not tests:
        return {}
    definitions: dict[str, list[int]] = {}
    for line, text in enumerate(document.lines):
        if match := _DEFINITION.match(text):
            definitions.setdefault(match["name"], []).append(line)
    found: dict[int, list[str]] = {}
    for test in tests:
        was = test.location.line - 1 if test.location else 0
        lines = definitions.get(_function_of(test.name), [])
        if lines:
            found.setdefault(min(lines, key=lambda line: abs(line - was)), []).append(test.name)
    return found


def tests_at(folder: Folder, path: str, line: int) -> list[str]:
    """The failing tests in whose definition a line of an open file is, counted from 0."""
    document = folder.texts.document(path)
    if document is None:
        return []
    found = (names for begin, names in tests_in_text(folder, path).items() if _is_part(document.lines, begin, line))
    return next(found, [])


def _is_part(lines: Sequence[str], begin: int, line: int) -> bool:
    """Whether a line is in the function that begins at another: in its decorators, or indented more than it."""
    if line < begin:
        return all(text.lstrip().startswith("@") for text in lines[line:begin])
    indent = _indent(lines[begin])
    return all(_indent(text) > indent for text in lines[begin + 1 : line + 1] if text.strip())


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _function_of(name: str) -> str:
    """The name of a test's function, from its node id."""
    return name.partition("[")[0].rpartition("::")[2]
