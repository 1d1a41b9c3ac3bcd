"""One suite of checks that every registered technique passes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank, UsageError
from suspectra.report import RankedReport
from suspectra.spectrum import Edges, Elements, Function, Spectrum
from suspectra.techniques import make_technique, technique_infos, technique_names

# def price(x):          1
#     total = x          2
#     if x > 9:          3
#         total = 0      4   the fault
#     else:              5
#         total += 1     6
#     return total       7
# def unused():          9
#     return 1           10
ARCS = [(-1, 2), (2, 3), (3, 4), (3, 6), (4, 7), (6, 7), (7, -1)]
LINES = np.array([1, 2, 3, 4, 6, 7, 9, 10], np.int32)
HIGH, LOW = [0, 1, 2, 4, 6], [0, 1, 3, 5, 6]


def spectrum_of(runs: list[str], failed: list[bool], *, test_code: bool = False) -> Spectrum:
    """Runs of `price`: each takes the branches its letters say, h(igh) and l(ow), one letter a call."""
    functions = (Function(0, "price", 1, 7), Function(0, "unused", 9, 10))
    elements = Elements(
        ("shop.py",), np.zeros(8, np.int32), LINES, LINES, np.array([-1, 0, 0, 0, 0, 0, -1, 1], np.int32), functions
    )
    lines = {"h": {2, 3, 4, 7}, "l": {2, 3, 6, 7}}
    rows, edge_rows, edge_counts = [], [], []
    for run in runs:
        executed = set().union(*(lines[call] for call in run)) if run else set()
        rows.append(np.flatnonzero(np.isin(LINES, list(executed))).astype(np.int32))
        times = np.bincount([arc for call in run for arc in (HIGH if call == "h" else LOW)], minlength=len(ARCS))
        edge_rows.append(np.flatnonzero(times).astype(np.int32))
        edge_counts.append(times[times > 0].astype(np.int64))
    source, target = (np.array(column, np.int32) for column in zip(*ARCS, strict=True))
    zeros = np.zeros(len(ARCS), np.int32)
    candidates = np.ones(8, bool)
    candidates[0] = not test_code
    return Spectrum(
        tuple(f"t{i}" for i in range(len(runs))),
        np.array(failed, bool),
        elements,
        tuple(rows),
        candidates,
        Edges(zeros, source, target, zeros),
        tuple(edge_rows),
        tuple(edge_counts),
    )


SPECTRA = {
    "mixed": spectrum_of(["h", "l", "hl", "llh", ""], [True, False, True, False, False]),
    "one failing test": spectrum_of(["h"], [True]),
    "only failing tests": spectrum_of(["h", "l", "h"], [True, True, True]),
    "a failing test that executes nothing": spectrum_of(["", "l", "hl"], [True, False, False]),
    "not all lines are candidates": spectrum_of(["h", "l", "l"], [True, False, False], test_code=True),
}


def check_technique(name: str, spectrum: Spectrum) -> None:
    """What is true for any technique on any spectrum with a failing test."""
    technique = make_technique(name)
    assert technique == make_technique(name), "a technique is its hyper-parameters"
    assert hash(technique) == hash(make_technique(name))
    before = [array.copy() for array in (*spectrum.rows, *spectrum.edge_rows, *spectrum.edge_counts)]
    report = technique.localize(spectrum)

    for array, copy in zip((*spectrum.rows, *spectrum.edge_rows, *spectrum.edge_counts), before, strict=True):
        np.testing.assert_array_equal(array, copy, "a technique changes no data")
    check_report(report, spectrum)
    again = technique.localize(spectrum)
    np.testing.assert_array_equal(again.order, report.order)
    np.testing.assert_array_equal(again.scores, report.scores)
    check_order_of_tests(technique, spectrum, report)
    for position in range(len(report)):
        explanation = report.explain(position)
        assert f"{report.rank_best[position]} of {len(report)}" in explanation.headline
        assert explanation.sentences
        assert all(sentence.endswith(".") for sentence in explanation.sentences)


def check_report(report: RankedReport, spectrum: Spectrum) -> None:
    """Candidates once each, best first, ties together, unexecuted ones last."""
    assert sorted(report.order.tolist()) == np.flatnonzero(spectrum.candidates).tolist()
    assert not np.isnan(report.scores).any()
    assert (report.scores[:-1] >= report.scores[1:]).all()
    assert (report.scores[report.rank_best - 1] == report.scores).all()
    assert (report.scores[report.rank_worst - 1] == report.scores).all()
    executed = (spectrum.counts.ef + spectrum.counts.ep > 0)[report.order]
    assert not executed[np.argmin(executed) :].any() or executed.all(), "never executed lines stand last"
    ended = report.rank_best[~executed] - 1
    assert len(set(ended.tolist())) <= 1, "and are one group"


def check_order_of_tests(technique, spectrum: Spectrum, report: RankedReport) -> None:
    turned = Spectrum(
        spectrum.tests[::-1],
        spectrum.failed[::-1],
        spectrum.elements,
        spectrum.rows[::-1],
        spectrum.candidates,
        spectrum.edges,
        spectrum.edge_rows[::-1],
        spectrum.edge_counts[::-1],
    )
    other = technique.localize(turned)
    np.testing.assert_array_equal(other.order, report.order)
    np.testing.assert_allclose(other.scores, report.scores)


@pytest.mark.parametrize("case", SPECTRA)
@pytest.mark.parametrize("name", technique_names())
def test_technique_conforms(name, case):
    check_technique(name, SPECTRA[case])


@pytest.mark.parametrize("name", technique_names())
def test_nothing_to_rank_without_a_failing_test(name):
    for spectrum in (spectrum_of(["h", "l"], [False, False]), spectrum_of([], [])):
        with pytest.raises(NothingToRank) as caught:
            make_technique(name).localize(spectrum)
        assert caught.value.problem.cure


@pytest.mark.parametrize("name", [*technique_names(), "ochiai+cp", "cp+sbbfl"])
def test_the_stages_of_a_technique_end_with_it_and_begin_with_lines(name):
    technique = make_technique(name)
    *_, last = technique.stages
    assert last == technique
    assert len(technique.stages) == 1 or not technique.stages[0].info.wants_edges
    assert len(technique.stages) > 1 or not technique.info.wants_edges


@pytest.mark.parametrize("name", technique_names())
def test_unknown_hyper_parameters_are_refused(name):
    with pytest.raises(UsageError, match="colour"):
        make_technique(name, colour=3)


@pytest.mark.parametrize("info", technique_infos(), ids=lambda info: info.name)
def test_technique_says_what_it_is(info):
    assert info.name == make_technique(info.name).name
    assert info.name == info.name.lower().replace(" ", "-")
    assert info.needs
    for said in (info.title, info.family, info.paper, info.formula):
        assert said


def test_techniques_are_frozen():
    for name in technique_names():
        technique = make_technique(name)
        field = dataclasses.fields(technique)[0].name if dataclasses.fields(technique) else "anything"
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(technique, field, None)
