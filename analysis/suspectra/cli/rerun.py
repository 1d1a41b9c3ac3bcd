"""What the commands that run failing tests again have in common."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, TypedDict

import click

from suspectra.base.errors import EvidenceError, Problem, UsageError

if TYPE_CHECKING:
    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.experiments.inquiry import RerunSetup
    from suspectra.experiments.repeated_tests import FailingTest
    from suspectra.experiments.suspicion import Suspicion

COMMAND = "suspectra.command"
"""In `click.Context.meta`: the arguments behind ``--``."""


class BeforeCommand(click.Command):
    """A command whose arguments end at ``--``; what follows is a command of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does what comes before ``--``."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[COMMAND] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the arguments as click does, and what may follow."""
        return [*super().collect_usage_pieces(ctx), "[-- pytest ...]"]


class RerunOptions(TypedDict):
    """The options that all of these commands have."""

    workspace: Path
    python: str | None
    exclude_markers: tuple[str, ...]
    copy: bool


class BuiltOptions(RerunOptions):
    """The options that say which build the tests of C and C++ are of."""

    ctest: Path | None
    meson: Path | None
    automake: Path | None
    shell: Path | None


BUILDS = tuple(
    click.option(option, type=click.Path(path_type=Path), metavar=kind, help=f"TEST is {what}.")
    for option, kind, what in (
        ("--ctest", "BUILD", "one of this CMake build folder"),
        ("--meson", "BUILD", "one of this build folder of Meson"),
        ("--automake", "BUILD", "one of `make check` in this build folder"),
        ("--shell", "FILE", "a command in this file, of a project that plain make builds"),
    )
)
"""The same for click."""


def first_build(chosen: BuiltOptions) -> Path | None:
    """Which build the tests are of: its folder, or the file with the commands; None for tests of Python.

    Raises UsageError when several are named.
    """
    named = [path for path in (chosen["ctest"], chosen["meson"], chosen["automake"], chosen["shell"]) if path]
    if len(named) > 1:
        raise UsageError(Problem("", str(named[1]), "a test is of one build", "name one build folder, or one file"))
    return named[0].absolute() if named else None


def build_of_tests(chosen: BuiltOptions, evidence: Evidence, source: EvidenceSource) -> Path | None:
    """The build that recorded tests of C and C++ are of: the one that is named, else that of the recording.

    None for tests of Python. Raises UsageError when several are named, or nobody knows it.
    """
    from suspectra.c.recorded_build import recorded_build
    from suspectra.evidence.discovery import run_again_by

    named = first_build(chosen)
    if named is not None or has_python(evidence):
        return named
    found = recorded_build(run_again_by(source), chosen["workspace"])
    if found is None and evidence.files:  # without one nothing of C was measured either, if tests of it were recorded
        cause, options = "these are not tests of Python", "--ctest, --meson, --automake or --shell"
        raise UsageError(Problem(evidence.source, "", cause, f"name the build of the tests with {options}"))
    return found


class Interruption:
    """Lets Ctrl-C end what is inside of it: what is known by then is kept, and shown."""

    happened = False

    def __enter__(self) -> Interruption:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.happened = isinstance(error, KeyboardInterrupt)
        return self.happened


def rerun_setup(command: Sequence[str], chosen: RerunOptions, *, values_shown: bool = True) -> RerunSetup:
    """How the command behind ``--`` runs tests again, with the options that are chosen.

    Raises UsageError when it runs no tests of pytest, or its interpreter can't be found.
    """
    from suspectra.experiments.inquiry import RerunSetup
    from suspectra.experiments.safety import Safety
    from suspectra.recording.pytest_command import pytest_command

    safety = Safety(chosen["exclude_markers"], chosen["copy"])
    root = os.path.realpath(chosen["workspace"])
    arguments = pytest_command(command, root, python=chosen["python"]).arguments
    return RerunSetup(Path(root), arguments, safety, values_shown)


def suspicious_tests(
    evidence: Evidence,
    workspace: Path,
    wanted: Sequence[str],
    *,
    everywhere: bool = True,
    compiled: bool = False,  # whether they may be tests of compiled programs
    alone: bool = False,  # whether other failing tests, which may have another fault, say nothing
) -> tuple[list[FailingTest], Suspicion]:
    """The failing tests that a command is about, and where they are suspicious.

    Raises EvidenceError when no recorded test fails, none is of Python, or the sources were changed. Raises UsageError
    when a name fits no failing test.
    """
    from suspectra.evidence.named_tests import with_failing
    from suspectra.experiments.suspicion import Suspicion

    if not compiled:
        require_python(evidence)
    failing = failing_tests(evidence, wanted)
    suspicion = Suspicion(with_failing(evidence, failing) if alone else evidence, everywhere=everywhere)
    require_unchanged(evidence, suspicion.files, workspace)
    return [failing[name] for name in suspicion.in_turn(failing)], suspicion


def require_unchanged(evidence: Evidence, executed: Collection[str], workspace: Path) -> None:
    """Refuse sources that were edited since the tests were recorded: results would be shown at other lines.

    Raises EvidenceError with the first file that was edited.
    """
    from suspectra.evidence.sources import Sources
    from suspectra.program.languages import is_python_or_cython

    sources = Sources(workspace)
    for file in evidence.files:
        named_only = file.digest is None and not (workspace / file.path).exists()  # by a generator
        if file.path in executed and not named_only and (problem := sources.change(file.path, file.digest)) is not None:
            cause = "it was changed after the tests ran, so experiments would not fit the recording"
            build = "" if is_python_or_cython(file.path) else "build, and "
            raise EvidenceError(Problem(problem.file, "", cause, f"{build}record the tests again{_by(workspace)}"))


def _by(workspace: Path) -> str:
    """The command that records the tests again, as the end of a sentence; nothing where nobody knows it."""
    from suspectra.evidence.discovery import find_source, run_again_by

    try:
        source = find_source(workspace)
        source.read()
        words = run_again_by(source)
    except EvidenceError:
        return ""
    if not words:
        return ""
    building = build_again_by(words, workspace)
    words = words if words[0] in ("record", "record-c") else ("record", "--", *words)
    first = f"{shlex.join(building)} && " if building else ""
    return f": `{first}{shlex.join(['suspectra', *words])}`"


def build_again_by(words: Sequence[str], workspace: Path) -> tuple[str, ...]:
    """The command that builds again what a recording of C or C++ is of; () where nobody knows it."""
    from suspectra.c.build_kind import build_again
    from suspectra.c.recorded_build import recorded_build

    build = recorded_build(words, workspace)
    try:
        return () if build is None else build_again(build, workspace)
    except EvidenceError:
        return ()


def has_python(evidence: Evidence) -> bool:
    """Say whether any of a program is Python."""
    from suspectra.program.languages import is_python

    return any(is_python(file.path) for file in evidence.files)


def require_python(evidence: Evidence) -> None:
    """Refuse tests of programs that are not Python: pytest can't run them again.

    Raises EvidenceError when nothing of it is Python.
    """
    if evidence.files and not has_python(evidence):
        cause = "these are not tests of Python, and only such tests can be traced, or run with something altered"
        cure = (
            "ask about a test of C or C++ by `suspectra why TEST`, or turn its decisions by `suspectra investigate`"
            " with --ctest, --meson, --automake or --shell"
        )
        raise EvidenceError(Problem(evidence.source, "", cause, cure))


def require_nothing_of_python(
    command: Sequence[str], chosen: RerunOptions, more: Mapping[str, object] = MappingProxyType({})
) -> None:
    """Refuse options that are for tests of Python beside those that name tests of C.

    Raises UsageError when one is given.
    """
    given = {
        "--": command,
        "--python": chosen["python"],
        "--copy": chosen["copy"],
        "--exclude-marker": chosen["exclude_markers"],
        **more,
    }
    if unusable := next((option for option, value in given.items() if value), None):
        cause = "it is for tests of Python, and these are of C"
        raise UsageError(Problem(unusable, "", cause, "leave one of both out"))


def failing_tests(evidence: Evidence, wanted: Sequence[str]) -> dict[str, FailingTest]:
    """Find the tests that are run altered, by name: what was named, else all that fail.

    Raises EvidenceError when no recorded test fails. Raises UsageError when a name fits no failing test.
    """
    from suspectra.evidence.named_tests import failing_names
    from suspectra.experiments.repeated_tests import FailingTest

    failing = {test.name: test for test in evidence.failing}
    chosen = failing_names(evidence, wanted)
    return {name: FailingTest.recorded(failing[name], evidence.stacks) for name in chosen}


def broken_tests(evidence: Evidence, wanted: Sequence[str]) -> dict[str, FailingTest]:
    """The same, and where none fails the tests that can't be collected any more.

    Raises EvidenceError when there is neither. Raises UsageError when a name fits none.
    """
    from suspectra.evidence.named_tests import uncollected_names
    from suspectra.experiments.repeated_tests import FailingTest

    if evidence.failing or not (names := uncollected_names(evidence, wanted)):
        return failing_tests(evidence, wanted)
    known = {test.name: test for test in evidence.tests}
    return {name: FailingTest.from_result(known[name])._replace(uncollected=True) for name in names}


def one_failing_test(evidence: Evidence, wanted: str | None) -> FailingTest:
    """Find the failing test that a command is about: without a name the only one.

    Raises EvidenceError when no recorded test fails. Raises UsageError when it fits no failing test, or several.
    """
    from suspectra.evidence.named_tests import one_failing_name

    (test,) = failing_tests(evidence, [one_failing_name(evidence, wanted)]).values()
    return test
