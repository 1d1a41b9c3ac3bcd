"""The ranking as comma-separated values."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TextIO

from suspectra.output.rankings.ranking import Listing
from suspectra.output.terminal import safe

FIELDS = (
    "rank_best",
    "rank_average",
    "rank_worst",
    "standard_rank",
    "score",
    "file",
    "line",
    "end_line",
    "function",
    "ef",
    "ep",
    "nf",
    "np",
    "reason",
    "failing_tests",
    "group",
    "group_rank",
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_csv(ranking: Listing, out: TextIO) -> None:
    """Write the ranking with a header row; failing tests are in one cell, one per line (RFC 4180 quoting).

    Of several failure groups the statements of the first one come first. A list of the first suspects is extended to
    the end of its last tie, as a row can't say that the tie goes on. `group` is the number of the failure group in
    which a statement ranks best, and `group_rank` its rank there. A text that a spreadsheet would take for a formula is
    prefixed with an apostrophe. Control characters are escaped.
    """
    table = csv.writer(out, lineterminator="\n")
    table.writerow(FIELDS)
    listed = replace(ranking, top=ranking.shown + ranking.tied_beyond)
    group, rank = ranking.group_ranks()
    for element, entry in zip(listed.order.tolist(), listed.entries(), strict=True):
        names = "\n".join(map(safe, entry["failing_tests"]))  # each name is on one line
        own = (int(group[element]), int(rank[element])) if group[element] else ("", "")
        row: dict[str, object] = {**entry, "failing_tests": names, "group": own[0], "group_rank": own[1]}
        table.writerow([_cell(row[field]) for field in FIELDS])


def _cell(value: object) -> object:
    if isinstance(value, str):
        value = "\n".join(map(safe, value.split("\n")))
        return f"'{value}" if value.startswith(_FORMULA_STARTS) else value
    return value
