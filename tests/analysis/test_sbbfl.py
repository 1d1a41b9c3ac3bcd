"""SBBFL: the subgraphs its walks find, and the ranking they imply."""

from dataclasses import replace

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank, UsageError
from suspectra.evaluation.scores import standard_rank
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.report import SubgraphReport
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum
from suspectra.techniques.control_flow.sbbfl import MEASURES, SBBFL

# f: blocks 2 → 3 → 5, 2 → 4 → 5, 5 → 6 → 8, 5 → 7 → 8, one line each; only 3 followed by 6 goes wrong
ARCS = [(0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (5, 7), (6, 8), (7, 8), (8, 1)]
A, B = [1, 3], [2, 4]  # left, right in the first decision
C, D = [5, 7], [6, 8]  # in the second
RUNS = [A + C, A + C, A + D, B + C, B + D, A + D, B + C]
FAILED = [True, True, False, False, False, False, False]
GRAPH = FlowGraph.from_edges(
    0, 9, [(s, t, k) for k, (s, t) in enumerate(ARCS)], [(block, block - 2) for block in range(2, 9)]
)
PROGRAM = Program((), (GRAPH,))


def spectrum_of(runs, failed, candidates=None):
    lines = np.arange(1, 9, dtype=np.int32)  # line 8 is executed by no test
    zeros = np.zeros(8, np.int32)
    elements = Elements(("f.c",), zeros, lines, lines, zeros, (Function(0, "f", 1, 8),))
    edge_rows = tuple(np.array(sorted([0, *run, 9]), np.int32) for run in runs)
    rows = tuple(np.unique([ARCS[k][1] - 2 for k in row if ARCS[k][1] >= 2]).astype(np.int32) for row in edge_rows)
    source, target = (np.array(ends, np.int32) for ends in zip(*ARCS, strict=True))
    nothing = np.zeros(len(ARCS), np.int32)
    return Spectrum(
        tuple(f"t{i}" for i in range(len(runs))),
        np.array(failed),
        elements,
        rows,
        np.ones(8, bool) if candidates is None else candidates,
        Edges(nothing, source, target, nothing, EdgeKind.BLOCK),
        edge_rows,
    )


SPECTRUM = spectrum_of(RUNS, FAILED)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_only_failing_tests_do_together_is_the_best_subgraph(measure):
    report = SBBFL(measure).localize(SPECTRUM, PROGRAM)
    best = report.subgraphs[0]
    assert (best.ef, best.ep) == (2, 0)
    # neither branch alone tells: it takes the left arm and then the left arm again
    assert {1, 3} & set(best.edges.tolist())
    assert {5, 7} & set(best.edges.tolist())
    assert not {2, 4, 6, 8} & set(best.edges.tolist())
    assert {1, 3, 4} <= set(best.elements.tolist())


def test_counts_are_those_of_the_tests_that_traverse_all_edges():
    report = SBBFL(walks=50).localize(SPECTRUM, PROGRAM)
    for graph in report.subgraphs:
        wanted = set(graph.edges.tolist())
        showing = [wanted <= set(row.tolist()) for row in SPECTRUM.edge_rows]
        if not wanted:  # one block
            showing = [graph.elements[0] in row for row in SPECTRUM.rows]
        assert graph.ef == sum(shown and bad for shown, bad in zip(showing, FAILED, strict=True))
        assert graph.ep == sum(shown and not bad for shown, bad in zip(showing, FAILED, strict=True))


def test_the_ranking_of_elements_is_that_of_their_best_subgraph():
    report = SBBFL(seed=3).localize(SPECTRUM, PROGRAM)
    assert isinstance(report, SubgraphReport)
    for element in range(7):
        containing = report.subgraphs_of(element)
        if containing:
            assert report.level[element] == report.subgraph_level[containing[0]]
            assert report.level_score[report.level[element]] > 0
    assert report.level[7] == report.level.max() > report.level[:7].max()
    assert (np.diff(report.scores) <= 0).all()


def test_the_same_seed_gives_the_same_subgraphs_whatever_the_order_of_tests():
    once, again = SBBFL(seed=1).localize(SPECTRUM, PROGRAM), SBBFL(seed=1).localize(SPECTRUM, PROGRAM)
    turned = SBBFL(seed=1).localize(spectrum_of(RUNS[::-1], FAILED[::-1]), PROGRAM)
    for other in (again, turned):
        assert [g.edges.tolist() for g in other.subgraphs] == [g.edges.tolist() for g in once.subgraphs]
        np.testing.assert_array_equal(other.level, once.level)


def test_subgraphs_are_connected_and_of_no_more_edges_than_asked():
    for graph in SBBFL(max_edges=2).localize(SPECTRUM, PROGRAM).subgraphs:
        assert len(graph.edges) <= 2
        if len(graph.edges) == 2:
            assert set(ARCS[graph.edges[0]]) & set(ARCS[graph.edges[1]])


def test_min_fails():
    some = spectrum_of([*RUNS, A + D], [*FAILED, True])
    graphs = SBBFL(min_fails=3).localize(some, PROGRAM).subgraphs
    assert graphs
    assert all(graph.ef >= 3 for graph in graphs)
    with pytest.raises(NothingToRank, match="min_fails asks for 4 failing tests, and there are 3"):
        SBBFL(min_fails=4).localize(some, PROGRAM)


def test_test_code_is_no_suspect():
    mine = np.ones(8, bool)
    mine[[1, 4]] = False
    report = SBBFL().localize(spectrum_of(RUNS, FAILED, mine), PROGRAM)
    assert not {1, 4} & {e for graph in report.subgraphs for e in graph.elements.tolist()}
    assert report.level[[1, 4]].tolist() == [-1, -1]


def test_nothing_to_distinguish_gives_no_subgraph():
    report = SBBFL().localize(spectrum_of([A + C, B + D], [True, True]), PROGRAM)
    assert report.subgraphs == ()
    assert set(report.level[:7].tolist()) == {0}
    assert DebuggingModel(report).chain.is_ranked_list or DebuggingModel(report).chain.subgraphs == 0


def test_explains_itself():
    report = SBBFL().localize(SPECTRUM, PROGRAM)
    first = report.explain(0)
    assert first.headline.startswith("Suspect 1 of 8")
    assert "of 2 failing and 0 of 5 passing tests traverse" in first.sentences[0]
    assert first.substituted.endswith(f"= {report.scores[0]:.6g}")
    assert report.explain(7).sentences[-1] == "No test runs it."


def test_python_arcs_need_no_graphs():
    arcs = np.array([(-1, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, -1)], np.int32)
    zeros = np.zeros(6, np.int32)
    spectrum = replace(
        SPECTRUM,
        edges=Edges(zeros, arcs[:, 0], arcs[:, 1], zeros),
        edge_rows=tuple(np.array([0, 1, 3, 5] if bad else [0, 2, 4, 5], np.int32) for bad in FAILED),
    )
    best = SBBFL().localize(spectrum).subgraphs[0]
    assert 1 in best.elements
    assert 2 not in best.elements


def test_the_fault_is_nearer_by_expected_steps_than_in_a_plain_list():
    report = SBBFL().localize(SPECTRUM, PROGRAM)
    ranks = DebuggingModel(report).ht_rank
    fault = 4
    assert ranks[fault] <= standard_rank(-report.level.astype(float))[fault] + 0.5


@pytest.mark.parametrize(
    "bad", [{"measure": "tarantula"}, {"walks": 0}, {"min_fails": 0}, {"max_edges": -1}, {"walks": float("nan")}]
)
def test_parameters_that_make_no_sense(bad):
    with pytest.raises(UsageError) as error:
        SBBFL(**bad)
    assert error.value.problem.cure


def test_without_edges_there_is_nothing_to_rank():
    with pytest.raises(NothingToRank):
        SBBFL().localize(replace(SPECTRUM, edges=None, edge_rows=None))
    with pytest.raises(NothingToRank):
        SBBFL().localize(spectrum_of(RUNS, [False] * 7), PROGRAM)
