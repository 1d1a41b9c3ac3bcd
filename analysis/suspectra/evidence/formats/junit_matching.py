"""Matching test cases of a JUnit file with tests, by names of cases and node ids."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from suspectra.evidence.boundary import Boundary
from suspectra.evidence.formats.junit import Case, escaped


def address(node_id: str) -> tuple[str, str]:
    """Return the classname and the name with which pytest reports a node id."""
    path, bracket, parameters = node_id.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return escaped(".".join(names[:-1])), escaped(names[-1])


@dataclass(frozen=True)
class Matching:
    """Test cases and tests of the coverage data, joined."""

    # cases by the name of the test; several if the coverage data does not distinguish them
    found: dict[str, list[Case]]
    alone: tuple[Case, ...]  # cases without a test
    ambiguous: tuple[tuple[Case, tuple[str, ...]], ...]  # cases with several possible tests, and these
    missing: tuple[str, ...]  # tests without a case


def match(cases: Sequence[Case], tests: Iterable[str]) -> Matching:
    """Find the test of each case."""
    tests = list(tests)
    index = _Index(tests)
    found: dict[str, list[Case]] = defaultdict(list)
    alone, ambiguous, touched = [], [], set()
    for case in cases:
        names = index.find(case)
        touched.update(names)
        if len(names) == 1:
            found[names[0]].append(case)
        elif names:
            ambiguous.append((case, tuple(names)))
        else:
            alone.append(case)
    missing = tuple(name for name in tests if name not in touched)
    return Matching(dict(found), tuple(alone), tuple(ambiguous), missing)


class _Index:
    """Tests by their names in a report."""

    def __init__(self, tests: Sequence[str]):
        self._exact: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for test in tests:
            if is_node_id(test):
                classname, name = address(test)
            else:
                classname, _, name = escaped(test).rpartition(".")
            self._exact[classname, name].append(test)
            self._by_name[name].append((classname, test))

    def find(self, case: Case) -> list[str]:
        """The possible tests of a case; several if they can't be distinguished."""
        exact = self._exact.get((case.classname, case.name))
        if exact:
            return self._narrow(exact, case)
        # a prefix (--junit-prefix), another root folder, or a context without parameters
        for name in dict.fromkeys((case.name, case.name.partition("[")[0])):
            near = [
                test
                for classname, test in self._by_name.get(name, ())
                if (name == case.name or not is_node_id(test)) and _same_end(classname, case.classname)
            ]
            if near:
                return self._narrow(near, case)
        return []

    @staticmethod
    def _narrow(tests: list[str], case: Case) -> list[str]:
        if len(tests) > 1 and case.file:
            of_file = [test for test in tests if test.partition("::")[0] == case.file]
            return of_file or tests
        return tests


def _same_end(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (short != "" and long.endswith(f".{short}"))


def is_node_id(test: str) -> bool:
    """Whether a name is pytest's node id rather than a dotted name.

    True if it contains `::`.
    """
    return "::" in test


def node_id_of(case: Case, workspace: Path) -> str:
    """Return the likeliest node id of a case without a test.

    The longest part of the classname that is a file of the workspace is the module, the rest are classes.

    Without the `.py` of a module if no file fits.
    """
    parts = case.classname.split(".") if case.classname else []
    if case.file:
        module = PurePosixPath(case.file).with_suffix("").parts
        classes = parts[len(module) :] if tuple(parts[: len(module)]) == module else []
        return "::".join([case.file, *classes, case.name])
    for size in range(len(parts), 0, -1):
        file = "/".join(parts[:size]) + ".py"
        if _is_file(workspace, file):
            return "::".join([file, *parts[size:], case.name])
    return "::".join([case.classname, case.name]) if case.classname else case.name


def _is_file(workspace: Path, file: str) -> bool:
    real = Boundary(workspace).real(file)
    return real is not None and ".." not in file.split("/") and os.path.isfile(real)
