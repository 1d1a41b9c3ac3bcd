import json

import numpy as np
import pytest

from suspectra.evidence.evidence import Evidence
from suspectra.evidence.sources import Sources
from suspectra.failure_groups.ranking import rank_groups
from suspectra.output.agents.agent import ranking_answer
from suspectra.output.rankings.ranking import Listing
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique


@pytest.mark.slow
def test_three_faults_at_once_have_three_rankings(faulty_ledger, capsys):
    from suspectra.cli.main import run

    assert run(["rank", "--workspace", str(faulty_ledger), "--format", "json", "--technique", "ochiai"]) == 0
    listed = json.loads(capsys.readouterr().out)
    groups = listed["groups"]
    assert [len(group["tests"]) for group in groups] == [4, 3, 1]
    assert all(group["sure"] for group in groups)
    first = [{suspect["file"] for suspect in group["suspects"][:2]} for group in groups]
    assert first == [{f"src/ledger/{name}.py"} for name in ("discounts", "tax", "statements")]
    assert "test_nothing.py::test_without_coverage" in "".join(groups[0]["tests"])
    assert "counted here because the group is the largest" in groups[0]["reason"]
    assert groups[1]["title"] == "2 with UnbalancedEntry at journal.py:41"
    assert all(suspect["ef"] for group in groups for suspect in group["suspects"])
    assert {suspect["ef"] + suspect["nf"] for suspect in listed["suspects"]} == {8}, "still over all of them"

    assert run(["rank", "--workspace", str(faulty_ledger), "--technique", "ochiai"]) == 0
    table = capsys.readouterr().out
    heading = "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41"
    assert f"{heading}\nAll 3 execute tax.py:55; so does 1 passing test.\n" in table
    assert "of each of the 3 failure groups are listed" in table

    assert run(["rank", "--workspace", str(faulty_ledger), "--format", "csv", "--technique", "ochiai"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(",group,group_rank")
    assert any("statements.py,26," in line for line in lines)


def test_a_line_is_explained_by_the_ranking_of_its_group(faulty_ledger, capsys):
    from suspectra.cli.main import run

    for options, words in (
        ((), "Suspect 2 of "),
        (("--why-not",), "statements.py:26, at rank 2, has the score of the first suspect"),
        (("--tie",), "statements.py:26"),
    ):
        assert run(["explain", "--workspace", str(faulty_ledger), "src/ledger/statements.py:26", *options]) == 0
        first, rest = capsys.readouterr().out.split("\n", 1)
        assert first.startswith("In the ranking of ✗ 1 test: ")
        assert words in " ".join(rest.split())


def test_every_format_shows_the_groups(faulty_ledger, capsys, tmp_path):
    from suspectra.cli.main import run

    assert run(["rank", "--workspace", str(faulty_ledger), "--format", "sarif", "--technique", "ochiai"]) == 0
    (log,) = json.loads(capsys.readouterr().out)["runs"]
    assert [(group["id"], len(group["tests"])) for group in log["properties"]["groups"]] == [(1, 4), (2, 3), (3, 1)]
    places = {
        (place["artifactLocation"]["uri"], place["region"]["startLine"]): result["properties"]
        for result in log["results"]
        for place in [result["locations"][0]["physicalLocation"]]
    }
    own = places["src/ledger/statements.py", 26]
    assert (own["group"], own["group_rank"]) == (3, 1)
    assert own["rank_best"] > 1, "its own rank is still that among all"
    assert all(("group" in properties) == bool(properties["ef"]) for properties in places.values())

    assert run(["rank", "--workspace", str(faulty_ledger), "--format", "markdown", "--technique", "ochiai"]) == 0
    assert capsys.readouterr().out.count("### ✗ ") == 3

    page = tmp_path / "page.html"
    assert run(["report", "--workspace", str(faulty_ledger), "--html", str(page), "--technique", "ochiai"]) == 0
    text = page.read_text("utf-8")
    assert "3 failure groups" in text
    assert "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41" in text


def test_agents_are_told_last_of_a_test_that_executes_no_suspect(tmp_path):
    technique = make_technique("ochiai")
    spectrum = Spectrum.from_matrix([[0, 0], [1, 1], [0, 1]], failed=[True, True, False])
    report = technique.localize(spectrum)
    groups = tuple(rank_groups(report, technique).groups)
    evidence = Evidence("by hand", (), (), (), np.zeros(0, np.int32))
    (group,) = ranking_answer(Listing(report, evidence, (), groups=groups), Sources(tmp_path), 2_000)["groups"]
    assert group["tests"] == ["t2", "t1"]


def test_expected_steps_and_plans_are_those_of_each_group(faulty_ledger, capsys):
    from suspectra.cli.main import run

    command = ["markov", "--workspace", str(faulty_ledger), "--technique", "ochiai", "--format", "json"]
    assert run(command) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    first = [group["suspects"][0] for group in groups]
    assert [one["file"] for one in first] == [f"src/ledger/{name}.py" for name in ("discounts", "tax", "statements")]
    assert all(one["rank_best"] == 1 for one in first)

    assert run([*command, "--plan"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [group["plan"][0]["rank_best"] for group in groups] == [1, 1, 1]

    assert run([*command[:-2], "--plan"]) == 0
    table = capsys.readouterr().out
    assert table.count("✗ ") == 3
    assert table.count("until the fault is seen") == 3

    # from a line: the ranking of its group, as `explain` has it
    assert run([*command, "src/ledger/statements.py:26"]) == 0
    assert json.loads(capsys.readouterr().out)["around"]["rank_best"] == 1
