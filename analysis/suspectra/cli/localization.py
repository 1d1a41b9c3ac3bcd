"""Localization from command-line options: find the evidence, make the technique, and rank.

Every command imports this module, so numpy is imported only when something is ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from suspectra.base.errors import Problem, SuspectraError
from suspectra.base.options import (
    CLONE_FAILED,
    COBERTURA,
    COVERAGE,
    GCOV,
    GCOVR,
    INCLUDE_TESTS,
    JUNIT,
    LCOV,
    OUTCOMES,
    TECHNIQUE,
)
from suspectra.base.technique_info import Need
from suspectra.cli.console import build_options, declared, options, recorded_workspace_option, unpacked, warn

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.failure_groups.ranking import RankedGroup
    from suspectra.program import Program
    from suspectra.report import RankedReport
    from suspectra.techniques.technique import Technique

_PATH = click.Path(path_type=Path)
_CHANGED = 3  # files that are named one by one

evidence_options = options(
    recorded_workspace_option,
    declared(COVERAGE, type=_PATH),
    declared(JUNIT, type=_PATH),
    click.option(
        "--since", metavar="REV", help="What changed since this git revision, for tests without an earlier pass."
    ),
    click.option(
        "--recording", type=_PATH, callback=unpacked, help="The folder of a recording, or a ZIP file that contains one."
    ),
    *(declared(option, type=_PATH) for option in (GCOV, GCOVR, LCOV, COBERTURA, OUTCOMES)),
    build_options,
)
parameter_option = click.option(
    "--param", "parameters", multiple=True, metavar="KEY=VALUE", help="A technique's own parameter."
)
technique_options = options(
    declared(TECHNIQUE, metavar="NAME", default=None, show_default=f"{TECHNIQUE.default}, and what experiments found"),
    parameter_option,
    declared(CLONE_FAILED),
    click.option("--break-ties", metavar="NAME", help="Let a second technique, such as cp, order what is tied."),
    declared(INCLUDE_TESTS),
)


class RankingOptions(TypedDict):
    """The values of `technique_options` and of `evidence_options` without the workspace."""

    coverage: Path | None
    junit: Path | None
    since: str | None
    recording: Path | None
    gcov: Path | None
    gcovr: Path | None
    lcov: Path | None
    cobertura: Path | None
    outcomes: Path | None
    build: tuple[Path, ...]
    mapping: tuple[str, ...]
    technique: str | None
    parameters: tuple[str, ...]
    clone_failed: bool
    break_ties: str | None
    include_tests: bool


DEFAULTS: RankingOptions = {
    "coverage": None,
    "junit": None,
    "since": None,
    "recording": None,
    "gcov": None,
    "gcovr": None,
    "lcov": None,
    "cobertura": None,
    "outcomes": None,
    "build": (),
    "mapping": (),
    "technique": None,
    "parameters": (),
    "clone_failed": CLONE_FAILED.default,
    "break_ties": None,
    "include_tests": INCLUDE_TESTS.default,
}
"""What is ranked if nothing is chosen."""


@dataclass(frozen=True, eq=False)
class Localized:
    """The result of :func:`localize`."""

    report: RankedReport  # the ranking
    evidence: Evidence  # the evidence that was ranked
    program: Program | None  # the program model of the evidence; None when the evidence has none
    problems: tuple[Problem, ...]  # problems of the evidence and of the ranking
    groups: tuple[RankedGroup, ...] = ()  # the failure groups, each with its own ranking; empty unless requested
    run_again: tuple[str, ...] = ()  # the command that runs the tests again; empty where that is not known

    def group_of(self, element: int | None = None) -> RankedGroup | None:
        """The failure group that ranks an element best.

        None when there is only one group, or no failing test executes the element.
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
    edges: bool = False,  # read control-flow edges even if the technique does not need them
    groups: bool = False,  # compute failure groups, too. This also reads control-flow edges
    scheduler: str | None = None,
    tests: Sequence[str] = (),  # the failing tests that count, by any part of a name that is enough; all unless given
    **chosen: Unpack[RankingOptions],
) -> Localized:
    """Rank the evidence. Its problems are printed even when there is no ranking."""
    technique = _make_technique(chosen)  # first, so that a wrong name is reported before anything is read
    by_default = _is_default(chosen)
    info = technique.info
    source = _source(workspace, chosen, edges=edges or groups or info.wants_edges, flow=info.needs_flow)
    found = source.read()
    if tests:
        from suspectra.evidence.named_tests import failing_names, with_failing

        found = with_failing(found, failing_names(found, tests))
    if by_default or Need.EXPERIMENTS in info.needs:
        from suspectra.evidence.logs.experiments import with_experiments
        from suspectra.techniques.default import default_technique

        with_them = with_experiments(found, workspace)
        if by_default:  # that some are out of date is no problem, and what is not known yet is not missed
            technique = default_technique(with_them.experiments)
            with_them = replace(with_them, problems=found.problems)
        found = with_them
    if Need.VALUES in info.needs:
        from suspectra.evidence.logs.observations import OBSERVATIONS

        found = OBSERVATIONS.added_to(found, workspace)
    if Need.DEPENDENCES in info.needs:
        from suspectra.evidence.logs.failure_slices import SLICES

        found = SLICES.added_to(found, workspace)
    if Need.PATHS in info.needs:
        from suspectra.evidence.logs.path_reports import PATHS

        found = PATHS.added_to(found, workspace)

    from suspectra.evidence.discovery import run_again_by
    from suspectra.localizer import Localizer
    from suspectra.selection.since_revision import since_revision

    found = since_revision(found, workspace, chosen["since"])

    include_tests = chosen["include_tests"]
    localizer = Localizer(technique, include_tests=include_tests)
    try:
        if scheduler is not None:
            from suspectra.spectrum.cluster import Cluster

            with Cluster(scheduler) as cluster:
                localizer = Localizer(technique, include_tests=include_tests, count=cluster.count)
                report = localizer.update(found)
        else:
            report = localizer.update(found)
    except SuspectraError:
        errors = [error.problem() for error in found.collection_errors]
        differ = len({error.cause for error in errors}) > 1  # else what is raised says it
        warn([*(errors if differ else ()), *found.problems])
        raise
    grouped = localizer.groups().groups if groups else ()
    problems = *localizer.problems(), *_changed_files(report, found, workspace)
    return Localized(report, found, localizer.program, problems, grouped, run_again_by(source))


def _changed_files(report: RankedReport, evidence: Evidence, workspace: Path) -> list[Problem]:
    """The files with suspects that are no more what they were when the tests ran."""
    from suspectra.evidence.sources import Sources

    spectrum, sources, digests = report.spectrum, Sources(workspace), evidence.digests
    executed = set(spectrum.elements.file[spectrum.counts.ef > 0].tolist())
    paths = [spectrum.elements.files[number] for number in sorted(executed)]
    found = [sources.change(path, digests[path]) for path in paths if digests.get(path) is not None]
    changed = [problem for problem in found if problem is not None]
    if len(changed) <= _CHANGED:
        return changed
    cause = f"it and {len(changed) - 1} more files were changed after the tests ran, so line numbers may be off"
    return [replace(changed[0], cause=cause)]


def _source(workspace: Path, chosen: RankingOptions, *, edges: bool, flow: bool) -> EvidenceSource:
    from suspectra.evidence.discovery import FORMS, find_source, foreign_c_source

    coverage, junit, recording, outcomes = (
        path and path.absolute()
        for path in (chosen["coverage"], chosen["junit"], chosen["recording"], chosen["outcomes"])
    )
    build, mapping = chosen["build"], chosen["mapping"]
    foreign = (chosen["gcov"], chosen["gcovr"], chosen["lcov"], chosen["cobertura"])
    named = {form: path.absolute() for form, path in zip(FORMS, foreign, strict=True) if path is not None}
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
        raise click.UsageError(f"--outcomes, --build and --map go with one of --{', --'.join(FORMS)}.")
    return find_source(workspace, coverage=coverage, junit=junit, recording=recording, edges=edges, flow=flow)


def _make_technique(chosen: RankingOptions) -> Technique:
    from suspectra.techniques import make_technique

    parameters = {"clone_failed": chosen["clone_failed"], **technique_parameters(chosen["parameters"])}
    return make_technique(chosen["technique"] or TECHNIQUE.default, break_ties=chosen["break_ties"], **parameters)


def _is_default(chosen: RankingOptions) -> bool:
    """Whether nothing is chosen of how to rank."""
    return not (chosen["technique"] or chosen["break_ties"] or chosen["parameters"] or chosen["clone_failed"])


def technique_parameters(texts: Iterable[str]) -> dict[str, object]:
    """The parameters that a technique is made with.

    Raises click.BadParameter for another form.
    """
    parameters: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="'--param'")
        parameters[key.strip().replace("-", "_")] = _value(value.strip())
    return parameters


def _value(text: str) -> float | int | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
