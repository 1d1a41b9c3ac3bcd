"""Writing what patches on trial do to the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from suspectra.base.english import many
from suspectra.base.visible import safe
from suspectra.fixes.trial import JudgedPatch

_SHOWN = 5


def in_words(judged: JudgedPatch, failing: int) -> str:
    """What a patch does, in one sentence."""
    if judged.refused and not judged.unjudged:
        return f"not tried: {judged.refused}"
    repaired, broken, silent = len(judged.repaired), len(judged.broken), len(judged.unjudged)
    if not repaired:
        begin = "no failing test passes"
    elif repaired == failing:
        begin = "the failing test passes" if failing == 1 else f"all {failing} failing tests pass"
    else:
        begin = f"{repaired} of {failing} failing tests pass"
    if broken:
        rest = f"{many(broken, 'passing test')} {'fails' if broken == 1 else 'fail'}"
    else:
        rest = "no other test of those that were run breaks" if silent else "no other test breaks"
    said = f"{begin}, and {rest} ({judged.judges} were run{'' if judged.complete else ', not all that execute it'})"
    if not silent:
        return said
    unknown = f"{many(silent, 'test')} {'says' if silent == 1 else 'say'} nothing about it"
    why = f"refused: {judged.refused}" if judged.refused else "not known"
    return f"{why}; {unknown}; {said}" if judged.judges else f"{why}; {unknown}"


def write_table(judged: Sequence[JudgedPatch], failing: int, out: TextIO) -> None:
    """A line for each patch, and the tests that it breaks."""
    for one in judged:
        out.write(f"{safe(one.name)}: {safe(in_words(one, failing))}\n")
        for test in one.broken[:_SHOWN]:
            out.write(f"   breaks {safe(test)}\n")


def write_json(judged: Sequence[JudgedPatch], failing: int, out: TextIO, *, complete: bool, seconds: float) -> None:
    """All patches, in their order."""
    entries = [
        {
            "patch": one.name,
            "mends": list(one.repaired),
            "breaks": list(one.broken),
            "unjudged": list(one.unjudged),
            "judged_by": one.judges,
            "refused": one.refused,
            "said": in_words(one, failing),
        }
        for one in judged
    ]
    found = {"changes": entries, "failing": failing, "complete": complete, "seconds": round(seconds, 3)}
    out.write(json.dumps(found, indent=1) + "\n")
