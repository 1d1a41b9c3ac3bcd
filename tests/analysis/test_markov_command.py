"""`suspectra markov`, `evaluate --ht-rank`, pictures of the chain, and learning from moves."""

import json
import math
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import UsageError
from suspectra.cli.main import run
from suspectra.evaluation.study import StudiedTechnique, StudyPlan, rank_subject
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.learning import PRIOR_MOVES, JumpHabit
from suspectra.output.pictures.chain import Picture
from suspectra.spectrum import Elements, Function, Spectrum
from suspectra.techniques import make_technique

CHECKOUT = Path(__file__).parent.parent / "fixtures" / "checkout"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("markov") / "checkout"
    shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=120)
    return root


@pytest.fixture
def suspectra(recorded, capsys, monkeypatch):
    """Runs a command in the recorded project: (status, stdout, stderr)."""
    monkeypatch.chdir(recorded)
    monkeypatch.setenv("COLUMNS", "110")

    def call(*arguments):
        status = run([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return call


FAULT = "shop/vouchers.py:17"


def test_next_moves_around_a_line(suspectra):
    status, out, err = suspectra("markov", FAULT)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "shop/vouchers.py:17 in by_amount"
    assert lines[1].strip().startswith("off = off - amount")
    assert lines[3].split() == ["Chance", "Next", "Because", "Source"]
    assert any("runs just before" in line and "vouchers.py:16" in line for line in lines)
    assert max(map(len, lines)) <= 110


def test_json_says_the_same_and_adds_up(suspectra):
    _, out, _ = suspectra("markov", FAULT, "--format", "json", "--top", 1000)
    found = json.loads(out)
    assert sum(move["probability"] for move in found["moves"]) == pytest.approx(1)
    assert found["around"]["ht_rank"] == 0.5
    assert found["p_jump"] == 0.5
    ids = {node["id"] for node in found["chain"]["nodes"]}
    assert all({edge["source"], edge["target"]} <= ids for edge in found["chain"]["edges"])
    _, out, _ = suspectra("markov", FAULT, "--format", "json", "--p-jump", 0)
    assert all("ranking" in why for move in json.loads(out)["moves"] for why in move["reasons"])


def test_without_a_place_the_statements_met_soonest_are_listed(suspectra):
    _, out, _ = suspectra("markov", "--format", "json", "--top", 5)
    steps, ranks = zip(
        *((entry["expected_steps"], entry["rank_best"]) for entry in json.loads(out)["suspects"]), strict=True
    )
    assert len(steps) == 5
    assert list(steps) == sorted(steps)
    _, table, _ = suspectra("markov", "--top", 5)
    assert table.splitlines()[0].split()[:4] == ["HT_Rank", "Steps", "Rank", "Location"]
    assert ("goes back to the ranking where that statement is" in table) == (list(ranks) != sorted(ranks))
    # nobody jumps: the Standard Rank
    _, out, _ = suspectra("markov", "--format", "json", "--top", 5, "--p-jump", 0)
    for entry in json.loads(out)["suspects"]:
        assert entry["ht_rank"] == (entry["rank_best"] - 1 + entry["rank_worst"]) / 2


def test_the_plan_says_what_it_saves(suspectra):
    status, out, err = suspectra("markov", "--plan", "--top", 3)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["Steps", "Next", "Because", "Source"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "1", "1"]
    _, out, _ = suspectra("markov", "--plan", "--format", "json", "--top", 1000)
    found = json.loads(out)
    assert len(found["plan"]) == len({(one["file"], one["line"]) for one in found["plan"]}) > 10
    assert found["plan_steps"] < found["ranking_steps"]
    assert f"about {found['plan_steps']:.0f} steps until the fault is seen" in lines[-1]
    # from a line: that line is no more in it, and the next place is a neighbour
    _, out, _ = suspectra("markov", FAULT, "--plan", "--format", "json")
    first = json.loads(out)["plan"][0]
    assert (first["steps"], first["reasons"][-1]) == (1, "same function")
    # nobody can jump: the plan is the ranking
    _, out, _ = suspectra("markov", "--plan", "--p-jump", 0, "--format", "json", "--top", 1000)
    ranks = [one["rank_best"] for one in json.loads(out)["plan"]]
    assert ranks == sorted(ranks)
    _, out, _ = suspectra("markov", "--plan", "--p-jump", 0)
    assert "As good as going down the ranking" in out


def test_an_estimate_has_its_interval_around_the_exact_steps(suspectra):
    _, exact, _ = suspectra("markov", "--format", "json", "--top", 1)
    _, walked, _ = suspectra("markov", "--format", "json", "--top", 1, "--estimate", "--max-steps", 4000)
    one, other = json.loads(exact)["suspects"][0], json.loads(walked)["suspects"][0]
    assert other["line"] == one["line"]
    assert other["expected_steps"] == pytest.approx(one["expected_steps"], rel=0.05)
    assert other["low"] < other["expected_steps"] < other["high"]


def test_sbbfl_has_its_own_chain(suspectra, tmp_path):
    status, _, _ = suspectra("markov", "--technique", "sbbfl", FAULT, "--svg", tmp_path / "c.svg")
    assert status == 0
    labels = {text.text for text in ET.parse(tmp_path / "c.svg").iter(f"{SVG}text")}
    assert any(label.startswith("subgraph ") for label in labels)


def test_a_reader_who_never_comes_back(suspectra):
    status, out, err = suspectra("markov", "--p-jump", 1, FAULT)
    assert (status, "p_jump is 1" in err) == (0, True)
    assert "vouchers.py:16" in out
    status, out, err = suspectra("markov", "--p-jump", 1)
    assert (status, out, "p_jump is 1" in err) == (2, "", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--svg", "c.svg"], "needs FILE:LINE"),
        (["shop/vouchers.py"], "FILE:LINE"),
        (["shop/vouchers.py:2"], "there is no statement on it"),
        (["no/such.py:2"], "there is no statement on it"),
        (["--p-jump", "1.5"], "--p-jump"),
        (["--calls", "-1"], "--calls"),
        (["--calls", "nan"], "calls"),
        ([FAULT, "--svg", "no/such/folder/c.svg"], "it can't be written"),
    ],
)
def test_bad_input_is_said_in_a_line(suspectra, arguments, said):
    status, _, err = suspectra("markov", *arguments)
    assert status == 2
    assert said in err
    assert "Traceback" not in err


def test_the_picture_stands_alone_and_is_described(suspectra, tmp_path):
    picture = tmp_path / "chain.svg"
    status, _, _ = suspectra("markov", FAULT, "--svg", picture)
    root = ET.parse(picture).getroot()
    assert status == 0
    assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
    ids = root.get("aria-labelledby").split()
    title, desc = (root.find(f"{SVG}{name}") for name in ("title", "desc"))
    assert [title.get("id"), desc.get("id")] == ids
    assert title.text == "Where a reader of shop/vouchers.py:17 goes next"
    assert "To shop/vouchers.py:16 with" in desc.text
    assert "(runs just before, same function)" in desc.text
    text = picture.read_text()
    assert "prefers-color-scheme: dark" in text
    for forbidden in ("<script", "href", "url(", "http://", "https://", "@import"):
        assert forbidden not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    wide, high = (float(root.get(name)) for name in ("width", "height"))
    for box in root.iter(f"{SVG}rect"):
        assert 0 <= float(box.get("x", 0)) <= wide - float(box.get("width"))
        assert 0 <= float(box.get("y", 0)) <= high - float(box.get("height"))


def test_the_page_shows_the_chain_of_the_first_suspects(suspectra, tmp_path):
    page = tmp_path / "page.html"
    assert suspectra("report", "--html", page)[0] == 0
    text = page.read_text()
    figures = text.count("<figure data-chain=")
    assert figures == 20
    assert text.count('aria-labelledby="chain') == len(set(text.split('aria-labelledby="')[1:])) == figures
    assert text.count("suspectra-chain {") == 2, "the style of the pictures is in the page once, for light and dark"


HOSTILE = [
    "<script>alert(1)</script>",
    "a&b\"c'd",
    "]]><!--",
    "\x1b[31m\x00\u202e\ufffe\uffff\ud800",
    "é" * 500,
    "</svg>",
    "{{ 7 * 7 }}",
]


def program_of(names, functions=()):
    count = len(names)
    numbers = np.arange(count, dtype=np.int32)
    function = np.zeros(count, np.int32) if functions else np.full(count, -1, np.int32)
    elements = Elements(tuple(names), numbers, numbers + 1, numbers + 1, function, functions)
    return Spectrum.from_matrix(np.tri(count, dtype=int) + np.eye(count, dtype=int), [True] * count, elements=elements)


def model_of(names, **how):
    spectrum = program_of(names, (Function(0, "f<g>", 1, 99),))
    return DebuggingModel(make_technique("ochiai").localize(spectrum), **how)


def test_hostile_names_and_sources_stay_text():
    model = model_of(HOSTILE)
    for element in range(len(HOSTILE)):
        picture = Picture.around(model, element, source=lambda one: HOSTILE[one])
        root = ET.fromstring(picture.svg())
        assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
            "svg", "title", "desc", "style", "rect", "path", "g", "text"
        }  # fmt: skip
        assert picture.svg().isprintable() or not set("\x1b\x00\u202e\ufffe\uffff") & set(picture.svg())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=30, unique=True), st.integers(1, 40), st.data())
def test_every_picture_is_well_formed_and_tells_no_more_than_a_whole(names, limit, data):
    model = model_of(names)
    element = data.draw(st.integers(0, len(names) - 1))
    picture = Picture.around(model, element, source=lambda one: names[one], limit=limit)
    root = ET.fromstring(picture.svg(styled=False, prefix="p"))
    assert root.find(f"{SVG}style") is None
    from_centre = sum(edge.probability for edge in picture.edges if edge.source == picture.nodes[0].state)
    assert 0 < from_centre <= 1 + 1e-9


def test_an_excluded_statement_has_no_picture():
    with pytest.raises(KeyError):
        Picture.around(model_of(["a", "b"], excluded=[1]), 1)


# ranks by expected steps


def test_evaluate_by_expected_steps(suspectra, tmp_path):
    faults = tmp_path / "faults.txt"
    faults.write_text(f"{FAULT}\nshop/vouchers.py:7\n")
    _, out, _ = suspectra("evaluate", "--faults", faults, "--ht-rank", "--format", "json")
    found = json.loads(out)
    assert found["faults"][0]["ht_rank"] == 0.5
    assert found["faults"][0]["expected_steps"] > 1
    assert found["scores"]["HT_Rank"]["first"] == 0.5
    assert {"HT_Rank (Steimann)", "HT_Rank / statements"} <= found["scores"].keys()
    # nobody jumps: the Standard Rank
    _, out, _ = suspectra("evaluate", "--faults", faults, "--ht-rank", "--p-jump", 0, "--format", "json")
    scores = json.loads(out)["scores"]
    assert scores["HT_Rank"] == scores["standard rank"]
    assert scores["HT_Rank (Steimann)"] == scores["Steimann rank"]
    _, table, _ = suspectra("evaluate", "--faults", faults, "--ht-rank")
    assert "HT_Rank 0.5 (" in table
    _, plain, _ = suspectra("evaluate", "--faults", faults, "--format", "json")
    assert "HT_Rank" not in plain


def test_a_study_by_expected_steps_compares_reports_of_different_granularity(suspectra, tmp_path, recorded):
    (tmp_path / "faults.txt").write_text(f"{FAULT}\n")
    study = tmp_path / "study.toml"
    study.write_text(
        '[study]\ntechniques = ["ochiai", "sbbfl"]\nht_rank = true\np_jump = 0.3\n'
        f'[[subject]]\nname = "shop"\nworkspace = "{recorded}"\nrecording = "{recorded}/.suspectra/recording"\n'
        'faults = "faults.txt"\n'
    )
    status, out, err = suspectra("study", study, "--jobs", 1)
    assert (status, err) == (0, "")
    assert "## All subjects, ranked by expected steps (HT_Rank)" in out
    _, rows, _ = suspectra("study", study, "--jobs", 1, "--format", "csv")
    ranks = {row.split(",")[2]: float(row.split(",")[6]) for row in rows.splitlines()[1:]}
    assert ranks.keys() == {"ochiai", "sbbfl"}
    assert ranks["ochiai"] == 1
    study.write_text(study.read_text().replace("p_jump = 0.3", "p_jump = 1"))
    status, _, err = suspectra("study", study)
    assert (status, "never comes back" in err) == (2, True)
    study.write_text(study.read_text().replace("p_jump = 1", 'p_jump = "often"'))
    assert suspectra("study", study)[0] == 2


def test_without_jumps_ranks_by_steps_are_ranks():
    spectrum = Spectrum.from_matrix([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]], failed=[True, False, False])

    class Subject:
        family, name, program, faulty, faults = "a", "b", None, np.array([1, 2]), ()

    Subject.spectrum = spectrum
    plain, _ = rank_subject(Subject, StudyPlan((StudiedTechnique("ochiai"),)))
    by_steps, _ = rank_subject(Subject, StudyPlan((StudiedTechnique("ochiai"),), ht_rank=True, p_jump=0))
    assert by_steps == plain


# learning


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=60), st.floats(0, 1))
def test_the_estimate_stays_between_what_was_set_and_what_was_seen(moves, prior):
    habit = JumpHabit()
    for jumped in moves:
        habit = habit.after(jumped)
    assert (habit.jumps, habit.returns) == (sum(moves), len(moves) - sum(moves))
    seen = sum(moves) / len(moves) if moves else prior
    estimate = habit.estimate(prior)
    assert min(prior, seen) - 1e-9 <= estimate <= max(prior, seen) + 1e-9
    assert estimate == pytest.approx((PRIOR_MOVES * prior + sum(moves)) / (PRIOR_MOVES + len(moves)))
    low, high = habit.interval(prior)
    assert 0 <= low <= high <= 1
    assert not math.isnan(low + high)


def test_more_moves_say_more():
    def width(n):
        low, high = JumpHabit(n, n).interval()
        return high - low

    assert width(1000) < width(10) < width(0)
    with pytest.raises(UsageError):
        JumpHabit(-1, 0)


# suspicious behaviours


def test_suspicious_behaviours_are_listed_with_their_lines(suspectra):
    _, out, _ = suspectra("rank", "--technique", "sbbfl", "--top", 2)
    listed = out.partition("Suspicious behaviours\n")[2].splitlines()
    assert listed[0].startswith("1. ")
    assert "shop/vouchers.py:" in listed[0]
    assert listed[0].endswith("passed tests)")
    _, out, _ = suspectra("rank", "--technique", "sbbfl", "--format", "json")
    found = json.loads(out)["subgraphs"]
    assert [graph["score"] for graph in found] == sorted((graph["score"] for graph in found), reverse=True)
    assert {"file": "shop/vouchers.py", "line": 17, "end_line": 17} in found[0]["statements"]
    _, out, _ = suspectra("rank", "--format", "json")
    assert "subgraphs" not in json.loads(out)
