"""Running programs of the workspace; no other module of the server does that."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from suspectra.base.cancellation import Token
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.safety import Safety
from suspectra.processes.events import Event, ProgramEnded, Started
from suspectra.processes.runner import LOOK_S, CommandToRun, run
from suspectra.recording.launch import TestCommand, resolve
from suspectra.recording.pytest_command import resolve_again
from suspectra_recorder.log.missing_packages import is_installable, own_module
from suspectra_server.session.jobs import NICE
from suspectra_server.session.tests.debug_launch import Launch
from suspectra_server.session.trust import Trust
from suspectra_server.settings import Settings

if TYPE_CHECKING:
    from suspectra.recording.warm import WarmTests
    from suspectra.selection.selection import Selection
    from suspectra_server.session.folder import Folder

# -m and -c put the current folder first on the path: a suspectra.py or json.py of the project would be imported
_MAIN = "import sys; sys.path[:1] = filter(None, sys.path[:1]); from suspectra.__main__ import main; main()"

SUSPECTRA = (sys.executable, "-c", _MAIN)
"""The command line of this installation, whatever the project calls its modules."""

MAX_WAITING = 16  # events for the loop; then the program waits


async def events_of(trust: Trust, program: CommandToRun, token: Token) -> AsyncGenerator[Event, None]:
    """Run a program in a thread of its own, and yield its events.

    The last one is `ProgramEnded`.

    Raises NotTrusted when the workspace is not trusted. Raises EvidenceError when the program can't be started.
    """

    def work(notify: Callable[[Event], object]) -> None:
        run(program, token, notify)

    async with aclosing(_events(trust, work, token)) as events:
        async for event in events:
            yield event


def warm_tests_of(trust: Trust, root: Path, command: Sequence[str], settings: Settings) -> WarmTests:
    """Start a process that collects the tests of a workspace folder, and waits; for a worker thread.

    Raises NotTrusted when the workspace is not trusted. Raises UsageError when there is no interpreter for the command.
    Raises EvidenceError when it can't be started.
    """
    trust.require()
    from suspectra.recording.warm import WarmTests

    # the interpreter of the new processes that record on save, to which it is compared
    arguments = resolve(command, str(root), python=settings.test_interpreter or None, environ=environment()).arguments
    return WarmTests(arguments, os.path.realpath(root), lower_priority, keep=settings.keep_texts)


async def warm_events_of(
    trust: Trust, warm: WarmTests, root: Path, selection: Selection | None, token: Token
) -> AsyncGenerator[Event, None]:
    """Let a process that waits run the tests that failed or that a change can affect, and yield its events.

    The last one is `ProgramEnded`.

    Raises NotTrusted when the workspace is not trusted. Raises Refused when only a fresh process can run them.
    """
    from suspectra.selection.selection import select

    def work(notify: Callable[[Event], object]) -> None:
        chosen = selection or select(str(root))
        notify(warm.run(chosen.fields(live=True), notify, token, chosen.longest))

    async with aclosing(_events(trust, work, token)) as events:
        async for event in events:
            yield event


def lower_priority(event: Event) -> None:
    """Let everything else on the machine come before a program that has started; nobody waits with nothing to do."""
    if isinstance(event, Started) and hasattr(os, "setpriority"):  # not on Windows
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, event.pid, NICE)


async def _events(
    trust: Trust, do: Callable[[Callable[[Event], object]], None], token: Token
) -> AsyncGenerator[Event, None]:
    """Do something in a thread of its own, and yield the events that it reports.

    Whoever takes no more of them cancels the token. What has ended by itself leaves it alone: another program may run
    with the same one.
    """
    trust.require()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | Exception] = asyncio.Queue()
    free, left = threading.Semaphore(MAX_WAITING), threading.Event()

    def notify(event: Event | Exception) -> None:
        while not left.is_set() and not free.acquire(timeout=LOOK_S):
            pass
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(events.put_nowait, event)

    def work() -> None:
        try:
            do(notify)
        except Exception as error:
            notify(error)

    ended = False
    threading.Thread(target=work, name="suspectra-run", daemon=True).start()
    try:
        while True:
            event = await events.get()
            free.release()
            ended = isinstance(event, (ProgramEnded, Exception))
            if isinstance(event, Exception):
                raise event
            yield event
            if ended:
                return
    finally:
        if not ended:
            token.cancelled = True
        left.set()


def rerun_setup(trust: Trust, root: Path, command: Sequence[str], settings: Settings) -> RerunSetup:
    """How recorded tests of a workspace folder are run again; for a worker thread.

    Raises NotTrusted when the workspace is not trusted. Raises UsageError when there is no interpreter for the command.
    """
    trust.require()
    arguments = _resolved(root, command, settings).arguments
    safety = Safety(settings.experiments_exclude_markers, settings.experiments_copy)
    return RerunSetup(root, arguments, safety, not settings.experiments_hide_values)


def build_of(trust: Trust, root: Path, build: str) -> Path:
    """The build folder of CMake whose tests are built and run once more; for a worker thread.

    Raises NotTrusted when the workspace is not trusted.
    """
    trust.require()
    return root / build


def build_setup(trust: Trust, root: Path, settings: Settings) -> RerunSetup:
    """How tests of a build folder are run again, which need no command; for a worker thread.

    Raises NotTrusted when the workspace is not trusted.
    """
    trust.require()
    return RerunSetup(root, (), values_shown=not settings.experiments_hide_values)


def launch_of(trust: Trust, root: Path, command: Sequence[str], test: str, settings: Settings) -> Launch:
    """How a debugger runs one test of a workspace folder; for a worker thread.

    The client starts the debugger, which executes code of the workspace as everything here does.

    Raises NotTrusted when the workspace is not trusted. Raises UsageError when there is no interpreter for the command,
    or it runs neither pytest nor unittest by name.
    """
    trust.require()
    return Launch.for_test(command, _resolved(root, command, settings).python, test, root)


def install_words(trust: Trust, folder: Folder, package: str) -> tuple[str, ...]:
    """The command that installs a package where the tests of a folder run; for a worker thread.

    Raises NotTrusted when the workspace is not trusted. Raises UsageError when there is no interpreter for the tests.
    """
    trust.require()
    python = _resolved(folder.root, folder.python_command(), folder.settings).python or sys.executable
    # the package index may have one of the same name, which is not what the tests are about
    root = str(folder.root)
    is_own = is_installable(root) and own_module(root, package) != ""
    wanted = ("--editable", root) if is_own else (package,)
    return (python, "-m", "pip", "install", *wanted)


def _resolved(root: Path, command: Sequence[str], settings: Settings) -> TestCommand:
    return resolve_again(command, str(root), python=settings.test_interpreter or None, environ=environment())


def environment() -> dict[str, str]:
    """The server's environment, with output as it comes.

    The programs of its interpreter come first on the path if pytest is one of them. Otherwise this environment is only
    for the server, and its Python must not hide the user's.
    """
    path = os.environ.get("PATH", os.defpath)
    if find_spec("pytest"):
        path = os.pathsep.join([os.path.dirname(sys.executable), path])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
