"""The search for fixes: which candidates are run, in which order, and who judges them."""

from __future__ import annotations

import ast
import hashlib
import heapq
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, count, islice, product
from pathlib import Path

import numpy as np

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError, Problem, SuspectraError
from suspectra.changes.units import ChangeUnit
from suspectra.evidence.sources import SourceReader
from suspectra.evidence.test_code import TestCode
from suspectra.experiments.inquiry import Inquiry, InquiryProgress, RerunSetup, SuspicionSource
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.fixes.apart import Apart, apart
from suspectra.fixes.candidate import Candidate, together
from suspectra.fixes.candidates import LEAST_COST, PARTS, Stage, sites_by_line, stages
from suspectra.fixes.executing_tests import ExecutingTests
from suspectra.fixes.fix import Fix, in_order
from suspectra.fixes.fix_site import FixSite, FunctionScope, definitions, scopes
from suspectra.fixes.helper_modules import helper_modules
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.results import LIKE_ANOTHER, Alike, EqualResults
from suspectra.fixes.undoing import undone
from suspectra.mutation.excerpt import CodeName, first_line
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.mutation.scopes import Function
from suspectra.spectrum import Spectrum

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

_WIDELY_S = 2.0
"""For letting the other tests of a function judge, too, which its change hardly reaches."""

_COMPARED, _COMPARING_SHARE = 12, 0.03
"""Failing tests of which the quickest is the first judge, and the share of the time for looking at them."""

_MAX_HANGING = 2
"""Tests that hang, after which no other one is looked for: each takes seconds to be known as such."""

_APART_S, _APART_SHARE, _TOLD_APART, _APART_JUDGES = 1.5, 0.1, 3, 2
"""For telling the likeliest fixes apart: seconds, or this share of all; how many fixes, and by how many tests."""

_MAX_WAITING = 200_000
"""Drafts that wait at a time: more than are run in minutes, and each takes half a kilobyte."""

_MAX_REFUSED = 1_000
"""Edits that are tried with another test, if some edits repair a part of the tests."""

_MAX_PAIRED, _MAX_ALIKE, _MAX_PAIRS = 40, 6, 1_000
"""Edits of which any two are tried together, places of which any two get the same edit, and so many pairs at most."""

_MAX_UNDONE = 500
"""Changes of the user that are undone; a branch may have thousands."""

_LIKELY_PAIRS_FROM, _PAIRS_FROM = 0.4, 0.75
"""The shares of the time after which pairs are tried, first the likely ones, where no single edit does."""

_GROUP_S = 5.0
"""For a failure group at least: in less next to nothing can be run."""

_Executing = Callable[[Candidate], Collection[str]]
"""The passing tests that execute what a candidate changes."""

_UNPARSABLE = (SyntaxError, ValueError, RecursionError)


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
    tried: int = field(default=0, init=False)  # candidates that were run
    # what tells the likeliest fixes of a group apart from the first one, or that from the second
    apart: dict[Fix, Apart] = field(default_factory=dict, init=False)
    pruned: int = field(default=0, init=False)  # and those that would give the same as the program, or as another one
    sources: dict[str, str] = field(default_factory=dict, init=False)  # the digests of those that fixes are for
    _waited: float = field(default=0.0, init=False)  # seconds that do not count

    def steps(self) -> Generator[Fix]:
        """Search, and yield each fix that is found."""
        end = self.begin()
        wanted = {test.name for test in self.tests}
        groups = [
            (number, [name for name in names if self.suspects.reaches(number, name)] or names)
            for number, tests in enumerate(self.suspects.groups)
            if (names := [name for name in tests if name in wanted])
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
                        for fix in search.fixes():
                            self._keep(fix)
                            yield fix
                        complete &= search.exhausted
                except TimeIsUp:
                    complete = False
                except EvidenceError as error:
                    complete = False
                    self.note([error.problem])
        self.complete = complete  # a search that is interrupted does not come here

    def by_group(self, fixes: Iterable[Fix]) -> dict[tuple[str, ...], list[Fix]]:
        """The failing tests of each failure group that was asked for, with its fixes, the likeliest first."""
        wanted = {test.name for test in self.tests}
        groups = [own for tests in self.suspects.groups if (own := tuple(name for name in tests if name in wanted))]
        ordered = in_order(list(fixes))
        return {names: [one for one in ordered if one.repaired[0] in names] for names in groups}

    def put_off(self, seconds: float) -> None:
        """Do not count some seconds: the tests were starting."""
        self._waited += seconds
        self._began += seconds

    def _keep(self, fix: Fix) -> None:
        """Add a fix to the evidence of the workspace, where it counts as long as the sources are these."""
        if not self.sources:
            read = SourceReader(self.setup.workspace)
            texts = {path: read(path) for path in {*self.suspects.digests, *(test.file for test in self.tests)}}
            known = {path: text for path, text in texts.items() if text is not None}
            self.sources = {path: hashlib.sha256(text).hexdigest() for path, text in known.items()}
        try:
            with ExperimentLog(self.setup.workspace) as log:
                for experiment in fix.experiments():
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
        self._inquiry, self._group, self._end = inquiry, group, end
        self._names = list(names)
        self._spectrum: Spectrum = inquiry.suspects.spectrum(group)
        failed = self._spectrum.failed.tolist()
        passing = [test for test, fails in zip(self._spectrum.tests, failed, strict=True) if not fails]
        kinds = ("mutant", "results")
        self._tests: RepeatedTests = inquiry.setup.repeated(folder, inquiry.tests, kinds, passing)
        self._judges: dict[str, JudgingTest | None] = {}
        self._first: JudgingTest
        self._executing = ExecutingTests(self._spectrum)
        self._rank_of: dict[tuple[str, int], int] = {}
        self._helpers: set[str] = set()  # files that only tests use
        self._waiting = _Waiting()
        self._equal: dict[tuple[str, Function], EqualResults] = {}
        self._almost: list[tuple[float, Candidate]] = []  # those that may be one half of a fix
        self._refused: list[Candidate] = []  # those with which the first test still fails
        # those with which the first test passes, by a test with which one fails
        self._halves: dict[JudgingTest, list[Candidate]] = defaultdict(list)
        self._began, self._judging_s = time.monotonic(), 0.0
        self._pending: list[tuple[Candidate, ...]] = []  # failing tests pass with these; others have not judged all
        self._accepting: dict[str, set[tuple[Candidate, ...]]] = defaultdict(set)  # by the name of the test
        # whether another test passes with those that the first one refuses, by that test
        self._repairs: dict[JudgingTest, dict[Candidate, bool]] = defaultdict(dict)
        self._tried_pairs: set[frozenset[object]] = set()
        self._found = 0
        self._best = math.inf  # what the first fix cost
        self.exhausted = False

    def close(self) -> None:
        """End all processes."""
        self._inquiry.note(self._tests.notices)
        self._tests.close()

    def fixes(self) -> Iterator[Fix]:
        """Run candidates until the time is up."""
        reserve_s = min(_APART_S, _APART_SHARE * (self._end - time.monotonic()))
        self._end -= reserve_s
        found = []
        for fix in self._search():
            found.append(fix)
            yield fix
        self._end += reserve_s
        if len(found) > 1:
            self._tell_apart(in_order(found)[:_TOLD_APART], reserve_s)

    def _tell_apart(self, fixes: Sequence[Fix], seconds: float) -> None:
        first, *others = fixes
        judges = [self._first, *(one for one in self._judges.values() if one is not None and one is not self._first)]
        for other in others:
            told = apart(first, other, judges[:_APART_JUDGES], seconds / len(others))
            if told is not None:
                self._inquiry.apart.setdefault(first, told)
                self._inquiry.apart[other] = told.reversed()

    def _start(self) -> JudgingTest | None:
        """Start the tests, which is not counted as long as it takes no more time than there is for the search."""
        began = time.monotonic()
        most = self._end - began
        self._end += most
        try:
            return self._quickest()
        except TimeIsUp:
            cause = f"the tests took {time.monotonic() - began:.0f} s to start, which is all the time that there was"
            self._inquiry.note([Problem("", "", cause, "allow more with --seconds")])
            raise
        finally:
            took = time.monotonic() - began
            self._end -= max(most - took, 0.0)
            self._inquiry.put_off(min(took, most))

    def _search(self) -> Iterator[Fix]:
        first = self._start()
        if first is None:
            return
        self._first = first
        first.hurry()
        waiting = self._waiting
        self._put_functions()
        self._began = time.monotonic()
        size, likely = _FIRST_CHUNK, False
        while time.monotonic() < self._end:
            check()
            if self._found >= self._inquiry.most:
                return
            share = (time.monotonic() - self._began) / (self._end - self._began)
            if share >= _LIKELY_PAIRS_FROM and not likely:
                likely = True
                yield from self._likely_pairs()
            late = share >= _PAIRS_FROM and not self._found and "pairs" in self._inquiry.parts
            taken = [] if late or waiting.cost > self._best + _BEHIND else waiting.take(size, self._end)
            size = _CHUNK
            if not taken and self._pending:
                yield from self._judged(())
                continue
            if not taken:
                yield from self._pairs()
                self.exhausted = time.monotonic() < self._end and not late and not waiting.forgot
                return
            new, passing = self._sorted(taken)
            for fix in self._judged([(one,) for one in new], passing):
                if not fix.for_tests:
                    self._best = min(self._best, waiting.cost)
                yield fix
        # more tests execute these than there was time for
        yield from self._confirmed([one for one in self._pending if self._is_kept_by_some(one)][:_JUDGED])

    # which candidates, in which order

    def _put_functions(self) -> None:
        ordered = "order" in self._inquiry.parts
        functions = list(self._functions())
        self._put_undone(functions)
        ranks = _middle_ranks([max(lines.values()) for _, _, lines in functions])
        for number, (rank, (file, scope, lines)) in enumerate(zip(ranks, functions, strict=True)):
            waits = _FUNCTION_WEIGHT * math.log2(1 + rank) if ordered else float(number)
            self._waiting.put(
                waits + (LEAST_COST if ordered else 0.0), partial(self._stages, waits, file, scope, lines)
            )

    def _put_undone(self, functions: Sequence[tuple[str, FunctionScope, dict[int, float]]]) -> None:
        """Let the changes of the user be undone before anything else, one by one."""
        of_file: dict[str, list[FunctionScope]] = defaultdict(list)
        for file, scope, _ in functions:
            of_file[file].append(scope)
        for unit in islice(self._inquiry.changes(), _MAX_UNDONE):
            if unit.file in of_file:
                self._waiting.put(LEAST_COST, partial(undone, unit.file, unit, of_file[unit.file]))

    def _stages(self, waits: float, file: str, scope: FunctionScope, lines: dict[int, float]) -> None:
        """Let the templates of a function wait for their turns."""
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

    def _functions(self) -> Iterator[tuple[str, FunctionScope, dict[int, float]]]:
        """The functions that all of the tests execute, the most suspicious first, with the lines of statements."""
        elements, counts = self._spectrum.elements, self._spectrum.counts
        executed = np.flatnonzero((counts.ef >= len(self._names)) & self._spectrum.candidates)
        if not len(executed):
            executed = np.flatnonzero((counts.ef > 0) & self._spectrum.candidates)
        at: dict[str, dict[int, float]] = defaultdict(dict)
        for element in executed.tolist():
            file, line = elements.files[elements.file[element]], int(elements.line[element])
            at[file][line] = self._inquiry.suspects.at(self._group, file, line)
        ranked = sorted(
            {(value, file, line) for file, lines in at.items() for line, value in lines.items()}, reverse=True
        )
        self._rank_of = {(file, line): rank for rank, (_, file, line) in enumerate(ranked, 1)}
        texts = {file: source for file in at if (source := self._source(file)) is not None}
        self._helpers = self._helper_modules(texts)
        found: list[tuple[float, str, FunctionScope, dict[int, float]]] = []
        for file, source in texts.items():
            lines = at[file]
            inner: dict[int, FunctionScope] = {}
            for scope in scopes(source):  # those around come first
                for line in range(scope.function.lineno, (scope.function.end_lineno or 0) + 1):
                    inner[line] = scope
            of_scope: dict[FunctionScope, dict[int, float]] = defaultdict(dict)
            for line, value in lines.items():
                if line in inner and line > inner[line].function.lineno:
                    of_scope[inner[line]][line] = value
            found += [(max(own.values()), file, scope, own) for scope, own in of_scope.items()]
        found.sort(key=lambda one: (one[1] in self._helpers, -one[0]))
        for _, file, scope, lines in found:
            yield file, scope, lines
        read: dict[str, set[str]] = defaultdict(set)
        sources = {file: scope.source for _, file, scope, _ in found}
        for _, file, scope, _ in found:
            read[file] |= {node.id for node in ast.walk(scope.function) if isinstance(node, ast.Name)}
            read[file] |= {node.attr for node in ast.walk(scope.function) if isinstance(node, ast.Attribute)}
        for file, names in read.items():
            for scope in definitions(sources[file], names, at[file]):
                yield file, scope, {scope.owners[-1].lineno: 0.0}

    def _helper_modules(self, sources: Mapping[str, ParsedSource]) -> set[str]:
        """The files that only tests use."""
        tests = TestCode({test.partition("::")[0] for test in self._spectrum.tests})

        def read(file: str) -> ast.Module | None:
            source = sources.get(file) or self._source(file)
            return source.tree if source else None

        program = [file for file in self._spectrum.elements.files if file not in tests]
        return helper_modules({file: source.tree for file, source in sources.items()}, program, read)

    def _source(self, file: str) -> ParsedSource | None:
        source = self._inquiry.suspects.read(file)
        try:
            return None if source is None else ParsedSource(source)
        except _UNPARSABLE as error:
            self._inquiry.note([Problem(file, "", f"it can't be changed: {error}", "check its encoding")])
            return None

    # who judges

    def _quickest(self) -> JudgingTest | None:
        """The failing test that most candidates can be run with: one that hangs only if all do."""
        known: list[JudgingTest] = []
        until = math.inf
        for name in self._names:
            # those of other modules need a process of their own
            enough = len(known) >= _COMPARED or (known and not self._tests.runs(name)) or time.monotonic() > until
            hanging = sum(judge.hangs for judge in known)
            if (enough and hanging < len(known)) or hanging == len(known) == _MAX_HANGING:
                break
            if (judge := self._judge(name, fails=True)) is not None:
                known.append(judge)
                until = min(until, time.monotonic() + _COMPARING_SHARE * (self._end - time.monotonic()))
        return min(known, key=lambda one: (one.hangs, one.seconds), default=None)

    def _others(self, left: Sequence[tuple[Candidate, ...]]) -> Iterator[JudgingTest]:
        """The other failing tests, those first that refused most candidates; they start when there is one for them."""
        if not left:
            return
        known = [judge for name in self._names if (judge := self._judges.get(name)) is not None]
        yield from sorted((judge for judge in known if judge is not self._first), key=lambda one: -one.rejected)
        for name in self._names:
            if name not in self._judges and (judge := self._judge(name, fails=True)) is not None:
                yield judge

    def _judge(self, name: str, *, fails: bool) -> JudgingTest | None:
        if name not in self._judges:
            try:
                machine, forks = self._tests.machine(name, self._end), "forks" in self._inquiry.parts
                self._judges[name] = JudgingTest(name, machine, fails=fails, end=self._end, forks=forks)
            except EvidenceError as error:
                self._judges[name] = None
                if fails:
                    self._inquiry.note([error.problem])
        return self._judges[name]

    def _judged(self, chunk: Sequence[tuple[Alike, ...]], accepted: Sequence[Candidate] = ()) -> Iterator[Fix]:
        """Run one of each with the failing tests, then all that are like those that pass with the others.

        With those in `accepted` the first failing test is known to pass.
        """
        first = self._first
        chosen = [tuple(alike.members[0] for alike in one) for one in chunk]
        answers = first.accepts([together(one) for one in chosen], self._end)
        self._inquiry.tried += sum(answer is not None for answer in answers)
        self._report(first.name)
        left = [*self._pending, *((one,) for one in accepted)]
        self._pending = []
        for several, answer in zip(chunk, answers, strict=True):
            if answer is None:
                continue
            if len(several) == 1:
                several[0].passes = answer["outcome"] == "passed"
                if not several[0].passes and len(self._refused) < _MAX_REFUSED:
                    self._refused.append(several[0].members[0])
            if answer["outcome"] == "passed":
                alone = [(one,) for one in several[0].members]
                left += alone if len(several) == 1 else [tuple(one.members[0] for one in several)]
            elif len(several) == 1 and first.changed(answer):
                self._almost.append((several[0].members[0].cost + 1.0, several[0].members[0]))
                # it may come to the place again, after the check that failed
                for other in several[0].others():
                    self._inquiry.pruned -= 1
                    self._waiting.put_again(LIKE_ANOTHER, Alike([other]))
        for judge in self._others(left):
            left = self._accepted(left, judge)
            if not left:
                break  # the next one need not start
        # all that execute a function may take longer than all other changes
        left.sort(key=_cost)
        left, self._pending = left[:_JUDGED], left[_JUDGED:]
        began = time.monotonic()
        until = began + max(_JUDGING_S, began - self._began - self._judging_s) if chunk else self._end
        try:
            for judge in self._passing(left, self._executing.for_change):
                left = self._accepted(left, judge, self._executing.for_change)
                if time.monotonic() >= until or not left:
                    raise TimeIsUp
        except TimeIsUp:
            self._pending += left
            left = []
        left = self._judged_widely(left)
        self._judging_s += time.monotonic() - began
        yield from self._confirmed(left)

    def _confirmed(self, accepted: Sequence[tuple[Candidate, ...]]) -> Iterator[Fix]:
        """Those of changes that tests accept with which the failing ones pass in processes of their own, too."""
        for one in sorted(accepted, key=_cost):
            job = together(one)
            failing = [judge for judge in self._judges.values() if judge is not None and judge.fails]
            if not all(judge.confirms(job, self._end + 1.0) for judge in failing):
                continue
            self._found += 1
            candidate = one[0]
            passing = [judge for judge in self._judges.values() if judge is not None and not judge.fails]
            kept = tuple(judge.name for judge in passing if one in self._accepting[judge.name])
            executing = {name for part in one for name in self._executing.for_change(part)}
            yield Fix(
                one,
                tuple(judge.name for judge in failing),
                len(failing) + len(kept),
                rank=self._rank_of.get((candidate.file, candidate.line), len(self._rank_of) + 1),
                changes=self._share_changed(one, [judge for judge in passing if judge.name in executing][:_LOOKED_AT]),
                kept=kept,
                for_tests=any(other.file in self._helpers for other in one),
                unjudged=len(executing.difference(kept)),
            )

    def _is_kept_by_some(self, one: tuple[Candidate, ...]) -> bool:
        """Whether a passing test has been run with a change, which all that were run accept."""
        return any(one in self._accepting[name] for name, judge in self._judges.items() if judge and not judge.fails)

    def _judged_widely(self, left: list[tuple[Candidate, ...]]) -> list[tuple[Candidate, ...]]:
        """Those that no other test of the changed functions refuses, as far as there is time for these tests."""
        until = min(time.monotonic() + _WIDELY_S, self._end)
        try:
            for judge in self._passing(left, self._executing.for_function):
                if time.monotonic() >= until or not left:
                    break
                left = self._accepted(left, judge, self._executing.for_function, unanswered=True)
        except TimeIsUp:  # what is left has been accepted by all that have to
            pass
        return left

    def _share_changed(self, one: Sequence[Candidate], passing: Sequence[JudgingTest]) -> float:
        """In which share of some tests that pass with a change it gives another value than the program."""
        candidate = one[0]
        if len(one) > 1 or not candidate.new or time.monotonic() >= self._end:
            return 0.0
        names = _names(candidate.functions)
        found = [EqualResults(judge, candidate.file, names).is_other(candidate, _RESULTS_S) for judge in passing]
        return sum(found) / max(len(found), 1)

    def _report(self, name: str) -> None:
        inquiry = self._inquiry
        inquiry.notify(
            InquiryProgress(name, self._group + 1, len(inquiry.suspects.groups), inquiry.tried, inquiry.share)
        )

    def _accepted(
        self,
        left: Sequence[tuple[Candidate, ...]],
        judge: JudgingTest,
        executing: _Executing | None = None,  # None for a failing test, which has to repair all
        *,
        unanswered: bool = False,  # whether those that it was not run with are kept
    ) -> list[tuple[Candidate, ...]]:
        """Those that a test accepts. A refused call is no verdict, so a passing test then says nothing."""
        if not left:
            return []
        accepted = self._accepting[judge.name]
        judged = [
            one
            for one in left
            if one not in accepted and (executing is None or any(judge.name in executing(part) for part in one))
        ]
        answers = dict(zip(map(id, judged), judge.accepts([together(one) for one in judged], self._end), strict=True))
        kept = []
        for one in left:
            if id(one) not in answers:
                kept.append(one)
                continue
            answer = answers[id(one)]
            if answer is not None and answer["outcome"] == "passed":
                kept.append(one)
                accepted.add(one)
            elif answer is None and unanswered:
                kept.append(one)
            elif executing is None and len(one) == 1:
                self._almost.append((one[0].cost, one[0]))  # it repairs one test at least
                self._halves[judge].append(one[0])
        return kept

    def _passing(self, left: Sequence[tuple[Candidate, ...]], executing: _Executing) -> Iterator[JudgingTest]:
        """The passing tests that have to accept changes.

        Those first that refused most of them, then those whose process has started, and of them the quickest.
        """
        names = list(dict.fromkeys(name for several in left for one in several for name in executing(one)))
        names = [name for name in names if not self._accepting[name].issuperset(left)]
        known = [judge for name in names if (judge := self._judges.get(name)) is not None]
        yield from sorted(known, key=lambda judge: (-judge.rejected, judge.seconds))
        seconds = self._inquiry.suspects.seconds
        for name in sorted(names, key=lambda name: (not self._tests.runs(name), seconds(name))):
            if name not in self._judges and (judge := self._judge(name, fails=False)) is not None:
                yield judge

    # two edits together

    def _pairs(self) -> Iterator[Fix]:
        """Pairs of edits that repair some tests, or change how one fails, if no single edit does."""
        yield from self._likely_pairs()
        if self._pairs_are_due:
            best = self._halves_by_place().values()
            yield from self._tried_together(sorted(combinations([*best][:_MAX_PAIRED], 2), key=_cost))

    def _likely_pairs(self) -> Iterator[Fix]:
        """The same change at two places, and two of which each repairs a part of the tests."""
        if not self._pairs_are_due:
            return
        alike: dict[tuple[str, str, str], list[Candidate]] = defaultdict(list)
        for one in self._halves_by_place().values():
            alike[one.file, one.edit.replaced(one.source.text), one.edit.text].append(one)
        twice = [pair for several in alike.values() for pair in combinations(several[:_MAX_ALIKE], 2)]
        yield from self._tried_together(sorted(twice, key=_cost)[:_MAX_PAIRS])
        yield from self._tried_together(self._pairs_of_halves())

    @property
    def _pairs_are_due(self) -> bool:
        return not self._found and "pairs" in self._inquiry.parts

    def _halves_by_place(self) -> dict[object, Candidate]:
        """The edits that may be one half of a fix, each once, the likeliest first."""
        best: dict[object, Candidate] = {}
        for _, one in sorted(self._almost, key=lambda two: two[0]):
            best.setdefault(one.key, one)
        return best

    def _pairs_of_halves(self) -> list[tuple[Candidate, Candidate]]:
        """Edits with which some failing tests pass, each with one that repairs another test alone."""
        if not self._halves or self._found:
            return []
        judge = max(self._halves, key=lambda one: len(self._halves[one]))
        known = self._repairs[judge]
        tried = sorted((one for one in self._refused if one not in known), key=lambda one: one.cost)
        for one, answer in zip(tried, judge.accepts([one.to_json() for one in tried], self._end), strict=True):
            if answer is not None:
                known[one] = answer["outcome"] == "passed"
        others = sorted((one for one, passes in known.items() if passes), key=lambda one: one.cost)
        halves = sorted(self._halves[judge], key=lambda one: one.cost)
        return sorted(product(halves[:_MAX_PAIRED], others[:_MAX_PAIRED]), key=_cost)

    def _tried_together(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Iterator[Fix]:
        keys = {pair: frozenset(one.key for one in pair) for pair in pairs}
        apart = [pair for pair in pairs if not pair[0].overlaps(pair[1]) and keys[pair] not in self._tried_pairs]
        self._tried_pairs.update(keys.values())
        for first in range(0, len(apart), _CHUNK):
            if time.monotonic() >= self._end or self._found:
                return
            yield from self._judged([(Alike([one]), Alike([two])) for one, two in apart[first : first + _CHUNK]])


def _cost(several: Sequence[Candidate]) -> float:
    return sum(one.cost for one in several)


def _middle_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each of falling values, from 0; of equal ones the middle, as none of them has to wait for another."""
    first = {value: rank for rank, value in reversed(list(enumerate(values)))}
    last = {value: rank for rank, value in enumerate(values)}
    return [(first[value] + last[value]) / 2 for value in values]


def _names(functions: Sequence[Function]) -> list[CodeName]:
    return [CodeName(getattr(one, "name", "<lambda>"), first_line(one)) for one in functions]


class _Waiting:
    """What waits for its turn: drafts of candidates, and what makes more of them when that may be the next."""

    def __init__(self) -> None:
        self.cost = 0.0  # of what was taken last
        self.forgot = False  # whether there were too many
        self._heap: list[tuple[float, int, Callable[[], Candidate | Alike | None]]] = []
        self._numbers = count()
        self._seen: set[object] = set()

    def put(self, cost: float, make: Callable[[], Candidate | Alike | None]) -> None:
        """Add something that costs as much as this, or that makes what does."""
        heapq.heappush(self._heap, (cost, next(self._numbers), make))
        if len(self._heap) > _MAX_WAITING:
            self._heap = heapq.nsmallest(_MAX_WAITING // 2, self._heap)  # which is a heap, too
            self.forgot = True

    def put_drafts(self, more: float, stage: Stage, *, costs: bool = True) -> None:
        """Add what a template makes, which costs so much more here."""
        for draft in stage.drafts():
            self.put(more + draft.cost if costs else more, draft.write)

    def put_again(self, more: float, alike: Alike) -> None:
        """Let candidates whose results are known wait longer."""
        self.put(self.cost + more, lambda: alike)

    def take(self, most: int, end: float) -> list[Candidate | Alike]:
        """The next ones, as far as there is time."""
        taken: list[Candidate | Alike] = []
        while self._heap and len(taken) < most and time.monotonic() < end:
            cost, _, make = heapq.heappop(self._heap)
            one = make()
            if one is None:
                continue
            if isinstance(one, Candidate):
                if one.key in self._seen or one.is_roundabout:
                    continue
                self._seen.add(one.key)
            self.cost = cost
            taken.append(one)
        return taken
