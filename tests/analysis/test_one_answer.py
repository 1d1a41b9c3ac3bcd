"""Whatever was run before, every view names the same statement first."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from suspectra.cli.main import run
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.localizer import Localizer
from suspectra.techniques.default import default_technique

PROGRAM = """\
def end(first, count):
    last = first + count - 1
    return last


def period(first, count):
    until = end(first, count)
    days = until - first
    return max(days, 0)


def double(count):
    return count * 3
"""
TESTS = """\
import pytest

from program import double, period


def test_another():
    assert double(4) == 8


@pytest.mark.parametrize("first, count", [(3, 4), (10, 2)])
def test_period(first, count):
    assert period(first, count) == count


def test_nothing():
    assert period(7, 0) == 0


def test_before():
    assert period(7, -3) == 0
"""
MENU = Path(__file__).parents[2] / "benchmarks/faulty_programs/menu"
ORDERS = (("fix", "why", "causes"), ("causes", "investigate", "why"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project in which a change at several places makes two tests pass, and another test fails for another reason."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "test_program.py").write_text(TESTS)
    run(["record", "--workspace", str(folder), "--", "pytest", "-q", "-p", "no:cacheprovider", str(folder)])
    return folder


def named_first(folder, capfd):
    """The first statement in each view of a workspace."""

    def said(*words):
        capfd.readouterr()
        run([words[0], "--workspace", str(folder), *words[1:]])
        return capfd.readouterr().out

    ranking = json.loads(said("rank", "--format", "json"))
    function, first = ranking["functions"][0], ranking["suspects"][0]
    lines = list(csv.DictReader(said("rank", "--format", "csv").splitlines()))
    results = json.loads(said("rank", "--format", "sarif"))["runs"][0]["results"]
    at = results[0]["locations"][0]["physicalLocation"]
    page = folder / "page.html"
    said("report", "--html", str(page))
    evidence = with_experiments(find_source(folder, edges=True).read(), folder)
    localizer = Localizer(default_technique(evidence.experiments))
    localizer.update(evidence)
    report = localizer.groups().groups[0].report
    place = r"program\.py:\d+"
    compared = r"first suspect(?: is|,) (program\.py:\d+)"
    return {
        "rank as JSON": f"{function['file']}:{function['lines'][0]}",
        "lines as JSON": f"{first['file']}:{first['line']}",
        "lines": re.search(place, said("rank", "--lines").partition("Rank")[2])[0],
        "CSV": f"{lines[0]['file']}:{lines[0]['line']}",
        "SARIF": f"{at['artifactLocation']['uri']}:{at['region']['startLine']}",
        "why not": re.search(compared, said("explain", "--why-not", "program.py:3"))[1],
        "rank": re.search(place, said("rank").partition("Rank")[2])[0],
        "agents": re.search(place, said("rank", "--format", "agent").partition("\n1. ")[2])[0],
        "status": re.search(rf"^ +1 +({place})", said("status"), re.MULTILINE)[1],
        "page": re.search(place, page.read_text("utf-8").partition('<ul class="functions">')[2])[0],
        "editors": str(report.spectrum.elements.location(int(report.reading_order(5)[0]))),
        "why": json.loads(said("why", "--format", "json", "--seconds", "0.001"))["place"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_every_view_names_the_same_statement_first(recorded, tmp_path, capfd, order):
    folder = tmp_path / "project"
    shutil.copytree(recorded, folder)
    seen = [named_first(folder, capfd)]
    for command in order:
        test = ["test_period[3-4]"] if command == "causes" else []
        run([command, "--workspace", str(folder), "--seconds", "2", *test])
        seen.append(named_first(folder, capfd))
    for command, views in zip(("record", *order), seen, strict=True):
        assert len(set(views.values())) == 1, f"after {command}: {views}"


@pytest.mark.slow
def test_what_a_search_for_fixes_tried_in_vain_comes_behind_the_fix(tmp_path, capfd):
    """What few passing tests execute is more suspicious, until changes of it were tried."""
    code = (MENU / "menu.py").read_text("utf-8").partition("\n\n\n")[2]  # without what is said about it
    (tmp_path / "program.py").write_text(code)
    tests = (MENU / "test_menu.py").read_text("utf-8")
    (tmp_path / "test_program.py").write_text(tests.replace("from menu import", "from program import"))
    run(["record", "--workspace", str(tmp_path), "--", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)])
    assert set(named_first(tmp_path, capfd).values()) != {"program.py:13"}
    run(["fix", "--workspace", str(tmp_path), "--seconds", "20"])
    assert set(named_first(tmp_path, capfd).values()) == {"program.py:13"}
    run(["explain", "--workspace", str(tmp_path), "program.py:6"])
    assert re.search(r"\d+ alterations here were tried, and no test passes with any\.", capfd.readouterr().out)
