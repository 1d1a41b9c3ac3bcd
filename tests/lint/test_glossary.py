"""The glossary has each term once, in order, and says where it comes from."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
ROWS = re.findall(
    r"^\| (?!-|term)([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    (DOCS / "reference" / "glossary.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_each_term_stands_once_and_in_order():
    terms = [term for term, _, _ in ROWS]
    assert len(terms) > 50
    assert terms == sorted(set(terms), key=str.casefold)


def test_each_meaning_is_a_sentence_and_each_source_is_known():
    papers = set(
        re.findall(r"^\| (paper \d{3}) \|", (DOCS / "background" / "papers.md").read_text("utf-8"), re.MULTILINE)
    )
    for term, meaning, source in ROWS:
        assert meaning.endswith("."), term
        assert source.strip(), term
        assert set(re.findall(r"paper \d{3}", source)) <= papers, term
