"""The spectrum: counting, sharing what did not change, finding elements."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.spectrum import Counts, Elements, Function, Spectrum
from suspectra.spectrum.changes import difference, removals
from suspectra.spectrum.pairs import Pairs


def elements():
    """Two files; in the second a multi-line statement (2-5) contains a lambda's statement (3)."""
    return Elements(
        ("a.py", "b.py"),
        np.array([0, 0, 1, 1, 1], np.int32),
        np.array([1, 2, 1, 2, 3], np.int32),
        np.array([1, 2, 1, 5, 3], np.int32),
        np.array([-1, 0, -1, 1, 1], np.int32),
        (Function(0, "f", 2, 3), Function(1, "C.g", 2, 6)),
    )


def test_elements_are_found_by_line():
    table = elements()
    assert table.at("b.py", 3) == 4  # the innermost wins
    assert table.at("b.py", 5) == 3
    assert table.at("b.py", 9) is None
    assert table.at("nowhere.py", 1) is None
    assert table.in_file("b.py") == slice(2, 5)
    assert str(table.location(3)) == "b.py:2-5"
    assert [table.function_name(i) for i in range(5)] == ["", "f", "", "C.g", "C.g"]


def test_failing_tests_by_element():
    spectrum = Spectrum.from_matrix([[1, 1, 0], [0, 1, 0], [1, 1, 1]], failed=[True, False, True])
    assert [spectrum.failing_tests(i) for i in range(3)] == [("t1", "t3"), ("t1", "t3"), ("t3",)]
    assert spectrum.tests_executing(0).tolist() == [0, 2]


def test_failing_tests_come_by_name_whatever_order_they_ran_in():
    spectrum = Spectrum.from_matrix([[1, 1], [1, 0], [1, 1]], failed=[True, True, True], tests=["c", "a", "b"])
    assert spectrum.failing_tests_of([0, 1]) == [("a", "b", "c"), ("b", "c")]
    assert spectrum.failing_tests_of(range(2)) == spectrum.failing_tests_of([0, 1])
    starts, tests = spectrum._failing_by_element
    assert (starts.tolist(), tests.tolist()) == ([0, 3, 5], [1, 2, 0, 2, 0])


def test_without_failing_tests_nobody_fails():
    spectrum = Spectrum.from_matrix([[1, 0]], failed=[False])
    assert spectrum.failing_tests(0) == ()
    assert (spectrum.counts.failed, spectrum.counts.passed) == (0, 1)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="same length"):
        Spectrum.from_matrix([[1], [0]], failed=[True])


def test_edges_must_be_there():
    with pytest.raises(ValueError, match="no control-flow edges"):
        _ = Spectrum.from_matrix([[1]], failed=[True]).edge_hit_counts


def matrices(columns=6):
    row = st.lists(st.booleans(), min_size=columns, max_size=columns)
    return st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(row, st.booleans()), min_size=1)


@pytest.mark.slow
@given(matrices(), matrices())
def test_counts_carried_over_equal_counts_from_nothing(before, after):
    """Whatever changes between two runs, the carried counts are those of a fresh start."""

    def parts(tests, known):
        # an unchanged test keeps its row object, as a reader promises
        rows = {
            name: known[name] if name in known and before.get(name, (None,))[0] == hits else np.flatnonzero(hits)
            for name, (hits, _) in tests.items()
        }
        return tuple(tests), np.array([bad for _, bad in tests.values()]), rows

    tests, failed, rows = parts(before, {})
    first = Spectrum.from_matrix([hits for hits, _ in before.values()], failed, tests=tests)
    first = first.with_rows(tests, failed, tuple(rows.values()))
    assert first.counts.failed == sum(failed)
    tests, failed, rows = parts(after, rows)
    second = first.with_rows(tests, failed, tuple(rows.values()))
    fresh = Counts.from_rows(tuple(rows.values()), failed, 6)
    assert second.counts.ef.tolist() == fresh.ef.tolist()
    assert second.counts.ep.tolist() == fresh.ep.tolist()
    assert (second.counts.failed, second.counts.passed) == (fresh.failed, fresh.passed)
    assert (second.counts.nf >= 0).all()
    assert (second.counts.np >= 0).all()


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_the_difference_of_rows_is_that_of_multisets(before: list[int], now: list[int]) -> None:
    rows = [np.array([n]) for n in range(4)]

    def spectrum(marks: list[int]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        return [rows[m] for m in marks], np.array([m % 2 == 0 for m in marks], bool), np.array(marks, np.int64)

    parts = difference(spectrum(before), spectrum(now))
    removed, added = (Counter((int(row[0]), bad) for row, bad in part) for part in parts)
    left = Counter((m, m % 2 == 0) for m in before) - removed
    assert left + added == Counter((m, m % 2 == 0) for m in now)


@given(
    st.lists(st.integers(0, 2**40), unique=True, max_size=200),
    st.sets(st.integers(0, 199), max_size=100),
    st.integers(0, 5),
)
def test_removals_are_found(before: list[int], gone: set[int], appended: int) -> None:
    gone = {place for place in gone if place < len(before)}
    new = [max(before, default=0) + 1 + n for n in range(appended)]
    now = [item for place, item in enumerate(before) if place not in gone] + new
    assert removals(np.array(before, np.int64), np.array(now, np.int64)) == sorted(gone)


@given(
    st.sampled_from([(2, 3), (3000, 5000)]).flatmap(
        lambda tests: st.tuples(
            st.just(tests),
            st.lists(st.tuples(st.integers(0, tests[0]), st.integers(0, tests[1]), st.booleans()), max_size=30),
        )
    )
)
def test_pairs_are_those_of_the_candidates(case: tuple[tuple[int, int], list[tuple[int, int, bool]]]) -> None:
    """Also with so many tests that a table of all possible pairs would be too large."""
    (failed, passed), columns = case
    table = np.array(columns, np.int32).reshape(-1, 3)
    pairs = Pairs.among(Counts(table[:, 0], table[:, 1], failed, passed), table[:, 2] > 0)
    of_column = [(int(pairs.ef[of]), int(pairs.ep[of])) if of >= 0 else None for of in pairs.of]
    assert of_column == [(ef, ep) if candidate else None for ef, ep, candidate in columns]
    found = dict(zip(zip(pairs.ef.tolist(), pairs.ep.tolist(), strict=True), pairs.size.tolist(), strict=True))
    assert found == Counter(pair for pair in of_column if pair is not None)
    assert len(found) == len(pairs)
    assert (np.diff(pairs.key) > 0).all()
    assert pairs.of.dtype == np.int32
