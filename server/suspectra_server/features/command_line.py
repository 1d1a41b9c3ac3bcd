"""The request for a command line that records the tests in a terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from suspectra_recorder.settings import every_pytest
from suspectra_server.features.commands.arguments import Json, parse_fields
from suspectra_server.messages import CommandLine
from suspectra_server.protocol import COMMAND_LINE
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.session import Session
from suspectra_server.session.tests.processes import install_words


def register(session: Session) -> None:
    """Answer `suspectra/commandLine`."""

    @session.feature(COMMAND_LINE)
    async def command_line(params: Json) -> CommandLine | None:
        uri = parse_fields(params).get("folder")
        folder = session.folders.get(uri) if isinstance(uri, str) else next(iter(session.folders), None)
        if folder is None:
            return None
        given = parse_fields(params)
        if isinstance(package := given.get("install"), str):
            words = await session.files.run(lambda: install_words(session.trust, folder, package))
        else:
            find = (lambda: ("build-c",)) if given.get("build") is True else folder.test_arguments()
            words = await session.files.run(lambda: (*_program(), *find()))
        environment = every_pytest(str(folder.root), sys.executable)
        return {"commandLine": plain(_quoted(words), MAX_TEXT), "environment": environment}


def _program() -> tuple[str, ...]:
    """The command `suspectra` by the server's interpreter: a script names the folder in which it was installed."""
    # where the server sees no packages of the user and of the workspace, the command must not either
    isolated = ("-I",) if sys.flags.isolated else ()
    return (sys.executable, *isolated, "-m", "suspectra")


def _quoted(words: Sequence[str]) -> str:
    """Quoted for the shell that a terminal most likely runs."""
    if os.name != "nt":
        return shlex.join(words)
    line = subprocess.list2cmdline(words)
    return f"& {line}" if line.startswith('"') else line  # without &, PowerShell takes a quoted word for a string
