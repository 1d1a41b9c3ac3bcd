"""What techniques read in sources, as evidence without sources has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suspectra.base.arrays import Ints

if TYPE_CHECKING:
    from suspectra.program.python.definitions import Definitions


@dataclass(frozen=True, eq=False)
class SourceFacts:
    """The kinds and the definitions of the statements of a spectrum."""

    kinds: Ints  # the kind of each element; int8, shape (elements,)
    definitions: Definitions  # those that failing tests may read
