"""The list of techniques."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TextIO

from suspectra.output.terminal import Style, fit, pad, terminal_width
from suspectra.techniques import technique_infos


def write_table(out: TextIO) -> None:
    """Write names, papers and formulas, by family.

    Parameters
    ----------
    out : TextIO
        The output.
    """
    style, columns = Style(out), terminal_width(out)
    infos = technique_infos()
    name = max(len(info.name) for info in infos)
    paper = max(len(info.paper) for info in infos)
    for family, members in groupby(infos, lambda info: info.family):
        out.write(style(family, "bold") + "\n")
        for info in members:
            left = f"  {pad(info.name, name)}  {pad(info.paper, paper)}  "
            out.write(f"{left}{fit(info.formula, max(20, columns - len(left)))}\n")
    out.write("\nChoose one with `suspectra rank --technique NAME`; --format json says more about each.\n")


def write_json(out: TextIO) -> None:
    """Write the whole descriptions of all techniques as a JSON list of objects.

    Parameters
    ----------
    out : TextIO
        The output.
    """
    json.dump(
        [{**asdict(info), "needs": sorted(info.needs), "uses": sorted(info.uses)} for info in technique_infos()],
        out,
        indent=1,
    )
    out.write("\n")
