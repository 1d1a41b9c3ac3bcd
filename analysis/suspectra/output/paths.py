"""The passing test whose path is nearest to a failing one's, as text or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from suspectra.evidence.sources import Sources
from suspectra.experiments.nearest_path import NearPath, PathDifference
from suspectra.output.terminal import Style, fit, pad, safe, terminal_width, width
from suspectra.quantity import enumeration, many, ordinal

_MAX_NAMED = 3  # tests that a sentence names
_PLACE_SHARE = 0.5  # of the columns


class PathReport(NamedTuple):
    """What a comparison of paths has found.

    Parameters
    ----------
    technique : str
        Its name.
    test : str
        The failing test.
    nearest : NearPath or None
        The nearest path of a passing test; None for none that differs.
    same_path : sequence of str
        Passing tests that take the very same path.
    candidates : int
        With how many passing tests it was compared.
    complete : bool
        Whether there was time for all.
    seconds : float
        How long it took.

    Examples
    --------
    >>> same = NearPath("test_b", 0, 12, None, (), (0,))
    >>> report = PathReport("nearest-path", "test_sum", None, [same.test], 1, True, 0.2)
    >>> report.nearest, report.same_path
    (None, ['test_b'])
    """

    technique: str
    test: str
    nearest: NearPath | None
    same_path: Sequence[str]
    candidates: int
    complete: bool
    seconds: float


def write_json(report: PathReport, out: TextIO) -> None:
    """Write the report as one JSON object.

    Parameters
    ----------
    report : PathReport
        What was found.
    out : TextIO
        Written to.

    Examples
    --------
    >>> import io
    >>> out = io.StringIO()
    >>> write_json(PathReport("nearest-path", "test_sum", None, ["test_b"], 1, True, 0.2), out)
    >>> json.loads(out.getvalue())["candidates"]
    1
    """
    nearest = report.nearest
    differences = nearest.report if nearest is not None else ()
    document = {
        "technique": report.technique,
        "report": [
            {
                "file": one.location.file,
                "line": one.location.line,
                "end_line": one.location.end_line,
                "outcome": one.outcome,
                "wanted": one.wanted,
            }
            for one in differences
        ],
        "with": nearest.test if nearest is not None else None,
        "distance": [
            {"file": one.location.file, "line": one.location.line, "instance": one.instance}
            for one in (nearest.differences if nearest is not None else ())
        ],
        "candidates": report.candidates,
        "complete": report.complete,
        "seconds": round(report.seconds, 3),
    }
    out.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def write_text(report: PathReport, out: TextIO, sources: Sources) -> None:
    r"""Write where the runs part, and what else came out differently.

    Parameters
    ----------
    report : PathReport
        What was found.
    out : TextIO
        Written to.
    sources : Sources
        The sources of the lines.

    Examples
    --------
    >>> import sys
    >>> from suspectra.location import Location
    >>> _ = (folder / "cart.py").write_text("if prices:\n    total = 1\n")
    >>> parts = PathDifference(Location("cart.py", 1, 1), "if", 2, False, True)
    >>> near = NearPath("test_b", 1, 12, parts, (parts,), (1,))
    >>> report = PathReport("nearest-path", "test_sum", near, [], 1, True, 0.2)
    >>> write_text(report, sys.stdout, Sources(folder))
    test_b passes, and goes the same way for 12 decisions and calls.
    <BLANKLINE>
    Here they part:
      cart.py:1  false the 2nd time, there true  if prices:
    <BLANKLINE>
    compared with 1 passing test in 0.2 s
    """
    style = Style(out)
    nearest = report.nearest
    if nearest is None:
        out.write(f"No passing test was found that takes another path than {safe(report.test)}.\n")
    else:
        events = "decision or call" if nearest.shared == 1 else "decisions and calls"
        sentence = f"{safe(nearest.test)} passes, and goes the same way for {nearest.shared} {events}."
        out.write(style(sentence, "bold") + "\n")
        if nearest.parts is None:
            out.write("Then it goes on, where the failing test has ended.\n")
        else:
            out.write("\nHere they part:\n")
            _write_differences([nearest.parts], out, sources)
        others = [one for one in nearest.differences if one != nearest.parts]
        if others:
            out.write("\nThis came out differently, too:\n")
            _write_differences(others, out, sources)
    if report.same_path:
        same = list(map(safe, report.same_path[:_MAX_NAMED]))
        same += [f"{len(report.same_path) - _MAX_NAMED} more"] if len(report.same_path) > _MAX_NAMED else []
        verbs = ("takes", "passes") if len(report.same_path) == 1 else ("take", "pass")
        sentence = f"{enumeration(same)} {verbs[0]} the very same path and {verbs[1]}: only values tell them apart."
        out.write(f"\n{sentence}\n")
    end = "" if report.complete else "; there was no time for more"
    out.write(f"\ncompared with {many(report.candidates, 'passing test')} in {report.seconds:.1f} s{end}\n")


def _write_differences(differences: Sequence[PathDifference], out: TextIO, sources: Sources) -> None:
    columns = terminal_width(out)
    places = [safe(f"{one.location.file}:{one.location.line}") for one in differences]
    words = list(map(in_words, differences))
    widest, longest = min(max(map(width, places)), int(columns * _PLACE_SHARE)), max(map(len, words))
    for place, outcome, one in zip(places, words, differences, strict=True):
        text = safe(sources.line(one.location.file, one.location.line).strip())
        begin = f"  {pad(fit(place, widest, keep_end=True), widest)}  {outcome:{longest}}  "
        out.write(fit(begin + text, columns).rstrip() + "\n")


def in_words(one: PathDifference) -> str:
    """Say how an event came out in both runs.

    Parameters
    ----------
    one : PathDifference
        The event.

    Returns
    -------
    str
        Such as ``false the 2nd time, there true``.

    Examples
    --------
    >>> from suspectra.location import Location
    >>> in_words(PathDifference(Location("cart.py", 8, 8), "if", 2, False, True))
    'false the 2nd time, there true'
    """
    time = "" if one.instance == 1 else f" the {ordinal(one.instance)} time"
    if one.outcome is None:
        return f"called{time}, there not"
    there = {None: "not reached", True: "true", False: "false"}[one.wanted]
    return f"{'true' if one.outcome else 'false'}{time}, there {there}"
