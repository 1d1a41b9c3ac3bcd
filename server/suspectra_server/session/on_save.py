"""Running tests after a save, where the setting `run` asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from suspectra_server.session.experiment_run import ExperimentRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.test_run import Run, TestRun
from suspectra_server.session.trust import Trust
from suspectra_server.session.watching import Debouncer
from suspectra_server.timing import IDLE_S, SAVE_DEBOUNCE_S

MANUAL, ON_IDLE = "manual", "onIdle"  # values of the setting


class OnSave:
    """Runs the tests that failed and those that saved changes can affect. Belongs to the loop.

    A newer save cancels such a run. So does a run that the user starts; if that was not of all tests, the cancelled one
    begins again afterwards. A save during a run that the user started waits for its end.

    Parameters
    ----------
    trust : Trust
    test_run : TestRun
    experiments : ExperimentRun
        Failing tests that are run again, altered, must not meet other tests of their folder.
    keep_running : callable
        Keeps a task alive.
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
        self._waiting: dict[Folder, None] = {}
        self._timer = Debouncer(asyncio.get_running_loop(), self._begin)
        self._texts: dict[tuple[Folder, str], int] = {}  # hashes of the last texts that were saved
        test_run.observers.append(self)

    def saved(self, folder: Folder, path: str) -> None:
        """A document of a folder was saved."""
        if not self._runs_in(folder) or not path.endswith(".py"):
            return
        document = folder.texts.document(path)
        text = hash(document.source) if document else 0
        known = self._texts.get((folder, path))
        self._texts[folder, path] = text
        if known == text and not folder.snapshot.saved:
            return  # the tests have run with this text
        folder.saved(path)
        self._waiting[folder] = None
        self._test_run.give_way()
        self._wait(folder)

    def edited(self, folder: Folder) -> None:
        """A document of a folder was edited."""
        if self._timer.waiting and folder.settings.run == ON_IDLE:
            self._wait(folder)

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        self._waiting.pop(folder, None)
        self._texts = {key: text for key, text in self._texts.items() if key[0] is not folder}

    def stop(self) -> None:
        """Start no more runs."""
        self._waiting.clear()
        self._timer.stop()

    # what test runs report

    def began(self, folder: Folder, run: Run) -> None:
        """A run has begun: if it is not of chosen tests, it is about all that was saved so far."""
        if folder.uri not in run.tests:
            self._waiting.pop(folder, None)

    def ended(self, folder: Folder, run: Run, complete: bool) -> None:
        """A run has ended."""
        if run.gave_way:
            self._waiting[folder] = None
        elif complete and folder.uri not in run.tests and folder not in self._waiting:
            folder.tests_ran()

    def idle(self) -> None:
        """No run is left."""
        if self._waiting and not self._timer.waiting:
            self._begin()

    def _runs_in(self, folder: Folder) -> bool:
        """Whether saves start runs in a folder: the user has to start the first one, so that it is known what runs."""
        by_python = folder.rankings.recorded_by == "record" and not folder.settings.c_tests
        return folder.settings.run != MANUAL and self._trust.granted and by_python

    def _wait(self, folder: Folder) -> None:
        self._timer.trigger(IDLE_S if folder.settings.run == ON_IDLE else SAVE_DEBOUNCE_S)

    def _begin(self) -> None:
        if self._test_run.running and not self._test_run.on_save:
            return  # `idle` comes when that has ended
        if self._experiments.running:
            self._timer.trigger(IDLE_S)
            return
        folders = [folder for folder in self._waiting if self._runs_in(folder)]
        self._waiting.clear()
        if folders:
            self._keep_running(asyncio.ensure_future(self._test_run.start(folders, {}, on_save=True)))
