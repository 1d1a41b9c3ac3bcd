"""The localization that the options of a command ask for: which evidence, which technique, and the ranking.

Every command line loads this, so numpy is imported only when something is ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from suspectra.console import build_options, declared, options, warn, workspace_option
from suspectra.errors import Problem, SuspectraError
from suspectra.options import CLONE_FAILED, COVERAGE, INCLUDE_TESTS, JUNIT, TECHNIQUE
from suspectra.technique_info import Need

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.failure_groups.ranking import RankedGroup
    from suspectra.program import Program
    from suspectra.report import RankedReport
    from suspectra.techniques.technique import Technique

_PATH = click.Path(path_type=Path)
_FOREIGN = ("gcov", "gcovr", "lcov", "cobertura")

evidence_options = options(
    workspace_option,
    declared(COVERAGE, type=_PATH),
    declared(JUNIT, type=_PATH),
    click.option("--recording", type=_PATH, help="The folder of a recording."),
    click.option("--gcov", type=_PATH, help="C/C++: a folder of .gcda files, or of gcov's JSON, a folder a test."),
    click.option("--gcovr", type=_PATH, help="C/C++: a folder of gcovr's JSON, a file a test."),
    click.option("--lcov", type=_PATH, help="C/C++: a tracefile with test names, or a folder of them."),
    click.option("--cobertura", type=_PATH, help="C/C++: a folder of Cobertura XML, a file a test."),
    click.option("--outcomes", type=_PATH, help="C/C++: how the tests ended: JUnit XML, JSON, or lines of text."),
    build_options,
)
technique_options = options(
    declared(TECHNIQUE, metavar="NAME"),
    click.option("--param", "parameters", multiple=True, metavar="KEY=VALUE", help="A technique's own parameter."),
    declared(CLONE_FAILED),
    click.option("--break-ties", metavar="NAME", help="Let a second technique, such as cp, order what is tied."),
    declared(INCLUDE_TESTS),
)


class RankingOptions(TypedDict):
    """The values of `evidence_options`, but for the workspace, and of `technique_options`."""

    coverage: Path | None
    junit: Path | None
    recording: Path | None
    gcov: Path | None
    gcovr: Path | None
    lcov: Path | None
    cobertura: Path | None
    outcomes: Path | None
    build: tuple[Path, ...]
    mapping: tuple[str, ...]
    technique: str
    parameters: tuple[str, ...]
    clone_failed: bool
    break_ties: str | None
    include_tests: bool


@dataclass(frozen=True, eq=False)
class Localized:
    """What a command ranked.

    Parameters
    ----------
    report : RankedReport
        The ranking.
    evidence : Evidence
        What it was made from.
    program : Program
        What the evidence says of the program; None where it says nothing.
    problems : tuple of Problem
        Of the evidence and of the ranking.
    groups : tuple of RankedGroup
        The failure groups, each with its own ranking; empty where they were not asked for.
    """

    report: RankedReport
    evidence: Evidence
    program: Program | None
    problems: tuple[Problem, ...]
    groups: tuple[RankedGroup, ...] = ()

    def group_of(self, element: int | None = None) -> RankedGroup | None:
        """The failure group in whose ranking an element stands first.

        Parameters
        ----------
        element : int, optional
            Its column; the first group is meant unless given.

        Returns
        -------
        RankedGroup or None
            None where there is one group alone, or no failing test executes the element.
        """
        if len(self.groups) < 2:
            return None
        if element is None:
            return self.groups[0]
        executed = [group for group in self.groups if group.report.spectrum.counts.ef[element]]
        return min(executed, key=lambda group: group.report.suspect_of(element).rank_best, default=None)


def localize(
    workspace: Path,
    *,
    edges: bool = False,
    groups: bool = False,
    scheduler: str | None = None,
    **chosen: Unpack[RankingOptions],
) -> Localized:
    """Rank the evidence; problems of the evidence are said even when there is no ranking.

    Parameters
    ----------
    workspace : Path
        The folder that paths are relative to.
    edges : bool
        Control-flow edges are wanted whether the technique needs them or not.
    groups : bool
        Failure groups are wanted, too; they are told by edges as well as by statements.
    scheduler : str, optional
        Of a cluster that counts.
    **chosen
        The values of the options.

    Returns
    -------
    Localized
        The ranking, with what it was made from.
    """
    technique = _make_technique(chosen)  # a wrong name costs no reading
    info = technique.info
    found = _source(workspace, chosen, edges=edges or groups or info.wants_edges, flow=info.needs_flow).read()
    if Need.EXPERIMENTS in info.needs:
        from suspectra.evidence.experiments import with_experiments

        found = with_experiments(found, workspace)

    from suspectra.localizer import Localizer

    include_tests = chosen["include_tests"]
    localizer = Localizer(technique, include_tests=include_tests)
    try:
        if scheduler is not None:
            from suspectra.cluster import Cluster

            with Cluster(scheduler) as cluster:
                localizer = Localizer(technique, include_tests=include_tests, count=cluster.count)
                report = localizer.update(found)
        else:
            report = localizer.update(found)
    except SuspectraError:
        errors = found.collection_errors
        warn([*(error.problem() for error in errors if len(errors) > 1), *found.problems])
        raise
    grouped = localizer.groups().groups if groups else ()
    return Localized(report, found, localizer.program, tuple(localizer.problems()), grouped)


def _source(workspace: Path, chosen: RankingOptions, *, edges: bool, flow: bool) -> EvidenceSource:
    from suspectra.evidence.discovery import find_source, foreign_c_source

    coverage, junit, recording, outcomes = (
        path and path.absolute()
        for path in (chosen["coverage"], chosen["junit"], chosen["recording"], chosen["outcomes"])
    )
    build, mapping = chosen["build"], chosen["mapping"]
    foreign = (chosen["gcov"], chosen["gcovr"], chosen["lcov"], chosen["cobertura"])
    named = {form: path.absolute() for form, path in zip(_FOREIGN, foreign, strict=True) if path is not None}
    given = [*named, *(name for name, value in (("recording", recording), ("coverage", coverage)) if value)]
    if len(given) > 1 or (recording and junit):
        raise click.UsageError("Give --recording, or --coverage and --junit, or one of the C/C++ formats, not both.")
    if named:
        if junit and outcomes:
            raise click.UsageError("Give --junit or --outcomes, not both.")
        folders = [folder.absolute() for folder in build]
        ((form, location),) = named.items()
        return foreign_c_source(workspace, form, location, outcomes=junit or outcomes, build=folders, mapping=mapping)
    if outcomes or build or mapping:
        raise click.UsageError(f"--outcomes, --build and --map go with one of --{', --'.join(_FOREIGN)}.")
    return find_source(workspace, coverage=coverage, junit=junit, recording=recording, edges=edges, flow=flow)


def _make_technique(chosen: RankingOptions) -> Technique:
    from suspectra.techniques import make_technique

    own: dict[str, object] = {"clone_failed": chosen["clone_failed"]}
    for text in chosen["parameters"]:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="'--param'")
        own[key.strip().replace("-", "_")] = _value(value.strip())
    return make_technique(chosen["technique"], break_ties=chosen["break_ties"], **own)


def _value(text: str) -> float | int | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
