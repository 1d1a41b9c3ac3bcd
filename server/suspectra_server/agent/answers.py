"""The answers for coding agents, from a ranking and from runs of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from typing_extensions import TypedDict  # pydantic accepts no other one before Python 3.12

from suspectra.base.english import many
from suspectra.base.errors import Problem, UsageError
from suspectra.cli.console import parse_location
from suspectra.cli.localization import Localized
from suspectra.evidence.discovery import require_no_c
from suspectra.evidence.sources import Sources
from suspectra.output.agents.agent import (
    MAX_NEXT,
    affected_tests_answer,
    explanation_answer,
    failing_tests_answer,
    ranking_answer,
)
from suspectra.output.agents.answers import AffectedTestsAnswer, ExplanationAnswer, FailingTestsAnswer, RankingAnswer
from suspectra.output.agents.bounded import MAX_PROBLEM, NOTICE, as_data, as_json, as_place, fitted
from suspectra.output.rankings.ranking import Listing
from suspectra.selection.selection import select

if TYPE_CHECKING:
    from suspectra.markov.debugging_model import DebuggingModel
    from suspectra.markov.move import Move

MAX_FINDINGS, MAX_STATES, MAX_CHANGED = 10, 12, 20


class RunAnswer(TypedDict):
    """How a run ended, and what is suspicious now; no ranking where nothing fails."""

    notice: str
    ended: str
    ranking: RankingAnswer | None


class FindingAnswer(TypedDict):
    """What an experiment told about a suspect."""

    place: str
    rank: int
    findings: list[str]


class InvestigationAnswer(TypedDict):
    """What makes failing tests pass."""

    notice: str
    findings: list[FindingAnswer]
    complete: bool
    seconds: float


class WhyTestsFailAnswer(TypedDict):
    """One answer to why tests fail: the conclusion, what speaks for it, and how sure it is."""

    notice: str
    conclusion: str
    certainty: str
    lines: list[str]
    place: str
    tests: int
    other_failing_tests: int


class StateAnswer(TypedDict):
    """A decision or a value of the failing run."""

    place: str
    value: str


class CausesAnswer(TypedDict):
    """The states with which the test would pass, or only fail later, and what they lead to."""

    notice: str
    roots: list[StateAnswer]
    fails_later: bool
    change: list[str]  # of the first root's statement: the test passes, and none breaks; empty where none is known
    transitive: list[StateAnswer]
    around: list[StateAnswer]
    alterations: int
    complete: bool
    seconds: float


class FixAnswer(TypedDict):
    """A change with which failing tests pass."""

    place: str
    said: str
    change: list[str]
    judged_by: int
    apart: str


class FixesAnswer(TypedDict):
    """The fixes that were found, the likeliest first."""

    notice: str
    fixes: list[FixAnswer]
    more_fixes: int  # found, too, but left out as the answer would be too long
    complete: bool
    seconds: float


class ChangeAnswer(TypedDict):
    """What a change does to the tests; why it was not tried, if it was not."""

    number: int
    said: str
    mends: list[str]
    breaks: list[str]
    refused: str


class ChangesAnswer(TypedDict):
    """What each change does, in their order."""

    notice: str
    changes: list[ChangeAnswer]
    more_changes: int  # judged, too, but left out as the answer would be too long
    complete: bool
    seconds: float


class Spent(NamedTuple):
    """What experiments have taken."""

    complete: bool  # whether everything was tried
    seconds: float  # how long it took
    alterations: int = 0  # how many altered runs there were


class Known:
    """What is known without running anything."""

    def __init__(self, root: Path, localized: Localized):
        self._root, self._localized = root, localized
        self._sources = Sources(root, localized.evidence.files)
        self._listing = Listing(localized.report, localized.evidence, localized.problems, groups=localized.groups)

    def rank(self, top: int, budget: int) -> RankingAnswer:
        """Tell which lines are suspicious."""
        return ranking_answer(self._listing, self._sources, budget, top)

    def explain(self, place: str, budget: int, model: DebuggingModel | None = None) -> ExplanationAnswer:
        """Tell why a line has its rank, and where to look next by a debugging model, or that of the line's ranking."""
        file, line = parse_location(self._root, place)
        element = self._localized.report.spectrum.elements.at(file, line)
        group = None if element is None else self._localized.group_of(element)
        report = group.report if group is not None else self._localized.report

        def moves(element: int) -> list[Move]:
            from suspectra.markov.debugging_model import DebuggingModel

            own = model or DebuggingModel.from_report(report, self._localized.program)
            return own.next_moves(element, MAX_NEXT)

        return explanation_answer(report, self._localized.evidence, file, line, self._sources, budget, moves)

    def failing_tests(self, budget: int) -> FailingTestsAnswer:
        """Tell which tests fail."""
        return failing_tests_answer(self._listing, budget)

    def after_run(self, top: int, budget: int) -> RunAnswer:
        """Tell how a run ended in which tests failed."""
        counts = self._localized.report.spectrum.counts
        ended = f"of {many(counts.failed + counts.passed, 'test')} {counts.failed} failed"
        answer: RunAnswer = {"notice": NOTICE, "ended": ended, "ranking": None}
        return {**answer, "ranking": self.rank(top, budget - len(as_json(answer)))}


def affected_tests(root: Path, budget: int) -> AffectedTestsAnswer:
    """Tell which tests changes can affect."""
    selection = select(str(root))
    if not selection.known:
        require_no_c(root)
    return affected_tests_answer(selection, budget)


def no_test_ran(root: Path, trouble: str, cure: str) -> NoReturn:
    """Refuse to rank after a run in which no test ran."""
    require_no_c(root)
    raise UsageError(Problem("", "", trouble, cure))


def without_ranking(cause: str) -> RunAnswer:
    """Tell how a run ended after which there is nothing to rank."""
    return {"notice": NOTICE, "ended": as_data(cause), "ranking": None}


def investigation_answer(found: Sequence[FindingAnswer], spent: Spent, budget: int) -> InvestigationAnswer:
    """Tell what makes failing tests pass."""
    findings: list[FindingAnswer] = [
        {"place": as_place(one["place"]), "rank": one["rank"], "findings": _first(one["findings"])}
        for one in found[:MAX_FINDINGS]
    ]

    def answer(most: int) -> InvestigationAnswer:
        return {
            "notice": NOTICE,
            "findings": findings[:most],
            "complete": spent.complete,
            "seconds": spent.seconds,
        }

    return fitted(answer, max(len(findings), 1), budget)


def fixes_answer(found: Sequence[FixAnswer], spent: Spent, budget: int) -> FixesAnswer:
    """Tell the fixes that were found."""
    fixes: list[FixAnswer] = [
        {
            "place": as_place(one["place"]),
            "said": as_data(one["said"]),
            "change": [as_data(line) for line in one["change"][:MAX_CHANGED]],
            "judged_by": one["judged_by"],
            "apart": as_data(one["apart"]),
        }
        for one in found[:MAX_FINDINGS]
    ]

    def answer(most: int) -> FixesAnswer:
        return {
            "notice": NOTICE,
            "fixes": fixes[:most],
            "more_fixes": max(0, len(fixes) - most),
            "complete": spent.complete,
            "seconds": spent.seconds,
        }

    return fitted(answer, max(len(fixes), 1), budget)


def changed_lines(difference: str) -> list[str]:
    """The lines that a unified difference removes and adds, without the names of files."""
    lines = [line for line in difference.splitlines() if not line.startswith(("---", "+++"))]
    return [line for line in lines if line[:1] in ("-", "+")]


def changes_answer(judged: Sequence[ChangeAnswer], spent: Spent, budget: int) -> ChangesAnswer:
    """Tell what changes do to the tests."""
    changes: list[ChangeAnswer] = [
        {
            "number": one["number"],
            "said": as_data(one["said"], MAX_PROBLEM),
            "mends": [as_data(test) for test in one["mends"][:MAX_FINDINGS]],
            "breaks": [as_data(test) for test in one["breaks"][:MAX_FINDINGS]],
            "refused": as_data(one["refused"]),
        }
        for one in judged
    ]

    def answer(most: int) -> ChangesAnswer:
        return {
            "notice": NOTICE,
            "changes": changes[:most],
            "more_changes": max(0, len(changes) - most),
            "complete": spent.complete,
            "seconds": spent.seconds,
        }

    return fitted(answer, max(len(changes), 1), budget)


def _first(findings: Sequence[str]) -> list[str]:
    """The first findings of a suspect, and how many more there are."""
    more = len(findings) - MAX_FINDINGS
    return [*map(as_data, findings[:MAX_FINDINGS]), *([f"and {more} more"] if more > 0 else [])]


def why_answer(found: Mapping[str, object], budget: int) -> WhyTestsFailAnswer:
    """Tell why tests fail, from what `suspectra why --format json` prints."""
    said, tests = found.get("text"), found.get("tests")
    conclusion, *lines = map(str, said) if isinstance(said, list) and said else ("",)

    def made(most: int) -> WhyTestsFailAnswer:
        return {
            "notice": NOTICE,
            "conclusion": as_data(conclusion, MAX_PROBLEM),
            "certainty": str(found.get("certainty")),
            "lines": [as_data(line.strip(), MAX_PROBLEM) for line in lines[:most]],
            "place": as_place(str(found.get("place") or "")),
            "tests": len(tests) if isinstance(tests, list) else 0,
            "other_failing_tests": int(str(found.get("other_failing_tests", 0))),
        }

    return fitted(made, len(lines), budget)


def causes_answer(
    roots: Sequence[StateAnswer],
    transitive: Sequence[StateAnswer],
    around: Sequence[StateAnswer],
    spent: Spent,
    budget: int,
    *,
    fails_later: bool,  # whether the test does not pass with other values of these states, but only fails later
    change: Sequence[str] = (),  # what a change removes and adds that tells which root is at fault
) -> CausesAnswer:
    """Tell the causes of a failure."""

    def answer(most: int) -> CausesAnswer:
        return {
            "notice": NOTICE,
            "roots": _states(roots, most),
            "fails_later": fails_later,
            "change": [as_data(line) for line in change[:most]],
            "transitive": _states(transitive, most),
            "around": _states(around, most),
            "alterations": spent.alterations,
            "complete": spent.complete,
            "seconds": spent.seconds,
        }

    return fitted(answer, MAX_STATES, budget)


def _states(states: Sequence[StateAnswer], most: int) -> list[StateAnswer]:
    return [{"place": as_place(one["place"]), "value": as_data(one["value"])} for one in states[:most]]
