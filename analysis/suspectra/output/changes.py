"""The changes that broke tests, as text or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from suspectra.base.english import first_of, many, share_does
from suspectra.changes.isolation import BreakingChange, ChangeIsolation
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueDifference
from suspectra.output.changed_lines import changed_lines, said_lines
from suspectra.output.terminal import Style, safe

_MAX_LINES = 6  # of a change that are shown


def write_changes_json(found: ChangeIsolation, out: TextIO) -> None:
    """Write one JSON object."""
    out.write(json.dumps(found.to_json(), indent=1, allow_nan=False) + "\n")


def write_changes(found: ChangeIsolation, out: TextIO) -> None:
    """Write each cause with what it does, the conclusion first."""
    style = Style(out)
    for cause in found.causes:
        total, since = cause.total, safe(cause.since.name)
        out.write(
            style(f"✗ {safe(_listed(cause.tests))}", "bold") + f": broken by {_share(cause, total)} since {since}\n"
        )
        for unit in cause.units:
            _write_unit(unit, out, style)
        if cause.run:
            out.write(f"  The failing test runs {len(cause.run)} of these, or of changes that only run with them:\n")
            for unit in cause.run:
                _write_unit(unit, out, style)
        out.write(f"  {safe(_effect(cause))}\n")
        if (found_at := cause.difference) is not None:
            out.write(f"  First different value: {safe(_difference(found_at))}\n")
        elif cause.compared:
            out.write("  No value that can be shown differs before the test fails.\n")
    if not found.causes and (failed_before := [name for name in found.old if name in found.fail_before]):
        out.write(style(f"✗ {safe(_listed(failed_before))}", "bold") + ": failed before your changes, too\n")
    elif found.old and found.baseline:
        it = "This test" if len(found.old) == 1 else f"These {len(found.old)} tests"
        out.write(f"{it} failed before, too: {safe(_listed(found.old))}\n")
    if not found.complete:
        out.write("The time was over before all was tried: give it more with --seconds.\n")


def _listed(tests: Sequence[str]) -> str:
    """The names of tests without files, and without classes unless tests of several have one name."""
    parts = [test.split("::")[1:] or [test] for test in tests]
    last = [part[-1] for part in parts]
    return first_of([part[-1] if last.count(part[-1]) == 1 else "::".join(part) for part in parts])


def _share(cause: BreakingChange, total: int) -> str:
    count = len(cause.units)
    what = "one" if count == 1 else str(count)
    together = "" if count == 1 else " together"
    return f"{what} of {many(total, 'change')}{together}" if total > 1 else "the only change"


def _effect(cause: BreakingChange) -> str:
    it = "it" if len(cause.units) == 1 else "them"
    of = len(cause.tests)
    breaks = len(set(cause.tests).intersection(cause.alone_breaks))
    without_it = f"without {it}{cause.with_these}{' and what is named before' if cause.besides else ''}"
    without = f"{without_it} {share_does(len(cause.mends), of, 'test', 'pass')}" if cause.mends else ""
    alone = f"with {it} alone {share_does(breaks, of, 'test', 'fail')}" if breaks else ""
    said = "; ".join(filter(None, (without, alone)))
    if not said:
        said = f"With other changes made, this decides whether {_listed(cause.tests)} {'passes' if of == 1 else 'pass'}"
    elif not cause.mends:
        said += f"; without {it} {'it still fails' if of == 1 else 'they still fail'}, so it may not be the only cause"
    elif not breaks:
        said += f"; alone {_nothing(len(cause.units))}, so it takes others of the changes, too"
    left = "" if cause.minimal else " There was no time to make it smaller."
    return f"{said[0].upper()}{said[1:]}.{left}"


def _nothing(units: int) -> str:
    return "it breaks nothing" if units == 1 else "they break nothing"


def _difference(found: ValueDifference) -> str:
    before = "1 value before it is" if found.equal == 1 else f"{found.equal:,} values before it are"
    equal = f" ({before} equal)" if found.equal else ""
    name = found.name if "`" in found.name else f"`{found.name}`"
    was, now = found.shown
    return f"{name} at {found.file}:{found.line} is {now}, was {was}{equal}"


def _write_unit(unit: ChangeUnit, out: TextIO, style: Style) -> None:
    place = style(safe(str(unit)), "red")
    if unit.moved_from:
        out.write(f"  {place}   moved from {safe(unit.moved_from)}; to undo this, move it back\n")
        return
    lines = changed_lines(said_lines(unit.before), said_lines(unit.after), _MAX_LINES)
    if not lines:
        out.write(f"  {place}\n")
    for number, line in enumerate(lines):
        out.write(f"  {place if not number else ' ' * len(str(unit))}   {safe(line)}\n")
