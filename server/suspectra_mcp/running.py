"""Running Suspectra's own commands, which run tests of the workspace, in processes of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from suspectra.base.cancellation import Token
from suspectra.base.errors import SuspectraError
from suspectra.evidence.discovery import find_source, recorded_by
from suspectra.output.agents.bounded import as_data, refusal
from suspectra.processes.events import Output, ProgramEnded, TestProgress, Trouble
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.recording.endings import in_words
from suspectra.recording.pytest_command import pytest_words
from suspectra_server.session.tests.processes import SUSPECTRA, environment, events_of
from suspectra_server.session.tests.project_tests import compared_build
from suspectra_server.session.trust import Trust
from suspectra_server.settings import Settings

USAGE = 2
"""The first exit status of pytest that says that not all tests were run."""

_LAST_LINES = 5

Notify = Callable[[TestProgress], Awaitable[None]]


class Ran(NamedTuple):
    """How a command ended."""

    status: int  # the exit status
    trouble: str  # why not all tests were run; empty if they were


class AgentCommands:
    """Runs Suspectra's own commands in a workspace."""

    def __init__(self, root: Path, command: Sequence[str], trust: Trust):
        self._root, self._command, self._trust = root, tuple(command), trust
        self._one = asyncio.Lock()  # tests of one workspace disturb each other

    async def record(self, tests: Sequence[str], *, all_tests: bool, notify: Notify) -> Ran:
        """Run tests and record them."""
        async with self._one:
            with ScratchFolder() as scratch:
                progress = scratch / "progress"
                progress.touch()
                options = ["--progress", str(progress)]
                if tests:
                    listing = scratch / "tests"
                    listing.write_text("".join(f"{name}\n" for name in tests), "utf-8")
                    options += ["--only", str(listing)]
                elif not all_tests:
                    options.append("--failed-and-affected")
                program = await self._program(["record", *options], Streams.EVENTS, progress)
                return await self._recorded(program, notify)

    async def _recorded(self, program: CommandToRun, notify: Notify) -> Ran:
        last: list[str] = []
        trouble, token = "", Token()
        async with aclosing(events_of(self._trust, program, token)) as events:
            async for event in events:
                match event:
                    case Output(lines):
                        last = [*last, *(line for line in lines if line.strip())][-_LAST_LINES:]
                    case TestProgress():
                        await notify(event)
                    case Trouble(text):
                        trouble = text
                    case ProgramEnded():
                        if event.status < USAGE:
                            return Ran(event.status, "")
                        shown = " / ".join(as_data(line) for line in last)
                        return Ran(event.status, trouble or f"{in_words(event.status)}: {shown or 'no output'}")
        raise AssertionError("the last event says that the program has ended")

    async def asked(self, command: str, *arguments: str, compiled: bool = False) -> Mapping[str, object]:
        """Run a command that prints JSON; with `compiled`, one that knows tests of C and C++, too.

        Raises ToolError when it printed nothing, with the reason.
        """
        async with self._one:
            build = await asyncio.to_thread(recorded_build, self._root) if compiled else ""
            if build:
                words = (*SUSPECTRA, command, "--ctest", build, *arguments)
                program = self._started(words, Streams.KEPT)
            else:
                program = await self._program([command, *arguments], Streams.KEPT)
            token = Token()
            async with aclosing(events_of(self._trust, program, token)) as events:
                async for event in events:
                    if isinstance(event, ProgramEnded):
                        return _printed(event)
        raise AssertionError("the last event says that the program has ended")

    async def _program(self, arguments: Sequence[str], streams: Streams, progress: Path | None = None) -> CommandToRun:
        command = await asyncio.to_thread(pytest_words, self._command, str(self._root))
        return self._started((*SUSPECTRA, *arguments, "--", *command), streams, progress)

    def _started(self, words: tuple[str, ...], streams: Streams, progress: Path | None = None) -> CommandToRun:
        return CommandToRun(words, str(self._root), environment(), streams, guarded=True, progress=progress)


def recorded_build(root: Path) -> str:
    """The build folder of CMake whose tests were recorded last, relative to the root; empty for other tests."""
    try:
        is_compiled = recorded_by(find_source(root)) == "record-c"
    except SuspectraError:
        return ""
    return compared_build(root, Settings()) if is_compiled else ""


def _printed(ended: ProgramEnded) -> Mapping[str, object]:
    try:
        found = json.loads(ended.stdout)
    except ValueError:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        text = said[-1].removeprefix("suspectra: error: ") if said else in_words(ended.status)
        raise ToolError(refusal(text)) from None
    return found if isinstance(found, dict) else {}
