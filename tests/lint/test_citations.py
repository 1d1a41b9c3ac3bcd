"""What is cited of the five papers exists in them: who cites something else looks it up, and adds it to the list."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KIND = r"§|Definitions?|Tables?|Figures?|[Ee]quations?|Notations?"
NUMBER = r"[\dIVX]+(?:\.\d+)*"
CITATION = re.compile(
    rf"paper (00\d)(?:'s [^,(§.]*)?[,( ]*({KIND}) ?({NUMBER}(?:(?: to |, | and )(?:Figure |Definition )?{NUMBER})*)"
)
CITED = {
    ("000", "§"): {"2", "3.3", "3.3.2", "4", "5.1.2", "5.1.3", "5.1.4"},
    ("000", "equation"): {"2"},
    ("000", "figure"): {"1", "2"},
    ("000", "table"): {"3"},
    ("001", "definition"): {"1", "2", "3", "4"},
    ("001", "equation"): {"1"},
    ("001", "figure"): {"3"},
    ("002", "definition"): {"3.1", "3.2"},
    ("002", "table"): {"2"},
    ("003", "definition"): {"14", "15", "16", "17", "18", "22", "25", "26", "28", "29", "30"},
    ("003", "table"): {"III", "IV"},
    ("004", "§"): {"2.1.2", "3.2", "3.2.1", "3.2.2"},
    ("004", "definition"): {"2.2", "2.3"},
    ("004", "notation"): {"2.2", "2.5"},
    ("004", "table"): {"1", "3", "5"},
}


def citations(text):
    """Each cited number, with its paper and its kind."""
    for paper, kind, numbers in CITATION.findall(" ".join(text.split())):
        kind = kind.lower().rstrip("s")
        for number in re.split(" to |, | and ", numbers):
            word, _, bare = number.rpartition(" ")
            yield (paper, word.lower() or kind), bare


def test_citations_exist():
    files = [
        path
        for pattern in ("analysis/suspectra/**/*.py", "server/**/*.py", "docs/**/*.md", "benchmarks/*.md", "README.md")
        for path in ROOT.glob(pattern)
    ]
    found = {}
    for path in files:
        for key, number in citations(path.read_text("utf-8")):
            found.setdefault(key, set()).add(number)
    assert found == CITED


def test_a_citation_is_taken_apart():
    text = "(paper 003,\n    Definitions 22 and 25), paper 000 (§2 and Figure 1), paper 004's Top-N, §3.2.2"
    assert list(citations(text)) == [
        (("003", "definition"), "22"),
        (("003", "definition"), "25"),
        (("000", "§"), "2"),
        (("000", "figure"), "1"),
        (("004", "§"), "3.2.2"),
    ]
