"""What techniques read in sources, as evidence without sources has it."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.base.arrays import Ints


@dataclass(frozen=True, eq=False)
class SourceFacts:
    """The kinds of the statements of a spectrum, and what they define and read."""

    kinds: Ints  # the kind of each element; int8, shape (elements,)
    # the columns of definitions, of what reads them, and which of them each reader reads: as `Definitions` has them
    element: Ints
    reader: Ints
    start: Ints
    read: Ints
