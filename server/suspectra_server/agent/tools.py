"""The tools of coding agents: declared once, for the Model Context Protocol and for VS Code's language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.base.errors import Problem, UsageError
from suspectra.output.agents.bounded import NOTICE

BUDGET, MIN_BUDGET, MAX_BUDGET = 4_000, 700, 20_000
"""Characters of an answer: by default, at least and at most."""

TOP, MAX_TOP = 10, 100
"""Functions of each failure group: by default and at most."""

WHY_S, INVESTIGATION_S, CAUSES_S, FIX_S, MAX_S = 30, 20, 60, 20, 600
"""How long experiments may take: few findings come after the first seconds, and an agent waits for the answer."""

MAX_TESTS = 500
"""Tests that can be named at once: more are all tests."""

MAX_CHANGES = 50
"""Changes that can be tried at once."""

INSTRUCTIONS = (
    "Suspectra ranks the functions and lines of a project by how suspicious its tests make them. Begin with `why` when"
    " tests fail: it gives one answer, and says how sure it is. Or begin with `rank`, which runs nothing: read the"
    " first functions of each failure group, and ask `explain` about a line before changing it. After a change call"
    " `run_tests`, which runs those that failed and those that the change can affect. `investigate` and `causes` run"
    " failing tests again with altered decisions and values; ask them if the answers leave a choice."
    " Before you edit, `try_changes` judges several ideas at once without touching a file, and `suggest_fixes` searches"
    " some."
    f" {NOTICE}"
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    type: str  # in JSON
    text: str  # what it means, for the agent
    default: object = None  # None if it must be given
    minimum: int | None = None  # of a number, or of the length of a list
    maximum: int | None = None
    lines: bool = False  # whether the texts of a list may have several lines

    @property
    def schema(self) -> dict[str, object]:
        """The parameter as JSON Schema."""
        is_list = self.type == "array"
        limits = {"maxItems" if is_list else "maximum": self.maximum, "minimum": self.minimum}
        return {
            "type": self.type,
            **({"items": {"type": "string"}} if is_list else {}),
            **{name: limit for name, limit in limits.items() if limit is not None},
            **({} if self.default is None else {"default": self.default}),
            "description": self.text,
        }

    def allows(self, value: object) -> bool:
        """Whether a value can be given for it."""
        size: object = value
        if self.type == "array":
            if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
                return False
            if not self.lines and any("\n" in one for one in value):
                return False
            size = len(value)
        elif self.type in ("integer", "number"):
            if isinstance(value, bool) or not isinstance(value, int if self.type == "integer" else (int, float)):
                return False
        else:
            return isinstance(value, bool if self.type == "boolean" else str)
        assert isinstance(size, (int, float))
        return (self.minimum is None or size >= self.minimum) and (self.maximum is None or size <= self.maximum)


@dataclass(frozen=True)
class AgentTool:
    """A tool of coding agents."""

    name: str  # for programs
    title: str  # for people
    text: str  # what it does, for the agent
    parameters: tuple[Parameter, ...]
    asks: str = ""  # what the user is asked before it executes code of the workspace; empty if it only reads

    @property
    def schema(self) -> dict[str, object]:
        """The parameters as JSON Schema."""
        required = [one.name for one in self.parameters if one.default is None]
        return {
            "type": "object",
            "properties": {one.name: one.schema for one in self.parameters},
            **({"required": required} if required else {}),
        }

    def arguments(self, given: Mapping[str, object]) -> dict[str, object]:
        """Check what an agent has given, and add the defaults.

        Raises UsageError when one is missing, unknown, or of another form.
        """
        known = {one.name: one for one in self.parameters}
        if unknown := sorted(given.keys() - known.keys()):
            raise _wrong(f"{self.name} has no parameter {unknown[0]!r}", f"give {', '.join(known) or 'none'}")
        values = {name: given.get(name, one.default) for name, one in known.items()}
        for name, value in values.items():
            if not known[name].allows(value):
                raise _wrong(f"{name} can't be {value!r}", f"see its description: {known[name].text}")
        return values


def _wrong(cause: str, cure: str) -> UsageError:
    return UsageError(Problem("", "", cause, cure))


_BUDGET = Parameter(
    "budget", "integer", "Characters that the answer may have.", BUDGET, minimum=MIN_BUDGET, maximum=MAX_BUDGET
)
_TESTS = Parameter("tests", "array", "Names of tests, as the recording has them.", [], maximum=MAX_TESTS)


def _seconds(default: int) -> Parameter:
    return Parameter("seconds", "number", "How long it may take.", default, minimum=1, maximum=MAX_S)


_ALTERED = (
    "Failing tests run with altered conditions and values. Allow this only if they can't do harm with wrong values:"
    " deleted files, sent messages, changed databases."
)

TOOLS = (
    AgentTool(
        "why",
        "Why Tests Fail",
        "Say why failing tests fail, in one short answer with how sure it is: the change that broke them, or what is"
        " wrong and what would make them pass, and how it leads to the failure. Runs the tests again, altered.",
        (_TESTS, _seconds(WHY_S), _BUDGET),
        asks=_ALTERED,
    ),
    AgentTool(
        "rank",
        "Suspicious Functions",
        "List the most suspicious functions of the last recorded run, with their first lines, for each failure group.",
        (
            Parameter("top", "integer", "Functions of each failure group.", TOP, minimum=1, maximum=MAX_TOP),
            _BUDGET,
        ),
    ),
    AgentTool(
        "explain",
        "Why a Line Is Suspicious",
        "Explain why a line is suspicious or not, with the failing tests that execute it.",
        (Parameter("place", "string", "FILE:LINE"), _BUDGET),
    ),
    AgentTool(
        "failing_tests",
        "Failing Tests",
        "List the failing tests of the last recorded run by failure group, with exception, message and place.",
        (_BUDGET,),
    ),
    AgentTool(
        "affected_tests",
        "Affected Tests",
        "List the tests that changes since the last recorded run can affect, with the reasons. Runs nothing.",
        (_BUDGET,),
    ),
    AgentTool(
        "run_tests",
        "Run Tests and Rank",
        "Run tests, record them and rank again: those named, or else those that failed or that changes can affect.",
        (_TESTS, Parameter("all_tests", "boolean", "Run all tests, if none is named.", False), _BUDGET),
        asks="The tests execute code of this workspace.",
    ),
    AgentTool(
        "investigate",
        "Find Out What Would Make Tests Pass",
        "Run failing tests again, each time with one thing altered, and say what makes them pass.",
        (_TESTS, _seconds(INVESTIGATION_S), _BUDGET),
        asks=_ALTERED,
    ),
    AgentTool(
        "causes",
        "Causes of a Failure",
        "Narrow down the causes of the failure of one test, by running it with altered states.",
        (Parameter("test", "string", "The name of a failing test."), _seconds(CAUSES_S), _BUDGET),
        asks=_ALTERED,
    ),
    AgentTool(
        "suggest_fixes",
        "Search Fixes",
        "Search small changes of the source with which failing tests pass and the passing tests that execute them still"
        " do. No file is changed. That tests pass does not make a change right: judge it.",
        (_TESTS, _seconds(FIX_S), _BUDGET),
        asks=_ALTERED,
    ),
    AgentTool(
        "try_changes",
        "Try Changes",
        "Say which failing tests each of some changes repairs, and which passing tests it breaks. Each is a unified"
        " difference of Python files that the tests execute. No file is changed, and it takes milliseconds for small"
        " tests, so try several ideas at once.",
        (
            Parameter(
                "changes", "array", "Unified differences, as `git diff` writes them.", maximum=MAX_CHANGES, lines=True
            ),
            _seconds(FIX_S),
            _BUDGET,
        ),
        asks=_ALTERED,
    ),
)

TOOL = {tool.name: tool for tool in TOOLS}
"""The tools by name."""
