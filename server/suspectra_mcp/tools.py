"""The tools that a coding agent can call."""

# no deferred annotations: the tools are made from the types of their parameters when the server is made

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import click
from mcp.server import MCPServer
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from typing_extensions import Unpack

from suspectra import __version__
from suspectra.base.errors import NothingToRank, SuspectraError
from suspectra.cli.localization import RankingOptions, localize
from suspectra.output.agents.answers import AffectedTestsAnswer, ExplanationAnswer, FailingTestsAnswer, RankingAnswer
from suspectra.output.agents.bounded import as_data, as_json, refusal
from suspectra.processes.events import TestProgress
from suspectra.processes.scratch import ScratchFolder
from suspectra_mcp.permission import Act, Permission, Permissions
from suspectra_mcp.running import AgentCommands
from suspectra_server.agent.answers import (
    CausesAnswer,
    ChangeAnswer,
    ChangesAnswer,
    FindingAnswer,
    FixAnswer,
    FixesAnswer,
    InvestigationAnswer,
    Known,
    RunAnswer,
    Spent,
    StateAnswer,
    WhyTestsFailAnswer,
    affected_tests,
    causes_answer,
    changed_lines,
    changes_answer,
    fixes_answer,
    investigation_answer,
    no_test_ran,
    why_answer,
    without_ranking,
)
from suspectra_server.agent.tools import (
    BUDGET,
    CAUSES_S,
    FIX_S,
    INSTRUCTIONS,
    INVESTIGATION_S,
    MAX_BUDGET,
    MAX_CHANGES,
    MAX_S,
    MAX_TESTS,
    MAX_TOP,
    MIN_BUDGET,
    TOOL,
    TOP,
    WHY_S,
)

Budget = Annotated[int, Field(ge=MIN_BUDGET, le=MAX_BUDGET, description="Characters that the answer may have.")]
Seconds = Annotated[float, Field(ge=1, le=MAX_S, description="How long it may take.")]
Tests = Annotated[list[str], Field(max_length=MAX_TESTS, description="Names of tests, as the recording has them.")]
Top = Annotated[int, Field(ge=1, le=MAX_TOP, description="Functions of each failure group.")]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)

_COMPILED = {"why", "investigate"}
"""The commands that run tests of C and C++ again, too."""

_NO_TESTS = 5
"""pytest's exit status if it ran no test."""
_NAMES = "take names of tests from `failing_tests`"


class AgentWorkspace:
    """What the tools answer from."""

    def __init__(self, root: Path, **chosen: Unpack[RankingOptions]):
        self.root, self._chosen = root, chosen

    def known(self) -> Known:
        """Rank what is recorded now."""
        return Known(self.root, localize(self.root, groups=True, **self._chosen))

    def affected_tests(self, budget: int) -> AffectedTestsAnswer:
        """Tell which tests changes can affect."""
        return affected_tests(self.root, budget)


def make_server(workspace: AgentWorkspace, commands: AgentCommands, permissions: Permissions) -> MCPServer:
    """Make the server."""
    server = MCPServer("suspectra", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    async def altered(
        command: str, permission: ElicitationResult[Permission], tests: Sequence[str], seconds: float
    ) -> Mapping[str, object]:
        """What a command answers that runs tests with something altered, if the user permits that."""
        permissions.settle(Act.ALTERED, permission)
        options = ("--format", "json", "--seconds", str(seconds))
        return await commands.asked(command, *options, *map(_named, tests), compiled=command in _COMPILED)

    @server.tool(description=TOOL["why"].text, annotations=_RUNS, structured_output=True)
    async def why(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        seconds: Seconds = WHY_S,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, WhyTestsFailAnswer]:
        return _result(why_answer(await altered("why", permission, tests, seconds), budget))

    @server.tool(description=TOOL["rank"].text, annotations=_READS, structured_output=True)
    async def rank(top: Top = TOP, budget: Budget = BUDGET) -> Annotated[CallToolResult, RankingAnswer]:
        return await _answered(lambda: workspace.known().rank(top, budget))

    @server.tool(description=TOOL["explain"].text, annotations=_READS, structured_output=True)
    async def explain(
        place: Annotated[str, Field(description="FILE:LINE")], budget: Budget = BUDGET
    ) -> Annotated[CallToolResult, ExplanationAnswer]:
        return await _answered(lambda: workspace.known().explain(place, budget))

    @server.tool(description=TOOL["failing_tests"].text, annotations=_READS, structured_output=True)
    async def failing_tests(budget: Budget = BUDGET) -> Annotated[CallToolResult, FailingTestsAnswer]:
        return await _answered(lambda: workspace.known().failing_tests(budget))

    @server.tool(description=TOOL["affected_tests"].text, annotations=_READS, structured_output=True)
    async def affected_tests(budget: Budget = BUDGET) -> Annotated[CallToolResult, AffectedTestsAnswer]:
        return await _answered(partial(workspace.affected_tests, budget))

    @server.tool(description=TOOL["run_tests"].text, annotations=_RUNS, structured_output=True)
    async def run_tests(
        context: Context,
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.tests)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        all_tests: Annotated[bool, Field(description="Run all tests, if none is named.")] = False,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, RunAnswer]:
        permissions.settle(Act.TESTS, permission)

        async def notify(progress: TestProgress) -> None:
            await context.report_progress(progress.done, progress.total or None, str(progress))

        ran = await commands.record(list(map(_named, tests)), all_tests=all_tests, notify=notify)
        if ran.status == _NO_TESTS:
            cure = _NAMES if tests else "let the user say what runs the tests, behind --"
            return await _answered(partial(no_test_ran, workspace.root, ran.trouble, cure))
        if ran.trouble:
            raise ToolError(refusal(ran.trouble))
        try:
            return _result(await asyncio.to_thread(lambda: workspace.known().after_run(TOP, budget)))
        except NothingToRank as error:
            return _result(without_ranking(error.problem.cause))

    @server.tool(description=TOOL["investigate"].text, annotations=_RUNS, structured_output=True)
    async def investigate(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        seconds: Seconds = INVESTIGATION_S,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, InvestigationAnswer]:
        return _result(_investigation(await altered("investigate", permission, tests, seconds), budget))

    @server.tool(description=TOOL["causes"].text, annotations=_RUNS, structured_output=True)
    async def causes(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        test: Annotated[str, Field(description="The name of a failing test.")],
        seconds: Seconds = CAUSES_S,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, CausesAnswer]:
        return _result(_causes(await altered("causes", permission, [test], seconds), budget))

    @server.tool(description=TOOL["suggest_fixes"].text, annotations=_RUNS, structured_output=True)
    async def suggest_fixes(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        tests: Tests = [],  # noqa: B006 the schema shows it, nothing changes it
        seconds: Seconds = FIX_S,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, FixesAnswer]:
        return _result(_fixes(await altered("fix", permission, tests, seconds), budget))

    @server.tool(description=TOOL["try_changes"].text, annotations=_RUNS, structured_output=True)
    async def try_changes(
        permission: Annotated[ElicitationResult[Permission], Resolve(permissions.altered)],
        changes: Annotated[
            list[str],
            Field(max_length=MAX_CHANGES, description="Unified differences, as `git diff` writes them."),
        ],
        seconds: Seconds = FIX_S,
        budget: Budget = BUDGET,
    ) -> Annotated[CallToolResult, ChangesAnswer]:
        permissions.settle(Act.ALTERED, permission)
        if not changes:
            raise ToolError("There is nothing to try. Fix: give unified differences")
        with ScratchFolder() as scratch:
            files = [str(scratch / f"{number}.diff") for number in range(1, len(changes) + 1)]
            for file, text in zip(files, changes, strict=True):
                Path(file).write_text(text, "utf-8", errors="replace")
            found = await commands.asked("try", "--format", "json", "--seconds", str(seconds), *files)
        return _result(_changes(found, budget))

    return server


def _result(answer: Mapping[str, object]) -> CallToolResult:
    """An answer as text and as values. The SDK would indent the text, and so go beyond the budget."""
    return CallToolResult(content=[TextContent(text=as_json(answer))], structured_content=dict(answer))


async def _answered(answer: Callable[[], Mapping[str, object]]) -> CallToolResult:
    """An answer that is made in another thread; what Suspectra refuses is an error of the tool."""
    try:
        return _result(await asyncio.to_thread(answer))
    except SuspectraError as error:
        raise ToolError(refusal(str(error.problem))) from None
    except click.BadParameter as error:
        raise ToolError(refusal(error.message)) from None


def _named(test: str) -> str:
    """The name of a test as an argument or in a list: no option, and one line."""
    if test.startswith("-") or "\n" in test:
        raise ToolError(f"{as_data(test)} is not the name of a test. Fix: {_NAMES}")
    return test


def _investigation(found: Mapping[str, object], budget: int) -> InvestigationAnswer:
    findings: list[FindingAnswer] = [
        {
            "place": _place(one),
            "rank": int(str(one.get("rank_best", 0))),
            "findings": [str(text) for text in _list(one.get("findings"))],
        }
        for one in _entries(found, "suspects")
        if one.get("findings")
    ]
    return investigation_answer(findings, _spent(found), budget)


def _causes(found: Mapping[str, object], budget: int) -> CausesAnswer:
    roots, transitive, around = (_states(found, name) for name in ("roots", "transitive", "around"))
    later = bool(found.get("fails_later"))
    return causes_answer(roots, transitive, around, _spent(found), budget, fails_later=later)


def _apart(told: object) -> str:
    return str(told.get("said", "")) if isinstance(told, dict) else ""


def _fixes(found: Mapping[str, object], budget: int) -> FixesAnswer:
    fixes: list[FixAnswer] = [
        {
            "place": _place(one),
            "said": str(one.get("said", "")),
            "change": changed_lines(str(one.get("diff", ""))),
            "judged_by": int(str(one.get("judged_by", 0))),
            "apart": _apart(one.get("apart")),
        }
        for one in _entries(found, "fixes")
    ]
    return fixes_answer(fixes, _spent(found), budget)


def _changes(found: Mapping[str, object], budget: int) -> ChangesAnswer:
    changes: list[ChangeAnswer] = [
        {
            "number": number,
            "said": str(one.get("said", "")),
            "mends": list(map(str, _list(one.get("mends")))),
            "breaks": list(map(str, _list(one.get("breaks")))),
            "refused": str(one.get("refused", "")),
        }
        for number, one in enumerate(_entries(found, "changes"), 1)
    ]
    return changes_answer(changes, _spent(found), budget)


def _spent(found: Mapping[str, object]) -> Spent:
    return Spent(
        bool(found.get("complete")), float(str(found.get("seconds", 0))), int(str(found.get("alterations", 0)))
    )


def _states(found: Mapping[str, object], name: str) -> list[StateAnswer]:
    return [{"place": _place(one), "value": str(one.get("value", ""))} for one in _entries(found, name)]


def _entries(found: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    return [one for one in _list(found.get(name)) if isinstance(one, Mapping)]


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def _place(entry: Mapping[str, object]) -> str:
    return f"{entry.get('file')}:{entry.get('line')}"
