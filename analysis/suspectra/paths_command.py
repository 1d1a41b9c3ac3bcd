"""The command `paths`. Only click and what is as light is imported here, since every command line loads this."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from suspectra.altered_runs import COMMAND, BeforeCommand, one_failing_test, require_unchanged
from suspectra.console import INTERRUPTED, NOTHING_TO_RANK, warn, workspace_option

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.experiments.nearest_path import NearestPath, PathSearchLimits
    from suspectra.spectrum import Spectrum

NEAREST = "nearest-path"
"""The technique that compares a failing test with the passing one whose path is nearest."""


def register(cli: click.Group) -> None:
    """Add the command to the command line.

    Parameters
    ----------
    cli : click.Group
        The group of all commands.
    """

    @cli.command(cls=BeforeCommand, options_metavar="[OPTIONS] TEST [-- pytest ...]")
    @workspace_option
    @click.option("--python", metavar="PATH", help="The interpreter for a bare pytest.  [default: the project's own]")
    @click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True)
    @click.option("--technique", type=click.Choice([NEAREST]), default=NEAREST, show_default=True)
    @click.option(
        "--order",
        type=click.Choice(["fewest", "latest"]),
        default="fewest",
        show_default=True,
        help="What is near: few different events, or late ones.",
    )
    @click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
    @click.option(
        "--exclude-marker", "excluded", multiple=True, metavar="NAME", help="Never run tests with this marker."
    )
    @click.option("--copy", is_flag=True, help="Run the tests in a temporary copy of the workspace.")
    @click.argument("test", metavar="")
    @click.pass_context
    def paths(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Compare the run of TEST with that of the passing test that goes nearly the same way.

        TEST is the name of a recorded test that fails, or a glob that fits one. It and the passing tests nearest to it
        are run again, with nothing altered, and their decisions and calls are compared. The command behind -- takes
        options of pytest, and no tests.
        """
        return _paths(context.meta[COMMAND], chosen)


class _Options(TypedDict):
    workspace: Path
    python: str | None
    seconds: float
    technique: str
    order: str
    form: str
    excluded: tuple[str, ...]
    copy: bool
    test: str


def _paths(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.evidence.discovery import find_source
    from suspectra.evidence.sources import Sources
    from suspectra.experiments.nearest_path import NearestPath, Order, PathSearchLimits, nearest_tests
    from suspectra.experiments.recorded_paths import PATH, Paths
    from suspectra.experiments.repeated_tests import RepeatedTests
    from suspectra.experiments.safety import Safety
    from suspectra.localizer import Localizer
    from suspectra.output.paths import PathReport, write_json, write_text
    from suspectra.recording.launch import resolve
    from suspectra.techniques import make_technique

    began = time.monotonic()
    evidence = find_source(chosen["workspace"]).read()
    root = os.path.realpath(chosen["workspace"])
    test = one_failing_test(evidence, chosen["test"])
    name = test.name
    spectrum = Localizer(make_technique("ochiai")).update(evidence).spectrum
    require_unchanged(evidence, _executed_files(spectrum, name), chosen["workspace"])
    passing = nearest_tests(spectrum, name)
    safety = Safety(chosen["excluded"], copy=chosen["copy"])
    arguments = resolve(command, root, python=chosen["python"]).arguments
    with safety.folder(Path(root)) as folder:
        tests = RepeatedTests(arguments, folder, [test], (PATH["kind"],), passing, safety.excluded, Path(root))
        found = NearestPath(tests, Paths(folder), name, passing, Order(chosen["order"]))
        try:
            interrupted = _search(found, PathSearchLimits(began + chosen["seconds"]))
        finally:
            tests.close()
    same = [one.test for one in found.compared if one.same_path]
    seconds = time.monotonic() - began
    report = PathReport(NEAREST, name, found.nearest, same, len(found.compared), found.complete, seconds)
    if chosen["form"] == "json":
        write_json(report, sys.stdout)
    else:
        write_text(report, sys.stdout, Sources(chosen["workspace"]))
    warn(dict.fromkeys([*tests.notices, *found.problems]))
    return INTERRUPTED if interrupted else 0 if found.nearest else NOTHING_TO_RANK


def _search(found: NearestPath, limits: PathSearchLimits) -> bool:
    """Compare as long as the user lets it go on; whether it was interrupted."""
    try:
        for _ in found.search(limits):
            pass
    except KeyboardInterrupt:
        return True  # what is known is kept, and shown
    return False


def _executed_files(spectrum: Spectrum, test: str) -> set[str]:
    elements = spectrum.elements
    return {elements.files[file] for file in elements.file[spectrum.rows[spectrum.test_index[test]]]}
