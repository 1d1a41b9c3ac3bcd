"""Tests that can be run with only some of the changes, of whatever language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from suspectra.changes.baselines import Baseline
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueTrace


class MixedFailure(NamedTuple):
    """How a test failed, as far as other runs fail in the same way."""

    exception: str  # the type of the exception
    place: str  # the innermost function of the workspace in which it was raised


class MixedRun(NamedTuple):
    """How tests ended with some of the changes."""

    passed: frozenset[str]
    failed: dict[str, MixedFailure]
    messages: dict[str, str]  # of those that failed, the first line
    error: str = ""  # why something could not be collected
    exchanged: bool = False  # whether functions got their code, and nothing was loaded
    ended: bool = True  # whether it came to its end, and was not ended by what it ran
    cure: str = ""  # what can be done about the error, if that is known


class ExecutedChanges(NamedTuple):
    """What tests execute of the files that changed, in the text that they ran with."""

    tests: Mapping[str, Sequence[tuple[str, int]]]  # by test; files and lines, what was executed last is the last
    imported: frozenset[tuple[str, int]]  # what was executed before the first test
    opened: frozenset[str]  # the files that were opened, of whatever kind


class MixedTests(Protocol):
    """The tests of a copy of the workspace in which any of the changes since a baseline can be made."""

    preparing: str
    """What is done before the first run."""
    runs: int
    """How many there were."""

    def run(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str], *, fresh: bool = True
    ) -> MixedRun:
        """Run tests with some of the changes.

        Raises TimeIsUp when there is no time left.
        """

    def trace(self, baseline: Baseline, made: Collection[ChangeUnit], test: str) -> ValueTrace | None:
        """Run a test with some of the changes, and note values; None where that is not possible.

        Raises TimeIsUp when there is no time left.
        """

    def executed(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str]
    ) -> ExecutedChanges | None:
        """Run tests with some of the changes, and see what they execute; None where that is not possible.

        Raises TimeIsUp when there is no time left.
        """

    def load_nothing_before(self) -> None:
        """Let each run load by itself what it needs."""

    def close(self) -> None:
        """End all processes."""
