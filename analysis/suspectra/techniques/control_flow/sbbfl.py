"""SBBFL: suspicious subgraphs of the dynamic control flow (Henderson & Podgurski 2018).

A *behaviour* is a connected part of the control flow; a test exhibits it when it traverses all its edges. Behaviours
are found by random walks up the lattice of subgraphs. A walk starts at a block and adds edge after edge while a larger
subgraph has a higher score; the higher, the likelier it is chosen. Once no passed test exhibits the behaviour, edges
that leave the score equal may be added too, so that the whole region is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import checked
from suspectra.base.errors import NothingToRank, Problem, UsageError
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, control_flow
from suspectra.report import Explanation, RankedReport, Subgraph, SubgraphReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.catalogue import SBBFL as INFO
from suspectra.techniques.control_flow.flow_report import hits_of_edges
from suspectra.techniques.effort import Effort
from suspectra.techniques.formulas import FORMULAS, Four, in_words, require_failure, substitute
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import own_report

# per test and edge, and per edge that a test traversed; measured by benchmarks/effort.py
_BIT_SECONDS, _HIT_SECONDS = 1e-9, 5e-8
_ONES = np.array([number.bit_count() for number in range(256)], np.uint8)
MEASURES = ("relative-f1", "relative-ochiai", "relative-jaccard", "f1", "ochiai", "jaccard")


@dataclass(frozen=True)
class SBBFL(Staged):
    """Find suspicious subgraphs by score-weighted random walks, and rank them (Henderson & Podgurski 2018).

    Raises UsageError for a measure that does not exist, or a number below 1.
    """

    measure: str = "relative-f1"  # one of `MEASURES`, the six of paper 003, Table IV
    walks: int = 300  # how many random walks are taken
    min_fails: int = 1  # the least number of failing tests that must exhibit a subgraph
    max_edges: int = 100  # the number of edges at which a walk ends
    seed: int = 0  # seed of the random walks; the same seed gives the same subgraphs
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
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> SubgraphReport:
        """Rank the subgraphs that random walks find; an element has the rank of its best subgraph.

        Raises NothingToRank when the evidence contains no edges, or fewer failing tests than `min_fails`.
        """
        require_failure(spectrum)
        self.effort(spectrum).require(
            INFO.title,
            f"it keeps for each edge which of {len(spectrum.tests):,} tests traverse it",
            "take Branch or CBI, which look at control flow too, or a formula; or record fewer tests",
        )
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
        found = (
            {lattice.walk(random, self.max_edges): None for _ in checked(range(self.walks))} if lattice.starts else {}
        )
        shown = [lattice.subgraph(behaviour) for behaviour in found]
        scores = np.array([lattice.score(graph.ef, graph.ep) for graph in shown])
        suspicious = [i for i, graph in enumerate(shown) if scores[i] > 0 and len(graph.elements)]
        return SubgraphReport.from_subgraphs(
            self, spectrum, [shown[i] for i in suspicious], scores[np.array(suspicious, int)]
        )

    def effort(self, spectrum: Spectrum) -> Effort:
        """Estimate the effort of finding the tests that traverse each edge of the files that failing tests enter.

        Estimated from the measured cost of one step; 0 where edges are not known.
        """
        if spectrum.edges is None or spectrum.edge_rows is None:
            return Effort(0.0, 0.0)
        counts, file = spectrum.edge_hit_counts, spectrum.edges.file
        entered = np.bincount(file, counts.ef > 0, len(spectrum.elements.files)) > 0
        counted = int(np.count_nonzero(entered[file] & (counts.ef + counts.ep > 0)))
        edges = counted if spectrum.edges.complete else 1.5 * counted  # and those that the statements imply
        bits = edges * len(spectrum.tests)
        return Effort(bits * _BIT_SECONDS + hits_of_edges(spectrum) * _HIT_SECONDS, bits / 8 / 2**30)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The best subgraph that contains the element, and the measure with its numbers."""
        suspect, counts = report.suspect(position), report.spectrum.counts
        sentences = [in_words(suspect.ef, suspect.ep, counts)]
        formula = FORMULAS[self.measure].info.formula
        substituted = ""
        behaviours = own_report(report, SubgraphReport)
        containing = behaviours.subgraphs_of(suspect.element)
        if containing:
            graph = behaviours.subgraphs[containing[0]]
            sentences.insert(
                0,
                f"It is part of subgraph {containing[0] + 1} of {len(behaviours.subgraphs)}: {len(graph.elements)}"
                f" statements and {len(graph.edges)} edges, all of which {graph.ef} of {counts.failed} failing and"
                f" {graph.ep} of {counts.passed} passing tests traverse.",
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
        spec = FORMULAS[self.measure]
        cache: dict[tuple[int, int], float] = {}

        def score(ef: int, ep: int) -> float:
            if (ef, ep) not in cache:
                pair = Counts(np.array([ef]), np.array([ep]), counts.failed, counts.passed)
                cache[ef, ep] = round(float(spec.score(Four.from_counts(pair), **spec.parameters)[0]), 12)
            return cache[ef, ep]

        return score


# the first block, and the edges that were added
_Behaviour = tuple[int, frozenset[int]]


class _Lattice:
    """The subgraphs of the traversed control flow; sets of tests are bits of integers."""

    def __init__(
        self, flow: ControlFlow, spectrum: Spectrum, score: Callable[[int, int], float], min_fails: int
    ) -> None:
        self.score, self._min_fails, self._flow = score, min_fails, flow
        self._candidate = spectrum.candidates
        used, table = _used(flow, spectrum)
        self._edge, self._tests = used, table
        self._ends = np.stack([flow.source[used], flow.target[used]], axis=1)
        ends = np.concatenate([self._ends[:, 0], self._ends[self._ends[:, 0] != self._ends[:, 1], 1]])
        edge = np.concatenate([np.arange(len(used)), np.flatnonzero(self._ends[:, 0] != self._ends[:, 1])])
        order = np.lexsort((edge, ends))
        self._edge_at = edge[order]
        self._first_at = np.searchsorted(ends[order], np.arange(flow.blocks + 1))
        self._fails: dict[int, int] = {}
        self._passes: dict[int, int] = {}
        fails, passes = table.count_groups(self._edge_at, self._first_at)
        has_elements = np.bincount(flow.member_block, minlength=flow.blocks) > 0
        starts = np.flatnonzero(has_elements & (np.diff(self._first_at) > 0) & (fails >= min_fails))
        self.starts: list[int] = starts.tolist()
        pairs = zip(fails[starts].tolist(), passes[starts].tolist(), strict=True)
        chances = [score(ef, ep) for ef, ep in checked(pairs)]
        # blocks that every test executes score lowest, but branches start there, so they get a tenth of the best chance
        lowest, highest = min(chances, default=0), max(chances, default=0)
        self._upto = np.cumsum(np.array(chances) - lowest + (highest - lowest) / 10)

    def _at(self, block: int) -> list[int]:
        """The edges that enter or leave a block."""
        edges: list[int] = self._edge_at[self._first_at[block] : self._first_at[block + 1]].tolist()
        return edges

    def _tests_of(self, edge: int) -> tuple[int, int]:
        """The failed and the passed tests that traverse an edge, as bits."""
        if edge not in self._fails:
            self._fails[edge], self._passes[edge] = self._tests.count(edge)
        return self._fails[edge], self._passes[edge]

    def _block(self, block: int) -> tuple[int, int]:
        """The failed and the passed tests that execute a block, as bits."""
        fails = passes = 0
        for k in self._at(block):
            failing, passing = self._tests_of(k)
            fails |= failing
            passes |= passing
        return fails, passes

    def walk(self, random: np.random.Generator, max_edges: int) -> _Behaviour:
        """Take one random walk, from a block up to a subgraph that no edge makes more suspicious."""
        start = self.starts[_draw(random, self._upto)]
        fails, passes = self._block(start)
        blocks: set[int] = {start}
        arcs: set[int] = set()
        frontier = set(self._at(start))
        while len(arcs) < max_edges:
            current_score = self.score(fails.bit_count(), passes.bit_count())
            children: list[int] = []
            scores: list[float] = []
            for k in sorted(frontier):
                failing, passing = self._tests_of(k)
                ef, ep = (fails & failing).bit_count(), (passes & passing).bit_count()
                if ef < self._min_fails:
                    continue
                score = self.score(ef, ep)
                if score > current_score or (score == current_score and not ep):
                    children.append(k)
                    scores.append(score)
            if not children:
                break
            added = children[_draw(random, np.cumsum(np.array(scores) - min(current_score, 0)))]
            arcs.add(added)
            fails, passes = fails & self._fails[added], passes & self._passes[added]
            for block in self._ends[added].tolist():
                if block not in blocks:
                    blocks.add(block)
                    frontier.update(self._at(block))
            frontier -= arcs
        # once there are edges, they determine the blocks, and the start is irrelevant
        return (-1, frozenset(arcs)) if arcs else (start, frozenset())

    def subgraph(self, behaviour: _Behaviour) -> Subgraph:
        """Convert a behaviour to elements and edges of the spectrum."""
        start, arcs = behaviour
        if arcs:
            fails = passes = -1
            for k in arcs:
                fails, passes = fails & self._fails[k], passes & self._passes[k]
            blocks = sorted({block for k in arcs for block in self._ends[k].tolist()})
        else:
            fails, passes = self._block(start)
            blocks = [start]
        flow = self._flow
        first, last = np.searchsorted(flow.member_block, blocks), np.searchsorted(flow.member_block, blocks, "right")
        of_blocks = [flow.member_element[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        elements = np.unique(np.concatenate(of_blocks)).astype(np.int32)
        edges = np.unique(flow.edge[self._edge[sorted(arcs)]]).astype(np.int32)
        return Subgraph(elements[self._candidate[elements]], edges, fails.bit_count(), passes.bit_count())


def _draw(random: np.random.Generator, upto: Floats) -> int:
    """Draw an index with probability proportional to its weight, given cumulative weights; uniformly if all are
    zero.
    """
    if upto[-1] <= 0:
        return int(random.integers(len(upto)))
    return min(int(np.searchsorted(upto, random.random() * upto[-1], side="right")), len(upto) - 1)


def _used(flow: ControlFlow, spectrum: Spectrum) -> tuple[Ints, _TestsByEdge]:
    """The traversed edges of functions that failing tests enter, and the tests that traverse each."""
    counts = spectrum.edge_hit_counts
    hit = np.append(counts.ef + counts.ep > 0, False)[flow.edge]
    entered = np.zeros(len(flow), bool)
    entered[flow.graph_of_edge[np.append(counts.ef > 0, False)[flow.edge]]] = True
    used = np.flatnonzero(hit & entered[flow.graph_of_edge])
    return used, _TestsByEdge(spectrum, flow.edge[used])


class _TestsByEdge:
    """The failed and the passed tests that traverse each of some edges, one bit for each test."""

    def __init__(self, spectrum: Spectrum, columns: Ints):
        self._columns = columns
        distinct, self._column = np.unique(columns, return_inverse=True)
        edges, _ = spectrum.require_edges()
        column = np.full(len(edges), -1, np.int32)
        column[distinct] = np.arange(len(distinct), dtype=np.int32)
        # eight tests in one row of bytes, since the edges of one test are close together
        failed = int(np.count_nonzero(spectrum.failed))
        sizes = [-(-tests // 8) for tests in (failed, len(spectrum.failed) - failed)]
        self._bits = [np.zeros((size, len(distinct)), np.uint8) for size in sizes]
        number = {True: 0, False: 0}
        tests = spectrum.edges_among(column >= 0, range(len(spectrum.tests)))
        for row, bad in zip(tests, spectrum.failed.tolist(), strict=True):
            self._bits[not bad][number[bad] // 8, column[row]] |= np.uint8(1 << number[bad] % 8)
            number[bad] += 1

    def count(self, edge: int) -> tuple[int, int]:
        """The failed and the passed tests that traverse an edge, as bits of integers."""
        failed, passed = (int.from_bytes(bits[:, self._column[edge]].tobytes(), "little") for bits in self._bits)
        return failed, passed

    def count_groups(self, edges: Ints, first: Ints) -> tuple[Ints, Ints]:
        """Count the failed and the passed tests that traverse any edge of each group."""
        groups = np.flatnonzero(np.diff(first))
        found = np.zeros((2, len(first) - 1), np.int64)
        at = self._column[edges]
        for counts, bits in zip(found, self._bits, strict=True):
            for row in checked(bits):
                if len(groups):
                    counts[groups] += _ONES[np.bitwise_or.reduceat(row[at], first[groups])]
        return found[0], found[1]
