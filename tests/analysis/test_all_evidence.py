"""Ranking by all evidence: each key alone, what is said of it, and what is missing."""

import ast
import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.program.python.source import PythonSource
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.program.statements import StatementKind, StatementProperties, statements
from suspectra.spectrum import FIRST_OUTCOME, ChangedRows, EdgeKind, Edges, Elements, Function, Spectrum
from suspectra.techniques import make_technique
from suspectra.techniques.failure_weights import UNIT, FailureWeights

EVIDENCE = make_technique("evidence")


def elements_of(count, function=(), functions=(), file="shop.py"):
    lines = np.arange(1, count + 1, dtype=np.int32)
    function = np.array(function or [-1] * count, np.int32)
    return Elements((file,), np.zeros(count, np.int32), lines, lines, function, functions)


def spectrum_of(*runs, elements=None, raised=None, arcs=()):
    """Runs as (failed, lines, arcs that were taken); arcs stand for edges between lines."""
    elements = elements or elements_of(max(line for _, lines, *_ in runs for line in lines))
    table = list(arcs)
    ends = np.array(table, np.int32).reshape(-1, 2)
    zeros = np.zeros(len(table), np.int32)
    taken = [np.array(sorted(table.index(arc) for arc in (more[0] if more else ())), np.int32) for *_, more in
             ((failed, lines, more) for failed, lines, *more in runs)]  # fmt: skip
    return Spectrum(
        tuple(f"t{i}" for i in range(len(runs))),
        np.array([failed for failed, *_ in runs]),
        elements,
        tuple(np.array(sorted(lines), np.int32) - 1 for _, lines, *_ in runs),
        np.ones(len(elements), bool),
        Edges(zeros, ends[:, 0], ends[:, 1], zeros - 1) if table else None,
        tuple(taken) if table else None,
        raised=None if raised is None else np.array(raised, np.int32),
    )


def program_of(text):
    return Program((), source_of=lambda path: text.encode())


def lines_in_order(report):
    """Lines of each level."""
    levels = {}
    for element in report.order.tolist():
        levels.setdefault(int(report.level[element]), []).append(int(report.spectrum.elements.line[element]))
    return list(levels.values())


def reason(report, line):
    return report.explain(int(report.position[line - 1])).sentences[0]


def test_statements_are_ordered_by_a_measure_and_those_no_failing_test_executes_come_last():
    report = EVIDENCE.localize(spectrum_of((True, {1, 2}), (False, {1, 3}), elements=elements_of(4)))
    assert lines_in_order(report) == [[2], [1], [3], [4]]
    assert report.level_score.tolist() == [1.0, 0.775, 0.0, 0.0]


def test_a_statement_is_as_suspicious_as_a_branch_that_leaves_it():
    arcs = [(1, 2), (1, 3)]
    spectrum = spectrum_of((True, {1, 2}, {(1, 2)}), (False, {1, 3}, {(1, 3)}), (False, {1, 3}, {(1, 3)}), arcs=arcs)
    report = EVIDENCE.localize(spectrum)
    assert report.level_score[report.level[0]] == 1.0
    # of the two with this score, the one that passing tests do not execute comes first
    assert lines_in_order(report) == [[2], [1], [3]]
    assert reason(report, 1) == "From here control goes to line 2 in the failing test and in no passing one."


def test_a_failing_test_that_executes_little_counts_for_more():
    report = EVIDENCE.localize(spectrum_of((True, {1}), (True, {2, 3, 4}), (False, set())))
    assert lines_in_order(report) == [[1], [2, 3, 4]]
    assert reason(report, 1) == "t0 executes it and counts for 75% of the failures, as it executes only 1 statement."


def test_where_tests_failed_orders_what_is_equal():
    report = EVIDENCE.localize(spectrum_of((True, {1, 2}), (True, {1, 2}), raised=[1, -1]))
    assert lines_in_order(report) == [[2], [1]]
    assert reason(report, 2) == "Ahead of equal scores: 1 of 2 failing tests failed right here."


def test_kinds_order_what_is_equal():
    text = "a = 1\nif a:\n    return a\n"
    report = EVIDENCE.localize(spectrum_of((True, {1, 2, 3})), program_of(text))
    assert lines_in_order(report) == [[3], [2], [1]]
    assert reason(report, 3) == "Ahead of equal scores: it returns."
    assert reason(report, 2) == "Ahead of equal scores: it decides where control goes."


def test_of_equal_statements_those_of_the_function_that_is_executed_least_come_first():
    functions = (Function(0, "f", 1, 3), Function(0, "g", 4, 4))
    elements = elements_of(4, [0, 0, 0, 1], functions)
    report = EVIDENCE.localize(spectrum_of((True, {1, 2, 4}), (False, {2}), elements=elements))
    assert lines_in_order(report) == [[4], [1], [2], [3]]
    assert reason(report, 4) == "Ahead of equal scores: failing tests execute only 1 statement of its function."


def test_the_first_line_is_one_of_the_first_function():
    functions = (Function(0, "f", 1, 3), Function(0, "g", 4, 4))
    elements = elements_of(4, [0, 0, 0, 1], functions)
    report = EVIDENCE.localize(spectrum_of((True, {1, 2, 4}), elements=elements))
    assert lines_in_order(report) == [[1, 2], [4], [3]]
    assert report.first_suspect == report.order[0]
    assert reason(report, 1) == "Ahead of equal scores: 2 statements of its function have this score."


def test_lines_that_only_open_or_close_a_function_come_after_what_else_failing_tests_execute():
    functions = (Function(0, "f", 1, 3), Function(0, "one_line", 4, 4))
    spectrum = spectrum_of(
        (True, {1, 2, 3, 4}), (False, {2, 4}), elements=elements_of(5, [0, 0, 0, 1, -1], functions, "shop.c")
    )
    report = EVIDENCE.localize(spectrum)
    assert lines_in_order(report) == [[4], [2], [1, 3], [5]]
    assert "only opens or only closes" in reason(report, 1)
    python = replace(spectrum, elements=elements_of(5, [0, 0, 0, 1, -1], functions))
    assert lines_in_order(EVIDENCE.localize(python))[0] == [1, 3]


def test_what_is_missing_is_said():
    spectrum = spectrum_of((True, {1, 2}), (False, {1}))
    assert EVIDENCE.localize(spectrum).without == ("branches", "tracebacks", "kinds of statements", "functions")
    broken = make_technique("evidence", break_ties="ochiai").localize(spectrum)
    assert broken.without == EVIDENCE.localize(spectrum).without
    full = spectrum_of((True, {1, 2}, {(1, 2)}), raised=[0], arcs=[(1, 2)])
    assert EVIDENCE.localize(full).without == ()
    assert EVIDENCE.info.wants_edges


def tree_kinds(text):
    kinds = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Return):
            kinds[node.lineno] = StatementKind.RETURN
        elif isinstance(node, (ast.If, ast.While, ast.For, ast.AsyncFor, ast.Match, ast.Assert)):
            kinds[node.lineno] = StatementKind.DECISION
    return kinds


SOFT = """match = f
match (match):
    case 1:
        match(2)
match.x = 3
match: int = 3
match[1:2] = []
returned = 1
"""


@pytest.mark.parametrize("name", ["json.decoder", "dataclasses", "asyncio.queues", None])
def test_the_first_word_of_a_line_gives_the_kind_that_the_syntax_tree_gives(name):
    text = SOFT if name is None else Path(importlib.util.find_spec(name).origin).read_text("utf-8")
    source = PythonSource.parse(text.encode())
    zeros = np.zeros(len(source.line), np.int32)
    elements = Elements(("a.py",), zeros, source.line, source.end_line, zeros - 1, ())
    found = StatementProperties(elements, None, (), lambda path: text.encode()).kind.tolist()
    expected = tree_kinds(text)
    assert found == [expected.get(line, StatementKind.OTHER) for line in source.line.tolist()]
    assert len(Counter(found)) > 1


def test_kinds_are_read_from_the_edges_where_there_is_no_source():
    arcs = np.array([(1, 2), (1, 3), (2, -1), (3, 3 + FIRST_OUTCOME), (3, FIRST_OUTCOME), (3, 2)], np.int32)
    zeros = np.zeros(len(arcs), np.int32)
    edges = Edges(zeros, arcs[:, 0], arcs[:, 1], zeros - 1, conditions=(np.zeros((2, 4), np.int32),))
    assert statements(elements_of(3), edges, (), SourcesAsRun((), None)).kind.tolist() == [1, 2, 0]
    graph = FlowGraph.from_edges(0, 4, [(0, 2, 0), (2, 3, 1), (2, 1, 2), (3, 1, 3)], [(2, 0), (2, 1), (3, 2)])
    blocks = replace(edges, source=edges.source, kind=EdgeKind.BLOCK, conditions=())
    facts = statements(elements_of(3), blocks, (graph,), SourcesAsRun((), None))
    assert facts.kind.tolist() == [2, 2, 2]
    assert sorted(zip(facts.branches.element.tolist(), facts.branches.edge.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 1), (1, 2), (2, 3)
    ]  # fmt: skip


def test_functions_are_recognised_by_arcs_where_nothing_else_names_them():
    arcs = np.array([(-1, 1), (1, 2), (-3, 3), (3, 4), (4, -3)], np.int32)
    zeros = np.zeros(len(arcs), np.int32)
    facts = StatementProperties(elements_of(5), Edges(zeros, *arcs.T, zeros - 1), (), lambda path: None)
    first, second, third, fourth, fifth = facts.function.tolist()
    assert first == second != third == fourth
    assert fifth not in (first, third)


def test_weights_after_a_change_are_those_of_a_fresh_start():
    before = spectrum_of((True, {1, 2}), (True, {3}), (False, {1}), (True, {1, 3}), elements=elements_of(3))
    rows = (before.rows[3], before.rows[0], np.array([0, 1, 2], np.int32))
    after = before.with_rows(("a", "b", "c"), np.array([True, True, True]), rows)
    kept, fresh = (
        FailureWeights.from_spectrum(after, FailureWeights.from_spectrum(before)),
        FailureWeights.from_spectrum(after),
    )
    assert kept.of_elements.tolist() == fresh.of_elements.tolist()
    assert kept.total == fresh.total == UNIT // 2 + UNIT // 2 + UNIT // 3


@pytest.mark.parametrize(("changes", "most"), [(1, 0.3), (2, 0.15), (3, 0.1), (5, 0.1)])
def test_the_more_changed_the_less_each_change_says(changes, most):
    lines = np.arange(changes, dtype=np.int32)
    spectrum = spectrum_of((True, {*range(1, 8)}), (False, {7}))
    report = EVIDENCE.localize(replace(spectrum, changed={"t0": lines}))
    assert report.level_score[0] == pytest.approx(1 + 1 + most)
    assert sorted(report.order[:changes].tolist()) == lines.tolist()


def test_what_changed_comes_first_and_says_so():
    """D + S + w C, in all other cases too; that a test did not pass before says nothing of the change."""
    spectrum = spectrum_of((True, {1, 2, 3}), (True, {1, 2}), (False, {3}))
    first = EVIDENCE.localize(spectrum)
    assert lines_in_order(first) == [[1, 2], [3]]
    changed = replace(spectrum, changed={"t1": np.array([1, 2], np.int32)})
    report = EVIDENCE.localize(changed, previous=first)
    assert lines_in_order(report) == [[2], [1], [3]]  # t1 does not execute line 3
    assert report.level_score[0] == pytest.approx(1 + 1 + 0.3)
    assert "D + S + w C = 1 + S + 0.3 * 1 = 2.3" in report.explain(0).substituted
    why = report.explain(0)
    changed_this = "You changed this since 1 of 2 failing tests passed."
    assert why.sentences[:2] == (changed_this, "Little else changed, so it comes first.")
    assert "Without that it would not rank before shop.py:1." in EVIDENCE.difference(report, 1, 0)
    assert report.level.tolist() == EVIDENCE.localize(changed).level.tolist()
    broken = make_technique("ochiai+evidence").localize(changed)
    assert broken.explain(0).sentences.count(changed_this) == 1


@pytest.mark.parametrize(
    ("by_git", "other", "share"),
    [
        ((), [3], 0.6),  # it passed before line 3 changed, which it does not execute
        ((), None, 1.0),  # it is not known to have passed
        (("t1",), [3], 1.0),  # nor here, and nothing that it executes has changed since the revision
        (("t1",), [2], 0.6),
    ],
)
def test_a_change_counts_among_tests_that_failed_after_one(by_git, other, share):
    """A test that failed before, for another reason, does not make the change less suspicious."""
    spectrum = spectrum_of((True, {1, 4}), (True, {1, 2, 5}), (False, {1, 3, 4, 5}))
    rows = {"t0": [4], **({"t1": other} if other else {})}
    changed = ChangedRows({test: np.array(lines, np.int32) - 1 for test, lines in rows.items()}, by_git)
    report = EVIDENCE.localize(replace(spectrum, changed=changed))
    weight = 0.3 / 2 if other == [2] else 0.3
    line, without = 3, EVIDENCE.localize(spectrum)
    added = report.level_score[report.level[line]] - without.level_score[without.level[line]]
    assert added == pytest.approx(1 + weight * share)
    last = replace(spectrum, changed={"t0": np.array([0], np.int32)})
    again = EVIDENCE.localize(replace(spectrum, changed=changed), previous=EVIDENCE.localize(last))
    assert again.level_score.tolist() == report.level_score.tolist()
