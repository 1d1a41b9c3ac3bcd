"""The scoreboard on BugsInPy: what is kept of a bug, how ranks are counted, and the table from what is shipped."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.evaluation.corpus import SubjectFile, read_index, read_subject
from suspectra.evidence.discovery import find_source
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique

FOLDER = Path(__file__).parents[2] / "benchmarks" / "bugsinpy"
sys.path.insert(0, str(FOLDER))

from archive import NotThere, keep  # noqa: E402
from bugs import Bug, FaultyFile  # noqa: E402
from scores import Faults, expected_rank  # noqa: E402
from subjects import faults_at, ranks_of  # noqa: E402


def bug(*faults: FaultyFile, source: str = ".", excluded: tuple[str, ...] = ("tests",)) -> Bug:
    return Bug("ledger", 1, "", "", "", (), source, excluded, (), frozenset({"tests/test_a.py::test"}), 500, 40, faults)


FAULT = FaultyFile("src/ledger/tax.py", (55,), ())


def test_what_is_kept_is_ranked_as_the_recording_is(recorded_ledger, tmp_path):
    evidence = find_source(recorded_ledger, edges=True).read()
    path = tmp_path / "ledger_1.npz"
    keep(evidence, bug(FAULT), path, {"lines": 500})
    subject = read_subject(SubjectFile("", "ledger_1", path))
    spectrum = evidence.spectrum()
    for name in ("evidence", "ochiai", "dstar"):
        expected = Localizer(make_technique(name)).update(evidence)
        report = make_technique(name).localize(subject.spectrum, subject.program)
        elements = report.spectrum.elements
        own = {str(elements.location(one)): report.level[one] for one in range(len(elements))}
        everything = {str(spectrum.elements.location(one)): expected.level[one] for one in range(len(spectrum.elements))}
        assert own == {place: everything[place] for place in own}, name
        assert own.keys() == {place for place in everything if not place.startswith("tests/")}
    assert subject.spectrum.elements.location(int(subject.faulty[0])).file == "src/ledger/tax.py"


def test_only_what_was_ranked_is_kept(recorded_ledger, tmp_path):
    evidence = find_source(recorded_ledger, edges=True).read()
    keep(evidence, bug(FAULT, excluded=("src/ledger/money.py",)), tmp_path / "a.npz", {})
    every = read_subject(SubjectFile("", "a", tmp_path / "a.npz")).spectrum
    keep(evidence, bug(FaultyFile("src/ledger/tax.py", (55,), ()), source="src/ledger"), tmp_path / "b.npz", {})
    assert set(read_subject(SubjectFile("", "b", tmp_path / "b.npz")).spectrum.elements.files) <= set(
        every.elements.files
    )
    with pytest.raises(NotThere):
        keep(evidence, bug(FaultyFile("src/ledger/gone.py", (1,), ())), tmp_path / "c.npz", {})


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6))
def test_the_rank_is_that_until_the_first_fault_on_average_over_the_orders_of_ties(places):
    level = np.array([one for one, _ in places])
    faulty = np.flatnonzero([bad for _, bad in places])
    if not len(faulty):
        return
    ranks = []
    for order in permutations(range(len(places))):
        if all(level[a] <= level[b] for a, b in zip(order, order[1:], strict=False)):
            ranks.append(1 + min(order.index(one) for one in faulty))
    rank = expected_rank(level, np.ones(len(places), bool), Faults(faulty, len(faulty), len(places)))
    assert math.isclose(rank, sum(ranks) / len(ranks))


def test_what_no_test_executes_is_expected_among_all_other_lines():
    level, ranked = np.array([0, 1, 2]), np.array([True, True, False])
    assert expected_rank(level, ranked, Faults(np.array([2]), 1, 10)) == 2 + 1 + 7 / 2
    assert expected_rank(level, ranked, Faults(np.zeros(0, int), 3, 10)) == 2 + 1 + 5 / 4
    assert expected_rank(level, ranked, Faults(np.zeros(0, int), 0, 10)) == 10
