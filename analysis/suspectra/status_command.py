"""The command `status`, and `suspectra` alone: how the last recorded run ended, and what to do next."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.console import NOTHING_TO_RANK, warn
from suspectra.errors import EvidenceError, NoEvidence, NothingToRank
from suspectra.localization import evidence_options, localize, technique_options
from suspectra.output.terminal import safe
from suspectra.quantity import many

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence
    from suspectra.localization import Localized, RankingOptions
    from suspectra.selection.selection import Selection

_RECORD = "suspectra record -- pytest"
_RECORD_C = "suspectra record-c"
_PYTEST = ("conftest.py", "tests/conftest.py", "pytest.ini")
_DJANGO = ("python", "manage.py", "test")


def register(cli: click.Group) -> None:
    """Add the command to the command line.

    Parameters
    ----------
    cli : click.Group
        The group of all commands.

    Examples
    --------
    >>> group = click.Group()
    >>> register(group)
    >>> list(group.commands)
    ['status']
    """

    @cli.command()
    @evidence_options
    @technique_options
    def status(workspace: Path, **chosen: Unpack[RankingOptions]) -> int:
        """Show how the last recorded run ended, and what to do next."""
        from suspectra.output.ranking import Listing
        from suspectra.output.status import NextCommand, write_next, write_status

        try:
            localized = localize(workspace, groups=True, **chosen)
        except NoEvidence:
            click.echo("No run of tests is recorded here yet.\n")
            write_next([NextCommand(*one) for one in _first_commands(workspace)], sys.stdout)
            return NOTHING_TO_RANK
        except NothingToRank as error:
            click.echo(f"There is no suspect: {error.problem.cause}.\n")
            write_next([NextCommand(*_after_none(workspace))], sys.stdout)
            return NOTHING_TO_RANK
        evidence, selection = localized.evidence, _selection(workspace, localized.evidence)
        listing = Listing(localized.report, evidence, localized.problems, groups=localized.groups)
        write_status(listing, _age(workspace, evidence), len(selection.affected), sys.stdout)
        write_next([NextCommand(*one) for one in _next_commands(workspace, localized, selection)], sys.stdout)
        warn(listing.notices)
        return 0


def _first_commands(workspace: Path) -> Iterator[tuple[str, str]]:
    """How to record the tests of a workspace."""
    from suspectra_recorder.unittest_commands import runs_unittest

    is_c, by_pytest = (workspace / "CMakeLists.txt").is_file(), any((workspace / name).exists() for name in _PYTEST)
    if is_c:
        yield f"{_RECORD_C} --ctest build", "run the tests of what is built in build/, and record them"
    if not by_pytest and runs_unittest(_DJANGO, str(workspace)):
        yield f"suspectra record -- {shlex.join(_DJANGO)}", "run the tests, and record them"
    elif by_pytest or not is_c:
        yield _RECORD, "run the tests, and record them"
    yield "suspectra -h", "list all commands"


def _after_none(workspace: Path) -> tuple[str, str]:
    """What to do where nothing failed, or where no test could even run."""
    from suspectra.evidence.discovery import RECORDING_C
    from suspectra.selection.selection import select

    selection = select(str(workspace))
    if selection.known:
        return _again(selection), "run what a change can affect"
    if (workspace / RECORDING_C).is_dir():
        return _record_c_again(workspace), "record the tests again"
    return next(_first_commands(workspace))


def _again(selection: Selection) -> str:
    """Run what is needed, in the way of the last run."""
    folder, command = selection.folder, safe(shlex.join(selection.command))
    if not folder:
        return f"suspectra record --failed-and-affected -- {command}"
    workspace = shlex.quote(os.path.relpath(os.curdir, folder))
    record = f"suspectra record --workspace {workspace} --failed-and-affected -- {command}"
    return f"(cd {safe(shlex.quote(folder))} && {record})"


def _record_c_again(workspace: Path) -> str:
    """Record tests of C and C++ as in the last run."""
    from suspectra.evidence.c_store import FOLDER, CRecording

    recording = CRecording(workspace / FOLDER, workspace)
    with suppress(EvidenceError):
        recording.update()
    return shlex.join(["suspectra", *recording.command]) if recording.command else f"{_RECORD_C} …"


def _next_commands(workspace: Path, localized: Localized, selection: Selection) -> Iterator[tuple[str, str]]:
    """What to do about failing tests."""
    affected = len(selection.affected)
    failed = localized.report.spectrum.counts.failed
    first = (localized.groups[0].report if localized.groups else localized.report).suspect(0).location
    if affected:
        yield _again(selection), f"run these {many(failed + affected, 'test')}"
    yield "suspectra rank", "list all suspects"
    yield f"suspectra explain {first.file}:{first.line}", "why this line comes first"
    if _is_recording(localized.evidence):
        yield "suspectra investigate", "find what makes them pass"
    if localized.evidence.is_c:
        again = _record_c_again(workspace)
        built = "after a change, build and" if " --make " in again else "after a change and a build,"
        yield again, f"{built} record the tests again"
    elif not affected:
        yield _again(selection), "after a change, run those"


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
