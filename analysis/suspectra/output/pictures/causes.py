"""A picture of causes: from each root cause down to the failure, states of the run as boxes with their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suspectra.causes.report import CauseReport, CauseState
from suspectra.output.pictures.slice import GAP, HIGH, MARGIN, SPACE, WIDE, box_of, picture
from suspectra.output.slices import LineOf
from suspectra.output.terminal import safe

_MAX_STATES = 12  # of a chain; of a longer one those next to its ends are drawn


def cause_svg(reports: Sequence[CauseReport], line_of: LineOf) -> str:
    """Draw how causes led to failures."""
    known = [report for report in reports if report.roots]
    rows = max((len(_shown(report)) for report in known), default=0)
    width = 2 * MARGIN + max(len(known), 1) * (WIDE + SPACE) - SPACE
    height = 2 * MARGIN + max(rows, 1) * (HIGH + GAP) - GAP
    title = "How causes led to failures: " + ", ".join(safe(report.test) for report in known)
    parts = [
        part
        for number, report in enumerate(known)
        for part in _column(report, MARGIN + number * (WIDE + SPACE), rows, line_of)
    ]
    return picture(title, width, height, parts)


def _shown(report: CauseReport) -> list[CauseState | int]:
    """The states of the chain, and how many are left out between them."""
    chain: list[CauseState | int] = list(report.chain or report.roots[:1])
    if len(chain) <= _MAX_STATES:
        return chain
    half = _MAX_STATES // 2
    return [*chain[:half], len(chain) - 2 * half, *chain[-half:]]


def _column(report: CauseReport, x: float, rows: int, line_of: LineOf) -> Iterator[str]:
    """The boxes of a chain, one below the other; the failures of all columns are in the last row."""
    shown = _shown(report)
    first = rows - len(shown)
    for number, state in enumerate(shown):
        y = MARGIN + (first + number) * (HIGH + GAP)
        middle = x + WIDE / 2
        if number:
            yield (
                f'<path class="way flow" d="M{middle:.0f} {y - GAP:.0f}V{y - 2:.0f}" marker-end="url(#slice-head)"/>'
            )
        if isinstance(state, int):
            at = f'x="{middle:.0f}" y="{y + HIGH / 2:.0f}"'
            yield f'<text class="legend" {at} text-anchor="middle">{state} more</text>'
            continue
        source = safe(state.operand or line_of(state.file, state.line).strip())
        classes = "step end" if number == len(shown) - 1 else "step"
        yield box_of((x, y), f"{state.file}:{state.line}", state.instance, source, state.value, classes)
