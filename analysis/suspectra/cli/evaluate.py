"""The commands `evaluate` and `study`. Heavy modules are imported inside functions, since help loads them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypedDict

import click

from suspectra.base.options import CLONE_FAILED, P_JUMP
from suspectra.cli.console import declared, warn, written
from suspectra.cli.localization import evidence_options, localize, technique_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.cli.localization import Localized, RankingOptions
    from suspectra.evaluation.appraisal import Appraisal
    from suspectra.evaluation.config import StudyConfig
    from suspectra.evaluation.study import StudyResult
    from suspectra.markov.debugging_model import DebuggingModel

_PATH = click.Path(path_type=Path)
_p_jump = declared(P_JUMP, type=click.FloatRange(0, 1, max_open=True))


def register(cli: click.Group) -> None:
    """Add the commands to the command line."""

    @cli.command()
    @evidence_options
    @technique_options
    @click.option("--ht-rank", is_flag=True, help="Say ranks by expected steps in the debugging model, too.")
    @_p_jump
    @click.option("--faults", type=_PATH, required=True, help="A text file with FILE:LINE of each fault, one a line.")
    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
    @click.option("-o", "--output", type=_PATH, help="Write to a file instead of stdout.")
    def evaluate(
        ht_rank: bool,
        p_jump: float,
        faults: Path,
        form: str,
        output: Path | None,
        workspace: Path,
        **chosen: Unpack[RankingOptions],
    ) -> None:
        """Score one ranking, given where the faults are."""
        from suspectra.evaluation.appraisal import Appraisal
        from suspectra.evaluation.faults import FaultList

        listed = FaultList.read(faults)
        localized = localize(workspace, edges=ht_rank, **chosen)
        elements, problems = listed.elements(localized.report.spectrum.elements)
        warn(problems)
        appraisal = Appraisal.from_report(localized.report, elements, _model(localized, p_jump) if ht_rank else None)
        with written(output) as out:
            if form == "json":
                json.dump({"technique": localized.report.technique.name, **appraisal.as_dict()}, out, indent=2)
                out.write("\n")
            else:
                _write_appraisal(appraisal, localized.report.technique.info.title, out)
        warn(localized.problems)

    @cli.command()
    @click.argument("config", type=_PATH, required=False)
    @click.option("--corpus", "corpora", type=_PATH, multiple=True, help="A folder in the corpus format.")
    @click.option("--sources", type=_PATH, help="A folder with the sources that subjects were recorded from.")
    @click.option(
        "--technique",
        "names",
        multiple=True,
        metavar="NAME",
        help="One of `suspectra techniques`, or NAME+NAME.",
    )
    @declared(CLONE_FAILED)
    @click.option("--both", is_flag=True, help="Formulas with and without cloning.")
    @click.option("--break-ties", metavar="NAME", help="Let this technique order what the others tie.")
    @click.option("--ht-rank", is_flag=True, help="Rank by expected steps in the debugging model.")
    @_p_jump
    @click.option(
        "--faults",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Compose so many versions of a program, and rank each of their faults.",
    )
    @click.option("--t-score", is_flag=True, help="Also search from the first five statements along dependences.")
    @click.option("--unexecuted-last", is_flag=True, help="Formulas rank statements no test executes last.")
    @click.option("--reference", metavar="NAME", help="Compare the others with this one.  [default: the first]")
    @click.option("--results", type=_PATH, help="Keep results of single subjects here, and go on from what is there.")
    @click.option("--jobs", type=click.IntRange(min=1), help="Processes.  [default: one a core]")
    @click.option("--scheduler", metavar="ADDRESS", help="Rank on a dask.distributed cluster, such as tcp://host:8786.")
    @click.option("--svg", type=_PATH, help="Write the EXAM curves as a picture, too.")
    @click.option(
        "--format", "form", type=click.Choice(["markdown", "csv", "html"]), default="markdown", show_default=True
    )
    @click.option("-o", "--output", type=_PATH, help="Write to a file instead of stdout.")
    def study(
        config: Path | None,
        reference: str | None,
        results: Path | None,
        jobs: int | None,
        scheduler: str | None,
        svg: Path | None,
        form: str,
        output: Path | None,
        **chosen: Unpack[_Described],
    ) -> int:
        """Compare techniques over many subjects with known faults.

        Give a TOML file that describes the study, or a corpus and techniques.
        """
        from suspectra.evaluation.config import StudyConfig
        from suspectra.evaluation.curves import exam_curves

        if scheduler is not None:  # workers have other working directories
            config = config and config.absolute()
            chosen["corpora"] = tuple(corpus.absolute() for corpus in chosen["corpora"])
            chosen["sources"] = chosen["sources"] and chosen["sources"].absolute()
        if config is not None:
            if any(value for name, value in chosen.items() if name not in ("p_jump", "faults")) or chosen["faults"] > 1:
                raise click.UsageError("A study file says what to do: give it alone, or --corpus and --technique.")
            described = StudyConfig.read(config)
            results = results or described.results
        else:
            described = _described(chosen)
        result = _run(described, results, jobs, scheduler)
        with written(output) as out:
            out.write(_formatted(result, form, reference))
        if svg is not None:
            with written(svg) as out:
                out.write(exam_curves(result.results))
        warn(result.problems)
        return 0 if result.results else 1


def _model(localized: Localized, p_jump: float) -> DebuggingModel:
    from suspectra.markov.debugging_model import DebuggingModel

    return DebuggingModel.for_studies(localized.report, localized.program, p_jump)


class _Described(TypedDict):
    """The options that describe a study."""

    corpora: tuple[Path, ...]
    sources: Path | None
    names: tuple[str, ...]
    clone_failed: bool
    both: bool
    break_ties: str | None
    unexecuted_last: bool
    ht_rank: bool
    p_jump: float
    faults: int
    t_score: bool


def _described(given: _Described) -> StudyConfig:
    from suspectra.evaluation.config import StudyConfig, read_corpora
    from suspectra.evaluation.study import StudiedTechnique, StudyPlan

    if not given["corpora"]:
        raise click.UsageError("Give a study file, or --corpus.")
    if not given["names"]:
        raise click.UsageError("Name a technique with --technique.")
    clone = (False, True) if given["both"] else (given["clone_failed"],)
    breaker = given["break_ties"]
    choices = tuple(
        StudiedTechnique(f"{name}+{breaker}" if breaker else name) for name in dict.fromkeys(given["names"])
    )
    plan = StudyPlan(choices, clone, given["unexecuted_last"], given["ht_rank"], given["p_jump"], given["t_score"])
    plan.check()
    subjects, problems = read_corpora(given["corpora"], given["sources"], given["faults"])
    return StudyConfig(plan, tuple(subjects), tuple(problems))


def _run(described: StudyConfig, store: Path | None, jobs: int | None, scheduler: str | None) -> StudyResult:
    from suspectra.evaluation.config import read_any
    from suspectra.evaluation.study import Study, StudyResult

    study = Study(described.plan, described.subjects, read_any, store)
    with ExitStack() as stack:
        cluster = None
        if scheduler is not None:
            from suspectra.spectrum.cluster import Cluster

            cluster = stack.enter_context(Cluster(scheduler))
        progress: Callable[[int], object] = lambda done: None  # noqa: E731
        if sys.stderr.isatty():
            bar = click.progressbar(length=len(described.subjects), label="Ranking", file=sys.stderr)
            progress = stack.enter_context(bar).update
        result = study.run(jobs, progress, cluster)
    return StudyResult(result.results, (*described.problems, *result.problems), result.ht_rank)


def _formatted(result: StudyResult, form: str, reference: str | None) -> str:
    from suspectra.evaluation import tables

    if form == "csv":
        return tables.to_csv(result.results)
    base = (reference, 0) if reference else None
    return tables.to_markdown(result, base) if form == "markdown" else tables.to_html(result, base)


def _write_appraisal(appraisal: Appraisal, technique: str, out: TextIO) -> None:
    """Write the rank of each fault, then all scores."""
    out.write(f"{technique}: {len(appraisal.faults)} faults among {appraisal.n} statements\n\n")
    for fault in appraisal.faults:
        tie = f"{fault.rank_best}-{fault.rank_worst}" if fault.rank_best != fault.rank_worst else f"{fault.rank_best}"
        steps = "" if fault.ht_rank is None else f", HT_Rank {fault.ht_rank:g} ({fault.expected_steps:.5g} steps)"
        out.write(f"  {fault.location}: rank {tie}, score {fault.score:.4g}{steps}\n")
    out.write(f"\n  {'':24}{'first':>12}{'mean':>12}{'last':>12}\n")
    for name, figure in appraisal.figures().items():
        cells = "".join(f"{figure[key]:>12.6g}" for key in ("first", "mean", "last"))
        out.write(f"  {name:24}{cells}\n")
    out.write(f"\n  {'faults in the first':24}{'best':>12}{'average':>12}{'worst':>12}\n")
    for n, counts in appraisal.top().items():
        out.write(f"  {n:<24}{''.join(f'{count:>12}' for count in counts)}\n")
    out.write(f"\n  {'LIL':24}{appraisal.lil:>12.6g}\n")
