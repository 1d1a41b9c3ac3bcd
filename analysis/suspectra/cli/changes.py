"""The command `changes`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.errors import NoEvidence
from suspectra.base.options import CHANGES_SECONDS, EXCLUDE_MARKERS
from suspectra.cli.console import (
    INTERRUPTED,
    NOTHING_TO_RANK,
    declared,
    options,
    python_option,
    recorded_workspace_option,
    seconds_option,
    warn,
    written,
)
from suspectra.cli.rerun import (
    BUILDS,
    COMMAND,
    BeforeCommand,
    BuiltOptions,
    Interruption,
    RerunOptions,
    broken_tests,
    build_of_tests,
    first_build,
    has_python,
    require_nothing_of_python,
    require_unchanged,
    rerun_setup,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.c.mixed_build import Executed
    from suspectra.changes.isolation import ChangeIsolation
    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.experiments.repeated_tests import FailingTest


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @click.option("--since", metavar="REVISION", help="Since this git revision.  [default: since the tests passed]")
    @seconds_option(CHANGES_SECONDS)
    @click.option("--format", "form", type=click.Choice(["table", "json", "agent"]), default="table", show_default=True)
    @click.option("--output", "-o", type=click.Path(path_type=Path), help="A file instead of the terminal.")
    @declared(EXCLUDE_MARKERS)
    @options(*BUILDS)
    @click.argument("tests", metavar="[TEST]...", nargs=-1)
    @click.pass_context
    def changes(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Find which of your changes broke TEST: run it again with only some of them.

        TEST is the name of a recorded test that fails, of its class or its file, or a glob; without one it is all
        failing tests that are not known to have failed before your changes. They run in a temporary copy of the
        workspace, so your files are not touched. Tests of C and C++ are built there; which build they are of is known
        from the recording.
        """
        return _changes(context.meta[COMMAND], chosen)


class _Options(BuiltOptions):
    since: str | None
    changes_seconds: float
    form: str
    output: Path | None
    tests: tuple[str, ...]


def _changes(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.output.agents.bounded import NOTICE
    from suspectra.output.changes import write_changes, write_changes_json
    from suspectra.processes.watchdog import Watchdog

    isolation, build = _isolation(command, chosen)
    with nullcontext() if build is None else Watchdog(os.environ):  # ends a build if this process is killed
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


def _isolation(command: Sequence[str], chosen: _Options) -> tuple[ChangeIsolation, Path | None]:
    """The search, and the build of the tests if they are of C or C++."""
    from suspectra.evidence.discovery import find_source

    try:
        source = find_source(chosen["workspace"])
    except NoEvidence:
        if (build := first_build(chosen)) is None:
            raise
        return _for_c(command, chosen, build, None), build
    evidence = source.read()
    build = build_of_tests(chosen, evidence, source)
    if build is not None:
        return _for_c(command, chosen, build, evidence), build
    return _for_python(command, chosen, source, evidence), None


def _for_python(
    command: Sequence[str], chosen: _Options, source: EvidenceSource, evidence: Evidence
) -> ChangeIsolation:
    from suspectra.changes.baselines import older_texts
    from suspectra.changes.isolation import ChangeIsolation

    return ChangeIsolation(
        setup=rerun_setup(command, _rerun(chosen)),
        tests=_broken(evidence, chosen),
        baselines=older_texts(chosen["workspace"], source, chosen["since"]),
        seconds=chosen["changes_seconds"],
    )


def _broken(evidence: Evidence, chosen: _Options) -> list[FailingTest]:
    failing = broken_tests(evidence, chosen["tests"])
    if not chosen["tests"]:
        failing = {name: test for name, test in failing.items() if name not in evidence.old} or failing
    return list(failing.values())


def _for_c(command: Sequence[str], chosen: _Options, build: Path, evidence: Evidence | None) -> ChangeIsolation:
    from suspectra.c.mixed_build import MixedBuild
    from suspectra.changes.baselines import from_revision, revisions
    from suspectra.changes.isolation import ChangeIsolation
    from suspectra.experiments.inquiry import RerunSetup

    require_nothing_of_python(command, _rerun(chosen) | {"copy": False})
    setup, since = RerunSetup(chosen["workspace"], ()), chosen["since"]
    first, known = build.resolve(), _executed(evidence, setup.workspace)
    return ChangeIsolation(
        setup=setup,
        tests=_broken_in_c(evidence, chosen, first),
        baselines=revisions(setup.workspace) if since is None else [from_revision(setup.workspace, since)],
        start=lambda folder, end: MixedBuild(setup.workspace, folder, first, end, known),
        seconds=chosen["changes_seconds"],
    )


def _broken_in_c(evidence: Evidence | None, chosen: _Options, build: Path) -> list[FailingTest]:
    """The tests that failed when they were recorded; those that CTest knows where none is recorded."""
    from suspectra.c.mixed_build import tests_to_run
    from suspectra.experiments.repeated_tests import FailingTest

    if evidence is not None and evidence.failing and not has_python(evidence):
        return _broken(evidence, chosen)
    return [FailingTest(name, "") for name in chosen["tests"] or tests_to_run(build)]


def _executed(evidence: Evidence | None, workspace: Path) -> Executed:
    """What failing tests execute, if that is recorded and the sources are as they were then."""
    from suspectra.base.errors import EvidenceError, NothingToRank
    from suspectra.c.mixed_build import by_suspicion
    from suspectra.localizer import Localizer
    from suspectra.techniques import make_technique

    if evidence is None:
        return {}
    try:
        require_unchanged(evidence, {file.path for file in evidence.files}, workspace)
        return by_suspicion(Localizer(make_technique("ochiai")).update(evidence))
    except (NothingToRank, EvidenceError):
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
