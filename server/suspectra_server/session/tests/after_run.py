"""Searching by itself for the change that broke tests, after a run that a save or the user started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from suspectra.experiments.repeated_tests import FailingTest
from suspectra.runs.experiment import UNDO
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.change_search import ChangeSearch
from suspectra_server.session.experiments.experiment_run import ExperimentRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.tests.on_save import MANUAL
from suspectra_server.session.tests.test_run import RequestedRun, TestRun
from suspectra_server.session.trust import Trust


class AfterRun:
    """Searches where a run has broken tests and saves run tests. Belongs to the loop.

    It gives way to whatever the user does.
    """

    def __init__(
        self,
        client: Client,
        trust: Trust,
        test_run: TestRun,
        experiments: ExperimentRun,
        keep_running: Callable[[asyncio.Task[object]], None],
    ):
        self._client, self._trust = client, trust
        self._test_run, self._experiments = test_run, experiments
        self._keep_running = keep_running
        self._tried: dict[Folder, tuple[frozenset[str], dict[str, str | None]]] = {}  # tests, and digests of sources
        test_run.observers.append(self)

    def began(self, folder: Folder, run: RequestedRun) -> None:
        """A run has begun."""
        self._experiments.give_way()

    def ended(self, folder: Folder, run: RequestedRun, complete: bool) -> None:
        """A run has ended."""
        if complete and folder.settings.run != MANUAL and self._trust.granted:
            self._keep_running(asyncio.ensure_future(self._search(folder)))

    def idle(self) -> None:
        """No run is left."""

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        self._tried.pop(folder, None)

    async def _search(self, folder: Folder) -> None:
        await folder.rankings.settled()
        busy = folder.removed or self._test_run.running or self._experiments.running
        if busy or folder.rankings.recorded_by != "record" or folder.settings.c_tests:
            return
        tests = _broken(folder)
        evidence = folder.snapshot.ranking.evidence
        if not tests or evidence is None:
            return
        about = frozenset(test.name for test in tests), evidence.digests
        if self._tried.get(folder) != about:
            self._tried[folder] = about
            search = ChangeSearch(self._client, self._experiments, folder, tests, asked=False)
            self._experiments.start(search, by_itself=True)


def _broken(folder: Folder) -> tuple[FailingTest, ...]:
    """The failing tests that passed before, and of which it is not known yet what broke them."""
    ranking = folder.snapshot.ranking
    evidence = ranking.evidence
    if evidence is None:
        return ()
    known = {one.test for one in evidence.experiments if one.kind == UNDO}
    return tuple(
        FailingTest.recorded(test, evidence.stacks)
        for name, test in ranking.failing.items()
        if name in evidence.changed and name not in evidence.old and name not in known
    )
