"""The command `investigate`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import click

from suspectra.base.english import many
from suspectra.base.errors import Problem, UsageError
from suspectra.base.options import EXPERIMENTS, INVESTIGATION_SECONDS
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
from suspectra.cli.localization import parameter_option, technique_parameters
from suspectra.cli.rerun import (
    BUILDS,
    COMMAND,
    BeforeCommand,
    BuiltOptions,
    Interruption,
    build_of_tests,
    require_nothing_of_python,
    rerun_setup,
    suspicious_tests,
)
from suspectra.runs.experiment import COMBINATION, COMPILED, KINDS, Experiment
from suspectra.runs.observation import VALUE_PREDICATES, Observation

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from suspectra.c.experiments.switching import CSwitchInquiry
    from suspectra.evidence.evidence import Evidence
    from suspectra.experiments.experiment_inquiry import ExperimentInquiry
    from suspectra.experiments.inquiry import InquiryProgress
    from suspectra.experiments.repeated_tests import FailingTest
    from suspectra.experiments.suspicion import Suspicion
    from suspectra.experiments.value_inquiry import ObservationInquiry
    from suspectra.output.investigation import InvestigationProgress
    from suspectra.spectrum import Elements
    from suspectra.techniques.technique import Technique

    _Inquiry = ExperimentInquiry | CSwitchInquiry | ObservationInquiry

_TECHNIQUES = (*KINDS, VALUE_PREDICATES)
_ITSELF = "run `suspectra investigate"  # the cure of techniques that have nothing to rank by


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(INVESTIGATION_SECONDS)
    @click.option("--technique", type=click.Choice(_TECHNIQUES), default=COMBINATION, show_default=True)
    @parameter_option
    @click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many suspects.")
    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
    @options(*map(declared, EXPERIMENTS))
    @options(*BUILDS)
    @click.argument("tests", nargs=-1, metavar="[TEST]...")
    @click.pass_context
    def investigate(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Run failing tests again, each time with one thing altered, and rank by what makes them pass.

        TEST is the name of a recorded test, of a class or a file, or a glob; without any, all failing tests, one of
        each failure group first. The command behind -- takes options of pytest, and no tests. Altered runs execute your
        tests with wrong conditions and values: do this only with tests that can't do harm. With --technique
        value-predicates nothing is altered: failing tests and the passing ones most like them run once, and how their
        values compare is counted. For tests of C and C++ the project is built a second time, in the cache of the
        user; decisions can be turned there, and values compared.
        """
        return _investigate(context.meta[COMMAND], chosen)


class _Options(BuiltOptions):
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
    from suspectra.output.investigation import InvestigationProgress
    from suspectra.processes.watchdog import Watchdog
    from suspectra.selection.since_revision import since_revision
    from suspectra.techniques import make_technique

    began = time.monotonic()
    technique = make_technique(chosen["technique"], break_ties=None, **technique_parameters(chosen["parameters"]))
    source = find_source(chosen["workspace"], edges=True)
    evidence = since_revision(source.read(), chosen["workspace"], None)
    build = build_of_tests(chosen, evidence, source)
    compiled = build is not None
    everywhere = compiled or chosen["technique"] != COMBINATION
    tests, suspicion = suspicious_tests(
        evidence, chosen["workspace"], chosen["tests"], everywhere=everywhere, compiled=compiled
    )
    progress = InvestigationProgress(sys.stderr, len(tests), partial(_line_of, evidence.elements))
    make = partial(_for_c, build) if build is not None else _for_python
    inquiry = make(command, chosen, technique, tests, suspicion, progress)
    inquiry.seconds = _left(chosen["investigation_seconds"], began)
    guard = Watchdog(os.environ) if compiled else nullcontext()  # ends a build if this process is killed
    with guard:
        made, interrupted = _made(_shown(inquiry, progress), progress)
    if technique.name == VALUE_PREDICATES:
        left = "all tests were observed" if inquiry.complete else _left_over("observed", inquiry, interrupted)
        said = f"{many(len(made), 'test')} observed in {{seconds:.1f}} s; {left}"
    else:
        left = "all that it alters was tried" if inquiry.complete else _left_over("tried", inquiry, interrupted)
        said = f"{many(len(made), 'altered run')} in {{seconds:.1f}} s; {left}"
    return _write(evidence, inquiry, technique, made, chosen, began, said, interrupted=interrupted)


def _for_python(
    command: Sequence[str],
    chosen: _Options,
    technique: Technique,
    tests: Sequence[FailingTest],
    suspicion: Suspicion,
    progress: InvestigationProgress,
) -> _Inquiry:
    from suspectra.experiments.experiment_inquiry import ExperimentInquiry
    from suspectra.experiments.value_inquiry import ValueInquiry

    setup = rerun_setup(command, chosen, values_shown=not chosen["hide_values"])
    if technique.name == VALUE_PREDICATES:
        return ValueInquiry(setup=setup, tests=tests, suspects=suspicion, notify=partial(_observing, progress))
    return ExperimentInquiry(
        setup,
        tests,
        suspicion,
        kinds=technique.kinds,
        forks=chosen["forks"],
        notify=partial(_altering, progress),
    )


def _for_c(
    build: Path,
    command: Sequence[str],
    chosen: _Options,
    technique: Technique,
    tests: Sequence[FailingTest],
    suspicion: Suspicion,
    progress: InvestigationProgress,
) -> _Inquiry:
    from suspectra.c.experiments.observing import CValueInquiry
    from suspectra.c.experiments.switching import CSwitchInquiry
    from suspectra.c.paths.traced_project import TracedProject

    require_nothing_of_python(command, chosen, {"--forks": chosen["forks"]})
    if technique.name not in COMPILED:
        cause = f"{technique.name} alters tests of Python only"
        raise UsageError(Problem("--technique", "", cause, f"choose {' or '.join(COMPILED[1:])} for tests of C"))
    project = TracedProject(chosen["workspace"], build)
    if technique.name == VALUE_PREDICATES:
        return CValueInquiry(project=project, tests=tests, suspects=suspicion, notify=partial(_observing, progress))
    return CSwitchInquiry(project=project, tests=tests, suspects=suspicion, notify=partial(_altering, progress))


def _observing(progress: InvestigationProgress, now: InquiryProgress) -> None:
    progress.show(now.share, f"test {now.number} of {now.total}: {now.test}")


def _altering(progress: InvestigationProgress, now: InquiryProgress) -> None:
    progress.show(now.share, f"{now.runs} runs, test {now.number} of {now.total}: {now.test}")


def _left(seconds: float, began: float) -> float:
    """What reading and ranking a recording has left of the seconds of this command: half of them, at least."""
    return max(seconds - (time.monotonic() - began), seconds / 2)


def _line_of(elements: Elements, file: str, line: int) -> int:
    """Where the statement that contains a line begins."""
    element = elements.at(file, line)
    return line if element is None else int(elements.line[element])


def _left_over(done: str, inquiry: _Inquiry, interrupted: bool) -> str:
    """What there is to do after an investigation that is not complete."""
    if interrupted or inquiry.share == 1:
        return f"more can be {done} with --seconds"
    return "nothing more could be run"


def _shown(inquiry: _Inquiry, progress: InvestigationProgress) -> Iterator[Experiment | Observation]:
    """What comes of an inquiry, while repairs are shown."""
    failing = {test.name for test in inquiry.tests}
    for found in inquiry.steps():
        yield found
        if isinstance(found, Experiment) and found.outcome.repairs and found.test in failing:
            progress.found(found)


def _made(
    results: Iterator[Experiment | Observation], progress: InvestigationProgress
) -> tuple[list[Experiment | Observation], bool]:
    """The results, as far as the user lets them go on."""
    made = []
    try:
        with Interruption() as interruption:
            for result in results:
                made.append(result)
    finally:
        progress.finish()
    return made, interruption.happened


def _write(
    evidence: Evidence,
    done: _Inquiry,
    technique: Technique,
    made: Sequence[Experiment | Observation],
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
        experiments = [one for one in made if isinstance(one, Experiment)]
        write_json(listing, names, experiments, sys.stdout, complete=done.complete, seconds=seconds)
    else:
        write_table(listing, sys.stdout, Sources(chosen["workspace"]))
        click.echo(said.format(seconds=seconds))
    warn(problems)
    if interrupted:
        return INTERRUPTED
    return 0 if evidence.experiments or evidence.observations else NOTHING_TO_RANK
