"""The list of techniques."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TextIO

from suspectra.base.technique_info import TechniqueInfo
from suspectra.causes.techniques import FAMILY as CAUSES
from suspectra.causes.techniques import TECHNIQUES
from suspectra.output.terminal import Style, fit, pad, terminal_width
from suspectra.techniques import technique_infos

_NO_DATA_FLOW = (
    "Best where decisions are at fault; not for code that only computes, where the search goes past the fault."
)


def _infos() -> list[TechniqueInfo]:
    """Those that rank, and those that search for the causes of one failure."""
    return [*technique_infos(), *(technique.info for technique in TECHNIQUES.values())]


def write_table(out: TextIO) -> None:
    """Write names, papers and formulas, by family."""
    style, columns = Style(out), terminal_width(out)
    infos = _infos()
    name = max(len(info.name) for info in infos)
    paper = max(len(info.paper) for info in infos)
    for family, members in groupby(infos, lambda info: info.family):
        out.write(style(family, "bold") + "\n")
        if family == CAUSES:
            out.write(f"{_NO_DATA_FLOW}\n")
        for info in members:
            left = f"  {pad(info.name, name)}  {pad(info.paper, paper)}  "
            out.write(f"{left}{fit(info.formula, max(20, columns - len(left)))}\n")
    out.write("\nChoose one with `suspectra rank --technique NAME`, of the last family with `suspectra causes TEST")
    out.write(" --technique NAME`; --format json says more about each.\n")


def write_json(out: TextIO) -> None:
    """Write the whole descriptions of all techniques as a JSON list of objects."""
    json.dump(
        [{**asdict(info), "needs": sorted(info.needs), "uses": sorted(info.uses)} for info in _infos()],
        out,
        indent=1,
    )
    out.write("\n")
