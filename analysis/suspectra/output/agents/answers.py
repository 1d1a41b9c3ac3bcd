"""What answers for coding agents contain."""

from __future__ import annotations

from typing_extensions import TypedDict  # pydantic accepts no other one before Python 3.12


class OutcomeCounts(TypedDict):
    """How many tests failed and passed."""

    failed: int
    passed: int


class SuspectAnswer(TypedDict):
    """A suspect: ``place`` is file and line, ``executed_by`` says how many failing and passing tests execute it."""

    rank: int
    place: str
    source: str
    executed_by: str
    reason: str


class FunctionAnswer(TypedDict):
    """A function, with its first suspects. ``function`` is empty for what is outside of functions.

    Of its lines ``tied`` can't be told apart by the tests from the first one.
    """

    rank: int
    function: str
    tied: int
    suspects: list[SuspectAnswer]


class GroupAnswer(TypedDict):
    """A failure group, with its first functions. ``failure`` is how the first of its tests failed."""

    title: str
    reason: str
    failure: str
    failing_tests: int
    tests: list[str]
    functions: list[FunctionAnswer]
    more_of_the_last_rank: int


class RankingAnswer(TypedDict):
    """Which functions and lines are suspicious.

    ``changed_besides`` is what changed and is not among the lines that tests execute.
    """

    notice: str
    tests: OutcomeCounts
    changed_besides: list[str]
    groups: list[GroupAnswer]
    more_groups: int
    problems: list[str]


class FailureAnswer(TypedDict):
    """How a test failed: ``raised_at`` is the innermost measured line of its stack."""

    test: str
    defined_at: str
    failure: str
    raised_at: str


class NextPlaceAnswer(TypedDict):
    """A line that a reader may look at next, and how likely that is by the debugging model."""

    place: str
    source: str
    chance: str
    reason: str


class ExplanationAnswer(TypedDict):
    """Why a line has its rank."""

    notice: str
    place: str
    function: str
    source: str
    rank: str
    reasons: list[str]
    failing_tests: list[FailureAnswer]
    more_failing_tests: int
    look_next: list[NextPlaceAnswer]


class FailingGroupAnswer(TypedDict):
    """The failing tests of a failure group."""

    title: str
    failing_tests: list[FailureAnswer]
    more_failing_tests: int


class FailingTestsAnswer(TypedDict):
    """Which tests fail; ``errors`` are what kept tests from being collected."""

    notice: str
    tests: OutcomeCounts
    groups: list[FailingGroupAnswer]
    more_groups: int
    errors: list[str]


class AffectedTest(TypedDict):
    """A test that a change can affect, with the reasons."""

    test: str
    reasons: list[str]


class AffectedTestsAnswer(TypedDict):
    """Which tests to run again; ``not_known`` is about changed files of which it is not known which tests read them."""

    notice: str
    known: int
    failed: list[str]
    more_failed: int
    affected: list[AffectedTest]
    more_affected: int
    not_known: str
