"""What is said about a suspect, shared by diagnostics, hovers and the explain command."""

from __future__ import annotations

from suspectra.report import Suspect
from suspectra_server.convert import code, markdown, plain
from suspectra_server.snapshot import Ranking

MOST_TESTS = 10


def score_words(score: float) -> str:
    """A score in as many digits as tell scores apart.

    Examples
    --------
    >>> score_words(0.70710678), score_words(float("inf"))
    ('0.7071', '∞')
    """
    return f"{score:.4g}".replace("inf", "∞")


def rank_words(suspect: Suspect) -> str:
    """The rank, or the ranks of its tie."""
    if suspect.tied == 1:
        return str(suspect.rank_best)
    return f"{suspect.rank_best}–{suspect.rank_worst}"


def headline(ranking: Ranking, suspect: Suspect) -> str:
    """One line for lists: rank, technique, score, and the first reason."""
    explanation = ranking.explain(suspect)
    return " · ".join([explanation.headline, *explanation.sentences[:1]])


def as_markdown(ranking: Ranking, suspect: Suspect) -> str:
    """Why a suspect stands where it stands."""
    explanation = ranking.explain(suspect)
    parts = [f"**{markdown(explanation.headline)}**", "\n\n".join(markdown(s) for s in explanation.sentences)]
    if explanation.formula:
        info = ranking.technique.info
        parts.append(f"{markdown(info.title)}: {code(explanation.formula)}\n\n{code(explanation.substituted)}")
    if suspect.failing_tests:
        parts.append("Failing tests that execute it:\n\n" + "\n".join(_tests(ranking, suspect)))
    return "\n\n".join(parts)


def as_text(ranking: Ranking, suspect: Suspect) -> str:
    """The same for clients that show no Markdown."""
    explanation = ranking.explain(suspect)
    lines = [explanation.headline, *explanation.sentences, explanation.formula, explanation.substituted]
    lines += [f"  {plain(name)}" for name in suspect.failing_tests[:MOST_TESTS]]
    return "\n".join(line for line in lines if line)


def _tests(ranking: Ranking, suspect: Suspect) -> list[str]:
    lines = []
    for name in suspect.failing_tests[:MOST_TESTS]:
        test = ranking.tests.get(name)
        message = f" – {markdown(test.message)}" if test and test.message else ""
        lines.append(f"- {code(name)}{message}")
    more = len(suspect.failing_tests) - MOST_TESTS
    if more > 0:
        lines.append(f"- and {more} more")
    return lines
