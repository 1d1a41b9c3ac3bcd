"""The first suspects, for the summary of a failing run.

The recorder has only the standard library and can't rank. So it asks Suspectra's command line, in a process of its own,
if there is one. It is asked only after failing tests, so runs in which all tests pass take as long as without it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.settings import BOOTSTRAP_FOLDER, CHILD_VARIABLE, PYTHON_VARIABLE, VARIABLE, recording_folder

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__builtins__ = library_references.builtins

RANKING_TIMEOUT_S = 30.0
"""For the ranking: one of ten thousand tests and a million lines takes some six seconds on a quiet machine. Who waits
for the end of a run should not wait longer than for many test suites."""

# -c puts the current folder first, where a project's json.py would be taken for the real one
_RUN = "import sys; sys.path[:] = [entry for entry in sys.path if entry]; from suspectra.cli.main import main; main()"
_NEEDED = ("suspectra", "click", "numpy")


def show(terminal: TerminalReporter, workspace: str) -> None:
    """Show what the finished tests make suspicious, in pytest's summary."""
    command = ranker(os.environ)
    if not command:
        terminal.write_line("suspectra: `suspectra rank` lists the suspects, where Suspectra is installed")
    elif text := first_suspects(command, workspace, os.environ, colours=bool(terminal.hasmarkup)):
        terminal.section("first suspects")
        terminal.write(text.rstrip("\n") + "\n")
        terminal.write_line("`suspectra rank` lists all")


def ranker(environ: Mapping[str, str]) -> list[str]:
    """Find Suspectra's command line.

    The command, without arguments: with the interpreter that the environment names, with this one, or the program on
    the PATH. Empty if Suspectra is nowhere.
    """
    if named := environ.get(PYTHON_VARIABLE):
        return [named, "-c", _RUN]
    if all(PathFinder.find_spec(name, [entry for entry in sys.path if entry]) for name in _NEEDED):
        return [sys.executable, "-c", _RUN]
    program = shutil.which("suspectra", path=environ.get("PATH"))
    return [program] if program else []


def first_suspects(command: list[str], workspace: str, environ: Mapping[str, str], *, colours: bool) -> str:
    """Rank the recording of a workspace.

    The first suspects of each failure group; empty if nothing could be ranked in RANKING_TIMEOUT_S.
    """
    # the command is none of the program's: it must not be recorded itself
    clean = {name: value for name, value in environ.items() if name not in (VARIABLE, CHILD_VARIABLE, "NO_COLOR")}
    path = [entry for entry in clean.pop("PYTHONPATH", "").split(os.pathsep) if entry not in ("", BOOTSTRAP_FOLDER)]
    if path:
        clean["PYTHONPATH"] = os.pathsep.join(path)
    clean.pop("FORCE_COLOR", None)
    clean["FORCE_COLOR" if colours else "NO_COLOR"] = "1"
    asked = ["rank", "--format", "summary", "--workspace", workspace, "--recording", recording_folder(workspace)]
    try:
        ended = subprocess.run(
            [*command, *asked],
            cwd=workspace,
            env={**clean, "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RANKING_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else ""
