"""The sentences about a suspect, shared by diagnostics, hovers and the command `explain`."""

from __future__ import annotations

import math
import re
import sys

from suspectra.report import Explanation, SubgraphReport, Suspect
from suspectra.techniques.formulas import in_words
from suspectra_server.features.fixes import diffs_at
from suspectra_server.messages import Figures
from suspectra_server.safe_text import MAX_TEXT, code, markdown, plain
from suspectra_server.state.marks import Mark
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.snapshot import Region, Snapshot

MAX_TESTS = 10


def score_words(score: float) -> str:
    """A score, in enough digits to tell scores apart."""
    return f"{score:.4g}".replace("inf", "∞")


def rank_words(suspect: Suspect) -> str:
    """The rank, or the first and the last rank of its tie."""
    if suspect.tied == 1:
        return str(suspect.rank_best)
    return f"{suspect.rank_best}–{suspect.rank_worst}"


def json_number(value: float) -> float:
    """A score as JSON can represent it: an infinite one becomes the largest double."""
    return math.copysign(sys.float_info.max, value) if math.isinf(value) else value


def figures(mark: Mark) -> Figures:
    """The numbers of a suspect under their names in the protocol."""
    suspect = mark.suspect
    return {
        "score": json_number(suspect.score),
        "rankBest": suspect.rank_best,
        "rankAverage": suspect.rank_average,
        "rankWorst": suspect.rank_worst,
        "ef": suspect.ef,
        "ep": suspect.ep,
        "nf": suspect.nf,
        "np": suspect.np,
        "changed": suspect.changed,
        "changedByGit": suspect.changed_by_git,
        "line": mark.first + 1,
        "endLine": mark.last + 1,
        "suspicion": mark.suspicion,
    }


def sentences_about(ranking: Ranking, suspect: Suspect) -> list[str]:
    """Why a suspect has its rank, most important first: what experiments found comes before everything else."""
    found = ranking.findings.get(suspect.element, ())
    return list(dict.fromkeys([*found, *(plain(one, MAX_TEXT) for one in ranking.explain(suspect).sentences)]))


def sentences_beyond(ranking: Ranking, suspect: Suspect) -> list[str]:
    """The same without what `one_line` says."""
    line = plain(one_line(ranking, suspect))
    found = ranking.findings.get(suspect.element, ())
    counts = in_words(suspect.ef, suspect.ep, ranking.ranked.spectrum.counts, only_read=suspect.only_read)
    told = Explanation("", () if found else (counts,)).with_badge("" if found else suspect.badge).sentences
    return [one for one in sentences_about(ranking, suspect) if one not in told and one not in line]


def one_line(ranking: Ranking, suspect: Suspect) -> str:
    """How suspicious a line is, and what experiments found there, or else how many tests execute it."""
    failing, passing = f"{suspect.ef} of {suspect.ef + suspect.nf}", f"{suspect.ep} of {suspect.ep + suspect.np}"
    badge = f" · {suspect.badge}" if suspect.badge else ""
    found = ranking.findings.get(suspect.element, ())[:1] or (f"{failing} failing tests, {passing} passing{badge}",)
    more = ranking.tied_beyond(suspect)
    cut = f" · and {more} more of the same rank, not marked" if more else ""
    return f"{named(ranking, suspect)}: {found[0]}{cut}"


def named(ranking: Ranking, suspect: Suspect) -> str:
    """The place of a suspect in the order of a reader: that of its function."""
    return "Most suspicious" if ranking.leads(suspect) else f"Suspect {ranking.function_rank(suspect)}"


def headline(ranking: Ranking, suspect: Suspect) -> str:
    """One line for lists: the rank, the first reason, and the failure group where there are several."""
    explanation = ranking.explain(suspect)
    more = ranking.tied_beyond(suspect)
    cut = [f"and {more} more of the same rank, not marked"] if more else []
    group = [ranking.group.heading] if ranking.group else []
    badge = [suspect.badge] if suspect.badge else []
    return " · ".join([explanation.rank, *badge, *sentences_about(ranking, suspect)[:1], *cut, *group])


def behaviour(ranking: Ranking, region: Region) -> str:
    """One line about a part of a suspicious behaviour."""
    graph, counts = region.subgraph, ranking.ranked.spectrum.counts
    of = f" of {len(ranking.ranked.subgraphs)}" if isinstance(ranking.ranked, SubgraphReport) else ""
    part = f", part {region.part} of {region.parts}" if region.parts > 1 else ""
    statements = "1 statement" if len(graph.elements) == 1 else f"{len(graph.elements)} statements"
    score = score_words(region.best.suspect.score)
    return (
        f"Suspicious behaviour {region.number}{of}{part}:"
        f" {ranking.technique.info.title} {score} · {statements} that {graph.ef} of {counts.failed} failing and"
        f" {graph.ep} of {counts.passed} passing tests traverse"
    )


def as_markdown(snapshot: Snapshot, suspect: Suspect) -> str:
    """Why a suspect has its rank, in Markdown."""
    ranking = snapshot.ranking
    explanation = ranking.explain(suspect)
    sentences = "\n\n".join(with_code(sentence) for sentence in sentences_about(ranking, suspect))
    parts = [f"**{markdown(explanation.rank)}**", markdown(_for_group(ranking)), sentences]
    parts += [f"```diff\n{diff}\n```" for diff in diffs_at(snapshot, suspect.element) if "```" not in diff]
    if suspect.failing_tests:
        parts.append(f"Failing tests that {suspect.involvement}:\n\n" + "\n".join(_tests(ranking, suspect)))
    parts.append(markdown(ranking.failed_in(suspect)))
    parts.append(markdown(snapshot.next_steps.get(suspect.element, "")))
    if explanation.formula:
        info = ranking.technique.info
        parts.append(f"How is this computed? {markdown(info.title)}: {code(explanation.formula)}")
        parts.append(code(explanation.substituted) if explanation.substituted else "")
    return "\n\n".join(part for part in parts if part)


def with_code(sentence: str) -> str:
    """A sentence as Markdown, in which what is in backticks is code."""
    parts = re.split(r"(`[^`]+`)", sentence)
    return "".join(code(part[1:-1]) if number % 2 else markdown(part) for number, part in enumerate(parts))


def as_text(snapshot: Snapshot, suspect: Suspect) -> str:
    """Why a suspect has its rank, for clients that show no Markdown."""
    ranking = snapshot.ranking
    explanation = ranking.explain(suspect)
    lines = [
        explanation.rank,
        _for_group(ranking),
        *sentences_about(ranking, suspect),
        *diffs_at(snapshot, suspect.element),
    ]
    lines += [f"  {plain(name)}" for name in suspect.failing_tests[:MAX_TESTS]]
    lines.append(ranking.failed_in(suspect))
    lines.append(plain(snapshot.next_steps.get(suspect.element, "")))
    return "\n".join(line for line in lines if line)


def _for_group(ranking: Ranking) -> str:
    """The failure group that is ranked, and what its tests have in common; empty where there is one group."""
    return f"{ranking.group.heading}. {ranking.shared}" if ranking.group else ""


def _tests(ranking: Ranking, suspect: Suspect) -> list[str]:
    lines = []
    for name in suspect.failing_tests[:MAX_TESTS]:
        test = ranking.failing.get(name)
        message = f" – {markdown(test.message)}" if test and test.message else ""
        lines.append(f"- {code(name)}{message}")
    more = len(suspect.failing_tests) - MAX_TESTS
    if more > 0:
        lines.append(f"- and {more} more")
    return lines
