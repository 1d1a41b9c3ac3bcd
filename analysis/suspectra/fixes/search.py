"""The search for fixes: which candidates are run, in which order, and who judges them."""

from __future__ import annotations

import hashlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError, Problem, SuspectraError
from suspectra.changes.units import ChangeUnit
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.inquiry import Inquiry, InquiryProgress, RerunSetup, SuspicionSource
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.run_answers import answer_of
from suspectra.fixes.apart import Apart, apart
from suspectra.fixes.candidate import Candidate, together
from suspectra.fixes.candidates import LEAST_COST, PARTS, needed_values, sites_by_line, stages
from suspectra.fixes.executing_tests import ExecutingTests
from suspectra.fixes.fix import Fix, experiment_with, in_order, overfit
from suspectra.fixes.fix_site import FixSite, FunctionScope
from suspectra.fixes.halves import CandidatePair, Halves, cost
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.jury import Change, Jury
from suspectra.fixes.results import LIKE_ANOTHER, Alike, EqualResults
from suspectra.fixes.search_time import SearchTime
from suspectra.fixes.searched_functions import SearchedFunction, SearchedFunctions
from suspectra.fixes.undoing import undone
from suspectra.fixes.waiting import WaitingCandidates
from suspectra.mutation.excerpt import CodeName, first_line
from suspectra.mutation.scopes import Function
from suspectra.runs.experiment import Experiment

ALL_PARTS = (*PARTS, "pruning", "forks", "pairs", "order")
"""The parts of the search that can be left out, to see what each is worth."""

_FUNCTION_WEIGHT, _STATEMENT_WEIGHT = 0.5, 0.3
"""How much a candidate waits for more suspicious functions, and for more suspicious statements of its function."""

_LOOKED_AT = 2
"""Passing tests in which it is looked whether a fix changes a value."""

_RESULTS_S = 0.5
"""For computing the results of all expressions of a function, at most."""

_BEHIND = 1.0
"""Candidates that cost so much more than a fix would rank far behind it, and are not run."""

_FIRST_CHUNK, _CHUNK = 64, 256
_JUDGED, _JUDGING_S = 16, 2.0
"""Changes that passing tests judge at a time, and for how long at least before the search goes on."""

_APART_S, _APART_SHARE, _TOLD_APART, _APART_JUDGES = 1.5, 0.1, 3, 2
"""For telling the likeliest fixes apart: seconds, or this share of all; how many fixes, and by how many tests."""

_MAX_UNDONE = 500
"""Changes of the user that are undone; a branch may have thousands."""

_LIKELY_PAIRS_FROM, _PAIRS_FROM = 0.4, 0.75
"""The shares of the time after which pairs are tried, first the likely ones, where no single edit does."""

_KEPT_IN_VAIN = 10
"""So many changes of a statement with which the test still fails are kept: more say no more of it."""

_GROUP_S = 5.0
"""For a failure group at least: in less next to nothing can be run."""


@dataclass
class FixInquiry(Inquiry[Fix]):
    """Searches fixes for failing tests, group by group."""

    setup: RerunSetup
    tests: Sequence[FailingTest]
    suspects: SuspicionSource
    notify: Callable[[InquiryProgress], object] = lambda progress: None
    parts: Collection[str] = ALL_PARTS
    most: float = math.inf  # so many fixes of a group are enough
    changes: Callable[[], Iterable[ChangeUnit]] = tuple  # what was changed since the tests passed
    failed_before: Collection[str] = ()  # the tests that these changes did not break
    tried: int = field(default=0, init=False)  # candidates that were run
    # what tells the likeliest fixes of a group apart from the first one, or that from the second
    apart: dict[Fix, Apart] = field(default_factory=dict, init=False)
    pruned: int = field(default=0, init=False)  # and those that would give the same as the program, or as another one
    sources: dict[str, str] = field(default_factory=dict, init=False)  # the digests of those that fixes are for
    _waited: float = field(default=0.0, init=False)  # seconds that do not count

    def steps(self) -> Generator[Fix]:
        """Search, and yield each fix that is found."""
        end = self.begin()
        groups = [
            (number, [name for name in names if self.suspects.reaches(number, name)] or names)
            for number, names in self._groups()
        ]
        complete = True
        with self.setup.folder() as folder:
            for done, (number, names) in enumerate(groups):
                until = time.monotonic() + share_of_time(end + self._waited - time.monotonic(), len(groups) - done)
                if until <= time.monotonic():
                    complete = False
                    self.note([_not_searched([names for _, names in groups[done:]], len(groups))])
                    break
                try:
                    with closing(_GroupSearch(self, folder, number, names, until)) as search:
                        try:
                            for fix in search.fixes():
                                self._keep([*fix.experiments()])
                                yield fix
                        finally:  # it may also be interrupted
                            self._keep(search.in_vain)
                        complete &= search.exhausted
                except TimeIsUp:
                    complete = False
                except EvidenceError as error:
                    complete = False
                    self.note([error.problem])
        self.complete = complete  # a search that is interrupted does not come here

    def by_group(self, fixes: Iterable[Fix]) -> dict[tuple[str, ...], list[Fix]]:
        """The failing tests of each failure group that was asked for, with its fixes, the likeliest first."""
        ordered = in_order(list(fixes))
        groups = (tuple(names) for _, names in self._groups())
        return {names: [one for one in ordered if one.repaired[0] in names] for names in groups}

    def _groups(self) -> list[tuple[int, list[str]]]:
        """The failure groups that were asked for, each with its number; those first that the changes broke."""
        wanted = {test.name for test in self.tests}
        groups = [
            (number, names)
            for number, tests in enumerate(self.suspects.groups)
            if (names := [name for name in tests if name in wanted])
        ]
        return sorted(groups, key=lambda group: all(name in self.failed_before for name in group[1]))

    def put_off(self, seconds: float) -> None:
        """Do not count some seconds: the tests were starting."""
        self._waited += seconds
        self._began += seconds

    def _keep(self, made: Sequence[Experiment]) -> None:
        """Add what was tried to the evidence of the workspace, where it counts as long as the sources are these."""
        if not made:
            return
        if not self.sources:
            read = SourceReader(self.setup.workspace)
            texts = {path: read(path) for path in {*self.suspects.digests, *(test.file for test in self.tests)}}
            known = {path: text for path, text in texts.items() if text is not None}
            self.sources = {path: hashlib.sha256(text).hexdigest() for path, text in known.items()}
        try:
            with ExperimentLog(self.setup.workspace) as log:
                for experiment in made:
                    log.add(experiment, self.sources)
        except SuspectraError as error:  # the fix is one all the same
            self.note([error.problem])


def share_of_time(left: float, groups: int) -> float:
    """How many of the seconds that are left a group gets, of so many groups that are left; 0 where it is not worth it.

    Half for the first one: what several have to share is enough for none.
    """
    if left < _GROUP_S / 2:
        return max(left, 0.0) if groups == 1 else 0.0
    return min(max(left / groups, left / 2, _GROUP_S), left)


def _not_searched(groups: Sequence[Sequence[str]], count: int) -> Problem:
    cause = f"no changes were tried for {len(groups)} of {count} failure groups: the time was up"
    return Problem("", "", cause, f"name a test of such a group, such as {groups[0][0]}, or allow more seconds")


class _GroupSearch:
    """The search for one failure group."""

    def __init__(self, inquiry: FixInquiry, folder: Path, group: int, names: Sequence[str], end: float):
        self._inquiry, self._group, self._names = inquiry, group, names
        self._time = SearchTime(end)
        spectrum = inquiry.suspects.spectrum(group)
        failed = spectrum.failed.tolist()
        passing = [test for test, fails in zip(spectrum.tests, failed, strict=True) if not fails]
        self._halves = Halves()
        self._jury = Jury(
            inquiry.setup.repeated(folder, inquiry.tests, ("mutant", "results"), passing),
            names,
            ExecutingTests(spectrum),
            self._halves,
            self._time,
            seconds=inquiry.suspects.seconds,
            forks="forks" in inquiry.parts,
            note=inquiry.note,
        )
        self._first: JudgingTest
        self._functions: SearchedFunctions
        self._waiting = WaitingCandidates()
        self._equal: dict[tuple[str, Function], EqualResults] = {}
        self._pending: list[Change] = []  # failing tests pass with these; others have not judged all
        self._judging_s = 0.0
        self._found = 0
        self._best = math.inf  # what the first fix cost
        self._vain: dict[tuple[str, int], list[Experiment]] = defaultdict(list)
        self.exhausted = False

    @property
    def in_vain(self) -> list[Experiment]:
        """Some of what was tried at each statement, and the first failing test still fails."""
        return [one for several in self._vain.values() for one in several]

    def close(self) -> None:
        """End all processes."""
        self._jury.close()

    def fixes(self) -> Iterator[Fix]:
        """Run candidates until the time is up."""
        reserve_s = min(_APART_S, _APART_SHARE * self._time.left)
        self._time.end -= reserve_s
        found = []
        for fix in self._search():
            found.append(fix)
            yield fix
        self._time.end += reserve_s
        if len(found) > 1:
            self._tell_apart(in_order(found)[:_TOLD_APART], reserve_s)

    def _tell_apart(self, fixes: Sequence[Fix], seconds: float) -> None:
        first, *others = fixes
        started = [*self._jury.failing, *self._jury.passing]
        judges = [self._first, *(one for one in started if one is not self._first)]
        for other in others:
            told = apart(first, other, judges[:_APART_JUDGES], seconds / len(others))
            if told is not None:
                self._inquiry.apart.setdefault(first, told)
                self._inquiry.apart[other] = told.reversed()

    def _start(self) -> JudgingTest | None:
        """Start the tests, which is not counted as long as it takes no more time than there is for the search."""
        began = time.monotonic()
        most = self._time.left
        self._time.end += most
        try:
            return self._jury.quickest()
        except TimeIsUp:
            cause = f"the tests took {time.monotonic() - began:.0f} s to start, which is all the time that there was"
            self._inquiry.note([Problem("", "", cause, "allow more with --seconds")])
            raise
        finally:
            took = time.monotonic() - began
            self._time.end -= max(most - took, 0.0)
            self._inquiry.put_off(min(took, most))

    def _search(self) -> Iterator[Fix]:
        first = self._start()
        if first is None:
            return
        self._first = first
        first.hurry(self._time.end)
        waiting = self._waiting
        inquiry = self._inquiry
        self._functions = SearchedFunctions(inquiry.suspects, self._group, len(self._names), inquiry.note)
        self._put_undone()
        self._put_needed()
        self._put_functions()
        self._time.began = time.monotonic()
        size, likely = _FIRST_CHUNK, False
        while not self._time.is_up:
            check()
            if self._found >= inquiry.most:
                return
            share = self._time.share
            if share >= _LIKELY_PAIRS_FROM and not likely:
                likely = True
                yield from self._likely_pairs()
            late = share >= _PAIRS_FROM and not self._found and "pairs" in inquiry.parts
            taken = [] if late or waiting.cost > self._best + _BEHIND else waiting.take(size, self._time.end)
            size = _CHUNK
            if not taken and self._pending:
                yield from self._judged(())
                continue
            if not taken:
                yield from self._pairs()
                self.exhausted = not self._time.is_up and not late and not waiting.forgot
                return
            new, passing = self._sorted(taken)
            for fix in self._judged([(one,) for one in new], passing):
                if not (fix.for_tests or fix.hides or fix.compares):
                    self._best = min(self._best, waiting.cost + sum(map(overfit, fix.candidates)))
                yield fix
        # more tests execute these than there was time for
        yield from self._confirmed([one for one in self._pending if self._jury.keepers(one)][:_JUDGED])

    # which candidates, in which order

    def _put_functions(self) -> None:
        ordered = "order" in self._inquiry.parts
        functions = self._functions.all
        ranks = _middle_ranks([one.suspicion for one in functions])
        for number, (rank, function) in enumerate(zip(ranks, functions, strict=True)):
            waits = _FUNCTION_WEIGHT * math.log2(1 + rank) if ordered else float(number)
            self._waiting.put(waits + (LEAST_COST if ordered else 0.0), partial(self._stages, waits, function))

    def _put_undone(self) -> None:
        """Let the changes of the user be undone before anything else, one by one."""
        by_file: dict[str, list[FunctionScope]] = defaultdict(list)
        for one in self._functions.all:
            by_file[one.file].append(one.scope)
        for unit in islice(self._inquiry.changes(), _MAX_UNDONE):
            if unit.file in by_file:
                self._waiting.put(LEAST_COST, partial(undone, unit.file, unit, by_file[unit.file]))

    def _put_needed(self) -> None:
        """Let constants be what experiments have shown to be needed, before anything else."""
        needed = self._inquiry.suspects.needed(self._group)
        for one in self._functions.all:
            for line in one.lines.keys() & {line for file, line in needed if file == one.file}:
                for places in sites_by_line(one.scope, {line}.__contains__).values():
                    for draft in needed_values(one.file, places, needed[one.file, line]):
                        self._waiting.put(draft.cost, draft.write)

    def _stages(self, waits: float, function: SearchedFunction) -> None:
        """Let the templates of a function wait for their turns."""
        file, scope, lines = function
        by_suspicion = sorted(lines, key=lambda line: -lines[line])
        ranks = _middle_ranks([lines[line] for line in by_suspicion])
        more = {line: _STATEMENT_WEIGHT * math.log2(1 + rank) for rank, line in zip(ranks, by_suspicion, strict=True)}
        for line, places in sites_by_line(scope, lines.__contains__).items():
            if "order" in self._inquiry.parts:
                own = waits + more[line]
                self._waiting.put(own + LEAST_COST, partial(self._statement, own, file, places))
            else:
                for stage in stages(file, places, self._inquiry.parts):
                    self._waiting.put(waits, partial(self._waiting.put_drafts, waits, stage, costs=False))

    def _statement(self, waits: float, file: str, places: Sequence[FixSite]) -> None:
        """The same for a statement: most of a long function are never come to."""
        for stage in stages(file, places, self._inquiry.parts):
            self._waiting.put(waits + stage.least, partial(self._waiting.put_drafts, waits, stage))

    def _sorted(self, taken: Sequence[Candidate | Alike]) -> tuple[list[Alike], list[Candidate]]:
        """Those of which one has to be run, and those that the failing test is known to pass with.

        The likeliest first.
        """
        new, passing = [one for one in taken if isinstance(one, Alike)], []
        place = {id(one.members[0] if isinstance(one, Alike) else one): number for number, one in enumerate(taken)}
        by_function: dict[tuple[str, Function], list[Candidate]] = defaultdict(list)
        for one in taken:
            if isinstance(one, Candidate):
                by_function[one.file, one.functions[-1]].append(one)
        for (file, function), several in by_function.items():
            if "pruning" not in self._inquiry.parts:
                new += [Alike([one]) for one in several]
                continue
            if (file, function) not in self._equal:
                self._equal[file, function] = EqualResults(self._first, file, _names(several[0].functions))
            found = self._equal[file, function].sort(several, _RESULTS_S)
            self._inquiry.pruned += found.pruned
            new += found.new
            passing += found.passing
            for more, alike in found.later:
                self._waiting.put_again(more, alike)
        new.sort(key=lambda alike: place[id(alike.members[0])])
        return new, passing

    # what tests say about them

    def _judged(self, chunk: Sequence[tuple[Alike, ...]], accepted: Sequence[Candidate] = ()) -> Iterator[Fix]:
        """Run one of each with the failing tests, then all that are like those that pass with the others.

        With those in `accepted` the first failing test is known to pass.
        """
        left = [*self._pending, *((one,) for one in accepted), *self._passing_first(chunk)]
        # all that execute a function may take longer than all other changes
        left = sorted(self._jury.repairing(left, self._first), key=cost)
        left, self._pending = left[:_JUDGED], left[_JUDGED:]
        began = time.monotonic()
        least = max(_JUDGING_S, began - self._time.began - self._judging_s)
        left, undecided = self._jury.keeping(left, began + least if chunk else self._time.end)
        self._pending += undecided
        left = self._jury.keeping_widely(left)
        self._judging_s += time.monotonic() - began
        yield from self._confirmed(left)

    def _passing_first(self, chunk: Sequence[tuple[Alike, ...]]) -> Iterator[Change]:
        """Those with which the first failing test passes, and all that are like them."""
        chosen = [tuple(alike.members[0] for alike in one) for one in chunk]
        answers = self._first.accepts([together(one) for one in chosen], self._time.end)
        self._inquiry.tried += sum(answer is not None for answer in answers)
        self._report(self._first.name)
        for change, several, answer in zip(chosen, chunk, answers, strict=True):
            if answer is None:
                continue
            passes = answer["outcome"] == "passed"
            if len(several) > 1:
                if passes:
                    yield change
                continue
            (alike,) = several
            alike.passes = passes
            if passes:
                yield from ((one,) for one in alike.members)
                continue
            self._halves.refused_by_first(change[0])
            vain = self._vain[change[0].file, change[0].line]
            if len(vain) < _KEPT_IN_VAIN:
                vain.append(experiment_with(change[0], self._first.name, answer_of(answer).outcome))
            if self._first.changed(answer):
                self._halves.fails_otherwise(change[0])
                # it may come to the place again, after the check that failed
                for other in alike.others():
                    self._inquiry.pruned -= 1
                    self._waiting.put_again(LIKE_ANOTHER, Alike([other]))

    def _confirmed(self, accepted: Sequence[Change]) -> Iterator[Fix]:
        """Those of changes that tests accept with which the failing ones pass in processes of their own, too."""
        jury, functions = self._jury, self._functions
        for one in sorted(accepted, key=cost):
            if not jury.confirms(one):
                continue
            self._found += 1
            kept, executing = jury.keepers(one), jury.executing(one)
            yield Fix(
                one,
                tuple(judge.name for judge in jury.failing),
                len(jury.failing) + len(kept),
                rank=functions.rank(one[0].file, one[0].line),
                changes=self._share_changed(one, [judge for judge in jury.passing if judge.name in executing]),
                kept=kept,
                for_tests=any(functions.are_for_tests(other.file) for other in one),
                unjudged=len(executing.difference(kept)),
                checked=jury.are_checked(one),
            )

    def _share_changed(self, one: Change, passing: Sequence[JudgingTest]) -> float:
        """In which share of some tests that pass with a change it gives another value than the program."""
        candidate, looked_at = one[0], passing[:_LOOKED_AT]
        if len(one) > 1 or not candidate.new or self._time.is_up:
            return 0.0
        names = _names(candidate.functions)
        found = [EqualResults(judge, candidate.file, names).is_other(candidate, _RESULTS_S) for judge in looked_at]
        return sum(found) / max(len(found), 1)

    def _report(self, name: str) -> None:
        inquiry = self._inquiry
        inquiry.notify(
            InquiryProgress(name, self._group + 1, len(inquiry.suspects.groups), inquiry.tried, inquiry.share)
        )

    # two edits together

    def _pairs(self) -> Iterator[Fix]:
        """Pairs of edits that repair some tests, or change how one fails, if no single edit does."""
        yield from self._likely_pairs()
        if self._pairs_are_due:
            yield from self._tried_together(self._halves.any_two())

    def _likely_pairs(self) -> Iterator[Fix]:
        """The same change at two places, and two of which each repairs a part of the tests."""
        if self._pairs_are_due:
            yield from self._tried_together(self._halves.twice_the_same())
        if self._pairs_are_due:
            yield from self._tried_together(self._halves.each_for_a_part(self._time.end))

    @property
    def _pairs_are_due(self) -> bool:
        return not self._found and "pairs" in self._inquiry.parts

    def _tried_together(self, pairs: Sequence[CandidatePair]) -> Iterator[Fix]:
        new = self._halves.new(pairs)
        while self._pairs_are_due and not self._time.is_up and (chunk := [*islice(new, _CHUNK)]):
            yield from self._judged([(Alike([one]), Alike([two])) for one, two in chunk])


def _middle_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each of falling values, from 0; of equal ones the middle, as none of them has to wait for another."""
    first = {value: rank for rank, value in reversed(list(enumerate(values)))}
    last = {value: rank for rank, value in enumerate(values)}
    return [(first[value] + last[value]) / 2 for value in values]


def _names(functions: Sequence[Function]) -> list[CodeName]:
    return [CodeName(getattr(one, "name", "<lambda>"), first_line(one)) for one in functions]
