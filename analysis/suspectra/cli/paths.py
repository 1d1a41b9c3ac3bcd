"""The command `paths`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import click

from suspectra.base.english import many
from suspectra.base.options import COPY, EXCLUDE_MARKERS, PATHS_SECONDS
from suspectra.cli.console import (
    INTERRUPTED,
    NOTHING_TO_RANK,
    answered,
    declared,
    options,
    python_option,
    recorded_workspace_option,
    seconds_option,
    warn,
)
from suspectra.cli.rerun import (
    BUILDS,
    COMMAND,
    BeforeCommand,
    BuiltOptions,
    Interruption,
    build_of_tests,
    one_failing_test,
    require_nothing_of_python,
    require_unchanged,
    rerun_setup,
)
from suspectra.paths.searches.techniques import DEFAULT, TECHNIQUES

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from suspectra.c.paths.inquiry import CPathInquiry
    from suspectra.experiments.repeated_tests import FailingTest
    from suspectra.output.time_bar import TimeBar
    from suspectra.paths.searches.inquiry import PathInquiry
    from suspectra.paths.searches.search import Nearness
    from suspectra.report import RankedReport
    from suspectra.spectrum import Spectrum


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(PATHS_SECONDS)
    @click.option("--technique", type=click.Choice(list(TECHNIQUES)), default=DEFAULT, show_default=True)
    @click.option(
        "--order",
        type=click.Choice(["fewest", "latest"]),
        help="What is near: few different events, suspicious ones first, or late ones. apg and apg-inputs: late.",
    )
    @click.option("--ask", is_flag=True, help="Ask me which outcomes of other inputs, or which states, are right.")
    @click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
    @options(*map(declared, (EXCLUDE_MARKERS, COPY)))
    @options(*BUILDS)
    @click.argument("test", metavar="[TEST]", required=False)
    @click.pass_context
    def paths(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Compare the run of TEST with one that passes and goes nearly the same way.

        TEST is any part of the name of a recorded test that fails, and must fit one test; it is not needed if only one
        fails. With nearest-path, it and the passing tests nearest to it are run again, with nothing altered, and their
        decisions and calls are compared. With apg, decisions of TEST are forced to come out the other way, and other
        inputs are tried, until it passes: do this only with tests that can't do harm. The command behind -- takes
        options of pytest, and no tests. A test of C or C++ is one of a build folder, or a command in a file. The
        project is built a second time, in the cache of the user, with a recorder of paths in its programs.
        """
        return _paths(context.meta[COMMAND], chosen)


class _Options(BuiltOptions):
    paths_seconds: float
    technique: str
    order: str | None
    ask: bool
    form: str
    test: str | None


def _paths(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.evidence.discovery import find_source
    from suspectra.evidence.sources import Sources
    from suspectra.localizer import Localizer
    from suspectra.output.paths import write_json, write_text
    from suspectra.output.time_bar import TimeBar
    from suspectra.processes.watchdog import Watchdog
    from suspectra.techniques import make_technique

    source = find_source(chosen["workspace"])
    evidence = source.read()
    build = build_of_tests(chosen, evidence, source)
    test = one_failing_test(evidence, chosen["test"])
    ranking = Localizer(make_technique("ochiai")).update(evidence)
    require_unchanged(evidence, _executed_files(ranking.spectrum, test.name), chosen["workspace"])
    bar = TimeBar(sys.stderr, chosen["paths_seconds"])
    inquiry = (
        _for_python(command, chosen, test, ranking, bar)
        if build is None
        else _for_c(build, command, chosen, test, ranking)
    )
    with (
        nullcontext() if build is None else Watchdog(os.environ),  # ends a build if this process is killed
        Interruption() as interruption,
        closing(inquiry.steps()) as reports,
        bar,
    ):
        for report in reports:
            bar.state = many(report.candidates, "candidate")
    if chosen["form"] == "json":
        write_json(inquiry.report, sys.stdout)
    else:
        write_text(inquiry.report, sys.stdout, Sources(chosen["workspace"]))
    warn(inquiry.problems)
    return INTERRUPTED if interruption.happened else 0 if inquiry.report.found else NOTHING_TO_RANK


def _for_python(
    command: Sequence[str], chosen: _Options, test: FailingTest, ranking: RankedReport, bar: TimeBar
) -> PathInquiry:
    from suspectra.paths.searches.inquiry import PathInquiry
    from suspectra.paths.searches.search import PathOptions

    ask = partial(_ask, bar) if chosen["ask"] else None
    return PathInquiry(
        rerun_setup(command, chosen),
        ranking.suspiciousness,
        test=test,
        spectrum=ranking.spectrum,
        seconds=chosen["paths_seconds"],
        technique=chosen["technique"],
        options=PathOptions(_order(chosen["order"]), ask),
    )


def _order(name: str | None) -> Nearness | None:
    from suspectra.paths.searches.search import Nearness

    return Nearness(name) if name else None


def _for_c(
    build: Path, command: Sequence[str], chosen: _Options, test: FailingTest, ranking: RankedReport
) -> CPathInquiry:
    from suspectra.c.paths.inquiry import CPathInquiry
    from suspectra.paths.searches.search import PathOptions

    require_nothing_of_python(command, chosen)
    return CPathInquiry(
        chosen["workspace"],
        build,
        test=test,
        spectrum=ranking.spectrum,
        seconds=chosen["paths_seconds"],
        technique=chosen["technique"],
        options=PathOptions(_order(chosen["order"])),
    )


def _ask(bar: TimeBar, question: str) -> bool | None:
    """Ask on the terminal."""
    with bar.aside():
        return answered(question)


def _executed_files(spectrum: Spectrum, test: str) -> set[str]:
    elements = spectrum.elements
    return {elements.files[file] for file in elements.file[spectrum.rows[spectrum.test_index[test]]]}
