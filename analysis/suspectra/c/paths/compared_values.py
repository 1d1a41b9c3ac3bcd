"""What the comparisons of a program had to compare in one run: counts, no values but constants of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suspectra.c.paths.disassembly import Comparing
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_run import mappings_in

_SITE = np.dtype(
    [
        ("address", "u8"),
        ("constant", "i8"),
        ("has_constant", "u4"),
        ("pair", "u4", 3),
        ("first", "u4", 3),
        ("second", "u4", 3),
    ],
    align=True,
)
"""As the recorder has it."""

Three = tuple[int, int, int]


@dataclass(frozen=True)
class CComparison:
    """A comparison, and how often which of its outcomes came out."""

    code: Comparing  # where it is
    constant: int | None  # the first value, if it is a constant; compilers put the constant first
    pair: Three  # how often the first value was less than, equal to and greater than the second one
    # how often each was below zero, zero and above
    first: Three
    second: Three


def compared_values(folder: Path, program: TracedProgram) -> Iterator[CComparison]:
    """Read what the recorder has written: for each process the comparisons that it has made."""
    for file in sorted(folder.glob("*.values")):
        mappings = mappings_in(file.with_suffix(".maps"))
        table = np.fromfile(file, _SITE)
        for site in table[table["address"] != 0]:
            place = program.address(int(site["address"]), mappings)
            code = None if place is None else program.module(place[0]).comparisons.get(place[1])
            if code is not None:
                constant = int(site["constant"]) if site["has_constant"] else None
                three = (tuple(site[name].tolist()) for name in ("pair", "first", "second"))
                yield CComparison(code, constant, *three)
