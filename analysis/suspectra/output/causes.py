"""The causes of a failure: lines while the search lasts, and the whole as text or as one JSON object."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import TextIO

from suspectra.base.english import many
from suspectra.base.location import Location
from suspectra.causes.report import CauseReport, CauseState, Narrowing
from suspectra.evidence.sources import Sources
from suspectra.output.terminal import Style, after_place, pad, safe, terminal_width, width

_MAX_CHAIN = 12
"""States of a chain that are written; of a longer one those next to the root and the failure."""

_MAX_NEAR = 8
_MAX_ROOTS = 8
_PLACE_SHARE = 0.5  # of the columns


def write_narrowing(step: Narrowing, out: TextIO) -> None:
    """Write where the search goes on after a step."""
    wrong = sum(member.polluted for member in step.cut)
    end = "fail later" if step.fails_later else "pass"
    if len(step.cut) == 1:
        found = f"the state there {'can' if wrong else 'did not'} make the test {end}"
    else:
        made = (
            f"{wrong} of {len(step.cut)} states there can make" if wrong else f"no state of {len(step.cut)} there made"
        )
        found = f"{made} the test {end}"
    left = f"{step.left} of {step.nodes}" if step.left < step.nodes else f"still {step.nodes}"
    out.write(f"{Style(out)(safe(str(step)), 'bold')}  ({found}; {left} nodes left)\n")
    out.flush()


def write_json(found: Mapping[str, object], out: TextIO) -> None:
    """Write what was found as one JSON object."""
    out.write(json.dumps(found, indent=1, allow_nan=False) + "\n")


def write_text(report: CauseReport, out: TextIO, sources: Sources) -> None:
    """Write the root causes, the chain from there to the failure, and what is near the roots."""
    style = Style(out)
    if report.roots:
        out.write("\n" + style(f"Suspected causes of {safe(report.test)}", "bold") + "\n")
        _write_states(report.roots[:_MAX_ROOTS], out, sources)
        if (more := len(report.roots) - _MAX_ROOTS) > 0:
            out.write(f"  … {more} more, which are less suspicious\n")
        if (change := report.change) is not None:
            out.write("\n" + style("Why the first one: a change there repairs the test and breaks none", "bold") + "\n")
            out.write(safe(f"  {change.said[0].upper()}{change.said[1:]}") + "\n")
            out.writelines(f"  {safe(line)}\n" for line in change.lines)
        half, left_out = _MAX_CHAIN // 2, len(report.chain) - _MAX_CHAIN
        begin, end = (report.chain, ()) if left_out <= 0 else (report.chain[:half], report.chain[-half:])
        if len(report.chain) > 1:
            out.write("\n" + style("How the first one leads to the failure", "bold") + "\n")
            _write_states(begin, out, sources)
            if end:
                out.write(f"  … {left_out} more\n")
                _write_states(end, out, sources)
        others = [state for state in report.transitive if state not in (*begin, *end)]
        if others:
            out.write("\n" + style("Also suspected, the most suspicious by all tests first", "bold") + "\n")
            _write_states(others[:_MAX_ROOTS], out, sources)
            if (more := len(others) - _MAX_ROOTS) > 0:
                out.write(f"  … {more} more\n")
        if report.around:
            out.write("\n" + style("Statements nearest to the suspected causes", "bold") + "\n")
            _write_states(report.around[:_MAX_NEAR], out, sources)
    else:
        out.write(f"\nNo state was found with which {safe(report.test)} would pass.\n")
        if not report.complete:
            out.write("Fix: let the search go on for longer, with --seconds\n")
    if report.guessed:
        out.write("\n" + style("Taken for right, though the right value may not have been tried", "bold") + "\n")
        _write_states(report.guessed[:_MAX_NEAR], out, sources)
        out.write("If one of them is wrong, search before it with --wrong FILE:LINE\n")
    ended = "the search came to its end" if report.complete else "the search was stopped before its end"
    out.write(f"\n{many(report.alterations, 'altered run')} in {report.seconds:.1f} s; {ended}\n")


def write_explained(explained: Mapping[str, CauseState], out: TextIO) -> None:
    """Write which other failures the causes explain."""
    for test, state in explained.items():
        place = safe(f"{state.file}:{state.line}")
        out.write(f"{safe(test)} can be made to pass at {place}, too: no other cause was searched for\n")


def write_state(state: CauseState, out: TextIO, sources: Sources) -> None:
    """Write a state alone: its place and time, its source, and its value."""
    _write_states([state], out, sources, timed=True)


def _write_states(
    states: tuple[CauseState, ...] | list[CauseState], out: TextIO, sources: Sources, *, timed: bool = False
) -> None:
    columns = terminal_width(out)
    times = Counter((state.file, state.line) for state in states)
    places = [_place(state, timed=timed or times[state.file, state.line] > 1) for state in states]
    most = min(max(map(width, places)), int(columns * _PLACE_SHARE))  # longer ones move what comes after them
    for place, state in zip(places, states, strict=True):
        at = Location(state.file, state.line, max(state.line, state.end_line))
        text = safe(state.operand or sources.lines(at))
        value = safe(f"  → {state.value}") if state.value else ""
        out.write(after_place(f"  {pad(place, most)}  ", text + value, columns) + "\n")


def _place(state: CauseState, *, timed: bool) -> str:
    return safe(str(state._replace(value="")) if timed else f"{state.file}:{state.line}")
