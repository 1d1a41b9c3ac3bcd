"""MUSE and Metallaxis: their formulas, and what they say."""

from collections import Counter

import pytest

from suspectra.base.errors import UsageError
from suspectra.program import Program
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique

P, F, S, X = ExperimentOutcome.PASSED, ExperimentOutcome.FAILED, ExperimentOutcome.STEPS, ExperimentOutcome.NOT_REACHED


def made(line, number, outcomes, *, changed=(), guard=False, file="program"):
    """The experiments with a mutant: outcomes by test."""
    return [
        Experiment(
            test, "mutant", file, line, line, 0, "constant", EVERY, "mutated", outcome, 0.01, guard,
            f"`{number}` → `x`", changed=test in changed,
        )
        for test, outcome in outcomes.items()
    ]  # fmt: skip


def ranked(name, spectrum, experiments, **parameters):
    return make_technique(name, **parameters).localize(spectrum, Program((), experiments=tuple(experiments)))


def scores(report):
    return {suspect.location.line: suspect.score for suspect in report.suspects()}


# What FauxPy 0.7.0 measured and computed on the subject `small` of benchmarks/peers.py, with `--family mbfl`: for each
# line, how many of its 39 mutants repair, break and change so many tests. Two tests fail there, 38 pass.
FAUXPY_MUTANTS = Counter(
    {
        (42, 0, 0, 2): 7,
        (44, 0, 0, 2): 7,
        (44, 2, 1, 0): 3,
        (44, 0, 1, 2): 2,
        (44, 2, 0, 0): 8,
        (46, 0, 1, 2): 10,
        (46, 0, 0, 2): 1,
        (46, 1, 0, 1): 1,
    }
)
FAUXPY_MUSE = {42: 0.0, 44: 0.7169220519653564, 46: -1.1935931601154788}
FAUXPY_METALLAXIS = {42: 1.0, 44: 1.0, 46: 1.0}


@pytest.fixture(scope="module")
def small():
    """The spectrum of lines 42 to 46, and experiments with FauxPy's mutants."""
    failing, passing = ["f0", "f1"], [f"p{number}" for number in range(38)]
    rows = [[1, 0, 1, 1, 1]] * 2 + [[1, 0, 1, 0, 1]] + [[0, 0, 0, 0, 0]] * 37
    spectrum = Spectrum.from_matrix(rows, failed=[True] * 2 + [False] * 38)
    names = dict(zip([*failing, *passing], spectrum.tests, strict=True))
    experiments = []
    for number, (line, repaired, broken, changed) in enumerate(FAUXPY_MUTANTS.elements()):
        outcomes = {names[test]: P if place < repaired else F for place, test in enumerate(failing)}
        outcomes[names["p0"]] = F if broken else P
        changing = {names[test] for test in failing[repaired : repaired + changed]}
        experiments += made(line - 41, number, outcomes, changed=changing)
    return spectrum, experiments


def test_muse_computes_the_scores_of_fauxpy(small):
    """FauxPy's are not divided by the number of failing tests, and it adds 0.01 to a divisor to avoid 0."""
    assert sum(FAUXPY_MUTANTS.values()) == 39
    found = scores(ranked("muse", *small, form="published"))
    assert {line + 41: 2 * found[line] for line in (1, 3, 5)} == pytest.approx(FAUXPY_MUSE, rel=2e-3)


def test_metallaxis_computes_the_scores_of_fauxpy(small):
    found = scores(ranked("metallaxis", *small))
    assert {line + 41: found[line] for line in (1, 3, 5)} == FAUXPY_METALLAXIS


SPECTRUM = Spectrum.from_matrix(
    [[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]], failed=[True, True, False, False, False]
)
T0, T1, T2, T3, _ = SPECTRUM.tests
EXPERIMENTS = [
    *made(2, 1, {T0: P, T1: P, T2: P}),
    *made(2, 2, {T0: P, T1: F, T2: F}, changed={T1}),
    *made(3, 1, {T0: P, T2: F, T3: P}),
    *made(3, 2, {T0: F, T2: P, T3: P}),
    *made(1, 1, {T0: S, T1: P, T2: F, T3: F}),
    *made(4, 1, {T0: X, T1: X}),
]


def test_lazy_muse_takes_the_best_mutant_and_leaves_what_was_not_tried_where_ochiai_has_it():
    report = ranked("muse", SPECTRUM, EXPERIMENTS)
    ochiai = {
        suspect.location.line: suspect.score for suspect in make_technique("ochiai").localize(SPECTRUM).suspects()
    }
    found = scores(report)
    assert found[2] == pytest.approx(1 + 1, abs=1e-5)
    assert found[3] == ochiai[3], "it breaks as large a share of one kind as it repairs of the other"
    assert found[1] == ochiai[1]
    assert found[4] == ochiai[4] == 1.0, "it could not be mutated"
    assert [suspect.location.line for suspect in report.suspects()] == [2, 4, 1, 3]
    few = ranked("muse", SPECTRUM, made(3, 1, {T0: P, T1: P, T2: F, T3: P}))
    assert scores(few)[3] == pytest.approx(1 + 1 - 1 / 2, abs=1e-5)


def test_the_published_forms():
    """The mutant with which a test did not end is left out: of four, three repair and two break one test each."""
    found = scores(ranked("muse", SPECTRUM, EXPERIMENTS, form="published"))
    alpha = (4 / 2) / (2 / 3)
    assert found[2] == pytest.approx(((2 / 2) + (1 / 2 - alpha * 1 / 3)) / 2)
    assert found[3] == pytest.approx(((1 / 2 - alpha * 1 / 3) + 0) / 2)
    assert found[1] == found[4] == 0
    found = scores(ranked("muse", SPECTRUM, EXPERIMENTS, form="museum"))
    assert found[2] == pytest.approx((2 / 5 + (1 / 5 - 1 / 3)) / 3)
    assert found[3] == pytest.approx((1 / 5 - 1 / 3) / 3)
    with pytest.raises(UsageError, match="no form 'other'"):
        make_technique("muse", form="other")


def test_metallaxis_counts_another_message_too():
    found = scores(ranked("metallaxis", SPECTRUM, EXPERIMENTS))
    assert found[2] == pytest.approx(max(2 / (2 * 2) ** 0.5, 2 / (2 * 3) ** 0.5))
    assert found[3] == pytest.approx(1 / (2 * 2) ** 0.5)
    ochiai = scores(ranked("ochiai", SPECTRUM, EXPERIMENTS))
    last = {line: 1e-6 * ochiai[line] for line in (1, 4)}
    assert {line: found[line] for line in last} == pytest.approx(last), "they come last"


def test_a_check_that_raises_ranks_behind_the_others_that_repair():
    experiments = [*made(2, 1, {T0: P, T1: P, T2: P}, guard=True), *made(3, 1, {T0: P, T1: P, T2: F, T3: P})]
    report = ranked("muse", SPECTRUM, experiments)
    assert [suspect.location.line for suspect in report.suspects()][:2] == [3, 2]
    assert any("where it is noticed" in sentence for sentence in report.explain(1).sentences)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (2, "`1` → `x` repairs 2 tests and breaks none."),
        (2, "`2` → `x` repairs 1 test and breaks 1 test."),
        (3, "`1` → `x` repairs 1 test and breaks 1 test."),
        (1, "`1` → `x` repairs 1 test and breaks 2 tests."),
    ],
)
def test_sentences(line, sentence):
    report = ranked("muse", SPECTRUM, EXPERIMENTS)
    position = next(at for at in range(len(report)) if report.suspect(at).location.line == line)
    assert sentence in report.explain(position).sentences


def test_the_mutant_that_repairs_most_less_what_it_breaks_is_named_first():
    spectrum = Spectrum.from_matrix([[1]] * 6, failed=[True] * 3 + [False] * 3)
    first = {name: P if number < 3 else F for number, name in enumerate(spectrum.tests)}
    second = {name: P if number != 2 else F for number, name in enumerate(spectrum.tests)}
    sentences = ranked("muse", spectrum, [*made(1, 1, first), *made(1, 2, second)]).explain(0).sentences
    assert sentences[:2] == (
        "`2` → `x` repairs 2 tests and breaks none.",
        "`1` → `x` repairs 3 tests and breaks 3 tests.",
    )


def test_what_was_not_run_is_said():
    report = ranked("muse", SPECTRUM, made(1, 1, {T0: P}))
    said = "`1` → `x` repairs 1 test; 1 of 2 failing tests was run; passing tests were not run."
    assert report.explain(0).sentences[0] == said
    report = ranked("muse", SPECTRUM, made(1, 1, {T0: P, T3: P}))
    said = "`1` → `x` repairs 1 test and breaks none; 1 of 2 failing and 1 of 2 passing tests were run."
    assert report.explain(0).sentences[0] == said
    report = ranked("muse", SPECTRUM, made(1, 1, {T0: P, T1: F, T3: P}))
    assert report.explain(0).sentences[0] == "`1` → `x` repairs 1 test and breaks none; 1 of 2 passing tests was run."
    report = ranked("muse", SPECTRUM, made(1, 1, {T0: F}))
    position = next(at for at in range(len(report)) if report.suspect(at).location.line == 1)
    assert report.explain(position).sentences[0] == "No mutant of this statement repairs a test (1 tried)."


@pytest.mark.parametrize("name", ["muse", "metallaxis"])
def test_without_mutants_it_is_the_ranking_of_ochiai(name):
    report, ochiai = ranked(name, SPECTRUM, []), make_technique("ochiai").localize(SPECTRUM)
    assert report.order.tolist() == ochiai.order.tolist()
    assert f"--technique {name}" in report.notes[0].cure


def test_metallaxis_says_which_mutant_it_is():
    report = ranked("metallaxis", SPECTRUM, EXPERIMENTS)
    assert report.explain(0).sentences[0] == (
        "`1` → `x` changes the results of 2 of 2 failing and of 0 of 1 passing tests that were run."
    )
