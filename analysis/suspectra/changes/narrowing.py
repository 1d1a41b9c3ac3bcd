"""The search for a cause among changes: runs with some of them, until one set passes and a slightly larger one fails.

1. What a failing test does not notice is not made: one run shows that it fails as before.
2. What is left is left out of the present text, function by function, the most likely one first, then two at once, four
   and so on, and file by file. Such a text is near the present one, so it is likely to work: if the test fails as
   before, these changes are harmless; if it passes, the cause is among them; if it does anything else, they are left
   out in two halves.
3. What then decides is narrowed down by delta debugging, first by functions, then change by change.
4. What runs by the cause alone is part of it, as a new function that only the cause calls: no run can say which of the
   two is wrong.
5. A cause that breaks nothing alone is sought again among the changes of its function that do so together.
6. If it is only that a test asks for something else now, the changes that the test needs in order to fail are part of
   it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.changes.baselines import Baseline
from suspectra.changes.blocks import blocks
from suspectra.changes.definitions import ChangeOrder
from suspectra.changes.local_names import local_needs
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun, MixedTests
from suspectra.changes.noticed import ChangePlaces, is_test
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueDifference, corresponding, first_difference
from suspectra.paths.delta_debugging import ConfigurationVerdict, Differences, isolate

_FEW = 4  # changes that need each other, and are one cause
_LOOKED_AT = 4  # tests of which one is chosen
_LIKELY = 8  # blocks that are left out before all blocks of a file are
_MANY = 8  # changes of a cause, with which the search begins anew
_IN_TURN = 30  # runs that leave functions out, after which others are more promising
_PLAINLY = 60  # runs of delta debugging that knows nothing of the program
_UNTOLD = 30  # runs after each other that tell nothing, after which parts of a rewritten function belong together
_NOTHING: Differences = frozenset()


class ChangeNarrowing:
    """Runs with some of the changes since a baseline, by their numbers."""

    def __init__(self, baseline: Baseline, program: MixedTests, failing: dict[str, MixedFailure]):
        self._baseline, self._program, self._failing = baseline, program, failing
        self._units = baseline.units
        local = local_needs(baseline.differences, self._units)
        self._order = ChangeOrder.from_differences(baseline.differences, self._units, local)
        self._places = ChangePlaces.from_differences(baseline.differences, self._units)
        self._blocks = blocks(baseline.differences, self._units)
        self._known: dict[tuple[Differences, str], ConfigurationVerdict] = {}
        self._executed: ExecutedChanges | None = None
        self.is_fresh = False  # whether the program is loaded for each run
        # where the search is: with the first changes the test passes, with the others, too, it fails
        self.low, self.high = _NOTHING, frozenset(range(len(self._units)))

    def units(self, numbers: Iterable[int]) -> tuple[ChangeUnit, ...]:
        """The changes with some numbers, in order."""
        return tuple(self._units[number] for number in sorted(numbers))

    def numbers(self, units: Iterable[ChangeUnit]) -> Differences:
        """The numbers of some changes; nothing where some of these are no changes since this text."""
        said = {(one.file, one.line, one.before, one.after) for one in units}
        found = [at for at, one in enumerate(self._units) if (one.file, one.line, one.before, one.after) in said]
        return frozenset(found) if len(found) == len(said) else _NOTHING

    def run(self, made: Collection[int], tests: Sequence[str], *, fresh: bool = True) -> MixedRun:
        """Run tests with some of the changes."""
        return self._program.run(self._baseline, frozenset(self.units(made)), tests, fresh=fresh)

    def look(self, tests: Sequence[str]) -> str:
        """Look at what some tests execute, and choose the one of these that notices the fewest changes."""
        self._executed = self._program.executed(self._baseline, frozenset(self._units), tests[:_LOOKED_AT])
        if self._executed is None:
            return tests[0]
        executed = self._executed
        counts = {test: len(self._places.noticed(executed, test)) for test in tests if test in executed.tests}
        return min(counts, key=counts.__getitem__, default=tests[0])

    def decided(self, tests: Sequence[str], low: Differences, cause: Differences) -> set[str]:
        """Those of some tests that changes decide about, if the program is loaded with them."""
        passed = self.run(low, tests).passed
        failed = self.run(low | cause, tests).failed
        return {name for name in tests if name in passed and failed.get(name) == self._failing[name]}

    def going_with(self, cause: Differences, high: Differences) -> Differences:
        """Others of the functions of some changes, and what can't be made without these in the same files, as calls."""
        files = {self._units[number].file for number in cause}
        whole = self._whole(cause) & high
        needing = high - self._order.without_needing(high, whole)
        return whole.union(number for number in needing if self._units[number].file in files) - cause

    def load_anew(self) -> None:
        """Load the program for each run from now on."""
        self.is_fresh = True
        self._known.clear()

    def first_difference(self, test: str, low: Differences, cause: Differences) -> tuple[bool, ValueDifference | None]:
        """The first value that some changes make another one, if others are made; in the lines of the present text.

        Before it whether values could be compared.
        """
        made, changed = frozenset(self.units(low)), frozenset(self.units(cause))
        runs = [self._program.trace(self._baseline, one, test) for one in (made, made, made | changed)]
        if any(run is None for run in runs):
            return False, None
        passing, again, failing = (run for run in runs if run is not None)
        before, after, present = (
            {path: one.lines(some, changed) for one in self._baseline.differences for path in one.paths}
            for some in (made, made | changed, frozenset(self._units))
        )
        same = corresponding(passing, again, before)

        def unstable(node: int) -> bool:
            return node not in same or passing.value(node) != again.value(same[node])

        in_functions = cause <= self._places.functions.keys()
        found = first_difference(passing, failing, before, after, unstable, in_functions=in_functions)
        if found is None or found.file not in present:
            return passing.whole and failing.whole, found
        place = after[found.file][found.line - 1]
        number = after[found.file][: found.line - 1].count(place)  # all lines of a change are one place
        lines = [line for line, other in enumerate(present[found.file], 1) if other == place]
        if number >= len(lines):
            return False, None
        return True, found._replace(file=place[0], line=lines[number])

    def isolate(self, test: str, high: Differences) -> tuple[Differences, Differences, bool]:
        """Changes with which a test passes, those with which it fails then, and whether none of these can be left out.

        With all of `high` it fails, and with none it passes.
        """
        self.low, self.high = _NOTHING, high
        noticed = self._places.noticed(self._executed, test) if self._executed is not None else {}
        parts = [block & high for block in self._blocks if block & high]
        if noticed:
            self._leave_out(test, _NOTHING.union(*(part for part in parts if part.isdisjoint(noticed))))
        parts = self._places.in_turn((part for part in parts if part & self.high), noticed)
        self._leave_out_in_turn(test, parts)
        minimal = not self.low and self._narrow_plainly(test, self.high)
        if not minimal:
            self._narrow(test, parts)
            minimal = self._narrow(test, [frozenset([number]) for part in parts for number in sorted(part)])
        low, cause = self.low, self.high - self.low
        needed = self._order.together(cause, high)
        if len(cause) < len(needed) <= _FEW and self._verdict(test, cause) is not ConfigurationVerdict.FAILS:
            cause = needed if self._verdict(test, needed) is ConfigurationVerdict.FAILS else cause
        low, cause = self._with_own(test, low, cause, self._only_for(cause, high).intersection(noticed, low))
        low, cause = self._with_own(test, low, cause, self._runs_by(test, low, cause))
        cause = self._breaking_alone(test, cause, high)
        cause = self._with_tested_code(test, low, cause, high)
        return low - cause, cause, minimal

    def _with_own(
        self, test: str, low: Differences, cause: Differences, own: Differences
    ) -> tuple[Differences, Differences]:
        """What is made besides a cause, and the cause with what is its own, if the test passes without that, too."""
        for part in dict.fromkeys((own, self._whole(own) & low)) if own else ():
            if self._verdict(test, low - part) is ConfigurationVerdict.PASSES:
                return low - part, cause | own
        return low, cause

    def run_with(self, test: str, high: Differences, cause: Differences) -> Differences:
        """Those of many changes that a test runs, and what runs by these alone and is needed for the failure.

        Nothing where that is all of them, or nobody knows what the test runs.
        """
        executed = self._executed.tests.get(test, ()) if self._executed is not None else ()
        own = self._running(executed) & cause
        try:
            found = own | self._runs_by(test, high - cause, cause)
        except TimeIsUp:
            found = own
        return found if found != cause else _NOTHING

    def _runs_by(self, test: str, low: Differences, cause: Differences) -> Differences:
        """What a test executes only if the cause is made, and without which it does not fail in the same way."""
        with_cause = self._executed.tests.get(test) if self._executed is not None else None
        if (
            not with_cause
            or (ran := self._program.executed(self._baseline, frozenset(self.units(low)), [test])) is None
        ):
            return _NOTHING
        new = low & (self._running(with_cause) - self._running(self._in_present_text(ran.tests.get(test, ()), low)))
        if not 0 < len(new) <= _UNTOLD or self._verdict(test, (low | cause) - new) is ConfigurationVerdict.FAILS:
            return _NOTHING
        return self._needed_to_fail(test, new, low | cause)

    def _running(self, lines: Iterable[tuple[str, int]]) -> Differences:
        """The changes of which some lines are executed."""
        ran = frozenset(lines)
        return frozenset(
            number
            for number, unit in enumerate(self._units)
            if any((unit.file, line) in ran for line in range(unit.line, unit.end_line + 1))
        )

    def _in_present_text(self, lines: Iterable[tuple[str, int]], made: Differences) -> Iterator[tuple[str, int]]:
        """Lines of a text with some changes where the present text has them."""
        present: dict[tuple[str, int], tuple[str, int]] = {}
        for one in self._baseline.differences:
            of_key = {key: line for line, key in enumerate(one.lines(one.units, ()), 1)}
            for line, key in enumerate(one.lines(self.units(made), ()), 1):
                present.update({(path, line): (one.path, of_key.get(key, 0)) for path in one.paths})
        at = (present.get(place, place) for place in lines)  # a file of one unit has no other text
        return ((file, line) for file, line in at if line)

    def _breaking_alone(self, test: str, cause: Differences, high: Differences) -> Differences:
        """Changes of the same functions that break the test alone, if the cause does not and these are few."""
        near = high & self._whole(cause)
        if not cause < near or len(near) > _UNTOLD or self._verdict(test, cause) is ConfigurationVerdict.FAILS:
            return cause
        if self._verdict(test, near) is not ConfigurationVerdict.FAILS:
            return cause
        alone = self._needed_to_fail(test, near, near)
        return alone if self._verdict(test, high - alone) is ConfigurationVerdict.PASSES else cause

    def _with_tested_code(self, test: str, low: Differences, cause: Differences, high: Differences) -> Differences:
        """Changes of tests with those few of the program that these need in order to fail: either may be wrong.

        A test that was edited to ask for what is new passes as it was.
        """
        if not all(is_test(self._units[number].file) for number in cause):
            return cause
        if self._verdict(test, cause) is ConfigurationVerdict.FAILS:
            return cause
        noticed = self._places.noticed(self._executed, test) if self._executed is not None else high
        others = frozenset(number for number in high.intersection(noticed) if not is_test(self._units[number].file))
        needed = self._needed_to_fail(test, others - cause, high)
        if not 0 < len(needed) <= _FEW or self._verdict(test, low - needed) is not ConfigurationVerdict.PASSES:
            return cause
        return cause | needed

    def _whole(self, some: Differences) -> Differences:
        """All changes of the functions in which some are."""
        return _NOTHING.union(*(block for block in self._blocks if block & some))

    def _needed_to_fail(self, test: str, some: Differences, made: Differences) -> Differences:
        """Those of some changes without which a test, with others made, no longer fails in the same way."""
        waiting = [sorted(some)]
        while waiting:
            part = waiting.pop()
            if self._verdict(test, made.difference(part)) is ConfigurationVerdict.FAILS:
                some, made = some.difference(part), made.difference(part)
            elif len(part) > 1:
                half = len(part) // 2
                waiting += [part[:half], part[half:]]
        return some

    def _only_for(self, cause: Differences, high: Differences) -> Differences:
        """What changes need, and no other change does, as a new function that only they call: it is one with them."""
        needed = self._order.with_needed(cause, high)
        others = high - needed
        return frozenset(
            number for number in needed - cause if others <= self._order.without_needing(high, frozenset([number]))
        )

    def _leave_out(self, test: str, some: Differences) -> ConfigurationVerdict:
        """Leave some changes out, and keep what that tells.

        If that does not work, leave out only those that no other change needs, or all that need them, too.
        """
        kept, lost = self._with_needed(self.high - some), self._needing(some)
        ways = [self.high - some, kept] + [self.high - lost] * (2 * len(lost) <= len(self.high) + len(some))
        for rest in dict.fromkeys(ways):
            verdict = self._verdict(test, rest) if rest != self.high else ConfigurationVerdict.UNRESOLVED
            if verdict is ConfigurationVerdict.FAILS:
                self.high = rest
            elif verdict is ConfigurationVerdict.PASSES:
                self.low = rest
            if verdict is not ConfigurationVerdict.UNRESOLVED:
                return verdict
        return ConfigurationVerdict.UNRESOLVED

    def _with_needed(self, made: Differences) -> Differences:
        """Changes with all blocks of which they need one, and so on."""
        return self._closed(made, lambda some: self._order.with_needed(some, self.high))

    def _needing(self, left_out: Differences) -> Differences:
        """Changes with all blocks of which one needs them, and so on."""
        return self._closed(left_out, lambda some: self.high - self._order.without_needing(self.high, some))

    def _closed(self, begin: Differences, more: Callable[[Differences], Differences]) -> Differences:
        found, before = begin, _NOTHING
        while found != before:
            before = found
            reached = found | more(found)
            found = self.high & self._whole(reached)
        return found

    def _leave_out_in_turn(self, test: str, blocks: Sequence[Differences]) -> None:
        """Leave blocks out until the test passes; what does not matter is left out from then on."""
        self._leave_out_growing(test, blocks[:_LIKELY])
        if len(blocks) > _LIKELY:
            by_file: dict[str, list[Differences]] = {}
            for block in blocks:
                by_file.setdefault(self._units[min(block)].file, []).append(block)
            for several in by_file.values():
                if not self.low and len(several) > 1:
                    self._leave_out(test, self.high.intersection(_NOTHING.union(*several)))
            self._leave_out_growing(test, blocks[_LIKELY:])

    def _leave_out_growing(self, test: str, blocks: Sequence[Differences]) -> None:
        """Leave out one block, one more, two, four and so on, and halves of those with which nothing works."""
        waiting, end = list(_growing(blocks)), len(self._known) + _IN_TURN
        while waiting and not self.low and len(self._known) < end:
            part = waiting.pop(0)
            some = self.high.intersection(_NOTHING.union(*part))
            unresolved = bool(some) and self._leave_out(test, some) is ConfigurationVerdict.UNRESOLVED
            if unresolved and len(part) > 1:
                half = len(part) // 2
                waiting[:0] = [part[:half], part[half:]]

    def _narrow(self, test: str, parts: Sequence[Differences]) -> bool:
        """Narrow down what decides, by parts; whether nothing can be left out any more."""
        low, high = self.low, self.high
        left = [part & high - low for part in parts if part & high - low]
        if len(left) < 2:
            return all(len(part) == 1 for part in left)

        def numbers(some: Iterable[int]) -> Differences:
            return low.union(*(left[number] for number in some))

        def within(some: Differences) -> Differences:
            return frozenset(number for number, part in enumerate(left) if part <= some)

        untold = 0

        def verdict(some: Differences) -> ConfigurationVerdict:
            nonlocal untold
            made = numbers(some)
            found = self._verdict(test, made)
            untold = untold + 1 if found is ConfigurationVerdict.UNRESOLVED else 0
            if found is ConfigurationVerdict.PASSES and len(made) > len(self.low):
                self.low = made
            elif found is ConfigurationVerdict.FAILS and len(made) < len(self.high):
                self.high = made
            return found

        found = isolate(
            len(left),
            verdict,
            lambda: untold < _UNTOLD,
            by_leaving_out=True,  # the present text is what somebody wants to mend
            with_needed=lambda some: within(self._order.with_needed(numbers(some), high) | low),
            without=lambda some, others: within(self._order.without_needing(numbers(some), numbers(others) - low)),
        )
        self.low, self.high = numbers(found.passing), numbers(found.failing)
        return found.minimal

    def _narrow_plainly(self, test: str, high: Differences) -> bool:
        """Begin anew, without what is known of the program, and keep a smaller cause; whether nothing can be left out.

        What needs each other in a way that nobody sees is in one half now and then, by chance.
        """
        several, end = sorted(high), len(self._known) + _PLAINLY
        found = isolate(
            len(several),
            lambda some: self._verdict(test, frozenset(several[number] for number in some)),
            lambda: len(self._known) < end,
        )
        low, cause = (frozenset(several[number] for number in some) for some in (found.passing, found.cause))
        if len(cause) >= len(self.high - self.low):
            return False
        self.low, self.high = low, low | cause
        return found.minimal

    def _verdict(self, test: str, made: Differences) -> ConfigurationVerdict:
        key = made, test
        if key not in self._known:
            check()
            run = self.run(made, [test], fresh=self.is_fresh)
            if test in run.passed:
                self._known[key] = ConfigurationVerdict.PASSES
            elif run.failed.get(test) == self._failing[test]:
                self._known[key] = ConfigurationVerdict.FAILS
            else:
                self._known[key] = ConfigurationVerdict.UNRESOLVED
        return self._known[key]


def _growing(blocks: Sequence[Differences]) -> Iterable[Sequence[Differences]]:
    """Blocks in parts of one, one, two, four and so on."""
    at, size = 0, 1
    while at < len(blocks):
        yield blocks[at : at + size]
        at, size = at + size, max(at + size, 1)
