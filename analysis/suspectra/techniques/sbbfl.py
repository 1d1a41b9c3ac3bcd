"""SBBFL: suspicious subgraphs of the dynamic control flow (Henderson & Podgurski 2018).

A *behaviour* is a connected part of the control flow; a test shows it when it traverses all its edges. Behaviours are
found by random walks up the lattice of subgraphs: from a block, edge by edge, to a child whose score is higher (the
higher the likelier), until none is. Where no passed test shows a behaviour any more, an edge that leaves the score as
it is may come in, too, so that all of what goes wrong together is reported together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suspectra.errors import NothingToRank, Problem, UsageError
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, control_flow
from suspectra.report import Explanation, RankedReport, Subgraph, SubgraphReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.catalogue import SBBFL as INFO
from suspectra.techniques.formulas import FORMULAS, Four, in_words, require_failure, substitute
from suspectra.techniques.technique import Technique

CHUNK = 4096  # edges whose tests are turned into bits at once
MEASURES = ("relative-f1", "relative-ochiai", "relative-jaccard", "f1", "ochiai", "jaccard")


@dataclass(frozen=True)
class SBBFL(Technique):
    """Find suspicious subgraphs by score-weighted random walks, and rank them.

    Parameters
    ----------
    measure : str
        One of `MEASURES`, paper 003's six.
    walks : int
        How many random walks are taken.
    min_fails : int
        The least number of failing tests that must show a subgraph.
    max_edges : int
        A walk ends at so many edges.
    seed : int
        The same seed gives the same subgraphs.

    Raises
    ------
    UsageError
        For a measure that does not exist, or a number below 1.
    """

    measure: str = "relative-f1"
    walks: int = 300
    min_fails: int = 1
    max_edges: int = 100
    seed: int = 0
    info = INFO

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise UsageError(
                Problem("", INFO.name, f"there is no measure {self.measure!r}", f"give one of {', '.join(MEASURES)}")
            )
        for name in ("walks", "min_fails", "max_edges"):
            if not getattr(self, name) >= 1:
                raise UsageError(Problem("", INFO.name, f"{name} is {getattr(self, name)}", "give at least 1"))

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, before: RankedReport | None = None
    ) -> SubgraphReport:
        """Walk, and rank what was found; an element stands where the best subgraph that holds it does.

        Raises
        ------
        NothingToRank
            When the evidence holds no edges, or fewer failing tests than `min_fails`.
        """
        require_failure(spectrum)
        spectrum, flow = control_flow(INFO.title, spectrum, program)
        failed = spectrum.counts.failed
        if failed < self.min_fails:
            raise NothingToRank(
                Problem(
                    "",
                    INFO.name,
                    f"min_fails asks for {self.min_fails} failing tests, and there are {failed}",
                    "lower min_fails, or record more failing tests",
                )
            )
        lattice = _Lattice(flow, spectrum, self._score(spectrum.counts), self.min_fails)
        random = np.random.default_rng(self.seed)
        found = {lattice.walk(random, self.max_edges): None for _ in range(self.walks)} if lattice.starts else {}
        shown = [lattice.subgraph(behaviour) for behaviour in found]
        scores = np.array([lattice.score(graph.ef, graph.ep) for graph in shown])
        suspicious = [i for i, graph in enumerate(shown) if scores[i] > 0 and len(graph.elements)]
        return SubgraphReport.from_subgraphs(
            self, spectrum, [shown[i] for i in suspicious], scores[np.array(suspicious, int)]
        )

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The best subgraph that holds the element, and the measure with its numbers."""
        suspect, counts = report.suspect(position), report.spectrum.counts
        sentences = [in_words(suspect.ef, suspect.ep, counts)]
        formula = FORMULAS[self.measure].info.formula
        substituted = ""
        holding = report.subgraphs_of(suspect.element)
        if holding:
            graph = report.subgraphs[holding[0]]
            sentences.insert(
                0,
                f"It is part of subgraph {holding[0] + 1} of {len(report.subgraphs)}: {len(graph.elements)} statements"
                f" and {len(graph.edges)} edges, all of which {graph.ef} of {counts.failed} failing and {graph.ep} of"
                f" {counts.passed} passing tests traverse.",
            )
            numbers = {
                "ef": graph.ef,
                "ep": graph.ep,
                "nf": counts.failed - graph.ef,
                "np": counts.passed - graph.ep,
                "F": counts.failed,
                "P": counts.passed,
            }
            substituted = f"{substitute(formula, numbers)} = {suspect.score:.6g}"
        elif suspect.ef or suspect.ep:
            sentences.append("It is in none of the subgraphs that were found.")
        tie = f", tied with {suspect.tied - 1} more" if suspect.tied > 1 else ""
        return Explanation(
            f"Suspect {suspect.rank_best} of {len(report)}{tie}: {INFO.title} {suspect.score:.4g}",
            tuple(sentences),
            formula,
            substituted,
        )

    def _score(self, counts: Counts) -> Callable[[int, int], float]:
        """The measure as a function of ef and ep."""
        spec, known = FORMULAS[self.measure], {}

        def score(ef: int, ep: int) -> float:
            if (ef, ep) not in known:
                pair = Counts(np.array([ef]), np.array([ep]), counts.failed, counts.passed)
                known[ef, ep] = round(float(spec.score(Four.of(pair), **spec.parameters)[0]), 12)
            return known[ef, ep]

        return score


# a block to start from, and the arcs that were added
_Behaviour = tuple[int, frozenset[int]]


class _Lattice:
    """The subgraphs of the traversed control flow; sets of tests are bits of integers."""

    def __init__(
        self, flow: ControlFlow, spectrum: Spectrum, score: Callable[[int, int], float], min_fails: int
    ) -> None:
        self.score, self._min_fails, self._flow = score, min_fails, flow
        self._candidate = spectrum.candidates
        failing, passing = _tests_by_edge(spectrum)
        used = [k for k, edge in enumerate(flow.edge.tolist()) if edge >= 0 and (failing[edge] or passing[edge])]
        self._column = {k: int(flow.edge[k]) for k in used}
        self._fails = {k: failing[edge] for k, edge in self._column.items()}
        self._passes = {k: passing[edge] for k, edge in self._column.items()}
        self._ends = {k: (int(flow.source[k]), int(flow.target[k])) for k in used}
        self._at: dict[int, list[int]] = {}
        for k, (source, target) in self._ends.items():
            for block in {source, target}:
                self._at.setdefault(block, []).append(k)
        holds = np.bincount(flow.member_block, minlength=flow.blocks) > 0
        chances = []
        self.starts: list[int] = []
        for block in sorted(self._at):
            fails, passes = self._block(block)
            if holds[block] and fails.bit_count() >= min_fails:
                self.starts.append(block)
                chances.append(score(fails.bit_count(), passes.bit_count()))
        # what every test executes scores lowest, yet it is where ways part: a tenth of the best chance at least
        lowest, highest = min(chances, default=0), max(chances, default=0)
        self._upto = np.cumsum(np.array(chances) - lowest + (highest - lowest) / 10)

    def _block(self, block: int) -> tuple[int, int]:
        """The tests that execute a block."""
        fails = passes = 0
        for k in self._at[block]:
            fails |= self._fails[k]
            passes |= self._passes[k]
        return fails, passes

    def walk(self, random: np.random.Generator, max_edges: int) -> _Behaviour:
        """One random walk, from a block up to a subgraph that no edge makes more suspicious."""
        start = self.starts[_draw(random, self._upto)]
        fails, passes = self._block(start)
        blocks, arcs = {start}, set()
        frontier = set(self._at[start])
        while len(arcs) < max_edges:
            now = self.score(fails.bit_count(), passes.bit_count())
            children, scores = [], []
            for k in sorted(frontier):
                ef, ep = (fails & self._fails[k]).bit_count(), (passes & self._passes[k]).bit_count()
                if ef < self._min_fails:
                    continue
                score = self.score(ef, ep)
                if score > now or (score == now and not ep):
                    children.append(k)
                    scores.append(score)
            if not children:
                break
            taken = children[_draw(random, np.cumsum(np.array(scores) - min(now, 0)))]
            arcs.add(taken)
            fails, passes = fails & self._fails[taken], passes & self._passes[taken]
            for block in self._ends[taken]:
                if block not in blocks:
                    blocks.add(block)
                    frontier.update(self._at[block])
            frontier -= arcs
        # where arcs say which blocks there are, the start is no part of what was found
        return (-1, frozenset(arcs)) if arcs else (start, frozenset())

    def subgraph(self, behaviour: _Behaviour) -> Subgraph:
        """What a walk found, in terms of the spectrum."""
        start, arcs = behaviour
        if arcs:
            fails = passes = -1
            for k in arcs:
                fails, passes = fails & self._fails[k], passes & self._passes[k]
            blocks = sorted({block for k in arcs for block in self._ends[k]})
        else:
            fails, passes = self._block(start)
            blocks = [start]
        flow = self._flow
        first, last = np.searchsorted(flow.member_block, blocks), np.searchsorted(flow.member_block, blocks, "right")
        held = [flow.member_element[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        elements = np.unique(np.concatenate(held)).astype(np.int32)
        edges = np.unique([self._column[k] for k in arcs]).astype(np.int32)
        return Subgraph(elements[self._candidate[elements]], edges, fails.bit_count(), passes.bit_count())


def _draw(random: np.random.Generator, upto: np.ndarray) -> int:
    """An index, as likely as its share of the running sum; the same for each where they are all zero."""
    if upto[-1] <= 0:
        return int(random.integers(len(upto)))
    return min(int(np.searchsorted(upto, random.random() * upto[-1], side="right")), len(upto) - 1)


def _tests_by_edge(spectrum: Spectrum) -> tuple[list[int], list[int]]:
    """For each edge the failed and the passed tests that traverse it, as bits."""
    return tuple(_as_bits(spectrum, np.flatnonzero(spectrum.failed == bad)) for bad in (True, False))


def _as_bits(spectrum: Spectrum, tests: np.ndarray) -> list[int]:
    rows = [spectrum.edge_rows[test] for test in tests.tolist()]
    test = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    edge = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    order = np.argsort(edge, kind="stable")
    test, edge = test[order], edge[order]
    bits = []
    for begin in range(0, len(spectrum.edges), CHUNK):
        span = slice(*np.searchsorted(edge, [begin, begin + CHUNK]))
        count = min(CHUNK, len(spectrum.edges) - begin)
        table = np.zeros((count, len(rows)), bool)
        table[edge[span] - begin, test[span]] = True
        bits += [int.from_bytes(row.tobytes(), "little") for row in np.packbits(table, axis=1, bitorder="little")]
    return bits
