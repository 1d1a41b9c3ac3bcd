"""Value predicates: observed in real processes of pytest, logged, and ranked without executing anything."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import UsageError
from suspectra.cli.main import run
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.program import Program
from suspectra.runs.observation import KINDS, Observation, PredicateSite
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique
from suspectra.techniques.experiments.value_predicates import separating_in_words

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
PERIODS = """\
SECRET = "hunter2"


def days(first, last):
    whole = last - first
    rate = 3
    return price(whole, rate)


def price(whole, rate):
    token = SECRET + "!"
    return whole * rate if token else 0
"""
TESTS = """\
import pytest
from periods import days


@pytest.mark.parametrize("first", range(1, 4))
def test_reversed(first):
    assert days(first, 0) == 3 * first


@pytest.mark.parametrize("first", range(6))
def test_forwards(first):
    assert days(first, 5) == 3 * (5 - first)


@pytest.mark.slow
def test_marked():
    assert days(2, 1) == 3
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("periods")
    (folder / "periods.py").write_text(PERIODS)
    (folder / "test_periods.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    recording = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(recording, cwd=folder, capture_output=True, check=False).returncode == 1
    words = ["investigate", "--workspace", str(folder), "--technique", "value-predicates", "--format", "json"]
    made = subprocess.run(
        [sys.executable, "-m", "suspectra", *words, "--exclude-marker", "slow", "--", *PYTEST],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder, json.loads(made.stdout), made.stderr


@pytest.mark.slow
def test_the_command_says_what_holds_in_failing_tests_alone(project):
    _, found, said = project
    words = " ".join(sentence for suspect in found["suspects"] for sentence in suspect["findings"])
    assert "In all 3 failing tests that were observed `first > last` here, in no passing one of 6." in words
    assert "`whole < 0` here, in no passing one of 6." in words
    assert found["experiments"] == []
    assert "test_marked is not run again, since it has the marker slow" in said


def test_the_log_has_counts_and_no_values(project):
    folder, _, _ = project
    assert "hunter2" not in (folder / OBSERVATIONS.path).read_text()
    logged, problems = OBSERVATIONS.read(folder)
    assert not problems
    assert sum(one.found.failed for one in logged) == 3
    assert len(logged) == 9
    site = PredicateSite("periods.py", 5, 5, "pair", "first", "last")
    counts = [one.found.sites[site] for one in logged if one.found.failed]
    assert counts == [{">": 1}] * 3
    assert {site.file for one in logged for site in one.found.sites} == {"periods.py"}


def test_rank_and_explain_read_the_log(project, capsys):
    folder, found, _ = project
    words = ["--workspace", str(folder), "--technique", "value-predicates"]
    assert run(["rank", *words, "--format", "json"]) == 0
    ranked = json.loads(capsys.readouterr().out)["suspects"]
    assert [one["line"] for one in ranked] == [one["line"] for one in found["suspects"]]
    assert run(["explain", "periods.py:5", *words]) == 0
    assert "`first > last` here" in capsys.readouterr().out
    assert run(["rank", *words, "--param", "formula=tarantula", "--top", "1"]) == 0
    assert run(["rank", *words, "--param", "formula=ochia", "--top", "1"]) == 2
    assert "there is no formula 'ochia'" in capsys.readouterr().err


def test_other_sources_and_damaged_lines_are_left_out(project, tmp_path):
    folder, _, _ = project
    log = tmp_path / OBSERVATIONS.path
    log.parent.mkdir(parents=True)
    (tmp_path / "periods.py").write_text(PERIODS)
    (tmp_path / "test_periods.py").write_text(TESTS)
    lines = (folder / OBSERVATIONS.path).read_bytes().splitlines()
    entry = json.loads(lines[0])
    bad = [
        b"{",
        b"[]",
        json.dumps({**entry, "failed": 1}).encode(),
        json.dumps({**entry, "places": [["periods.py", 5, 5, [["guess", "a", "b", {"<": 1}]]]]}).encode(),
        json.dumps({**entry, "places": [["periods.py", "5", 5, [["pair", "a", "b", {"<": 1}]]]]}).encode(),
        json.dumps({**entry, "places": [["periods.py", 5, 5, [["pair", "a", "b", {"<": -1}]]]]}).encode(),
        json.dumps({**entry, "places": [["periods.py", 5, 5, [["pair", "a" * 999, "b", {"<": 1}]]]]}).encode(),
    ]
    log.write_bytes(b"\n".join([*lines, *bad]))
    logged, (problem,) = OBSERVATIONS.read(tmp_path)
    assert len(logged) == len(lines)
    assert problem.cause == f"{len(bad)} lines of it can't be read"
    (tmp_path / "periods.py").write_text(PERIODS + "\n")
    logged, problems = OBSERVATIONS.read(tmp_path)
    assert (len(logged), problems[1].cause) == (0, f"{len(lines)} tests were observed with other sources, and left out")


# ranking: three failing and four passing tests execute statement 1, all of them statement 2

SPECTRUM = Spectrum.from_matrix([[1, 1]] * 3 + [[1, 1]] * 4, failed=[True] * 3 + [False] * 4)


def ranked(outcomes, technique="value-predicates", spectrum=SPECTRUM, site=None):
    """A ranking by one site at statement 2, with the outcomes of t1, t2 and so on."""
    site = site or PredicateSite("program", 2, 2, "pair", "last", "first")
    failing = spectrum.failing_index
    seen = tuple(
        Observation(test, test in failing, {site: dict.fromkeys(several, 1)})
        for test, several in zip(spectrum.tests, outcomes, strict=False)
    )
    return make_technique(technique).localize(spectrum, Program((), observations=seen))


def test_a_predicate_of_all_failing_tests_ranks_its_statement_first():
    report = ranked(["<", "<", "<", ">", ">", "=", "="])
    assert [suspect.location.line for suspect in report.suspects()] == [2, 1]
    explanation = report.explain(0)
    assert explanation.sentences[0] == (
        "In all 3 failing tests that were observed `last < first` here, in no passing one of 4."
    )
    assert explanation.formula
    assert "ef = 3 * 3 / 3, ep = 4 * (0 + 1/2) / (4 + 1/2)" in str(explanation)


def test_two_outcomes_are_a_predicate_too():
    report = ranked(["<", "=", "=", ">", ">", ">", ">"])
    assert "`last <= first` here" in report.explain(0).sentences[0]


def test_a_predicate_says_nothing_where_each_test_has_its_own():
    lone = Spectrum.from_matrix([[1, 1]] * 5, failed=[True] + [False] * 4)
    site = PredicateSite("program", 2, 2, "definition", "total", "")
    own = ranked([["1"], ["2"], ["3"], ["4"], ["5"]], spectrum=lone, site=site)
    assert own.level_score.tolist() == ranked([], spectrum=lone).level_score.tolist()
    assert "100% of the passing tests have such a predicate of their own." in own.explain(1).sentences[0]
    shared = ranked([["1"], ["2"], ["2"], ["2"], ["2"]], spectrum=lone, site=site)
    assert "`total comes from line 1` here" in shared.explain(0).sentences[0]

    def observed(bound):
        return [Observation(test, test == "t1", {site: {one: 1}}) for test, one in zip(lone.tests, bound, strict=True)]

    assert separating_in_words(observed("12345"), lone) == {}
    ((sentence,),) = separating_in_words(observed("12222"), lone).values()
    assert "`total comes from line 1` here, in no passing one of 4" in sentence


def test_without_observations_it_is_the_formula():
    report = make_technique("value-predicates", formula="tarantula").localize(SPECTRUM)
    assert report.notes[0].cure == "run `suspectra investigate --technique value-predicates`"
    assert "Tarantula" in report.notes[0].cause
    with pytest.raises(UsageError, match="there is no formula 'x'"):
        make_technique("value-predicates", formula="x")


OUTCOMES = st.lists(st.sets(st.sampled_from("<=>")), min_size=7, max_size=7)


@settings(max_examples=100, deadline=None)
@given(OUTCOMES, st.sampled_from(["ochiai", "tarantula", "dstar", "naish2"]))
def test_no_observation_ranks_a_statement_lower(outcomes, formula):
    technique = make_technique("value-predicates", formula=formula)
    site = PredicateSite("program", 2, 2, "pair", "last", "first")
    seen = tuple(
        Observation(test, number < 3, {site: dict.fromkeys(several, 1)})
        for number, (test, several) in enumerate(zip(SPECTRUM.tests, outcomes, strict=True))
    )
    report = technique.localize(SPECTRUM, Program((), observations=seen))
    own = make_technique(formula).localize(SPECTRUM)
    for element in (0, 1):
        assert report.level_score[report.level[element]] >= own.level_score[own.level[element]]
    for predicates in report.predicates.values():
        for one in predicates:
            assert one.passing <= one.counted <= one.of_passing == 4
            assert one.separates
            assert 0 < one.failing <= one.of_failing == 3


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_site_can_be_said(kind):
    outcomes = {"type": "int", "truth": "true", "length": "more", "definition": "0"}
    words = PredicateSite("cart.py", 8, 8, kind, "last", "first").in_words(frozenset({outcomes.get(kind, "=")}))
    assert words in {
        "last == first",
        "last == 0",
        "last is True",
        "len(last) > 1",
        "type(last) is int",
        "last == the last before",
        "last is that of the caller",
    }


@pytest.mark.parametrize(
    ("technique", "cure"),
    [
        ("value-predicates", "run `suspectra investigate --technique value-predicates --ctest BUILD`"),
        ("switching", "run `suspectra investigate --technique switching --ctest BUILD`"),
        ("investigation", "run `suspectra investigate --ctest BUILD`"),
        ("muse", "choose Ochiai, Branch or SOBER, or ask `suspectra paths TEST --ctest BUILD`"),
    ],
)
def test_advice_for_c_can_be_followed(figure_1, technique, cure):
    notes = make_technique(technique).localize(*figure_1).notes
    assert [note.cure.startswith(cure) for note in notes if "`suspectra" in note.cure] == [True]
