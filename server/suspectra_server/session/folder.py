"""A workspace folder: its evidence, its rankings, and the snapshot that the features read.

A folder that is removed is closed for good: jobs that still run have no effect on it, nothing is published, and its
tests are ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol, TypeVar

from suspectra.evidence.discovery import chosen_places, usual_places
from suspectra_server.messages import FolderState
from suspectra_server.positions import path_of
from suspectra_server.session.navigation.learned_moves import LearnedMoves
from suspectra_server.session.navigation.navigation_service import NavigationService
from suspectra_server.session.navigation.reader_marks import ReaderMarks, Reason
from suspectra_server.session.navigation.tie_steps import NextSteps
from suspectra_server.session.ranking.moved_lines import LineHistory, MovedLines
from suspectra_server.session.ranking.ranker import Ranked, Ranker, RankingInput, with_technique
from suspectra_server.session.ranking.rankings import Rankings
from suspectra_server.session.ranking.source_files import SourceFiles
from suspectra_server.session.ranking.watching import Debouncer
from suspectra_server.session.tests.project_tests import pytest_command, python_command, test_arguments
from suspectra_server.session.trust import Trust
from suspectra_server.session.workers import FolderContext, Workers
from suspectra_server.settings import EVIDENCE, Settings
from suspectra_server.state.decisions_file import DecisionsFile
from suspectra_server.state.documents import Document, DocumentVersion, Placement, Texts
from suspectra_server.state.marks import ErrorMark, FailureMark, is_repaired
from suspectra_server.state.marks_file import MarksFile
from suspectra_server.state.navigation import NavigationBasis, NavigationModels
from suspectra_server.state.ranking import Ranking, RecordedLine
from suspectra_server.state.snapshot import Snapshot
from suspectra_server.state.trail import Trail
from suspectra_server.timing import EDIT_DEBOUNCE_S

Answer = TypeVar("Answer")


class FolderOwner(Protocol):
    """What a folder asks and tells its server."""

    workers: Workers
    trust: Trust
    trail: Trail
    learned: LearnedMoves

    def refresh(self, folder: Folder) -> None:
        """A folder has a new snapshot."""

    def send_status(self) -> None:
        """What a folder is doing has changed."""


class Folder:
    """One workspace folder. It belongs to the loop and accesses no file."""

    def __init__(self, owner: FolderOwner, uri: str, root: Path, real: Path, settings: Settings):
        self.uri = uri  # as the client names it
        self.root = root  # the folder, and its path with links resolved
        self.settings = settings
        self.texts = Texts()
        self.snapshot = Snapshot(Ranking(FolderState.RANKING, "Looking for a test run", settings.make_technique()))
        self.chosen: tuple[str, bool] | None = None
        self.removed = False  # it is no longer part of the workspace: results that still arrive for it have no effect
        self._saved = ""
        self._complete: Ranking | None = None  # the last one that was not only the first stage of its technique
        self._recorded = False  # whether that is of a recording, not of the data of another tool
        self._real = real
        self._loop = asyncio.get_running_loop()
        self._owner = owner
        trusted, workers = owner.trust.granted, owner.workers
        context = FolderContext.for_folder(uri, root, workers)
        ranker = Ranker(root, context.disk, asks_git=trusted)
        self.sources = SourceFiles(context, self.texts, lambda: self.snapshot.ranking, self._update_snapshot)
        self._history = LineHistory()
        self.navigation = NavigationService(
            uri, workers.long, NavigationModels(ranker.edged), self._basis, self._update_snapshot
        )  # where to look next
        self._next_steps = NextSteps(uri, workers.long, self._update_snapshot)
        self._marks = ReaderMarks(uri, MarksFile(root, writable=trusted), workers.files, self._restored)
        self._edits = Debouncer(self._loop, self._update_snapshot)
        self.rankings = Rankings(self, context, ranker, DecisionsFile(root, writable=trusted))  # where they are made

    # what to rank

    def ranking_input(self) -> RankingInput:
        """What to rank, and how."""
        settings = with_technique(self.settings, self.chosen)
        by_default = self.chosen is None and settings.technique == Settings.technique
        return RankingInput(settings, self._candidates(), self._texts_wanted(), by_default)

    def sources_changed(self) -> None:
        """A source file changed on disk: read the files again, and update the marks."""
        if not self.removed:
            self.sources.load(self._texts_wanted())

    def _texts_wanted(self) -> tuple[str, ...]:
        """Files whose texts are needed even if there is no suspect in them."""
        return tuple(dict.fromkeys([*self.texts.open_paths(), *self._marks.files]))

    def configure(self, settings: Settings) -> None:
        """Use new settings, and rank again if they affect the ranking."""
        previous, self.settings = self.settings, settings
        if (previous.technique, previous.clone_failed) != (settings.technique, settings.clone_failed):
            self.chosen = None
        affecting = ("technique", "clone_failed", "top", "include_tests", *EVIDENCE)
        if any(getattr(previous, name) != getattr(settings, name) for name in affecting):
            self.rankings.cancel()
            self.rankings.rank()
        elif not self.removed:
            self.snapshot = replace(self.snapshot, by_steps=settings.order == "steps")
            self.navigation.renew(after=0)
            self._owner.refresh(self)

    def choose(self, technique: str, clone_failed: bool | None) -> None:
        """Rank with another technique until the settings change. With None for clones, these stay as they are."""
        previous = self.chosen[1] if self.chosen else self.settings.clone_failed
        self.chosen = (technique, previous if clone_failed is None else clone_failed)
        self.rankings.cancel()
        self.rankings.rank()

    def test_arguments(
        self,
        *,
        chosen: bool = False,
        affected: bool | None = None,
        on_save: bool = False,
        despite_errors: bool = False,
    ) -> Callable[[], tuple[str, ...]]:
        """A function for a worker thread: the arguments of `suspectra` that record all tests, or some.

        `affected` says whether tests that no change can affect are left out; by default as the settings say.
        """
        settings = self.settings if affected is None else replace(self.settings, affected_only=affected)
        recorded = self.rankings.recorded_by, self.rankings.run_again_by
        return partial(
            test_arguments,
            self.root,
            settings,
            *recorded,
            chosen=chosen,
            on_save=on_save,
            despite_errors=despite_errors,
        )

    def python_command(self) -> tuple[str, ...]:
        """The command that runs the Python tests; for a worker thread."""
        return python_command(self.root, self.settings, self.rankings.run_again_by)

    def pytest_command(self, *, for_unittest: bool = True) -> tuple[str, ...]:
        """The command that runs pytest, for tests that are altered or wait; for a worker thread.

        It runs tests of unittest as well, but not always as unittest does: so not `for_unittest` where a run is to show
        how tests end. Raises UsageError when the tests are not run by pytest.
        """
        recorded = self.rankings.recorded_by, self.rankings.run_again_by
        return pytest_command(self.root, self.settings, *recorded, for_unittest=for_unittest)

    def close(self) -> None:
        """Stop everything for good: the folder is removed from the workspace."""
        self.removed = True
        self._edits.stop()
        self.navigation.close()
        self._next_steps.close()
        self.rankings.close()
        self.sources.close()

    # documents and reading marks

    def path_in(self, uri: str) -> str | None:
        """The path of a document relative to this folder, with forward slashes; None if it is outside."""
        path = path_of(uri)
        if path is None:
            return None
        for base in (self.root, self._real):
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return None

    def opened(self, path: str, document: Document) -> None:
        """A document of this folder was opened."""
        self.texts.opened(path, document)
        if self._shows(path):
            self._update_snapshot()
            self.sources.load_one(path)

    def edited(self, path: str) -> None:
        """A document of this folder changed."""
        if self._shows(path):
            self._edits.trigger(EDIT_DEBOUNCE_S)

    def saved(self, path: str) -> None:
        """A source was saved, and the tests that it can affect have not run yet: no outcome is shown as current."""
        self._saved = path
        self._update_snapshot()

    def tests_ran(self) -> None:
        """All tests that saved sources can affect have run: the next ranking has their outcomes."""
        self._saved = ""

    def closed(self, path: str) -> None:
        """A document of this folder was closed."""
        self.texts.closed(path)
        if self._shows(path):
            self.sources_changed()

    def _shows(self, path: str) -> bool:
        """Whether anything may be shown in a file."""
        ranking = self.snapshot.ranking
        return path in ranking.files or any(version.path == path for version in ranking.other_versions)

    def current(self) -> Snapshot:
        """The snapshot, with all edits taken into account."""
        if self._edits.waiting:
            self._edits.stop()
            self._update_snapshot()
        return self.snapshot

    def uri_of(self, path: str) -> str:
        """The URI of a file; the client's own if it is open."""
        document = self.texts.document(path)
        return document.uri if document else _uri_below(self.root, path)

    def element_of(self, line: RecordedLine) -> int | None:
        """The element of the present ranking on a line."""
        return self.snapshot.ranking.element_of(line)

    def follow(self, line: RecordedLine, ranking: Ranking) -> RecordedLine | None:
        """Where a line of an earlier ranking's run is in the present one; None where it is gone or was edited."""
        return self._history.follow(line, ranking, self.snapshot.ranking)

    def placement(self, path: str) -> Placement | None:
        """Where the lines of a measured file are now; None if its text was never read."""
        file = self.snapshot.ranking.files.get(path)
        return self.texts.placement(file) if file else None

    def exclude(self, elements: Iterable[int], reason: Reason) -> None:
        """Mark statements of the present ranking as examined or innocent."""
        ranking = self.snapshot.ranking
        self._marks.exclude(map(ranking.recorded_line, elements), reason, ranking, self.texts)
        self._update_snapshot()

    def clear_exclusions(self) -> None:
        """Remove all marks as examined and innocent."""
        self._marks.clear()
        self._update_snapshot()

    @property
    def unsaved(self) -> bool:
        """Whether there are marks that are not in the file of marks yet."""
        return self._marks.unsaved

    def _restored(self) -> None:
        """Marks of an earlier server were read: follow them through later edits."""
        self._update_snapshot()
        self.sources_changed()

    def _basis(self) -> NavigationBasis | None:
        """What the navigation model is computed from."""
        ranking, settings = self.snapshot.ranking, self.settings
        if ranking.report is None or ranking.preliminary:
            return None
        excluded = (self.element_of(line) for line in self._marks.examined | self._marks.innocent)
        learned = round(self._owner.learned.habit.estimate(settings.p_jump), 2) if settings.learn_jumps else None
        return NavigationBasis(
            ranking, frozenset(element for element in excluded if element is not None), settings.jump_model(learned)
        )

    # rankings

    def show(self, result: Ranked) -> None:
        """Show a ranking in place of the last one."""
        ranking = result.ranking
        last = self.snapshot.ranking
        gone = ranking.state is FolderState.NO_EVIDENCE and ranking.evidence is None
        # a recording goes on; what another tool wrote replaces all that it wrote before, even if nothing can be ranked
        replaced = not self._recorded and ranking.evidence is not last.evidence
        over = gone or replaced or ranking.state is FolderState.NO_FAILING_TESTS
        stays = last.report is not None and not over and last.holds_after(ranking)
        if ranking.report is None and stays:
            ranking = self._last_good().with_state_of(ranking)
        if ranking.files is not last.files or ranking.other_versions != last.other_versions:
            self.texts.forget_except([*ranking.files.values(), *ranking.other_versions])
        if result.reading is not None:
            self.sources.take(result.reading, ranking)
        if ranking.report is not None and not ranking.preliminary:
            self._complete = ranking
            self._recorded = bool(result.recorded_by)
        self._remap_lines(ranking)
        self._update_snapshot(ranking)
        self.navigation.follow()
        if not result.growing:  # otherwise that waits, so as not to slow the tests down
            self.evidence_is_complete()

    def ranking_takes_long(self) -> None:
        """A ranking takes long enough to be shown in the status."""
        self._owner.send_status()

    def ranking_begins(self) -> None:
        """Stop what is made of the last ranking, so that it does not delay the next one."""
        self.navigation.pause()
        self._next_steps.pause()

    def _last_good(self) -> Ranking:
        """The ranking that stays where a technique refuses; not the quick one that it began with."""
        shown, complete = self.snapshot.ranking, self._complete
        return complete if shown.preliminary and complete and complete.is_of_same_run(shown) else shown

    def evidence_is_complete(self) -> None:
        """Do what comes after a ranking: read sources, and make the navigation model."""
        self.sources_changed()
        self._next_steps.renew(self.snapshot.ranking)
        self.navigation.renew()

    async def ask(self, question: Callable[[Ranking], Answer]) -> Answer | None:
        """Answer a question about the present ranking in the thread for long work; None without a ranking."""
        ranking = self.snapshot.ranking
        return await self._owner.workers.long.run(lambda: question(ranking)) if ranking.report is not None else None

    async def snapshot_of_group(self, number: int) -> Snapshot | None:
        """A failure group's ranking as it would be shown, whether the group is the current one or not."""
        if (group := self.snapshot.ranking.group) is not None and group.number == number:
            return self.current()
        self.navigation.pause()
        found = await self.rankings.grouping.ranking_of(number)
        self.navigation.renew()
        if found is None or self.removed:
            return None
        ranking, reading = found
        self.sources.take(reading, ranking)
        return Snapshot(ranking, self._placements(ranking), self._marks.examined, self._marks.innocent)

    def _placements(self, ranking: Ranking) -> dict[str, Placement]:
        """Where the lines are now, of files that have a suspect or are open."""
        wanted = {*(suspect.location.file for suspect in ranking.suspects), *self.texts.open_paths()}
        return {
            path: placement
            for path in wanted
            if (file := ranking.files.get(path)) and (placement := self.texts.placement(file))
        }

    def _update_snapshot(self, ranking: Ranking | None = None) -> None:
        """Make a new snapshot, and call `changed` if it differs."""
        if self.removed:
            return
        previous = self.snapshot
        ranking = ranking or previous.ranking
        if self._marks.update(ranking, self.texts) and ranking is previous.ranking:
            self.navigation.renew(after=0)
        placements = self._placements(ranking)
        navigation, by_steps = self.navigation.model_for(ranking), self.settings.order == "steps"
        errors = tuple(
            ErrorMark.for_error(error, self.texts.placement(DocumentVersion.for_error(error)) if error.file else None)
            for error in ranking.collection_errors
            if not is_repaired(error, self.texts.now(error.file) if error.file else None)
        )
        after = Snapshot(
            ranking,
            placements,
            self._marks.examined,
            self._marks.innocent,
            navigation,
            by_steps,
            errors,
            self._failures(ranking),
            self._next_steps.for_ranking(ranking),
            self._saved,
        )
        if after.differs_from(previous):
            self.snapshot = after
            self._owner.refresh(self)

    def _failures(self, ranking: Ranking) -> tuple[FailureMark, ...]:
        """The failing tests at the lines in which they failed, as far as these are as they were."""
        marks = (
            FailureMark.for_test(test, stack, line, self.texts.placement(DocumentVersion.for_test_line(line)))
            for test, stack, line in ranking.failed_lines
        )
        return tuple(mark for mark in marks if mark is not None)

    def _remap_lines(self, ranking: Ranking) -> None:
        """Follow lines into a new run, in which they may have moved."""
        moved = MovedLines(self.snapshot, ranking, self.texts)
        self._history.add(self.snapshot.ranking, ranking, moved)
        self._owner.trail.remap_lines(self.uri, moved)

    def _candidates(self) -> frozenset[str]:
        """The paths at which evidence may appear."""
        chosen = self.settings.evidence()
        return frozenset(chosen_places(self.root, chosen) if chosen else usual_places(self.root))


@lru_cache(maxsize=10_000)
def _uri_below(root: Path, path: str) -> str:
    """The URI of a file; kept, as each diagnostic names several."""
    return (root / path).as_uri()
