"""The tools that a coding agent can call."""

# no deferred annotations: the tools are made from the types of their parameters when the server is made

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import click
from mcp.server import MCPServer
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict, Unpack

from suspectra import __version__
from suspectra.console import parse_location
from suspectra.errors import NothingToRank, SuspectraError
from suspectra.evidence.sources import Sources
from suspectra.localization import Localized, RankingOptions, localize
from suspectra.output.agent import (
    MAX_PROBLEM,
    NOTICE,
    affected_tests_answer,
    as_data,
    explanation_answer,
    failing_tests_answer,
    fitted,
    ranking_answer,
)
from suspectra.output.answers import AffectedTestsAnswer, ExplanationAnswer, FailingTestsAnswer, RankingAnswer
from suspectra.output.ranking import Listing
from suspectra.processes.events import TestProgress
from suspectra.quantity import many
from suspectra.selection.selection import select
from suspectra_mcp.permission import Act, Permission, Permissions
from suspectra_mcp.running import Commands

INSTRUCTIONS = (
    "Suspectra ranks the lines of a project by how suspicious its tests make them. Begin with `rank` when tests fail;"
    " read the first suspects of each failure group, and ask `explain` about a line before changing it. After a change"
    " call `run_tests`, which runs those that failed and those that the change can affect. `investigate` and `causes`"
    " run failing tests again with altered decisions and values; ask them if the ranking leaves a choice."
    f" {NOTICE}"
)

BUDGET, MIN_BUDGET, MAX_BUDGET = 4_000, 500, 20_000
"""Characters of an answer: by default, at least and at most."""

MAX_FINDINGS, MAX_STATES = 10, 12

_Result = TypeVar("_Result")
Budget = Annotated[int, Field(ge=MIN_BUDGET, le=MAX_BUDGET, description="Characters that the answer may have.")]
Seconds = Annotated[float, Field(gt=0, le=600, description="How long it may take.")]
Tests = Annotated[list[str], Field(max_length=500, description="Names of tests, as the recording has them.")]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)


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


class StateAnswer(TypedDict):
    """A decision or a value of the failing run."""

    place: str
    value: str


class CausesAnswer(TypedDict):
    """The states with which the test would pass, and what they lead to."""

    notice: str
    roots: list[StateAnswer]
    transitive: list[StateAnswer]
    around: list[StateAnswer]
    alterations: int
    complete: bool
    seconds: float


class Workspace:
    """What the tools answer from.

    Parameters
    ----------
    root : Path
        The workspace.
    **chosen
        Which evidence to rank, and by what technique; see `suspectra rank`.
    """

    def __init__(self, root: Path, **chosen: Unpack[RankingOptions]):
        self.root, self._chosen = root, chosen

    def localized(self) -> tuple[Localized, Listing]:
        """Rank what is recorded now."""
        found = localize(self.root, groups=True, **self._chosen)
        return found, Listing(found.report, found.evidence, found.problems, groups=found.groups)

    def rank(self, top: int, budget: int) -> RankingAnswer:
        """Tell which lines are suspicious."""
        return ranking_answer(self.localized()[1], Sources(self.root), budget, top)

    def explain(self, place: str) -> ExplanationAnswer:
        """Tell why a line has its rank."""
        file, line = parse_location(self.root, place)
        localized, listing = self.localized()
        elements = localized.report.spectrum.elements
        element = elements.at(file, line)
        group = None if element is None else localized.group_of(element)
        report = group.report if group is not None else localized.report
        return explanation_answer(report, listing.evidence, file, line, Sources(self.root))

    def failing_tests(self, budget: int) -> FailingTestsAnswer:
        """Tell which tests fail."""
        return failing_tests_answer(self.localized()[1], budget)

    def affected_tests(self, budget: int) -> AffectedTestsAnswer:
        """Tell which tests changes can affect."""
        return affected_tests_answer(select(str(self.root)), budget)


def make_server(workspace: Workspace, commands: Commands, permissions: Permissions) -> MCPServer:
    """Make the server.

    Parameters
    ----------
    workspace : Workspace
        What it answers from.
    commands : Commands
        Run its tests.
    permissions : Permissions
        What may be run.

    Returns
    -------
    MCPServer
        With all tools; `run_stdio_async` serves them.
    """
    server = MCPServer("suspectra", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    @server.tool(annotations=_READS, structured_output=True)
    async def rank(top: Annotated[int, Field(ge=1, le=100)] = 10, budget: Budget = BUDGET) -> RankingAnswer:
        """List the most suspicious lines of the last recorded run, for each failure group, best first."""
        return await _answered(partial(workspace.rank, top, budget))

    @server.tool(annotations=_READS, structured_output=True)
    async def explain(place: Annotated[str, Field(description="FILE:LINE")]) -> ExplanationAnswer:
        """Explain why a line is suspicious or not, with the failing tests that execute it."""
        return await _answered(partial(workspace.explain, place))

    @server.tool(annotations=_READS, structured_output=True)
    async def failing_tests(budget: Budget = BUDGET) -> FailingTestsAnswer:
        """List the failing tests of the last recorded run by failure group, with exception, message and place."""
        return await _answered(partial(workspace.failing_tests, budget))

    @server.tool(annotations=_READS, structured_output=True)
    async def affected_tests(budget: Budget = BUDGET) -> AffectedTestsAnswer:
        """List the tests that changes since the last recorded run can affect, with the reasons. Runs nothing."""
        return await _answered(partial(workspace.affected_tests, budget))

    @server.tool(annotations=_RUNS, structured_output=True)
    async def run_tests(
        context: Context,
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.tests)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        all_tests: Annotated[bool, Field(description="Run all tests, if none is named.")] = False,
        budget: Budget = BUDGET,
    ) -> RunAnswer:
        """Run tests, record them and rank again: those named, or else those that failed or that changes can affect."""
        permissions.settle(Act.TESTS, permission)

        async def notify(progress: TestProgress) -> None:
            await context.report_progress(progress.done, progress.total or None, str(progress))

        ran = await commands.record(tests, all_tests=all_tests, notify=notify)
        if ran.trouble:
            raise ToolError(as_data(ran.trouble, MAX_PROBLEM))
        try:
            ranking = await asyncio.to_thread(workspace.rank, 10, budget)
        except NothingToRank as error:
            return {"notice": NOTICE, "ended": as_data(error.problem.cause), "ranking": None}
        outcome = ranking["tests"]
        ended = f"of {many(outcome['failed'] + outcome['passed'], 'test')} {outcome['failed']} failed"
        return {"notice": NOTICE, "ended": ended, "ranking": ranking}

    @server.tool(annotations=_RUNS, structured_output=True)
    async def investigate(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        seconds: Seconds = 20,
        budget: Budget = BUDGET,
    ) -> InvestigationAnswer:
        """Run failing tests again, each time with one thing altered, and say what makes them pass."""
        permissions.settle(Act.ALTERED, permission)
        arguments = ["investigate", "--format", "json", "--seconds", str(seconds)]
        found = await commands.asked([*arguments, *map(_named, tests)])
        return _investigation(found, budget)

    @server.tool(annotations=_RUNS, structured_output=True)
    async def causes(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        test: Annotated[str, Field(description="The name of a failing test.")],
        seconds: Seconds = 60,
        budget: Budget = BUDGET,
    ) -> CausesAnswer:
        """Narrow down the causes of the failure of one test, by running it with altered states."""
        permissions.settle(Act.ALTERED, permission)
        found = await commands.asked(["causes", "--format", "json", "--seconds", str(seconds), _named(test)])
        return _causes(found, budget)

    return server


async def _answered(answer: Callable[[], _Result]) -> _Result:
    """An answer that is made in another thread; what Suspectra refuses is an error of the tool."""
    try:
        return await asyncio.to_thread(answer)
    except SuspectraError as error:
        raise ToolError(as_data(str(error.problem), MAX_PROBLEM)) from None
    except click.BadParameter as error:
        raise ToolError(as_data(error.message, MAX_PROBLEM)) from None


def _named(test: str) -> str:
    """The name of a test as an argument: no option."""
    if test.startswith("-"):
        raise ToolError(f"{as_data(test)} is not the name of a test. Fix: take one from `failing_tests`")
    return test


def _investigation(found: Mapping[str, object], budget: int) -> InvestigationAnswer:
    suspects = [one for one in _entries(found, "suspects") if one.get("findings")]
    findings: list[FindingAnswer] = [
        {
            "place": _place(one),
            "rank": int(str(one.get("rank_best", 0))),
            "findings": [as_data(str(text)) for text in _list(one.get("findings"))],
        }
        for one in suspects[:MAX_FINDINGS]
    ]

    def answer(most: int) -> InvestigationAnswer:
        return {
            "notice": NOTICE,
            "findings": findings[:most],
            "complete": bool(found.get("complete")),
            "seconds": float(str(found.get("seconds", 0))),
        }

    return fitted(answer, max(len(findings), 1), budget)


def _causes(found: Mapping[str, object], budget: int) -> CausesAnswer:
    def answer(most: int) -> CausesAnswer:
        return {
            "notice": NOTICE,
            "roots": _states(found, "roots", most),
            "transitive": _states(found, "transitive", most),
            "around": _states(found, "around", most),
            "alterations": int(str(found.get("alterations", 0))),
            "complete": bool(found.get("complete")),
            "seconds": float(str(found.get("seconds", 0))),
        }

    return fitted(answer, MAX_STATES, budget)


def _states(found: Mapping[str, object], name: str, most: int) -> list[StateAnswer]:
    return [{"place": _place(one), "value": as_data(str(one.get("value", "")))} for one in _entries(found, name)[:most]]


def _entries(found: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    return [one for one in _list(found.get(name)) if isinstance(one, Mapping)]


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def _place(entry: Mapping[str, object]) -> str:
    return as_data(f"{entry.get('file')}:{entry.get('line')}")
