"""Running tests after a save, where the setting `run` asks for it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.source import parse
from suspectra_server.session.experiments.experiment_run import ExperimentRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.ranking.watching import Debouncer
from suspectra_server.session.tests.test_run import RequestedRun, TestRun
from suspectra_server.session.trust import Trust
from suspectra_server.timing import IDLE_S, SAVE_DEBOUNCE_S, TYPING_RUN_MAX_S

if TYPE_CHECKING:
    from suspectra.selection.selection import Selection

SAMPLE = 20
"""How many tests a new process runs to confirm outcomes of one that was kept waiting: less than a second of most."""

_FAILING = ("failed", "error")
MANUAL, ON_IDLE = "manual", "onIdle"  # values of the setting


class OnSave:
    """Runs the tests that failed and those that saved changes can affect. Belongs to the loop.

    A newer save cancels such a run. So does a run that the user starts; if that was not of all tests, the cancelled one
    begins again afterwards. A save during a run that the user started waits for its end. A long run pauses while the
    user types.
    """

    def __init__(
        self,
        trust: Trust,
        test_run: TestRun,
        experiments: ExperimentRun,
        keep_running: Callable[[asyncio.Task[object]], None],
    ):
        self._trust = trust
        self._test_run = test_run
        self._experiments = experiments
        self._keep_running = keep_running
        self._waiting: dict[Folder, Selection | None] = {}  # which of their tests are to run, where that is known
        self._timer = Debouncer(asyncio.get_running_loop(), self._begin)
        self._rest = Debouncer(asyncio.get_running_loop(), self._use_rest)
        self._seen: set[Folder] = set()  # where saves run tests
        self._compared: dict[Folder, dict[str, str]] = {}  # verdicts that a fresh process is to confirm
        self._codes: dict[tuple[Folder, str], int] = {}  # what was saved last, without comments and layout
        self._in_order = asyncio.Lock()  # of two saves the later one decides which code is known
        self._began = 0.0  # when the last run began
        self._paused = False  # what is left of it runs once nobody types
        test_run.observers.append(self)

    def saved(self, folder: Folder, path: str) -> None:
        """A document of a folder was saved."""
        if self._runs_in(folder) and path.endswith(".py"):
            self._experiments.give_way()
            document = folder.texts.document(path)
            source = document.source if document else ""
            self._keep_running(asyncio.ensure_future(self._compare_codes(folder, path, source)))

    async def _compare_codes(self, folder: Folder, path: str, source: str) -> None:
        """Run tests unless they have run with this code: comments and layout are none."""
        selection = None
        async with self._in_order:
            code = await asyncio.to_thread(_code_of, source)
            known = self._codes.get((folder, path))
            self._codes[folder, path] = code
            if known == code and not folder.snapshot.saved:
                # the same code may have been replaced and brought back meanwhile, or other files may have changed
                selection = await asyncio.to_thread(_select, folder.root)
                if not selection.reached:
                    return
        if folder.removed:
            return
        folder.saved(path)
        # a selection is of one save: where another one waits, it would lack the tests of that one
        self._waiting[folder] = None if folder in self._waiting else selection
        self._test_run.give_way()
        self._wait(folder)

    def ranked(self, folder: Folder) -> None:
        """A folder was ranked: its tests wait for the first save, too, if saves run them."""
        if folder not in self._seen and self._runs_in(folder):
            self._seen.add(folder)
            self._test_run.warm.prepare(folder)

    def edited(self, folder: Folder) -> None:
        """A document of a folder was edited."""
        if self._timer.waiting:
            if self._paused or folder.settings.run == ON_IDLE:
                self._timer.trigger(IDLE_S)
        elif self._test_run.on_save and time.monotonic() - self._began > TYPING_RUN_MAX_S:
            self._pause()
        if self._rest.waiting:
            self._rest.trigger(IDLE_S)
        if self._runs_in(folder):
            self._seen.add(folder)
            self._test_run.warm.prepare(folder)
        elif folder in self._seen:
            self._seen.discard(folder)
            self._test_run.warm.discard(folder)

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        self._waiting.pop(folder, None)
        self._seen.discard(folder)
        self._compared.pop(folder, None)
        self._test_run.warm.leave_out(folder)
        self._codes = {key: code for key, code in self._codes.items() if key[0] is not folder}

    def stop(self) -> None:
        """Start no more runs."""
        self._waiting.clear()
        self._timer.stop()
        self._rest.stop()
        self._test_run.warm.stop()

    # what test runs report

    def began(self, folder: Folder, run: RequestedRun) -> None:
        """A run has begun: if it is not of chosen tests, it is about all that was saved so far."""
        self._began = time.monotonic()
        if folder.uri not in run.tests:
            self._waiting.pop(folder, None)

    def ended(self, folder: Folder, run: RequestedRun, complete: bool) -> None:
        """A run has ended."""
        if (verdicts := self._compared.pop(folder, None)) is not None and folder.uri in run.tests:
            if complete:
                self._keep_running(asyncio.ensure_future(self._compare(folder, verdicts)))
        elif run.gave_way:
            self._waiting[folder] = None  # what it did not run is still to run
        elif complete and folder.uri not in run.tests and folder not in self._waiting:
            folder.tests_ran()

    def idle(self) -> None:
        """No run is left."""
        if self._waiting and not self._timer.waiting:
            self._begin()
        elif self._seen:
            self._rest.trigger(IDLE_S)

    def _pause(self) -> None:
        """End the run. Tests that have not ended count as affected, and run once nobody types."""
        self._paused = True
        self._timer.trigger(IDLE_S)
        self._test_run.pause()

    def _use_rest(self) -> None:
        """Nobody has typed or saved for a while: compare processes that waited with fresh ones, and collect anew."""
        if self._test_run.running or self._experiments.running or self._waiting:
            return  # `idle` comes again
        for folder in [folder for folder in self._seen if self._runs_in(folder)]:
            if self._test_run.warm.to_check(folder):
                self._check(folder)
            else:
                self._test_run.warm.prepare(folder)

    def _check(self, folder: Folder) -> None:
        """Let a new process run a sample of the tests, those that failed first."""
        verdicts = _verdicts(folder)
        failing = [name for name, verdict in verdicts.items() if verdict in _FAILING]
        others = [name for name, verdict in verdicts.items() if verdict not in _FAILING]
        sample = [*failing[:SAMPLE], *random.sample(others, min(len(others), SAMPLE))][:SAMPLE]
        if sample:
            self._compared[folder] = {name: verdicts[name] for name in sample}
            tests = {folder.uri: sample}
            self._keep_running(asyncio.ensure_future(self._test_run.start([folder], tests, on_save=True, check=True)))

    async def _compare(self, folder: Folder, before: Mapping[str, str]) -> None:
        """Compare the verdicts of a process that waited with those of a new one."""
        await folder.rankings.settled()
        now = _verdicts(folder)
        if others := [name for name, verdict in before.items() if now.get(name, verdict) != verdict]:
            self._test_run.warm.switch_off(folder, others)
            tests = {folder.uri: list(now)}  # nothing is known of the other outcomes, either
            await self._test_run.start([folder], tests, on_save=True)

    def _runs_in(self, folder: Folder) -> bool:
        """Whether saves start runs in a folder: the user has to start the first one, so that it is known what runs."""
        by_python = folder.rankings.recorded_by == "record" and not folder.settings.c_tests
        return folder.settings.run != MANUAL and self._trust.granted and by_python

    def _wait(self, folder: Folder) -> None:
        self._timer.trigger(IDLE_S if folder.settings.run == ON_IDLE else SAVE_DEBOUNCE_S)

    def _begin(self) -> None:
        self._paused = False
        if self._test_run.running and not self._test_run.on_save:
            return  # `idle` comes when that has ended
        if self._experiments.running:
            self._timer.trigger(IDLE_S)
            return
        waiting = {folder: selection for folder, selection in self._waiting.items() if self._runs_in(folder)}
        self._waiting.clear()
        if waiting:
            start = self._test_run.start(list(waiting), {}, on_save=True, selections=waiting)
            self._keep_running(asyncio.ensure_future(start))


def _verdicts(folder: Folder) -> dict[str, str]:
    """How the tests of a folder ended, by their names."""
    evidence = folder.snapshot.ranking.evidence
    return {test.name: test.verdict.value for test in evidence.tests} if evidence is not None else {}


def _select(root: Path) -> Selection:
    """The tests of a folder to run again, as it is now."""
    from suspectra.selection.selection import select

    return select(str(root))


def _code_of(source: str) -> int:
    """A number that differs where the code does; docstrings, comments and layout are no code."""
    try:
        return hash(Outline.from_tree(parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return hash(source)
