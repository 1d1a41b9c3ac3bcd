"""Makes rankings from the evidence of a workspace folder, in the worker threads for rankings and for long work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from suspectra.base.errors import EvidenceError, NoEvidence, NothingToRank, UsageError
from suspectra.base.technique_info import Need, TechniqueInfo
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.discovery import (
    RECORDING,
    chosen_source,
    find_source,
    places_of_data,
    places_of_reports,
    recorded_by,
    run_again_by,
    usual_places,
)
from suspectra.evidence.evidence import Evidence, EvidenceSource, TestResult
from suspectra.evidence.logs import experiments
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.evidence.logs.failure_slices import SLICES
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.evidence.logs.path_reports import PATHS
from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.report import RankedReport
from suspectra.selection.since_revision import ChangesOfBranch
from suspectra.spectrum import PerChunk
from suspectra.techniques.default import default_technique
from suspectra.techniques.technique import Technique
from suspectra_server.messages import FolderState
from suspectra_server.session.jobs import Job
from suspectra_server.session.ranking.shown_group import rank_again
from suspectra_server.session.ranking.watching import state_of
from suspectra_server.session.tests.project_tests import compared_build
from suspectra_server.settings import Settings
from suspectra_server.state.documents import Disk, Reading
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import BRANCH_RECHECK_S, PUBLISHING_S

log = logging.getLogger(__name__)

_LOGS = (experiments.LOG, OBSERVATIONS.path, SLICES.path, PATHS.path)

MAX_TEXTS = 1_000  # files whose texts are kept to follow later edits


@dataclass(frozen=True)
class RankingInput:
    """What to rank, and with which technique."""

    settings: Settings  # with the technique to use
    candidates: frozenset[str]  # the paths at which evidence may appear
    texts: tuple[str, ...]  # files whose texts are needed in addition to those with suspects
    by_default: bool = False  # the user has chosen no technique, so one that uses experiments may rank if there are any

    def technique(self, evidence: Evidence | None = None) -> Technique:
        """The technique that ranks this evidence."""
        if self.by_default and evidence is not None and evidence.experiments:
            return default_technique(evidence.experiments)
        return self.settings.make_technique()


@dataclass(frozen=True, eq=False)
class Ranked:
    """A ranking, and what it was made from."""

    ranking: Ranking
    watched: tuple[str, ...] = ()  # the files of the evidence
    # the states of these files and of all paths at which evidence may appear, before they were read
    states: Mapping[str, object] | None = None
    recorded_by: str = ""  # the command that made the recording; empty for evidence of other tools
    run_again_by: tuple[str, ...] = ()  # the command that runs its tests again; empty where that is not known
    build: str = ""  # the build folder of CMake whose tests of C and C++ can be compared; empty where there is none
    reading: Reading | None = None  # the texts that its marks need
    # whether tests were still being recorded, or the recording changed while it was ranked: there is more of it
    growing: bool = False
    unfinished: bool = False  # whether a better ranking of the same evidence can be made, in stages that take longer


class Ranker:
    """Ranks one workspace folder repeatedly, and reuses what it can from the last time."""

    def __init__(self, root: Path, disk: Disk, asks_git: bool = False):
        self._root = root
        self._disk = disk
        self._branch = ChangesOfBranch(root) if asks_git else None
        self._boundary = Boundary(root)
        self._source: EvidenceSource | None = None
        self._source_of_edges: RecordingSource | None = None
        self._localizer: Localizer | None = None
        self._improver: Localizer | None = None  # of the thread for long work
        self._test_files = PerChunk(_files_of)
        self._last_read: tuple[EvidenceSource, object, Evidence] | None = None
        self._last_joined: tuple[Evidence, Evidence] | None = None  # without experiments, and with them

    def rank(
        self,
        given: RankingInput,
        job: Job[Ranked],
        shown: Ranking | None = None,  # that of a failure group
        known: Mapping[str, object] = MappingProxyType({}),
    ) -> Ranked:
        """Read the evidence and rank it: by the first stage of the technique alone, where it has several."""
        settings = given.settings
        states = self._states(given.candidates, known)
        technique = given.technique()
        files: tuple[str, ...] = ()
        watched = self._places_of_reports(settings, states)
        reading = None
        try:
            source = self._find(settings, technique.info, states)
            files = tuple(source.watched())
            logs = [str(self._root / log) for log in _LOGS]
            watched = (*files, *logs, *watched)
            states |= self._states(set(watched) - states.keys(), known)
            evidence = self._read(source, [states[path] for path in files])
            if self._branch is not None and not self.growing():
                job.check()
                evidence = self._since_branch(evidence, self._branch)
            evidence = self._with_experiments(evidence, technique)
            technique = given.technique(evidence)
            first = technique.stages[0]
            job.check()
            if self._localizer is None:
                self._localizer = Localizer(first)
            self._localizer.technique = first
            self._localizer.include_tests = settings.include_tests
            if shown is not None and shown.technique == technique:
                again = rank_again(shown, evidence, self._localizer.count(evidence), settings.top)
                if again is not None:
                    reading = self._disk.read(texts_of(again, given.texts), again.files, job)
                    # as if more of it were to come: what follows a ranking waits for the one over all tests
                    job.publish(Ranked(again, watched, states, reading=reading, growing=True))
                    time.sleep(PUBLISHING_S)
            ranking = self._ranking(self._localizer, partial(self._localizer.update, evidence), first, evidence, given)
            job.check()
            reading = self._disk.read(texts_of(ranking, given.texts), ranking.files, job)
        except EvidenceError as error:
            states |= self._states(set(watched) - states.keys(), known)
            there = any(states.get(path) is not None for path in files) and not isinstance(error, NoEvidence)
            state = FolderState.ERROR if there else FolderState.NO_EVIDENCE
            ranking, first = Ranking(state, str(error.problem), technique, (error.problem,)), technique
        unfinished = first is not technique and ranking.report is not None
        ranking = ranking.until(technique) if unfinished else replace(ranking, technique=technique)
        by = recorded_by(self._source), run_again_by(self._source)
        build = compared_build(self._root, settings) if by[0] == "record-c" else ""
        # in this order: what a run that has ended meanwhile wrote after the reading shows in the states
        growing = self.growing() or self._grew(files, states)
        return Ranked(ranking, watched, states, *by, build, reading, growing, unfinished)

    def improve(self, ranked: Ranked, given: RankingInput, job: Job[Ranked]) -> Ranked:
        """Rank the same evidence by the other stages, in the thread for long work.

        It has a localizer of its own, so that each thread can reuse the results of its stages. The rankings of all
        stages but the last are published.
        """
        evidence = ranked.ranking.evidence
        if evidence is None:
            raise LookupError("an unfinished ranking was made from evidence")
        technique = given.technique(evidence)
        if self._improver is None:
            self._improver = Localizer(technique)
        self._improver.technique = technique
        self._improver.include_tests = given.settings.include_tests
        reports = self._improver.improve(evidence)
        next(reports)  # the one that `rank` made
        for stage in technique.stages[1:]:
            ranking = self._ranking(self._improver, partial(next, reports), stage, evidence, given)
            job.check()
            reading = self._disk.read(texts_of(ranking, given.texts), ranking.files, job)
            ranked = replace(ranked, ranking=ranking, reading=reading, unfinished=False)
            if stage is not technique and ranking.report is not None:
                job.publish(replace(ranked, ranking=ranking.until(technique), unfinished=True))
            else:
                break
        return ranked

    def _ranking(
        self,
        localizer: Localizer,
        localize: Callable[[], RankedReport],
        technique: Technique,
        evidence: Evidence,
        given: RankingInput,
    ) -> Ranking:
        """The ranking of one stage, or why there is none."""
        inside = self._inside(evidence)
        try:
            report = localize()
        except NothingToRank as error:
            state = _state_without_ranking(evidence)
            errors = evidence.collection_errors  # shown separately
            # that no test fails any more is no problem
            own = () if state is FolderState.NO_FAILING_TESTS or errors else (error.problem,)
            problems = (*own, *evidence.problems)
            cause = error.problem.cause
            return Ranking(state, cause, technique, problems, evidence, collection_errors=errors, inside=inside)
        return Ranking.from_report(technique, evidence, report, localizer.problems(), given.settings.top, inside)

    def edged(self) -> EvidenceSource | None:
        """The recording with its edges. It is read separately, so as not to delay rankings.

        Called in the thread for long work, to which this source belongs.
        """
        used = self._source
        if not isinstance(used, RecordingSource) or used.edges:
            return None
        kept = self._source_of_edges
        if kept is None or kept.folder != used.folder:
            folder = used.folder if used.given else None
            self._source_of_edges = RecordingSource(used.workspace, folder, edges=True, flow=True)
        return self._source_of_edges

    def growing(self) -> bool:
        """Whether the run that is ranked is still being recorded."""
        return isinstance(self._source, RecordingSource) and self._source.growing()

    def _grew(self, files: Iterable[str], states: Mapping[str, object]) -> bool:
        """Whether a recording changed while it was ranked."""
        recorded = isinstance(self._source, RecordingSource)
        return recorded and any(state_of(path, self._boundary) != states.get(path) for path in files)

    def branch_moved(self) -> bool:
        """Whether the branch began elsewhere than the last ranking took it to begin.

        Called in the thread that ranks, after a ranking was shown, which need not wait for git then.
        """
        return self._branch is not None and not self.growing() and self._branch.has_moved(BRANCH_RECHECK_S)

    def _places_of_reports(self, settings: Settings, states: Mapping[str, object]) -> tuple[str, ...]:
        """The pattern of JUnit reports, where there is data that needs one: to look through a workspace takes time."""
        chosen = settings.evidence()
        data = any(states.get(place) is not None for place in places_of_data(self._root))
        needed = chosen.keys() == {"coverage"} or (not chosen and data)
        return (places_of_reports(self._root),) if needed else ()

    def _states(self, paths: Iterable[str], known: Mapping[str, object]) -> dict[str, object]:
        return {path: known[path] if path in known else state_of(path, self._boundary) for path in paths}

    def _find(self, settings: Settings, technique: TechniqueInfo, states: Mapping[str, object]) -> EvidenceSource:
        """The source to read. The present one is kept as long as possible, since it remembers what it has read."""
        used = self._source
        if used is not None and self._is_only_one(used, settings, states):
            found = used
        else:
            found = chosen_source(self._root, settings.evidence()) or find_source(self._root)
            if used is not None and type(used) is type(found) and list(used.watched()) == list(found.watched()):
                found = used
        if technique.wants_edges and isinstance(found, RecordingSource) and not found.edges:
            folder = found.folder if found.given else None
            found = RecordingSource(found.workspace, folder, edges=True, flow=technique.needs_flow)
        self._source = found
        return found

    def _is_only_one(self, used: EvidenceSource, settings: Settings, states: Mapping[str, object]) -> bool:
        """Whether the recording that was used is still the only evidence, so that none need be searched."""
        if not isinstance(used, RecordingSource) or used.given or settings.evidence():
            return False
        others = set(usual_places(self._root)) - {str(self._root / RECORDING)}
        return bool(states.get(str(used.folder))) and not any(states.get(other, True) for other in others)

    def _read(self, source: EvidenceSource, state: Sequence[object]) -> Evidence:
        """The evidence. It is read again only if the state of its files has changed.

        Reading it again could take sources that were edited since for those that ran.
        """
        known = self._last_read
        if known is None or known[0] is not source or known[1] != state:
            known = self._last_read = (source, state, source.read())
        return known[2]

    def _with_experiments(self, evidence: Evidence, technique: Technique) -> Evidence:
        """The evidence with what its own runs add to it: the same object while nothing has changed."""
        joined = with_experiments(evidence, self._root)
        if Need.EXPERIMENTS not in technique.info.needs:  # then it is no problem that some are out of date
            joined = replace(joined, problems=evidence.problems)
        problems = joined.problems
        joined = OBSERVATIONS.added_to(joined, self._root)
        if Need.VALUES not in technique.info.needs:
            joined = replace(joined, problems=problems)
        if Need.DEPENDENCES in technique.info.needs:
            joined = SLICES.added_to(joined, self._root)
        if Need.PATHS in technique.info.needs:
            joined = PATHS.added_to(joined, self._root)
        if self._last_joined is not None and self._last_joined[0] is evidence:
            known = self._last_joined[1]
            if _results(known) == _results(joined):
                return known
        if _results(joined) == _results(evidence):
            joined = evidence
        self._last_joined = evidence, joined
        return joined

    def _since_branch(self, evidence: Evidence, branch: ChangesOfBranch) -> Evidence:
        """Add what changed since the branch began, for failing tests without an earlier pass."""
        try:
            return branch.add_to(evidence)
        except UsageError as error:
            log.warning("what changed since the branch began is not known: %s", error.problem)
            return evidence

    def _inside(self, evidence: Evidence) -> frozenset[str]:
        """The files with tests or collection errors that are in the folder: links may lead out of it."""
        files = set[str]().union(*self._test_files(evidence.tests))
        files |= {file for error in evidence.collection_errors for file in (error.file, error.home) if file}
        files |= {line.file for stack in evidence.stacks.values() for line in stack.failed_lines}
        return self._boundary.below(files)


def _files_of(tests: Iterable[TestResult]) -> set[str]:
    return {test.location.file for test in tests if test.location}


def _results(evidence: Evidence) -> tuple[object, ...]:
    """What runs that Suspectra made itself add to evidence."""
    return evidence.experiments, evidence.observations, evidence.slices, evidence.paths, evidence.problems


def texts_of(ranking: Ranking, others: Iterable[str]) -> list[str]:
    """The files whose texts the marks of a ranking need, and those of the others that were measured."""
    wanted = dict.fromkeys([*(suspect.location.file for suspect in ranking.suspects), *others])
    failed = dict.fromkeys(version.path for version in ranking.other_versions if version.path)
    return list({**failed, **{path: None for path in wanted if path in ranking.files}})


def texts_to_compare_with(ranking: Ranking) -> list[str]:
    """The files that a failing test of any group executes: their texts are needed to follow later edits."""
    if ranking.report is None:
        return []
    spectrum = ranking.spectrum_over_all
    elements = spectrum.elements
    # without a list of numbers for all statements, in which other threads would wait for this one
    executed = np.flatnonzero(np.bincount(elements.file[spectrum.counts.ef > 0]))
    return [elements.files[index] for index in executed[:MAX_TEXTS].tolist()]


def with_technique(settings: Settings, chosen: tuple[str, bool] | None) -> Settings:
    """The settings, with a chosen technique instead of theirs."""
    return settings if chosen is None else replace(settings, technique=chosen[0], clone_failed=chosen[1])


def _state_without_ranking(evidence: Evidence) -> FolderState:
    """The state of a folder whose evidence was read but gave no ranking."""
    if evidence.collection_errors:
        return FolderState.ERROR
    if not evidence.tests:
        return FolderState.NO_EVIDENCE
    # if a test fails, the technique needs more than the evidence has
    return FolderState.ERROR if evidence.failing else FolderState.NO_FAILING_TESTS
