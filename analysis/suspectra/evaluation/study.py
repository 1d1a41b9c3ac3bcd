"""A study: how well techniques rank the faults of many subjects.

Subjects are ranked in separate processes. The results of each subject are stored as soon as they are known, so an
interrupted study continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from suspectra import __version__
from suspectra.base.arrays import Ints
from suspectra.base.errors import NothingToRank, Problem, SuspectraError, UsageError
from suspectra.evaluation.corpus import Subject
from suspectra.evaluation.source_scores import FileLine, SourceSearch
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.report import RankedReport
from suspectra.techniques import make_technique
from suspectra.techniques.formulas import FORMULAS, Formula
from suspectra.techniques.technique import Technique
from suspectra.techniques.tie_breaking import TieBroken
from suspectra_recorder.complete_file import complete_file

if TYPE_CHECKING:
    from suspectra.spectrum.cluster import Cluster

T_SCORE_FROM = 5
"""The statements from which the search for T-scores starts."""


@dataclass(frozen=True)
class StudiedTechnique:
    """A technique with its parameters and its name in a study."""

    name: str  # the name of the technique. `first+second` breaks the ties of the first by the second
    parameters: tuple[tuple[str, object], ...] = ()  # its hyper-parameters
    label: str = ""  # the name in tables. The default is `name`

    @property
    def title(self) -> str:
        """The name in tables."""
        return self.label or self.name

    @property
    def clones(self) -> bool:
        """Whether it can clone failed tests."""
        return self.name.partition("+")[0] in FORMULAS

    def make(self, clone: bool) -> Technique:
        """Make the technique.

        Raises UsageError when there is no such technique, or it has no such hyper-parameter.
        """
        name, _, breaker = self.name.partition("+")
        chosen = dict(self.parameters) | ({"clone_failed": True} if clone else {})
        return make_technique(name, break_ties=breaker or None, **chosen)


@dataclass(frozen=True)
class StudyPlan:
    """What a study does with each subject."""

    choices: tuple[StudiedTechnique, ...]  # the techniques
    clone: tuple[bool, ...] = (False,)  # without cloning, with it, or both
    unexecuted_last: bool = False  # formulas rank statements that no test executes last, as the product does
    # ranks are those of expected steps in the debugging model (paper 003, Definition 25), so that reports of different
    # granularity can be compared
    ht_rank: bool = False
    p_jump: float = 0.5  # of that model; below 1
    t_score: bool = False  # also compute the T-score of the first five statements, where there are sources

    def check(self) -> None:
        """Check the plan by making every technique once.

        Raises UsageError for a name or a parameter that does not exist, or when there is nothing to do.
        """
        if not self.choices:
            raise UsageError(Problem("", "", "no technique is chosen", "name one with --technique"))
        if self.ht_rank and not 0 <= self.p_jump < 1:
            cause = f"p_jump is {self.p_jump}, and a reader who never comes back has no expected steps"
            raise UsageError(Problem("", "p_jump", cause, "give a probability from 0 to below 1"))
        for choice, clone in self.runs():
            choice.make(clone)

    def runs(self) -> Iterator[tuple[StudiedTechnique, bool]]:
        """Iterate over the techniques, with and without cloning.

        In the order of `choices`.
        """
        for choice in self.choices:
            for clone in self.clone:
                if choice.clones or clone is self.clone[0]:
                    yield choice, clone and choice.clones


@dataclass(frozen=True)
class Result:
    """The rank of a subject's best-ranked fault."""

    # the family and the name of the subject
    family: str
    subject: str
    technique: str  # what the tables call it
    clone: int  # 1 where failed tests are cloned, else 0
    n: int  # statements that were ranked
    rank_best: int  # the first place of its tie, counted from 1
    rank_average: float  # #{higher} + (#{equal} + 1)/2; `exam` is that over `n`
    rank_worst: int  # the last place of its tie
    t_score: float | None = None  # the share examined breadth-first from the first five statements

    @property
    def exam(self) -> float:
        """The share of the program to be examined until the fault is found."""
        return self.rank_average / self.n


@dataclass(frozen=True)
class StudyResult:
    """The results of a study."""

    results: tuple[Result, ...]  # in the order of the subjects
    problems: tuple[Problem, ...] = ()  # why other results are missing
    ht_rank: bool = False  # whether ranks are by expected steps


@dataclass
class _Done:
    results: list[Result] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class Description(Protocol):
    """Where a subject comes from; it must be picklable, and have a stable ``repr``."""

    @property
    def name(self) -> str:
        """The name of the subject in problems."""

    def files(self) -> Iterable[Path]:
        """The files that its results depend on."""


DescriptionT = TypeVar("DescriptionT", bound=Description)


def rank_subject(subject: Subject, plan: StudyPlan) -> tuple[list[Result], list[Problem]]:
    """Rank one subject by every technique of the plan. Techniques that can't rank it are reported."""
    results, problems = [], []
    for choice, clone in plan.runs():
        try:
            report = _report(choice.make(clone), subject, plan.unexecuted_last)
        except NothingToRank as error:
            found = error.problem
            problems.append(Problem(subject.name, choice.title, found.cause, found.cure))
            continue
        model = DebuggingModel.for_studies(report, subject.program, plan.p_jump) if plan.ht_rank else None
        examined = _examined_from_first(report, subject) if plan.t_score else None
        for name, faulty in subject.faults or (("", subject.faulty),):
            ranks = _by_rank(report, faulty) if model is None else _by_steps(model, faulty)
            own = f"{subject.name}: {name}" if name else subject.name
            t_score = None if examined is None else examined(faulty)
            results.append(Result(subject.family, own, choice.title, int(clone), len(report), *ranks, t_score))
        if plan.t_score and examined is None:
            cause = "its T-score needs the sources of a Python program"
            problems.append(Problem(subject.name, "", cause, "name their folder with --sources"))
    return results, problems


def _examined_from_first(report: RankedReport, subject: Subject) -> Callable[[Ints], float] | None:
    """The T-score of a fault from the first five statements of a report (paper 000, §5.1.3); None without sources."""
    elements, source_of = report.spectrum.elements, subject.program.source_of if subject.program else None
    sources = {path: source for path in elements.files if (source := source_of and source_of(path))}
    if not sources:
        return None

    def places(some: Ints) -> list[FileLine]:
        return [(elements.files[elements.file[one]], int(elements.line[one])) for one in some.tolist()]

    search = SourceSearch(sources, places(report.top(T_SCORE_FROM)))
    return lambda faulty: search.t_score(places(faulty))


def _report(technique: Technique, subject: Subject, unexecuted_last: bool) -> RankedReport:
    spectrum = subject.spectrum
    if isinstance(technique, TieBroken):
        first = _report(technique.technique, subject, unexecuted_last)
        return technique.order(first, technique.breaker.localize(spectrum, subject.program))
    if isinstance(technique, Formula) and not unexecuted_last and spectrum.counts.failed:
        return RankedReport.from_scores(technique, spectrum, technique.score(spectrum.counts), unexecuted_last=False)
    return technique.localize(spectrum, subject.program)


def _by_rank(report: RankedReport, faulty: Ints) -> tuple[int, float, int]:
    """Best, average and worst rank of the best-ranked statement of a fault."""
    position = report.position[faulty]
    best = int(np.min(position[position >= 0]))  # a higher position never has a better rank
    return int(report.rank_best[best]), float(report.rank_average[best]), int(report.rank_worst[best])


def _by_steps(model: DebuggingModel, faulty: Ints) -> tuple[int, float, int]:
    """The same ranks by expected steps, of the statement that a reader reaches soonest. Equal numbers are ties."""
    rank = model.ht_rank
    own = float(rank[faulty].min())
    tied = int(np.count_nonzero(rank[model.elements] == own))
    return round(own - tied / 2) + 1, own + 0.5, round(own + tied / 2)


class Study(Generic[DescriptionT]):
    """Ranks subjects in parallel and stores the results."""

    def __init__(
        self,
        plan: StudyPlan,
        subjects: Sequence[DescriptionT],
        read: Callable[[DescriptionT], Subject],
        store: Path | None = None,
    ) -> None:
        plan.check()
        self.plan, self.subjects, self.read, self.store = plan, subjects, read, store

    def run(
        self,
        jobs: int | None = None,  # processes; as many as there are cores if left out
        progress: Callable[[int], object] = lambda done: None,
        cluster: Cluster | None = None,
    ) -> StudyResult:
        """Rank the subjects that have no stored results."""
        done: dict[int, _Done] = {}
        waiting = []
        for index, subject in enumerate(self.subjects):
            known = self._stored(subject)
            if known is None:
                waiting.append(index)
            else:
                done[index] = known
        progress(len(done))
        jobs = min(jobs or os.cpu_count() or 1, max(len(waiting), 1))
        for index, outcome in self._outcomes(waiting, jobs) if cluster is None else self._on(cluster, waiting):
            done[index] = outcome
            self._keep(self.subjects[index], outcome)
            progress(1)
        ordered = [done[index] for index in range(len(self.subjects))]
        return StudyResult(
            tuple(result for one in ordered for result in one.results),
            tuple(dict.fromkeys(problem for one in ordered for problem in one.problems)),
            self.plan.ht_rank,
        )

    def _outcomes(self, waiting: list[int], jobs: int) -> Iterator[tuple[int, _Done]]:
        if jobs == 1:
            for index in waiting:
                yield index, _work(self.read, self.plan, self.subjects[index])
            return
        lost: list[int] = []
        with ProcessPoolExecutor(jobs) as pool:
            futures: dict[Future[_Done], int] = {
                pool.submit(_work, self.read, self.plan, self.subjects[index]): index for index in waiting
            }
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except BrokenProcessPool:  # one process died; those that waited behind it are not to blame
                    lost.append(futures[future])
        for index in lost:
            yield index, self._alone(index)

    def _on(self, cluster: Cluster, waiting: list[int]) -> Iterator[tuple[int, _Done]]:
        subjects = (self.subjects[index] for index in waiting)
        for number, outcome in cluster.outcomes(partial(_work, self.read, self.plan), subjects):
            index = waiting[number]
            if not isinstance(outcome, _Done):
                cause = "the workers that ranked it were lost each time, perhaps for lack of memory"
                cure = "give the workers more memory, or run the study without --scheduler"
                outcome = _Done(problems=[Problem(self.subjects[index].name, "", cause, cure)])
            yield index, outcome

    def _alone(self, index: int) -> _Done:
        """Rank a subject in its own process, whose crash does not affect other subjects."""
        subject = self.subjects[index]
        try:
            with ProcessPoolExecutor(1) as pool:
                return pool.submit(_work, self.read, self.plan, subject).result()
        except BrokenProcessPool:
            cause = "the process that ranked it died, perhaps for lack of memory"
            return _Done(problems=[Problem(subject.name, "", cause, "run the study with fewer --jobs")])

    def _stored(self, subject: DescriptionT) -> _Done | None:
        if self.store is None:
            return None
        try:
            stored = json.loads(self._file(self.store, subject).read_text(encoding="utf-8"))
            return _Done(
                [Result(**result) for result in stored["results"]],
                [Problem(**problem) for problem in stored["problems"]],
            )
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def _keep(self, subject: DescriptionT, outcome: _Done) -> None:
        if self.store is None or not outcome.results:  # what went wrong is tried again
            return
        path = self._file(self.store, subject)
        found = {
            "results": [asdict(result) for result in outcome.results],
            "problems": [problem.as_dict() for problem in outcome.problems],
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with complete_file(path) as stream:
                stream.write(json.dumps(found).encode())
        except OSError as error:
            cure = "name a folder that can be written to"
            raise UsageError(Problem(str(path), "", f"results can't be stored: {error.strerror}", cure)) from None

    def _file(self, store: Path, subject: DescriptionT) -> Path:
        """The path of the results; the name is a hash of everything they depend on."""
        key = repr((__version__, subject, _state(subject), self.plan))
        return store / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _work(read: Callable[[DescriptionT], Subject], plan: StudyPlan, subject: DescriptionT) -> _Done:
    try:
        return _Done(*rank_subject(read(subject), plan))
    except SuspectraError as error:
        return _Done(problems=[error.problem])
    except Exception as error:
        cause = f"it could not be ranked: {type(error).__name__}: {error}"
        return _Done(problems=[Problem(subject.name, "", cause, "check the subject's files; the others went on")])


def _state(subject: Description) -> list[tuple[int, int]]:
    """The times and sizes of a subject's files, which show whether they changed."""
    states = []
    for path in subject.files():
        try:
            found = os.stat(path)
            states.append((found.st_mtime_ns, found.st_size))
        except OSError:
            states.append((0, 0))
    return states
