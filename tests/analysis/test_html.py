import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.sources import Sources
from suspectra.localizer import Localizer
from suspectra.output.rankings import html
from suspectra.output.rankings.html import encode_runs, write_html
from suspectra.output.rankings.ranking import Listing
from suspectra.techniques import make_technique

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e{{7*7}}"


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open, data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self) -> dict:
        return json.loads(next(t for tag, t in self.texts if tag == "script" and t.startswith("{")))


def page_of(shop: Path, top: int = 200, technique: str = "ochiai") -> tuple[str, Page]:
    import io

    evidence = CoverageSource(shop, Path(".coverage"), Path("results.xml")).read()
    localizer = Localizer(make_technique(technique))
    report = localizer.update(evidence)
    out = io.StringIO()
    write_html(Listing(report, evidence, tuple(localizer.problems()), top), out, Sources(shop))
    return out.getvalue(), Page(out.getvalue())


def decoded(code: str) -> list[int]:
    """The runs as the page's script reads them."""
    values, value, shift = [], 0, 0
    for byte in base64.b64decode(code):
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            values.append(value)
            value = shift = 0
    found, at = [], 0
    for gap, length in zip(values[0::2], values[1::2], strict=True):
        found += range(at + gap, at + gap + length)
        at += gap + length
    return found


@given(st.sets(st.integers(0, 3_000_000), max_size=60))
def test_runs_are_read_back(indices):
    assert decoded(encode_runs(np.array([-1, -1, *sorted(indices)]))) == sorted(indices)


@pytest.mark.slow
def test_the_page_asks_nothing_of_any_network(shop):
    text, page = page_of(shop)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} has {name}"
            assert name != "style"
            if name in ("src", "srcset", "data", "action", "poster"):
                raise AssertionError(f"{tag} loads {value}")
            if name == "href":
                assert value.startswith("#")
    assert not re.search(r"@import|url\(", text)
    assert page.all("link") == []


def test_the_policy_allows_its_own_style_and_script_alone(shop):
    text, page = page_of(shop)
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, opening in (("style-src", "<style>"), ("script-src", "<script>")):
        content = text.split(opening)[1].split(opening.replace("<", "</"))[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_data_is_the_ranking(shop):
    _, page = page_of(shop)
    data = page.data
    evidence = CoverageSource(shop, Path(".coverage"), Path("results.xml")).read()
    report = Localizer(make_technique("ochiai")).update(evidence)
    place = {f["start"] + i: (f["path"], line) for f in data["files"] for i, line in enumerate(f["line"])}
    listed = [place[suspect["statement"]] for suspect in data["suspects"]]
    assert listed == [(s.location.file, s.location.line) for s in report.suspects()]
    links = [a["href"] for a in page.all("a") if "data-suspect" in a]
    assert links == [f"#{path}:{line}" for path, line in listed]
    assert data["levels"][0] == {"rank": "1–2", "score": "0.8165", "heat": 9}
    assert (data["failed"], data["passed"]) == (12, 5)
    names = [test["name"] for test in data["tests"]]
    assert sorted(names) == sorted(test.name for test in evidence.tests)
    assert [test["failing"] for test in data["tests"]] == [True] * 12 + [False] * 7
    elements = evidence.elements
    for test, row in zip(evidence.tests, evidence.rows, strict=True):
        shown = next(t for t in data["tests"] if t["name"] == test.name)
        executed = {place[i] for i in decoded(data["rows"][shown["row"]])}
        assert executed == {(elements.files[elements.file[i]], int(elements.line[i])) for i in row.tolist()}
    for file in data["files"]:
        assert file["text"] == (shop / file["path"]).read_text()


def test_heat_falls_with_the_rank_and_is_zero_without_failing_tests(shop):
    data = page_of(shop)[1].data
    cart = next(f for f in data["files"] if f["path"] == "src/cart.py")
    heat = [data["levels"][level]["heat"] for level in cart["level"]]
    assert all((h > 0) == (ef > 0) for h, ef in zip(heat, cart["ef"], strict=True))
    by_level = [level["heat"] for level in data["levels"]]
    assert by_level == sorted(by_level, reverse=True)


def test_nothing_from_the_evidence_is_markup(shop):
    path = shop / "src/cart.py"
    path.write_text(path.read_text().replace("# wrong: 100", f"# {HOSTILE}"))
    report = (shop / "results.xml").read_text()
    escaped = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    (shop / "results.xml").write_text(
        report.replace("test_nothing_measured", escaped).replace('message="assert 9.8', f'message="{escaped}')
    )
    text, page = page_of(shop)
    assert len(page.all("script")) == 2
    assert page.all("img") == []
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "{{7*7}}" in text
    assert any("</script><script>" in test["name"] for test in page.data["tests"])
    assert "<script>alert(1)" in next(f["text"] for f in page.data["files"] if f["path"] == "src/cart.py")


def test_large_projects_are_cut_to_what_matters(shop, monkeypatch):
    monkeypatch.setattr(html, "MAX_SOURCE", 10)
    assert [f["path"] for f in page_of(shop, top=3)[1].data["files"]] == ["src/cart.py"], (
        "listed files are always there"
    )
    monkeypatch.setattr(html, "MAX_ROWS", 30)
    data = page_of(shop)[1].data
    assert sum(map(len, data["rows"])) <= 30
    assert len(data["tests"]) == 19


def test_deleted_and_changed_sources(shop):
    (shop / "src/cart.py").unlink()
    data = page_of(shop)[1].data
    cart = next(f for f in data["files"] if f["path"] == "src/cart.py")
    assert cart["text"] is None
    assert "deleted" in cart["note"]


def test_accessible_names_and_structure(shop):
    text, page = page_of(shop)
    assert '<html lang="en">' in text
    assert page.all("title")
    assert [name for name, _ in page.elements if name == "h1"] == ["h1"]
    labelled = {label.get("for") for label in page.all("label")}
    for field in [*page.all("input"), *page.all("select")]:
        assert "aria-label" in field or field.get("id") in labelled or field.get("type") == "checkbox"
    for landmark in (*page.all("nav"), *page.all("aside")):
        assert landmark["aria-label"]
    assert any(m.get("name") == "viewport" for m in page.all("meta"))
    assert "prefers-color-scheme: dark" in text


def test_the_command_writes_the_page(shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)
    assert run(["report", "--html", "out.html", "--top", "5"]) == 0
    assert capsys.readouterr().out == "wrote out.html\n"
    assert len(Page((shop / "out.html").read_text()).data["suspects"]) == 5


@pytest.mark.parametrize("technique", ["dstar", "wong3", "naish1"])
def test_scores_of_any_size(shop, technique):
    page_of(shop, technique=technique)
