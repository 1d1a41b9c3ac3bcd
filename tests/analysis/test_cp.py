"""CP: the paper's example, an exact computation beside it, and systems that have no solution."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import NothingToRank
from suspectra.evaluation import scores
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow
from suspectra.program.flow_graph import EXIT, FlowGraph
from suspectra.spectrum import Counts, EdgeKind, Edges, Elements, Spectrum
from suspectra.techniques import make_technique
from suspectra.techniques.control_flow.cp import CP, edge_suspiciousness
from suspectra.techniques.control_flow.reuse import Reuse


def test_edges_of_figure_1(figure_1):
    spectrum, _ = figure_1
    delta = edge_suspiciousness(spectrum.edge_hit_counts)
    assert delta == pytest.approx([0, 3 / 7, -1, 1, 1 / 9, 1])


@pytest.mark.parametrize("merge_exit", [True, False])  # the figure has no exit behind b4
def test_figure_1(figure_1, merge_exit):
    report = CP(merge_exit).localize(*figure_1)
    assert report.details.br[2:] == pytest.approx([1 / 9, 10 / 9, 1, 1 / 9])
    rank = dict(zip((report.order + 1).tolist(), report.rank_worst.tolist(), strict=True))
    assert rank == {2: 4, 3: 4, 4: 4, 5: 4, 6: 7, 7: 7, 8: 7, 1: 9, 9: 9}
    assert report.rank_worst[report.position[1]] / len(report) == pytest.approx(0.44, abs=0.005)
    assert not report.caveats()


@pytest.mark.parametrize(
    ("name", "block_scores", "examined"),
    [
        ("tarantula", (0.50, 0.71, 1.00, 0.50), 0.78),
        ("sbi", (0.29, 0.50, 1.00, 0.29), 0.78),
        ("jaccard", (0.29, 0.50, 0.50, 0.29), 0.78),
        ("branch", (0.71, 0.71, 0.71, 0.71), 1.00),
    ],
)
def test_peers_of_figure_1(figure_1, name, block_scores, examined):
    report = make_technique(name).localize(*figure_1)
    score = dict(zip((report.order + 1).tolist(), report.scores.tolist(), strict=True))
    assert [score[line] for line in (1, 2, 6, 9)] == pytest.approx(block_scores, abs=0.005)
    assert scores.exam(report.rank_worst[report.position[1]], 9) == pytest.approx(examined, abs=0.005)


def test_branch_scores_edges_by_ochiai(figure_1):
    spectrum, _ = figure_1
    found = make_technique("ochiai").score(spectrum.edge_hit_counts)
    assert found[:5] == pytest.approx([0.53, 0.71, 0, 0.71, 0.41], abs=0.005)


def test_explanation_names_the_edges_and_where_they_lead(figure_1):
    report = CP().localize(*figure_1)
    explanation = report.explain(0)
    assert explanation.headline == "Suspect 1 of 9, tied with 3 more: CP 1.111"
    assert explanation.sentences[1] == (
        "100% of the suspicion of lines 6-8 (1) comes from here: the edge from lines 2-5 to lines 6-8 has Δ 1,"
        " 1 of 2 failing and 0 of 5 passing tests traverse it."
    )
    assert explanation.substituted == "1 * 1 + 0.1111 * 1 = 1.11111"
    last = report.explain(int(report.position[8]))
    assert "It is where the function ends" in last.sentences[1]
    assert last.substituted == "(-1) + (1) + (0.1111) = 0.111111"


# --------------------------------------------------------------------------------- an exact computation beside it


@st.composite
def systems(draw):
    """A flow graph, loops and all, and in how many failed and passed of 4 and 7 runs each edge was traversed."""
    blocks = draw(st.integers(3, 9))
    end = st.integers(0, blocks - 1)
    pairs = draw(
        st.lists(st.tuples(end.filter(lambda b: b != EXIT), end.filter(bool)), min_size=1, max_size=18, unique=True)
    )
    hits = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=len(pairs), max_size=len(pairs)))
    return blocks, pairs, hits


def exact(blocks: int, pairs: list, hits: list) -> dict[int, Fraction] | None:
    """BR by Gaussian elimination in rational numbers; None where there is no single solution, or it is a near thing."""
    edges = []
    for (source, target), (ef, ep) in zip(pairs, hits, strict=True):
        if ef or ep:
            failed, passed = Fraction(ef, 4), Fraction(ep, 7)
            edges.append((source, target, (failed - passed) / (failed + passed)))
    total = {b: sum(d for _, t, d in edges if t == b) for b in range(blocks)}
    share = {(s, t): d / (total[t] or Fraction(1, 10**10)) for s, t, d in edges}
    ends = {b for b in range(blocks) if not any(s == b for s, _, _ in edges)}
    rows = [
        [Fraction(int(i == j)) - share.get((i, j), 0) for j in range(blocks)] + [total[i] if i in ends else Fraction(0)]
        for i in range(blocks)
    ]
    for i in range(blocks):
        pivot = max(range(i, blocks), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < Fraction(1, 1000):
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(blocks):
            if r != i and rows[r][i]:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    touched = {b for s, t, _ in edges for b in (s, t)}
    return {b: rows[b][-1] / rows[b][b] for b in touched}


@pytest.mark.slow
@given(st.lists(systems(), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_blocks_equal_exact_elimination(programs):
    """Several graphs at once, so that their systems are solved side by side."""
    graphs, hits = [], []
    for blocks, pairs, counts in programs:
        graphs.append(FlowGraph.from_edges(-1, blocks, [(s, t, len(hits) + i) for i, (s, t) in enumerate(pairs)], []))
        hits += counts
    ef, ep = (np.array(side) for side in zip(*hits, strict=True))
    flow = ControlFlow(tuple(graph.table for graph in graphs))
    solution = CP(merge_exit=False).propagate(flow, Counts(ef, ep, 4, 7))
    for first, program in zip(flow.first_block.tolist(), programs, strict=False):
        expected = exact(*program)
        if expected is None or any(abs(value) > 10**6 for value in expected.values()):
            continue
        br = solution.br[first : first + program[0]]
        assert {b for b in range(program[0]) if not np.isnan(br[b])} == expected.keys()
        for block, value in expected.items():
            assert br[block] == pytest.approx(float(value), rel=1e-6, abs=1e-6)


@given(systems())
@settings(max_examples=100, deadline=None)
def test_any_system_gives_finite_scores(program):
    blocks, pairs, hits = program
    flow = ControlFlow((FlowGraph.from_edges(-1, blocks, [(s, t, i) for i, (s, t) in enumerate(pairs)], []).table,))
    ef, ep = (np.array(side) for side in zip(*hits, strict=True))
    for merge_exit in (True, False):
        solution = CP(merge_exit).propagate(flow, Counts(ef, ep, 4, 7))
        assert np.isfinite(solution.br[~np.isnan(solution.br)]).all()


# --------------------------------------------------------------------------------------------------- odd systems


def program(edges: dict[tuple[int, int], tuple[int, int]], failed: int, passed: int) -> tuple[Spectrum, Program]:
    """A function whose block b contains line b, from how many failed and passed tests take each edge."""
    blocks = max(max(edge) for edge in edges) + 1
    runs = [
        [i for i, (ef, ep) in enumerate(edges.values()) if (test < ef if test < failed else test - failed < ep)]
        for test in range(failed + passed)
    ]
    ends = np.array(list(edges), np.int32)
    members = [(block, block - 2) for block in range(2, blocks)]
    rows = [sorted({int(b) - 2 for i in run for b in ends[i] if b > 1}) for run in runs]
    line, zeros = np.arange(2, blocks, dtype=np.int32), np.zeros(blocks - 2, np.int32)
    spectrum = Spectrum(
        tuple(f"t{i}" for i in range(failed + passed)),
        np.arange(failed + passed) < failed,
        Elements(("f.c",), zeros, line, line, zeros - 1, ()),
        tuple(np.array(row, np.int32) for row in rows),
        np.ones(blocks - 2, bool),
        Edges(*(np.zeros(len(ends), np.int32), ends[:, 0], ends[:, 1]), np.zeros(len(ends), np.int32), EdgeKind.BLOCK),
        tuple(np.array(run, np.int32) for run in runs),
    )
    graph = FlowGraph.from_edges(-1, blocks, [(*edge, i) for i, edge in enumerate(edges)], members)
    return spectrum, Program((), (graph,))


def test_edges_that_cancel_out_are_divided_by_the_papers_constant():
    # Δ of the two edges into block 5 are 1 and -1
    edges = {(0, 2): (1, 1), (2, 3): (1, 0), (2, 4): (0, 1), (3, 5): (1, 0), (4, 5): (0, 1)}
    report = CP().localize(*program(edges, 1, 1))
    solution = report.details
    assert dict(zip(zip(solution.source, solution.target, strict=True), solution.share, strict=True))[3, 5] == 1e10
    assert "divided by 1e-10" in report.caveats()[-1].cause


def test_a_loop_every_run_enters_has_no_single_solution():
    # nothing but the loop's own edge makes its header suspicious, so the equations of the loop say 0 = something
    edges = {
        (0, 2): (2, 2),
        (2, 3): (2, 1),
        (3, 2): (2, 1),
        (2, 4): (2, 2),
        (4, 1): (2, 2),
        (2, 5): (1, 0),
        (5, 4): (1, 0),
    }
    report = CP().localize(*program(edges, 2, 2))
    assert np.isfinite(report.scores).all()
    assert any("without a single solution" in problem.cause for problem in report.caveats())


def test_a_nearly_singular_loop_is_called_rough():
    # of what enters the header, one part in 10^13 comes from outside the loop
    tests = 10**13
    edges = [(0, 2), (2, 3), (3, 2), (2, 4)]
    counts = Counts(np.array([tests, 9, 9, 1]), np.array([tests - 2, 0, 0, 0]), tests, tests)
    flow = ControlFlow((FlowGraph.from_edges(-1, 5, [(*edge, i) for i, edge in enumerate(edges)], []).table,))
    solution = CP().propagate(flow, counts)
    notes = solution.notes
    assert notes["ill-conditioned"].tolist() == [0]
    assert not len(notes["singular"])
    assert np.isfinite(solution.br[2])


@pytest.mark.parametrize("size", [3, 40, 200])  # dense, dense, sparse
def test_large_loops_agree_with_a_dense_solution(size):
    rng = np.random.default_rng(size)
    circle = [(2 + i, 2 + (i + 1) % size) for i in range(size)]
    chords = [(2 + int(a), 2 + int(b)) for a, b in rng.integers(size, size=(size, 2)) if a != b]
    edges = list(dict.fromkeys([(0, 2), *circle, *chords, (2 + size // 2, 2 + size)]))
    ef, ep = rng.integers(1, 9, len(edges)), rng.integers(0, 5, len(edges))
    counts = Counts(ef, ep, 9, 7)  # n/9 is never m/7 here, so no Δ is 0, which makes loops singular
    blocks = size + 3
    flow = ControlFlow((FlowGraph.from_edges(-1, blocks, [(*edge, i) for i, edge in enumerate(edges)], []).table,))
    solution = CP().propagate(flow, counts)
    notes = solution.notes
    matrix = np.eye(blocks)
    np.subtract.at(matrix, (solution.source, solution.target), solution.share)
    right = np.zeros(blocks)
    right[2 + size] = solution.delta[solution.target == 2 + size].sum()
    expected = np.linalg.solve(matrix, right)
    known = ~np.isnan(solution.br)
    np.testing.assert_allclose(solution.br[known], expected[known], rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    assert not len(notes["singular"])


def test_a_large_singular_loop_still_ranks():
    size = 120
    edges = {(0, 2): (2, 2), **{(2 + i, 2 + (i + 1) % size): (2, 1) for i in range(size)}, (2, 2 + size): (1, 0)}
    report = CP().localize(*program(edges, 2, 2))
    assert np.isfinite(report.scores).all()
    assert any("without a single solution" in problem.cause for problem in report.caveats())


def test_the_exit_behind_a_single_way_out_is_no_block_of_its_own():
    # every run leaves, so the way out is innocent; the block before the exit is not
    edges = {(0, 2): (2, 2), (2, 3): (2, 0), (2, 4): (0, 2), (3, 4): (2, 0), (4, 1): (2, 2)}
    merged = CP().localize(*program(edges, 2, 2))
    apart = CP(merge_exit=False).localize(*program(edges, 2, 2))
    assert merged.details.br[4] == 0  # 1 - 1
    assert apart.details.br[EXIT] == 0
    assert set(apart.scores.tolist()) == {0.0}
    several = {(0, 2): (2, 2), (2, 3): (2, 0), (2, 4): (0, 2), (3, 1): (2, 0), (4, 1): (0, 2)}
    assert CP().localize(*program(several, 2, 2)).details.br[EXIT] == 0  # two ways out: the exit stays


def test_statements_outside_any_block_rank_below_all_blocks_but_above_the_unexecuted(figure_1):
    spectrum, structure = figure_1
    graph = structure.graphs[0]
    members = [(block, int(e)) for block in range(6) for e in graph.elements_of(block) if e != 4]
    edges = list(zip(graph.source.tolist(), graph.target.tolist(), graph.edge.tolist(), strict=True))
    rows = tuple(row[row != 7] for row in spectrum.rows)  # line 8 is never executed now
    changed = replace(spectrum, rows=rows)
    report = CP().localize(changed, Program((), (FlowGraph.from_edges(0, 6, edges, members),)))
    assert (report.order + 1).tolist()[-2:] == [5, 8]
    assert "is in no block" in report.explain(7).sentences[1]


def test_says_what_is_missing():
    lines_only = Spectrum.from_matrix([[1, 0], [1, 1]], failed=[True, False])
    with pytest.raises(NothingToRank, match=r"no control-flow edges.*--cov-branch"):
        CP().localize(lines_only)
    zeros = np.zeros(1, np.int32)
    for kind in (EdgeKind.BLOCK, EdgeKind.OUTCOME):
        edges = Edges(zeros, zeros, zeros + 2, zeros - 1, kind)
        spectrum = replace(lines_only, edges=edges, edge_rows=(zeros, zeros))
        with pytest.raises(NothingToRank, match="which blocks its edges join"):
            CP().localize(spectrum)


def test_only_functions_whose_counts_changed_are_solved_again():
    edges = [(0, 2), (2, 3), (2, 4), (3, 4), (4, 1)]
    graphs = [FlowGraph.from_edges(-1, 5, [(*edge, 5 * i + k) for k, edge in enumerate(edges)], []) for i in range(3)]
    flow, rng = ControlFlow(tuple(graph.table for graph in graphs)), np.random.default_rng(2)
    ef, ep = rng.integers(0, 5, 15), rng.integers(0, 8, 15)
    before = CP().propagate(flow, Counts(ef, ep, 4, 7))
    other = ep.copy()
    other[6] += 1
    counts = Counts(ef, other, 4, 7)
    assert Reuse(flow, counts, before).graphs.tolist() == [1]
    assert Reuse(flow, Counts(ef, ep, 4, 7), before).graphs.tolist() == []
    # how many tests there are is part of every equation
    assert Reuse(flow, Counts(ef, ep, 4, 8), before).graphs.tolist() == [0, 1, 2]
    kept, anew = CP().propagate(flow, counts, before), CP().propagate(flow, counts)
    for name in ("br", "edge_delta", "edge_share", "trouble"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(anew, name))
