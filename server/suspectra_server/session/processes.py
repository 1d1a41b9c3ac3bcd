"""Starting processes of the workspace: no other module of the server starts any."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suspectra_server.session.trust import Trust

# a group of its own, so that cancelling reaches the processes that the tests started too
_GROUP: dict[str, Any] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if os.name == "nt"
    else {"start_new_session": True}
)


async def start_process(
    trust: Trust, command: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Start a program whose output, errors included, is read from its ``stdout``.

    Parameters
    ----------
    trust : Trust
    command : sequence of str
    folder : Path
        Where it runs.
    environ : mapping of str to str
        Its whole environment.

    Raises
    ------
    NotTrusted
        When the workspace is not trusted.
    OSError
        When the program can't be started.
    """
    trust.require()
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **_GROUP,
    )
