"""Writing the debugging model: the next moves from a statement, and suspects by expected steps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO, TypedDict

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.evidence.sources import Sources
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.move import NEXT
from suspectra.markov.reading_plan import ReadingPlan
from suspectra.markov.sampling import SampledHittingTimes
from suspectra.output.pictures.chain import Picture, chance
from suspectra.output.terminal import Style, fit, pad, safe, terminal_width, width, wrapped

_GAP = "  "
_COMES_BACK = (
    "Whoever jumps to a statement goes back to the ranking where that statement is, so places far down can come soon."
    " For an order to read in, take --plan."
)


@dataclass(frozen=True, eq=False)
class ExpectedSteps:
    """Expected steps from the top of the ranking, exact or estimated; infinite for elements not in the chain."""

    # expected steps, and HT_Rank; shape (elements,)
    steps: Floats
    rank: Floats
    # the confidence interval of an estimate; shape (elements,)
    low: Floats | None = None
    high: Floats | None = None

    @classmethod
    def exact(cls, model: DebuggingModel) -> ExpectedSteps:
        """Compute the exact steps."""
        return cls(model.expected_steps, model.ht_rank)

    @classmethod
    def estimated(cls, model: DebuggingModel, sampled: SampledHittingTimes) -> ExpectedSteps:
        """Take the steps that random walks estimated."""

        def by_element(values: Floats) -> Floats:
            spread = np.full(len(model.report.spectrum.elements), np.inf)
            spread[model.elements] = values
            return spread

        return cls(*(by_element(values) for values in (sampled.steps, sampled.rank, sampled.low, sampled.high)))


@dataclass(frozen=True, eq=False)
class ModelOfGroup:
    """The debugging model of a failure group."""

    heading: str  # empty if there is only one, or the group does not matter
    model: DebuggingModel
    steps: ExpectedSteps


class _Interval(TypedDict, total=False):
    low: float | None
    high: float | None


class MoveEntry(_Interval):
    """A statement with the field names of the JSON output; None stands for infinitely many steps, and for no rank.

    `low` and `high` are the confidence interval of an estimate.
    """

    file: str
    line: int
    end_line: int
    function: str
    rank_best: int | None
    rank_worst: int | None
    expected_steps: float | None
    ht_rank: float | None


def entry(model: DebuggingModel, element: int, steps: ExpectedSteps) -> MoveEntry:
    """Make the JSON entry of a statement."""
    report = model.report
    where, ranked = report.spectrum.elements.location(element), report.level[element] >= 0
    suspect = report.suspect_of(element) if ranked else None
    found: MoveEntry = {
        "file": where.file,
        "line": where.line,
        "end_line": where.end_line,
        "function": report.spectrum.elements.function_name(element),
        "rank_best": suspect.rank_best if suspect else None,
        "rank_worst": suspect.rank_worst if suspect else None,
        "expected_steps": _finite(steps.steps[element]),
        "ht_rank": _finite(steps.rank[element]),
    }
    if steps.low is not None and steps.high is not None:
        found["low"], found["high"] = _finite(steps.low[element]), _finite(steps.high[element])
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def write_moves(group: ModelOfGroup, element: int, top: int, out: TextIO, sources: Sources) -> None:
    """Write the next moves from a statement as a table."""
    model, steps = group.model, group.steps
    _write_place(group, element, out, sources)
    rows = []
    for move in model.next_moves(element, top):
        target = entry(model, move.element, steps)
        rows.append((chance(move.probability), _place(target), ", ".join(move.reasons), _source(target, sources)))
    if rows:
        _write_table(("Chance", "Next", "Because", "Source"), rows, out, right={0})
    else:
        out.write("There is nowhere to go from here.\n")


def write_plan(groups: Sequence[ModelOfGroup], element: int | None, top: int, out: TextIO, sources: Sources) -> None:
    """Write the order of places that leads to the fault in the fewest steps, for each failure group."""
    for number, group in enumerate(groups):
        model = group.model
        if element is not None:
            _write_place(group, element, out, sources)
        else:
            _write_heading(group, number, out)
        plan = model.plan(element)
        if not len(plan.order):
            out.write("There is nowhere to go from here.\n")
            continue
        rows = [
            (str(steps), _place(target), ", ".join(reasons), _source(target, sources))
            for target, steps, reasons in _planned(group, plan, element, top)
        ]
        _write_table(("Steps", "Next", "Because", "Source"), rows, out, right={0})
        out.writelines(f"{line}\n" for line in ["", *wrapped(plan.words, out)])


def write_steps(groups: Sequence[ModelOfGroup], top: int, out: TextIO, sources: Sources) -> None:
    """Write the statements with the fewest expected steps as a table, for each failure group."""
    for number, group in enumerate(groups):
        model, steps = group.model, group.steps
        _write_heading(group, number, out)
        rows, ranks = [], []
        for element in _soonest(model, steps, top):
            own = entry(model, element, steps)
            ranks.append(own["rank_best"] or 0)
            rank = f"{own['rank_best']}" + (f"–{own['rank_worst']}" if own["rank_worst"] != own["rank_best"] else "")
            rows.append((f"{own['ht_rank']:g}", _number(own), rank, _place(own), _source(own, sources)))
        _write_table(("HT_Rank", "Steps", "Rank", "Location", "Source"), rows, out, right={0, 1, 2})
        known = f"from {model.chain.first_hub} states, p_jump {model.jumps.p_jump:g}"
        summary = f"{len(rows)} of {len(model.elements)} statements, by {model.report.technique.info.title}, {known}"
        far_first = ranks != sorted(ranks) and not model.chain.subgraphs
        note = wrapped(_COMES_BACK, out) if far_first else []
        out.writelines(f"{line}\n" for line in ["", *wrapped(summary, out), *note])


def _write_heading(group: ModelOfGroup, number: int, out: TextIO) -> None:
    if group.heading:
        out.write(("\n" if number else "") + Style(out)(safe(group.heading), "bold") + "\n")


def _write_place(group: ModelOfGroup, element: int, out: TextIO, sources: Sources) -> None:
    own = entry(group.model, element, group.steps)
    where = _place(own) + (f" in {own['function']}" if own["function"] else "")
    out.write(f"{Style(out)(safe(where), 'bold')}\n    {_source(own, sources)}\n\n")
    if own["rank_best"] is None:
        out.write("It is not ranked.\n\n")


def _place(own: MoveEntry) -> str:
    return f"{own['file']}:{own['line']}"


def _source(own: MoveEntry, sources: Sources) -> str:
    return safe(sources.line(own["file"], own["line"]).strip())


def _planned(
    group: ModelOfGroup, plan: ReadingPlan, element: int | None, top: int
) -> list[tuple[MoveEntry, int, tuple[str, ...]]]:
    """The first places of a plan, with the steps to each, and why it comes after the one before."""
    found = []
    for to, steps in zip(plan.order[:top].tolist(), plan.steps.tolist(), strict=False):
        reasons = (NEXT,) if element is None else group.model.reasons(element, to)
        found.append((entry(group.model, to, group.steps), steps, reasons))
        element = to
    return found


def write_json(
    groups: Sequence[ModelOfGroup], element: int | None, top: int, out: TextIO, *, planned: bool = False
) -> None:
    """Write moves, steps or the plan as one JSON object; an infinite number of steps is null.

    Of several failure groups the first, and all of them as `groups`.
    """
    first, jumps = groups[0].model, groups[0].model.jumps
    answer: dict[str, object] = {
        "technique": first.report.technique.name,
        "p_jump": jumps.p_jump,
        "weights": {name: getattr(jumps, name) for name in ("same_function", "control_flow", "calls")},
        **_found(groups[0], element, top, planned=planned),
    }
    if len(groups) > 1:
        answer["groups"] = [{"heading": one.heading, **_found(one, element, top, planned=planned)} for one in groups]
    json.dump(answer, out, indent=1, allow_nan=False)
    out.write("\n")


def _found(group: ModelOfGroup, element: int | None, top: int, *, planned: bool) -> dict[str, object]:
    model, steps = group.model, group.steps
    answer: dict[str, object] = {} if element is None else {"around": entry(model, element, steps)}
    if planned:
        plan = model.plan(element)
        answer["plan"] = [
            {**target, "steps": move, "reasons": list(reasons)}
            for target, move, reasons in _planned(group, plan, element, top)
        ]
        answer |= {"plan_steps": plan.expected, "ranking_steps": plan.by_ranking.expected}
    elif element is None:
        answer["suspects"] = [entry(model, one, steps) for one in _soonest(model, steps, top)]
    else:
        answer["moves"] = [
            {
                **entry(model, move.element, steps),
                "probability": move.probability,
                "reasons": list(move.reasons),
            }
            for move in model.next_moves(element, top)
        ]
        answer["chain"] = _chain(model, element)
    return answer


def _chain(model: DebuggingModel, element: int) -> dict[str, object] | None:
    try:
        picture = Picture.around(model, element)
    except KeyError:
        return None
    return {
        "nodes": [{"id": node.state, "kind": node.kind, "label": node.label} for node in picture.nodes],
        "edges": [{**vars(edge), "reasons": list(edge.reasons)} for edge in picture.edges],
    }


def _soonest(model: DebuggingModel, steps: ExpectedSteps, top: int) -> list[int]:
    """The elements with the fewest steps, ties in the order of the ranking."""
    level = model.report.level[model.elements]
    soonest: list[int] = model.elements[np.lexsort((level, steps.rank[model.elements]))[:top]].tolist()
    return soonest


def _number(own: MoveEntry) -> str:
    if own["expected_steps"] is None:
        return "∞"
    text = f"{own['expected_steps']:.5g}"
    if own.get("low") is None:
        return text
    return f"{text} ({own['low']:.4g}–{own['high']:.4g})" if own["high"] is not None else f"> {own['low']:.4g}"


def _write_table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]], out: TextIO, right: set[int]) -> None:
    """Write a table. Columns are as wide as needed; the last one gets the rest of the line."""
    style = Style(out)
    widths = [max(map(width, column)) for column in zip(headings, *rows, strict=True)]
    widths[-1] = max(len(headings[-1]), terminal_width(out) - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1))
    for i, row in enumerate([headings, *rows]):
        cells = [pad(fit(safe(cell), widths[k]), widths[k], right=k in right) for k, cell in enumerate(row)]
        line = _GAP.join(cells).rstrip()
        out.write((style(line, "bold") if i == 0 else line) + "\n")
