"""The command `investigate`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from suspectra.base.english import many
from suspectra.base.options import EXPERIMENTS, INVESTIGATION_SECONDS
from suspectra.cli.console import INTERRUPTED, NOTHING_TO_RANK, declared, options, python_option, warn, workspace_option
from suspectra.cli.localization import parameter_option, technique_parameters
from suspectra.cli.rerun import (
    COMMAND,
    BeforeCommand,
    Interruption,
    RerunOptions,
    rerun_setup,
    suspicious_tests,
)
from suspectra.runs.experiment import COMBINATION, KINDS
from suspectra.runs.observation import VALUE_PREDICATES

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence
    from suspectra.experiments.experiment_inquiry import ExperimentInquiry
    from suspectra.experiments.value_inquiry import ValueInquiry
    from suspectra.output.investigation import InvestigationProgress
    from suspectra.runs.experiment import Experiment
    from suspectra.spectrum import Elements
    from suspectra.techniques.technique import Technique

_TECHNIQUES = (*KINDS, VALUE_PREDICATES)
_ITSELF = "run `suspectra investigate"  # the cure of techniques that have nothing to rank by
_Result = TypeVar("_Result")


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @workspace_option
    @python_option
    @declared(INVESTIGATION_SECONDS, type=click.FloatRange(min=0, min_open=True))
    @click.option("--technique", type=click.Choice(_TECHNIQUES), default=COMBINATION, show_default=True)
    @parameter_option
    @click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many suspects.")
    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
    @options(*map(declared, EXPERIMENTS))
    @click.argument("tests", nargs=-1, metavar="[TEST]...")
    @click.pass_context
    def investigate(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Run failing tests again, each time with one thing altered, and rank by what makes them pass.

        TEST is the name of a recorded test, of a class or a file, or a glob; without any, all failing tests, one of
        each failure group first. The command behind -- takes options of pytest, and no tests. Altered runs execute your
        tests with wrong conditions and values: do this only with tests that can't do harm. With --technique
        value-predicates nothing is altered: failing tests and the passing ones most like them run once, and how their
        values compare is counted.
        """
        return _investigate(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    investigation_seconds: float
    technique: str
    parameters: tuple[str, ...]
    top: int
    form: str
    forks: bool
    hide_values: bool
    tests: tuple[str, ...]


def _investigate(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.evidence.discovery import find_source
    from suspectra.experiments.experiment_inquiry import ExperimentInquiry
    from suspectra.experiments.value_inquiry import ValueInquiry
    from suspectra.output.investigation import InvestigationProgress
    from suspectra.selection.since_revision import since_revision
    from suspectra.techniques import make_technique

    began = time.monotonic()
    technique = make_technique(chosen["technique"], break_ties=None, **technique_parameters(chosen["parameters"]))
    evidence = since_revision(find_source(chosen["workspace"], edges=True).read(), chosen["workspace"], None)
    everywhere = chosen["technique"] != COMBINATION
    tests, suspicion = suspicious_tests(evidence, chosen["workspace"], chosen["tests"], everywhere=everywhere)
    progress = InvestigationProgress(sys.stderr, len(tests), partial(_line_of, evidence.elements))
    shown = not chosen["hide_values"]
    setup = rerun_setup(command, chosen, values_shown=shown)
    seconds = _left(chosen["investigation_seconds"], began)
    end = time.monotonic() + seconds
    if technique.name == VALUE_PREDICATES:
        observing = ValueInquiry(
            setup,
            tests,
            suspicion,
            seconds=seconds,
            notify=lambda now: progress.show(now.share, f"test {now.number} of {now.total}: {now.test}"),
        )
        observed, interrupted = _made(observing.steps(), progress)
        left = "all tests were observed" if observing.complete else _left_over("observed", end, interrupted=interrupted)
        said = f"{many(len(observed), 'test')} observed in {{seconds:.1f}} s; {left}"
        return _write(evidence, observing, technique, (), chosen, began, said, interrupted=interrupted)
    investigation = ExperimentInquiry(
        setup,
        tests,
        suspicion,
        seconds=seconds,
        kinds=technique.kinds,
        forks=chosen["forks"],
        notify=lambda now: progress.show(now.share, f"{now.runs} runs, test {now.number} of {now.total}: {now.test}"),
    )
    made, interrupted = _made(_experiments(investigation, progress), progress)
    tried_all = "all that it alters was tried"
    left = tried_all if investigation.complete else _left_over("tried", end, interrupted=interrupted)
    said = f"{len(made)} altered runs in {{seconds:.1f}} s; {left}"
    return _write(evidence, investigation, technique, made, chosen, began, said, interrupted=interrupted)


def _left(seconds: float, began: float) -> float:
    """What reading and ranking a recording has left of the seconds of this command: half of them, at least."""
    return max(seconds - (time.monotonic() - began), seconds / 2)


def _line_of(elements: Elements, file: str, line: int) -> int:
    """Where the statement that contains a line begins."""
    element = elements.at(file, line)
    return line if element is None else int(elements.line[element])


def _left_over(done: str, end: float, *, interrupted: bool) -> str:
    """What there is to do after an investigation that is not complete."""
    if interrupted or time.monotonic() >= end:
        return f"more can be {done} with --seconds"
    return "nothing more could be run"


def _experiments(investigation: ExperimentInquiry, progress: InvestigationProgress) -> Iterator[Experiment]:
    """The experiments, while repairs are shown."""
    failing = {test.name for test in investigation.tests}
    for experiment in investigation.steps():
        yield experiment
        if experiment.outcome.repairs and experiment.test in failing:
            progress.found(experiment)


def _made(results: Iterator[_Result], progress: InvestigationProgress) -> tuple[list[_Result], bool]:
    """The results, as far as the user lets them go on."""
    made: list[_Result] = []
    try:
        with Interruption() as interruption:
            for result in results:
                made.append(result)
    finally:
        progress.finish()
    return made, interruption.happened


def _write(
    evidence: Evidence,
    done: ExperimentInquiry | ValueInquiry,
    technique: Technique,
    made: Sequence[Experiment],
    chosen: _Options,
    began: float,
    said: str,
    *,
    interrupted: bool,
) -> int:
    from suspectra.evidence.logs.experiments import with_experiments
    from suspectra.evidence.logs.observations import OBSERVATIONS
    from suspectra.evidence.sources import Sources
    from suspectra.localizer import Localizer
    from suspectra.output.investigation import write_json
    from suspectra.output.rankings.ranking import Listing
    from suspectra.output.rankings.table import write_table

    seconds = time.monotonic() - began
    joined = OBSERVATIONS.added_to if technique.name == VALUE_PREDICATES else with_experiments
    evidence = joined(evidence, chosen["workspace"])
    localizer = Localizer(technique)
    report = localizer.update(evidence)
    noticed = [problem for problem in localizer.problems() if not problem.cure.startswith(_ITSELF)]
    problems = tuple(dict.fromkeys([*done.problems, *noticed]))
    as_json = chosen["form"] == "json"
    listing = Listing(report, evidence, problems, chosen["top"], () if as_json else localizer.groups().groups)
    names = [test.name for test in done.tests]
    if as_json:
        write_json(listing, names, made, sys.stdout, complete=done.complete, seconds=seconds)
    else:
        write_table(listing, sys.stdout, Sources(chosen["workspace"]))
        click.echo(said.format(seconds=seconds))
    warn(problems)
    if interrupted:
        return INTERRUPTED
    return 0 if evidence.experiments or evidence.observations else NOTHING_TO_RANK
