"""A project's gcovr settings about lines that count.

gcovr finds it in ``gcovr.cfg``, ``gcovr.toml`` or the section ``tool.gcovr`` of ``pyproject.toml``, in this order. A
repository may come from anybody, and such a file can also name files to write or to delete. So gcovr never gets the
file, but only the settings that are listed in this module.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import read_evidence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = ("gcovr.cfg", "gcovr.toml", "pyproject.toml")

LINES = frozenset(
    {
        "exclude",
        "exclude-function",
        "exclude-function-lines",
        "exclude-lines-by-pattern",
        "exclude-noncode-lines",
        "exclude-pattern-prefix",
        "filter",
        "no-markers",
        "root",
    }
)
"""Settings that say which lines count."""

READING = frozenset(
    {
        "exclude-branches-by-pattern",
        "exclude-throw-branches",
        "exclude-unreachable-branches",
        "gcov-executable",
        "gcov-ignore-errors",
        "gcov-ignore-parse-errors",
        "gcov-suspicious-hits-threshold",
        "merge-mode-functions",
        "source-encoding",
    }
)
"""Settings that say how profiles are read and merged."""

_SWITCHES = frozenset(
    {
        "exclude-function-lines",
        "exclude-noncode-lines",
        "exclude-throw-branches",
        "exclude-unreachable-branches",
        "no-markers",
    }
)

_MAX_BYTES = 1 << 20
_ENTRY = re.compile(r"(\w[\w-]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"(?:^|\s+)#.*$")
_CURE = "fix it as gcovr's guide says, or leave it out"


@dataclass(frozen=True)
class GcovrSettings:
    """The settings that are used, and their file."""

    file: str = ""  # path relative to the workspace; empty if there is none
    values: tuple[tuple[str, str], ...] = ()  # keys and values in order; keys may be repeated

    @property
    def gcov(self) -> str:
        """The project's gcov command, empty if it has none."""
        return dict(self.values).get("gcov-executable", "")

    @property
    def choose_lines(self) -> tuple[str, ...]:
        """The settings that say which lines count, sorted."""
        return tuple(sorted({key for key, value in self._options() if key in LINES and value != "."}))

    def arguments(self, workspace: str) -> list[str]:
        """Convert the settings to options for gcovr, run in the workspace, since its filters are relative."""
        passed = [(key, value) for key, value in self._options() if key not in ("root", "gcov-executable")]
        given = [f"--{key}" if key in _SWITCHES else f"--{key}={value}" for key, value in passed]
        if not any(key == "filter" for key, _ in self.values):
            root = os.path.normpath(os.path.join(workspace, dict(self.values).get("root", ".")))
            given.append(f"--filter={re.escape(os.path.realpath(root))}/")
        return given

    def _options(self) -> Iterator[tuple[str, str]]:
        for key, value in self.values:
            if not (key in _SWITCHES and value == "no"):
                yield key, value


def read_settings(workspace: str) -> GcovrSettings:
    """Read the settings of a workspace.

    Without values if the workspace has no configuration of gcovr.

    Raises EvidenceError: the file is damaged.
    """
    boundary = Boundary(workspace)
    for name in FILES:
        real = boundary.real(name)
        if real is None or not os.path.isfile(real):
            continue
        try:
            text = read_evidence(real, limit=_MAX_BYTES).decode("utf-8")
            entries = list(_entries_of_cfg(text) if name.endswith(".cfg") else _entries_of_toml(text, name))
        except (OSError, ValueError) as error:
            raise EvidenceError(Problem(name, "", f"gcovr's settings can't be read: {error}", _CURE)) from None
        return GcovrSettings(name, tuple((key, value) for key, value in entries if key in LINES | READING))
    return GcovrSettings()


def _entries_of_cfg(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", line.rstrip())
        if not line:
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise ValueError(f"line {number} is not of the form key = value")
        yield entry[1], _checked(entry[1], entry[2])


def _entries_of_toml(text: str, name: str) -> Iterator[tuple[str, str]]:
    table: Any = tomllib.loads(text)
    for key in ("tool", "gcovr") if name == "pyproject.toml" else ():
        table = table.get(key, {}) if isinstance(table, Mapping) else {}
    if not isinstance(table, Mapping):
        raise ValueError("the section of gcovr is not a table")
    for key, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            yield key, _checked(key, str(one))


def _checked(key: str, value: str) -> str:
    if key not in _SWITCHES:
        return value
    truth = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}.get(value.lower())
    if truth is None:
        raise ValueError(f"{key} is {value!r}, not yes or no")
    return truth
