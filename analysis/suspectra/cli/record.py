"""The commands `record`, `record-c`, `affected` and `merge`.

Heavy modules are imported inside functions, since help loads the modules of all commands.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click
from click.core import ParameterSource

from suspectra.base.cancellation import Token
from suspectra.base.english import many
from suspectra.base.errors import Problem, SuspectraError, UsageError
from suspectra.base.options import KEEP_TEXTS
from suspectra.cli.console import (
    INTERRUPTED,
    build_options,
    declared,
    only_option,
    options,
    progress_option,
    recorded_workspace_option,
    unpacked,
    warn,
    workspace_option,
)
from suspectra_recorder.options import OPTIONS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.c.recording.run import CRun
    from suspectra.c.recording.suite import CSuite
    from suspectra.evidence.evidence import TestResult

_PATH = click.Path(path_type=Path)
_OF_ONE_RUN = ("workspace", "select", "only", "progress")  # options that a later run need not have


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@workspace_option
@click.option("--python", metavar="PATH", help="The interpreter for a bare pytest.  [default: the project's own]")
@options(*map(declared, OPTIONS))
@click.option(
    "--failed-and-affected", is_flag=True, help="Run only tests that failed, are new, or that changes can affect."
)
@click.option(
    "--since", metavar="REV", help="With --failed-and-affected: also consider changes since this git revision."
)
@click.option(
    "--live",
    is_flag=True,
    help="With --failed-and-affected, for runs on save: failing tests first, a line for each failure, an end after 50"
    " new failures.",
)
@only_option
@progress_option
@declared(KEEP_TEXTS)
@click.option(
    "--suspects/--no-suspects",
    default=None,
    help="After failing tests, show the first suspects of each failure group.  [default: on a terminal]",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- [COMMAND]...")
def record(workspace: Path, command: tuple[str, ...], suspects: bool | None, **chosen: Unpack[_RecordOptions]) -> int:
    """Run the tests and record what each executes.

    For example: suspectra record -- pytest tests -x
    """
    from suspectra.c.recording import ctest_command
    from suspectra.recording import endings, launch

    with _trouble_reported(chosen["progress"]):
        if ctest_command.runs_ctest(command):
            return _record_ctest(workspace, command, chosen)
        status = launch.run(command, workspace, **chosen)
    if status == endings.TESTS_FAILED and (sys.stderr.isatty() if suspects is None else suspects):
        _show_suspects(workspace)
    return status


def _show_suspects(workspace: Path) -> None:
    """Rank what was recorded, and show the first suspects beside the summary of the tests."""
    from suspectra.cli.localization import DEFAULTS, localize
    from suspectra.output.rankings.ranking import Listing
    from suspectra.output.status import write_first_suspects

    try:
        found = localize(workspace, groups=True, **DEFAULTS)
    except SuspectraError:  # the tests have run, and `suspectra rank` says what is wrong
        return
    click.echo("\nsuspectra: the first suspects; `suspectra rank` lists all", err=True)
    write_first_suspects(Listing(found.report, found.evidence, found.problems, groups=found.groups), sys.stderr)


@click.command()
@recorded_workspace_option
@click.option("--since", metavar="REV", help="Also consider changes since this git revision.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def affected(workspace: Path, since: str | None, form: str) -> None:
    """List the tests that failed or that a change can affect, with the reasons. Runs no test.

    `suspectra record --failed-and-affected` runs these tests and new ones.
    """
    from suspectra.evidence.discovery import require_no_c
    from suspectra.output.affected import write_json, write_table
    from suspectra.selection.selection import select

    selection = select(str(workspace), since)
    if not selection.known:
        require_no_c(workspace)
    write = write_json if form == "json" else write_table
    write(selection, sys.stdout)


@click.command("record-c")
@workspace_option
@click.option("--make", metavar="COMMAND", help="Build with this first, in the workspace.")
@click.option("--ctest", type=_PATH, metavar="BUILD", help="The tests of a CMake build folder.")
@click.option("--config", metavar="NAME", help="The configuration CTest is to run, such as Debug.")
@click.option("--meson", type=_PATH, metavar="BUILD", help="The tests of a Meson build folder.")
@click.option("--automake", type=_PATH, metavar="BUILD", help="The tests of `make check` of automake in this folder.")
@click.option("--program", type=_PATH, multiple=True, metavar="PROGRAM", help="A test program (repeatable).")
@click.option("--gtest", type=_PATH, multiple=True, metavar="PROGRAM", help="A GoogleTest program (repeatable).")
@click.option("--catch2", type=_PATH, multiple=True, metavar="PROGRAM", help="A Catch2 program (repeatable).")
@click.option("--command", "template", metavar="TEXT", help="A command for each test, which {test} stands for.")
@click.option("--tests", metavar="GLOB|FILE", help="With --command: files that are tests, or a file that lists tests.")
@click.option("--shell", type=_PATH, metavar="FILE", help="A list of shell commands: name, tab, command.")
@click.option("--expect-stdout", type=_PATH, metavar="DIR", help="Expected outputs of --command and --shell.")
@click.option("--whole", is_flag=True, help="Run test programs whole, not each of their cases alone.")
@click.option(
    "--junit", type=_PATH, metavar="FILE", help="Take the results from this JUnit XML, not from the exit codes."
)
@build_options
@click.option("--select", multiple=True, metavar="NAME", help="Only tests of this name or glob (repeatable).")
@only_option
@progress_option
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a test may take.  [default: 300]")
@click.option("--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, help="Tests at the same time.")
@click.option("--no-crash-handler", is_flag=True, help="Do not load the handler that keeps the profile of crashes.")
def record_c(
    workspace: Path,
    make: str | None,
    ctest: Path | None,
    config: str | None,
    meson: Path | None,
    automake: Path | None,
    program: tuple[Path, ...],
    gtest: tuple[Path, ...],
    catch2: tuple[Path, ...],
    template: str | None,
    tests: str | None,
    shell: Path | None,
    expect_stdout: Path | None,
    whole: bool,
    **chosen: Unpack[_RecordCOptions],
) -> int:
    """Run the tests of a C or C++ program and record what each executes.

    The program must be built with --coverage. For example: suspectra record-c --ctest build
    """
    from suspectra.c.recording import run as c_tests
    from suspectra.processes.watchdog import Watchdog

    # before anything is built
    if config and not ctest:
        raise click.UsageError("--config goes with --ctest.")
    if (template is None) != (tests is None):
        raise click.UsageError("--command and --tests go together.")
    if expect_stdout and not (template or shell):
        raise click.UsageError("--expect-stdout goes with --command or --shell.")
    # The watchdog ends the build and the tests if this process is killed.
    with _trouble_reported(chosen["progress"]), Watchdog(os.environ):
        if make is not None:
            _make(make, workspace)
        suites = [
            *_built_suites(workspace, ctest, config, meson, automake, whole=whole or chosen["junit"] is not None),
            *_program_suites(workspace, {"": program, "GoogleTest": gtest, "Catch2": catch2}),
            *_listed_suites(workspace, template, tests, shell, expect_stdout),
        ]
        if not suites:
            named = "--ctest, --meson, --automake, --program, --command or --shell"
            raise click.UsageError(f"Say what the tests are: {named}.")
        command = _as_given(click.get_current_context(), workspace)
        return _record_c(c_tests.record_c, workspace, reduce(add, suites), chosen, command)


def _as_given(context: click.Context, workspace: Path) -> list[str]:
    """The command that runs, as it is to be given in the folder of the workspace to record all tests again."""
    words = [context.command.name or ""]
    for option in context.command.params:
        name = option.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in _OF_ONE_RUN:
            continue
        given = context.params[name]
        for value in given if option.multiple else [given]:
            words.append(option.opts[0])
            if value is not True:
                words.append(_within(workspace, value) if isinstance(value, Path) else str(value))
    return words


def _within(workspace: Path, path: Path) -> str:
    """A path as it is given in the folder of the workspace."""
    full, root = path.absolute(), workspace.absolute()
    return str(full.relative_to(root) if full.is_relative_to(root) else full)


def _all_unpacked(context: click.Context, parameter: click.Parameter, paths: Sequence[Path]) -> tuple[Path, ...]:
    """Folders of recordings for folders, projects and ZIP files."""
    return tuple(found for path in paths if (found := unpacked(context, parameter, path)) is not None)


@click.command()
@click.argument("out", type=_PATH)
@click.argument("inputs", type=_PATH, callback=_all_unpacked, nargs=-1, required=True, metavar="IN...")
def merge(out: Path, inputs: tuple[Path, ...]) -> None:
    """Combine recordings of shards and re-runs into the folder OUT.

    Inputs are folders of recordings, projects that contain one, or ZIP files of these. Of each test the newest record
    counts. For example: suspectra merge .suspectra/recording shard-1 shard-2
    """
    from suspectra.recording import merging

    merged = merging.merge(out, inputs)
    warn(merged.problems)
    tests = many(merged.tests, "test")
    older = f", {merged.replaced} older records left out" if merged.replaced else ""
    click.echo(f"suspectra: merged {tests} of {many(merged.runs, 'run')}{older} in {merged.folder}")


def register(cli: click.Group) -> None:
    """Add the commands to the command line."""
    for command in (record, record_c, affected, merge):
        cli.add_command(command)


def _make(command: str, workspace: Path) -> None:
    """Run the build command, with its output on stderr."""
    from suspectra.processes.runner import CommandToRun, Streams, run

    shell = ("cmd", "/c") if os.name == "nt" else ("/bin/sh", "-c")
    ended = run(CommandToRun((*shell, command), str(workspace), os.environ, Streams.STDERR))
    if ended.interrupted:
        raise KeyboardInterrupt
    if ended.status:
        cause = f"the build ended with status {ended.status}, so no test was run"
        raise UsageError(Problem(command, "", cause, "fix what the build complains about"))


def _built_suites(
    workspace: Path, ctest: Path | None, config: str | None, meson: Path | None, automake: Path | None, *, whole: bool
) -> Iterator[CSuite]:
    """The tests that build folders know."""
    from suspectra.c.recording.automake import automake_suite
    from suspectra.c.recording.meson import meson_suite
    from suspectra.c.recording.suites import ctest_suite
    from suspectra.c.recording.test_programs import divided

    suites = []
    if ctest:
        suites.append(ctest_suite(workspace, ctest.absolute(), config))
    if meson:
        suites.append(meson_suite(workspace, meson.absolute()))
    if automake:
        suites.append(automake_suite(workspace, automake.absolute()))
    yield from suites if whole else (divided(suite, workspace) for suite in suites)


def _program_suites(workspace: Path, programs: Mapping[str, Sequence[Path]]) -> Iterator[CSuite]:
    """The cases of test programs, by the name of the framework; empty for any."""
    from suspectra.c.recording.test_programs import FRAMEWORKS, program_suite

    for name, paths in programs.items():
        if paths:
            framework = next((one for one in FRAMEWORKS if one.name == name), None)
            yield program_suite(workspace, [path.absolute() for path in paths], framework)


def _listed_suites(
    workspace: Path, template: str | None, tests: str | None, shell: Path | None, expect_stdout: Path | None
) -> Iterator[CSuite]:
    """The tests whose commands the user gives."""
    from suspectra.c.recording.suites import command_suite, shell_suite

    expected = expect_stdout and expect_stdout.absolute()
    if template and tests:
        yield command_suite(workspace, template, tests, expected)
    if shell:
        yield shell_suite(workspace, shell.absolute(), expected)


@contextmanager
def _trouble_reported(progress: Path | None) -> Iterator[None]:
    """Report an error in the progress file, too."""
    from suspectra_recorder.progress import ProgressWriter

    try:
        yield
    except SuspectraError as error:
        ProgressWriter(str(progress.absolute()) if progress else "").trouble(str(error.problem))
        raise


class _RecordOptions(TypedDict):
    """The values of the options of `record`."""

    python: str | None
    sources: tuple[str, ...]
    include_tests: bool
    counts: bool
    children: bool
    recorder: str | None
    failed_and_affected: bool
    since: str | None
    live: bool
    only: Path | None
    progress: Path | None
    keep_texts: bool


def _record_ctest(workspace: Path, command: Sequence[str], chosen: _RecordOptions) -> int:
    """The tests that a command of CTest chooses, as `record-c` records them."""
    from suspectra.c.recording import run as c_tests
    from suspectra.c.recording.ctest_command import ctest_command
    from suspectra.c.recording.test_programs import divided
    from suspectra.processes.watchdog import Watchdog

    usable = {"only", "progress", "children", "keep_texts"}
    if unusable := next((name for name, value in chosen.items() if value and name not in usable), None):
        option = "--source" if unusable == "sources" else f"--{unusable.replace('_', '-')}"
        cause = "it is for tests of Python; what a change in C or C++ can reach is not known"
        if unusable not in ("failed_and_affected", "since"):
            cause = "it is for tests of Python, and ctest runs others"
        raise UsageError(Problem(option, "", cause, "leave it out; `ctest -R NAME` chooses tests by name"))
    with Watchdog(os.environ):
        asked = ctest_command(command, workspace)
        suite = divided(asked.suite, workspace)
        chosen_c: _RecordCOptions = {
            "junit": None,
            "build": (),
            "mapping": (),
            "select": tuple(asked.select or ()),
            "only": chosen["only"],
            "progress": chosen["progress"],
            "no_crash_handler": False,
            "jobs": asked.jobs,
            "timeout": asked.timeout,
        }
        again = ["record", "--", *command]
        return _record_c(c_tests.record_c, workspace, suite, chosen_c, again)


class _RecordCOptions(TypedDict):
    """The values of the options of `record-c`, but for those that say what the tests are."""

    junit: Path | None
    build: tuple[Path, ...]
    mapping: tuple[str, ...]
    select: tuple[str, ...]
    only: Path | None
    progress: Path | None
    no_crash_handler: bool
    jobs: int
    timeout: float | None


def _record_c(
    record: Callable[..., CRun], workspace: Path, suite: CSuite, chosen: _RecordCOptions, command: Sequence[str]
) -> int:
    from suspectra.evidence.source_paths import parse_mapping
    from suspectra.output.progress import ProgressLines
    from suspectra.processes.signals import ASKING, stopped_by
    from suspectra.recording.launch import named_tests
    from suspectra_recorder.progress import ProgressWriter

    stop = Token()
    select, only, progress, junit = chosen["select"], chosen["only"], chosen["progress"], chosen["junit"]
    shown, written = ProgressLines(sys.stderr), ProgressWriter(str(progress.absolute()) if progress else "")
    names = [case.name for case in suite.cases]
    names += dict.fromkeys(case.whole.name for case in suite.cases if case.whole and case.whole.name not in names)
    if only is not None:
        wanted = set(named_tests(only))
        names = [name for name in names if name in wanted]

    def ended(done: int, total: int, test: TestResult) -> None:
        if done == 1:
            written.collected(total)
        written.ended(test.verdict.failing)
        shown(done, total, test)

    with stopped_by(stop, signal.SIGINT, *ASKING), shown:
        run = record(
            workspace,
            suite,
            build=[folder.absolute() for folder in chosen["build"]],
            junit=junit and junit.absolute(),
            select=_matching(select, names) if select else names if only is not None else None,
            mapping=parse_mapping(chosen["mapping"]),
            crash_handler=not chosen["no_crash_handler"],
            progress=ended,
            cancel=stop,
            jobs=chosen["jobs"],
            timeout=chosen["timeout"],
            command=command,
        )
    warn(run.problems)
    failed = sum(test.verdict.failing for test in run.tests)
    word = "interrupted; recorded" if run.cancelled else "recorded"
    count = many(len(run.tests), "test")
    ends = f"{failed} failed" + (f", {run.not_run} could not be run" if run.not_run else "")
    click.echo(f"suspectra: {word} {count}, {ends}, in {run.seconds:.1f} s in {run.folder}", err=True)
    if run.readers:
        click.echo(f"suspectra: profiles read by {' and '.join(run.readers)}", err=True)
    if run.cancelled:
        return INTERRUPTED
    return 1 if failed else 2 * (run.not_run > 0)


def _matching(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that were selected; a pattern that fits none stays, and is complained about as a name."""
    chosen: dict[str, None] = {}
    for pattern in patterns:
        fitting = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
        chosen.update(dict.fromkeys(fitting or [pattern]))
    return list(chosen)
