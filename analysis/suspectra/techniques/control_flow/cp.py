"""CP: suspicious program states propagate against the control flow (paper 000).

An edge is suspicious when failed runs traverse it more often than passed ones (equation 2). Each block passes its
suspiciousness on to its predecessors, in shares by the suspiciousness of the edges that enter it (equations 4 to 6).
This gives one linear system for each control-flow graph.

Most of such a system has no cycles. It is solved backwards from the exits, for all functions at once. Only the cycles
of loops need a factorisation, one for each cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph, linalg

from suspectra.base.arrays import Bools, Floats, Ints, ranges
from suspectra.base.cancellation import check
from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, FlowPart, control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.catalogue import CP as INFO
from suspectra.techniques.control_flow.flow_report import FlowReport, details_of, previous_details, traversed, where
from suspectra.techniques.control_flow.reuse import Reuse
from suspectra.techniques.formulas import in_words, require_failure
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import headline

ZERO_DENOMINATOR = 1e-10
"""The denominator of equation (4) where the edges into a block cancel out (paper 000, §5.1.4)."""

TROUBLE = ("cancelled", "singular", "ill-conditioned")
"""The kinds of numerical trouble at a block: edges that add up to zero, and loops without a reliable solution."""

_CANCELLED = 1e-12  # relative to the terms: sums below this are rounding errors of zero
_ILL_CONDITIONED = 1e12
_DENSE = 64  # loops of up to this many blocks are solved faster as dense matrices


@dataclass(frozen=True, eq=False)
class Propagation:
    """The solution of CP's equations (paper 000, §3.3.2)."""

    flow: ControlFlow  # the flow graphs that the arrays index
    counts: Counts  # the counts of the spectrum's edges, from which the solution follows
    # suspiciousness of each edge, θΔ of equation (2); NaN where no run traverses it; shape (edges of the flow,)
    edge_delta: Floats
    edge_share: Floats  # w of equation (4); NaN for an edge that takes no part; shape (edges of the flow,)
    br: Floats  # suspiciousness of each block; NaN for one that no edge touches; shape (blocks,)
    # the numerical trouble at each block, as bits in the order of `TROUBLE`; shape (blocks,)
    trouble: NDArray[np.uint8]

    @cached_property
    def taken(self) -> Ints:
        """The edges that take part in the equations; shape (k,)."""
        return np.flatnonzero(~np.isnan(self.edge_share))

    @property
    def source(self) -> Ints:
        """The block that each edge that takes part leaves; shape (k,)."""
        return self.flow.source[self.taken]

    @property
    def target(self) -> Ints:
        """The block that each edge that takes part enters; shape (k,)."""
        return self.flow.target[self.taken]

    @property
    def edge(self) -> Ints:
        """The spectrum's column of each edge that takes part; shape (k,)."""
        return self.flow.edge[self.taken]

    @property
    def delta(self) -> Floats:
        """The suspiciousness θΔ of each edge that takes part; shape (k,)."""
        return self.edge_delta[self.taken]

    @property
    def share(self) -> Floats:
        """W of each edge that takes part; shape (k,)."""
        return self.edge_share[self.taken]

    @property
    def notes(self) -> dict[str, Ints]:
        """The graphs with numerical trouble, by its kind."""
        graph = self.flow.graph_of_block
        return {kind: np.unique(graph[(self.trouble >> bit & 1).astype(bool)]) for bit, kind in enumerate(TROUBLE)}


def edge_suspiciousness(counts: Counts) -> Floats:
    """Compute the suspiciousness θΔ of each edge (paper 000, equation 2).

    Of shape (edges,). From -1 (only passed runs traverse it) to 1 (only failed ones do); NaN where none does.
    """
    failed = counts.ef / max(counts.failed, 1)
    passed = counts.ep / max(counts.passed, 1)
    with np.errstate(invalid="ignore"):
        return (failed - passed) / (failed + passed)


@dataclass(frozen=True)
class CP(Staged):
    """Rank statements by how much suspicion propagates back to their blocks (paper 000, §3.3)."""

    # where all runs leave a function through one block, treat that block as the exit block, as in the paper's graphs;
    # the exit that compilers add after it is a block without statements. False keeps the two blocks apart: then every
    # score of a function is a multiple of the suspiciousness of leaving it, and 0 in functions that every run leaves
    merge_exit: bool = True
    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Solve for every block and rank its statements; a statement of several blocks takes the highest score."""
        require_failure(spectrum)
        spectrum, flow = control_flow(INFO.title, spectrum, program)
        solution = self.propagate(flow, spectrum.edge_hit_counts, previous_details(self, previous, Propagation))
        scores = flow.over_elements(solution.br, len(spectrum.elements))
        notes = [_named(kind, graphs, flow, spectrum) for kind, graphs in solution.notes.items() if len(graphs)]
        return FlowReport.from_flow_scores(self, spectrum, scores, (*flow.problems, *notes), solution)

    def propagate(self, flow: ControlFlow, counts: Counts, previous: Propagation | None = None) -> Propagation:
        """Solve the equations of the functions whose counts changed, all of them together."""
        reuse = Reuse(flow, counts, previous)
        part = flow.part(reuse.graphs)
        blocks, column = len(part.blocks), flow.edge[part.edges]
        delta = np.where(column >= 0, edge_suspiciousness(counts.for_columns(column)), np.nan)
        check()
        used = np.flatnonzero(~np.isnan(delta))
        touched = np.zeros(blocks, bool)
        touched[part.source[used]] = touched[part.target[used]] = True
        if self.merge_exit:
            used = used[~_leads_to_exit_alone(flow, part, used)]
        source, target = part.source[used], part.target[used]
        check()
        share, cancelled = _shares(target, delta[used], blocks)
        system = _System(source, target, share, blocks)
        check()
        entering = np.bincount(target, delta[used], blocks)
        solution = system.solve(np.where(system.is_exit, entering, 0.0))
        check()
        edge_delta = reuse.edges(previous.edge_delta if previous else None, np.float64)
        edge_share = reuse.edges(previous.edge_share if previous else None, np.float64)
        edge_delta[part.edges], edge_share[part.edges] = delta, np.nan
        edge_share[part.edges[used]] = share
        br = reuse.blocks(previous.br if previous else None, np.float64)
        trouble = reuse.blocks(previous.trouble if previous else None, np.uint8)
        br[part.blocks], trouble[part.blocks] = np.where(touched, solution, np.nan), 0
        for bit, at in enumerate((cancelled, system.singular, system.ill_conditioned)):
            trouble[part.blocks[at]] |= 1 << bit
        return Propagation(flow, counts, edge_delta, edge_share, br, trouble)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The edges along which suspicion propagates to the statement."""
        suspect = report.suspect(position)
        counts = report.spectrum.counts
        solution = details_of(report, Propagation)
        title = headline(report, suspect)
        sentences = [in_words(suspect.ef, suspect.ep, counts)]
        blocks = _blocks_of(solution, suspect.element)
        if not len(blocks):
            sentences.append("It is in no block that an edge of a run touches, so nothing propagates to it.")
            return Explanation(title, tuple(sentences), INFO.formula, "")
        block = int(blocks[np.argmax(solution.br[blocks])])
        inflow, substituted = _inflow(solution, block, report.spectrum)
        return Explanation(title, (*sentences, *inflow), INFO.formula, substituted)


def solve(source: Ints, target: Ints, delta: Floats, blocks: int) -> Floats:
    """Compute BR of each block from the suspiciousness of the edges, by equations (4) to (6).

    Of shape (blocks,).
    """
    share, _ = _shares(target, delta, blocks)
    system = _System(source, target, share, blocks)
    return system.solve(np.where(system.is_exit, np.bincount(target, delta, blocks), 0.0))


def _leads_to_exit_alone(flow: ControlFlow, part: FlowPart, used: Ints) -> Bools:
    """Whether each edge is the only one that leaves its block and the only one that leaves the function."""
    source, target, edges = part.source[used], part.target[used], part.edges[used]
    ways_out = np.bincount(source, minlength=len(part.blocks))
    ways_in = np.bincount(target, minlength=len(part.blocks))
    alone = np.equal(ways_out[source], 1) & np.equal(ways_in[target], 1)
    return flow.leaves[edges] & ~flow.enters[edges] & alone


def _blocks_of(solution: Propagation, element: int) -> Ints:
    blocks: Ints = solution.flow.member_block[solution.flow.member_element == element]
    return blocks[~np.isnan(solution.br[blocks])]


def _inflow(solution: Propagation, block: int, spectrum: Spectrum) -> tuple[list[str], str]:
    """The edges along which suspicion propagates to a block, in words and in numbers, the largest share first."""
    counts, flow = spectrum.edge_hit_counts, solution.flow
    out = np.flatnonzero(solution.source == block)
    into = np.flatnonzero(solution.target == block)
    if not len(out):
        if not len(into):
            return ["Control leaves the function from here on every run, and no edge leads to it."], "0 = 0"
        into = into[np.argsort(-np.abs(solution.delta[into]), kind="stable")]
        sentences = [
            f"It is where the function ends; {_edge(solution, at, counts, flow, spectrum)}." for at in into[:3].tolist()
        ]
        terms = " + ".join(f"({solution.delta[at]:.4g})" for at in into.tolist())
        return sentences, f"{terms} = {solution.br[block]:.6g}"
    weight = solution.share[out] * solution.br[solution.target[out]]
    out = out[np.argsort(-np.abs(weight), kind="stable")]
    sentences = [
        f"{_percent(solution.share[at])} of the suspicion of {where(flow, int(solution.target[at]), spectrum)}"
        f" ({solution.br[solution.target[at]]:.4g}) comes from here:"
        f" {_edge(solution, at, counts, flow, spectrum)}."
        for at in out[:3].tolist()
    ]
    terms = " + ".join(f"{solution.br[solution.target[at]]:.4g} * {solution.share[at]:.4g}" for at in out.tolist())
    return sentences, f"{terms} = {solution.br[block]:.6g}"


def _edge(solution: Propagation, at: int, counts: Counts, flow: ControlFlow, spectrum: Spectrum) -> str:
    source, target = (where(flow, int(end[at]), spectrum) for end in (solution.source, solution.target))
    runs = traversed(counts, int(solution.edge[at]))
    return f"the edge from {source} to {target} has Δ {solution.delta[at]:.4g}, {runs}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if abs(share) < 1000 else f"{share:.3g} times"


def _shares(target: Ints, delta: Floats, blocks: int) -> tuple[Floats, Ints]:
    """W of each edge (equation 4), and the blocks whose denominator was zero."""
    total = np.bincount(target, delta, blocks)
    size = np.bincount(target, np.abs(delta), blocks)
    entered = np.bincount(target, minlength=blocks) > 0
    zero = entered & (np.abs(total) <= _CANCELLED * size)
    total[zero] = ZERO_DENOMINATOR
    # cancelled means that terms which are not zero add up to zero
    return delta / total[target], np.flatnonzero(zero & (size > 0))


class _System:
    """BR = W·BR + b, solved by substitution backwards from the exits; each loop is solved as a system of its own."""

    def __init__(self, source: Ints, target: Ints, share: Floats, blocks: int):
        self.blocks = blocks
        self.weights = sparse.csr_array((share, (source, target)), shape=(blocks, blocks))
        self.is_exit = np.bincount(source, minlength=blocks) == 0
        check()
        ones = sparse.csr_array((np.ones(len(source), np.int8), (source, target)), shape=(blocks, blocks))
        count, self.part = csgraph.connected_components(ones, directed=True, connection="strong")
        check()
        sizes = np.bincount(self.part, minlength=count)
        self.in_loop = sizes[self.part] > 1
        self.in_loop[source[source == target]] = True
        self.into = self.weights.T.tocsr()  # row: target, columns: sources
        waiting = np.bincount(self.part[source], self.part[source] != self.part[target], count)
        self.waiting = waiting.astype(np.int64)
        self.members = np.argsort(self.part, kind="stable")
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.singular = np.zeros(0, np.int64)
        self.ill_conditioned = np.zeros(0, np.int64)

    def solve(self, constant: Floats) -> Floats:
        """BR of each block."""
        br = constant.copy()  # solved successors add their share
        waiting = self.waiting.copy()
        ready = np.flatnonzero(waiting == 0)
        while len(ready):
            check()
            solved = self.members[ranges(self.first[ready], self.first[ready + 1])]
            self._close_loops(ready, br)
            starts, ends = self.into.indptr[solved], self.into.indptr[solved + 1]
            at = ranges(starts, ends)
            predecessor = self.into.indices[at]
            of = np.repeat(solved, ends - starts)
            outside = self.part[predecessor] != self.part[of]
            predecessor, of, at = predecessor[outside], of[outside], at[outside]
            np.add.at(br, predecessor, self.into.data[at] * br[of])
            parts = self.part[predecessor]
            np.subtract.at(waiting, parts, 1)
            ready = np.unique(parts[waiting[parts] == 0])
        return br

    def _close_loops(self, parts: Ints, br: Floats) -> None:
        loops = parts[self.in_loop[self.members[self.first[parts]]]]
        sizes = self.first[loops + 1] - self.first[loops]
        for size in np.unique(sizes).tolist():
            same = loops[sizes == size]
            members = self.members[self.first[same][:, None] + np.arange(size)]
            if size <= _DENSE:
                self._solve_dense(members, br)
            else:
                for row in members:
                    self._solve_sparse(row, br)

    def _solve_dense(self, members: Ints, br: Floats) -> None:
        """Solve all loops of one size; members has shape (loops, size)."""
        loops, size = members.shape
        matrices = np.broadcast_to(np.eye(size), (loops, size, size)).copy()
        place = np.full(self.blocks, -1)
        place[members.ravel()] = np.tile(np.arange(size), loops)
        flat = members.ravel()
        starts, ends = self.weights.indptr[flat], self.weights.indptr[flat + 1]
        at = ranges(starts, ends)
        row = np.repeat(np.arange(len(flat)), ends - starts)
        column = self.weights.indices[at]
        inside = self.part[column] == self.part[flat[row]]
        row, column, at = row[inside], column[inside], at[inside]
        np.subtract.at(matrices, (row // size, row % size, place[column]), self.weights.data[at])
        right = br[members]
        check()
        condition = _condition(matrices)
        check()
        regular = condition < 1 / np.finfo(float).eps
        if regular.any():
            br[members[regular]] = np.linalg.solve(matrices[regular], right[regular][..., None])[..., 0]
        for index in np.flatnonzero(~regular).tolist():
            br[members[index]] = np.linalg.lstsq(matrices[index], right[index], rcond=1e-12)[0]
        self._note(members[~regular, 0], members[regular & (condition > _ILL_CONDITIONED), 0])

    def _solve_sparse(self, members: Ints, br: Floats) -> None:
        """Solve one large loop."""
        inner = self.weights[members][:, members]
        matrix = (sparse.eye_array(len(members)) - inner).tocsc()
        try:
            factors = linalg.splu(matrix)

            def transposed(right: Floats) -> Floats:
                solved: Floats = factors.solve(right, "T")  # type: ignore[call-overload]  # scipy-stubs lack `trans`
                return solved

            inverse = linalg.LinearOperator(matrix.shape, matvec=factors.solve, rmatvec=transposed, dtype=np.float64)
            condition = linalg.onenormest(inverse) * linalg.norm(matrix, 1)
            if not condition < 1 / np.finfo(float).eps:
                raise RuntimeError("singular to working precision")
            br[members] = factors.solve(br[members])
            self._note(members[:0], members[:1] if condition > _ILL_CONDITIONED else members[:0])
        except RuntimeError:
            br[members] = linalg.lsmr(matrix, br[members], atol=1e-12, btol=1e-12, maxiter=10 * len(members))[0]
            self._note(members[:1], members[:0])

    def _note(self, singular: Ints, ill_conditioned: Ints) -> None:
        self.singular = np.append(self.singular, singular)
        self.ill_conditioned = np.append(self.ill_conditioned, ill_conditioned)


def _condition(matrices: Floats) -> Floats:
    """The condition number of each matrix, infinite for a singular one."""
    singular_values = np.linalg.svd(matrices, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = singular_values[:, 0] / singular_values[:, -1]
    return np.where(np.isfinite(condition), condition, np.inf)


_NOTES = {
    "cancelled": (
        "the suspiciousness of the edges into some blocks adds up to zero, so their shares are divided by 1e-10"
        " and the scores there are huge"
    ),
    "singular": "loops make equations without a single solution; the smallest one that comes nearest is taken",
    "ill-conditioned": "loops make equations that small errors change a lot; the scores there are rough",
}


def _named(kind: str, graphs: Ints, flow: ControlFlow, spectrum: Spectrum) -> Problem:
    """A note about numerical trouble, which names one of the functions."""
    index = int(flow.function[graphs[0]])
    if index < 0:
        name = "code outside functions"
    else:
        function = spectrum.elements.functions[index]
        name = f"{function.name} in {spectrum.elements.files[function.file]}"
    more = f" and {len(graphs) - 1} more" if len(graphs) > 1 else ""
    return Problem("", f"{name}{more}", f"CP: {_NOTES[kind]}", "compare with a formula, or use CP to break its ties")
