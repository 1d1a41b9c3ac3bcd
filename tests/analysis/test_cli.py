import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import click
import jsonschema
import numpy as np
import pytest

from suspectra import __version__
from suspectra.base.errors import UsageError
from suspectra.causes.techniques import TECHNIQUES as CAUSES
from suspectra.cli.main import run
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.named_files import measured_file
from suspectra.output.rankings import table
from suspectra.runs.measured_file import MeasuredFile
from suspectra.techniques import technique_infos, technique_names

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def suspectra(shop, capsys, monkeypatch):
    """Runs a command in the shop: (status, stdout, stderr)."""
    monkeypatch.chdir(shop)
    monkeypatch.delenv("SUSPECTRA_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(arguments)
        return status, *capsys.readouterr()

    return call


SUSPECT = {
    "file": {"type": "string", "minLength": 1},
    "line": {"type": "integer", "minimum": 1},
    "end_line": {"type": "integer", "minimum": 1},
    "function": {"type": "string"},
    "reason": {"type": "string"},
    "score": {"type": "number"},
    "rank_best": {"type": "integer", "minimum": 1},
    "rank_average": {"type": "number", "minimum": 1},
    "rank_worst": {"type": "integer", "minimum": 1},
    "standard_rank": {"type": "number", "minimum": 0.5},
    "ef": {"type": "integer", "minimum": 0},
    "ep": {"type": "integer", "minimum": 0},
    "nf": {"type": "integer", "minimum": 0},
    "np": {"type": "integer", "minimum": 0},
    "failing_tests": {"type": "array", "items": {"type": "string"}},
    "changed": {"type": "integer", "minimum": 0},
    "changed_by_git": {"type": "integer", "minimum": 0},
    "only_read": {"type": "boolean"},
}
PROBLEM = {name: {"type": "string"} for name in ("file", "place", "cause", "cure")}
COLLECTION_ERROR = {
    **{name: {"type": "string"} for name in ("collector", "exception", "message", "file", "digest", "home")},
    "line": {"type": "integer", "minimum": 0},
    "time": {"type": "integer"},
}


def closed(properties: dict) -> dict:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


FUNCTION = {
    **{name: {"type": "string"} for name in ("file", "function")},
    "score": {"type": "number"},
    **{name: {"type": "integer", "minimum": 1} for name in ("rank_best", "rank_worst", "tied", "statements")},
    "raised": {"type": "integer", "minimum": 0},
    "lines": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
}
GROUP = {
    "id": {"type": "integer", "minimum": 1},
    "title": {"type": "string", "minLength": 1},
    "reason": {"type": "string", "minLength": 1},
    "sure": {"type": "boolean"},
    "since": {"enum": ["change", "unknown", "before"]},
    "tests": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "uncovered": {"type": "array", "items": {"type": "string"}},
    "functions": {"type": "array", "items": closed(FUNCTION)},
    "suspects": {"type": "array", "items": closed(SUSPECT)},
}
FRAME = {"file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}, "function": {"type": "string"}}
STACK = {
    "frames": {"type": "array", "items": closed(FRAME)},
    "exception": {"type": "string"},
    "message": {"type": "string"},
    "assertion": {"type": "boolean"},
    "omitted": {"type": "integer", "minimum": 0},
    **{
        name: {"anyOf": [{"type": "null"}, closed({name: FRAME[name] for name in ("file", "line")})]}
        for name in ("test_line", "own_line")
    },
    "details": {"type": "array", "items": {"type": "string"}},
}
BESIDES = {
    "at_import": {
        "type": "array",
        "items": closed({"file": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}}),
    },
    "replaced": {"type": "array", "items": closed({name: {"type": "string"} for name in ("name", "before", "after")})},
}
CONTRACT = closed(
    {
        "changed_besides": closed(BESIDES),
        "technique": {"type": "string"},
        "clone_failed": {"type": "boolean"},
        "without": {"type": "array", "items": {"type": "string"}},
        "passed": {"type": "integer"},
        "failed": {"type": "integer"},
        "elements": {"type": "integer"},
        "tied_beyond": {"type": "integer", "minimum": 0},
        "problems": {"type": "array", "items": closed(PROBLEM)},
        "stacks": {"type": "object", "additionalProperties": closed(STACK)},
        "collection_errors": {"type": "array", "items": closed(COLLECTION_ERROR)},
        "groups": {"type": "array", "items": closed(GROUP), "minItems": 1},
        "functions": {"type": "array", "items": closed(FUNCTION)},
        "suspects": {"type": "array", "items": closed(SUSPECT)},
    }
)


def strict_json(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("technique", [info.name for info in technique_infos() if not info.wants_edges])
def test_json_keeps_its_contract_with_every_technique(suspectra, technique):
    status, out, _ = suspectra("rank", "--technique", technique, "--format", "json")
    assert status == 0
    assert out.isascii()
    ranking = strict_json(out)
    jsonschema.validate(ranking, CONTRACT)
    assert ranking["technique"] == technique
    suspects = ranking["suspects"]
    assert len(suspects) == ranking["elements"] > 15
    assert (ranking["failed"], ranking["passed"]) == (12, 5)
    several = len(ranking.get("groups", ())) > 1  # then they come group by group
    if several:
        first = ranking["groups"][0]["suspects"][0]
        assert (first["file"], first["line"]) == (suspects[0]["file"], suspects[0]["line"])
    for before, after in () if several else pairwise(suspects):
        assert before["rank_best"] <= after["rank_best"]
        assert before["score"] >= after["score"] or after["ef"] + after["ep"] == 0
    for suspect in suspects:
        assert suspect["ef"] + suspect["nf"] == ranking["failed"]
        assert suspect["ep"] + suspect["np"] == ranking["passed"]
        assert len(suspect["failing_tests"]) == suspect["ef"]
        assert suspect["rank_average"] == (suspect["rank_best"] + suspect["rank_worst"]) / 2
    executed = {(suspect["file"], suspect["function"]) for suspect in suspects if suspect["ef"]}
    assert {(one["file"], one["function"]) for one in ranking["functions"]} == executed
    assert sum(one["statements"] for one in ranking["functions"]) == sum(suspect["ef"] > 0 for suspect in suspects)
    for before, after in () if several else pairwise(ranking["functions"]):
        assert before["rank_best"] <= after["rank_best"] <= before["rank_worst"] + 1


def test_infinite_scores_are_the_largest_double(suspectra, shop):
    report = (shop / "results.xml").read_text()
    # only the discount's tests fail, so its last line is executed by exactly the failing tests
    for name in ("test_setup", "test_teardown", "test_strict", "test_parts"):
        report = re.sub(rf'(<testcase [^>]*name="{name}"[^>]*>).*?</testcase>', r"\1</testcase>", report, flags=re.S)
    (shop / "results.xml").write_text(report)
    status, out, _ = suspectra("rank", "--technique", "dstar", "--format", "json", "--top", "1")
    assert status == 0
    assert strict_json(out)["suspects"][0]["score"] == sys.float_info.max
    assert "∞" in suspectra("rank", "--verbose", "--technique", "dstar")[1]


def test_table(suspectra):
    status, out, err = suspectra("rank", "--verbose", "--lines", "--technique", "ochiai", "--top", "4")
    assert status == 0
    assert out == (
        "✗ 8 tests: AssertionError, first suspect cart.py:15\n"
        "All 8 execute cart.py:15, and no passing test does. 1 more, which executes nothing that may be a suspect, is "
        "counted here because the group is the largest: tests/test_cart.py::test_setup.\n"
        "\n"
        "Rank   Score  Location        Function  ef  ep  nf  np  Source\n"
        " 1–2  0.9428  src/cart.py:15  discount   8   0   1   5  if percent > 50:\n"
        " 1–2  0.9428  src/cart.py:19  discount   8   0   1   5  return amount * (100 - percent) / 10  # wrong: 100\n"
        "      executed by 8 failing tests: test_cart.py::test_call_and_teardown and 7 more\n"
        "\n"
        "✗ 3 tests: cart.py:8\n"
        "All 3 execute cart.py:8; so do 2 passing tests.\n"
        "\n"
        "Rank   Score  Location        Function  ef  ep  nf  np  Source\n"
        " 1–3  0.7746  src/cart.py:8   total      3   2   0   3  amount = 0\n"
        " 1–3  0.7746  src/cart.py:9   total      3   2   0   3  for price, count in items:\n"
        " 1–3  0.7746  src/cart.py:11  total      3   2   0   3  return amount\n"
        "      executed by 3 failing tests: test_cart.py::Sums::test_parts, test_cart.py::test_strict and 1 more\n"
        "   4  0.4082  src/cart.py:10  total      1   1   2   4  amount += price * count\n"
        "      executed by 1 failing test: test_cart.py::Sums::test_parts\n"
        "\n"
        "At most 4 statements of each of the 2 failure groups are listed. Ranked by Ochiai. 12 tests failed, 5 passed\n"
        "(.coverage).\n"
    )
    assert err == ""


def test_of_each_suspect_one_plain_sentence_is_said_once_for_all_of_which_it_is_true(suspectra):
    out = suspectra("rank", "--top", "4")[1]
    shown = out.partition("\n\n")[2].partition("\n\n")[0]
    assert shown == (
        "Rank  Location        Source\n"
        "   1  discount · 2 lines tied\n"
        "      src/cart.py:19  return amount * (100 - percent) / 10  # wrong: 100\n"
        "      src/cart.py:15  if percent > 50:\n"
        "      8 of 9 failing tests run it, no passing one does."
    )
    assert not re.search(r"equal scores|\b0\.\d", out)


def test_the_default_says_of_each_suspect_why_and_what_evidence_is_missing(suspectra, shop):
    assert strict_json(suspectra("rank", "--format", "json")[1])["without"] == []
    report = (shop / "results.xml").read_text()
    (shop / "results.xml").write_text(re.sub(r"(<(failure|error)\b[^>]*>).*?(</\2>)", r"\1\3", report, flags=re.DOTALL))
    out = suspectra("rank", "--verbose", "--lines", "--top", "4")[1]
    rows = out.split("\n")
    assert rows[4].startswith("   1  1.0000  src/cart.py:19")
    assert rows[5] == "      Ahead of equal scores: it returns."
    assert "Ranked by All evidence, without tracebacks. 12 tests failed, 5 passed" in " ".join(out.split())
    ranking = strict_json(suspectra("rank", "--format", "json")[1])
    assert ranking["without"] == ["tracebacks"]
    assert ranking["suspects"][0]["reason"] == "Ahead of equal scores: it returns."
    assert all(suspect["reason"] for suspect in ranking["suspects"] if suspect["ef"])
    for form in ("csv", "sarif"):
        assert "Ahead of equal scores: it returns." in suspectra("rank", "--format", form)[1]


def test_functions_come_first_each_with_its_best_lines(suspectra):
    status, out, err = suspectra("rank", "--verbose", "--technique", "ochiai", "--top", "4")
    assert (status, err) == (0, "")
    assert out == (
        "✗ 8 tests: AssertionError, first suspect cart.py:15\n"
        "All 8 execute cart.py:15, and no passing test does. 1 more, which executes nothing that may be a suspect, is "
        "counted here because the group is the largest: tests/test_cart.py::test_setup.\n"
        "\n"
        "Rank   Score  Location        ef  ep  nf  np  Source\n"
        "   1  discount · 2 lines tied\n"
        "      0.9428  src/cart.py:15   8   0   1   5  if percent > 50:\n"
        "      0.9428  src/cart.py:19   8   0   1   5  return amount * (100 - percent) / 10  # wrong: 100\n"
        "      executed by 8 failing tests: test_cart.py::test_call_and_teardown and 7 more\n"
        "\n"
        "✗ 3 tests: cart.py:8\n"
        "All 3 execute cart.py:8; so do 2 passing tests.\n"
        "\n"
        "Rank   Score  Location        ef  ep  nf  np  Source\n"
        "   1  total · 3 lines tied\n"
        "      0.7746  src/cart.py:8    3   2   0   3  amount = 0\n"
        "      0.7746  src/cart.py:9    3   2   0   3  for price, count in items:\n"
        "      0.7746  src/cart.py:11   3   2   0   3  return amount\n"
        "      executed by 3 failing tests: test_cart.py::Sums::test_parts, test_cart.py::test_strict and 1 more\n"
        "\n"
        "At most 4 functions of each of the 2 failure groups are listed. Ranked by Ochiai. 12 tests failed, 5 passed"
        " (.coverage).\n"
    )


@pytest.mark.slow
def test_tables_list_10_functions_or_20_lines_and_machine_formats_all(suspectra, recorded_ledger):
    ledger = ("--workspace", str(recorded_ledger))
    assert len(re.findall(r"^ +\d+  ", suspectra("rank", *ledger)[1], re.M)) == 10
    assert len(re.findall(r"src/ledger/\w+\.py:\d+ ", suspectra("rank", "--lines", *ledger)[1])) == 20
    assert suspectra("rank", "--lines")[1].count("src/cart.py:") == 6, "of a group, only what its tests execute"
    assert suspectra("rank", "--format", "csv")[1].count("src/cart.py") == 22
    assert (
        suspectra("rank", "--format", "csv", "--technique", "ochiai", "--top", "3")[1].count("src/cart.py") == 5
    )  # a tie is not cut


def test_tests_are_suspects_when_asked_for(suspectra):
    ranked = strict_json(suspectra("rank", "--format", "json", "--include-tests")[1])
    assert {s["file"] for s in ranked["suspects"]} == {"src/cart.py", "tests/test_cart.py"}


def test_parameters_and_cloning(suspectra):
    def first_score(*arguments: str) -> float:
        return strict_json(suspectra("rank", "--format", "json", "--top", "1", *arguments)[1])["suspects"][0]["score"]

    assert first_score("--technique", "dstar") == 8**2 / 4
    assert first_score("--technique", "dstar", "--param", "exponent=3") == 8**3 / 4
    cloned = ("--technique", "ochiai", "--clone-failed")
    assert strict_json(suspectra("rank", "--format", "json", *cloned)[1])["clone_failed"] is True
    assert "failed tests cloned" in " ".join(suspectra("rank", *cloned)[1].split())


def test_clones_with_the_default_name_the_cure(suspectra):
    status, _, err = suspectra("rank", "--clone-failed")
    assert status == 2
    assert "only formulas can clone the failing tests" in err
    assert "`--technique ochiai`" in err


def test_output_goes_to_a_file_as_a_whole(suspectra, shop):
    status, out, _ = suspectra("rank", "--format", "json", "-o", "ranking.json")
    assert (status, out) == (0, "")
    strict_json((shop / "ranking.json").read_text())
    assert [path.name for path in shop.iterdir() if "ranking" in path.name] == ["ranking.json"]
    status, _, err = suspectra("rank", "-o", "no/such/folder.json")
    assert status == 2
    assert "can't be written" in err


def test_problems_are_warnings_on_stderr(suspectra, shop):
    (shop / ".coverage.elsewhere.1.abc").write_bytes(b"")
    status, out, err = suspectra("rank", "--format", "json")
    assert status == 0
    assert len(strict_json(out)["problems"]) == 1
    assert err.startswith("suspectra: warning: .coverage.elsewhere.1.abc: it is empty")


def test_explain(suspectra):
    status, out, _ = suspectra("explain", "src/cart.py:16")
    assert status == 0
    assert out.startswith("src/cart.py:16-18 in discount\n    raise ValueError(\n\n")
    status, out, _ = suspectra("explain", str(Path("src/cart.py").absolute()) + ":19")
    assert out.startswith("In the ranking of ✗ 8 tests: AssertionError, first suspect cart.py:19\n")
    assert "\nSuspect 1 of 22.\n" in out
    assert "0.55" not in out
    assert (
        "    K = 0.55 * 1 + 0.45 * 8 / (8 + 0) = 1, S = 1\n" in suspectra("explain", "src/cart.py:19", "--verbose")[1]
    )
    assert (
        "ef / sqrt(F * (ef + ep))\n    8 / sqrt(9 * (8 + 0)) = 0.942809\n"
        in suspectra("explain", "src/cart.py:19", "--technique", "ochiai", "-v")[1]
    )
    assert "    tests/test_cart.py::test_discount[10]\n" in out
    for place, words in (
        ("src/cart.py:1", "name line 3"),
        ("tests/test_cart.py:22", "--include-tests"),
        ("gone.py:1", "it was not measured"),
        ("src/cart.py", "FILE:LINE"),
        ("src/cart.py:0", "FILE:LINE"),
    ):
        status, _, err = suspectra("explain", place)
        assert status == 2
        assert words in err


def test_techniques(suspectra):
    status, out, _ = suspectra("techniques")
    assert status == 0
    listed = [line.split()[0] for line in out.split("\n") if line.startswith("  ")]
    names = [*technique_names(), *CAUSES]
    assert listed == names
    described = strict_json(suspectra("techniques", "--format", "json")[1])
    assert [info["name"] for info in described] == names
    assert all(info["paper"] and info["formula"] for info in described)
    assert next(info for info in described if info["name"] == "ochiai")["needs"] == ["lines"]


def test_version_and_help(suspectra):
    assert suspectra("--version")[:2] == (0, f"suspectra, version {__version__}\n")
    for command in ("rank", "report", "explain", "techniques", "record", "server"):
        status, out, _ = suspectra(command, "--help")
        assert status == 0
        assert "Usage: suspectra" in out


# ------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rank", "--technique", "ochia"], "did you mean ochiai"),
        (["rank", "--param", "exponent"], "KEY=VALUE"),
        (["rank", "--technique", "dstar", "--param", "power=2"], "power"),
        (["rank", "--format", "xml"], "xml"),
        (["rank", "--top", "0"], "0"),
        (["rank", "--workspace", "none"], "none"),
        (["rank", "--recording", "a", "--coverage", "b"], "not both"),
        (["rank", "--coverage", "none"], "there is no such file"),
        (["rank", "--junit", "none.xml"], "there is no such file"),
        (["rank", "--recording", "none"], "none"),
        (["server", "--tcp", ":1", "--ws", ":2"], "one of"),
        (["nonsense"], "No such command"),
        (["report"], "--html"),
        (["causes"], "there are 12 failing tests"),
        (["paths"], "there are 12 failing tests"),
    ],
    ids=" ".join,
)
def test_bad_usage_and_unreadable_evidence(suspectra, arguments, words):
    status, out, err = suspectra(*arguments)
    assert status == 2
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def without_failures(report: str) -> str:
    return re.sub(r"<(failure|error)\b.*?</\1>", "", report, flags=re.S)


def test_no_failing_test(suspectra, shop):
    (shop / "results.xml").write_text(without_failures((shop / "results.xml").read_text()))
    status, out, err = suspectra("rank")
    assert (status, out) == (1, "")
    assert "no test failed" in err.lower() or "no failing test" in err.lower()


def test_rankings_that_would_say_nothing(suspectra, shop, tmp_path):
    (tmp_path / "other").mkdir()
    files = [str(shop / name) for name in (".coverage", "results.xml")]
    status, out, err = suspectra("rank", "--workspace", "../other", "--coverage", files[0], "--junit", files[1])
    assert (status, out) == (1, "")
    assert "no statement of the workspace was measured" in err
    assert "2 files" in err, "and says which were left out"
    report = (shop / "results.xml").read_text()
    for name in ("test_discount.*?", "test_call_and_teardown", "test_teardown", "test_strict", "test_parts"):
        report = re.sub(rf'(<testcase [^>]*name="{name}"[^>]*>).*?</testcase>', r"\1</testcase>", report, flags=re.S)
    (shop / "results.xml").write_text(report)
    status, out, err = suspectra("rank")
    assert (status, out) == (1, "")
    assert "the failing tests run none of the code that may be a suspect" in err


def test_only_failing_tests(suspectra, shop):
    report = (shop / "results.xml").read_text()
    report = re.sub(r"(<testcase [^>]*?) ?/>", r'\1><failure message="x"/></testcase>', report)
    (shop / "results.xml").write_text(report)
    status, _, err = suspectra("rank")
    assert status == 0
    assert "no test passed" in err


def test_all_tests_erring_in_setup(suspectra, shop):
    report = (shop / "results.xml").read_text()
    error = '<error message="failed on setup with x"/>'
    report = re.sub(r"(<testcase [^>]*?)( ?/>|>.*?</testcase>)", rf"\1>{error}</testcase>", report, flags=re.S)
    (shop / "results.xml").write_text(report)
    status, _, err = suspectra("rank")
    assert status in (0, 1)
    assert "setup" in err or "no test passed" in err


def test_workspace_without_evidence(suspectra, tmp_path):
    (tmp_path / "empty").mkdir()
    status, _, err = suspectra("rank", "--workspace", str(tmp_path / "empty"))
    assert status == 2
    assert "suspectra record -- pytest" in err


def test_unexpected_errors_are_one_line_unless_debugging(suspectra, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("odd\x1b[2J")

    monkeypatch.setattr(table, "write_table", broken)
    monkeypatch.setenv("SUSPECTRA_DEBUG", "")  # put back what --debug leaves
    status, _, err = suspectra("rank")
    assert status == 70
    assert "internal error: ZeroDivisionError: odd\\x1b[2J" in err
    assert "Traceback" not in err
    assert "--debug" in err
    assert "Traceback" in suspectra("--debug", "rank")[2]


def test_nothing_from_the_evidence_steers_the_terminal(suspectra, shop):
    path = shop / "src/cart.py"
    text = path.read_text().replace("# wrong: 100", "# \x1b[31mred\x1b]0;title\x07 \u202eesrever\x9b2J")
    path.write_text(text)
    report = (shop / "results.xml").read_text()
    (shop / "results.xml").write_text(report.replace("test_nothing_measured", "test_\u202e\x9b31m"))
    for arguments in (["rank"], ["techniques"], ["rank", "--format", "markdown"], ["explain", "src/cart.py:19"]):
        status, out, err = suspectra(*arguments)
        assert status == 0
        for character in "\x1b\x07\x9b\u202e":
            assert character not in out + err
    assert "\\x1b[31mred" in suspectra("explain", "src/cart.py:19")[1]


# ------------------------------------------------------------------------------------- as a process


def process(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "suspectra", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )


def test_a_reader_that_stops_reading_is_no_error(shop):
    shell = f"{sys.executable} -m suspectra rank --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=shop, capture_output=True, check=False)
    assert len(done.stdout) == 10
    assert done.stderr == b""


def test_narrow_encodings_do_not_matter(shop):
    path = shop / "src/cart.py"
    path.write_text(path.read_text().replace("# wrong: 100", "# 日本 ≤"), encoding="utf-8")
    done = process(shop, "rank", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def on_a_terminal(folder: Path, **environment: str) -> str:
    import pty

    main, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "suspectra", "rank", "--top", "2"],
        cwd=folder,
        env=os.environ | {"TERM": "xterm"} | environment,
        stdout=end,
        stderr=end,
    ) as running:
        os.close(end)
        parts = []
        try:
            while part := os.read(main, 4096):
                parts.append(part)
        except OSError:
            pass  # the other end is closed
        running.wait()
    os.close(main)
    return b"".join(parts).decode()


@pytest.mark.slow
def test_colours_only_on_terminals_that_want_them(shop):
    coloured = on_a_terminal(shop)
    assert "\x1b[31m" in coloured
    plain = on_a_terminal(shop, NO_COLOR="1")
    assert "\x1b" not in plain
    assert ANSI.sub("", coloured) == plain
    assert "\x1b" not in on_a_terminal(shop, TERM="dumb")
    assert b"\x1b" not in process(shop, "rank").stdout


def test_starting_loads_no_more_than_needed():
    code = (
        "import sys, suspectra.cli.main\n"
        "from suspectra.c.recording import ctest_command\n"
        "from suspectra.recording import launch\n"
        "print(*{'numpy', 'scipy', 'jinja2', 'sqlite3', 'pygls'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_each_command_is_found_in_the_module_that_has_it():
    from suspectra.cli import main

    for module, names in main._COMMANDS.items():
        group = click.Group()
        import_module(module).register(group)
        assert set(group.commands) == set(names), module
    context = click.Context(main.cli)
    assert {*main._MODULES, "server"} == set(main.cli.list_commands(context))
    assert main.cli.get_command(context, "no-such-command") is None


@pytest.mark.slow
def test_a_recording_gives_the_same_ranking(shop, tmp_path):
    """The project's own recorder and coverage.py see the same run."""
    folder = tmp_path / "recorded"
    shutil.copytree(shop, folder, ignore=shutil.ignore_patterns(".coverage", "results.xml", "__pycache__"))
    options = ("-q", "-p", "no:cacheprovider", "-p", "rerunfailures")
    done = process(folder, "record", "--", sys.executable, "-m", "pytest", *options)
    assert done.returncode == 1, done.stderr.decode()
    recorded = strict_json(process(folder, "rank", "--format", "json").stdout.decode())
    covered = strict_json(process(shop, "rank", "--format", "json").stdout.decode())
    for stack in (*recorded["stacks"].values(), *covered["stacks"].values()):
        stack["frames"] = [
            frame for frame in stack["frames"] if frame["file"].startswith("src/")
        ]  # all that both measure
        del stack["test_line"], stack["own_line"], stack["details"]
    assert recorded == covered


def test_a_recording_is_found_from_the_folders_inside_of_its_workspace(suspectra, shop, monkeypatch):
    inside, repository = shop / "src" / "deep", shop / "src" / "other"
    inside.mkdir()
    (shop / ".suspectra").mkdir()
    repository.joinpath(".git").mkdir(parents=True)
    expected = suspectra("rank", "--top", "3")
    for folder, command in ((inside, ["rank", "--top", "3"]), (inside, []), (shop / "tests", ["status"])):
        monkeypatch.chdir(folder)
        status, out, _ = suspectra(*command)
        assert status == 0
        assert "src/cart.py:19" in out
        if command[:1] == ["rank"]:
            assert out == expected[1]
    monkeypatch.chdir(repository)
    assert suspectra("rank")[0] == 2  # it belongs to another project
    monkeypatch.chdir(inside)
    assert suspectra("rank", "--workspace", ".")[0] == 2
    (inside / ".suspectra").mkdir()
    assert suspectra("rank")[0] == 2  # it has its own


def test_the_end_of_a_path_names_a_measured_file(suspectra):
    paths, one = ("src/cart.py", "src/old/cart.py", "src/tax.py"), np.ones(1, np.int32)
    files = tuple(MeasuredFile(path, None, one, one, one - 2, ()) for path in paths)
    evidence = Evidence("by hand", (), files, (), np.zeros(0, np.int32))
    assert measured_file(evidence, "tax.py") == "src/tax.py"
    assert measured_file(evidence, "old/cart.py") == "src/old/cart.py"
    assert measured_file(evidence, "src/cart.py") == "src/cart.py"
    assert measured_file(evidence, "rt.py") == "rt.py"
    with pytest.raises(UsageError, match=r"it is the end of 2 paths: src/cart\.py, src/old/cart\.py"):
        measured_file(evidence, "cart.py")
    assert suspectra("explain", "cart.py:19") == suspectra("explain", "src/cart.py:19")
