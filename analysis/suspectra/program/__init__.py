"""The structure of the program under test: what techniques beyond the formulas need to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suspectra.evidence.evidence import MeasuredFile


@dataclass(frozen=True, eq=False)
class Program:
    """The measured files; their flow graphs are built when a technique asks for them.

    Parameters
    ----------
    files : tuple of MeasuredFile
        In the order of the spectrum's element table.
    """

    files: tuple[MeasuredFile, ...]
