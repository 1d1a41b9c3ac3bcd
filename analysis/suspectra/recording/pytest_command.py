"""The command with which recorded tests are run again."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from suspectra.errors import UsageError
from suspectra.recording.launch import Command, resolve
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.settings import recording_folder

_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?", re.IGNORECASE)


def pytest_command(given: Sequence[str], workspace: str, *, python: str | None = None) -> Command:
    r"""Find the command that runs recorded tests again, which is always one of pytest.

    Parameters
    ----------
    given : sequence of str
        The command from the user. If it is empty, pytest is started as in the newest recorded run: ``python -m pytest``
        and ``python -m unittest`` put the current folder on the path, ``pytest`` does not.
    workspace : str
        The folder that was recorded.
    python : str, optional
        The interpreter from the user.

    Returns
    -------
    Command
        With the interpreter, as :func:`resolve_again` finds it.

    Raises
    ------
    UsageError
        When there is no such interpreter.

    Examples
    --------
    >>> from suspectra_recorder.log.frames import MAGIC, FrameKind, frame
    >>> (folder / ".suspectra" / "recording").mkdir(parents=True)
    >>> run = frame(FrameKind.RUN, b'{"run": "monday", "started": 1, "by_module": true}')
    >>> _ = (folder / ".suspectra" / "recording" / "1.log").write_bytes(MAGIC + run)
    >>> pytest_command([], str(folder)).arguments[1:]
    ('-m', 'pytest')
    >>> pytest_command(["pytest", "-x"], str(folder)).arguments[-1]
    '-x'
    """
    return resolve_again(pytest_words(given, workspace), workspace, python=python)


def resolve_again(
    command: Sequence[str],
    workspace: str,
    *,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Command:
    """Replace a bare ``pytest`` or ``python`` by the one that recorded the tests, which has what they need.

    Parameters
    ----------
    command : sequence of str
        The command that runs recorded tests again.
    workspace : str
        The folder that was recorded.
    python : str, optional
        The interpreter from the user, which comes first.
    environ : mapping of str to str, optional
        The environment; that of the process unless given.

    Returns
    -------
    Command
        With the interpreter of the newest recorded run. Where that is gone or has no pytest, with the one that
        :func:`suspectra.recording.launch.resolve` finds.

    Raises
    ------
    UsageError
        When there is no such interpreter.

    Examples
    --------
    >>> import json, sys
    >>> from suspectra_recorder.log.frames import MAGIC, FrameKind, frame
    >>> head = {"run": "monday", "started": 1, "executable": sys.executable}
    >>> (folder / ".suspectra" / "recording").mkdir(parents=True)
    >>> log = MAGIC + frame(FrameKind.RUN, json.dumps(head).encode())
    >>> _ = (folder / ".suspectra" / "recording" / "1.log").write_bytes(log)
    >>> resolve_again(["python", "-m", "pytest"], str(folder)).reason
    'it recorded the tests'
    """
    recorded = "" if python is not None else recorded_tests(recording_folder(workspace)).interpreter
    # a recording may come from anybody: it makes nothing run but a Python, with code of ours or with the tests
    if os.path.isabs(recorded) and _PYTHON.fullmatch(os.path.basename(recorded)):
        with suppress(UsageError):
            found = resolve(command, workspace, python=recorded, environ=environ)
            return replace(found, reason="it recorded the tests" if found.python else "")
    return resolve(command, workspace, python=python, environ=environ)


def pytest_words(given: Sequence[str], workspace: str) -> tuple[str, ...]:
    r"""Find the command that runs recorded tests again, as the user would type it.

    Parameters
    ----------
    given : sequence of str
        The command from the user; if it is empty, pytest is started as in the newest recorded run.
    workspace : str
        The folder that was recorded.

    Returns
    -------
    tuple of str
        Not resolved.

    Examples
    --------
    >>> pytest_words([], str(folder)), pytest_words(["pytest", "-x"], str(folder))
    (('pytest',), ('pytest', '-x'))
    """
    return tuple(given) or pytest_as_in(recorded_tests(recording_folder(workspace)).command)


def pytest_as_in(recorded: Sequence[str]) -> tuple[str, ...]:
    """Start pytest with the path that tests had when they were recorded.

    Parameters
    ----------
    recorded : sequence of str
        The command that runs them again; may be empty.

    Returns
    -------
    tuple of str
        ``python -m pytest`` after a run by ``python -m``, which puts the current folder on the path; else ``pytest``.
        With the options that decide which tests pytest finds.

    Examples
    --------
    >>> pytest_as_in(["pytest", "--doctest-modules"])
    ('pytest', '--doctest-modules')
    >>> pytest_as_in(["python", "-m", "unittest", "-v"]), pytest_as_in([])
    (('python', '-m', 'pytest'), ('pytest',))
    """
    if tuple(recorded[:1]) == ("pytest",) or tuple(recorded[:3]) == ("python", "-m", "pytest"):
        return tuple(recorded)
    return ("python", "-m", "pytest") if "-m" in recorded else ("pytest",)
