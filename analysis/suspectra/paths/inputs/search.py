"""Inputs with which a failing test passes, along the paths nearest to the failing one (paper 001, `generatePaths`).

The arguments of the test, or of the call that it makes of the program, become symbols. A path is wanted in which some
decisions come out the other way; a solver proposes an input for it, and a run shows which path that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial

import numpy as np

from suspectra.base.english import enumeration
from suspectra.base.errors import EvidenceError, Problem
from suspectra.causes.solver import SmtSolver, is_available
from suspectra.dependences.exploration import Constraint, Values
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.unusable_tests import require_recorded_failure, unusable
from suspectra.paths.distance import parting
from suspectra.paths.generation import PathSearch, TriedPath, sets_of_branches
from suspectra.paths.inputs.domains import domain, fixed
from suspectra.paths.inputs.oracle import judges_any_input
from suspectra.paths.inputs.steering import Steering, Wanted
from suspectra.paths.inputs.tried_input import TriedRun, input_job
from suspectra.paths.report import PathReport
from suspectra.paths.searches.nearest_path import compare
from suspectra.paths.searches.search import Nearness, PathSearcher, PathSearchLimits, PathSetting
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.messages import CallByTest, RunRequest

MAX_TURNED = 3
"""Decisions that come out differently in a path, if suspicious ones are tried first."""

MAX_CANDIDATES = 150
"""Paths that are tried in that order."""

MAX_QUESTIONS = 5
"""Questions to the user about one failure."""

MAX_EVENTS = 20_000
"""Decisions of a run."""

VARIANTS = 3
"""Inputs for one path."""

_LOOPS = frozenset({"while", "for"})
_EXTRA_S = 5.0
"""How much longer than twice the failing run another input may take: where other programs take all processors, a run of
milliseconds waits for seconds. Loops are ended by `MAX_EVENTS` before that."""


class InputSearch(PathSearcher):
    """Searches for an input with which a failing test passes."""

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        self.failing: TriedRun | None = None  # the run with the failing input, once that is known
        self.found: TriedRun | None = None  # the run with the other input, if one was found
        self._call, self._drawn, self._seconds = -1, "", TRACE_S
        self._whole = False  # whether the program raises an exception only after the call
        self._strategies: Mapping[str, str] = {}
        self._asked = 0
        self._tried: list[TriedPath] = []
        self._single: dict[int, bool] = {}  # whether an input turns a decision alone, of those that were tried
        self._answers: dict[str, bool | None] = {}

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Try one path after the other, `MAX_CANDIDATES` unless another limit is set.

        Raises EvidenceError when the solver is missing, nothing in the input can be changed, or nobody knows what is
        right for others.
        """
        if not is_available():
            cause = "inputs are found by a solver that is not installed"
            raise EvidenceError(Problem("", "", cause, "pip install 'suspectra[smt]'"))
        with ThreadPoolExecutor(1) as loading:  # that takes about as long as to collect the tests
            loaded = loading.submit(SmtSolver)
            failing = self.failing = self._failing()
        yield self._report(failing, None, [], complete=False)
        near, solver = failing.parts, loaded.result()
        stays = fixed(self._strategies)
        kept = [
            (("==", ("symbol", name, "float" if kind == "float" else "int"), value), True)
            for name, kind, value in failing.input["parts"]
            if name.partition("[")[0] in stays
        ]
        within = [*domain(failing.input["parts"], self._strategies), *kept]
        steering = Steering(
            partial(self._run, symbolic=True),
            lambda constraints, places: solver.alternatives(constraints, places, near, within),
            failing,
            lambda: limits.over,
        )
        branches = self._branches(failing)
        notes = self._notes_of_input(failing, stays)
        judge = _InputJudge(self, steering, failing, branches, lambda some: solver.contradict([*within, *some]))
        found = None
        of_paper = self.setting.options.order is not Nearness.FEWEST
        most, left = limits.candidates or (None if of_paper else MAX_CANDIDATES), False
        for tried, found in self._candidates(failing, branches, judge, limits, of_paper=of_paper):
            self._tried.append(tried._replace(places=self._places(failing, tried.turned)))
            if found is not None or limits.over or self._is_tired:
                break
            if left := len(self._tried) == most:
                break
            yield self._report(failing, None, notes, complete=False)
        self.found = found
        complete = found is not None or not (limits.over or left or self._is_tired)
        if left and found is None:
            notes.append(f"The first {most} paths were tried, and there are more: it may be another one.")
        if self._is_tired:
            notes.append(f"No more than {MAX_QUESTIONS} questions are asked about one failure.")
        rest = [branch for branch in branches if branch not in self._single]
        stuck = len(branches) - sum(self._single.values()) - steering.changeable(rest)
        if stuck:
            notes.append(
                f"{stuck} of {_decisions(len(branches))} can't be changed by any input that goes the same way."
            )
        yield self._report(failing, found, notes, complete=complete)

    def job(self, run: TriedRun) -> RunRequest:
        """The input of a run, with plain values."""
        assert self.failing is not None
        return self._job(self._changes(self.failing, run), symbolic=False)

    # the failing run

    def _failing(self) -> TriedRun:
        """The run with the failing input as symbols."""
        name = self.setting.test.name
        watched = self._run({})
        if watched is None or watched.answer.outcome is not ExperimentOutcome.FAILED:
            outcome = ExperimentOutcome.CRASHED if watched is None else watched.answer.outcome
            raise unusable(name, outcome, seconds=TRACE_S, decisions=MAX_EVENTS)
        require_recorded_failure(name, self.setting.test.exception, watched.answer)
        self._seconds = 2 * watched.answer.seconds + _EXTRA_S
        self._call = self._call_to_change(watched)
        plain = self._run({})
        if plain is not None and self._call and plain.input["raised"] and plain.input["returned"]:
            self._whole = True
            plain = self._run({})
        failing = self._run({}, symbolic=True)
        if plain is None or failing is None or failing.answer.outcome is not ExperimentOutcome.FAILED:
            cause = f"{name} does not fail any more when it is run alone with the same input"
            raise EvidenceError(Problem("", "", cause, "let it not depend on time, chance or what ran before"))
        if not failing.parts:
            raise EvidenceError(self._nothing_symbolic(failing))
        if (where := self._parting(plain, failing)) is not None:
            # a function that keeps its results (`lru_cache`) takes another path the second time in a process
            again = self._run({})
            if again is None or self._parting(plain, again) is not None:
                cause = f"two runs of {name} take different paths, from {where} on"
                cure = "let it not depend on time, chance, threads or what ran before"
            else:
                cause = f"{name} takes another path from {where} on when its input can be changed"
                cure = "compare types by isinstance: what can be changed is of a class derived from int, float or str"
            raise EvidenceError(Problem("", "", cause, cure))
        # where nothing is raised, only somebody can say whether another result is right
        if self._call and not failing.input["raised"] and self.setting.options.ask is None:
            cause = f"no test knows what is right for another input of {failing.input['function']}"
            cure = "use --ask to judge outcomes yourself, or compare with a reference function in a parametrized test"
            raise EvidenceError(Problem("", "", cause, cure))
        return failing

    def _places(self, failing: TriedRun, turned: Sequence[int]) -> tuple[str, ...]:
        """Where events of the failing run are."""
        places = [self.setting.paths.places[int(failing.path.statement[one])].location for one in turned]
        return tuple(f"{place.file}:{place.line}" for place in places)

    def _parting(self, run: TriedRun, other: TriedRun) -> str | None:
        """The place where two runs part, None if they take the same path."""
        differs = parting(run.path, other.path)
        if differs is None:
            return None
        path, position = (run.path, differs.position) if differs.position < len(run.path) else (other.path, -1)
        return self.setting.paths.places[int(path.statement[position])].location.short

    def _call_to_change(self, watched: TriedRun) -> int:
        """Which call gets other inputs: the test itself if it knows for any what is right, or else its last one.

        Where no exception shows what is wrong, the result must: that of a setter or a constructor shows nothing.
        """
        name = self.setting.test.name
        if watched.input["strategies"]:
            self._drawn, self._strategies = watched.input["drawn"], watched.input["strategies"]
            if not self._drawn:
                cause = f"{name} draws values that can't be written down, so it can't be run with others"
                raise EvidenceError(Problem("", "", cause, "draw numbers, texts and lists, and make the rest of them"))
            return 0
        read = SourceReader(self.setting.tests.machine(name).workspace)
        parameters = watched.input["parameters"]
        if parameters and judges_any_input(read(self.setting.test.file) or b"", name, parameters):
            return 0
        calls, raised = watched.input["calls"], watched.input["raised"]
        with_parts = [number for number, call in enumerate(calls, 1) if call["parts"]]
        judged = [number for number in with_parts if raised or calls[number - 1]["gives"]]
        if not judged:
            raise EvidenceError(_nothing_judged(name, [calls[number - 1] for number in with_parts], calls))
        return judged[-1]

    def _nothing_symbolic(self, failing: TriedRun) -> Problem:
        listed = [f"{name} is of type {kind}" for name, kind in failing.input["unsupported"].items()]
        cause = f"only numbers, truths and texts can be changed, also in lists, tuples and dicts: {enumeration(listed)}"
        return Problem("", "", cause, "test a function that takes such values")

    def _branches(self, failing: TriedRun) -> list[int]:
        """The decisions that may come out differently: no loops, as in the paper, and none before the call."""
        places, path = self.setting.paths.places, failing.path
        begin = max(failing.input["begin"], 0)
        return [
            position
            for position in range(begin, len(path))
            if path.is_branch[position] and places[int(path.statement[position])].kind not in _LOOPS
        ]

    def _candidates(
        self,
        failing: TriedRun,
        branches: Sequence[int],
        judge: _InputJudge,
        limits: PathSearchLimits,
        *,
        of_paper: bool,  # the order of Figure 3; otherwise few decisions first, and then suspicious ones
    ) -> Iterator[tuple[TriedPath, TriedRun | None]]:
        """Try the paths, one after the other."""
        depends_on = failing.path.depends_on.tolist()
        if of_paper:
            yield from PathSearch(depends_on, branches, judge, lambda: limits.over).candidates()
            return
        places = self.setting.paths.places
        by_branch = {branch: places[int(failing.path.statement[branch])].location for branch in branches}
        preferred_last = sorted(
            branches, key=lambda one: self.setting.preferred_first(by_branch[one].file, by_branch[one].line)
        )
        for size in range(1, MAX_TURNED + 1):
            for turned in sets_of_branches(depends_on, preferred_last, size, size):
                if limits.over:
                    return
                yield judge.tried(turned)

    # other runs

    def _run(self, given: Values, *, symbolic: bool = False) -> TriedRun | None:
        """Run the test with an input, in a process of its own: caches that another run has filled change the path."""
        name = self.setting.test.name
        job = self._job(given, symbolic=symbolic)
        (answer,) = self.setting.tests.machine(name).ask(name, [job], steps=MAX_EVENTS, seconds=self._seconds)
        return TriedRun.from_answer(answer, self.setting.paths)

    def _job(self, given: Values, *, symbolic: bool) -> RunRequest:
        return input_job(given, self._call, self._drawn, symbolic=symbolic, whole=self._whole)

    def along(
        self, steering: Steering, failing: TriedRun, turned: tuple[int, ...]
    ) -> tuple[TriedPath, TriedRun | None]:
        """A run that passes along a path, with plain values: symbols have shown which inputs take it."""
        wanted, feasible = Wanted(failing.path, turned), False
        if len(turned) == 1:
            self._single[turned[0]] = False
        for number, run in enumerate(steering.runs(turned), 1):
            feasible = True
            if len(turned) == 1:
                self._single[turned[0]] = True
            if self._is_right(run, failing):
                again = self._run(self._changes(failing, run))
                if again is not None and wanted.is_path_of(again) and self._is_right(again, failing):
                    return TriedPath(turned, feasible=True, successful=True), again
            if number == VARIANTS or self._is_tired:
                break
        return TriedPath(turned, feasible, successful=False), None

    @staticmethod
    def _changes(failing: TriedRun, run: TriedRun) -> Values:
        return {name: value for name, value in run.parts.items() if value != failing.parts[name]}

    def _is_right(self, run: TriedRun, failing: TriedRun) -> bool:
        """Whether the outcome is right: the test says so, the exception is gone, or the user says so."""
        if not self._call:
            return run.passes and not run.rejected
        if failing.input["raised"]:
            return not run.input["raised"] and run.answer.outcome in (
                ExperimentOutcome.PASSED,
                ExperimentOutcome.FAILED,
            )
        call = f"{run.input['function']}({run.in_words})"
        if run.input["returned"]:
            ends = f"gives {run.input['result']}"
        elif run.input["raised"]:
            ends = f"raises {run.answer.exception}"
        else:
            ends = "raises an exception, which the test catches"
        question = f"{call} {ends}: right?"
        if question not in self._answers and not self._is_tired and self.setting.options.ask is not None:
            self._asked += 1
            self._answers[question] = self.setting.options.ask(question)
        return self._answers.get(question) is True

    @property
    def _is_tired(self) -> bool:
        return self._asked >= MAX_QUESTIONS

    # what is known

    def _notes_of_input(self, failing: TriedRun, stays: dict[str, str]) -> list[str]:
        notes = [f"{name} is drawn by {text}, so it stays as it is." for name, text in stays.items()]
        listed = [f"{name} ({kind})" for name, kind in failing.input["unsupported"].items()]
        if listed:
            notes.append(f"What has no number, truth or text inside stays as it is: {enumeration(listed)}.")
        return notes

    def _report(self, failing: TriedRun, found: TriedRun | None, notes: Sequence[str], *, complete: bool) -> PathReport:
        technique, test = "apg-inputs", self.setting.test.name
        count, tried = len(self._tried), tuple(self._tried)
        if found is None:
            return PathReport(technique, test, (), None, (), count, complete, 0.0, notes=tuple(notes), tried=tried)
        near = compare(failing.path, found.path, self.setting.paths, test)
        return PathReport(
            technique,
            test,
            near.report,
            found.in_words,
            near.differences,
            count,
            complete,
            0.0,
            self._summary(failing, found),
            near.parts,
            tuple(notes),
            tried=tried,
        )

    def _summary(self, failing: TriedRun, found: TriedRun) -> str:
        before, after = failing.input["arguments"], found.input["arguments"]
        changed = [name for name in before if after[name] != before[name]]
        old = ", ".join(f"{name} = {before[name]}" for name in changed)
        new = ", ".join(f"{name} = {after[name]}" for name in changed)
        who = found.input["function"] or self.setting.test.name
        return f"{who} fails with {old}, and passes {self._how_far(failing, found, changed)} {new}."

    def _how_far(self, failing: TriedRun, found: TriedRun, changed: Sequence[str]) -> str:
        """``from`` if the number next to it, nearer to the failing one, still fails; or else ``with``."""
        changes = self._changes(failing, found)
        asks = self._call and not failing.input["raised"]
        if len(changes) != 1 or asks or next(iter(changes)) != changed[0]:
            return "with"
        ((name, value),) = changes.items()
        old = failing.parts[name]
        if not isinstance(value, int) or not isinstance(old, int) or abs(value - old) < 2:
            return "with"
        nearer = self._run({name: value - 1 if value > old else value + 1})
        return "with" if nearer is None or self._is_right(nearer, failing) else "from"


class _InputJudge:
    """Judges paths by what the failing run has asked of symbols.

    The values before a turned branch are taken as the failing run has computed them. The paper takes them for unknown:
    it leaves out fewer paths.
    """

    def __init__(
        self,
        search: InputSearch,
        steering: Steering,
        failing: TriedRun,
        branches: Sequence[int],
        contradict: Callable[[Sequence[Constraint]], bool],
    ):
        self._search, self._steering, self._failing = search, steering, failing
        self._contradict = contradict
        self._asked: dict[int, list[Constraint]] = {}
        for place, constraint in zip(failing.positions, failing.constraints, strict=True):
            self._asked.setdefault(place, []).append(constraint)
        self._branches = branches

    @cached_property
    def _changing(self) -> set[int]:
        """Statements whose decisions may ask no symbol, but come out differently where one that does is turned."""
        return self._steering.changed(self._branches)

    def may_end(self, turned: tuple[int, ...], begin: int) -> bool:
        """Whether the constraints from an event on are compatible, the turned ones negated."""
        statement = self._failing.path.statement
        if any(place not in self._asked and int(statement[place]) not in self._changing for place in turned):
            return False
        free = np.zeros(len(self._failing.path), bool)
        for place in turned:
            free |= self._failing.path.dependents(place)
        wanted: list[Constraint] = []
        for place, constraints in self._asked.items():
            if place < begin or (0 <= place < len(free) and free[place]):
                continue
            if place not in turned:
                wanted += constraints
            elif len(constraints) == 1:  # of several, it may be any that comes out the other way
                ((term, truth),) = constraints
                wanted.append((term, not truth))
        return not self._contradict(wanted)

    def tried(self, turned: tuple[int, ...]) -> tuple[TriedPath, TriedRun | None]:
        """Look for an input; none is there if what comes before the first turned decision does not let it turn."""
        if turned[0] not in self._asked or not self.may_end(turned, -1):
            return TriedPath(turned, feasible=False, successful=False), None
        return self._search.along(self._steering, self._failing, turned)


def _nothing_judged(test: str, with_parts: Sequence[CallByTest], calls: Sequence[CallByTest]) -> Problem:
    if with_parts:
        cause = f"{_functions(with_parts, 'returns', 'return')} nothing that shows whether another input is right"
        cure = "call from the test, with plain values, a function that returns what is tested"
        return Problem("", "", cause, cure)
    cause = f"{test} calls no function of the program with a number or a text"
    if calls:
        cause += f": {_functions(calls, 'gets', 'get')} values of other types, or default values alone"
    return Problem("", "", cause, "call what is tested from the test itself, with plain values")


def _functions(calls: Sequence[CallByTest], one: str, several: str) -> str:
    """The functions that were called, with what they all do."""
    names = list(dict.fromkeys(call["function"] for call in calls))
    return f"{enumeration(names)} {one if len(names) == 1 else several}"


def _decisions(count: int) -> str:
    return "1 decision" if count == 1 else f"{count} decisions"
