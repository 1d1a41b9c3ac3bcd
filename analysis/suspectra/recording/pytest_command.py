"""The command with which recorded tests are run again."""

from __future__ import annotations

from collections.abc import Sequence

from suspectra.recording.launch import Command, resolve
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.settings import recording_folder


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
        With the interpreter, as :func:`suspectra.recording.launch.resolve` finds it.

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
    if given:
        return resolve(given, workspace, python=python)
    recorded = recorded_tests(recording_folder(workspace)).command
    return resolve(["python", "-m", "pytest"] if "-m" in recorded else ["pytest"], workspace, python=python)
