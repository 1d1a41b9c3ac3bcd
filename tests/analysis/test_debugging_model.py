"""The debugging model over reports: order, next moves with their reasons, and the picture around a place."""

import dataclasses

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank, UsageError
from suspectra.evaluation.appraisal import Appraisal
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.jumps import JumpModel
from suspectra.markov.sampling import sample_hitting_times
from suspectra.program import Program
from suspectra.program.calls import StatementCalls
from suspectra.program.dynamic_flow import DynamicFlow
from suspectra.program.flow_graph import FlowGraph
from suspectra.report import RankedReport, Subgraph, SubgraphReport
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum
from suspectra.techniques import make_technique

OCHIAI = make_technique("ochiai")


def program(function, edges=(), kind=EdgeKind.ARC):
    """One file of a statement a line, counted from 1; an edge joins two lines."""
    count = len(function)
    lines = np.arange(1, count + 1, dtype=np.int32)
    functions = tuple(Function(0, f"f{i}", 1, count) for i in range(max(function) + 1))
    elements = Elements(("a.py",), np.zeros(count, np.int32), lines, lines, np.array(function, np.int32), functions)
    table = np.array(edges, np.int32).reshape(-1, 2)
    zeros = np.zeros(len(table), np.int32)
    every = np.arange(len(table), dtype=np.int32)
    return Spectrum(
        ("t",),
        np.array([True]),
        elements,
        (np.arange(count, dtype=np.int32),),
        np.ones(count, bool),
        Edges(zeros, table[:, 0], table[:, 1], zeros, kind),
        (every,),
    )


def model(scores, function, edges=(), calls=None, **options):
    spectrum = program(function, edges)
    report = RankedReport.from_scores(OCHIAI, spectrum, np.asarray(scores, float))
    return DebuggingModel(report, DynamicFlow.from_spectrum(spectrum), calls, **options)


def dense(chain):
    matrix = np.zeros((chain.first_hub,) * 2)
    for state in range(chain.first_hub):
        targets, probabilities = chain.row(state)
        matrix[state, targets] = probabilities
    return matrix


def times_to(matrix, target):
    keep = np.delete(np.arange(len(matrix)), target)
    times = np.zeros(len(matrix))
    times[keep] = np.linalg.solve(np.eye(len(keep)) - matrix[np.ix_(keep, keep)], np.ones(len(keep)))
    return times


SCORES = [5, 4, 4, 3, 2, 1]
FUNCTION = [0, 0, 1, 1, 2, -1]
EDGES = [(-1, 1), (1, 2), (3, 4), (4, 3), (5, 5)]
CALLS = StatementCalls(np.array([[1, 2]]))


def test_reasons_and_probabilities_of_the_next_moves():
    moves = {m.element: m for m in model(SCORES, FUNCTION, EDGES, CALLS).next_moves(1)}
    assert moves[0].reasons == ("runs just before", "same function")
    assert moves[2].reasons == ("called from here",)
    assert moves[3].reasons == ("next in the ranking",)
    assert sum(m.probability for m in moves.values()) == pytest.approx(1)
    back = {m.element: m for m in model(SCORES, FUNCTION, EDGES, CALLS).next_moves(2)}
    assert back[1].reasons == ("calls this",)
    assert back[3].reasons == ("runs just before", "runs just after", "same function")
    assert back[0].reasons == ("higher in the ranking",)


def first_other(subject, element):
    """The first other location by the transition matrix: a walk that all other locations absorb."""
    matrix, first = dense(subject.chain), subject.chain.first_location
    own = first + subject.chain.location.tolist().index(subject.elements.tolist().index(element))
    passing = [*range(first), own]
    absorbing = [state for state in range(first, len(matrix)) if state != own]
    visits = np.linalg.inv(np.eye(len(passing)) - matrix[np.ix_(passing, passing)])
    met = np.zeros(len(subject.report.spectrum.elements))
    places = subject.elements[subject.chain.location[np.array(absorbing) - first]]
    met[places] = visits[-1] @ matrix[np.ix_(passing, absorbing)]
    return met


def moves_of(subject, element):
    found = np.zeros(len(subject.report.spectrum.elements))
    for move in subject.next_moves(element, limit=None):
        found[move.element] = move.probability
    return found


@pytest.mark.parametrize("scores", [SCORES, [5, 5, 4, 4, 4, 1]])
@pytest.mark.parametrize("p_jump", [0, 0.3, 1])
def test_next_moves_are_those_of_the_chain(scores, p_jump):
    subject = model(scores, FUNCTION, EDGES, CALLS, jumps=JumpModel(p_jump))
    for element in range(6 if p_jump < 1 else 5):
        expected = first_other(subject, element)
        np.testing.assert_allclose(moves_of(subject, element), expected, atol=1e-12)
        order = [m.element for m in subject.next_moves(element, limit=2)]
        np.testing.assert_allclose(expected[order], np.sort(expected)[::-1][: len(order)], atol=1e-12)


def test_who_comes_back_alone_in_a_group_jumps_in_the_end():
    """The pull of the ranking leads back to its only first location, so that hardly anybody gets to the next."""
    subject = model([9, *range(8, 0, -1)], [0, 0, 0, *range(1, 7)])
    chance = moves_of(subject, 0)
    assert chance[1] > chance[2] > 0.47
    assert chance[3] < 0.01


def test_without_jumps_the_ranking_leads():
    quiet = model(SCORES, FUNCTION, EDGES, jumps=JumpModel(0), excluded=[0])
    assert quiet.next_moves(0)[0].reasons == ("next in the ranking",)
    assert {m.element for m in quiet.next_moves(0)[:2]} == {1, 2}
    assert quiet.ht_rank.tolist() == [np.inf, 1, 1, 2.5, 3.5, 4.5]


def test_p_jump_one_still_has_next_moves_but_no_times():
    always = model(SCORES, FUNCTION, EDGES, jumps=JumpModel(1))
    assert [m.element for m in always.next_moves(1)] == [0]
    with pytest.raises(UsageError, match="p_jump"):
        always.ht_rank  # noqa: B018


def test_what_is_excluded_leaves_the_chain_at_once():
    before = model(SCORES, FUNCTION, EDGES, CALLS)
    after = model(SCORES, FUNCTION, EDGES, CALLS, excluded=[1, 0, 99], previous=before)
    assert after.elements.tolist() == [2, 3, 4, 5]
    assert {m.element for m in after.next_moves(1)} <= {2, 3, 4, 5}
    assert after.next_moves(1)[0].element == 2
    assert np.isinf(after.expected_steps[[0, 1]]).all()
    with pytest.raises(NothingToRank) as error:
        model(SCORES, FUNCTION, excluded=range(6))
    assert "examined" in error.value.problem.cause


def test_elements_on_the_same_lines_are_one_place():
    spectrum = program(FUNCTION)
    spectrum.elements.line[4] = spectrum.elements.end_line[4] = 2
    spectrum.elements.line[2] = spectrum.elements.end_line[2] = 1
    report = RankedReport.from_scores(OCHIAI, spectrum, np.array(SCORES, float))
    subject = DebuggingModel(report)
    assert subject.elements.tolist() == [0, 1, 3, 5]
    assert subject.expected_steps[4] == subject.expected_steps[1]
    assert subject.ht_rank[[0, 2]].tolist() == [subject.ht_rank.min()] * 2
    assert subject.expected_steps_from(4)[1] == 0
    assert {m.element for m in subject.next_moves(2)} <= {1, 3, 5}


def test_expected_steps_from_where_the_reader_stands():
    subject = model(SCORES, FUNCTION, EDGES, CALLS)
    matrix, first = dense(subject.chain), subject.chain.first_location
    steps = subject.expected_steps_from(1)
    for target in (0, 2, 3, 4, 5):
        assert steps[target] == pytest.approx(times_to(matrix, first + target)[first + 1], rel=1e-12)
        assert subject.expected_steps[target] == pytest.approx(times_to(matrix, first + target)[0], rel=1e-12)
    assert steps[1] == 0
    assert subject.order_from(1)[0] == 1
    assert subject.order_from().tolist() == subject.elements[np.argsort(subject.ht_rank, kind="stable")].tolist()


def test_expected_steps_from_an_excluded_place():
    whole = model(SCORES, FUNCTION, EDGES, CALLS, excluded=[1])
    matrix, first = dense(whole.chain), whole.chain.first_location
    # element 1 jumps to 0 (runs before) or 2 (called), or goes back to the place of its score, that of 2
    place = whole.chain.group_of_location[whole.elements.tolist().index(2)]
    for element, steps in enumerate(whole.expected_steps_from(1)):
        if element == 1:
            assert steps == np.inf
            continue
        times = times_to(matrix, first + whole.elements.tolist().index(element))
        assert steps == pytest.approx(1 + times[first] / 4 + times[first + 1] / 4 + times[place] / 2, rel=1e-12)


def test_an_element_that_is_no_candidate_can_be_the_start():
    spectrum = program(FUNCTION, EDGES)
    spectrum.candidates[1] = False
    report = RankedReport.from_scores(OCHIAI, spectrum, np.array(SCORES, float))
    subject = DebuggingModel(report, DynamicFlow.from_spectrum(spectrum))
    assert subject.next_moves(1)[0].reasons == ("runs just before", "same function")
    assert np.isfinite(subject.expected_steps_from(1)[[0, 2, 3, 4, 5]]).all()


def test_the_picture_around_a_statement():
    subject = model(SCORES, FUNCTION, EDGES, CALLS)
    picture = subject.neighbourhood(1)
    centre = picture.nodes[0]
    assert (centre.kind, centre.number) == ("location", 1)
    drawn = {node.state for node in picture.nodes}
    assert {"rank", "location"} == {node.kind for node in picture.nodes}
    matrix = dense(subject.chain)
    for edge in picture.edges:
        assert {edge.source, edge.target} <= drawn
        assert edge.probability == pytest.approx(matrix[edge.source, edge.target])
    from_centre = [edge.probability for edge in picture.edges if edge.source == centre.state]
    assert sum(from_centre) == pytest.approx(1)
    with pytest.raises(KeyError):
        model(SCORES, FUNCTION, excluded=[1]).neighbourhood(1)


@pytest.fixture
def subgraphs():
    spectrum = program(FUNCTION, EDGES)
    nothing = np.zeros(0, np.int32)
    graphs = [
        Subgraph(np.array(elements), nothing, ef, 0) for elements, ef in (([0, 1], 1), ([2, 3], 1), ([1, 2, 3], 1))
    ]
    return SubgraphReport.from_subgraphs(OCHIAI, spectrum, graphs, np.array([0.5, 0.9, 0.5]))


def test_a_report_of_subgraphs(subgraphs):
    assert subgraphs.level.tolist() == [1, 1, 0, 0, 2, 2]
    assert [g.elements.tolist() for g in subgraphs.subgraphs] == [[2, 3], [0, 1], [1, 2, 3]]
    assert subgraphs.subgraph_level.tolist() == [0, 1, 1]
    assert subgraphs.subgraphs_of(1) == (1, 2)
    subject = DebuggingModel(subgraphs)
    assert subject.chain.subgraphs == 3
    assert subject.ht_rank.argmin() in (2, 3)
    assert np.isinf(subject.expected_steps[4])
    assert {node.kind for node in subject.neighbourhood(2).nodes} == {"location", "subgraph", "rank"}
    for element in range(4):
        np.testing.assert_allclose(moves_of(subject, element), first_other(subject, element), atol=1e-12)
    assert np.isfinite(subject.expected_steps_from(4)[:4]).all()
    with pytest.raises(KeyError):
        subject.neighbourhood(4)


def test_the_standard_rank_of_a_report_of_subgraphs_counts_subgraphs(subgraphs):
    # one subgraph, then two with the same score; the last two statements are in none
    assert subgraphs.fragment_rank.tolist() == [2, 2, 0.5, 0.5, 4, 4]
    found = Appraisal.from_report(subgraphs, [np.array([0, 5])]).faults[0]
    assert (found.standard_rank, found.rank_best) == (2, 3)


def test_subgraphs_whose_locations_are_all_excluded_go(subgraphs):
    subject = DebuggingModel(subgraphs, excluded=[2, 3])
    assert subject.chain.subgraphs == 2
    places = [n.number for n in subject.neighbourhood(1).nodes if n.kind == "subgraph"]
    assert places == [3, 2] or places == [2, 3]
    rest = DebuggingModel(subgraphs, excluded=[0, 1, 2, 3])
    assert rest.chain.subgraphs == 0
    assert rest.elements.tolist() == [4, 5]


def test_the_estimate_is_near_the_exact_times():
    subject = model([2, 2, 1, 1, 2, 1], FUNCTION, EDGES, CALLS)
    np.testing.assert_allclose(sample_hitting_times(subject.chain, seed=2).steps, subject.expected_steps, rtol=0.05)


def test_the_model_of_all_that_is_known():
    spectrum = program(FUNCTION, EDGES)
    report = RankedReport.from_scores(OCHIAI, spectrum, np.array(SCORES, float))
    source = b"\n".join([b"f1(0)", b"0", b"def f1(x):", b"    x", b"0", b"0"])
    whole = DebuggingModel.from_report(report, Program((), source_of=lambda path: source))
    assert whole.next_moves(0)[0].reasons == ("runs just after", "same function")
    assert "called from here" in {reason for move in whole.next_moves(0) for reason in move.reasons}
    np.testing.assert_array_equal(
        DebuggingModel.from_report(report).expected_steps, model(SCORES, FUNCTION, EDGES).expected_steps
    )


def test_techniques_are_compared_by_the_jumps_of_the_paper():
    """Definition 26: the other lines of the function, and control flow of failing runs; no calls."""
    spectrum = program([0, 0, 1, 1, 2, 2], [(1, 3), (3, 5)])
    spectrum = dataclasses.replace(
        spectrum,
        tests=("bad", "good"),
        failed=np.array([True, False]),
        rows=(spectrum.rows[0], spectrum.rows[0]),
        edge_rows=(np.array([0], np.int32), np.array([1], np.int32)),
    )
    report = RankedReport.from_scores(OCHIAI, spectrum, np.array(SCORES, float))
    source = Program((), source_of=lambda path: b"f2()\n0\ndef f1():\n    0\ndef f2():\n    0")
    matrix = dense(DebuggingModel.for_studies(report, source, 0.4).chain)
    groups = 5
    jumps = matrix[groups:, groups:] > 0
    neighbours = {(0, 1), (2, 3), (4, 5), (0, 2)}
    assert {(x, y) for x, y in np.argwhere(jumps).tolist() if x < y} == neighbours
    np.testing.assert_allclose(matrix[groups:, groups:].sum(axis=1), 0.4)
    assert len(DebuggingModel.from_report(report, source).chain.row(groups + 2)[0]) == 4, (
        "and the flow of passing tests"
    )


def test_flow_by_blocks():
    spectrum = program([0] * 5, [(0, 1), (1, 2)], EdgeKind.BLOCK)
    graph = FlowGraph.from_edges(0, 4, [(0, 1, 0), (1, 2, -1), (1, 3, 1)], [(0, 0), (0, 1), (1, 2), (3, 3), (3, 4)])
    flow = DynamicFlow.from_spectrum(spectrum, [graph])
    assert flow.pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert flow.elements_of(flow.nodes - 1).tolist() == [3, 4]
    assert DynamicFlow.from_spectrum(spectrum).pairs.tolist() == []
    assert DynamicFlow.from_spectrum(program([0] * 5)).pairs.tolist() == []


def test_flow_by_lines_finds_the_statement_a_line_is_inside():
    spectrum = program([0] * 4)
    spectrum.elements.end_line[1] = 3
    spectrum.elements.line[2:] = [4, 5]
    spectrum.elements.end_line[2:] = [4, 5]
    lines = np.array([[1, 3], [3, 4], [-1, 1], [9, 1]], np.int32)
    edges = Edges(np.zeros(4, np.int32), lines[:, 0], lines[:, 1], np.zeros(4, np.int32))
    assert DynamicFlow.from_lines(spectrum.elements, edges).pairs.tolist() == [[0, 1], [1, 2]]
