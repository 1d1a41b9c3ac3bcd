"""The command `why`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.errors import EvidenceError, NoEvidence, Problem
from suspectra.base.options import COPY, EXCLUDE_MARKERS, HIDE_VALUES, WHY_SECONDS
from suspectra.cli.console import (
    INTERRUPTED,
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
    broken_tests,
    build_again_by,
    build_of_tests,
    require_nothing_of_python,
    require_unchanged,
    rerun_setup,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.experiments.repeated_tests import FailingTest
    from suspectra.why.inquiry import WhyInquiry

_PYTEST = ("pytest",)


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(WHY_SECONDS)
    @click.option("--since", metavar="REVISION", help="What changed since this git revision.  [default: the last pass]")
    @click.option(
        "--record",
        is_flag=True,
        help="Run the tests and record them first, by the command behind --. Those of C and C++ are built before.",
    )
    @click.option("--format", "form", type=click.Choice(["table", "json", "agent"]), default="table", show_default=True)
    @click.option("--output", "-o", type=click.Path(path_type=Path), help="A file instead of the terminal.")
    @options(*map(declared, (EXCLUDE_MARKERS, COPY, HIDE_VALUES)))
    @options(*BUILDS)
    @click.argument("tests", metavar="[TEST]...", nargs=-1)
    @click.pass_context
    def why(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Say why TEST fails, in at most fifteen lines.

        TEST is any part of the name of a recorded test that only this one has, or a class, a file or a glob; without
        one it is the first failure group. Cheap steps come first, and a dear one only while the answer is not sure:
        which of your changes broke it; where it fails, and what is suspicious; what would make it pass; how the values
        lead from there to the failure. The tests run again with some of your changes, with wrong conditions and wrong
        values: do this only with tests that can't do harm. Tests of C and C++ run only as they are, and with some of
        your changes, in a second build. Which build their tests are of is known from the recording.
        """
        return _why(context, context.meta[COMMAND], chosen)


class _Options(BuiltOptions):
    why_seconds: float
    since: str | None
    record: bool
    form: str
    output: Path | None
    hide_values: bool
    tests: tuple[str, ...]


def _why(context: click.Context, command: Sequence[str], chosen: _Options) -> int:
    from suspectra.changes.baselines import older_texts
    from suspectra.evidence.named_tests import with_failing
    from suspectra.output.why import write_answer, write_answer_for_agents, write_answer_json
    from suspectra.processes.watchdog import Watchdog
    from suspectra.selection.since_revision import since_revision
    from suspectra.why.inquiry import WhyInquiry

    workspace = chosen["workspace"]
    recorded = _recorded(context, command, chosen)
    source = _with_present_text(context, recorded, command, chosen)
    if source is not recorded and not source.read().failing:
        click.echo("No test fails any more.", err=True)
        return 0
    evidence = since_revision(source.read(), workspace, chosen["since"])
    build = build_of_tests(chosen, evidence, source)
    failing = broken_tests(evidence, chosen["tests"])
    if not any(test.uncollected for test in failing.values()):  # of these nothing was executed
        require_unchanged(evidence, {file.path for file in evidence.files}, workspace)
    about = with_failing(evidence, failing)
    if build is None:
        shown = not chosen["hide_values"]
        setup = rerun_setup(command, chosen, values_shown=shown)
        inquiry = WhyInquiry(
            setup=setup,
            evidence=about,
            failing=list(failing.values()),
            baselines=older_texts(workspace, source, chosen["since"]),
            seconds=chosen["why_seconds"],
        )
    else:
        inquiry = _for_c(command, chosen, build, about, list(failing.values()))
    with nullcontext() if build is None else Watchdog(os.environ):  # ends a build if this process is killed
        interrupted = _search(inquiry)
    with written(chosen["output"]) as out:
        if chosen["form"] == "json":
            write_answer_json(inquiry.answer, out)
        elif chosen["form"] == "agent":
            write_answer_for_agents(inquiry.answer, out)
        else:
            write_answer(inquiry.answer, out)
    warn(inquiry.problems)
    return INTERRUPTED if interrupted else 0


def _for_c(
    command: Sequence[str], chosen: _Options, build: Path, evidence: Evidence, failing: Sequence[FailingTest]
) -> WhyInquiry:
    from suspectra.changes.baselines import from_revision, revisions
    from suspectra.experiments.inquiry import RerunSetup
    from suspectra.why.compiled import CompiledWhyInquiry

    require_nothing_of_python(command, chosen)
    setup, since = RerunSetup(chosen["workspace"], (), values_shown=not chosen["hide_values"]), chosen["since"]
    return CompiledWhyInquiry(
        setup=setup,
        evidence=evidence,
        failing=failing,
        baselines=revisions(setup.workspace) if since is None else [from_revision(setup.workspace, since)],
        build=build,
        seconds=chosen["why_seconds"],
    )


def _recorded(context: click.Context, command: Sequence[str], chosen: _Options) -> EvidenceSource:
    """What is recorded, after the tests have run if that is wanted.

    Raises NoEvidence when nothing is, and the user does not want to run the tests now.
    """
    from suspectra.evidence.discovery import find_source, run_again_by

    workspace = chosen["workspace"]
    try:
        source = find_source(workspace, edges=True)
        if not chosen["record"]:
            return source
        source.read()
        again = run_again_by(source)
    except NoEvidence as error:
        again = ()
        asked = shlex.join([*(command or _PYTEST)])
        if not chosen["record"] and not _agrees(f"No run of tests is recorded here. Run `{asked}` and record it now?"):
            cure = "run `suspectra why --record`, which runs the tests first"
            raise NoEvidence(Problem(error.problem.file, "", error.problem.cause, cure)) from None
    python = ["--python", chosen["python"]] if chosen["python"] else []
    at = "--workspace", str(workspace)
    if again[:1] == ("record-c",):
        _build(build_again_by(again, workspace), workspace)
        words = ["record-c", *at, *again[1:]]
    else:
        of_ctest = again[2:] if again[:1] == ("record",) else again
        words = ["record", *at, *python, "--", *(command or of_ctest or _PYTEST)]
    _run_and_record(context, words)
    return find_source(workspace, edges=True)


def _with_present_text(
    context: click.Context, source: EvidenceSource, command: Sequence[str], chosen: _Options
) -> EvidenceSource:
    """The recording after the tests that changes can affect have run again, if sources were edited since.

    Tests of other languages are built first, if the user agrees, and other tools have recorded in their own way.
    """
    from suspectra.evidence.discovery import find_source, run_again_by
    from suspectra.evidence.recording import RecordingSource
    from suspectra.evidence.sources import Sources

    workspace = chosen["workspace"]
    evidence = source.read()
    again = command or run_again_by(source)
    sources = Sources(workspace)
    edited = [file.path for file in evidence.files if sources.change(file.path, file.digest) is not None]
    if not edited or not again:
        return source
    files, it = ("1 file was", "it") if len(edited) == 1 else (f"{len(edited)} files were", "they")
    if again[0] == "record-c" and (building := build_again_by(again, workspace)):
        asked = f"{files} edited after the tests ran. Build with `{shlex.join(building)}`, and record them again?"
        if not _agrees(asked):
            return source
        _build(building, workspace)
        _run_and_record(context, ["record-c", "--workspace", str(workspace.absolute()), *again[1:]])
        return find_source(workspace, edges=True)
    if not isinstance(source, RecordingSource) or again[0] in ("record", "record-c"):
        return source
    click.echo(f"{files} edited after the tests ran: those that failed or that {it} can affect run again.", err=True)
    python = ["--python", chosen["python"]] if chosen["python"] else []
    options = ["--failed-and-affected", "--no-suspects", *python]
    words = ["record", "--workspace", str(workspace.absolute()), *options, "--", *again]
    here = os.getcwd()
    try:
        if not command:  # what is known of it is without paths
            os.chdir(workspace)
        _run_and_record(context, words)
    finally:
        os.chdir(here)
    return find_source(workspace, edges=True)


def _build(command: tuple[str, ...], workspace: Path) -> None:
    """Build what changed since the tests of C or C++ ran; nothing where nobody knows how.

    Raises EvidenceError when that fails.
    """
    from suspectra.processes.runner import CommandToRun, Streams, run

    if not command:
        return
    ended = run(CommandToRun(command, str(workspace.absolute()), os.environ, Streams.STDERR))
    if ended.interrupted:
        raise KeyboardInterrupt
    if ended.status:
        cause = f"it ended with status {ended.status}, so the tests are not built"
        raise EvidenceError(Problem(shlex.join(command), "", cause, "correct what it complains about"))


def _run_and_record(context: click.Context, words: Sequence[str]) -> None:
    """Run a command that records; what the tests print goes to standard error, and only the answer to the output."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        context.find_root().command.main(args=[*words], prog_name="suspectra", standalone_mode=False)
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def _agrees(question: str) -> bool:
    """Ask on a terminal; elsewhere nobody can agree."""
    return sys.stdin.isatty() and sys.stderr.isatty() and click.confirm(question, err=True)


def _search(inquiry: WhyInquiry) -> bool:
    """Search as long as the user lets it go on; whether it was interrupted."""
    from suspectra.output.time_bar import TimeBar

    with Interruption() as interruption, closing(inquiry.steps()) as steps, TimeBar(sys.stderr, inquiry.seconds) as bar:
        for step in steps:  # what is first by now may be all that somebody who waits needs
            place = inquiry.answer.place
            bar.state = f"{step}; by now first: {place.short}" if place else step
    return interruption.happened
