"""The ranking as a table for people."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from textwrap import wrap
from typing import TextIO

from suspectra.base.english import enumeration, many
from suspectra.base.location import Location
from suspectra.base.options import TECHNIQUE
from suspectra.evidence.changes import besides
from suspectra.evidence.sources import Sources
from suspectra.output.behaviours import sentences
from suspectra.output.rankings.ranking import (
    MAX_SCORE,
    FunctionEntry,
    Listing,
    RankingEntry,
    change_in_words,
    function_in_words,
)
from suspectra.output.terminal import Style, fit, pad, safe, terminal_width, width, wrapped
from suspectra.runs.experiment import COMBINATION

_HEADINGS = ("Rank", "Score", "Location", "Function", "ef", "ep", "nf", "np", "Source")
_RIGHT = (True, True, False, False, True, True, True, True, False)
_LOCATION, _FUNCTION, _SOURCE = 2, 3, 8
_NUMBERS = (1, 4, 5, 6, 7)  # the columns that are only shown if they are asked for
_FUNCTION_SHARE = 0.5  # largest share of the width that numbers and locations leave
_GAP = "  "


def write_table(ranking: Listing, out: TextIO, sources: Sources) -> None:
    """Write the table, with the reason for the rank of each tie and the failing tests that execute its lines.

    Where failing tests are in several groups, each group has a section with its own table.
    """
    style = Style(out)
    for sentence in besides(ranking.evidence, ranking.report.spectrum):
        out.write(style(safe(sentence), "bold") + "\n")
    for group, listing in ranking.sections:
        out.write(style(safe(group.heading), "bold") + "\n")
        out.write(style(safe(group.reason), "dim") + "\n\n")
        if listing.shown:
            _write_section(listing, out, sources, style)
            out.write("\n")
    if not ranking.sections:
        _write_section(ranking, out, sources, style)
        out.write("\n")
    out.writelines(f"{line}\n" for line in wrapped(summary(ranking), out))


def _write_section(ranking: Listing, out: TextIO, sources: Sources, style: Style) -> None:
    """Write the table of one ranking: functions with their first statements, or statements alone."""
    columns = terminal_width(out)
    blocks = _blocks(ranking)
    entries = [entry for _, own in blocks for entry in own]
    rows = [_cells(entry, sources, ranking) for entry in entries]
    widths = _widths(rows, columns, ranking)
    indent = " " * (widths[0] + len(_GAP))
    out.write(style(_line(_HEADINGS, widths), "bold") + "\n")
    lines = zip(rows, entries, [*entries[1:], None], strict=True)
    for function, own in blocks:
        if function is not None:
            out.write(_heading(function, widths[0], columns, style) + "\n")
        for row, entry, following in islice(lines, len(own)):
            line = _line(row, widths)
            out.write((_coloured(line, entry, style) if function is None else line) + "\n")
            same_block = following if entry is not own[-1] else None
            said = _at_length(ranking, entry, following) if ranking.verbose else _briefly(ranking, entry, same_block)
            for sentence in said:
                for part in wrap(safe(sentence), columns - len(indent)):
                    out.write(style(indent + part, "dim") + "\n")
            names_differ = following is None or following["failing_tests"] != entry["failing_tests"]
            if names_differ and ranking.verbose:
                out.write(style(indent + _tests(entry, columns - len(indent)), "dim") + "\n")
    if cut := ranking.cut if ranking.by_line else ranking.functions_cut:
        out.write(indent + cut + "\n")
    if behaviours := sentences(ranking.report):
        out.write("\n" + style("Suspicious behaviours", "bold") + "\n")
        out.writelines(safe(line) + "\n" for line in behaviours)


def _briefly(ranking: Listing, entry: RankingEntry, following: RankingEntry | None) -> Iterator[str]:
    """One plain sentence for a suspect, or for several of which the same is true, and what experiments found."""
    if finding := ranking.finding(entry):
        yield finding
    said = ranking.in_one_sentence(entry)
    if following is None or finding or ranking.finding(following) or ranking.in_one_sentence(following) != said:
        yield said


def _at_length(ranking: Listing, entry: RankingEntry, following: RankingEntry | None) -> Iterator[str]:
    """What changed, and why a suspect ranks before the next one, beside the counts."""
    if badge := change_in_words(entry):
        yield badge
    reason = ranking.beside_counts(entry)
    if reason and (following is None or _reason(following) != _reason(entry)):
        yield reason


def _blocks(ranking: Listing) -> list[tuple[FunctionEntry | None, list[RankingEntry]]]:
    """The listed functions with their first statements, or all listed statements without a function."""
    if ranking.by_line:
        return [(None, list(ranking.entries()))]
    return [(function, function["suspects"]) for function in ranking.functions()]


def _heading(function: FunctionEntry, ranks: int, columns: int, style: Style) -> str:
    rank = pad(rank_text(function["rank_best"], function["rank_worst"]), ranks, right=True) + _GAP
    name = fit(safe(function_in_words(function)), columns - len(rank))
    return style(rank + name, "red" if function["rank_best"] == 1 else "bold")


def summary(ranking: Listing) -> str:
    """Say how much of the ranking is listed, and what it is made of; its technique only if somebody has chosen one."""
    technique, counts = ranking.report.technique, ranking.report.spectrum.counts
    without = f", without {enumeration(ranking.report.without)}" if ranking.report.without else ""
    cloned = ", failed tests cloned" if technique.clone_failed else ""
    is_default = technique.info.name in (TECHNIQUE.default, COMBINATION)
    ranked = "" if is_default and not without and not cloned else f" Ranked by {technique.info.title}{without}{cloned}."
    ended = f"{many(counts.failed, 'test')} failed, {counts.passed:,} passed ({ranking.evidence.source})."
    return f"{ranking.extent}{ranked} {ended}"


def rank_text(best: int, worst: int) -> str:
    """Format a rank, as a range if lines are tied."""
    return f"{best}–{worst}" if best != worst else f"{best}"


def score_text(score: float) -> str:
    """Format a score, short enough for a column; the largest double stands for infinity."""
    if abs(score) == MAX_SCORE:
        return "∞" if score > 0 else "-∞"
    return f"{score:.4f}" if abs(score) < 1000 else f"{score:.5g}"


def location_text(entry: RankingEntry) -> str:
    """Format the file and the first line."""
    return f"{entry['file']}:{entry['line']}"


def _widths(rows: list[tuple[str, ...]], columns: int, ranking: Listing) -> list[int]:
    """The widths of columns: numbers and locations get what they need, as only whole locations can be clicked.

    Names of functions, if they are wanted, and sources share the rest; if that is too little, they are left out, and
    have no width.
    """
    names = ranking.by_line
    widths = [max(map(width, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    text = (_LOCATION, _FUNCTION, _SOURCE)
    if not ranking.verbose:
        widths = [0 if i in _NUMBERS else wide for i, wide in enumerate(widths)]
    gaps = len(_GAP) * (len(widths) - 1 - widths.count(0))
    left = columns - sum(wide for i, wide in enumerate(widths) if i not in text) - gaps
    left -= widths[_LOCATION]
    if left < len("Function") + len("Source"):
        widths[_FUNCTION] = widths[_SOURCE] = 0
        return widths
    if not names:
        left += len(_GAP)
    widths[_FUNCTION] = min(widths[_FUNCTION], max(len("Function"), int(left * _FUNCTION_SHARE))) if names else 0
    widths[_SOURCE] = left - widths[_FUNCTION]
    return widths


def _cells(entry: RankingEntry, sources: Sources, ranking: Listing) -> tuple[str, ...]:
    place = Location(entry["file"], entry["line"], entry["end_line"])
    return (
        rank_text(entry["rank_best"], entry["rank_worst"]) if ranking.by_line else "",
        score_text(entry["score"]),
        safe(location_text(entry)),
        safe(entry["function"]),
        *map(str, (entry["ef"], entry["ep"], entry["nf"], entry["np"])),
        safe(sources.lines(place)),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    shown = [i for i, wide in enumerate(widths) if wide]
    fitted = {i: fit(cells[i], widths[i]) for i in shown if i != _FUNCTION}
    if widths[_FUNCTION]:
        name = cells[_FUNCTION]
        name = name if width(name) <= widths[_FUNCTION] else _without_parameters(name)
        fitted[_FUNCTION] = fit(name, widths[_FUNCTION], keep_end=True)
    return _GAP.join(pad(fitted[i], widths[i], right=_RIGHT[i]) for i in shown).rstrip()


def _without_parameters(function: str) -> str:
    """Leave out what a C++ function takes, which says less than the end of its name."""
    depth = 0
    for at in range(function.rfind(")"), -1, -1):
        depth += {")": 1, "(": -1}.get(function[at], 0)
        if not depth:
            return function[:at] + "()" if at else function
    return function


def _coloured(line: str, entry: RankingEntry, style: Style) -> str:
    if entry["rank_best"] == 1:
        return style(line, "red")
    return style(line, "yellow") if entry["ef"] and entry["rank_best"] <= 10 else line


def _reason(entry: RankingEntry) -> tuple[int, str]:
    return entry["rank_best"], entry["reason"]


def _tests(entry: RankingEntry, columns: int) -> str:
    """As many names of failing tests as fit on the line, without folders."""
    names = entry["failing_tests"]
    if not names:
        return "executed by no failing test"
    how = "perhaps read" if entry["only_read"] else "executed"
    head = f"{how} by {many(len(names), 'failing test')}: "
    left = columns - len(head) - len(" and 00000 more")
    taken: list[str] = []
    for name in names:
        short = safe(_short(name))
        if taken and left < width(short) + 2:
            break
        taken.append(fit(short, max(20, left)))
        left -= width(taken[-1]) + 2
    more = f" and {len(names) - len(taken)} more" if len(taken) < len(names) else ""
    return head + ", ".join(taken) + more


def _short(name: str) -> str:
    """The name of a test of pytest without folders; the names of other tests are whole, with their slashes."""
    path, separator, rest = name.partition("::")
    return path.rpartition("/")[2] + separator + rest if separator and "[" not in path else name
