"""What instrumented decisions ask: the board counts them, notes them or switches one, and limits how many there are.

It runs in the middle of the program, and never calls it: it is given truths, and values that it only keeps.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from suspectra_recorder.experiments.decisions.decision_points import EVERY, DecisionPoint, Switched
from suspectra_recorder.experiments.decisions.rewriting import InstrumentedDecision, instrument
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.numbered_sources import NumberedSource, NumberedSources
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, os
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

SPENT = 86
"""The exit status of a process that goes on deciding after it was stopped."""

MAX_DECISIONS = 1_000_000
"""How many decisions of a run are noted."""

THREAD_BITS = 32
"""A noted decision has the number of its thread above so many bits."""

_Local = _thread._local  # the numbers by which the system knows threads are used again
Decide = Callable[[int, bool], bool]
ValueT = TypeVar("ValueT")


class StepsSpent(BaseException):
    """A run made as many decisions as it may: it is probably caught in a loop."""


def _no_mark() -> int:
    return -1


class Switchboard(Pausable, Instrument):
    """The decisions of a process; instrumented code has it as a constant."""

    def __init__(self) -> None:
        super().__init__()
        # gives the truth with which the program goes on, from the number of a decision and how it comes out
        self.decide: Decide = _as_it_is
        self._decide: Decide = _as_it_is  # what `decide` is when no thread pauses
        self.sources: NumberedSources[InstrumentedDecision] = (
            NumberedSources()
        )  # the loaded sources, with their decisions
        self._kept: dict[int, list[object]] = {}  # values of operands until they are taken, by thread
        self._limit = _Limit(0)

    @property
    def stopped(self) -> bool:
        """Whether the run made more decisions than it may."""
        return self._limit.stopped

    def keep(self, value: ValueT) -> ValueT:
        """Keep the value of an operand until it is known whether it is the value of the whole."""
        self._kept.setdefault(_thread.get_ident(), []).append(value)
        return value

    def take(self) -> object:
        """The operand that was kept last in this thread."""
        return self._kept[_thread.get_ident()].pop()

    def choose(self, number: int, taken: bool) -> bool:
        """Decide by the operand that was kept last. If that comes out the other way, so does what `take` gives.

        Otherwise ``a.size == b.size and …`` that comes out false would be true. But of ``x or default`` an ``x`` such
        as 0 or an empty string stays what it is: to take it for missing is the usual fault there.
        """
        chosen = self.decide(number, taken)
        if chosen is not taken:
            kept = self._kept[_thread.get_ident()]
            if not chosen or kept[-1] is False:
                kept[-1] = chosen
        return chosen

    def drop(self) -> None:
        """Keep that operand no longer: it is not the value of the whole."""
        self._kept[_thread.get_ident()].pop()

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Let the decisions of a source ask this board."""
        sites = instrument(tree, placeholder, self.sources.next, asserts=asserts)
        return partial(self.sources.add, path, sites)

    def limit(self, steps: int) -> None:
        """Count decisions from now on."""
        limit = self._limit = _Limit(steps)

        def decide(number: int, taken: bool) -> bool:
            limit.left -= 1
            if limit.left < 0:
                limit.stop()
            return taken

        self._use(decide)

    def leave(self) -> None:
        """Let the program decide by itself."""
        self._use(_as_it_is)
        self.sources.unwatch()

    def begin_pause(self) -> None:
        """Note and switch no decision of this thread; they still count for the limit."""
        super().begin_pause()
        self.decide = self._decide_or_pause

    def end_pause(self) -> None:
        """Go on in this thread."""
        super().end_pause()
        self._use(self._decide)

    def _use(self, decide: Decide) -> None:
        self._decide = decide
        # only while a thread pauses: to look at the thread takes time at each decision
        self.decide = self._decide_or_pause if self.paused else decide

    def _decide_or_pause(self, number: int, value: object) -> bool:
        taken = True if value else False  # noqa: SIM210 - `bool` may be another's
        # only threads that pause are left out; others go on
        if _thread.get_ident() not in self.paused:
            return self._decide(number, taken)
        self._limit.count()
        return taken

    def note(self) -> array[int]:
        """Note all decisions from now on, besides counting them.

        Grows: for each decision twice its number, and 1 more where it came out true, with the number of its thread in
        the bits above `THREAD_BITS`; the first thread has 0. Of more than `MAX_DECISIONS` the first are noted.
        """
        decisions, threads, own_thread = array("Q"), count(), _Local()

        def note(decision: int) -> None:
            if len(decisions) < MAX_DECISIONS:
                try:
                    thread = own_thread.bits
                except AttributeError:
                    thread = own_thread.bits = next(threads) << THREAD_BITS
                decisions.append(thread + decision)  # in one step: others may go on before the next one

        self.listen(note)
        return decisions

    def listen(self, note: Callable[[int], object]) -> None:
        """Call a function with each decision from now on, besides counting them."""
        limit = self._limit

        def decide(number: int, taken: bool) -> bool:
            note(2 * number + taken)
            limit.left -= 1
            if limit.left < 0:
                limit.stop()
            return taken

        self._use(decide)

    def listen_by_thread(self, listener: Callable[[], Callable[[int], object]]) -> None:
        """Call a function of its own for each thread with each decision from now on, besides counting them."""
        limit, get_ident = self._limit, _thread.get_ident
        by_thread: dict[int, Callable[[int], object]] = {}

        def decide(number: int, taken: bool) -> bool:
            ident = get_ident()
            if ident not in by_thread:
                by_thread[ident] = listener()
            by_thread[ident](2 * number + taken)
            limit.left -= 1
            if limit.left < 0:
                limit.stop()
            return taken

        self._use(decide)

    def switch(
        self,
        switched: Sequence[DecisionPoint],
        watched: Sequence[DecisionPoint] = (),
        mark: Callable[[], int] = _no_mark,
    ) -> Callable[[], Switched]:
        """Let decisions come out the other way from now on, besides counting all."""
        switches: dict[int, dict[int, DecisionPoint]] = {}  # by number and time
        watches: dict[int, dict[int, int]] = {}  # indices into `watched` by number and time
        passed: dict[int, int] = {}
        found = Switched(0, [-1] * len(watched), [-1] * len(watched), 0)
        limit = self._limit

        def find(source: NumberedSource[InstrumentedDecision]) -> None:
            for point in switched:
                if point.path == source.path:
                    switches.setdefault(source.first + point.number, {})[point.instance] = point
                    # only decisions in here are counted one by one
                    passed.setdefault(source.first + point.number, 0)
            for at, point in enumerate(watched):
                if point.path == source.path:
                    watches.setdefault(source.first + point.number, {})[point.instance] = at
                    passed.setdefault(source.first + point.number, 0)

        def decide(number: int, value: object) -> bool:
            taken = True if value else False  # noqa: SIM210 - `bool` may be another's
            limit.left -= 1
            if limit.left < 0:
                limit.stop()
            if number in passed:
                times = passed[number] = passed[number] + 1
                if number in switches:
                    point = switches[number].get(EVERY) or switches[number].get(times)
                    if point is not None and point.outcome(taken) != taken:
                        found.times += 1
                        taken = not taken
                if number in watches and times in watches[number]:
                    at = watches[number][times]
                    found.outcomes[at], found.marks[at] = int(taken), mark()
            return taken

        def answer() -> Switched:
            found.decisions = limit.steps - limit.left
            return found

        self.sources.watch(find)
        self._use(decide)
        return answer

    def turn(self, turned: Sequence[DecisionPoint]) -> Callable[[], int]:
        """Let decisions come out the other way from now on; whoever listens hears how they come out then."""
        waiting: dict[int, dict[int, DecisionPoint]] = {}  # by number and time
        passed: dict[int, int] = {}
        times_turned = 0
        note = self._decide

        def find(source: NumberedSource[InstrumentedDecision]) -> None:
            for point in turned:
                if point.path == source.path:
                    waiting.setdefault(source.first + point.number, {})[point.instance] = point

        def decide(number: int, value: object) -> bool:
            nonlocal times_turned
            taken = True if value else False  # noqa: SIM210 - `bool` may be another's
            if number in waiting:
                times = passed[number] = passed.get(number, 0) + 1
                point = waiting[number].get(EVERY) or waiting[number].get(times)
                if point is not None and point.outcome(taken) != taken:
                    times_turned += 1
                    taken = not taken
            return note(number, taken)

        self.sources.watch(find)
        self._use(decide)
        return lambda: times_turned

    def fork(self, jobs: Sequence[DecisionPoint], fork: Callable[[int], bool]) -> Callable[[], bool]:
        """Switch each decision of a list in a fork of this process; here they come out as they do."""
        waiting: dict[int, dict[int, list[int]]] = {}  # jobs by the number and the time of their decision
        passed: dict[int, int] = {}
        always: DecisionPoint | None = None  # of a fork, where that is to come out in some way from now on
        at = -1  # its number
        forked = False
        thread = _thread.get_ident()
        note = self._decide

        def find(source: NumberedSource[InstrumentedDecision]) -> None:
            for job, point in enumerate(jobs):
                if source.path == point.path:
                    times = waiting.setdefault(source.first + point.number, {})
                    # one that comes out the same way every time is forked at the first
                    times.setdefault(point.instance or 1, []).append(job)

        def decide(number: int, value: object) -> bool:
            nonlocal always, at, forked
            taken = note(number, True if value else False)  # noqa: SIM210 - `bool` may be another's
            if always is not None and number == at:
                return always.outcome(taken)
            # other threads are not there any more in a fork
            if not forked and number in waiting and _thread.get_ident() == thread:
                passed[number] = passed.get(number, 0) + 1
                for job in waiting[number].pop(passed[number], ()):
                    if fork(job):
                        forked = True
                        at, always = number, jobs[job] if jobs[job].instance == EVERY else None
                        return jobs[job].outcome(taken)
            return taken

        self.sources.watch(find)
        self._use(decide)
        return lambda: forked


class _Limit:
    """How many decisions a run may still make."""

    def __init__(self, steps: int):
        self.steps = self.left = steps
        self.stopped = False

    def count(self) -> None:
        """Count a decision."""
        self.left -= 1
        if self.left < 0:
            self.stop()

    def stop(self) -> None:
        """Stop the test; it may then clean up in as many steps. A program that catches this and goes on is ended."""
        if self.stopped:
            # the program caught the exception and goes on, perhaps in an endless loop
            os._exit(SPENT)
        self.stopped, self.left = True, self.steps
        raise StepsSpent


def _as_it_is(number: int, taken: bool) -> bool:
    return taken
