"""Links between the Markdown files of the repository lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
MENTION = re.compile(r"(?<![\w/])docs/[\w/-]+\.md")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def pages() -> list[Path]:
    """Every page that is part of the repository, or is about to be."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).exists()]


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page):
    assert broken(page) == []


def test_every_page_of_the_docs_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / link).resolve() for link in LINK.findall(index)}
    docs = {page.resolve() for page in pages() if page.is_relative_to(ROOT / "docs")}
    assert docs - linked == {(ROOT / "docs" / "README.md").resolve()}


def gone(text: str) -> set[str]:
    """The pages that a text names by their path in the repository, and that are not there."""
    return {page for page in MENTION.findall(text) if not (ROOT / page).exists()}


def test_pages_that_sources_name_are_there():
    listed = ["git", "ls-files", "-z", "analysis", "server", "editors", "vscode-extension", "docs", "tests/e2e", "*.md"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    texts = [ROOT / name for name in names if name.endswith((".py", ".ts", ".lua", ".el", ".txt", ".md"))]
    assert len(texts) > 500
    found = {path.name: gone(path.read_text("utf-8")) for path in texts if path.exists()}
    assert {name: pages for name, pages in found.items() if pages} == {}


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# One two!\n[a](#one-two) [b](#three) [c](gone.md) [d](https://x.org/y)\n```\n[e](gone)\n```\n")
    assert broken(page) == ["#three", "gone.md"]
    assert gone("see docs/README.md, docs/gone.md and x/docs/other.md") == {"docs/gone.md"}
