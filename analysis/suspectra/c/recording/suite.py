"""Tests of a C or C++ project, and where its parts are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.c.recording.case import CCase


@dataclass(frozen=True)
class CSuite:
    """Tests, and the folders in which their objects were built."""

    cases: tuple[CCase, ...]  # the tests
    build: tuple[str, ...] = ()  # folders with the notes (`.gcno`) of the tested objects
    problems: tuple[Problem, ...] = ()  # what could not be understood

    def __post_init__(self) -> None:
        # CMake allows tests of one name in several folders, and recordings know tests by name
        names = named_apart(case.name for case in self.cases)
        cases = (replace(case, name=name) for case, name in zip(self.cases, names, strict=True))
        object.__setattr__(self, "cases", tuple(cases))

    def __add__(self, other: CSuite) -> CSuite:
        return CSuite(self.cases + other.cases, self.build + other.build, self.problems + other.problems)


def named_apart(names: Iterable[str]) -> list[str]:
    """Put numbers behind names that occur again, as those of tests in several folders of a CMake project may."""
    taken: dict[str, None] = {}  # in their order
    for name in names:
        number, own = 1, name
        while own in taken:
            number += 1
            own = f"{name} ({number})"
        taken[own] = None
    return list(taken)


def located(path: str, line: int | None, workspace: str) -> Location | None:
    """Make a location in the workspace from a path and a line.

    None if the path is outside the workspace, or the line is not known.
    """
    if not path or not line:
        return None
    whole = os.path.normpath(os.path.join(workspace, path))
    inside = os.path.relpath(whole, workspace)
    if inside.startswith(os.pardir):
        return None
    return Location(inside.replace(os.sep, "/"), line, line)
