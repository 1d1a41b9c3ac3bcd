"""Running the tests, when the user asks for it or after a save, with a way to cancel them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lsprotocol import types as lsp

from suspectra.base.cancellation import Token
from suspectra.base.english import many
from suspectra.base.errors import EvidenceError
from suspectra.processes.events import Event, Output, ProgramEnded, Started, TestProgress, Trouble
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.recording.endings import NO_TESTS, in_words
from suspectra.recording.warm import WarmRefusal
from suspectra_server.messages import FolderState
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.tests.processes import SUSPECTRA, environment, events_of, lower_priority, warm_events_of
from suspectra_server.session.tests.progress_bar import ProgressBar
from suspectra_server.session.tests.run_output import RunLog
from suspectra_server.session.tests.warm_processes import WarmProcesses
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.selection.selection import Selection

log = logging.getLogger(__name__)

_USAGE = 2  # the first exit status of pytest that says that not all tests were run

OFFER = 'With the setting run: "onSave", the tests that a change can affect run whenever you save.'
"""What clients without a list of settings say after the first failing run."""


@dataclass(eq=False)
class RequestedRun:
    """A run that was asked for."""

    folders: list[Folder]  # those that are left, the present one first
    tests: Mapping[str, Sequence[str]]  # which tests to run of a folder, by its URI; all of them by default
    on_save: bool = False  # whether a save started it
    check: bool = False  # whether it only confirms outcomes of a process that waited, so that nobody needs to see it
    # whether only tests run that failed or that changes can affect, if none is named; by default as the settings say
    affected: bool | None = None
    despite_errors: bool = False  # whether tests run although others can't be collected
    # which these are, where the recording was read for that already
    selections: Mapping[Folder, Selection | None] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)  # it has ended
    cancelled: bool = False  # whether it is to end
    gave_way: bool = False  # whether it is to end because another run is to begin
    token: Token = field(default_factory=Token)  # ends the run in the present folder

    def cancel(self) -> None:
        """End it."""
        self.cancelled = self.token.cancelled = True


class Observer(Protocol):
    """Who is told of runs."""

    def began(self, folder: Folder, run: RequestedRun) -> None:
        """A run has begun in a folder."""

    def ended(self, folder: Folder, run: RequestedRun, complete: bool) -> None:
        """It has ended there, with all tests that it was to run, or not."""

    def idle(self) -> None:
        """No run is left."""


class TestRun:
    """Runs the tests of folders, one folder after another, and one run after another.

    A run that a save started gives way to every other run.
    """

    def __init__(self, client: Client, trust: Trust, files: Jobs, keep_running: Callable[[asyncio.Task[object]], None]):
        self._client = client
        self._trust = trust
        self._files = files
        self._keep_running = keep_running
        # those that wait with collected tests, for runs on save
        self.warm = WarmProcesses(trust, self._log, keep_running)
        self._runs: list[RequestedRun] = []  # the first of them is going on
        self.observers: list[Observer] = []
        self.progress = TestProgress()  # the progress of the run in the present folder
        self._failures: dict[str, str] = {}  # why the last run of a folder failed, by the URI of the folder
        self._unranked: set[Folder] = set()  # whose tests have run, but are not ranked yet
        self._offered = False

    @property
    def running(self) -> bool:
        """Whether tests are running."""
        return bool(self._runs)

    def failure_of(self, folder: Folder) -> str:
        """Why the last run of a folder failed; empty if it did not, or if its recording says why."""
        if folder.snapshot.errors:  # and once they are gone, its tests have been run elsewhere
            self._failures.pop(folder.uri, None)
        return self._failures.get(folder.uri, "")

    @property
    def on_save(self) -> bool:
        """Whether tests are running only because of a save."""
        return self.running and all(run.on_save for run in self._runs)

    def runs(self, folder: Folder) -> bool:
        """Whether the tests of a folder are running, or waiting for others; a check does not count."""
        return any(folder in run.folders for run in self._runs if not run.check)

    async def start(
        self,
        folders: list[Folder],
        tests: Mapping[str, Sequence[str]],
        *,
        affected: bool | None = None,
        on_save: bool = False,
        check: bool = False,
        despite_errors: bool = False,
        selections: Mapping[Folder, Selection | None] | None = None,
    ) -> RequestedRun:
        """Start the tests, and return while they run.

        Raises NotTrusted when the workspace is not trusted.
        """
        self._trust.require()
        self.give_way()
        started = RequestedRun(list(folders), tests, on_save, check, affected, despite_errors, selections or {})
        self._runs.append(started)
        self.progress = TestProgress()
        for folder in folders:
            self._failures.pop(folder.uri, None)
        self._client.send_status()
        if len(self._runs) == 1:
            self._keep_running(asyncio.ensure_future(self._work()))
        return started

    def give_way(self) -> None:
        """End a run that a save started: another one is to begin."""
        for run in self._runs:
            if run.on_save and not run.cancelled:
                run.gave_way = True
                run.cancel()

    def pause(self) -> None:
        """End a run that a save started, because the user types."""
        self._log("the run pauses while you type")
        self.give_way()

    def cancel(self) -> None:
        """Stop the tests."""
        for run in self._runs:
            run.cancel()

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed: end its run, or don't begin it."""
        self._unranked.discard(folder)
        for number, run in enumerate(self._runs):
            if number == 0 and run.folders[:1] == [folder]:
                run.token.cancelled = True
            elif folder in run.folders:
                run.folders.remove(folder)

    def ranked(self, folder: Folder) -> None:
        """Show the outcome of a run, if the client does not show it by itself."""
        if folder not in self._unranked or folder.rankings.busy:
            return
        self._unranked.discard(folder)
        snapshot = folder.snapshot
        if not self._client.supports_status and snapshot.state is not FolderState.ERROR:
            suspects = f": {many(len(snapshot.marks), 'suspect')}" if snapshot.marks else ""
            self._client.answer(f"{folder.root.name}: {snapshot.message}{suspects}{self._offer(folder)}")

    def _offer(self, folder: Folder) -> str:
        """After the first failing run, that there is a setting for runs on save, which C and C++ have none of."""
        unwanted = folder.settings.run != "manual" or folder.rankings.recorded_by == "record-c"
        if self._offered or not folder.snapshot.ranking.failing or unwanted:
            return ""
        self._offered = True
        return f". {OFFER}"

    async def _work(self) -> None:
        try:
            while self._runs:
                await self._do(self._runs[0])
                self._runs.pop(0).done.set()
        finally:
            for run in self._runs:  # only after a defect: whoever waits for one must not wait for ever
                run.done.set()
            self._runs.clear()
            self._client.send_status()
        for observer in self.observers:
            observer.idle()

    async def _do(self, run: RequestedRun) -> None:
        """Run the tests of all folders of a run."""
        # a status shows runs on save without a notification
        shown = not (run.check or (run.on_save and self._client.supports_status))
        cancel, title = self.cancel, "running tests"
        progress = await ProgressBar.begin(self._client, cancel, title) if shown else ProgressBar(self._client, None)
        try:
            while run.folders and not run.cancelled:
                folder = run.folders[0]
                for observer in self.observers:
                    observer.began(folder, run)
                ran, complete = await self._record(folder, run, progress)
                run.folders.pop(0)
                if ran and not run.on_save and not folder.removed:
                    self._unranked.add(folder)
                folder.rankings.rank()
                for observer in self.observers:
                    observer.ended(folder, run, complete)
        finally:
            for folder in run.folders:
                for observer in self.observers:
                    observer.ended(folder, run, complete=False)
            progress.end("cancelled" if run.cancelled else "done")

    async def _record(self, folder: Folder, run: RequestedRun, progress: ProgressBar) -> tuple[bool, bool]:
        """Run the tests of a folder, and return whether they were run, and whether all of them have ended."""
        with await self._files.run(ScratchFolder) as scratch:
            tests = run.tests.get(folder.uri)
            show = folder.test_arguments(affected=run.affected, on_save=run.on_save)
            find = folder.test_arguments(
                chosen=tests is not None,
                affected=run.affected,
                on_save=run.on_save,
                despite_errors=run.despite_errors,
            )
            shown, program = await self._files.run(lambda: (show(), _program(find(), tests, folder.root, scratch)))
            run.token = Token()
            if run.cancelled or folder.removed:
                return False, False
            seen = TestProgress()
            command = " ".join(shown[shown.index("--") + 1 :] if "--" in shown else shown)  # as the user knows it
            progress.report(command, None)
            log = RunLog(self._log)
            trouble, status = "", _USAGE
            try:
                async with aclosing(self._events(folder, run, program)) as events:
                    async for event in events:
                        match event:
                            case Started() if run.on_save:
                                lower_priority(event)
                            case Output(lines):
                                log.add(lines)
                            case TestProgress():
                                if event.failed and not seen.failed:  # people wait for the first one
                                    folder.rankings.hurry()
                                seen = event
                                if not run.cancelled:
                                    self.progress = event
                                    self._client.send_status()
                                    progress.report(str(event), event.percentage)
                            case Trouble(text):
                                trouble = text
                            case ProgramEnded():
                                status = event.status
            except (EvidenceError, OSError) as error:
                trouble = str(error)
            finally:
                log.end()
        if run.cancelled or folder.removed:
            return False, False
        none_known = folder.snapshot.ranking.state is FolderState.NO_EVIDENCE
        if not (status or seen.done) and none_known and "unittest" in shown:
            status = NO_TESTS  # before Python 3.12, unittest says that all is well where it finds no test
        ran = status < _USAGE and not trouble
        if ran:
            self.warm.collected(folder)
        else:
            failure = trouble or f"{command}: {in_words(status)}: {log.last.strip() or 'no output'}"
            self._failures[folder.uri] = failure
            self._log(failure)
            if not run.on_save:
                self._client.notify(failure, lsp.MessageType.Error)
        return status < _USAGE, ran and seen.done >= seen.total

    async def _events(self, folder: Folder, run: RequestedRun, program: CommandToRun) -> AsyncGenerator[Event, None]:
        """The events of a run: by a process that waits with collected tests if there is one, else by a new one."""
        if run.on_save and folder.uri not in run.tests and (warm := self.warm.take(folder)) is not None:
            selection = run.selections.get(folder)
            try:
                async with aclosing(warm_events_of(self._trust, warm, folder.root, selection, run.token)) as events:
                    async for event in events:
                        yield event
                self.warm.ran(folder)
                return
            except WarmRefusal as why:
                self._log(f"{folder.root.name}: a new process runs the tests, since {why}")
                self.warm.discard(folder)
        async with aclosing(events_of(self._trust, program, run.token)) as events:
            async for event in events:
                yield event

    def _log(self, text: str) -> None:
        self._client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, text))


def _program(command: Sequence[str], tests: Sequence[str] | None, root: Path, scratch: Path) -> CommandToRun:
    """The program that records the tests; called in a worker thread."""
    progress = scratch / "progress"
    progress.touch()
    kind, *rest = command
    options = ["--progress", str(progress)]
    if tests is not None:
        listing = scratch / "tests"
        listing.write_text("".join(f"{name}\n" for name in tests), "utf-8")
        options += ["--only", str(listing)]
    arguments = (*SUSPECTRA, kind, *options, *rest)
    return CommandToRun(arguments, str(root), environment(), Streams.EVENTS, guarded=True, progress=progress)
