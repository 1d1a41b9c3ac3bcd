"""The command `slice`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.english import many
from suspectra.base.errors import Problem, UsageError
from suspectra.base.options import COPY, EXCLUDE_MARKERS, HIDE_VALUES
from suspectra.cli.console import (
    INTERRUPTED,
    NOTHING_TO_RANK,
    declared,
    located,
    options,
    parse_location,
    python_option,
    recorded_workspace_option,
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

    from suspectra.dependences.slices import Slice
    from suspectra.dependences.trace import DependenceTrace
    from suspectra.experiments.trace_inquiry import TraceInquiry
    from suspectra.output.slices import LineOf

_FileLine = tuple[str, int]


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command("slice", cls=BeforeCommand)
    @recorded_workspace_option
    @python_option
    @click.option("--failure", is_flag=True, help="What led to the failure; with FILE:LINE, what lies between.")
    @click.option("--forward", is_flag=True, help="What the line influenced, and not what led to it.")
    @click.option("--to", "target", metavar="FILE:LINE", help="Only what lies between the line and this one.")
    @click.option("--test", "tests", multiple=True, metavar="NAME", help="A failing test, or a glob.  [default: all]")
    @click.option("--format", "form", type=click.Choice(["tree", "json", "svg"]), default="tree", show_default=True)
    @click.option("--output", "-o", type=click.Path(path_type=Path), help="A file instead of the terminal.")
    @click.option("--top", type=click.IntRange(min=1), help="How many steps.  [default: 40; json 1,000; svg 14]")
    @options(*map(declared, (EXCLUDE_MARKERS, COPY, HIDE_VALUES)))
    @click.argument("place", required=False, metavar="[TEST | FILE:LINE]")
    @click.pass_context
    def slice_(context: click.Context, **chosen: Unpack[_Options]) -> int:
        """Show which values and decisions led to a failure, or to a line, in one run of a failing test.

        TEST is any part of a failing test's name that only this one has: what led to its failure, as with --failure; it
        is not needed if only one fails. FILE:LINE is a line of the program: what led to the values there, or with
        --forward what they influenced. With --failure everything starts at the place where the test fails; with both,
        the slice is what lies between the line and the failure. The rounds of a loop are one line, with their count.
        The tests are run again, traced, with nothing altered. What failures depend on is kept for `suspectra rank
        --technique slice`.
        """
        return _slice(context.meta[COMMAND], chosen)


class _Options(RerunOptions):
    failure: bool
    forward: bool
    target: str | None
    tests: tuple[str, ...]
    form: str
    output: Path | None
    top: int | None
    hide_values: bool
    place: str | None


def _slice(command: Sequence[str], chosen: _Options) -> int:
    if chosen["place"] and not chosen["place"].rpartition(":")[2].isdecimal():  # the name of a test
        chosen["tests"], chosen["place"] = (*chosen["tests"], chosen["place"]), None
        chosen["failure"] = True
    place = parse_location(chosen["workspace"], chosen["place"]) if chosen["place"] else None
    target = parse_location(chosen["workspace"], chosen["target"]) if chosen["target"] else None
    if place is None and (chosen["forward"] or target):
        raise click.UsageError("Name a line as FILE:LINE: --forward and --to start there.")
    if target and (chosen["failure"] or chosen["forward"]):
        raise click.UsageError("--to already says where the slice ends.")

    from suspectra.evidence.discovery import find_source
    from suspectra.evidence.named_tests import one_failing_name
    from suspectra.experiments.trace_inquiry import TraceInquiry

    evidence = find_source(chosen["workspace"], edges=True).read()
    place, target = (one and located(evidence, one) for one in (place, target))
    if place is None and not chosen["failure"] and not chosen["tests"]:
        chosen["tests"] = (one_failing_name(evidence, None),)
    tests, suspicion = suspicious_tests(evidence, chosen["workspace"], chosen["tests"])
    traces = TraceInquiry(rerun_setup(command, chosen, values_shown=not chosen["hide_values"]), tests, suspicion)
    found: Slice | None = None
    with Interruption() as interruption, closing(traces.steps()) as made:
        for trace in made:
            found = found or _found(trace, place, target, chosen)
            if found is not None and place is not None:
                break  # without a line, the slices of all failures are kept
    warn(traces.problems)
    if interruption.happened and found is None:
        cause = f"interrupted after {many(traces.made, 'traced test')}, so there is nothing to show"
        warn([Problem("", "", cause, "")])
    if found is not None:
        _write(found, place, target, chosen)
    elif not interruption.happened:
        return _nothing(place, traces)
    return INTERRUPTED if interruption.happened else 0


def _found(trace: DependenceTrace, place: _FileLine | None, target: _FileLine | None, chosen: _Options) -> Slice | None:
    """The slice that is asked for; None where the run did not come to these lines, or nothing joins them."""
    from suspectra.dependences.slices import backward, chop, forward, nodes_at

    if place is None:
        return backward(trace)
    begins = nodes_at(trace, *place).tolist()
    if not begins:
        return None
    if target is None and not chosen["failure"]:
        return forward(trace, begins) if chosen["forward"] else backward(trace, begins)
    ends = [trace.failure] if target is None else nodes_at(trace, *target).tolist()
    found = chop(trace, begins, ends)
    return found if len(found) else None


def _nothing(place: _FileLine | None, traces: TraceInquiry) -> int:
    if place is None or not traces.made:
        return NOTHING_TO_RANK
    file, line = place
    cause = "no traced test computes anything there, or nothing joins it with the other place"
    cure = "name a line that a failing test executes"
    raise UsageError(Problem(file, f"line {line}", cause, cure))


def _write(found: Slice, place: _FileLine | None, target: _FileLine | None, chosen: _Options) -> None:
    from suspectra.evidence.sources import Sources
    from suspectra.output.pictures.slice import slice_svg
    from suspectra.output.slices import write_slice, write_slice_json

    line_of: LineOf = Sources(chosen["workspace"]).line
    top = chosen["top"] or {"tree": 40, "json": 1_000, "svg": 14}[chosen["form"]]
    with written(chosen["output"]) as out:
        if chosen["form"] == "json":
            write_slice_json(found, top, out)
        elif chosen["form"] == "svg":
            out.write(slice_svg(found, line_of, top))
        else:
            write_slice(found, _heading(found, place, target, chosen), line_of, top, out)


def _heading(found: Slice, place: _FileLine | None, target: _FileLine | None, chosen: _Options) -> str:
    def named(where: _FileLine) -> str:
        return f"{where[0]}:{where[1]}"

    test = found.trace.test
    if place is None:
        return f"What led to the failure of {test}"
    if target is not None or chosen["failure"]:
        end = "the failure" if target is None else named(target)
        return f"How {named(place)} influenced {end}, in {test}"
    if chosen["forward"]:
        return f"What {named(place)} influenced, in {test}"
    return f"What led to {named(place)}, in {test}"
