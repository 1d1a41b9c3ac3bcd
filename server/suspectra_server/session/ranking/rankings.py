"""The rankings of a workspace folder: from a change of its evidence to a ranking that can be shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from suspectra.base.errors import Problem
from suspectra_server.messages import FolderState
from suspectra_server.session.ranking.better_rankings import Improvement
from suspectra_server.session.ranking.evidence_files import EvidenceFiles
from suspectra_server.session.ranking.grouping import Grouping
from suspectra_server.session.ranking.ranker import Ranked, Ranker, RankingInput
from suspectra_server.session.workers import FolderContext
from suspectra_server.state.decisions_file import DecisionsFile
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import RANKING_NOTICE_S


class RankedFolder(Protocol):
    """What rankings ask and tell the folder that they are of."""

    def ranking_input(self) -> RankingInput:
        """What to rank, and how."""

    def ranking_begins(self) -> None:
        """Nothing may delay the ranking that is being made now."""

    def ranking_takes_long(self) -> None:
        """It takes long enough to be shown in the status."""

    def show(self, result: Ranked) -> None:
        """Show a ranking in place of the last one."""

    def evidence_is_complete(self) -> None:
        """The run that is ranked has ended, so there is time for what comes after a ranking."""


class Rankings:
    """Makes the rankings of one workspace folder, when its evidence changes or on request. Belongs to the loop."""

    def __init__(self, folder: RankedFolder, context: FolderContext, ranker: Ranker, decisions: DecisionsFile):
        self._key = ("rank", context.uri)
        self._branch_key = ("branch", context.uri)
        self._folder = folder
        self._ranker = ranker
        self._jobs = context.workers.rankings
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self.recorded_by = ""  # the command whose recording was ranked last
        self.run_again_by: tuple[str, ...] = ()  # the command that runs its tests again; empty where that is not known
        self.build = ""  # the build folder of CMake whose tests of C and C++ can be compared; empty where there is none
        # the failure groups, one of which is ranked at a time
        self.grouping = Grouping(context, decisions, self._show_checked, self._listed)
        self._improvement = Improvement(context.uri, context.workers.long, ranker, self.grouping.start)
        self._evidence = EvidenceFiles(
            context.uri,
            context.workers.files,
            context.workers.watcher,
            self.rank,
            folder.evidence_is_complete,
            context.boundary,
        )
        self._evidence.watch(folder.ranking_input().candidates)

    def rank(self, known: Mapping[str, object] = MappingProxyType({})) -> None:
        """Read the evidence and rank now; the states of files that were looked at just now may be given."""
        if self._closed:
            return
        self._evidence.cancel_waiting()
        self._folder.ranking_begins()
        given, shown = self._folder.ranking_input(), self.grouping.shown
        self._jobs.submit(
            self._key,
            lambda job: self._ranker.rank(given, job, shown, known),
            lambda result: self._ranked(result, given),
        )
        self._loop.call_later(RANKING_NOTICE_S, self._notice)

    def evidence_changed(self) -> None:
        """A watched evidence file changed: rank when it is complete."""
        if not self._closed:
            self._evidence.changed()

    def hurry(self) -> None:
        """The first test of a run failed: rank what is known, if that is cheap."""
        if not self._closed:
            self._evidence.hurry()

    @property
    def busy(self) -> bool:
        """Whether a ranking is being made, or was made and is not shown yet."""
        made = self._jobs.busy(self._key) or self._improvement.busy or self.grouping.waiting
        return made and not self._closed

    async def settled(self) -> None:
        """Wait until no ranking is being made."""
        while self.busy:
            answer: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(answer)
            await answer

    async def is_incomplete(self) -> bool:
        """Whether a run is still being recorded, or is not ranked yet."""
        return self.busy or await self._jobs.run(self._ranker.growing) or await self._evidence.is_outdated()

    def cancel(self) -> None:
        """Cancel the rankings that are being made."""
        self._jobs.cancel(self._key)
        self._improvement.cancel()
        self.grouping.cancel()

    def close(self) -> None:
        """Stop everything for good."""
        self._closed = True
        self._evidence.close()
        self.cancel()
        self._answer()

    def _notice(self) -> None:
        if self.busy:
            self._folder.ranking_takes_long()

    def _listed(self) -> tuple[int, tuple[str, ...]]:
        given = self._folder.ranking_input()
        return given.settings.top, given.texts

    def _ranked(self, result: Ranked | Exception, given: RankingInput) -> None:
        if self._closed:
            return
        self._improvement.cancel()
        ranked = self._checked(result)
        if ranked.ranking.group is not None:  # the rest follows
            if self.grouping.take_first(ranked):
                self._folder.show(ranked)
            return
        self.recorded_by, self.run_again_by = ranked.recorded_by, ranked.run_again_by
        self.build = ranked.build
        self._evidence.ranked(ranked)
        self._evidence.watch({*ranked.watched, *self._folder.ranking_input().candidates}, ranked.states)
        if ranked.unfinished:
            self.grouping.cancel()
            self._improvement.start(ranked, given)
        else:
            self.grouping.start(ranked)

    def _show_checked(self, result: Ranked | Exception) -> None:
        if not self._closed:
            self._folder.show(self._checked(result))
            self._answer()
            # git may be slow, so marks do not wait for it
            self._jobs.submit(self._branch_key, lambda token: self._ranker.branch_moved(), self._branch_moved)

    def _branch_moved(self, moved: bool | Exception) -> None:
        if moved is True:
            self.rank()

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            if not answer.done():
                answer.set_result(None)

    def _checked(self, result: Ranked | Exception) -> Ranked:
        if not isinstance(result, Exception):
            return result
        problem = Problem("", "", f"the ranking failed: {result}", "see the server's log, and report this")
        return Ranked(Ranking(FolderState.ERROR, str(problem), self._folder.ranking_input().technique(), (problem,)))
