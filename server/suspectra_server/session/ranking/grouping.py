"""The failure groups of a workspace folder: which of them is ranked, and what the user decided about them.

One group is shown at a time: the first line for one fault means nothing for another, and a list that mixes two has
neither at its top. Where a run breaks tests, their group becomes the current one. Else the current group stays when
tests run again, until its tests pass; then the group that has most of them comes, or else the first.

Groups never delay marks. They are found in the thread for long work, as a better ranking that replaces the one over all
failing tests. Only the group that is shown is ranked, so the order of groups does not depend on rankings.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from suspectra.base.errors import NothingToRank
from suspectra.evidence.changes import failing_since
from suspectra.evidence.failures import exception_names
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.ranking import GroupedRanking, RankedGroup, rank_groups
from suspectra.failure_groups.since import Since
from suspectra.report import RankedReport
from suspectra_server.messages import FolderState
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.jobs import Job
from suspectra_server.session.ranking.postponed_result import Postponed
from suspectra_server.session.ranking.ranker import Ranked, texts_of
from suspectra_server.session.workers import FolderContext
from suspectra_server.state.decisions_file import DecisionsFile, within_limits
from suspectra_server.state.documents import Disk, Reading
from suspectra_server.state.group import Group
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import FIRST_STAGE_S

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _GroupingInput:
    """What a job groups and ranks, and how."""

    ranked: Ranked  # the ranking over all failing tests
    decisions: GroupDecisions
    previous: GroupedRanking | None  # of the run before
    current: int | None  # the number of the group that is to be ranked; None for the first
    top: int  # how many suspects are listed
    texts: tuple[str, ...]  # files whose texts are needed, suspects in them or not
    shown: Ranking | None = None  # the last ranking of a group
    first_number: int = 1  # the number of the first group where there are no previous ones
    failed: frozenset[str] | None = None  # the tests that failed when groups were last found; None before that


@dataclass(frozen=True)
class _Grouped:
    """What a job gives: the ranking of a group, or that over all where there is one group, and all groups."""

    ranked: Ranked
    groups: GroupedRanking


class Grouping:
    """Turns each ranking over all failing tests into that of the current failure group, where there are several.

    Belongs to the loop; groups are found and ranked in the thread for long work, and each is ranked when it is shown.
    """

    def __init__(
        self,
        context: FolderContext,
        kept: DecisionsFile,
        show: Callable[[Ranked | Exception], None],
        listed: Callable[[], tuple[int, tuple[str, ...]]],
    ):
        self.decisions = GroupDecisions()  # what the user decided
        # the last ranking of a group; None where that over all failing tests is shown
        self.shown: Ranking | None = None
        self._key = context.uri
        self._jobs = context.workers.long
        self._files = context.workers.files
        self._kept = kept
        self._disk = context.disk
        self._show = show
        self._listed = listed
        self._ranked: Ranked | None = None  # over all
        self._groups: GroupedRanking | None = None
        self._current: int | None = None
        self._failed: frozenset[str] | None = None  # when groups were last found
        self._first_number = 1  # a client may have kept the numbers of groups that are gone
        self._is_first = False  # the shown ranking was made before the groups
        self._decided = False
        self._whole: Postponed[Ranked] = Postponed(FIRST_STAGE_S, show)  # that of a group may come in time
        self._waiting: list[asyncio.Future[None]] = []
        self._files.submit(("load groups", self._key), lambda token: kept.load(), self._loaded)

    def start(self, result: Ranked | Exception) -> None:
        """Show a ranking, and group its failing tests.

        Where the last run had several groups, that over all failing tests is shown only if the group's takes a while:
        marks would flicker. Else it is shown at once.
        """
        first = self._is_first
        self.cancel()
        ranked = None if isinstance(result, Exception) else result
        self._ranked = ranked if ranked is not None and _can_be_grouped(ranked.ranking) else None
        several = self._groups is not None and len(self._groups.groups) > 1
        if self._ranked is None or (self._ranked.ranking.failed < 2 and not several):
            if ranked is not None and ranked.ranking.state is FolderState.NO_FAILING_TESTS:
                if self._groups is not None:
                    self._first_number = self._groups.state.next_number
                self._groups = self._current = None
                self._failed = frozenset()
            self._whole.take()
            self.shown = None
            self._show(result)
            return
        if first:
            self._is_first = True
        elif several:
            self._whole.keep(self._ranked)
        else:
            self._show(self._ranked)
        self._submit()

    def take_first(self, ranked: Ranked) -> bool:
        """Whether to show a ranking of a group that was made before the groups are found: if it is the current one."""
        group = ranked.ranking.group
        if self.shown is None or group is None or group.number != self._current:
            return False
        self.cancel()  # groups of older evidence would be shown after it
        self.shown, self._is_first = ranked.ranking, True
        return True

    @property
    def waiting(self) -> bool:
        """Whether there is a ranking that is not shown yet, because that of a group may come in time."""
        return self._whole.waiting or self._is_first

    def cancel(self) -> None:
        """Stop looking for groups; the shown ranking stays."""
        self._jobs.cancel(("groups", self._key))
        self._whole.drop()
        self._is_first = False
        self._answer()

    async def select(self, number: int) -> None:
        """Rank a group from now on, and wait until it is shown."""
        self._current = number
        await self._again()

    async def merge(self, tests: Iterable[str]) -> None:
        """Decide that failing tests belong together, and wait until they are shown so."""
        await self._decide(self.decisions.merge(tests))

    async def split(self, tests: Iterable[str], rest: Iterable[str]) -> None:
        """Decide that failing tests do not belong to others, and wait until they are shown so."""
        await self._decide(self.decisions.split(tests, rest))

    async def reset(self) -> bool:
        """Forget all decisions; True if there were any."""
        there = bool(self.decisions.made)
        if there:
            await self._decide(GroupDecisions())
        return there

    async def ranking_of(self, number: int) -> tuple[Ranking, Reading] | None:
        """The ranking of a group that need not be the current one, and the texts for it; None for no group."""
        ranked, groups = self._ranked, self._groups
        if ranked is None or groups is None:
            return None
        one = next((one for one in groups.groups if one.group.number == number), None)
        if one is None:
            return None
        top, _ = self._listed()

        def work() -> tuple[Ranking, Reading]:
            ranking = _ranking(ranked.ranking, one, groups, top)
            return ranking, self._disk.read(texts_of(ranking, ()), ranking.files)

        return await self._jobs.run(work)

    async def _decide(self, decisions: GroupDecisions) -> None:
        self.decisions = decisions = within_limits(decisions)
        self._decided = True
        self._files.submit(("save groups", self._key), lambda token: self._kept.write(decisions), lambda result: None)
        await self._again()

    def _loaded(self, found: GroupDecisions | Exception) -> None:
        if isinstance(found, GroupDecisions) and found.made and not self._decided:
            self.decisions = found
            if self._ranked is not None:
                self._submit()

    async def _again(self) -> None:
        if self._ranked is None:
            return
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._submit()
        await answer

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            if not answer.done():
                answer.set_result(None)

    def _submit(self) -> None:
        if self._ranked is None:
            return
        given = _GroupingInput(
            self._ranked,
            self.decisions,
            self._groups,
            self._current,
            *self._listed(),
            self.shown,
            self._first_number,
            self._failed,
        )
        self._jobs.submit(("groups", self._key), lambda job: _group(given, self._disk, job), self._take)

    def _take(self, result: _Grouped | Exception) -> None:
        waiting = self._whole.take() or (self._ranked if self._is_first else None)
        self._is_first = False
        if isinstance(result, Exception):  # it is in the log; the ranking over all is there
            log.error("failing tests could not be grouped: %s", result)
            if waiting is not None:
                self.shown = None
                self._show(waiting)
        else:
            self._groups = result.groups
            self._failed = frozenset(test for one in result.groups.groups for test in one.group.tests)
            group = result.ranked.ranking.group
            former = {one.number for one in result.groups.state.former}
            if self._current not in former:  # otherwise it is shown again when it is a group again
                self._current = group.number if group else None
            if waiting is not None or result.ranked is not self._ranked or self.shown is not None:
                self._show(result.ranked)
            self.shown = result.ranked.ranking if group else None
        self._answer()


def _can_be_grouped(ranking: Ranking) -> bool:
    return ranking.state is FolderState.READY and ranking.report is not None and not ranking.preliminary


def _group(given: _GroupingInput, disk: Disk, job: Job[_Grouped]) -> _Grouped:
    """In the thread for long work."""
    ranked, previous = given.ranked, given.previous
    ranking = ranked.ranking
    if ranking.evidence is None:
        raise LookupError("a ranking that has a report was made from evidence")
    groups = rank_groups(
        ranking.ranked,
        ranking.technique,
        ranking.evidence.program,
        exceptions=exception_names(ranking.evidence),
        decisions=given.decisions,
        previous=previous,
        made=_made(given.shown),
        first_number=given.first_number,
        since=failing_since(ranking.evidence),
    )
    job.check()
    fixed = tuple(plain(title, MAX_TEXT) for title in groups.fixed)
    if len(groups.groups) < 2:
        return _Grouped(replace(ranked, ranking=replace(ranking, fixed=fixed)) if fixed else ranked, groups)
    one = _current(groups, given.current, given.failed)
    try:
        own = replace(_ranking(ranking, one, groups, given.top), fixed=fixed)
    except NothingToRank as error:
        log.warning("a failure group is not ranked: %s", error)
        return _Grouped(ranked, groups)
    job.check()
    return _Grouped(replace(ranked, ranking=own, reading=disk.read(texts_of(own, given.texts), own.files, job)), groups)


def _made(shown: Ranking | None) -> Mapping[int, RankedReport]:
    """The ranking of the group that is shown, by its number: it may be newer than the groups."""
    return {shown.group.number: shown.report} if shown and shown.group and shown.report else {}


def _current(groups: GroupedRanking, number: int | None, failed: frozenset[str] | None) -> RankedGroup:
    """The group with most tests that a change broke since others failed; else that of a number, or the one that it is a
    part of now, or the first.
    """
    if failed is not None:
        new = [one for one in groups.groups if one.group.since is Since.CHANGE]
        most = max(new, key=lambda one: len(failed.union(one.group.tests)), default=None)
        if most is not None and not failed.issuperset(most.group.tests):
            return most
    holder = groups.state.holder_of(number) if number is not None else None
    return next((one for one in groups.groups if one.group.number == holder), groups.groups[0])


def _ranking(whole: Ranking, one: RankedGroup, groups: GroupedRanking, top: int) -> Ranking:
    """The ranking of a group, in the thread for long work."""
    report = one.report  # before its title, which is then about it
    overviews = tuple(map(Group.from_ranked, groups.groups))
    return whole.for_group(Group.from_ranked(one), overviews, report, plain(one.reason, MAX_TEXT), top)
