"""The scores of the literature, each against its definition written out, and their multi-fault forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from suspectra.base.errors import UsageError
from suspectra.evaluation import scores as s
from suspectra.evaluation.significance import increase_ratio, wilcoxon

values = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0, float("inf"), float("nan"), float("-inf")]), min_size=1)


@pytest.mark.slow
@given(values, st.data())
def test_ranks_are_their_definitions(raw, data):
    place = st.integers(0, len(raw) - 1)
    faulty = data.draw(st.sets(place, min_size=1))
    score = [v if v == v else float("-inf") for v in raw]
    for at, own in enumerate(score):
        higher, equal = sum(x > own for x in score), sum(x == own for x in score)
        together = sum(score[f] == own for f in faulty)
        assert s.tarantula_rank(raw)[at] == higher + equal
        assert s.best_rank(raw)[at] == higher + 1
        assert s.standard_rank(raw)[at] == higher + equal / 2
        assert s.middle_rank(raw)[at] == int(higher + 1 / 2 + equal / 2)
        assert s.steimann_rank(raw, list(faulty))[at] == higher + (equal + 1) / (together + 1)


def test_one_fault_alone_is_halfway_through_its_tie():
    # Steimann's form counts the fault itself, the Standard Rank Score half of it
    score = [3, 2, 2, 2, 1]
    assert s.steimann_rank(score, [2])[2] == s.standard_rank(score)[2] + 0.5


def test_expense_and_exam():
    assert s.expense(9, 36) == 0.75
    assert s.exam(9, 36) == 0.25
    assert s.exam(np.array([1, 4]), 4).tolist() == [0.25, 1]
    with pytest.raises(UsageError):
        s.exam(1, 0)


def test_paper_004_in_one_tie():
    score = [1] * 4
    shares = [float(s.exam(rank(score)[0], 4)) for rank in (s.best_rank, s.middle_rank, s.tarantula_rank)]
    assert shares == [0.25, 0.5, 1]


def test_several_faults():
    ranks = s.tarantula_rank([5, 4, 3, 2])
    assert s.over_faults(ranks, [3, 1]) == s.OverFaults(2, 3, 4)
    assert s.over_faults(ranks, [1, 1]) == s.OverFaults(2, 2, 2)


@pytest.mark.parametrize("faulty", [[], [4], [-1]])
def test_faults_that_are_none(faulty):
    with pytest.raises(UsageError) as error:
        s.over_faults(np.arange(4), faulty)
    assert error.value.problem.cure


def test_lil():
    ideal = s.lil([0, 7, 0, 7], [1, 3])
    assert ideal == pytest.approx(0, abs=1e-8)
    two_of_four = s.lil([7, 7, 7, 7], [1, 3])
    assert two_of_four == pytest.approx(np.log(2), abs=1e-7)
    assert s.lil([1, 2, 3], [0]) > s.lil([2, 1, 3], [0]) > s.lil([3, 2, 1], [0]) > 0
    assert s.lil([np.inf, 2, 1], [0]) == pytest.approx(s.lil([2, 2, 1], [0]))
    assert s.lil([np.inf, 1, np.nan], [0]) < s.lil([1, np.inf, np.nan], [0])
    assert s.lil([np.nan, np.nan], [0]) == pytest.approx(np.log(2), abs=1e-7)
    with pytest.raises(UsageError):
        s.lil([1, 2], [0], epsilon=0)


@pytest.fixture
def graph():
    """0 → 1 → 2 → 3, 4 → 2, and 5 alone."""
    return sparse.csr_array((np.ones(4), ([0, 1, 2, 4], [1, 2, 3, 2])), shape=(6, 6))


@pytest.mark.parametrize(
    ("report", "faulty", "directed", "all_faults", "share"),
    [
        ([1], [1], False, False, 1 / 6),
        ([1], [2], False, False, 3 / 6),
        ([1], [4], False, False, 5 / 6),  # 1 → 2 ← 4: two steps when directions are ignored
        ([1], [4], True, False, 1),  # and none when they are not
        ([1], [3], True, False, 4 / 6),
        ([1, 5], [5, 3], False, False, 2 / 6),
        ([1, 5], [5, 3], False, True, 6 / 6),
        ([0], [5], False, False, 1),
        ([], [1], False, False, 1),
    ],
)
def test_t_score(graph, report, faulty, directed, all_faults, share):
    assert s.t_score(graph, report, faulty, directed=directed, all_faults=all_faults) == pytest.approx(share)


def test_paper_001s_score(graph):
    assert s.dependence_score(graph, [1], [3]) == pytest.approx(2 / 6)
    assert s.dependence_score(graph, [], [3]) == 0
    assert s.dependence_score(graph, [1], [5]) == 0
    with pytest.raises(UsageError):
        s.t_score(graph, [6], [0])


def test_top_five_predicates_start_the_search(graph):
    five = s.top([0.1, 0.9, float("nan"), 0.9, 0.3, 0.2], 2)
    assert five.tolist() == [1, 3]
    assert s.t_score(graph, five, [2]) == pytest.approx(4 / 6)


def test_top_n():
    assert s.top_n([1, 5, 6, 5.5], 5) == 0.5
    assert s.top_n([], 5) == 0
    assert s.top_n_percent([1, 5, 6, 5], [10, 100, 100, 1000], 5) == 0.5


def test_increase_ratio_of_paper_004():
    # its own example, print tokens with Wong3, is printed from unrounded numbers
    assert increase_ratio(0.0095, 0.0080) == pytest.approx(0.158, abs=1e-3)
    assert increase_ratio(np.array([0.0, 0.2, 0.2]), np.array([0.0, 0.3, 0.2])) == pytest.approx([0, -0.5, 0])


def test_wilcoxon():
    before, after = [0.5, 0.4, 0.9, 0.3, 0.8, 0.2], [0.4, 0.2, 0.6, 0.3, 0.3, 0.3]
    test = wilcoxon(before, after)
    assert test.pairs == 5
    assert test.statistic == pytest.approx(1.5)
    assert wilcoxon(before, after, "greater").p_value < test.p_value
    assert wilcoxon([1, 2], [1, 2]).p_value == 1
    with pytest.raises(UsageError):
        wilcoxon([1], [1, 2])
