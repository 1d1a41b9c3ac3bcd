"""A picture of the debugging model around one statement: the next moves of a reader, and the moves after these.

The columns from left to right are other statements of the ranking, ranks, the statement, and its neighbours. The arrows
are the moves from the statement, and those between its rank and the states around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from suspectra.output.terminal import fit, safe

if TYPE_CHECKING:
    from suspectra.markov.debugging_model import DebuggingModel
    from suspectra.markov.neighbourhood import ModelNode

_NOT_IN_XML = re.compile("[\ufffe\uffff]")
_WIDE, _HIGH = 220, 50  # size of a statement's box
_PLACE_WIDE, _PLACE_HIGH = 132, 34
_GAPS = 86, 118, 190  # between the four columns
_SPACE = 18  # between the boxes of a column
_MARGIN = 16
_LABEL_CHARACTERS, _SOURCE_CHARACTERS = 29, 31
LEFT, PLACES, CENTRE, RIGHT = range(4)

STYLE = """
.suspectra-chain { --i: var(--chain-ink, #1d232b); --s: var(--chain-soft, #5a6572); --p: var(--chain-paper, #ffffff);
  --l: var(--chain-line, #c9d0d8); --a: var(--chain-accent, #2457c5);
  font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { .suspectra-chain {
  --i: var(--chain-ink, #e3e7ec); --s: var(--chain-soft, #98a3b0);
  --p: var(--chain-paper, #171b21); --l: var(--chain-line, #465160); --a: var(--chain-accent, #8ab0ff); } }
.suspectra-chain text { fill: var(--i); }
.suspectra-chain .ground { fill: var(--p); }
.suspectra-chain .box { fill: var(--p); stroke: var(--l); stroke-width: 1.2; }
.suspectra-chain .centre .box { stroke: var(--a); stroke-width: 2.4; }
.suspectra-chain .place .box, .suspectra-chain .subgraph .box { stroke-dasharray: 4 3; }
.suspectra-chain .name { font-weight: 600; }
.suspectra-chain .source, .suspectra-chain .why, .suspectra-chain .rest { fill: var(--s); font-size: 11px; }
.suspectra-chain .source { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.suspectra-chain .move { fill: none; stroke: var(--s); stroke-opacity: .65; }
.suspectra-chain .jump { stroke: var(--a); stroke-opacity: .8; }
.suspectra-chain .head { fill: var(--s); } .suspectra-chain .jump-head { fill: var(--a); }
.suspectra-chain .chance { font-size: 11.5px; font-weight: 600; font-variant-numeric: tabular-nums; }
.suspectra-chain .chance, .suspectra-chain .why { paint-order: stroke; stroke: var(--p); stroke-width: 4px;
  stroke-linejoin: round; }
"""


@dataclass(frozen=True)
class PictureNode:
    """A state to draw."""

    state: int  # the state of the chain
    kind: str  # `location`, `place` or `subgraph`
    label: str  # one line of text
    source: str = ""  # the line of source of a location, else empty
    element: int | None = None  # the element of a location


@dataclass(frozen=True)
class PictureEdge:
    """A transition between two states of a picture."""

    # indices of nodes
    source: int
    target: int
    probability: float  # the probability of this transition
    reasons: tuple[str, ...] = ()  # what connects the two, if both are statements


@dataclass(frozen=True)
class Picture:
    """A picture of a part of a chain."""

    nodes: tuple[PictureNode, ...]  # the first one is the current statement
    edges: tuple[PictureEdge, ...]  # the transitions between these nodes

    @classmethod
    def around(
        cls,
        model: DebuggingModel,
        element: int,
        label: Callable[[int], str] | None = None,
        source: Callable[[int], str] = lambda element: "",
        limit: int = 8,
    ) -> Picture:
        """Make the picture around an element.

        Raises KeyError when the element is not a candidate, in no subgraph, or excluded.
        """
        around = model.neighbourhood(element, limit)
        elements = model.report.spectrum.elements

        def name(element: int) -> str:
            where = elements.location(element)
            return f"{where.file}:{where.line}"

        nodes = []
        for node in around.nodes:
            if node.kind == "location":
                text = (label or name)(node.number)
                nodes.append(PictureNode(node.state, node.kind, text, source(node.number).strip(), node.number))
            else:
                nodes.append(PictureNode(node.state, node.kind, _place_name(model, node)))
        of_state = {node.state: node.element for node in nodes}
        edges = []
        for edge in around.edges:
            source_element, target_element = of_state[edge.source], of_state[edge.target]
            reasons: tuple[str, ...] = ()
            if source_element is not None and target_element is not None and source_element != target_element:
                reasons = model.reasons(source_element, target_element)
            edges.append(PictureEdge(edge.source, edge.target, edge.probability, reasons))
        return cls(tuple(nodes), tuple(edges))

    def svg(self, *, styled: bool = True, prefix: str = "chain") -> str:
        """Draw the picture as one SVG element.

        SVG text; self-contained if it is styled.
        """
        return _Drawing(self).svg(styled, prefix)


def chance(probability: float) -> str:
    """Format a probability.

    In percent, with at most two digits.
    """
    return f"{100 * probability:.2g} %" if probability < 0.095 else f"{100 * probability:.0f} %"


def _place_name(model: DebuggingModel, node: ModelNode) -> str:
    if node.kind == "subgraph":
        return f"subgraph {node.number}"
    members = (model.chain.group_of_location == node.number - 1).nonzero()[0]
    if not len(members):  # places of subgraphs
        return f"place {node.number}"
    suspect = model.report.suspect_of(int(model.elements[model.chain.location[members[0]]]))
    tie = f"–{suspect.rank_worst}" if suspect.tied > 1 else ""
    return f"rank {suspect.rank_best}{tie}"


@dataclass(frozen=True)
class _Box:
    node: PictureNode
    column: int
    row: int
    x: float
    y: float
    wide: float
    high: float

    @property
    def middle(self) -> float:
        return self.y + self.high / 2


class _Drawing:
    def __init__(self, picture: Picture):
        self._picture = picture
        self._centre = picture.nodes[0].state
        self._chance = {(edge.source, edge.target): edge for edge in picture.edges}
        columns = self._columns()
        self._boxes = {box.node.state: box for box in self._placed(columns)}
        self._wide = max(box.x + box.wide for box in self._boxes.values()) + _MARGIN
        self._high = max(box.y + box.high for box in self._boxes.values()) + _MARGIN
        shown = sum(self._probability(self._centre, box.node.state) for box in self._boxes.values())
        self._rest = max(0.0, 1 - shown)
        if self._rest > 0.005:
            self._high += 22

    def _probability(self, source: int, target: int) -> float:
        edge = self._chance.get((source, target))
        return edge.probability if edge else 0.0

    def _columns(self) -> list[list[PictureNode]]:
        columns: list[list[PictureNode]] = [[], [], [], []]
        for node in self._picture.nodes:
            if node.state == self._centre:
                columns[CENTRE].append(node)
            elif node.kind != "location":
                columns[PLACES].append(node)
            elif self._probability(self._centre, node.state):
                columns[RIGHT].append(node)
            else:
                columns[LEFT].append(node)
        columns[PLACES].sort(key=lambda node: node.state)
        columns[RIGHT].sort(key=lambda node: -round(self._probability(self._centre, node.state), 12))
        places = {node.state: i for i, node in enumerate(columns[PLACES])}
        columns[LEFT].sort(
            key=lambda node: min((i for state, i in places.items() if self._probability(state, node.state)), default=0)
        )
        return columns

    def _placed(self, columns: list[list[PictureNode]]) -> Iterable[_Box]:
        sizes = [(_PLACE_WIDE, _PLACE_HIGH) if i == PLACES else (_WIDE, _HIGH) for i in range(4)]
        spaces = [_SPACE * 2 if i == PLACES else _SPACE for i in range(4)]
        heights = [
            len(column) * (sizes[i][1] + spaces[i]) - (spaces[i] if column else 0) for i, column in enumerate(columns)
        ]
        tallest, x = max(heights), float(_MARGIN)
        for i, (column, (wide, high)) in enumerate(zip(columns, sizes, strict=True)):
            if not column:
                continue
            y = _MARGIN + (tallest - heights[i]) / 2
            for row, node in enumerate(column):
                yield _Box(node, i, row, x, y, wide, high)
                y += high + spaces[i]
            x += wide + (_GAPS[i] if i < RIGHT else 0)

    def svg(self, styled: bool, prefix: str) -> str:
        name, wide, high = self._picture.nodes[0].label, _n(self._wide), _n(self._high)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="suspectra-chain" viewBox="0 0 {wide} {high}"'
            f' width="{wide}" height="{high}" role="img"'
            f' aria-labelledby="{prefix}-title {prefix}-desc">',
            f'<title id="{prefix}-title">{_text(f"Where a reader of {name} goes next")}</title>',
            f'<desc id="{prefix}-desc">{_text(self._description())}</desc>',
        ]
        if styled:
            parts.append(f"<style>{STYLE}</style>")
            parts.append(f'<rect class="ground" width="{wide}" height="{high}"/>')
        moves = [self._move(edge) for edge in self._drawn()]
        parts += [lines for lines, _ in moves]
        parts += [self._node(box) for box in self._boxes.values()]
        parts += [labels for _, labels in moves]
        if self._rest > 0.005:
            centre = self._boxes[self._centre]
            rest = f"elsewhere: {chance(self._rest)}"
            x, y = centre.x + centre.wide / 2, self._high - _MARGIN + 2
            parts.append(f'<text class="rest" x="{_n(x)}" y="{_n(y)}" text-anchor="middle">{rest}</text>')
        return "\n".join([*parts, "</svg>"])

    def _drawn(self) -> list[PictureEdge]:
        """The moves from the centre, and those from and between ranks."""
        drawn = []
        for edge in self._picture.edges:
            source, target = (self._boxes[state] for state in (edge.source, edge.target))
            if edge.source == edge.target:
                continue
            from_place = source.column == PLACES and target.column in (LEFT, CENTRE)
            along = source.column == target.column == PLACES and abs(source.row - target.row) == 1
            if source.column == CENTRE or from_place or along:
                drawn.append(edge)
        return drawn

    def _description(self) -> str:
        called = {node.state: node.label for node in self._picture.nodes}
        sentences = []
        for edge in self._drawn():
            if edge.source == self._centre:
                why = f" ({', '.join(edge.reasons)})" if edge.reasons else ""
                sentences.append(f"To {called[edge.target]} with {chance(edge.probability)}{why}.")
        if self._rest > 0.005:
            sentences.append(f"Elsewhere with {chance(self._rest)}.")
        return " ".join(sentences)

    def _node(self, box: _Box) -> str:
        node = box.node
        kind = "centre" if node.state == self._centre else node.kind
        parts = [
            f'<g class="node {kind}" data-node="{node.state}"><title>{_text(node.label)}</title>',
            f'<rect class="box" x="{_n(box.x)}" y="{_n(box.y)}" width="{box.wide}" height="{box.high}" rx="8"/>',
        ]
        left, middle = box.x + 11, box.x + box.wide / 2
        if node.kind == "location":
            top = box.middle - (5 if node.source else -4)
            label = fit(safe(node.label), _LABEL_CHARACTERS, keep_end=True)
            parts.append(f'<text class="name" x="{_n(left)}" y="{_n(top)}">{_text(label)}</text>')
            if node.source:
                source = _text(fit(safe(node.source), _SOURCE_CHARACTERS))
                parts.append(f'<text class="source" x="{_n(left)}" y="{_n(box.middle + 13)}">{source}</text>')
        else:
            label = _text(fit(safe(node.label), 19))
            parts.append(f'<text x="{_n(middle)}" y="{_n(box.middle + 4)}" text-anchor="middle">{label}</text>')
        return "".join([*parts, "</g>"])

    def _move(self, edge: PictureEdge) -> tuple[str, str]:
        """The line of a move with its arrow head, and its labels."""
        source, target = self._boxes[edge.source], self._boxes[edge.target]
        jump = source.column == CENTRE and target.column == RIGHT
        text, width = chance(edge.probability), 1 + 3.5 * edge.probability
        if source.column == target.column:
            return self._along(source, target, text, width)
        rightwards = target.x > source.x
        both = (edge.target, edge.source) in self._chance and PLACES in (source.column, target.column) and not jump
        shift = (6 if rightwards else -6) if both and CENTRE in (source.column, target.column) else 0
        x1 = source.x + source.wide if rightwards else source.x
        x2 = target.x - 7 if rightwards else target.x + target.wide + 7
        y1, y2 = source.middle + shift, target.middle + shift
        bend = (x2 - x1) * 0.5
        kind = " jump" if jump else ""
        line = (
            f'<path class="move{kind}" stroke-width="{_n(width)}" d="M{_n(x1)} {_n(y1)}C{_n(x1 + bend)} {_n(y1)}'
            f' {_n(x2 - bend)} {_n(y2)} {_n(x2)} {_n(y2)}"/>{_head(x2, y2, 1 if rightwards else -1, jump)}'
        )
        anchor, x = ("end", x2 - 6) if rightwards else ("start", x2 + 6)
        y = y2 + (15 if both and rightwards else -6)
        words = [f'<text class="chance" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{text}</text>']
        if jump and edge.reasons:
            why = _text(edge.reasons[0])
            words.append(f'<text class="why" x="{_n(x)}" y="{_n(y2 + 14)}" text-anchor="{anchor}">{why}</text>')
        return line, "".join(words)

    @staticmethod
    def _along(source: _Box, target: _Box, text: str, width: float) -> tuple[str, str]:
        """The line between two consecutive ranks."""
        down = target.y > source.y
        x = source.x + source.wide / 2 + (14 if down else -14)
        y1 = source.y + source.high if down else source.y
        y2 = target.y - 7 if down else target.y + target.high + 7
        sign, anchor, at = (1, "start", x + 6) if down else (-1, "end", x - 6)
        head = f'<path class="head" d="M{_n(x - 4)} {_n(y2)}h8l-4 {7 * sign}z"/>'
        line = f'<path class="move" stroke-width="{_n(width)}" d="M{_n(x)} {_n(y1)}V{_n(y2)}"/>{head}'
        words = f'<text class="chance" x="{_n(at)}" y="{_n((y1 + y2) / 2 + 4)}" text-anchor="{anchor}">{text}</text>'
        return line, words


def _head(x: float, y: float, sign: int, jump: bool) -> str:
    return f'<path class="{"jump-head" if jump else "head"}" d="M{_n(x)} {_n(y - 4)}v8l{7 * sign} -4z"/>'


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", safe(text)))


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
