"""Automated path generation with forced decisions: runs of a failing test in which some come out the other way.

Paths near the failing one are tried in the order of paper 001 (Figure 3). Instead of an input that leads along a path,
the decisions themselves are turned, and the test says whether the run is right, as in predicate switching (Zhang, Gupta
& Gupta 2006). First each decision is turned every time that it is made, then at single times, the last one first; then
several are turned together. Of equally many, the most suspicious ones come first: the first run that passes is then the
one that was to be chosen, and no others have to be made.

What comes of forced decisions is always a run, though of a program with other values than the wanted path has; the two
are compared. So no path has to be feasible. Small sets come first, unless the order of the paper is wanted: depth
first, the first path that turns two of n decisions comes before the second one that turns one, and there are 2^n - 1
sets. A set is left out if, with its earlier decisions turned, the later one has no corresponding event, which is known
from a run that was made before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice

from suspectra.base.english import are, many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_test import BATCH, RepeatedTest
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.paths.distance import distance
from suspectra.paths.generation import TriedPath
from suspectra.paths.path import Path
from suspectra.paths.report import PathReport
from suspectra.paths.searches.search import Nearness, PathSearcher, PathSearchLimits, PathSetting
from suspectra.paths.searches.turned_decisions import MAX_TOGETHER, MAX_WINDOW, TurnableRun, Turns
from suspectra.runs.experiment import Experiment, ExperimentOutcome

TECHNIQUE = "apg-decisions"
"""The name of this technique."""

FIRST_AT_ONCE = 4
"""So many candidates are tried before the first answer is looked at; then twice as many each time."""


@dataclass
class _State:
    """How far a search is."""

    run: TurnableRun  # the failing run
    of_paper: bool = False  # whether the order is that of Figure 3, all sizes mixed
    tried: list[TriedPath] = field(default_factory=list)  # what was tried, in this order
    runs: int = 0  # how many runs there were
    left_out: int = 0  # how many sets were not tried, since one decision keeps another from being made as before
    at_once: int = FIRST_AT_ONCE  # how many candidates are tried before the next answer is looked at

    def __post_init__(self) -> None:
        self.instances: dict[tuple[int, ...], dict[int, int]] = {}
        self._passing: list[set[int]] = []

    @property
    def sizes(self) -> Sequence[int]:
        """How many decisions are turned together, in one round after the other."""
        return (self.run.max_together,) if self.of_paper else range(1, MAX_TOGETHER + 1)

    def candidates(self, size: int) -> Iterator[Turns]:
        """What to turn: single decisions, or sets of them."""
        if self.of_paper:
            near = self.run.nearest_first()
            yield from (one for one in near if not any(passing.issubset(one.distance) for passing in self._passing))
        elif size == 1:
            yield from self.run.singles()
        else:
            yield from self._together(size)

    def _together(self, size: int) -> Iterator[Turns]:
        for positions in self.run.sets(size):
            # whether the last one is made when the others are turned, the run with those has shown
            known = [self.instances.get(positions[:number], {}) for number in range(1, size)]
            instances = [before.get(position, 0) for before, position in zip(known, positions[1:], strict=True)]
            if all(instances):
                yield self.run.turns(positions, [self.run.instance(positions[0]), *instances])
            else:
                self.left_out += 1

    def keep(self, turns: Turns, answer: AlteredRunAnswer, path: Path | None) -> None:
        """Keep how the run with a set ended; larger ones are of no use if the test passes."""
        self.runs += 1
        if not turns.distance:
            return
        taken = answer.outcome is not ExperimentOutcome.NOT_REACHED
        if path is not None:
            taken = taken and {*turns.distance} <= {*distance(self.run.path, path).branches}
        places = tuple(f"{one.file}:{one.line}" for one in map(self.run.place, turns.distance))
        self.tried.append(TriedPath(turns.distance, taken, answer.outcome.repairs, forced=True, places=places))
        if answer.outcome.repairs:
            self._passing.append({*turns.distance})

    @property
    def left(self) -> int:
        """How many candidates are not tried yet, at most."""
        together = self.run.sets_of(self.sizes[-1]) - len(self.run.window)
        return max(self.run.alone + together - self.runs - self.left_out, 0)


class ForcedPaths(PathSearcher):
    """Turns decisions of a failing test until it passes."""

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        self.tried_together = 0  # of how many decisions all sets were tried: 1 once all were turned alone
        self._found: PathReport | None = None
        self._first_condition = ""  # with which the test passes since a check raises no error
        self.is_final = False  # whether a run passes, and not only since a check raises no error in it

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Turn decisions until the test passes. If only a check was left out, other single ones are still tried.

        After each run, and after all decisions were turned alone. The last one says whether the search is complete.

        Raises EvidenceError when two runs of the test differ, or it makes no decision that could be turned.
        """
        test = self.setting.tests[self.setting.test.name]
        path = self.record(test.test, keep=test.repeats).path
        run = TurnableRun(test.trace, path, self.setting.preferred_first)
        state = _State(run, self.setting.options.order is Nearness.LATEST)
        if not len(state.run):
            cause = f"{test.test} makes no decision in the program that could come out the other way"
            cure = "compare its calls with --technique nearest-path, or look for values with `suspectra causes`"
            raise EvidenceError(Problem("", "", cause, cure))
        yield self._report(state, complete=False)
        workspace = self.setting.workspace
        with nullcontext() if workspace is None else ExperimentLog(workspace) as log:
            for size in state.sizes:
                for turns, answer in self._answers(test, state, size, limits):
                    if log is not None and len(turns.switches) == 1:
                        log.add(test.made(turns, answer), test.trace.sources)
                    if answer.outcome.repairs and (self._found is None or not turns.skips_check):
                        self._keep(test, state, turns, answer)
                    if self.is_final:
                        break
                    yield self._report(state, complete=False)
                    if state.runs == limits.candidates:
                        return
                if self._found is not None or not test.complete:
                    break
                self.tried_together = size
                yield self._report(state, complete=False)
        if self.is_final or test.complete:
            yield self._report(state, complete=True)

    def _answers(
        self, test: RepeatedTest, state: _State, size: int, limits: PathSearchLimits
    ) -> Iterator[tuple[Turns, AlteredRunAnswer]]:
        """How the test ends with each set of some size, nearest first, until the time is up."""
        candidates = state.candidates(size)
        while chosen := list(islice(candidates, state.at_once)):
            for turns, answer in test.answers(chosen, limits.end):
                path = self._path(answer)
                if state.of_paper and path is not None and (again := state.run.corrected(turns, path)) != turns:
                    turns, answer = again, test.alone(again.confirmation)
                    path = self._path(answer)
                if path is not None and size < MAX_TOGETHER:
                    # said before larger sets are run: which of them is possible follows from it
                    state.instances[turns.positions] = state.run.instances_in(path)
                state.keep(turns, answer, path)
                yield turns, answer
            if not test.complete:
                return
            state.at_once = min(2 * state.at_once, BATCH)

    def _path(self, answer: AlteredRunAnswer) -> Path | None:
        """The path of a run, None if it was not asked for."""
        return self.setting.paths.path(answer.noted) if "threads" in answer.noted else None

    def _needed(self, test: RepeatedTest, state: _State, turns: Turns) -> tuple[Turns, AlteredRunAnswer]:
        """Leave out what is not needed: in the order of the paper, a decision comes with later ones first."""
        answer = test.alone(turns.confirmation)
        for position in turns.positions if state.of_paper else ():
            fewer = state.run.without(turns, position)
            if len(fewer.switches) and (other := test.alone(fewer.confirmation)).outcome is ExperimentOutcome.PASSED:
                turns, answer = fewer, other
        return turns, answer

    def _keep(self, test: RepeatedTest, state: _State, turns: Turns, answer: AlteredRunAnswer) -> None:
        """Compare the path of a run that passes with the failing one."""
        if "threads" not in answer.noted or len(turns.positions) > 1:
            turns, answer = self._needed(test, state, turns)
        if answer.outcome is not ExperimentOutcome.PASSED:
            return
        failing, paths = state.run.path, self.setting.paths
        path, condition = paths.path(answer.noted), _condition(turns, test.made(turns, answer))
        # with a check out of the way any test passes, so the search goes on for a decision that does more
        skips_check = turns.skips_check or state.run.avoids_check(path)
        if skips_check and self._found is not None:
            return  # of several the first one is reported
        apart = distance(failing, path).branches
        turned = state.run.events_of(turns, apart)
        places = {position: paths.reported(failing, position, not failing.outcome[position]) for position in apart}
        report = tuple(places[position] for position in reversed(turned) if position in places)
        others = len({*apart} - {*turned}) if turns.positions else 0
        notes = tuple(_notes_for(self._first_condition, others, skips_check=skips_check))
        self.is_final = not skips_check
        self._first_condition = condition
        self._found = PathReport(
            TECHNIQUE,
            test.test,
            report,
            None,
            tuple(places.values()),
            0,
            complete=False,
            seconds=0.0,
            summary=f"{test.test} passes {condition}.",
            parts=next(iter(places.values()), None),
            notes=notes,
        )

    def _report(self, state: _State, *, complete: bool) -> PathReport:
        found = self._found or PathReport(
            TECHNIQUE, self.setting.test.name, (), None, (), 0, complete=False, seconds=0.0
        )
        notes = (*found.notes, *self._limits(state, complete=complete))
        return replace(found, candidates=state.runs, complete=complete, notes=notes, tried=tuple(state.tried))

    def _limits(self, state: _State, *, complete: bool) -> Iterator[str]:
        """What was not tried, and why."""
        if state.left_out:
            yield (
                f"{many(state.left_out, 'set')} of decisions {'was' if state.left_out == 1 else 'were'} not tried:"
                " one decision keeps another from being made as before."
            )
        if self.is_final:
            return
        if state.run.in_threads:
            yield "Several threads make decisions, so each was turned only alone."
        elif len(state.run) > MAX_WINDOW:
            yield f"Only the last {MAX_WINDOW} of {len(state.run):,} decisions were turned together."
        if not complete:
            left = many(state.left, "candidate")
            yield f"At most {left} of up to {state.sizes[-1]} decisions {are(state.left)} left: give more seconds."
        elif self._found is None:
            yield (
                f"No decision lets the test pass if it comes out the other way, nor do up to {MAX_TOGETHER} together:"
                " a value is wrong, probably. `suspectra causes` looks for it."
            )


def _condition(turns: Turns, experiment: Experiment) -> str:
    """How decisions come out, as the end of a sentence."""
    if len(turns.switches) > 1:
        return f"if {len(turns.switches)} decisions come out the other way"
    place = f"{experiment.file}:{experiment.line}"
    if experiment.detail:
        return experiment.condition.replace(f"`{experiment.detail}`", f"`{experiment.detail}` at {place}", 1)
    of_loop = experiment.condition.replace("this loop", f"the loop at {place}")
    return of_loop if of_loop != experiment.condition else experiment.condition.replace("this", place, 1)


def _notes_for(before: str, others: int, *, skips_check: bool) -> Iterator[str]:
    """What is to be known about a run that passes; the test may have passed before since a check raised no error."""
    if skips_check:
        yield "This may only keep an error from being raised: then the fault is in what comes before."
    elif before:
        yield f"It passes, too, {before}: no error is raised then. Look there if that check itself is wrong."
    if others:
        verb = "was" if others == 1 else "were"
        yield f"The path is not quite the one that was wanted: {many(others, 'other decision')} {verb} different, too."
