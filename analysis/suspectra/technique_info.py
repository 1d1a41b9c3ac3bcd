"""What is said of a technique before anything is ranked by it."""

from __future__ import annotations

from dataclasses import dataclass


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
    paper : str
        Who published it.
    formula : str
        The score as a formula, or one sentence where there is no closed form.
    needs : str
        ``lines``, ``edges`` or ``counts``: the least the evidence must hold.
    advice : str
        When to use it.
    group : str
        Formulas of one group rank a single fault alike (paper 004, Table 1); empty when in none.
    """

    name: str
    title: str
    family: str
    paper: str
    formula: str
    needs: str = "lines"
    advice: str = ""
    group: str = ""
