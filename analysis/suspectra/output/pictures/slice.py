"""A picture of how a failure came about: steps of a slice as boxes with values, from causes down to the failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from suspectra.base.english import ordinal
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.shown_links import Direction
from suspectra.dependences.slice_tree import SliceBranch, slice_tree
from suspectra.dependences.slices import Slice
from suspectra.output.terminal import fit, safe

if TYPE_CHECKING:
    from suspectra.output.slices import LineOf

WIDE, HIGH = 238, 62
"""The size of a box, in pixels."""

SPACE, GAP = 26, 46
"""Between the boxes of a row, and between rows."""

MARGIN, _LEGEND = 18, 34
_ROW = 4  # boxes in a row at most
_PLACE_CHARACTERS, _SOURCE_CHARACTERS, _VALUE_CHARACTERS = 33, 36, 34
_WORDS = {
    DependenceKind.FLOW: "reads its value",
    DependenceKind.CONTROL: "is executed because of it",
    DependenceKind.SUMMARY: "would read another value with the other outcome",
    DependenceKind.CHANGE: "may have been changed after it",
}

STYLE = """
.suspectra-slice { --i: var(--slice-ink, #1d232b); --s: var(--slice-soft, #55606d); --p: var(--slice-paper, #ffffff);
  --l: var(--slice-line, #7d8894); --a: var(--slice-accent, #2457c5); --f: var(--slice-failure, #b3261e);
  font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { .suspectra-slice {
  --i: var(--slice-ink, #e3e7ec); --s: var(--slice-soft, #a3aebb); --p: var(--slice-paper, #171b21);
  --l: var(--slice-line, #7a8696); --a: var(--slice-accent, #8ab0ff); --f: var(--slice-failure, #ff9c94); } }
.suspectra-slice text { fill: var(--i); }
.suspectra-slice .ground { fill: var(--p); }
.suspectra-slice .box { fill: var(--p); stroke: var(--l); stroke-width: 1.2; }
.suspectra-slice .end .box { stroke: var(--f); stroke-width: 2.6; }
.suspectra-slice .test .box { stroke-dasharray: 4 3; }
.suspectra-slice .place { font-weight: 600; }
.suspectra-slice .source, .suspectra-slice .legend { fill: var(--s); font-size: 11px; }
.suspectra-slice .source, .suspectra-slice .value {
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.suspectra-slice .value { fill: var(--a); font-size: 11.5px; font-weight: 600; }
.suspectra-slice .way { fill: none; stroke: var(--s); stroke-width: 1.5; }
.suspectra-slice .control { stroke-dasharray: 7 4; }
.suspectra-slice .summary, .suspectra-slice .change { stroke-dasharray: 1.5 4; stroke-linecap: round; stroke-width: 2; }
.suspectra-slice .head { fill: var(--s); }
"""


@dataclass(frozen=True)
class _Box:
    branch: SliceBranch
    level: int
    x: float
    y: float


def slice_svg(found: Slice, line_of: LineOf, limit: int = 14) -> str:
    """Draw the steps of a slice that are nearest to its roots.

    SVG text; self-contained. Dependences differ by the kind of their lines, not only by colour.
    """
    rows = list(_rows(found, limit))
    boxes = _placed(rows, found.direction)
    edges = list(_edges(boxes, found))
    width = max([box.x for box in boxes], default=0) + WIDE + MARGIN
    width = max(width, 2 * MARGIN + 640)
    height = max([box.y for box in boxes], default=0) + HIGH + MARGIN + _LEGEND
    parts = [
        *[_arrow(*edge) for edge in edges],
        *[_drawn(box, found, line_of) for box in boxes],
        *_legend(height - _LEGEND + 8, {kind for _, _, kind in edges}),
    ]
    return picture(_title(found), width, height, parts)


def picture(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Put boxes and arrows into a picture."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="suspectra-slice" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="slice-title">',
        f'<title id="slice-title">{escape(title)}</title>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="slice-head" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse"'
        ' markerWidth="10" markerHeight="10"'
        ' orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def box_of(
    at: tuple[float, float], place: str, instance: int, source: str, value: str, classes: str = "step", rounds: int = 1
) -> str:
    """Draw a state of a run, or of some rounds of a loop: where it is, its source and its value."""
    x, y = at
    times = f"  the {ordinal(instance)} time" if instance > 1 else "" if instance else "  at import"
    if rounds > 1:
        times = f"  {rounds} times"
    shown = fit(safe(place), _PLACE_CHARACTERS - len(times), keep_end=True) + times
    tip = f"{place}: {source}" + (f" → {safe(value)}" if value else "")
    lines = [
        f'<text class="place" x="{x + 10:.0f}" y="{y + 19:.0f}">{escape(shown)}</text>',
        f'<text class="source" x="{x + 10:.0f}" y="{y + 36:.0f}">{escape(fit(source, _SOURCE_CHARACTERS - 4))}</text>',
    ]
    if value:
        text = escape(fit(safe(value), _VALUE_CHARACTERS - 4))
        lines.append(f'<text class="value" x="{x + 10:.0f}" y="{y + 53:.0f}">→ {text}</text>')
    rectangle = f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{WIDE}" height="{HIGH}" rx="7"/>'
    return f'<g class="{classes}"><title>{escape(tip)}</title>{rectangle}{"".join(lines)}</g>'


def _title(found: Slice) -> str:
    what = "What led to this" if found.direction is Direction.BACKWARD else "What this influenced"
    return f"{what}: {safe(found.trace.test)}"


def _rows(found: Slice, limit: int) -> Iterator[list[SliceBranch]]:
    """The steps by their distance from the roots, as far as they fit."""
    level: Sequence[SliceBranch] = slice_tree(found, 4 * limit).roots
    left = limit
    while level and left > 0:
        row = list(level[: min(_ROW, left)])
        left -= len(row)
        yield row
        level = [inner for branch in row for inner in branch.branches]


def _edges(boxes: Sequence[_Box], found: Slice) -> Iterator[tuple[_Box, _Box, DependenceKind]]:
    """The branches of the tree, and values that are read besides: other decisions are above these already."""
    at = {step.node: box for box in boxes for step in box.branch.steps}
    drawn: set[tuple[int, int]] = set()
    for box in boxes:
        near = [(inner.step.node, inner.why) for inner in box.branch.branches if inner.why is not None]
        after = [one for step in box.branch.steps for one in found.links.after(step.node)]
        for other, kind in [*near, *((node, kind) for node, kind in after if kind is DependenceKind.FLOW)]:
            following = at.get(other, box)
            ends = (id(box), id(following))
            if following is not box and ends not in drawn:
                drawn.add(ends)
                yield (following, box, kind) if found.direction is Direction.BACKWARD else (box, following, kind)


def _placed(rows: Sequence[Sequence[SliceBranch]], direction: Direction) -> list[_Box]:
    """The roots of a backward slice are at the bottom, those of a forward slice at the top."""
    widest = max(map(len, rows), default=0)
    boxes = []
    for level, row in enumerate(rows):
        at = len(rows) - 1 - level if direction is Direction.BACKWARD else level
        begin = MARGIN + (widest - len(row)) * (WIDE + SPACE) / 2
        for number, branch in enumerate(sorted(row, key=lambda branch: branch.step.node)):
            boxes.append(_Box(branch, level, begin + number * (WIDE + SPACE), MARGIN + at * (HIGH + GAP)))
    return boxes


def _drawn(box: _Box, found: Slice, line_of: LineOf) -> str:
    branch, step = box.branch, box.branch.step
    classes = " ".join(["step", *(["end"] if step.node in found.roots else []), *(["test"] if step.is_test else [])])
    source = safe(step.operand or line_of(step.file, step.line).strip())
    value = ", ".join(branch.results)
    return box_of((box.x, box.y), step.place, step.instance, source, value, classes, len(branch.steps))


def _arrow(source: _Box, target: _Box, kind: DependenceKind) -> str:
    x1, x2 = source.x + WIDE / 2, target.x + WIDE / 2
    if source.y < target.y:
        y1, y2 = source.y + HIGH, target.y - 2
        bend = min((y2 - y1) / 2, GAP)
        way = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
    elif source.y == target.y:
        right = source.x < target.x
        x1, x2 = (source.x + WIDE, target.x - 2) if right else (source.x, target.x + WIDE + 2)
        y, drop = source.y + HIGH / 2, 0 if abs(source.x - target.x) <= WIDE + SPACE else HIGH / 2 + 16
        way = f"M{x1:.0f} {y:.0f}C{x1:.0f} {y + drop:.0f} {x2:.0f} {y + drop:.0f} {x2:.0f} {y:.0f}"
    else:
        y1, y2 = source.y, target.y + HIGH + 2
        way = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 - GAP:.0f} {x2:.0f} {y2 + GAP:.0f} {x2:.0f} {y2:.0f}"
    return f'<path class="way {kind.name.lower()}" d="{way}" marker-end="url(#slice-head)"/>'


def _legend(y: float, kinds: set[DependenceKind]) -> Iterator[str]:
    x = float(MARGIN)
    for kind in sorted(kinds):
        yield (
            f'<path class="way {kind.name.lower()}" d="M{x:.0f} {y:.0f}h34" marker-end="url(#slice-head)"/>'
            f'<text class="legend" x="{x + 42:.0f}" y="{y + 4:.0f}">{_WORDS[kind]}</text>'
        )
        x += 42 + 6.4 * len(_WORDS[kind]) + 24
