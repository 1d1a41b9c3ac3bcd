"""What the commands that run failing tests altered have in common."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.errors import EvidenceError, Problem, UsageError

if TYPE_CHECKING:
    from suspectra.evidence.evidence import Evidence
    from suspectra.experiments.repeated_tests import FailingTest

COMMAND = "suspectra.command"
"""In `click.Context.meta`: the arguments behind ``--``."""


class BeforeCommand(click.Command):
    """A command whose arguments end at ``--``; what follows is a command of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does what comes before ``--``.

        Parameters
        ----------
        ctx : click.Context
            Gets what follows.
        args : list of str
            All arguments.

        Returns
        -------
        list of str
            What is left of those before ``--``.
        """
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[COMMAND] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


def require_unchanged(evidence: Evidence, executed: Collection[str], workspace: Path) -> None:
    """Refuse sources that were edited since the tests were recorded: results would be shown at other lines.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    executed : collection of str
        The files that matter.
    workspace : Path
        The folder.

    Raises
    ------
    EvidenceError
        With the first file that was edited.
    """
    from suspectra.evidence.sources import Sources

    sources = Sources(workspace)
    for file in evidence.files:
        if file.path in executed and (problem := sources.change(file.path, file.digest)) is not None:
            cause = "it was changed after the tests ran, so experiments would not fit the recording"
            raise EvidenceError(Problem(problem.file, "", cause, "record the tests again"))


def failing_tests(evidence: Evidence, wanted: Sequence[str]) -> dict[str, FailingTest]:
    """Find the tests that are run altered: what was named, else all that fail.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    wanted : sequence of str
        Names of tests, or globs.

    Returns
    -------
    dict of str to FailingTest
        By name.

    Raises
    ------
    EvidenceError
        When no recorded test fails.
    UsageError
        When a name fits no failing test.
    """
    from suspectra.experiments.repeated_tests import FailingTest

    known = {test.name for test in evidence.tests}
    failing = {test.name: FailingTest.from_result(test) for test in evidence.tests if test.verdict.failing}
    if not failing:
        raise EvidenceError(Problem(evidence.source, "", "no recorded test fails", "record a failing test first"))
    names = _named(wanted, list(failing), known) if wanted else failing
    return {name: failing[name] for name in names}


def one_failing_test(evidence: Evidence, wanted: str) -> FailingTest:
    """Find the failing test that a command is about.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    wanted : str
        Its name, or a glob that fits no other failing test.

    Returns
    -------
    FailingTest
        With its module.

    Raises
    ------
    EvidenceError
        When no recorded test fails.
    UsageError
        When the name fits no failing test, or several.
    """
    failing = failing_tests(evidence, [wanted])
    if len(failing) > 1:
        cause = f"it fits {len(failing)} failing tests"
        raise UsageError(Problem(wanted, "", cause, f"name one of them, such as {next(iter(failing))}"))
    (test,) = failing.values()
    return test


def _named(wanted: Sequence[str], failing: Sequence[str], known: Collection[str]) -> list[str]:
    chosen: dict[str, None] = {}
    for text in wanted:
        fitting = [name for name in failing if name == text or fnmatchcase(name, text)]
        if not fitting:
            cause = "this test passed when it was recorded" if text in known else "no recorded test has this name"
            raise UsageError(Problem(text, "", cause, f"failing tests are: {', '.join(failing[:5])}"))
        chosen.update(dict.fromkeys(fitting))
    return list(chosen)
