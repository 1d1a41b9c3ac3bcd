"""What the user allows an agent to execute: asked for once each, by the agent's own client."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit
from mcp_types import ClientCapabilities, ElicitationCapability
from pydantic import BaseModel, Field

from suspectra.output.agents.bounded import MAX_PROBLEM, as_data
from suspectra.recording.pytest_command import asked_about
from suspectra_server.session.trust import Trust


class Permission(BaseModel):
    """The user's answer."""

    allow: bool = Field(title="Allow", description="Whether Suspectra may do this until the server ends.")


class Act(Enum):
    """What executes code of the workspace."""

    TESTS = "tests"
    """Tests are run as they are."""
    ALTERED = "altered"
    """Failing tests are run with other values and decisions."""


_SENTENCES = {
    Act.TESTS: "An agent wants to run the tests of {root} with `{command}`. They execute code of this folder.",
    Act.ALTERED: (
        "An agent wants to run failing tests of {root} with altered conditions and values, by `{command}`. Allow this"
        " only if they can't do harm with wrong values: deleted files, sent messages, changed databases."
    ),
}
_OPTIONS = {Act.TESTS: "--trusted", Act.ALTERED: "--trusted --experiments"}


class Permissions:
    """What the user allows."""

    def __init__(self, root: Path, command: Sequence[str], granted: set[Act]):
        self._root, self._command, self._granted = root, command, set(granted)
        self.trust = Trust(trusting=True)  # granted once tests may be run
        self.trust.granted = Act.TESTS in granted

    async def tests(self, context: Context) -> Permission | Elicit[Permission]:
        """Ask whether tests may be run, unless that is known."""
        return await self._asked(Act.TESTS, context)

    async def altered(self, context: Context) -> Permission | Elicit[Permission]:
        """Ask whether tests may be run altered, unless that is known."""
        return await self._asked(Act.ALTERED, context)

    async def _asked(self, act: Act, context: Context) -> Permission | Elicit[Permission]:
        if act in self._granted:
            return Permission(allow=True)
        capability = ClientCapabilities(elicitation=ElicitationCapability())
        if not context.request_context.session.check_client_capability(capability):
            what = "running tests" if act is Act.TESTS else "running altered tests"
            raise ToolError(f"The user has not allowed {what}. Fix: let the user start `suspectra mcp {_OPTIONS[act]}`")
        words, foreign = await asyncio.to_thread(asked_about, self._command, str(self._root))
        # a folder may have any name, and must not answer the question that it is part of
        named = {"root": str(self._root), "command": shlex.join(words)}
        sentence = _SENTENCES[act].format(**{name: as_data(text, MAX_PROBLEM) for name, text in named.items()})
        if foreign:
            sentence += f" Only the recording names this Python, which is not in the folder: {as_data(words[0])}."
        return Elicit(sentence, Permission)

    def settle(self, act: Act, answer: ElicitationResult[Permission]) -> None:
        """Keep what the user said.

        Raises ToolError when the user does not allow it.
        """
        if not (isinstance(answer, AcceptedElicitation) and answer.data.allow):
            raise ToolError("The user does not allow this. Go on without it.")
        self._granted |= {act, Act.TESTS}
        self.trust.granted = True
