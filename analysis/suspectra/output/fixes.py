"""Writing fixes: as a table, as JSON, or as differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TextIO

from suspectra.base.english import many
from suspectra.base.visible import safe
from suspectra.fixes.apart import Apart
from suspectra.fixes.diff import difference
from suspectra.fixes.fix import Fix, fix_in_words


class SearchCounts(NamedTuple):
    """What a search has done."""

    tried: int  # candidates that were run
    pruned: int  # candidates that would give the same as the program, or as another one
    complete: bool  # whether nothing is left to be tried
    seconds: float
    interrupted: bool = False


_SHOWN = 10
"""Fixes of one failure group."""

Read = Callable[[str], bytes | None]
"""Gives the bytes of a source, None for one that can't be read."""


def apart_in_words(number: int, told: Apart) -> str:
    """What tells a fix from the first one, and that from the second, in one sentence."""
    here, there = (one if one.startswith("raises ") else f"gives `{one}`" for one in (told.gives, told.other_gives))
    return f"With it `{told.call}` {here}, with {'the second' if number == 1 else 'the first'} {there}"


def write_fix(number: int, fix: Fix, failing: int, read: Read, out: TextIO, told: Apart | None = None) -> None:
    """One fix, with the difference that it makes."""
    out.write(f"{number}. {safe(f'{fix.file}:{fix.line}')}: {fix_in_words(fix, failing)}.\n")
    if fix.hides:
        out.write("   It may only keep the failure from being noticed.\n")
    elif fix.is_narrow:
        out.write(f"   It may fit only {'this test' if len(fix.repaired) == 1 else 'these tests'}.\n")
    for line in difference(fix.candidates, read).splitlines()[2:]:
        out.write(f"   {safe(line)}\n")
    if told is not None:
        out.write(f"   {safe(apart_in_words(number, told))}.\n")
        for line in told.test.splitlines():
            out.write(f"      {safe(line)}\n".rstrip(" "))
    out.flush()


def write_groups(
    groups: Mapping[tuple[str, ...], Sequence[Fix]],
    old: Collection[str],
    read: Read,
    out: TextIO,
    apart: Mapping[Fix, Apart],
) -> None:
    """The first fixes of each failure group, which is named where there are several; `old` failed before."""
    number = 0
    for tests, fixes in groups.items():
        if len(groups) > 1:
            out.write(f"{_heading(tests, old)}{'' if fixes else ' no fix'}\n")
        for place, one in enumerate(fixes, number + 1):
            if place - number <= _SHOWN:
                write_fix(place, one, len(tests), read, out, apart.get(one))
        number += len(fixes)


def _heading(tests: Sequence[str], old: Collection[str]) -> str:
    more = f" and {many(len(tests) - 1, 'more test')}" if len(tests) > 1 else ""
    before = ", failed before your changes, too" if set(tests) <= set(old) else ""
    return f"For {safe(tests[0])}{more}{before}:"


def fix_entry(number: int, fix: Fix, read: Read, told: Apart | None = None) -> dict[str, object]:
    """One fix as JSON."""
    apart = told and {
        "input": told.call,
        "gives": [told.gives, told.other_gives],
        "said": apart_in_words(number, told),
        "test": told.test,
    }
    return {
        "diff": difference(fix.candidates, read),
        "file": fix.file,
        "line": fix.line,
        "end_line": fix.end_line,
        "mends": list(fix.repaired),
        "judged_by": fix.judges,
        "kind": fix.kind,
        "said": fix_in_words(fix, len(fix.repaired)),
        "hides": fix.hides,
        "narrow": fix.is_narrow,
        "order": number,
        "apart": apart,
    }


def write_json(fixes: Sequence[Fix], read: Read, out: TextIO, done: SearchCounts, told: Mapping[Fix, Apart]) -> None:
    """All fixes, the likeliest first, with what tells them apart."""
    found = {
        "fixes": [fix_entry(number, fix, read, told.get(fix)) for number, fix in enumerate(fixes, 1)],
        "tried": done.tried,
        "pruned": done.pruned,
        "complete": done.complete,
        "seconds": round(done.seconds, 3),
    }
    out.write(json.dumps(found, indent=1) + "\n")


def summary(fixes: Sequence[Fix], done: SearchCounts) -> str:
    """What was done, in one line."""
    found = f"{len(fixes)} fix{'' if len(fixes) == 1 else 'es'}" if fixes else "no fix found"
    nothing_left = "what is left would rank far behind" if fixes else "all that it knows was tried"
    left = nothing_left if done.complete else "more can be tried with --seconds"
    if done.interrupted:
        left = "the search was interrupted"
    did = f"{many(done.tried, 'change')} run and {done.pruned:,} left out as equal to others in {done.seconds:.1f} s"
    return f"{found}; {did}; {left}"
