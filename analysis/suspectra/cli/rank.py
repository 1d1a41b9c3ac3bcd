"""The commands `rank`, `report`, `explain` and `techniques`.

Heavy modules are imported inside functions, since help loads the modules of all commands.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from suspectra.base.errors import Problem, UsageError
from suspectra.cli.console import located, parse_location, warn, written
from suspectra.cli.localization import evidence_options, localize, technique_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.cli.localization import Localized, RankingOptions
    from suspectra.evidence.sources import Sources
    from suspectra.output.rankings.ranking import Listing
    from suspectra.report import RankedReport

FUNCTIONS_TOP, LINES_TOP = 10, 20
GROUP_TOP = {FUNCTIONS_TOP: 3, LINES_TOP: 5}  # the least number for each failure group
_FORMAT = click.Choice(["table", "json", "sarif", "csv", "markdown", "summary", "agent"])
_EXPLANATION_FORMAT = click.Choice(["table", "json"])
_PATH = click.Path(path_type=Path)


class _Grouped(click.Command):
    """Help lists the many options in groups, those first that are needed most."""

    groups: Mapping[str, Sequence[str]] = {
        "What is shown": ("top", "lines", "verbose", "form", "output"),
        "What is ranked": ("workspace", "since", "recording", "include_tests"),
        "How it is ranked": ("technique", "parameters", "break_ties", "clone_failed", "scheduler"),
        "Evidence of other tools": (
            *("coverage", "junit", "gcov", "gcovr", "lcov", "cobertura", "outcomes", "build", "mapping"),
        ),
    }

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list for each group."""
        known = {option.name: option.get_help_record(ctx) for option in self.get_params(ctx)}
        named = {name for names in self.groups.values() for name in names}
        rest = [name for name in known if name not in named]
        for title, names in (*self.groups.items(), ("Other", rest)):
            if records := [record for name in names if (record := known.get(name)) is not None]:
                with formatter.section(title):
                    formatter.write_dl(records)


@click.command(cls=_Grouped)
@evidence_options
@technique_options
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help=f"How many functions to list in a table or in Markdown, else how many lines.  [default: {FUNCTIONS_TOP},"
    f" {LINES_TOP} with --lines, else all]",
)
@click.option("--verbose", "-v", is_flag=True, help="Show scores, counts of tests, and what breaks ties in a table.")
@click.option(
    "--lines", is_flag=True, help="List lines in a table or in Markdown, not functions with their first lines."
)
@click.option("--format", "form", type=_FORMAT, default="table", show_default=True)
@click.option("-o", "--output", type=_PATH, help="Write to a file instead of stdout.")
@click.option("--scheduler", metavar="ADDRESS", help="Count on a dask.distributed cluster. For very large test suites.")
@click.argument("tests", metavar="[TEST]...", nargs=-1)
def rank(
    tests: tuple[str, ...],
    top: int | None,
    lines: bool,
    verbose: bool,
    form: str,
    output: Path | None,
    workspace: Path,
    scheduler: str | None,
    **chosen: Unpack[RankingOptions],
) -> None:
    """Rank functions, and their lines, by how suspicious the tests make them: by all tests, or by TEST of the failing.

    By default, the newest evidence of the workspace is used: a recording of Python or C/C++, or a .coverage file with
    a JUnit report. Failing tests that probably have different faults get separate rankings.
    """
    localized = localize(workspace, groups=True, scheduler=scheduler, tests=tests, **chosen)
    if form in ("table", "markdown"):
        most = LINES_TOP if lines else FUNCTIONS_TOP
        top = top or max(most // len(localized.groups), GROUP_TOP[most])
    ranking = replace(_ranking(localized, top), by_line=lines, verbose=verbose)
    with written(output) as out:
        _write(ranking, form, out, workspace)
    warn(ranking.notices)


@click.command()
@evidence_options
@technique_options
@click.option("--html", type=_PATH, required=True, help="The page to write.")
@click.option("--top", type=click.IntRange(min=1), default=200, show_default=True, help="How many suspects to list.")
def report(html: Path, top: int, workspace: Path, **chosen: Unpack[RankingOptions]) -> None:
    """Write a self-contained HTML page: suspects, sources, and what each test executed."""
    from suspectra.evidence.sources import Sources
    from suspectra.markov.debugging_model import DebuggingModel
    from suspectra.output.rankings.html import write_html

    localized = localize(workspace, edges=True, groups=True, **chosen)
    ranking = _ranking(localized, top)
    model = DebuggingModel.from_report(localized.report, localized.program)
    with written(html) as out:
        write_html(ranking, out, Sources(workspace, localized.evidence.files), model)
    warn(ranking.notices)
    click.echo(f"wrote {html}")


@click.command()
@evidence_options
@technique_options
@click.argument("where", metavar="[FILE:LINE]", required=False)
@click.option("--why-not", is_flag=True, help="Compare the line with the first suspect, and name tests that differ.")
@click.option(
    "--tie", is_flag=True, help="Say what would tell lines of one score apart: the first tie, or that of the line."
)
@click.option("--verbose", "-v", is_flag=True, help="Show the score and how it is computed, and all tests.")
@click.option("--format", "form", type=_EXPLANATION_FORMAT, help="Of --why-not and --tie.  [default: table]")
def explain(
    where: str | None,
    why_not: bool,
    tie: bool,
    verbose: bool,
    form: str | None,
    workspace: Path,
    **chosen: Unpack[RankingOptions],
) -> None:
    """Explain the rank of a line."""
    from suspectra.evidence.sources import Sources
    from suspectra.output.explanation import element_at, write_explanation
    from suspectra.output.terminal import safe

    if where is None and not tie:
        raise click.UsageError("Name a line as FILE:LINE, or give --tie for the first tie.")
    if why_not and tie:
        raise click.UsageError("Give --why-not or --tie.")
    if verbose and (why_not or tie):
        raise click.UsageError("--verbose goes with neither --why-not nor --tie.")
    if form is not None and not (why_not or tie):
        raise click.UsageError("--format goes with --why-not and --tie.")
    localized = localize(workspace, groups=True, **chosen)
    place = None if where is None else located(localized.evidence, parse_location(workspace, where))
    element = None if place is None else element_at(localized.report, *place)
    group = localized.group_of(element)
    report = group.report if group else localized.report
    if group is not None and form != "json":
        click.echo(safe(f"In the ranking of {group.heading}"))
    sources = Sources(workspace, localized.evidence.files)
    if why_not or tie:
        _explain_difference(localized, report, element, tie, form == "json", sources)
    else:
        assert place is not None
        write_explanation(report, localized.evidence, *place, sys.stdout, sources, verbose=verbose)
    warn(localized.problems)


def _explain_difference(
    localized: Localized, report: RankedReport, element: int | None, tie: bool, as_json: bool, sources: Sources
) -> None:
    """Compare a line with the first suspect of a ranking, or those of a tie with each other."""
    from suspectra.distinctions.comparison import SuspectComparison
    from suspectra.distinctions.tie import advise
    from suspectra.output import distinctions

    if tie:
        if element is not None and not report.spectrum.counts.ef[element]:
            where = report.spectrum.elements.location(element)
            cause, cure = "no failing test executes it, so it is in no tie", "ask --why-not about it"
            raise UsageError(Problem(where.file, f"line {where.line}", cause, cure))
        tied = advise(report, localized.program, element)
        if as_json:
            distinctions.write_tie_json(tied, sys.stdout)
        else:
            distinctions.write_tie(tied, sys.stdout, sources)
        return
    assert element is not None
    comparison = SuspectComparison.from_report(report, element, localized.program, localized.evidence.at_import)
    advice = advise(report, localized.program, element) if comparison.tie is not None else None
    if as_json:
        distinctions.write_comparison_json(comparison, advice, sys.stdout)
    else:
        distinctions.write_comparison(comparison, advice, sys.stdout, sources)


@click.command()
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def techniques(form: str) -> None:
    """List the localization techniques, each with its paper."""
    from suspectra.output import catalogue

    write = catalogue.write_json if form == "json" else catalogue.write_table
    write(sys.stdout)


def register(cli: click.Group) -> None:
    """Add the commands to the command line."""
    for command in (rank, report, explain, techniques):
        cli.add_command(command)


def _ranking(localized: Localized, top: int | None) -> Listing:
    from suspectra.output.rankings.ranking import Listing

    return Listing(localized.report, localized.evidence, localized.problems, top, localized.groups, localized.run_again)


def _write(ranking: Listing, form: str, out: TextIO, workspace: Path) -> None:
    from suspectra.evidence.sources import Sources

    sources = Sources(workspace, ranking.evidence.files)
    if form == "table":
        from suspectra.output.rankings.table import write_table

        write_table(ranking, out, sources)
    elif form == "json":
        from suspectra.output.rankings.json_object import write_json

        write_json(ranking, out)
    elif form == "sarif":
        from suspectra.output.rankings.sarif import write_sarif

        write_sarif(ranking, out, workspace)
    elif form == "summary":
        from suspectra.output.status import write_first_suspects

        write_first_suspects(ranking, out)
    elif form == "agent":
        from suspectra.output.agents.agent import write_agent
        from suspectra.recording.pytest_command import pytest_as_in

        # no words of the recording, which others may have made
        write_agent(ranking, out, sources, pytest_as_in(ranking.run_again))
    elif form == "csv":
        from suspectra.output.rankings.csv_table import write_csv

        write_csv(ranking, out)
    else:
        from suspectra.output.rankings.markdown import write_markdown

        write_markdown(ranking, out, sources)
