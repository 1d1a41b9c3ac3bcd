"""The ranking as a Markdown table, for comments on changes."""

from __future__ import annotations

import re
from typing import TextIO

from suspectra.evidence.changes import besides
from suspectra.evidence.sources import Sources
from suspectra.output.rankings.ranking import Listing, RankingEntry, change_in_words, function_in_words
from suspectra.output.rankings.table import location_text, rank_text, score_text, summary
from suspectra.output.terminal import fit, safe

_MAX_TESTS = 3
_MAX_TEXT = 200
"""Columns of a name or a line of source: one of thousands would fill a comment."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@$])")


def write_markdown(ranking: Listing, out: TextIO, sources: Sources) -> None:
    """Write a table (GitHub's dialect) and a summary; text from the evidence is escaped.

    Where failing tests are in several groups, each group has a table.
    """
    for sentence in besides(ranking.evidence, ranking.report.spectrum):
        out.write(f"{_plain(sentence)}\n\n")
    for group, listing in ranking.sections:
        out.write(f"### {_plain(group.heading)}\n\n{_plain(group.reason)}\n\n")
        if listing.shown:
            _write_section(listing, out, sources)
            out.write("\n")
    if not ranking.sections:
        _write_section(ranking, out, sources)
        out.write("\n")
    out.write(f"{_plain(summary(ranking))}\n")
    for problem in ranking.notices:
        out.write(f"\n> {_plain(str(problem))}\n")


def _write_section(ranking: Listing, out: TextIO, sources: Sources) -> None:
    """Write the table of one ranking: functions with their first statements, or statements alone."""
    name = " Function |" if ranking.by_line else ""
    out.write(f"| Rank | Score | Location |{name} ef | ep | nf | np | Source | Failing tests |\n")
    out.write(f"|---:|---:|---|{'---|' if name else ''}---:|---:|---:|---:|---|---|\n")
    if ranking.by_line:
        for entry in ranking.entries():
            rank, function = rank_text(entry["rank_best"], entry["rank_worst"]), _function(entry["function"])
            _write_row([rank, *_cells(entry, sources, function)], out)
    else:
        for one in ranking.functions():
            name = _plain(fit(safe(function_in_words(one)), _MAX_TEXT))
            _write_row([rank_text(one["rank_best"], one["rank_worst"]), "", f"**{name}**", *[""] * 6], out)
            for entry in one["suspects"]:
                _write_row(["", *_cells(entry, sources)], out)
    if cut := ranking.cut if ranking.by_line else ranking.functions_cut:
        out.write(f"\n… {cut}\n")


def _cells(entry: RankingEntry, sources: Sources, *function: str) -> list[str]:
    """What a row says of a statement after its rank."""
    return [
        score_text(entry["score"]),
        _code(location_text(entry)),
        *function,
        *map(str, (entry["ef"], entry["ep"], entry["nf"], entry["np"])),
        _code(fit(safe(sources.line(entry["file"], entry["line"]).strip()), _MAX_TEXT)),
        "; ".join(filter(None, (_tests(entry["failing_tests"]), change_in_words(entry)))),
    ]


def _function(name: str) -> str:
    return _code(fit(safe(name), _MAX_TEXT))


def _write_row(cells: list[str], out: TextIO) -> None:
    out.write(f"| {' | '.join(cells)} |\n")


def _tests(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_TESTS} more" if len(names) > _MAX_TESTS else ""
    return ", ".join(_code(fit(safe(name), _MAX_TEXT)) for name in names[:_MAX_TESTS]) + more


def _code(text: str) -> str:
    """Inline code inside a table: bars must be escaped, and the fence must be longer than any in the text."""
    text = safe(text)
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", safe(text))
