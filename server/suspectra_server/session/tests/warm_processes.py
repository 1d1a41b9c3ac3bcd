"""The processes that wait with collected tests, one for each folder in which saves run tests.

A run on save takes most of its time to start pytest and to import what has not changed. Where a process that waited
could differ from a fresh one, it is not used; and what can't be seen is found by comparison (`on_save.py`): while
nobody types, a fresh process runs a sample of the tests again, and after one difference no process waits any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suspectra.base.english import some
from suspectra.base.errors import EvidenceError, UsageError
from suspectra.base.operating_system import FORK
from suspectra.recording.warm import NotCollected, WarmTests
from suspectra_server.session.folder import Folder
from suspectra_server.session.tests.processes import warm_tests_of
from suspectra_server.session.trust import NotTrusted, Trust


@dataclass(eq=False)
class _Start:
    """The start of a process, which may be discarded before there is one."""

    warm: WarmTests | None = None
    discarded: bool = False

    def started(self, warm: WarmTests) -> None:
        """There is a process now. It comes from a thread, which nobody may be waiting for any more."""
        self.warm = warm
        if self.discarded:
            warm.close()

    def discard(self) -> None:
        """End it, now or as soon as there is one."""
        self.discarded = True
        _close(self.warm)


class WarmProcesses:
    """Starts them, and gives them away. Belongs to the loop."""

    def __init__(self, trust: Trust, log: Callable[[str], None], keep_running: Callable[[asyncio.Task[object]], None]):
        self._trust = trust
        self._log = log
        self._keep_running = keep_running
        self._waiting: dict[Folder, WarmTests] = {}
        self._starting: dict[Folder, _Start] = {}
        self._off: set[Folder] = set()
        self._broken: set[Folder] = set()  # whose tests could not be collected when they were last tried
        self._ran: set[Folder] = set()
        self._commands: dict[Folder, tuple[tuple[str, ...], str]] = {}  # with what tests run, by which interpreter

    def prepare(self, folder: Folder) -> None:
        """Let a process wait for the next save, unless one does."""
        self._follow_settings(folder)
        known = any(folder in folders for folders in (self._waiting, self._starting, self._off, self._broken))
        if FORK.exists and self._trust.granted and not known:
            self._starting[folder] = begun = _Start()
            self._keep_running(asyncio.ensure_future(self._start(folder, begun)))

    async def _start(self, folder: Folder, begun: _Start) -> None:
        root, settings = folder.root, folder.settings

        def start() -> None:
            command = folder.pytest_command(for_unittest=False)
            begun.started(warm_tests_of(self._trust, root, command, settings))

        unusable: set[Folder] | None = None
        try:
            await asyncio.to_thread(start)
            if begun.warm is not None and self._starting.get(folder) is begun:
                await asyncio.to_thread(begun.warm.wait)
        except NotCollected as error:
            unusable, why = self._broken, f"the next save starts a new process for its tests: {error}"
        except (EvidenceError, UsageError, NotTrusted, OSError) as error:
            unusable, why = self._off, f"each save starts a new process for its tests: {error}"
        if begun.discarded:
            return
        del self._starting[folder]
        if unusable is not None:
            unusable.add(folder)
            self._log(f"{root.name}: {why}")
            _close(begun.warm)
        elif begun.warm is not None:
            self._waiting[folder] = begun.warm

    def _follow_settings(self, folder: Folder) -> None:
        """Forget everything about a folder whose tests are run by another command now."""
        command = folder.settings.test_command, folder.settings.test_interpreter
        if self._commands.setdefault(folder, command) != command:
            self.leave_out(folder)
            self._commands[folder] = command

    def take(self, folder: Folder) -> WarmTests | None:
        """The process that waits for a folder, if there is one."""
        self._follow_settings(folder)
        return self._waiting.get(folder)

    def ran(self, folder: Folder) -> None:
        """The process of a folder has run tests, so it has to be compared with a fresh one."""
        self._ran.add(folder)
        warm = self._waiting.get(folder)  # none if it was discarded meanwhile
        if warm is not None and warm.once:
            self.discard(folder)

    def collected(self, folder: Folder) -> None:
        """The tests of a folder have run, so a process that is to wait can collect them, too."""
        self._broken.discard(folder)

    def to_check(self, folder: Folder) -> bool:
        """Whether outcomes of such a process have not been compared since this was asked last."""
        unchecked = folder in self._ran
        self._ran.discard(folder)
        return unchecked

    def switch_off(self, folder: Folder, tests: Sequence[str]) -> None:
        """Use no such process in a folder any more: the outcomes of tests differ from those of a fresh one."""
        self.discard(folder)
        self._off.add(folder)
        self._log(
            f"{folder.root.name}: each save starts a new process for its tests from now on, since outcomes in a process"
            f" that was kept waiting were others than in a new one: {some(tests)}"
        )

    def discard(self, folder: Folder) -> None:
        """End the process of a folder."""
        _close(self._waiting.pop(folder, None))
        if begun := self._starting.pop(folder, None):
            begun.discard()

    def leave_out(self, folder: Folder) -> None:
        """Forget everything about a folder."""
        self._commands.pop(folder, None)
        self.discard(folder)
        self._off.discard(folder)
        self._broken.discard(folder)
        self._ran.discard(folder)

    def stop(self) -> None:
        """End all."""
        for folder in [*self._waiting, *self._starting]:
            self.discard(folder)


def _close(warm: WarmTests | None) -> None:
    """End a process, in a thread, since that may take a while."""
    if warm is not None:
        threading.Thread(target=warm.close, name="suspectra-close", daemon=True).start()
