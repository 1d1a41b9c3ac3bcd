"""The command `fix`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from suspectra.base.english import are
from suspectra.base.errors import Problem, SuspectraError, UsageError
from suspectra.base.options import COPY, EXCLUDE_MARKERS, FIX_SECONDS
from suspectra.base.visible import safe
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

    from suspectra.fixes.diff import FileEdits
    from suspectra.fixes.fix import Fix
    from suspectra.fixes.search import FixInquiry


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(FIX_SECONDS)
    @click.option("--format", "form", type=click.Choice(["table", "json", "diff"]), default="table", show_default=True)
    @click.option(
        "--apply", "applied", type=click.IntRange(min=1), metavar="N", help="Write the Nth fix, after asking."
    )
    @options(*map(declared, (EXCLUDE_MARKERS, COPY)))
    @click.argument("tests", nargs=-1, metavar="[TEST]...")
    @click.pass_context
    def fix(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Search changes with which failing tests pass and passing tests still do.

        TEST is the name of a recorded test, of a class or a file, or a glob; without any, all failing tests. Each fix
        is printed as soon as it is found, and all of them, the likeliest first, at the end. Files are changed only by
        --apply. The command behind -- takes options of pytest, and no tests. Altered runs execute your tests; what they
        may do is limited.
        """
        return _fix(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    fix_seconds: float
    form: str
    applied: int | None
    tests: tuple[str, ...]


def _fix(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.changes.baselines import changes_since_pass
    from suspectra.evidence.changes import broken_elsewhere
    from suspectra.evidence.discovery import find_source
    from suspectra.evidence.logs.experiments import with_experiments
    from suspectra.fixes.diff import difference_as_bytes
    from suspectra.fixes.kept_fixes import keep, kept
    from suspectra.fixes.search import FixInquiry
    from suspectra.output.fixes import SearchCounts, summary, write_groups, write_json
    from suspectra.selection.since_revision import since_revision

    began = time.monotonic()
    workspace = chosen["workspace"]
    source = find_source(workspace, edges=True)
    evidence = with_experiments(since_revision(source.read(), workspace, None), workspace)
    tests, suspicion = suspicious_tests(evidence, workspace, chosen["tests"], alone=True)
    names, number = {test.name for test in tests}, chosen["applied"]
    if number is not None and chosen["form"] != "json" and (known := kept(workspace, names)):
        _use(_numbered(known, number), number, chosen, suspicion.read)
        return 0
    seconds = max(chosen["fix_seconds"] - (time.monotonic() - began), chosen["fix_seconds"] / 2)
    changes = partial(changes_since_pass, workspace, source)
    inquiry = FixInquiry(
        rerun_setup(command, chosen),
        tests,
        suspicion,
        changes=changes,
        failed_before=evidence.failed_before,
        seconds=seconds,
    )
    found, interrupted = _found(inquiry, shown=chosen["form"] == "table")
    groups = inquiry.by_group(found)
    ordered = [one for fixes in groups.values() for one in fixes]
    if ordered:
        with suppress(SuspectraError):  # what can't be kept is searched again
            keep(workspace, names, ordered, inquiry.sources)
    done = SearchCounts(inquiry.tried, inquiry.pruned, inquiry.complete, time.monotonic() - began, interrupted)
    if chosen["form"] == "json":
        write_json(ordered, suspicion.read, sys.stdout, done, inquiry.apart)
    elif chosen["form"] == "diff":
        if ordered:
            click.echo(difference_as_bytes(_numbered(ordered, number or 1).candidates, suspicion.read), nl=False)
    else:
        everything = with_experiments(evidence, workspace)  # what undoing changes has shown, too
        for sentence in broken_elsewhere(everything, names):
            click.echo(safe(f"{sentence} `suspectra changes` shows it."))
        write_groups(groups, everything.failed_before, suspicion.read, sys.stdout, inquiry.apart)
        click.echo(summary(ordered, done))
    warn(inquiry.problems)
    if number is not None and ordered and chosen["form"] != "diff":
        _apply(_numbered(ordered, number).candidates, number, workspace, suspicion.read)
    return INTERRUPTED if interrupted else 0 if ordered else NOTHING_TO_RANK


def _found(inquiry: FixInquiry, *, shown: bool) -> tuple[list[Fix], bool]:
    """The fixes, each shown when it is found, as far as the user lets the search go on."""
    from suspectra.output.time_bar import TimeBar

    found: list[Fix] = []
    with Interruption() as interruption, TimeBar(sys.stderr, inquiry.seconds) as bar, closing(inquiry.steps()) as steps:
        for one in steps:
            found.append(one)
            if shown:
                with bar.aside():
                    edit = one.candidates[0].edit.text.strip()
                    click.echo(f"{safe(f'{one.file}:{one.line}')}: tests pass with `{safe(edit)}`", err=True)
    return found, interruption.happened


def _use(edits: Sequence[FileEdits], number: int, chosen: _Options, read: Callable[[str], bytes | None]) -> None:
    """Show a fix that a search before has found, or write it."""
    from suspectra.fixes.diff import difference, difference_as_bytes

    if chosen["form"] == "diff":
        click.echo(difference_as_bytes(edits, read), nl=False)
        return
    for line in difference(edits, read).splitlines():
        click.echo(safe(line))
    _apply(edits, number, chosen["workspace"], read)


_Numbered = TypeVar("_Numbered")


def _numbered(fixes: Sequence[_Numbered], number: int) -> _Numbered:
    """The fix that a user has named.

    Raises UsageError when there are fewer.
    """
    if number > len(fixes):
        cause = f"there {are(len(fixes))} {len(fixes)} fix{'' if len(fixes) == 1 else 'es'}, and no number {number}"
        raise UsageError(Problem("--apply", "", cause, "name another"))
    return fixes[number - 1]


def _apply(edits: Sequence[FileEdits], number: int, workspace: Path, read: Callable[[str], bytes | None]) -> None:
    """Write a fix into the files, if the user says so."""
    from suspectra.fixes.diff import edited, edits_by_file

    files = edits_by_file(edits)
    names = ", ".join(sorted(map(safe, files)))
    if not click.confirm(f"Write fix {number} into {names}?"):
        click.echo("Nothing was written.", err=True)
        return
    root = workspace.resolve()
    texts = {
        (root / file).resolve(): edited(_as_recorded(root, file, read), several) for file, several in files.items()
    }
    for path, text in texts.items():
        path.write_bytes(text)
    click.echo(f"Fix {number} is in {names}. Run the tests again.", err=True)


def _as_recorded(root: Path, file: str, read: Callable[[str], bytes | None]) -> bytes:
    """A file of the workspace that is still as it was recorded.

    Raises UsageError when it is another one by now, or outside.
    """
    path = (root / file).resolve()
    source = read(file)
    if source is None or not path.is_relative_to(root) or path.read_bytes() != source:
        raise UsageError(Problem(file, "", "it was changed since the tests ran", "record the tests again"))
    return source
