import csv
import io
import json
import math
from functools import partial
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.sources import Sources
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.ranking import rank_groups
from suspectra.localizer import Localizer
from suspectra.output.agents.agent import write_agent
from suspectra.output.explanation import write_explanation
from suspectra.output.rankings.csv_table import FIELDS, write_csv
from suspectra.output.rankings.html import write_html
from suspectra.output.rankings.json_object import write_json
from suspectra.output.rankings.markdown import write_markdown
from suspectra.output.rankings.ranking import Listing, function_in_words
from suspectra.output.rankings.sarif import write_sarif
from suspectra.output.rankings.table import write_table
from suspectra.output.status import write_first_suspects
from suspectra.output.terminal import fit, pad, safe, width
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique
from suspectra_recorder.log.stack import Stack, StackFrame

NASTY = [
    "=cmd|' /C calc'!A0",
    "a\x00b\x1b[31m",
    'comma, "quote"\nline',
    "|`*_<script>[x](y)",
    "\u202eabc",
    "日本語",
    "-1",
    "@x",
]


def ranking_of(
    names: list[str], *, file: str = "src/a.py", function: str = "f", technique: str = "ochiai", stacks=(), **more
) -> Listing:
    """The last of three tests passes; line 2 is the first suspect."""
    measured = MeasuredFile(
        file, None, np.array([1, 2, 4]), np.array([1, 3, 4]), np.array([-1, 0, 0]), ((function, 1, 4),)
    )
    rows = [np.array(row, np.int32) for row in ([0, 1], [0, 1], [0, 2])]
    location = Location("tests/test_a.py", 7, 9)
    tests = [
        TestResult(name, verdict, location, message="boom")
        for name, verdict in zip(names, (Verdict.FAILED, Verdict.ERROR, Verdict.PASSED), strict=True)
    ]
    stacks = dict(zip(names, stacks, strict=False))
    evidence = Evidence("recording", tuple(tests), (measured,), tuple(rows), np.zeros(0, np.int32), stacks=stacks)
    localizer = Localizer(make_technique(technique))
    report = localizer.update(evidence)
    return Listing(report, evidence, (Problem("f", "p", "cause", "cure"),), **more)


def text_of(write, ranking: Listing, *arguments) -> str:
    out = io.StringIO()
    write(ranking, out, *arguments)
    return out.getvalue()


NAMES = ["t::a", "t::b", "t::c"]


# ------------------------------------------------------------------------------------- SARIF

# what the standard asks of the parts that are used, as far as JSON Schema can say it
URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~/%-]+$"}
PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri", "uriBaseId"],
            "properties": {"uri": URI, "uriBaseId": {"const": "SRCROOT"}},
            "additionalProperties": False,
        },
        "region": {
            "type": "object",
            "properties": {
                "startLine": {"type": "integer", "minimum": 1},
                "endLine": {"type": "integer", "minimum": 1},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
MESSAGE = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "message": MESSAGE,
        "physicalLocation": PHYSICAL,
        "logicalLocations": {
            "type": "array",
            "items": {"properties": {"fullyQualifiedName": {"type": "string"}, "kind": {"const": "function"}}},
        },
    },
    "additionalProperties": False,
}
STACK = {
    "type": "object",
    "required": ["frames"],
    "properties": {
        "message": MESSAGE,
        "frames": {
            "type": "array",
            "items": {"type": "object", "properties": {"location": LOCATION}, "additionalProperties": False},
        },
    },
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "rank"],
    "properties": {
        "ruleId": {"const": "ochiai"},
        "ruleIndex": {"const": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "rank": {"type": "number", "minimum": 0, "maximum": 100},
        "locations": {"type": "array", "items": LOCATION, "minItems": 1},
        "relatedLocations": {"type": "array", "items": LOCATION, "uniqueItems": True},
        "stacks": {"type": "array", "items": STACK, "uniqueItems": True},
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
    },
    "additionalProperties": False,
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "properties": {
                            "driver": {"required": ["name"], "properties": {"rules": {"type": "array", "items": RULE}}}
                        }
                    },
                    "results": {"type": "array", "items": RESULT},
                    "invocations": {"type": "array", "items": {"required": ["executionSuccessful"]}},
                },
            },
        },
    },
}


def test_sarif(tmp_path):
    log = json.loads(text_of(write_sarif, ranking_of(NAMES, file="src/my file#1.py"), tmp_path))
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"
    assert run["tool"]["driver"]["rules"][0]["id"] == "ochiai"
    assert [result["level"] for result in run["results"]] == ["error", "warning", "none"]
    assert [result["rank"] for result in run["results"]] == sorted((r["rank"] for r in run["results"]), reverse=True)
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/my%20file%231.py"
    assert place["region"] == {"startLine": 2, "endLine": 3}
    assert [related["message"]["text"] for related in first["relatedLocations"]] == [
        "failing test t::a: boom",
        "failing test t::b: boom",
    ]
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert first["properties"]["ef"] == 2
    assert run["invocations"][0]["toolExecutionNotifications"][0]["properties"]["cure"] == "cure"


@pytest.mark.parametrize("nasty", NASTY)
def test_stacks_are_shown_as_text_everywhere(tmp_path, nasty):
    frames = (StackFrame("src/a.py", 1, nasty), StackFrame("src/a.py", 3, nasty))
    ranking = ranking_of(NAMES, stacks=[Stack(frames, "KeyError", nasty), Stack((frames[0],), "OSError")])
    log = json.loads(text_of(write_sarif, ranking, tmp_path))
    jsonschema.validate(log, SARIF)
    (stack,) = log["runs"][0]["results"][0]["stacks"]
    assert stack["message"]["text"] == f"t::a: KeyError: {nasty}"
    lines = [frame["location"]["physicalLocation"]["region"]["startLine"] for frame in stack["frames"]]
    assert lines == [3, 1]  # the innermost call first
    reported = json.loads(text_of(write_json, ranking))["stacks"]
    assert reported["t::a"]["frames"][1] == {"file": "src/a.py", "line": 3, "function": nasty}
    assert Stack.from_dict({**reported["t::b"], "frames": [frame.values() for frame in reported["t::b"]["frames"]]})
    page = text_of(write_html, ranking, Sources(tmp_path))
    said = text_of(
        lambda r, out: write_explanation(r.report, r.evidence, "src/a.py", 3, out, Sources(tmp_path)), ranking
    )
    assert "<script>[x]" not in page
    for text in (page, said):
        assert "1 of 2 failing tests failed here: KeyError: " in text
        assert not set("\x1b\u202e\0") & set(text)


def test_a_line_that_no_test_executes_has_no_formula_without_numbers(tmp_path):
    spectrum = Spectrum.from_matrix([[1, 1, 0], [0, 1, 0]], failed=[True, False])
    report = make_technique("evidence").localize(spectrum)
    evidence = Evidence("by hand", (), (), (), np.zeros(0, np.int32))
    said = io.StringIO()
    write_explanation(report, evidence, "program", 3, said, Sources(tmp_path))
    assert said.getvalue().endswith("No test runs it.\n")


def test_a_formula_that_nothing_is_put_into_is_not_followed_by_an_empty_line(tmp_path):
    ranking = ranking_of(NAMES)
    report = make_technique("slice").localize(ranking.report.spectrum)
    assert not report.explain(0).substituted
    explain = partial(write_explanation, report, verbose=True)
    said = text_of(lambda r, out: explain(r.evidence, "src/a.py", 3, out, Sources(tmp_path)), ranking)
    assert report.explain(0).formula in said
    assert not [line for line in said.split("\n") if line and not line.strip()]


# ------------------------------------------------------------------------------------- CSV, JSON, Markdown


def test_csv_is_read_back_as_it_was():
    rows = list(csv.DictReader(io.StringIO(text_of(write_csv, ranking_of(NAMES)))))
    assert tuple(rows[0]) == FIELDS
    assert [row["line"] for row in rows] == ["2", "1", "4"]
    assert rows[0]["failing_tests"] == "t::a\nt::b"
    assert float(rows[0]["score"]) == 1.0


@pytest.mark.parametrize("nasty", NASTY)
def test_spreadsheets_take_nothing_for_a_formula(nasty):
    rows = list(csv.DictReader(io.StringIO(text_of(write_csv, ranking_of([nasty, "🟢", "🟣"], function=nasty)))))
    for cell in (rows[0]["function"], rows[0]["failing_tests"]):
        assert cell[0] not in "=+-@\t\r\n"
        assert cell.lstrip("'").startswith(nasty[0] if nasty[0] == "\n" else safe(nasty[0]))
    assert len(rows) == 3


def test_no_line_of_source_fills_a_comment(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("def f():\n" + 3 * f"    x = '{9_000 * 'x'}'\n")
    ranking = ranking_of([f"test_{9_000 * 'a'}", "b", "c"], function=9_000 * "f")
    text = text_of(write_markdown, ranking, Sources(tmp_path))
    assert max(map(len, text.splitlines())) < 1_000


@pytest.mark.parametrize("by_line", [True, False])
@pytest.mark.parametrize("nasty", NASTY)
def test_markdown_stays_a_table(tmp_path, nasty, by_line):
    ranking = ranking_of([nasty, "b", "c"], function=nasty, by_line=by_line)
    text = text_of(write_markdown, ranking, Sources(tmp_path))
    table = [line for line in text.split("\n") if line.startswith("|")]
    assert len(table) == (5 if by_line else 6)  # two functions, each with one line that failing tests execute
    for line in table:
        unescaped = line.replace("\\\\", "").replace("\\|", "")
        assert unescaped.count("|") == 10 + by_line
    assert "\x1b" not in text
    assert "\u202e" not in text
    for line in table[2:]:
        for cell in line.split(" | "):
            assert "<script>" not in cell or cell.count("`") >= 2


@pytest.mark.parametrize("nasty", NASTY)
def test_json_gives_names_back_as_they_are(nasty):
    ranking = json.loads(text_of(write_json, ranking_of([nasty, "b", "c"], function=nasty)))
    assert ranking["suspects"][0]["failing_tests"] == sorted([nasty, "b"])
    assert ranking["suspects"][0]["function"] == nasty


def test_top():
    assert len(json.loads(text_of(write_json, ranking_of(NAMES, top=2)))["suspects"]) == 2
    assert json.loads(text_of(write_json, ranking_of(NAMES, top=2)))["elements"] == 3
    assert len(json.loads(text_of(write_json, ranking_of(NAMES, top=99)))["suspects"]) == 3


def test_entries_say_what_suspects_say():
    for technique in ("ochiai", "dstar", "wong3"):
        ranking = ranking_of(NAMES, technique=technique)
        for entry, suspect in zip(ranking.entries(), ranking.report.suspects(), strict=True):
            for name in ("score", "rank_best", "rank_average", "rank_worst", "standard_rank", "ef", "ep", "nf", "np"):
                said = getattr(suspect, name)
                assert entry[name] == (said if math.isfinite(said) else math.copysign(1.7976931348623157e308, said))
            assert (entry["file"], entry["line"], entry["end_line"]) == (
                suspect.location.file,
                suspect.location.line,
                suspect.location.end_line,
            )
            assert entry["function"] == suspect.function
            assert tuple(entry["failing_tests"]) == suspect.failing_tests


# ------------------------------------------------------------------------------------- terminals


@pytest.mark.parametrize("by_line", [True, False])
@pytest.mark.parametrize("columns", [72, 80, 200])
def test_table_keeps_to_its_width(tmp_path, monkeypatch, columns, by_line):
    monkeypatch.setenv("COLUMNS", str(columns))
    (tmp_path / "src").mkdir()
    deep = f"src/{'long' * 8}.py"
    (tmp_path / deep).write_text("日本語 = 1\n" * 3 + "x = '" + "y" * 300 + "'\n", encoding="utf-8")
    names = [f"tests/deep/test_a.py::test_{'x' * 90}[{i}/{i}]" for i in range(3)]
    ranking = ranking_of(names, file=deep, function="Class." + "method" * 20, by_line=by_line)
    text = text_of(write_table, ranking, Sources(tmp_path))
    for line in text.split("\n")[:-2]:
        assert width(line) <= columns, line
    assert text.count(f"{deep}:") == (3 if by_line else 2)


def test_a_location_is_whole_even_if_it_is_longer_than_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    deep = f"src/{'long' * 30}.py"
    text = text_of(write_table, ranking_of(["test_1", "test_2", "test_3"], file=deep), Sources(tmp_path))
    assert f"{deep}:1" in text
    assert "Source" not in text


@given(st.text(), st.integers(1, 30), st.booleans())
def test_cutting_and_filling(text, columns, keep_end):
    shown = safe(text)
    cut = fit(shown, columns, keep_end=keep_end)
    assert width(cut) <= columns
    assert width(pad(cut, columns)) == columns
    assert cut == shown or "…" in cut
    assert safe(shown) == shown


@given(st.text())
def test_no_control_character_survives(text):
    assert not [
        c for c in safe(text) if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202a\u202b\u202d\u202e\u2066\u2069"
    ]


def test_sources_are_read_safely(tmp_path):
    (tmp_path / "a.py").write_bytes(b"# coding: latin-1\r\nname = '\xe9'\rx\x0cy = 1\n")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text("secret = 1\n")
    (tmp_path / "link.py").symlink_to(outside)
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    sources = Sources(tmp_path)
    assert [sources.line("a.py", i) for i in range(1, 5)] == ["# coding: latin-1", "name = 'é'", "x\x0cy = 1", ""]
    for path in ("link.py", f"../{outside.name}", str(outside), "loop.py", "none.py", "nul\0l", "."):
        assert sources.line(path, 1) == "", path
    assert sources.change("a.py", sources.get("a.py").digest) is None
    assert "changed after the tests ran" in sources.change("a.py", "0" * 64).cause
    assert "was deleted" in sources.change("none.py", None).cause
    assert Path(tmp_path / "a.py").exists()


def tied(count: int, top: int | None) -> Listing:
    """One suspect alone at the top, then a tie of all others."""
    lines = np.arange(1, count + 2)
    measured = MeasuredFile("src/a.py", None, lines, lines, np.full(count + 1, -1), ())
    rows = (np.arange(count + 1, dtype=np.int32), np.arange(1, count + 1, dtype=np.int32))
    tests = (TestResult("one", Verdict.FAILED), TestResult("two", Verdict.PASSED))
    evidence = Evidence("recording", tests, (measured,), rows, np.zeros(0, np.int32))
    report = Localizer(make_technique("ochiai")).update(evidence)
    return Listing(report, evidence, (), top, by_line=True)


def test_a_list_that_ends_within_a_tie_says_so_in_every_output(tmp_path):
    sources, words = Sources(tmp_path), "and 21 more of the same rank"
    cut, whole, between = tied(25, 5), tied(25, None), tied(25, 1)
    for write, arguments in ((write_table, (sources,)), (write_markdown, (sources,)), (write_sarif, (tmp_path,))):
        assert words in text_of(write, cut, *arguments), write
        for ranking in (whole, between):
            assert "more of the same rank" not in text_of(write, ranking, *arguments), write
    assert [json.loads(text_of(write_json, r))["tied_beyond"] for r in (cut, whole, between)] == [21, 0, 0]
    rows = [len(text_of(write_csv, ranking).splitlines()) - 1 for ranking in (cut, whole, between)]
    assert rows == [26, 26, 1]
    assert words in text_of(write_html, cut, sources)
    assert "more of the same rank" not in text_of(write_html, whole, sources)


@pytest.mark.parametrize(
    "write", [write_table, write_markdown, write_html, write_agent, lambda one, out, _: write_first_suspects(one, out)]
)
def test_of_a_group_that_executes_nothing_no_line_is_listed(write, tmp_path):
    cart = MeasuredFile("cart.py", None, np.array([1, 2]), np.array([1, 2]), np.array([-1, -1]), ())
    verdicts = {"t1": Verdict.FAILED, "t2": Verdict.FAILED, "t3": Verdict.PASSED}
    rows = [np.array(row, np.int32) for row in ([0], [], [1])]
    tests = tuple(TestResult(name, verdict) for name, verdict in verdicts.items())
    evidence = Evidence("by hand", tests, (cart,), tuple(rows), np.zeros(0, np.int32))
    ochiai = make_technique("ochiai")
    report = ochiai.localize(evidence.spectrum())
    groups = tuple(rank_groups(report, ochiai, decisions=GroupDecisions().split(["t2"], ["t1"])).groups)
    out = io.StringIO()
    write(Listing(report, evidence, (), groups=groups), out, Sources(tmp_path))
    page = out.getvalue()
    first, second = page.index("cart.py:1"), page.index("It executes nothing that may be a suspect.")
    end = page.index("</li>", second) if write is write_html else len(page)
    assert first < second
    assert "cart.py" not in page[second:end]


@pytest.mark.parametrize(
    ("raised", "failing", "said"),
    [
        (1, 1, "total · the failing test failed in it"),
        (2, 2, "total · both failing tests failed in it"),
        (1, 3, "total · 1 of 3 failing tests failed in it"),
        (0, 3, "total"),
    ],
)
def test_a_function_says_how_many_of_the_failing_tests_failed_in_it(raised, failing, said):
    entry = {"function": "total", "file": "a.py", "tied": 1, "raised": raised, "suspects": [{"ef": failing, "nf": 0}]}
    assert function_in_words(entry) == said
