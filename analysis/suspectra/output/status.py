"""The state of a workspace for people: how the last run ended, and which commands make sense next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TextIO

from suspectra.output.ranking import Listing
from suspectra.output.terminal import Style, pad, safe, width
from suspectra.quantity import many

MAX_GROUPS, MAX_SUSPECTS = 3, 3
"""How many failure groups are shown, and how many suspects of each."""

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WIDEST = 50


class NextCommand(NamedTuple):
    """A command that makes sense now.

    Parameters
    ----------
    command : str
        As it is typed.
    purpose : str
        What it does, in a few words.

    Examples
    --------
    >>> NextCommand("suspectra rank", "list all suspects").purpose
    'list all suspects'
    """

    command: str
    purpose: str


def write_status(ranking: Listing, age: float | None, affected: int, out: TextIO) -> None:
    """Write how the last run ended, and the first suspects of each failure group.

    Parameters
    ----------
    ranking : Listing
        The ranking.
    age : float or None
        Seconds since the run; None if that is not known.
    affected : int
        How many other tests changes since then can affect.
    out : TextIO
        The output.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from suspectra import Evidence, Spectrum, make_technique
    >>> from suspectra.failure_groups.ranking import rank_groups
    >>> technique = make_technique("ochiai")
    >>> report = technique.localize(Spectrum.from_matrix([[1, 1], [0, 1]], failed=[True, False]))
    >>> groups = tuple(rank_groups(report, technique).groups)
    >>> evidence = Evidence("by hand", (), (), (), np.zeros(0, np.int32))
    >>> write_status(Listing(report, evidence, (), groups=groups), 300, 2, sys.stdout)
    Of 2 tests 1 failed, 5 minutes ago. Changes since then can affect 2 others.
    <BLANKLINE>
    ✗ perhaps 1 test: program:1
       1  program:1
       2  program:2
    <BLANKLINE>
    """
    style = Style(out)
    counts = ranking.report.spectrum.counts
    when = "" if age is None else f", {ago(age)}"
    ended = f"Of {many(counts.failed + counts.passed, 'test')} {counts.failed} failed{when}."
    changes = f" Changes since then can affect {affected} other{'s' if affected > 1 else ''}." if affected else ""
    out.write(style(ended + changes, "bold") + "\n\n")
    write_first_suspects(ranking, out)


def write_first_suspects(ranking: Listing, out: TextIO) -> None:
    """Write the first suspects of each failure group.

    Parameters
    ----------
    ranking : Listing
        The ranking, with its failure groups.
    out : TextIO
        The output.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from suspectra import Evidence, Spectrum, make_technique
    >>> from suspectra.failure_groups.ranking import rank_groups
    >>> technique = make_technique("ochiai")
    >>> report = technique.localize(Spectrum.from_matrix([[1, 1], [0, 1]], failed=[True, False]))
    >>> groups = tuple(rank_groups(report, technique).groups)
    >>> evidence = Evidence("by hand", (), (), (), np.zeros(0, np.int32))
    >>> write_first_suspects(Listing(report, evidence, (), groups=groups), sys.stdout)
    ✗ perhaps 1 test: program:1
       1  program:1
       2  program:2
    <BLANKLINE>
    """
    style = Style(out)
    for group in ranking.groups[:MAX_GROUPS]:
        out.write(style(safe(group.heading), "bold") + "\n")
        listing = ranking.for_group(group, MAX_SUSPECTS)
        for entry in listing.entries():
            place = style(safe(f"{entry['file']}:{entry['line']}"), "red")
            function = safe(f"  {entry['function']}" if entry["function"] else "")
            out.write(f"{entry['rank_best']:>4}  {place}{function}\n")
        about = (listing.cut, group.group.left_out) if listing.shown else (group.reason,)
        out.write("".join(f"      {text}\n" for text in about if text) + "\n")
    if (more := len(ranking.groups) - MAX_GROUPS) > 0:
        out.write(f"and {many(more, 'more failure group')}\n\n")


def ago(seconds: float) -> str:
    """Say how long ago something was.

    Parameters
    ----------
    seconds : float
        Since then.

    Returns
    -------
    str
        In the largest unit of which there is a whole one.

    Examples
    --------
    >>> ago(7_300), ago(59)
    ('2 hours ago', 'just now')
    """
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{many(int(seconds // size), unit)} ago"
    return "just now"


def write_next(commands: Sequence[NextCommand], out: TextIO) -> None:
    """Write commands, each with what it does.

    Parameters
    ----------
    commands : sequence of NextCommand
        The most sensible one first.
    out : TextIO
        The output.

    Examples
    --------
    >>> import sys
    >>> commands = [NextCommand("suspectra rank", "all suspects"), NextCommand("suspectra -h", "all commands")]
    >>> write_next(commands, sys.stdout)
    Next:
      suspectra rank  all suspects
      suspectra -h    all commands
    """
    style = Style(out)
    out.write(style("Next:", "bold") + "\n")
    shown = [safe(one.command) for one in commands]
    widest = min(max(map(width, shown), default=0), _WIDEST)
    for command, one in zip(shown, commands, strict=True):
        gap = "  " if width(command) <= _WIDEST else "\n" + " " * (widest + 4)
        out.write(f"  {style(pad(command, widest), 'cyan')}{gap}{safe(one.purpose)}\n")
