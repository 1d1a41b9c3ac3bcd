"""The description of a technique: its name, source, formula and the evidence that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Need(str, Enum):
    """A kind of evidence that a technique needs or uses.

    Examples
    --------
    >>> Need("edges") in EDGES, Need("edges") in LINES
    (True, False)
    """

    LINES = "lines"
    """Which lines each test executes."""
    EDGES = "edges"
    """Which control-flow edges each test takes."""
    COUNTS = "counts"
    """How often each test takes each control-flow edge."""
    EXPERIMENTS = "experiments"
    """The verdicts of tests on altered programs: with switched branches, replaced values or mutants."""
    VALUES = "values"
    """What predicates hold for the values of some tests: which of two numbers is less, signs, types, lengths."""
    DEPENDENCES = "dependences"
    """Which other values and decisions of the run each value depends on."""
    PATHS = "paths"
    """The decisions of each test in the order in which they were made."""


LINES, EDGES, COUNTS = frozenset({Need.LINES}), frozenset({Need.EDGES}), frozenset({Need.COUNTS})
EXPERIMENTS = frozenset({Need.LINES, Need.EXPERIMENTS})
VALUES = frozenset({Need.LINES, Need.VALUES})
DEPENDENCES = frozenset({Need.LINES, Need.DEPENDENCES})
PATHS = frozenset({Need.LINES, Need.PATHS})


@dataclass(frozen=True)
class TechniqueInfo:
    """What a user should know before choosing a technique.

    Parameters
    ----------
    name : str
        The name by which it is selected: lower case, with hyphens.
    title : str
        The name in the literature.
    family : str
        The kind of technique, such as ``formula`` or ``control flow``.
    paper : str
        The paper that defines it.
    formula : str
        The score as a formula, or one sentence where there is no closed form.
    needs : frozenset of Need
        The evidence that it can't do without.
    advice : str
        When to use it.
    group : str
        Formulas of one group rank a single fault alike (paper 004, Table 1); empty when in none.
    uses : frozenset of Need
        Further evidence that it uses where it is available.

    Examples
    --------
    >>> info = TechniqueInfo("hits", "Hits", "formula", "nobody", "ef", needs=EDGES)
    >>> info.name, info.wants_edges
    ('hits', True)
    >>> info.needs_flow
    True
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
        """Whether control-flow edges should be read, which takes about as long as reading the lines."""
        return bool((self.needs | self.uses) & (EDGES | COUNTS))

    @property
    def needs_flow(self) -> bool:
        """Whether it needs the control flow of the program, which is computed from the sources."""
        return bool(self.needs & (EDGES | COUNTS))
