"""Techniques that take a while, and what is shown until they are done."""

from __future__ import annotations

from suspectra.techniques.formulas import make_formula
from suspectra.techniques.technique import Technique

QUICK = "ochiai"
"""The formula whose ranking comes first."""


class Staged(Technique):
    """A technique of more than the lines: reading control flow alone takes longer than a ranking by a formula.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> [stage.name for stage in make_technique("cp").stages]
    ['ochiai', 'cp']
    """

    @property
    def stages(self) -> tuple[Technique, ...]:
        """A formula first."""
        return make_formula(QUICK, {}), self
