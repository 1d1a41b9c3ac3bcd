"""The command `changes`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.options import CHANGES_SECONDS, EXCLUDE_MARKERS
from suspectra.cli.console import (
    INTERRUPTED,
    NOTHING_TO_RANK,
    declared,
    python_option,
    recorded_workspace_option,
    seconds_option,
    warn,
    written,
)
from suspectra.cli.rerun import (
    COMMAND,
    BeforeCommand,
    Interruption,
    RerunOptions,
    broken_tests,
    require_python,
    require_unchanged,
    rerun_setup,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.c.mixed_build import Executed
    from suspectra.changes.isolation import ChangeIsolation


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @click.option("--since", metavar="REVISION", help="Since this git revision.  [default: since the tests passed]")
    @click.option(
        "--ctest", type=click.Path(path_type=Path), metavar="BUILD", help="TESTs are of this CMake build folder."
    )
    @seconds_option(CHANGES_SECONDS)
    @click.option("--format", "form", type=click.Choice(["table", "json", "agent"]), default="table", show_default=True)
    @click.option("--output", "-o", type=click.Path(path_type=Path), help="A file instead of the terminal.")
    @declared(EXCLUDE_MARKERS)
    @click.argument("tests", metavar="[TEST]...", nargs=-1)
    @click.pass_context
    def changes(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Find which of your changes broke TEST: run it again with only some of them.

        TEST is the name of a recorded test that fails, of its class or its file, or a glob; without one it is all
        failing tests that are not known to have failed before your changes. They run in a temporary copy of the
        workspace, so your files are not touched.
        """
        return _changes(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    since: str | None
    ctest: Path | None
    changes_seconds: float
    form: str
    output: Path | None
    tests: tuple[str, ...]


def _changes(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.output.agents.bounded import NOTICE
    from suspectra.output.changes import write_changes, write_changes_json

    isolation = _for_python(command, chosen) if chosen["ctest"] is None else _for_c(command, chosen, chosen["ctest"])
    interrupted = _search(isolation)
    with written(chosen["output"]) as out:
        if chosen["form"] == "json":
            write_changes_json(isolation, out)
        else:
            if chosen["form"] == "agent":
                out.write(f"{NOTICE}\n")
            write_changes(isolation, out)
    warn(isolation.problems)
    return INTERRUPTED if interrupted else 0 if isolation.causes else NOTHING_TO_RANK


def _for_python(command: Sequence[str], chosen: _Options) -> ChangeIsolation:
    from suspectra.changes.baselines import older_texts
    from suspectra.changes.isolation import ChangeIsolation
    from suspectra.evidence.discovery import find_source

    workspace = chosen["workspace"]
    source = find_source(workspace)
    evidence = source.read()
    require_python(evidence)
    failing = broken_tests(evidence, chosen["tests"])
    if not chosen["tests"]:
        failing = {name: test for name, test in failing.items() if name not in evidence.old} or failing
    return ChangeIsolation(
        setup=rerun_setup(command, _rerun(chosen)),
        tests=list(failing.values()),
        baselines=older_texts(workspace, source, chosen["since"]),
        seconds=chosen["changes_seconds"],
    )


def _for_c(command: Sequence[str], chosen: _Options, build: Path) -> ChangeIsolation:
    from suspectra.base.errors import Problem, UsageError
    from suspectra.c.mixed_build import MixedBuild, tests_to_run
    from suspectra.changes.baselines import from_revision, revisions
    from suspectra.changes.isolation import ChangeIsolation
    from suspectra.experiments.inquiry import RerunSetup
    from suspectra.experiments.repeated_tests import FailingTest

    given = {"--": command, "--python": chosen["python"], "--exclude-marker": chosen["exclude_markers"]}
    if unusable := next((option for option, value in given.items() if value), None):
        cause = "it is for tests of Python, and --ctest names tests of C"
        raise UsageError(Problem(unusable, "", cause, "leave one of both out"))
    setup, since = RerunSetup(chosen["workspace"], ()), chosen["since"]
    first, known = build.resolve(), _executed(setup.workspace)
    return ChangeIsolation(
        setup=setup,
        tests=[FailingTest(name, "") for name in chosen["tests"] or tests_to_run(first)],
        baselines=revisions(setup.workspace) if since is None else [from_revision(setup.workspace, since)],
        start=lambda folder, end: MixedBuild(setup.workspace, folder, first, end, known),
        seconds=chosen["changes_seconds"],
    )


def _executed(workspace: Path) -> Executed:
    """What failing tests execute, if that is recorded and the sources are as they were then."""
    from suspectra.base.errors import EvidenceError, NoEvidence, NothingToRank
    from suspectra.c.mixed_build import by_suspicion
    from suspectra.evidence.discovery import find_source
    from suspectra.localizer import Localizer
    from suspectra.techniques import make_technique

    try:
        evidence = find_source(workspace).read()
        require_unchanged(evidence, {file.path for file in evidence.files}, workspace)
        return by_suspicion(Localizer(make_technique("ochiai")).update(evidence))
    except (NoEvidence, NothingToRank, EvidenceError):
        return {}


def _rerun(chosen: _Options) -> RerunOptions:
    """The options of all commands that run tests again: these always run in a copy."""
    return {
        "workspace": chosen["workspace"],
        "python": chosen["python"],
        "exclude_markers": chosen["exclude_markers"],
        "copy": True,
    }


def _search(isolation: ChangeIsolation) -> bool:
    """Search as long as the user lets it go on; whether it was interrupted."""
    from suspectra.output.time_bar import TimeBar

    with (
        Interruption() as interruption,
        closing(isolation.steps()) as steps,
        TimeBar(sys.stderr, isolation.seconds) as bar,
    ):
        for step in steps:
            with bar.aside():
                click.echo(str(step), err=True)
    return interruption.happened
