"""The command with which recorded tests are run again."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from suspectra.base.errors import UsageError
from suspectra.recording.launch import TestCommand, resolve
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.settings import recording_folder

_RECORDED = "it recorded the tests"
_NEEDED = frozenset(sys.stdlib_module_names) - {"test"} | {
    *("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage", "pytest_cov"),
    *("suspectra", "suspectra_recorder"),
}
"""Modules of Python, and those without which tests can't be run and recorded; many a project has a folder `test`."""

_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?", re.IGNORECASE)


def pytest_command(given: Sequence[str], workspace: str, *, python: str | None = None) -> TestCommand:
    """Find the command that runs recorded tests again, which is always one of pytest.

    Raises UsageError when there is no such interpreter.
    """
    return resolve_again(pytest_words(given, workspace), workspace, python=python)


def resolve_again(
    command: Sequence[str],
    workspace: str,
    *,
    python: str | None = None,  # the interpreter from the user, which comes first
    environ: Mapping[str, str] | None = None,  # the environment; that of the process unless given
) -> TestCommand:
    """Replace a bare ``pytest`` or ``python`` by the one that recorded the tests, which has what they need.

    Raises UsageError when there is no such interpreter.
    """
    recorded = "" if python is not None else recorded_tests(recording_folder(workspace)).interpreter
    # a recording may come from anybody: it makes nothing run but a Python, with code of ours or with the tests
    # only the interpreter that recorded the tests has what they import
    if os.path.isabs(recorded) and _PYTHON.fullmatch(os.path.basename(recorded)):
        with suppress(UsageError):
            found = resolve(command, workspace, python=recorded, environ=environ)
            return replace(found, reason=_RECORDED if found.python else "")
    return resolve(command, workspace, python=python, environ=environ)


def asked_about(given: Sequence[str], workspace: str, *, python: str | None = None) -> tuple[tuple[str, ...], bool]:
    """Find the whole command for a question to the user: with the interpreter that will run.

    Whether that is outside the workspace, and only a recording names it.
    """
    words = pytest_words(given, workspace)
    try:
        found = resolve_again(words, workspace, python=python)
    except UsageError:
        return words, False
    if not found.python:
        return words, False
    behind = words[1:] if _PYTHON.fullmatch(os.path.basename(words[0])) else ("-m", "pytest", *words[1:])
    recorded = found.reason == _RECORDED and found.python not in _known(words, workspace)
    inside = os.path.abspath(found.python).startswith(os.path.realpath(workspace) + os.sep)
    return (found.python, *behind), recorded and not inside


def _known(words: Sequence[str], workspace: str) -> tuple[str, ...]:
    """The interpreters that would run without a recording, and the one that runs Suspectra."""
    with suppress(UsageError):
        return sys.executable, resolve(words, workspace).python
    return (sys.executable,)


def pytest_words(given: Sequence[str], workspace: str) -> tuple[str, ...]:
    """Find the command that runs recorded tests again, as the user would type it.

    Pytest runs those of unittest, too, so it comes in the place of that.
    """
    if tuple(given[1:3]) == ("-m", "unittest"):
        return (given[0], "-m", "pytest")
    return tuple(given) or pytest_as_in(recorded_tests(recording_folder(workspace)).command)


def starts_pytest(recorded: Sequence[str]) -> bool:
    """Whether recorded tests are run again by pytest."""
    return tuple(recorded[:1]) == ("pytest",) or tuple(recorded[:3]) == ("python", "-m", "pytest")


def pytest_as_in(recorded: Sequence[str], folder: str | None = None) -> tuple[str, ...]:
    """Start pytest with the path that tests had when they were recorded.

    `python -m pytest` after a run by `python -m`, which puts the current folder on the path; else `pytest`. With the
    options that decide which tests pytest finds and runs. Where nothing was recorded in a folder it is
    `python -m pytest`: many a project is not installed, and its tests find it only in the current folder. Not so if
    that has a file with the name of a module that pytest needs, which would be loaded in its place.
    """
    if starts_pytest(recorded):
        return tuple(recorded)
    from_folder = "-m" in recorded if recorded or folder is None else not _shadows(folder)
    return ("python", "-m", "pytest") if from_folder else ("pytest",)


def _shadows(folder: str) -> bool:
    """Whether a module in a folder has the name of one that pytest, or what records it, needs.

    Links are not followed, since they may lead anywhere: one with such a name counts as a module.
    """
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.removesuffix(".py") in _NEEDED]
    except OSError:
        return True
    return any(
        entry.name.endswith(".py") or entry.is_symlink() or os.path.lexists(os.path.join(entry.path, "__init__.py"))
        for entry in named
    )
