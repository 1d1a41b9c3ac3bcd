"""Every formula against counts worked out by hand, its limits, and the laws it must keep."""

from __future__ import annotations

from fractions import Fraction as Q
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import NothingToRank, UsageError
from suspectra.report import round_significant
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques import make_technique, technique_infos
from suspectra.techniques.formulas import FORMULAS

# ef 3, nf 1, ep 2, np 4: four failed and six passed tests
GOLDEN = {
    "naish1": -1,
    "naish2": Q(19, 7),
    "op2": Q(19, 7),
    "anderberg": Q(1, 3),
    "dice": 1,
    "goodman": Q(1, 3),
    "jaccard": Q(1, 2),
    "sorensen-dice": Q(2, 3),
    "cbi-inc": Q(1, 5),
    "qe": Q(3, 5),
    "sbi": Q(3, 5),
    "tarantula": Q(9, 13),
    "euclid": sqrt(7),
    "hamann": Q(2, 5),
    "hamming": 7,
    "rogers-tanimoto": Q(7, 13),
    "simple-matching": Q(7, 10),
    "sokal": Q(14, 17),
    "wong2": 1,
    "binary": 0,
    "russell-rao": Q(3, 10),
    "wong1": 3,
    "rogot1": Q(23, 66),
    "scott": Q(13, 33),
    "ample": Q(5, 12),
    "ample2": Q(5, 12),
    "arithmetic-mean": Q(20, 49),
    "cohen": Q(2, 5),
    "fleiss": Q(39, 20),
    "kulczynski1": 1,
    "kulczynski2": Q(27, 40),
    "m1": Q(7, 3),
    "m2": Q(3, 13),
    "ochiai": 3 / sqrt(20),
    "wong3": 1,
    "dstar": 3,
    "barinel": Q(3, 5),
    "zoltar": Q(9, 20018),
    "ochiai2": 12 / sqrt(600),
    "overlap": 3,
    "harmonic-mean": Q(49, 60),
    "geometric-mean": 10 / sqrt(600),
    "rogot2": Q(169, 240),
    "crosstab": Q(1, 6),
    "gp13": Q(24, 7),
    "f1": Q(2, 3),
    "relative-f1": Q(2, 9),
    "relative-ochiai": sqrt(5 / 4) / 5,
    "relative-jaccard": Q(1, 10),
}

# the 33 of paper 004's Table 1, by its groups
GROUPS = {
    "ER1": "naish1 naish2",
    "ER2": "anderberg dice goodman jaccard sorensen-dice",
    "ER3": "cbi-inc qe tarantula",
    "ER4": "euclid hamann hamming rogers-tanimoto simple-matching sokal wong2",
    "ER5": "binary russell-rao wong1",
    "ER6": "rogot1 scott",
    "": "ample ample2 arithmetic-mean cohen fleiss kulczynski1 kulczynski2 m1 m2 ochiai wong3",
}


def counts_of(failed: int, passed: int, *pairs: tuple[int, int]) -> Counts:
    ef, ep = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return Counts(ef, ep, failed, passed)


def score(name: str, failed: int, passed: int, ef: int, ep: int, **parameters: object) -> float:
    return float(make_technique(name, **parameters).score(counts_of(failed, passed, (ef, ep)))[0])


def test_every_formula_has_a_golden_value():
    assert GOLDEN.keys() == FORMULAS.keys()


@pytest.mark.parametrize(("name", "expected"), GOLDEN.items())
def test_golden_value(name, expected):
    assert score(name, 4, 6, 3, 2) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "failed", "passed", "ef", "ep", "expected"),
    [
        ("naish1", 4, 6, 4, 2, 4),  # the other branch: np
        ("binary", 4, 6, 4, 6, 1),
        ("wong3", 9, 30, 9, 5, 9 - 2.3),
        ("wong3", 9, 30, 9, 10, 9 - 2.8),
        ("wong3", 9, 30, 9, 20, 9 - 2.81),
        ("ample", 2, 4, 0, 3, 0.75),
        ("ample2", 2, 4, 0, 3, -0.75),
        ("crosstab", 2, 4, 0, 3, -0.5),  # chi-square 3 of 6 tests, passed ones execute it more
        # perfect agreement
        ("kulczynski1", 3, 5, 3, 0, inf),
        ("m1", 3, 5, 3, 0, inf),
        ("dstar", 3, 5, 3, 0, inf),
        ("overlap", 3, 5, 3, 0, inf),
        ("cohen", 3, 5, 3, 0, 1),
        ("scott", 3, 5, 3, 0, 1),
        ("rogot1", 3, 5, 3, 0, 1 / 2),
        # 0/0 has the limit where there is one
        ("arithmetic-mean", 3, 0, 3, 0, 1),
        ("cohen", 3, 0, 3, 0, 1),
        ("scott", 3, 0, 3, 0, 1),
        ("tarantula", 3, 0, 2, 0, 1),
        ("ochiai", 3, 5, 0, 0, 0),
        ("relative-f1", 3, 5, 0, 0, 0),
        ("overlap", 3, 5, 0, 0, 1),
        # and the lowest score where there is none
        ("qe", 3, 5, 0, 0, 0),
        ("tarantula", 3, 5, 0, 0, 0),
        ("barinel", 3, 5, 0, 0, 0),
        ("zoltar", 3, 5, 0, 0, 0),
        ("cbi-inc", 3, 5, 0, 0, -3 / 8),
        ("harmonic-mean", 3, 5, 3, 5, -inf),
    ],
)
def test_branches_and_limits(name, failed, passed, ef, ep, expected):
    assert score(name, failed, passed, ef, ep) == pytest.approx(expected)


def test_the_exponent_of_dstar_is_a_parameter():
    assert score("dstar", 4, 6, 3, 2, exponent=3) == 9
    with pytest.raises(UsageError, match=r"no parameter 'power'.*exponent"):
        make_technique("dstar", power=3)
    with pytest.raises(UsageError, match=r"exponent is 'three'.*give a number"):
        make_technique("dstar", exponent="three")


def test_the_33_formulas_are_grouped_as_published():
    grouped = {info.name: info.group for info in technique_infos() if info.family == "formula"}
    for group, names in GROUPS.items():
        assert {grouped[name] for name in names.split()} == {group}
    assert sum(len(names.split()) for names in GROUPS.values()) == 33


@st.composite
def some_counts(draw, *, single_fault: bool = False) -> Counts:
    """Counts of a few elements; with one fault its element comes first and every failing test executes it."""
    failed = draw(st.integers(1, 12))
    passed = draw(st.integers(0 if not single_fault else 1, 30))
    pair = st.tuples(st.integers(0, failed), st.integers(0, passed))
    pairs = draw(st.lists(pair, min_size=1, max_size=12))
    if single_fault:
        pairs.insert(0, (failed, draw(st.integers(0, passed))))
    return counts_of(failed, passed, *pairs)


@pytest.mark.slow
@given(some_counts(), st.booleans())
@settings(max_examples=150)
def test_no_score_is_ever_nan(counts, clone):
    for name in FORMULAS:
        assert not np.isnan(make_technique(name, clone_failed=clone).score(counts)).any(), name


def order(name: str, counts: Counts) -> np.ndarray:
    """Ranks from the lowest score up: equal for two formulas exactly when they order and tie alike."""
    return np.unique(round_significant(make_technique(name).score(counts)), return_inverse=True)[1]


@pytest.mark.slow
@given(some_counts(single_fault=True))
@settings(max_examples=150)
def test_formulas_of_a_group_give_the_same_order(counts):
    executed = counts.ef + counts.ep > 0
    counts = Counts(counts.ef[executed], counts.ep[executed], counts.failed, counts.passed)
    for group in ("ER2", "ER3", "ER4", "ER6"):
        first, *others = GROUPS[group].split()
        for other in others:
            np.testing.assert_array_equal(order(first, counts), order(other, counts), f"{first} and {other}")


@given(some_counts(single_fault=True))
@settings(max_examples=150)
def test_formulas_of_er1_and_er5_rank_a_single_fault_alike(counts):
    """Among elements some failing tests miss these differ, but all of them stand below the fault."""
    for group in ("ER1", "ER5"):
        first, *others = (order(name, counts) for name in GROUPS[group].split())
        for other in others:
            np.testing.assert_array_equal(np.sign(first - first[0]), np.sign(other - other[0]), group)


@pytest.mark.slow
@given(some_counts(single_fault=True))
@settings(max_examples=150)
def test_er1_is_never_beaten_on_a_single_fault(counts):
    """What ER1 puts above or beside a single fault every other formula does too (Xie et al. 2013).

    ER5 is the exception: it is maximal too, and ties what ER1 tells apart.
    """
    er1 = order("naish2", counts)
    for group, names in GROUPS.items():
        for name in names.split():
            other = order(name, counts)
            assert (other >= other[0])[er1 >= er1[0]].all(), name
            assert group == "ER5" or (other > other[0])[er1 > er1[0]].all(), name


def test_elements_no_test_executes_rank_last_together():
    # lines 3 and 4 are never executed; Overlap and Hamming would put them before line 2
    spectrum = Spectrum.from_matrix([[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], failed=[True, False, False])
    for name in FORMULAS:
        report = make_technique(name).localize(spectrum)
        assert report.order.tolist()[2:] == [2, 3], name
        assert report.rank_best[2:].tolist() == [3, 3], name


def test_nothing_to_rank_without_a_failing_test():
    with pytest.raises(NothingToRank, match="no test failed"):
        make_technique("ochiai").localize(Spectrum.from_matrix([[1, 0]], failed=[False]))
