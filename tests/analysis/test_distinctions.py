"""What tells suspects apart: laws on random spectra, small programs, and the ledger as it is known by hand."""

import json
import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.distinctions.comparison import Standing, SuspectComparison
from suspectra.distinctions.executions import Executions
from suspectra.distinctions.function_flow import FunctionFlow, FunctionFlows, Way
from suspectra.distinctions.steps import DirectCall, MissingOutcome, NearestTest, SameCoverage, gain
from suspectra.distinctions.tie import Tie, advise
from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum
from suspectra.techniques import make_technique

TECHNIQUES = st.sampled_from(["evidence", "ochiai", "op2"])


@st.composite
def spectra(draw: st.DrawFn) -> Spectrum:
    """Small suites with a suspect, in which some statements may not be suspected."""
    tests, columns = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    hits = chance.random((tests, columns)) < draw(st.sampled_from([0.4, 0.7, 0.9]))
    failed = chance.random(tests) < 0.4
    failed[0] = True
    candidates = chance.random(columns) < 0.8
    column = int(chance.integers(columns))
    hits[0, column] = candidates[column] = True
    return replace(Spectrum.from_matrix(hits, failed), candidates=candidates)


def matrix(spectrum: Spectrum) -> np.ndarray:
    found = np.zeros((len(spectrum.tests), len(spectrum.elements)), bool)
    for test, row in enumerate(spectrum.rows):
        found[test, row] = True
    return found & spectrum.candidates


# ------------------------------------------------------------------------------------------------------ laws


@given(spectra(), st.data())
def test_executions_are_those_of_the_matrix(spectrum, data):
    hits, executions = matrix(spectrum), Executions(spectrum)
    assert executions.size.tolist() == hits.sum(axis=1).tolist()
    own = np.flatnonzero(spectrum.candidates)
    columns = np.array(sorted(data.draw(st.sets(st.sampled_from(own.tolist())))), np.int64)
    assert executions.count(columns).tolist() == hits[:, columns].sum(axis=1).tolist()
    bad, good = np.flatnonzero(spectrum.failed), np.flatnonzero(~spectrum.failed)
    limit = data.draw(st.integers(1, 4))

    def similarity(one, other):
        either = (hits[one] | hits[other]).sum()
        return (hits[one] & hits[other]).sum() / max(either, 1)

    best = sorted((max(similarity(one, other) for one in bad) for other in good), reverse=True)[:limit]
    pairs = executions.most_alike(bad, good, limit)
    assert [pair.similarity for pair in pairs] == pytest.approx(best)
    for pair in pairs:
        assert pair.similarity == pytest.approx(similarity(pair.failing, pair.passing))


@given(spectra(), TECHNIQUES)
def test_ties_and_their_steps_hold_what_they_say(spectrum, name):
    report, hits = make_technique(name).localize(spectrum), matrix(spectrum)
    suspects = np.flatnonzero(spectrum.candidates & (spectrum.counts.ef > 0))
    ties = {element: tuple(Tie.from_report(report, element).members.tolist()) for element in suspects.tolist()}
    assert sorted({member for members in ties.values() for member in members}) == suspects.tolist()
    for element, members in ties.items():
        assert element in members
        assert all(ties[member] == members for member in members)
        advice = advise(report, None, element)
        own = hits[:, list(members)]
        assert advice.agreeing == all(row.all() or not row.any() for row in own)
        for test in advice.partial:
            assert own[test].any()
            assert not own[test].all()
        for step in advice.steps:
            assert step.gain is None or 0 <= step.gain <= math.log2(len(members))
            assert step.sentence(spectrum).endswith(".")
            if isinstance(step, (SameCoverage, NearestTest)):
                assert spectrum.failed[step.pair.failing]
                assert not spectrum.failed[step.pair.passing]
            if isinstance(step, SameCoverage):
                assert hits[step.pair.failing].tolist() == hits[step.pair.passing].tolist()
        pairs = [(a, b) for a in np.flatnonzero(spectrum.failed) for b in np.flatnonzero(~spectrum.failed)]
        exists = any(own[a].any() and (hits[a] == hits[b]).all() for a, b in pairs)
        assert exists == any(isinstance(step, SameCoverage) for step in advice.steps)


@given(spectra(), TECHNIQUES)
def test_the_first_tie_is_the_first_of_several(spectrum, name):
    report = make_technique(name).localize(spectrum)
    tie = Tie.first(report)
    suspects = [s.element for s in report.suspects() if s.ef]
    ties = (Tie.from_report(report, element) for element in suspects)
    several = [tie for tie in ties if len(tie.members) > 1]
    expected = several[0] if several else Tie.from_report(report, suspects[0])
    assert tie.members.tolist() == expected.members.tolist()
    ranks = [report.suspect_of(member) for member in tie.members.tolist()]
    assert tie.rank_best == min(rank.rank_best for rank in ranks)


@given(spectra(), TECHNIQUES)
def test_witnesses_tell_a_line_from_the_first_suspect(spectrum, name):
    report, hits = make_technique(name).localize(spectrum), matrix(spectrum)
    first = int(report.top(1)[0])
    for element in np.flatnonzero(spectrum.candidates).tolist():
        found = SuspectComparison.from_report(report, element)
        assert (found.standing is Standing.FIRST) == (element == first)
        assert found.rival != element
        assert all(sentence.endswith(".") for sentence in found.sentences)
        if found.rival < 0:
            continue
        own, other = hits[:, element], hits[:, found.rival]
        assert found.passing == (own & ~spectrum.failed).sum()
        assert found.apart == (own & ~other & ~spectrum.failed).sum()
        assert found.failing_apart == (other & ~own & spectrum.failed).sum()
        assert len(found.failing_witnesses) == min(2, found.failing_apart)
        for pair in found.passing_witnesses:
            assert own[pair.passing]
            assert not other[pair.passing]
            assert not spectrum.failed[pair.passing]
        for test in found.failing_witnesses:
            assert spectrum.failed[test]
            assert other[test]
            assert not own[test]


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_gain_is_the_entropy_of_a_part(part, whole):
    part = min(part, whole)
    assert 0 <= gain(part, whole) <= min(1, math.log2(whole)) + 1e-12
    assert gain(part, whole) == pytest.approx(gain(whole - part, whole))


@given(st.integers(0, 10**6), st.integers(2, 7))
def test_what_a_way_is_sure_to_execute_is_on_every_path(number, nodes):
    """Against all walks from the entry over the way to the exit that go over no way twice."""
    chance = np.random.default_rng(number)
    inner = [pair for pair in combinations(range(1, nodes + 1), 2) if chance.random() < 0.5]
    ends = [(0, 1), *inner, (nodes, nodes + 1)]
    if chance.random() < 0.5:
        ends.append((nodes, 1))
    linked = [node for node in range(1, nodes + 1) if {node} <= {a for a, _ in ends} and {node} <= {b for _, b in ends}]
    ends = [(a, b) for a, b in ends if {a, b} <= {0, nodes + 1, *linked}]
    flow = FunctionFlow(
        ((), *((node,) for node in range(1, nodes + 1)), ()), tuple(Way(a, b, -1, True, b) for a, b in ends)
    )
    walks = []

    def walk(path):
        if path[-1] == nodes + 1:
            walks.append(path)
        for a, b in ends:
            if a == path[-1] and path.count(b) < 2:
                walk([*path, b])

    walk([0])
    reached = {node for path in walks for node in path}
    if not {end for pair in ends for end in pair} <= reached:  # a part that no way enters or leaves
        return
    for way in flow.ways:
        over = [path for path in walks if any(pair == (way.source, way.target) for pair in pairwise(path))]
        if over:
            assert flow.certain(way) == frozenset(set.intersection(*map(set, over)) - {0, nodes + 1})


# ------------------------------------------------------------------------------------------------- small programs


SOURCE = b"""def price(rate, net):
    if rate:
        net = net * rate
    return net


def total(net):
    extra = price(1, net)
    return extra
"""


def program(*, edges: bool = True, source: bytes | None = SOURCE) -> tuple[Spectrum, Program]:
    """Two functions of one file; one failing test goes through both, a passing one through nothing."""
    lines = np.array([1, 2, 3, 4, 7, 8, 9], np.int32)
    function = np.array([-1, 0, 0, 0, -1, 1, 1], np.int32)
    file = MeasuredFile("price.py", None, lines, lines, function, (("price", 1, 4), ("total", 7, 9)))
    elements = Elements(("price.py",), lines * 0, lines, lines, function, file.functions_at(0))
    ends = [(-1, 2), (2, 3), (3, 4), (4, -1), (-7, 8), (8, 9), (9, -7)]
    source_line, target = np.array(ends, np.int32).T
    arcs = Edges(source_line * 0, source_line, target, source_line * 0)
    spectrum = Spectrum(
        ("test_total", "test_nothing"),
        np.array([True, False]),
        elements,
        (np.array([1, 2, 3, 5, 6], np.int32), np.zeros(0, np.int32)),
        np.ones(len(lines), bool),
        arcs if edges else None,
        (np.arange(len(ends), dtype=np.int32), np.zeros(0, np.int32)) if edges else None,
    )
    return spectrum, Program((file,), (), None if source is None else lambda path: source)


def test_the_other_outcome_and_the_inner_function_are_offered():
    spectrum, structure = program()
    report = make_technique("ochiai").localize(spectrum, structure)
    advice = advise(report, structure)
    assert advice.tie.members.tolist() == [1, 2, 3, 5, 6]
    outcome, call = (
        next(step for step in advice.steps if isinstance(step, kind)) for kind in (MissingOutcome, DirectCall)
    )
    assert (outcome.element, outcome.line, outcome.members, outcome.avoided) == (1, 4, 2, (2,))
    assert outcome.gain == pytest.approx(gain(2, 5))
    assert "goes from price.py:2 to line 4, as none does: it need not execute price.py:3." in outcome.sentence(spectrum)
    assert (call.element, call.members) == (1, 3), "total names price, so a test of it executes all"
    assert "calls price directly: it has 3 of these 5 statements." in call.sentence(spectrum)


def test_without_the_source_only_recorded_ways_are_known():
    spectrum, structure = program(source=None)
    advice = advise(make_technique("ochiai").localize(spectrum, structure), structure)
    assert [step.kind for step in advice.steps] == ["direct call", "direct call", "nearest test"]


def test_without_branches_functions_are_left():
    spectrum, structure = program(edges=False)
    advice = advise(make_technique("ochiai").localize(spectrum, structure), structure)
    assert [step.kind for step in advice.steps] == ["direct call", "nearest test"]


@pytest.mark.parametrize(
    ("path", "names", "functions", "called"),
    [
        ("price.c", ("price", "main"), None, ["price"]),
        ("price.cpp", ("price", "main::{lambda(int)#1}::operator()(int) const"), None, ["price"]),
        ("price.py", ("price", "main"), None, ["price", "main"]),
        ("price.py", ("price", "price.inner"), [-1, 0, 0, 0, 0, 1, 1], ["price"]),
    ],
)
def test_only_functions_that_a_test_can_call_are_offered(path, names, functions, called):
    spectrum, _ = program(edges=False, source=None)
    functions = spectrum.elements.function if functions is None else np.array(functions, np.int32)
    given = tuple(replace(one, name=name) for one, name in zip(spectrum.elements.functions, names, strict=True))
    elements = replace(spectrum.elements, files=(path,), functions=given, function=functions)
    spectrum = replace(spectrum, elements=elements)
    steps = advise(make_technique("ochiai").localize(spectrum)).steps
    assert {step.sentence(spectrum).split()[7] for step in steps if isinstance(step, DirectCall)} == set(called)


def test_an_outcome_that_leads_nowhere_known_gains_nothing_known():
    spectrum, structure = program(edges=False)
    two = np.array([2, 2], np.int32)
    edges = Edges(two * 0, two, np.array([-1, -2]), two * 0 - 1, EdgeKind.OUTCOME)
    spectrum = replace(spectrum, edges=edges, edge_rows=(np.array([0], np.int32), np.zeros(0, np.int32)))
    advice = advise(make_technique("ochiai").localize(spectrum, structure), structure)
    outcome = next(step for step in advice.steps if isinstance(step, MissingOutcome))
    assert outcome.gain is None
    assert outcome.sentence(spectrum).endswith("takes the other outcome at price.py:2, as none does.")


def test_blocks_of_compiled_code():
    """if (a) b; c; with the else way never taken, in the graph that a compiler wrote."""
    graph = FlowGraph.from_edges(
        0, 5, [(0, 2, 0), (2, 3, 1), (2, 4, 2), (3, 4, 3), (4, 1, 4)], [(2, 0), (3, 1), (4, 2)]
    )
    lines, zeros = np.array([2, 3, 4], np.int32), np.zeros(3, np.int32)
    elements = Elements(("a.c",), zeros, lines, lines, zeros, (Function(0, "work", 1, 5),))
    ends = np.array([(0, 2), (2, 3), (2, 4), (3, 4), (4, 1)], np.int32)
    edges = Edges(np.zeros(5, np.int32), ends[:, 0], ends[:, 1], np.zeros(5, np.int32), EdgeKind.BLOCK)
    row, ways = np.arange(3, dtype=np.int32), np.array([0, 1, 3, 4], np.int32)
    spectrum = Spectrum(("t1",), np.array([True]), elements, (row,), np.ones(3, bool), edges, (ways,))
    structure = Program((), (graph,))
    advice = advise(make_technique("ochiai").localize(spectrum, structure), structure)
    assert [(step.kind, step.element, step.line, step.members) for step in advice.steps] == [
        ("missing outcome", 0, 4, 2)
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (2, ["price.py:2 is the first suspect, and price.py:3 the next", "have the same score"]),
        (7, ["price.py:7 ran while its module was imported"]),
        (4, ["No failing test executes price.py:4, and 1 passing test executes it.", "none goes on to line 4"]),
        (9, ["No test executes price.py:9", "as near as price.py:8, from where none goes on to line 9"]),
    ],
)
def test_why_not_says_something_of_every_line(line, words):
    spectrum, structure = program()
    rows = (np.array([1, 2, 5], np.int32), np.array([3], np.int32))
    spectrum = replace(spectrum, rows=rows, edge_rows=(np.array([0, 1, 4], np.int32), np.array([3], np.int32)))
    report = make_technique("ochiai").localize(spectrum, structure)
    element = spectrum.elements.at("price.py", line)
    text = " ".join(SuspectComparison.from_report(report, element, structure, np.array([0, 4])).sentences)
    assert all(word in text for word in words), text


def test_questions_about_what_is_no_suspect_are_refused():
    spectrum = replace(Spectrum.from_matrix([[1, 1, 0]], failed=[True]), candidates=np.array([True, False, True]))
    report = make_technique("ochiai").localize(spectrum)
    for element in (1, 2):
        with pytest.raises(ValueError, match="not a suspect"):
            Tie.from_report(report, element)
    with pytest.raises(ValueError, match="not a candidate"):
        SuspectComparison.from_report(report, 1)
    assert FunctionFlows(spectrum, None).for_element(0) is None


# ---------------------------------------------------------------------------------------------------- the ledger


@pytest.fixture
def explain(recorded_ledger, capsys, monkeypatch):
    """Runs `suspectra explain` in the ledger: (status, stdout, stderr)."""
    monkeypatch.chdir(recorded_ledger)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(["explain", "--technique", "evidence", *arguments])
        return status, *capsys.readouterr()

    return call


def test_the_tie_of_the_ledger(explain):
    found = json.loads(explain("--tie", "--format", "json")[1])
    assert [member["line"] for member in found["members"]] == [55, *range(59, 67)]
    assert (found["rank_best"], found["rank_worst"], found["agreeing"]) == (1, 9, True)
    assert found["bits"] == pytest.approx(math.log2(9))
    same, call = found["steps"]
    assert same["kind"] == "same coverage"
    assert "test_a_change_to_the_same_rate_costs_nothing passes and executes the same as" in same["sentence"]
    assert "test_a_period_in_which_the_rate_changes" in same["sentence"]
    assert (call["kind"], call["members"], round(call["gain"], 2)) == ("direct call", 8, 0.5)
    assert "TaxTable._tax_by_days directly: it has 8 of these 9" in call["sentence"]


def test_why_not_a_line_of_the_ledger(explain):
    found = json.loads(explain("src/ledger/tax.py:53", "--why-not", "--format", "json")[1])
    assert (found["standing"], found["rank_best"], found["compared_with"]["line"]) == ("behind", 10, 66)
    assert (found["passing"], found["apart"], found["failing_apart"]) == (18, 17, 0)
    nearest = found["passing_witnesses"][0]
    assert nearest["test"].endswith("test_a_total_that_is_wrong")
    assert round(nearest["similarity"], 2) == 0.91
    assert "without them that of tax.py:66 is 0.8875" in found["reason"]
    assert found["tie"] is None


def test_explanations_fit_a_terminal_of_80_columns(explain):
    for place in ("53", "55", "60", "36", "17"):
        status, out, _ = explain(f"src/ledger/tax.py:{place}", "--why-not")
        assert status == 0
        assert out.startswith(f"src/ledger/tax.py:{place}")
        names = "test_a_month_of_service"
        assert all(len(line) <= 80 or names in line for line in out.splitlines()), out
    status, out, _ = explain("--tie")
    assert out.startswith("9 statements at ranks 1 to 9 have the same score.\n    src/ledger/tax.py:55  return self")
    assert "- Every test executes all of them or none.\n" in out
    assert "0.50 of 3.17 bits" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["src/ledger/tax.py:56", "--why-not"], "name line 55"),
        (["src/ledger/gone.py:5", "--why-not"], "it was not measured"),
        (["src/ledger/tax.py:36", "--tie"], "no failing test executes it"),
        (["--why-not"], "FILE:LINE"),
        (["src/ledger/tax.py:53", "--tie", "--why-not"], "--why-not or --tie"),
        (["src/ledger/tax.py:53", "--format", "json"], "--format goes with"),
        ([], "FILE:LINE"),
    ],
    ids=" ".join,
)
def test_questions_that_have_no_answer(explain, arguments, words):
    status, out, err = explain(*arguments)
    assert (status, out) == (2, "")
    assert words in err
