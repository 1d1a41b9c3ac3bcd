"""The command `causes`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from suspectra.base.english import first_of
from suspectra.base.errors import EvidenceError
from suspectra.base.options import CAUSES_SECONDS, COPY, EXCLUDE_MARKERS, HIDE_VALUES
from suspectra.causes.techniques import DEFAULT, TECHNIQUES
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
    written,
)
from suspectra.cli.rerun import (
    COMMAND,
    BeforeCommand,
    Interruption,
    RerunOptions,
    rerun_setup,
    suspicious_tests,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.causes.inquiry import CauseInquiry
    from suspectra.causes.judgements import Judgement
    from suspectra.causes.report import CauseState
    from suspectra.causes.several_failures import Failures
    from suspectra.evidence.evidence import Evidence
    from suspectra.evidence.sources import Sources
    from suspectra.experiments.repeated_tests import FailingTest
    from suspectra.output.time_bar import TimeBar

_WORTH_A_LINE = 0.7  # the share of nodes that are left at most if a step is shown
SAFETY = (EXCLUDE_MARKERS, COPY, HIDE_VALUES)
"""The options about what altered runs may do, and what is shown of them."""


def _judgements(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[Judgement, ...]:
    """What is right or wrong, by the name of the option."""
    from suspectra.causes.judgements import Judgement

    try:
        return tuple(Judgement.from_text(value, right=parameter.name == "right") for value in values)
    except ValueError as error:
        cause = (
            f"{str(error)!r} is not a file with a line, such as shop/cart.py:12, or shop/cart.py:12:3 the third time"
        )
        raise click.BadParameter(cause) from None


_PLACES: dict[str, Any] = {"metavar": "FILE:LINE[:TIME]", "multiple": True, "callback": _judgements}


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @seconds_option(CAUSES_SECONDS)
    @click.option("--technique", type=click.Choice(list(TECHNIQUES)), default=DEFAULT, show_default=True)
    @click.option("--right", **_PLACES, help="What this line did was right (repeatable).")
    @click.option("--wrong", **_PLACES, help="What this line did was wrong (repeatable).")
    @click.option("--ask", is_flag=True, help="Ask me whether states are right with which the test would pass.")
    @click.option("--format", "form", type=click.Choice(["text", "json", "svg"]), default="text", show_default=True)
    @click.option("--output", "-o", type=click.Path(path_type=Path), help="A file instead of the terminal.")
    @options(*map(declared, SAFETY))
    @click.argument("test", metavar="[TEST]", required=False)
    @click.pass_context
    def causes(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Search for the causes of the failure of TEST: run it again and again with other decisions and values.

        TEST is the name of a recorded test that fails, of its class or its file, or a glob; it is not needed if only
        one fails. If it fits several, each test is searched that no cause found before explains: where one is altered,
        the test still fails. So several faults are found one after the other. The command behind -- takes options of
        pytest, and no tests. Altered runs execute your test with wrong conditions and values: do this only with tests
        that can't do harm. When the search is interrupted, what is known is written. What you know of the run goes
        behind --right and --wrong, and helps more than anything else: a value that is right, or wrong.
        """
        return _causes(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    causes_seconds: float
    technique: str
    right: tuple[Judgement, ...]
    wrong: tuple[Judgement, ...]
    ask: bool
    form: str
    output: Path | None
    hide_values: bool
    test: str | None


def _causes(command: Sequence[str], chosen: _Options) -> int:
    from suspectra.causes.inquiry import CauseInquiry
    from suspectra.causes.several_failures import Failures
    from suspectra.evidence.discovery import find_source
    from suspectra.evidence.named_tests import one_failing_name
    from suspectra.evidence.sources import Sources
    from suspectra.output.causes import write_explained, write_json, write_text
    from suspectra.output.pictures.causes import cause_svg
    from suspectra.output.time_bar import TimeBar

    evidence = find_source(chosen["workspace"], edges=True).read()
    wanted = chosen["test"] or one_failing_name(evidence, None)
    tests, suspicion = suspicious_tests(evidence, chosen["workspace"], [wanted])
    shown = not chosen["hide_values"]
    setup = rerun_setup(command, chosen, values_shown=shown)

    judgements = (*chosen["right"], *chosen["wrong"])
    bar = TimeBar(sys.stderr, chosen["causes_seconds"])
    sources = Sources(chosen["workspace"])
    asking = partial(_ask, bar, sources) if chosen["ask"] else None

    def ask(test: FailingTest, seconds: float, known: Sequence[CauseState]) -> CauseInquiry:
        return CauseInquiry(
            setup, test, suspicion, chosen["technique"], known, seconds=seconds, judgements=judgements, ask=asking
        )

    failures = Failures(tests, ask, seconds=chosen["causes_seconds"])
    try:
        interrupted = _search(failures, bar)
    except EvidenceError:
        warn(failures.problems)  # what is left out may be the reason
        raise
    with written(chosen["output"]) as out:
        if chosen["form"] == "json":
            write_json(failures.to_json(), out)
        elif chosen["form"] == "svg":
            out.write(cause_svg(failures.reports, sources.line))
        else:
            _write_known_changes(chosen["workspace"], evidence, {test.name for test in tests}, out)
            for report in failures.reports:
                write_text(report, out, sources)
            write_explained(failures.explained, out)
    warn(failures.problems)
    found = any(report.roots for report in failures.reports)
    return INTERRUPTED if interrupted else 0 if found else NOTHING_TO_RANK


def _write_known_changes(workspace: Path, evidence: Evidence, names: Collection[str], out: TextIO) -> None:
    """Say which change is known to have broken the tests: it says more than any value."""
    from suspectra.changes.known_causes import known_causes
    from suspectra.output.terminal import safe

    for cause in known_causes(workspace, evidence.digests):
        if broken := [name.rpartition("::")[2] for name in cause.tests if name in names]:
            at = first_of([str(unit) for unit in cause.units])
            out.write(safe(f"Your change at {at} broke {first_of(broken)}: `suspectra changes` shows it.") + "\n\n")


def _ask(bar: TimeBar, sources: Sources, state: CauseState) -> bool | None:
    """Ask on the terminal whether a state is right."""
    from suspectra.output.causes import write_state

    with bar.aside():
        write_state(state, sys.stderr, sources)
        return answered("Is that right?")


def _search(failures: Failures, bar: TimeBar) -> bool:
    """Search as long as the user lets it go on; whether it was interrupted."""
    from suspectra.output.causes import write_narrowing
    from suspectra.output.terminal import safe

    with Interruption() as interruption, closing(failures.steps()) as steps, bar:
        shown, last, left = "" if len(failures.tests) > 1 else failures.tests[0].name, "", math.inf
        for step in steps:
            with bar.aside():
                if shown != failures.current:
                    shown, last, left = failures.current, "", math.inf
                    click.echo(f"{safe(shown)}:", err=True)
                # otherwise a cut more was altered in vain, or next to nothing is known in addition
                tells = step.left <= _WORTH_A_LINE * left or any(member.polluted for member in step.cut)
                if (str(step) != last or step.left < step.nodes) and tells:
                    write_narrowing(step, sys.stderr)
                    left = step.left
                last = str(step)
    return interruption.happened
