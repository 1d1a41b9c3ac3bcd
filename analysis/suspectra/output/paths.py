"""What a search for paths has found, as text or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from suspectra.base.english import many, ordinal
from suspectra.evidence.sources import Sources
from suspectra.output.terminal import Style, after_place, fit, pad, safe, terminal_width, width
from suspectra.paths.generation import TriedPath
from suspectra.paths.report import CALL, PathReport, ReportedPlace, grouped
from suspectra.paths.transition_search import Transition

_PLACE_SHARE = 0.5  # of the columns


def write_json(report: PathReport, out: TextIO) -> None:
    """Write the report as one JSON object."""
    document: dict[str, object] = {
        "technique": report.technique,
        "report": list(map(_place_in_json, report.report)),
        "parts": _place_in_json(report.parts) | {"instance": report.parts.instance} if report.parts else None,
        "with": report.other,
        "distance": [
            {
                "file": one.location.file,
                "line": one.location.line,
                "instance": one.instance,
                "column": one.column,
                "operand": one.operand,
            }
            for one in report.distance
        ],
        "candidates": report.candidates,
        "complete": report.complete,
        "seconds": round(report.seconds, 3),
        "notes": list(report.notes),
        "tried": {
            "inputs": [_tried_in_json(one) for one in report.tried if not one.forced],
            "decisions": [_tried_in_json(one) for one in report.tried if one.forced],
        },
    }
    if report.transitions:
        document["transitions"] = [entry for one in report.transitions for entry in _in_json(one)]
    out.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def write_text(report: PathReport, out: TextIO, sources: Sources) -> None:
    """Write where the run that passes parts from the failing one, and what else came out differently."""
    if report.summary:
        out.write(Style(out)(safe(report.summary), "bold") + "\n")
    else:
        out.write(f"No run that passes was found to compare {safe(report.test)} with.\n")
    if report.transitions:
        _write_transitions(report.transitions, out, sources)
    elif report.parts is not None:
        out.write("\nHere they part:\n")
        _write_differences({report.parts: 1}, out, sources)
    elif report.summary and not report.distance:
        out.write("Then it goes on, where the failing test has ended.\n")
    others = grouped(one for one in report.distance if one != report.parts)
    if others:
        out.write("\nThis came out differently, too:\n")
        _write_differences(others, out, sources)
    for note in report.notes:
        out.write(f"\n{safe(note)}\n")
    end = "" if report.complete else "; the search was stopped before its end"
    out.write(f"\n{many(report.candidates, 'candidate')} in {report.seconds:.1f} s{end}\n")


def _place_in_json(one: ReportedPlace) -> dict[str, object]:
    return {
        "file": one.location.file,
        "line": one.location.line,
        "end_line": one.location.end_line,
        "outcome": one.outcome,
        "wanted": one.wanted,
        "column": one.column,
        "operand": one.operand,
    }


def _tried_in_json(one: TriedPath) -> dict[str, object]:
    return {
        "turned": list(one.turned),
        "places": list(one.places),
        "feasible": one.feasible,
        "successful": one.successful,
    }


def _in_json(step: Transition) -> Iterator[dict[str, object]]:
    """A step of a chain of causes: an object for each place, or one without any for the failure."""
    where = {"file": step.location.file, "line": step.location.line, "instance": step.instance}
    for one in step.places:
        yield where | {"place": one.place, "function": one.function, "failing": one.failing, "passing": one.passing}
    if not step.places:
        yield where | {"place": None, "function": None, "failing": None, "passing": None}


def _write_transitions(transitions: Sequence[Transition], out: TextIO, sources: Sources) -> None:
    """Write what makes the difference, from the first cause to the failure."""
    columns = terminal_width(out)
    out.write("\nThis makes the difference, from the first cause to the failure:\n")
    for step in transitions:
        time = "" if step.instance == 1 else f" the {ordinal(step.instance)} time"
        begin = "before" if step.first else "since" if step.places else "then the test fails, after"
        text = safe(sources.lines(step.location))
        where = f"{begin} {safe(step.location.file)}:{step.location.line}{time}"
        out.write(after_place(f"  {where}  ", text, columns) + "\n")
        for one in step.places:
            out.write(fit(safe(f"      {one} (in {one.function})"), columns).rstrip() + "\n")


def _write_differences(differences: Mapping[ReportedPlace, int], out: TextIO, sources: Sources) -> None:
    columns = terminal_width(out)
    places = [safe(f"{one.location.file}:{one.location.line}") for one in differences]
    words = [in_words(one) + _more(times - 1) for one, times in differences.items()]
    widest, longest = min(max(map(width, places)), int(columns * _PLACE_SHARE)), max(map(len, words))
    for place, outcome, one in zip(places, words, differences, strict=True):
        text = safe(one.operand or sources.line(one.location.file, one.location.line).strip())
        begin = f"  {pad(place, widest)}  {outcome:{longest}}  "
        out.write(after_place(begin, text, columns) + "\n")


def _more(times: int) -> str:
    return "" if times == 0 else ", and once more" if times == 1 else f", and {times} times more"


def in_words(one: ReportedPlace) -> str:
    """Say how an event came out in both runs."""
    time = "" if one.instance == 1 else f" the {ordinal(one.instance)} time"
    if one.outcome is None:
        return f"called{time}, there not" if one.kind == CALL else f"goes another way there{time}"
    there = {None: "not reached", True: "true", False: "false"}[one.wanted]
    return f"{'true' if one.outcome else 'false'}{time}, there {there}"
