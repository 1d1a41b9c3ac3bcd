"""The scoreboard on BugsInPy: what is kept of a bug, how ranks are counted, and the table from what is shipped."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.evaluation.corpus import SubjectFile, read_subject
from suspectra.evidence.discovery import find_source
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique

FOLDER = Path(__file__).parents[2] / "benchmarks" / "bugsinpy"
sys.path.insert(0, str(FOLDER))

from archive import NotThere, keep  # noqa: E402
from bugs import Bug, FaultyFile  # noqa: E402
from scores import Faults, expected_rank  # noqa: E402
from subjects import read_index_rows  # noqa: E402
from table import THEIRS, measured, published  # noqa: E402


def bug(*faults: FaultyFile, source: str = ".", excluded: tuple[str, ...] = ("tests",)) -> Bug:
    return Bug("ledger", 1, "", "", "", (), source, excluded, (), frozenset({"tests/test_a.py::test"}), 500, 40, faults)


FAULT = FaultyFile("src/ledger/tax.py", (55,), ())


def test_what_is_kept_is_ranked_as_the_recording_is(recorded_ledger, tmp_path):
    evidence = find_source(recorded_ledger, edges=True).read()
    path = tmp_path / "ledger_1.npz"
    keep(evidence, bug(FAULT), path, {"lines": 500})
    subject = read_subject(SubjectFile("", "ledger_1", path))
    recorded = evidence.elements
    for name in ("evidence", "ochiai", "dstar"):
        expected = Localizer(make_technique(name)).update(evidence)
        report = make_technique(name).localize(subject.spectrum, subject.program)
        elements = report.spectrum.elements
        own = {str(elements.location(one)): report.level[one] for one in range(len(elements))}
        everything = {str(recorded.location(one)): expected.level[one] for one in range(len(recorded))}
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


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=5))
def test_the_rank_is_that_until_the_first_fault_on_average_over_the_orders_of_ties(places):
    level = np.array([one for one, _ in places])
    faulty = np.flatnonzero([bad for _, bad in places])
    if not len(faulty):
        return
    ranks = []
    for order in permutations(range(len(places))):
        if all(level[a] <= level[b] for a, b in pairwise(order)):
            ranks.append(1 + min(order.index(one) for one in faulty))
    rank = expected_rank(level, np.ones(len(places), bool), Faults(faulty, len(faulty), len(places)))
    assert math.isclose(rank, sum(ranks) / len(ranks))


def test_what_no_test_executes_is_expected_among_all_other_lines():
    level, ranked = np.array([0, 1, 2]), np.array([True, True, False])
    assert expected_rank(level, ranked, Faults(np.array([2]), 1, 10)) == 2 + 1 + 7 / 2
    assert expected_rank(level, ranked, Faults(np.zeros(0, int), 3, 10)) == 2 + 1 + 5 / 4
    assert expected_rank(level, ranked, Faults(np.zeros(0, int), 0, 10)) == 10


SHIPPED = {row["subject"]: row for row in read_index_rows()}


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("cookiecutter_2", "statement", {"evidence": 1, "ochiai": 1, "dstar": 1}),
        ("cookiecutter_3", "statement", {"evidence": 4.5, "ochiai": 4, "dstar": 4}),
        ("thefuck_4", "statement", {"evidence": 1, "ochiai": 4, "dstar": 4}),
        ("thefuck_4", "function", {"evidence": 1, "ochiai": 1, "dstar": 1}),
        ("thefuck_8", "statement", {"evidence": 2.5, "ochiai": 2, "dstar": 2}),
    ],
)
def test_ranks_of_shipped_bugs(name, level, expected):
    ranks = measured(SHIPPED[name])[level]
    assert {technique: ranks[technique] for technique in expected} == pytest.approx(expected)


def test_published_ranks_are_those_of_the_paper():
    """Its table of techniques: how many of 135 bugs are among the first 1, 3, 5 and 10."""
    theirs = published()
    top = {
        (level, technique): [
            sum(ranks[technique] <= n for (_, own), ranks in theirs.items() if own == level) for n in (1, 3, 5, 10)
        ]
        for level in ("statement", "function")
        for technique in THEIRS
    }
    assert top["statement", "Ochiai"] == [16, 41, 58, 73]
    assert top["statement", "AvgAlfa"] == [24, 49, 64, 79]
    assert top["function", "Ochiai"] == [51, 83, 97, 106]
    assert top["function", "AvgAlfa"] == [71, 96, 103, 114]


def test_what_is_shipped_are_facts_of_published_bugs():
    theirs, size = published(), 0
    for row in SHIPPED.values():
        assert {(row["subject"], level) for level in ("statement", "function")} <= theirs.keys()
        files = [FOLDER / "subjects" / row["path"], (FOLDER / "subjects" / row["path"]).with_suffix(".tb.json.gz")]
        size += sum(file.stat().st_size for file in files)
    assert len(SHIPPED) >= 40
    assert size < 20 << 20


@pytest.mark.slow
def test_the_table_says_how_many_faults_are_among_the_first():
    command = [sys.executable, str(FOLDER / "table.py"), "thefuck_4", "thefuck_8"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "| thefuck_8 | 7 | 3 |" in printed
    found = json.loads(printed.splitlines()[-1])
    assert (found["bugs"], found["statement"]["evidence"]["top_1"], found["statement"]["Ochiai"]["top_3"]) == (2, 1, 1)
