"""The command `try`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.errors import Problem, UsageError
from suspectra.base.options import COPY, EXCLUDE_MARKERS, FIX_SECONDS
from suspectra.cli.console import (
    INTERRUPTED,
    NOTHING_TO_RANK,
    declared,
    options,
    python_option,
    recorded_workspace_option,
    seconds_option,
    warn,
)
from suspectra.cli.rerun import COMMAND, BeforeCommand, Interruption, RerunOptions, rerun_setup, suspicious_tests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.fixes.trial import JudgedPatch

_MAX_BYTES = 1 << 20
_MAX_PATCHES = 200


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command("try", cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(FIX_SECONDS)
    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
    @options(*map(declared, (EXCLUDE_MARKERS, COPY)))
    @click.argument("patches", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATCH...")
    @click.pass_context
    def try_changes(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Say which failing tests each PATCH repairs and which passing tests it breaks, and change no file.

        PATCH is a file with a unified difference, as `git diff` writes it, or - for the standard input. The failing
        tests of the recording run with it, and the passing ones that execute the functions it changes. The command
        behind -- takes options of pytest.
        """
        return _try(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    fix_seconds: float
    form: str
    patches: tuple[Path, ...]


def _try(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.evidence.discovery import find_source
    from suspectra.fixes.trial import PatchTrial
    from suspectra.output.trials import write_json, write_table
    from suspectra.selection.since_revision import since_revision

    began = time.monotonic()
    workspace = chosen["workspace"]
    if (count := len(chosen["patches"])) > _MAX_PATCHES:
        many = f"{count:,} changes are more than are tried at a time"
        raise UsageError(Problem("", "", many, f"give at most {_MAX_PATCHES} of them"))
    patches = {str(path): _read(path) for path in chosen["patches"]}
    evidence = since_revision(find_source(workspace, edges=True).read(), workspace, None)
    tests, suspicion = suspicious_tests(evidence, workspace, ())
    seconds = max(chosen["fix_seconds"] - (time.monotonic() - began), chosen["fix_seconds"] / 2)
    trial = PatchTrial(rerun_setup(command, chosen), tests, suspicion, patches, seconds=seconds)
    judged: list[JudgedPatch] = []
    with Interruption() as interruption:
        for one in trial.steps():
            judged.append(one)
            if chosen["form"] == "table":
                write_table([one], len(tests), sys.stdout)
                sys.stdout.flush()
    if chosen["form"] == "json":
        write_json(judged, len(tests), sys.stdout, complete=trial.complete, seconds=time.monotonic() - began)
    warn(trial.problems)
    if interruption.happened:
        return INTERRUPTED
    return 0 if any(one.repaired and not one.broken for one in judged) else NOTHING_TO_RANK


def _read(path: Path) -> str:
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as stream:
            return stream.read(_MAX_BYTES).decode(errors="surrogateescape")
    except OSError as error:
        raise UsageError(Problem(str(path), "", f"it can't be read: {error.strerror}", "name a file")) from None
