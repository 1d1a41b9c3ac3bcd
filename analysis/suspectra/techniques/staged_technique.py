"""Techniques that take a while; a quick ranking is shown until they are done."""

from __future__ import annotations

from suspectra.techniques.formulas import make_formula
from suspectra.techniques.technique import Technique

QUICK = "ochiai"
"""The formula of the quick ranking."""


class Staged(Technique):
    """A technique that needs more than lines: even reading control flow takes longer than a ranking by a formula.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> [stage.name for stage in make_technique("cp").stages]
    ['ochiai', 'cp']
    """

    @property
    def stages(self) -> tuple[Technique, ...]:
        """The quick formula, then this technique."""
        return make_formula(QUICK, {}), self
