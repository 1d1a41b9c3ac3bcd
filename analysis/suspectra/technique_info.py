"""What is said of a technique before anything is ranked by it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Need(str, Enum):
    """A kind of evidence that a technique can't do without.

    Examples
    --------
    >>> Need("edges") in EDGES, Need("edges") in LINES
    (True, False)
    """

    LINES = "lines"
    """Which lines each test executes."""
    EDGES = "edges"
    """Which way each test goes at branches."""
    COUNTS = "counts"
    """How often it goes there."""
    EXPERIMENTS = "experiments"
    """How tests end when the program is altered: switched branches, other values, mutants."""
    DEPENDENCES = "dependences"
    """Which values and decisions of a run each value of it comes from."""
    PATHS = "paths"
    """The decisions of each test in the order in which they were made."""


LINES, EDGES, COUNTS = frozenset({Need.LINES}), frozenset({Need.EDGES}), frozenset({Need.COUNTS})
EXPERIMENTS = frozenset({Need.LINES, Need.EXPERIMENTS})


@dataclass(frozen=True)
class TechniqueInfo:
    """What a user wants to know before choosing a technique.

    Parameters
    ----------
    name : str
        Lower case with hyphens, as it is selected.
    title : str
        As the literature writes it.
    family : str
        What it looks at, such as ``formula`` or ``control flow``.
    paper : str
        Who published it.
    formula : str
        The score as a formula, or one sentence where there is no closed form.
    needs : frozenset of Need
        What the evidence must hold.
    advice : str
        When to use it.
    group : str
        Formulas of one group rank a single fault alike (paper 004, Table 1); empty when in none.
    uses : frozenset of Need
        What it takes besides where the evidence holds it, and does without where not.

    Examples
    --------
    >>> info = TechniqueInfo("hits", "Hits", "formula", "nobody", "ef", needs=EDGES)
    >>> info.name, info.wants_edges
    ('hits', True)
    """

    name: str
    title: str
    family: str
    paper: str
    formula: str
    needs: frozenset[Need] = LINES
    advice: str = ""
    group: str = ""
    uses: frozenset[Need] = frozenset()

    @property
    def wants_edges(self) -> bool:
        """Whether readers should hand over control-flow edges, which cost about as much time as the lines."""
        return bool((self.needs | self.uses) & (EDGES | COUNTS))

    @property
    def needs_flow(self) -> bool:
        """Whether it ranks by control flow, which is read from the sources."""
        return bool(self.needs & (EDGES | COUNTS))
