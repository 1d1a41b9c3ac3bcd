"""The processes that wait with collected tests, one for each folder in which saves run tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from suspectra.errors import EvidenceError, UsageError
from suspectra.quantity import some
from suspectra.recording.warm import CAN_WAIT, WarmTests
from suspectra_server.session.folder import Folder
from suspectra_server.session.processes import warm_tests_of
from suspectra_server.session.project_tests import pytest_command
from suspectra_server.session.trust import NotTrusted, Trust


class WarmProcesses:
    """Starts them, and gives them away. Belongs to the loop.

    Parameters
    ----------
    trust : Trust
    log : callable
        Called with what the user may want to know.
    keep_running : callable
        Keeps a task alive.
    """

    def __init__(self, trust: Trust, log: Callable[[str], None], keep_running: Callable[[asyncio.Task[object]], None]):
        self._trust = trust
        self._log = log
        self._keep_running = keep_running
        self._waiting: dict[Folder, WarmTests] = {}
        self._starting: dict[Folder, WarmTests | None] = {}
        self._off: set[Folder] = set()
        self._ran: set[Folder] = set()

    def prepare(self, folder: Folder) -> None:
        """Let a process wait for the next save, unless one does."""
        known = folder in self._waiting or folder in self._starting or folder in self._off
        if CAN_WAIT and self._trust.granted and not known:
            self._starting[folder] = None
            self._keep_running(asyncio.ensure_future(self._start(folder)))

    async def _start(self, folder: Folder) -> None:
        root, settings, recorder = folder.root, folder.settings, folder.rankings.recorded_by

        def start() -> WarmTests:
            return warm_tests_of(self._trust, root, pytest_command(root, settings, recorder), settings)

        warm = None
        try:
            warm = await asyncio.to_thread(start)
            if folder in self._starting:
                self._starting[folder] = warm
                await asyncio.to_thread(warm.wait)
        except (EvidenceError, UsageError, NotTrusted, OSError) as error:
            if folder in self._starting:
                self._off.add(folder)
                self._log(f"{root.name}: each save starts a new process for its tests: {error}")
        if self._starting.pop(folder, None) is None or folder in self._off:
            _close(warm)
        elif warm is not None:
            self._waiting[folder] = warm

    def take(self, folder: Folder) -> WarmTests | None:
        """The process that waits for a folder, if there is one."""
        return self._waiting.get(folder)

    def ran(self, folder: Folder) -> None:
        """The process of a folder has run tests, so it has to be compared with a fresh one."""
        self._ran.add(folder)
        warm = self._waiting[folder]
        if warm.once:
            self.discard(folder)

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
        _close(self._starting.pop(folder, None))

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        self.discard(folder)
        self._off.discard(folder)
        self._ran.discard(folder)

    def stop(self) -> None:
        """End all."""
        for folder in [*self._waiting, *self._starting]:
            self.discard(folder)


def _close(warm: WarmTests | None) -> None:
    """End a process, in a thread, since that may take a while."""
    if warm is not None:
        threading.Thread(target=warm.close, name="suspectra-close", daemon=True).start()
