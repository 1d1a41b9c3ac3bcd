"""How a debugger runs one test: the interpreter, the module and its arguments."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.errors import Problem, UsageError
from suspectra_server.session.tests.project_tests import pytest_configuration

_PYTEST = ("pytest", "py.test")
_MODULES = (*_PYTEST, "unittest")
_TAKES_PATH = frozenset({"-c", "--config-file", "--rootdir", "--confcutdir", "--basetemp", "--ignore", "--ignore-glob"})
_IN_THE_WAY = {
    "--no-cov": re.compile(r"--cov\b"),  # before Python 3.12 a program has one tracer: coverage's or the debugger's
    "-n0": re.compile(r"(?:^|[\s\"'=])(?:-n[ =]?|--numprocesses[ =])(?:auto|logical|\d+)", re.MULTILINE),
}
"""Options that undo others, with which a debugger would not stop."""


@dataclass(frozen=True)
class Launch:
    """How a debugger runs one test."""

    python: str  # the interpreter; empty if the command starts it in a way of its own, so that the client chooses one
    module: str  # what is run by `-m`: pytest or unittest
    arguments: tuple[str, ...]  # of the module

    @classmethod
    def for_test(cls, command: Sequence[str], python: str, test: str, root: Path) -> Launch:
        """How to run a test as a command does, but no other one. For a worker thread.

        Raises UsageError when the command runs neither pytest nor unittest by name.
        """
        at = next((at for at, word in enumerate(command) if os.path.basename(word) in _MODULES), None)
        if at is None:
            cause = f"`{shlex.join(command)}` runs neither pytest nor unittest by name"
            cure = "let the setting testCommand name one of them, or debug the test yourself"
            raise UsageError(Problem(root.name, "", cause, cure))
        words = tuple(command[at + 1 :])
        if not python and command[at - 1] == "-m" and at > 1:
            python = next((word for word in command if os.path.basename(word).startswith("python")), "")
        if os.path.basename(command[at]) == "unittest":
            return cls(python, "unittest", (*words, "-k", _unittest_pattern(test)))
        options = tuple(_without_paths(words, root))
        text = " ".join([*options, pytest_configuration(root)])
        undone = (undo for undo, done in _IN_THE_WAY.items() if done.search(text))
        return cls(python, "pytest", (*options, *undone, test))

    def shown(self) -> str:
        """The command line that waits for a debugger, for people."""
        debugged = ("-m", "debugpy", "--listen", "5678", "--wait-for-client", "-m", self.module, *self.arguments)
        return shlex.join([self.python or "python", *debugged])


def _unittest_pattern(test: str) -> str:
    """What `-k` of unittest takes for a test: from where tests are discovered decides how its module is called."""
    file, *names = test.split("::")
    module = file.rpartition("/")[2].removesuffix(".py")
    return ".".join([f"*{module}", *names]).partition("[")[0]


def _without_paths(words: Sequence[str], root: Path) -> Iterator[str]:
    """The arguments of pytest without the files and folders whose tests it would run."""
    before = ""
    for word in words:
        is_path = not word.startswith("-") and before not in _TAKES_PATH
        if not (is_path and os.path.lexists(root / word.partition("::")[0])):
            yield word
        before = word
