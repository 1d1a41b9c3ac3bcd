"""The command `status`, and `suspectra` alone: how the last recorded run ended, and what to do next."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.english import many
from suspectra.base.errors import EvidenceError, NoEvidence, NothingToRank
from suspectra.cli.console import NOTHING_TO_RANK, warn
from suspectra.cli.localization import evidence_options, localize, technique_options
from suspectra.output.terminal import safe

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.cli.localization import Localized, RankingOptions
    from suspectra.evidence.evidence import Evidence
    from suspectra.selection.selection import Selection

_RECORD = "suspectra record -- pytest"
_RECORD_FROM_ROOT = "suspectra record -- python -m pytest"
_RECORD_C = "suspectra record-c"
_PYTEST = ("conftest.py", "tests/conftest.py", "pytest.ini")
_DJANGO = ("python", "manage.py", "test")


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command()
    @evidence_options
    @technique_options
    def status(workspace: Path, **chosen: Unpack[RankingOptions]) -> int:
        """Show how the last recorded run ended, and what to do next."""
        from suspectra.output.rankings.ranking import Listing
        from suspectra.output.status import NextCommand, write_next, write_status

        try:
            localized = localize(workspace, groups=True, **chosen)
        except NoEvidence:
            click.echo("No run of tests is recorded here yet.\n")
            write_next([NextCommand(*one) for one in _first_commands(workspace)], sys.stdout)
            return NOTHING_TO_RANK
        except NothingToRank as error:
            click.echo(f"There is no suspect: {error.problem.cause.rstrip('.')}.\n")
            write_next([NextCommand(*_after_none(workspace, error.problem.cure))], sys.stdout)
            return NOTHING_TO_RANK
        evidence, selection = localized.evidence, _selection(workspace, localized.evidence)
        listing = Listing(localized.report, evidence, localized.problems, groups=localized.groups)
        write_status(listing, _age(workspace, evidence), len(selection.affected), sys.stdout)
        write_next([NextCommand(*one) for one in _next_commands(workspace, localized, selection)], sys.stdout)
        warn(listing.notices)
        return 0


def _first_commands(workspace: Path) -> Iterator[tuple[str, str]]:
    """How to record the tests of a workspace."""
    from suspectra_recorder.unittest.commands import runs_unittest

    is_c, by_pytest = (workspace / "CMakeLists.txt").is_file(), any((workspace / name).exists() for name in _PYTEST)
    if is_c:
        yield _in(workspace, f"{_RECORD_C} --ctest build"), "run the tests of what is built in build/, and record them"
    if not by_pytest and runs_unittest(_DJANGO, str(workspace)):
        yield _in(workspace, f"suspectra record -- {shlex.join(_DJANGO)}"), "run the tests, and record them"
    elif by_pytest or not is_c:
        yield _in(workspace, _RECORD), "run the tests, and record them"
    yield "suspectra -h", "list all commands"


def _after_none(workspace: Path, cure: str) -> tuple[str, str]:
    """What to do where nothing failed, or where no test could even run, for which there may be a cure."""
    from suspectra.evidence.discovery import RECORDING_C
    from suspectra.selection.selection import select

    selection = select(str(workspace))
    if selection.known:
        return _again(workspace, selection), "run what a change can affect"
    if (workspace / RECORDING_C).is_dir():
        return _record_c_again(workspace, _recorded_c(workspace)), "record the tests again"
    if _RECORD_FROM_ROOT in cure:
        return _in(workspace, _RECORD_FROM_ROOT), "run the tests, and record them"
    return next(_first_commands(workspace))


def _again(workspace: Path, selection: Selection) -> str:
    """Run what is needed, in the way of the last run, and where that ran."""
    folder = workspace / selection.folder
    options = f"{_option(workspace, folder)} --failed-and-affected"
    return _in(folder, f"suspectra record{options} -- {safe(shlex.join(selection.command))}")


def _option(workspace: Path, folder: Path) -> str:
    """What a command in a folder needs to be about the workspace."""
    path = _relative(workspace, folder)
    return "" if path == os.curdir else f" --workspace {safe(shlex.quote(path))}"


def _in(folder: Path, command: str) -> str:
    """A command that runs in a folder, as it is typed in the current one."""
    path = _relative(folder, Path.cwd())
    return command if path == os.curdir else f"(cd {safe(shlex.quote(path))} && {command})"


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # on another drive
        return os.path.abspath(path)


def _recorded_c(workspace: Path) -> tuple[str, ...]:
    """The arguments of the last run of tests of C and C++; empty where they are not known."""
    from suspectra.evidence.c.store import FOLDER, CRecording

    recording = CRecording(workspace / FOLDER, workspace)
    with suppress(EvidenceError):
        recording.update()
    return recording.command


def _record_c_again(workspace: Path, command: Sequence[str]) -> str:
    """Record tests of C and C++ as in the last run, whose paths are relative to the workspace."""
    return _in(workspace, shlex.join(["suspectra", *command]) if command else f"{_RECORD_C} …")


def _next_commands(workspace: Path, localized: Localized, selection: Selection) -> Iterator[tuple[str, str]]:
    """What to do about failing tests."""
    affected = len(selection.affected)
    failed = localized.report.spectrum.counts.failed
    option = _option(workspace, Path.cwd())
    report = localized.groups[0].report if localized.groups else localized.report
    first = report.spectrum.elements.location(report.first_suspect)
    if affected:
        yield _again(workspace, selection), f"run these {many(failed + affected, 'test')}"
    if _is_recording(localized.evidence):
        yield f"suspectra why{option}", "find out why they fail"
    yield f"suspectra rank{option}", "list all suspects"
    yield f"suspectra explain{option} {first.file}:{first.line}", "why this line is suspicious"
    if localized.evidence.is_c:
        command = _recorded_c(workspace)
        built = "after a change, build and" if "--make" in command else "after a change and a build,"
        yield _record_c_again(workspace, command), f"{built} record the tests again"
    elif not affected:
        yield _again(workspace, selection), "after a change, run those"


def _selection(workspace: Path, evidence: Evidence) -> Selection:
    """The tests that failed, and those that changes since the recording can affect."""
    from suspectra.selection.selection import Selection, select

    return select(str(workspace)) if _is_recording(evidence) else Selection()


def _is_recording(evidence: Evidence) -> bool:
    """Whether it is the workspace's recording of Python tests."""
    from suspectra.evidence.discovery import RECORDING

    return evidence.source == RECORDING.as_posix()


def _age(workspace: Path, evidence: Evidence) -> float | None:
    """Seconds since the evidence was written; None where it is not a file or folder of the workspace."""
    try:
        return time.time() - (workspace / evidence.source).stat().st_mtime
    except OSError:
        return None
