"""The ways to choose which states are altered next. Only descriptions are here: the rest needs scipy."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from suspectra.base.technique_info import Need, TechniqueInfo

if TYPE_CHECKING:
    from suspectra.dependences.narrowing import NarrowingSearch

FAMILY = "causes of one failure"
DEFAULT = "mdfs"
"""The technique unless another one is chosen."""

_PAPER = "Li, Li, Huo & Feng 2016"
_NEEDS = frozenset({Need.LINES, Need.DEPENDENCES, Need.EXPERIMENTS})
_DATA_FLOW = (
    "Not for code that only computes: almost any number before the fault can be set so that the test passes,"
    " so the search goes past the fault"
)


@dataclass(frozen=True)
class CauseTechnique:
    """A search for causes that is not loaded yet."""

    info: TechniqueInfo  # its description; the formula says what is altered next
    place: str  # module and class, as `module:Class`
    weighted: bool = False  # whether suspicious states are preferred

    def load(self) -> type[NarrowingSearch]:
        """Import the class."""
        search: type[NarrowingSearch] = resolve_name(self.place)
        return search


def _info(name: str, title: str, paper: str, rule: str, advice: str) -> TechniqueInfo:
    return TechniqueInfo(name, title, FAMILY, paper, rule, _NEEDS, advice)


_FRONTIERS = "suspectra.dependences.frontiers:FrontierSearch"

_ALL = (
    CauseTechnique(
        _info(
            "mdfs",
            "Minimum debugging frontier sets",
            _PAPER,
            "alters the fewest states between what is right and what is wrong: a minimum cut of the dependences",
            f"Where a decision is at fault, or takes the fault further. {_DATA_FLOW}; take `weighted-mdfs` there.",
        ),
        _FRONTIERS,
    ),
    CauseTechnique(
        _info(
            "weighted-mdfs",
            "Weighted frontier sets",
            f"Suspectra, after {_PAPER}",
            "the same with 1 + 8 (1 - s / max s) for each state, s its suspicion;"
            " no constants that passing tests use, too",
            f"Where other tests pass that execute much of the same. {_DATA_FLOW}, though less far.",
        ),
        _FRONTIERS,
        weighted=True,
    ),
    CauseTechnique(
        _info(
            "single-step",
            "Single step",
            _PAPER,
            "alters what is one dependence further from the failure",
            "For faults near the failure. If the fault is far away it alters more states than the others.",
        ),
        "suspectra.dependences.strategies:SingleStepSearch",
    ),
    CauseTechnique(
        _info(
            "bisection",
            "Bisection",
            _PAPER,
            "alters what is halfway between what is right and what is wrong",
            f"For comparison: it takes few steps, but may alter many states in each. {_DATA_FLOW}.",
        ),
        "suspectra.dependences.strategies:BisectionSearch",
    ),
)
TECHNIQUES = {technique.info.name: technique for technique in _ALL}
"""All of them, by name."""
