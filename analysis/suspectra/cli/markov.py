"""The command `markov`. Heavy modules are imported inside functions, since help loads them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.errors import NothingToRank, Problem, UsageError
from suspectra.base.options import CALLS, CONTROL_FLOW, P_JUMP, SAME_FUNCTION
from suspectra.cli.console import declared, located, options, parse_location, warn, written
from suspectra.cli.localization import evidence_options, localize, technique_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.cli.localization import RankingOptions
    from suspectra.evidence.sources import Sources
    from suspectra.markov.debugging_model import DebuggingModel
    from suspectra.output.moves import ExpectedSteps
    from suspectra.report import RankedReport

_PATH = click.Path(path_type=Path)


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command()
    @evidence_options
    @technique_options
    @click.argument("where", metavar="[FILE:LINE]", required=False)
    @click.option(
        "--plan", "planned", is_flag=True, help="List the order of places that leads to the fault in the fewest steps."
    )
    @click.option("--svg", type=_PATH, help="Also draw the Markov chain around that line.")
    @options(*map(declared, (P_JUMP, SAME_FUNCTION, CONTROL_FLOW, CALLS)))
    @click.option(
        "--estimate", is_flag=True, help="Estimate expected steps by random walks instead of computing them exactly."
    )
    @click.option("--seed", type=click.IntRange(min=0), default=0, help="The seed of the random walks.")
    @click.option(
        "--max-steps",
        type=click.IntRange(min=1),
        default=20_000,
        show_default=True,
        help="The length of each of the 500 walks.",
    )
    @click.option(
        "--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many locations to list."
    )
    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
    @click.option("-o", "--output", type=_PATH, help="Write to a file instead of stdout.")
    def markov(
        workspace: Path,
        where: str | None,
        planned: bool,
        svg: Path | None,
        p_jump: float,
        same_function: float,
        control_flow: float,
        calls: float,
        estimate: bool,
        seed: int,
        max_steps: int,
        top: int,
        form: str,
        output: Path | None,
        **chosen: Unpack[RankingOptions],
    ) -> None:
        """Show where to look next from a line, by the Markov debugging model.

        Without a line, list the statements that a reader of the ranking reaches soonest, for each failure group.
        """
        if svg is not None and where is None:
            raise click.UsageError("--svg draws the chain around a line, so it needs FILE:LINE.")
        place = parse_location(workspace, where) if where else None
        localized = localize(workspace, groups=True, **chosen)

        from suspectra.evidence.sources import Sources
        from suspectra.markov.debugging_model import DebuggingModel
        from suspectra.markov.jumps import JumpModel
        from suspectra.output.moves import ModelOfGroup, write_json, write_moves, write_plan, write_steps

        jumps = JumpModel(p_jump, same_function, control_flow, calls)
        element = _element(localized.report, *located(localized.evidence, place)) if place else None
        own = localized.group_of(element) if element is not None else None
        ranked = localized.groups if element is None and len(localized.groups) > 1 else (own,)
        walks = (seed, max_steps) if estimate else None
        models = []
        for group in ranked:
            report = group.report if group is not None else localized.report
            model = DebuggingModel.from_report(report, localized.program, jumps)
            steps = _steps(model, walks, needed=element is None and not planned)
            models.append(ModelOfGroup(group.heading if group is not None else "", model, steps))
        sources = Sources(workspace, localized.evidence.files)
        with written(output) as out:
            if form == "json":
                write_json(models, element, top, out, planned=planned)
            elif planned:
                write_plan(models, element, top, out, sources)
            elif element is None:
                write_steps(models, top, out, sources)
            else:
                write_moves(models[0], element, top, out, sources)
        model = models[0].model
        if svg is not None and element is not None:
            _draw(model, element, svg, sources)
        warn(localized.problems)


def _element(report: RankedReport, file: str, line: int) -> int:
    element = report.spectrum.elements.at(file, line)
    if element is None:
        cure = "name a line of a file that was measured, as `suspectra rank` prints it"
        raise UsageError(Problem(file, f"line {line}", "there is no statement on it", cure))
    return element


def _steps(model: DebuggingModel, walks: tuple[int, int] | None, needed: bool) -> ExpectedSteps:
    """The expected steps, exact or estimated by walks (seed, length). Infinite if they fail and are not `needed`."""
    import numpy as np

    from suspectra.markov.sampling import sample_hitting_times
    from suspectra.output.moves import ExpectedSteps

    try:
        if walks is None:
            return ExpectedSteps.exact(model)
        seed, max_steps = walks
        if not sys.stderr.isatty():
            return ExpectedSteps.estimated(model, sample_hitting_times(model.chain, seed, max_steps=max_steps))
        with click.progressbar(length=1000, label="Walking", file=sys.stderr) as bar:
            sampled = sample_hitting_times(
                model.chain, seed, max_steps=max_steps, progress=lambda done: bar.update(int(1000 * done) - bar.pos)
            )
        return ExpectedSteps.estimated(model, sampled)
    except UsageError as error:
        if needed:
            raise
        warn([error.problem])
        nowhere = np.full(len(model.report.spectrum.elements), np.inf)
        return ExpectedSteps(nowhere, nowhere)


def _draw(model: DebuggingModel, element: int, svg: Path, sources: Sources) -> None:
    from suspectra.output.pictures.chain import Picture

    elements = model.report.spectrum.elements

    def source(element: int) -> str:
        return sources.line(elements.files[elements.file[element]], int(elements.line[element]))

    try:
        picture = Picture.around(model, element, source=source)
    except KeyError:
        where = elements.location(element)
        cause, cure = "the ranking does not contain it, so it is not in the chain", "name a line that is ranked"
        raise NothingToRank(Problem(where.file, f"line {where.line}", cause, cure)) from None
    with written(svg) as out:
        out.write(picture.svg() + "\n")
