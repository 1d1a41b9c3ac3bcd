"""The request for a command line that records the tests in a terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from suspectra_recorder.settings import every_pytest
from suspectra_server.features.commands.arguments import Json, parse_fields
from suspectra_server.messages import CommandLine
from suspectra_server.protocol import COMMAND_LINE
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.session import Session


def register(session: Session) -> None:
    """Answer `suspectra/commandLine`."""

    @session.feature(COMMAND_LINE)
    async def command_line(params: Json) -> CommandLine | None:
        uri = parse_fields(params).get("folder")
        folder = session.folders.get(uri) if isinstance(uri, str) else next(iter(session.folders), None)
        if folder is None:
            return None
        find = folder.test_arguments()
        words = await session.files.run(lambda: (*_program(), *find()))
        environment = every_pytest(str(folder.root), sys.executable)
        return {"commandLine": plain(_quoted(words), MAX_TEXT), "environment": environment}


def _program() -> tuple[str, ...]:
    """The command `suspectra` of the server's environment, by its path: it need not be on the reader's `PATH`."""
    script = Path(sys.executable).parent / ("suspectra.exe" if os.name == "nt" else "suspectra")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "suspectra")


def _quoted(words: Sequence[str]) -> str:
    """Quoted for the shell that a terminal most likely runs."""
    if os.name != "nt":
        return shlex.join(words)
    line = subprocess.list2cmdline(words)
    return f"& {line}" if line.startswith('"') else line  # without &, PowerShell takes a quoted word for a string
