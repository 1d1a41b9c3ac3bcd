"""`suspectra mcp`: the server on standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import Unpack

from suspectra.cli.localization import RankingOptions
from suspectra_mcp.permission import Act, Permissions
from suspectra_mcp.running import AgentCommands
from suspectra_mcp.tools import AgentWorkspace, make_server


def serve(
    workspace: Path, command: Sequence[str], *, trusted: bool, experiments: bool, **chosen: Unpack[RankingOptions]
) -> None:
    """Serve until the client ends."""
    root = Path(os.path.realpath(workspace))
    granted = {act for act, given in ((Act.TESTS, trusted), (Act.ALTERED, trusted and experiments)) if given}
    permissions = Permissions(root, command, granted)
    commands = AgentCommands(root, command, permissions.trust)
    asyncio.run(make_server(AgentWorkspace(root, **chosen), commands, permissions).run_stdio_async())
