"""The state of a workspace for people: how the last run ended, and which commands make sense next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TextIO

from suspectra.base.english import many
from suspectra.evidence.changes import besides
from suspectra.output.rankings.ranking import Listing, change_in_words
from suspectra.output.terminal import Style, after_place, fit, pad, safe, terminal_width, width

MAX_GROUPS, MAX_FUNCTIONS = 3, 3
"""How many failure groups are shown, and how many functions of each."""

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WIDEST = 50


class NextCommand(NamedTuple):
    """A command that makes sense now."""

    command: str  # as it is typed
    purpose: str  # what it does, in a few words


def write_status(ranking: Listing, age: float | None, affected: int, out: TextIO) -> None:
    """Write how the last run ended, and the first suspects of each failure group."""
    style = Style(out)
    counts = ranking.report.spectrum.counts
    when = "" if age is None else f", {ago(age)}"
    ended = f"Of {many(counts.failed + counts.passed, 'test')} {counts.failed} failed{when}."
    changes = f" Changes since then can affect {many(affected, 'other')}." if affected else ""
    out.write(style(ended + changes, "bold") + "\n")
    out.writelines(f"{safe(sentence)}\n" for sentence in besides(ranking.evidence, ranking.report.spectrum))
    out.write("\n")
    write_first_suspects(ranking, out)


def write_first_suspects(ranking: Listing, out: TextIO) -> None:
    """Write the first functions of each failure group, with their first lines."""
    style, columns = Style(out), terminal_width(out)
    for group in ranking.groups[:MAX_GROUPS]:
        out.write(style(safe(group.heading), "bold") + "\n")
        listing = ranking.for_group(group, MAX_FUNCTIONS)
        for one in listing.functions():
            first, *others = one["suspects"]
            rank, place = f"{one['rank_best']:>4}  ", safe(f"{first['file']}:{first['line']}")
            also = f" (also {', '.join(str(other['line']) for other in others)})" if others else ""
            name = f"{safe(one['function'])}{also}".strip()
            after = after_place(f"{rank}{place}  ", name, columns)[len(rank) + len(place) :].rstrip()
            out.write(f"{rank}{style(place, 'red')}{after}\n")
            if said := listing.finding(first) or change_in_words(first):
                out.write(f"      {fit(safe(said), columns - 6)}\n")
        about = (listing.functions_cut, group.group.left_out) if listing.shown else (group.reason,)
        out.write("".join(f"      {safe(text)}\n" for text in about if text) + "\n")
    if (more := len(ranking.groups) - MAX_GROUPS) > 0:
        out.write(f"and {many(more, 'more failure group')}\n\n")


def ago(seconds: float) -> str:
    """Say how long ago something was."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{many(int(seconds // size), unit)} ago"
    return "just now"


def write_next(commands: Sequence[NextCommand], out: TextIO) -> None:
    """Write commands, each with what it does."""
    style = Style(out)
    out.write(style("Next:", "bold") + "\n")
    shown = [safe(one.command) for one in commands]
    widest = min(max(map(width, shown), default=0), _WIDEST)
    for command, one in zip(shown, commands, strict=True):
        gap = "  " if width(command) <= _WIDEST else "\n" + " " * (widest + 4)
        out.write(f"  {style(pad(command, widest), 'cyan')}{gap}{safe(one.purpose)}\n")
