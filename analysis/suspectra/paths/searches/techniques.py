"""The techniques that search for paths. Only descriptions are here: every command line loads this."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from suspectra.base.technique_info import Need, TechniqueInfo

if TYPE_CHECKING:
    from suspectra.paths.searches.search import PathSearcher

FAMILY = "paths"
DEFAULT = "nearest-path"
"""The technique unless another one is chosen."""

PATH_KIND = "path"
"""The kind of runs whose path is recorded."""

STATEMENT_KIND = "statements"
"""The kind of runs whose executed statements are recorded, and whose states can be changed."""

INPUT_KIND = "input"
"""The kind of runs with another input, which may be combined with those that note statements."""

ASKING = frozenset({"apg", "apg-inputs", "cause-transitions-inputs"})
"""The techniques for which somebody says what is right for another input, unless a test knows it."""

_PAPER = "Wang & Roychoudhury 2005"


@dataclass(frozen=True)
class PathTechnique:
    """A search for paths that is not loaded yet."""

    info: TechniqueInfo  # its description; the formula says which run it looks for
    place: str  # module and class, as `module:Class`
    kinds: tuple[str, ...] = (PATH_KIND,)  # the kinds of runs that it asks for

    def load(self) -> type[PathSearcher]:
        """Import the class."""
        searcher: type[PathSearcher] = resolve_name(self.place)
        return searcher


_ALL = (
    PathTechnique(
        TechniqueInfo(
            "nearest-path",
            "Nearest path",
            FAMILY,
            _PAPER,
            "the passing test whose decisions and calls differ least from those of the failing one",
            frozenset({Need.LINES, Need.PATHS}),
            "Where passing tests do nearly what the failing one does. Nothing is altered.",
        ),
        "suspectra.paths.searches.nearest_path:NearestPath",
    ),
    PathTechnique(
        TechniqueInfo(
            "apg",
            "Automated path generation",
            FAMILY,
            _PAPER,
            "the nearest path with which the test passes: with another input, or else with forced decisions",
            frozenset({Need.LINES, Need.PATHS, Need.EXPERIMENTS}),
            "Most faults, without any passing test. The failing one runs with wrong decisions and other inputs.",
        ),
        "suspectra.paths.inputs.generated_paths:GeneratedPaths",
        (PATH_KIND, INPUT_KIND),
    ),
    PathTechnique(
        TechniqueInfo(
            "apg-decisions",
            "Automated path generation by forced decisions",
            FAMILY,
            _PAPER,
            "the nearest run that passes if decisions come out the other way: alone, then several together",
            frozenset({Need.LINES, Need.PATHS, Need.EXPERIMENTS}),
            "Where a condition is at fault. It needs no passing test; the failing one runs with wrong decisions.",
        ),
        "suspectra.paths.searches.forced_paths:ForcedPaths",
    ),
    PathTechnique(
        TechniqueInfo(
            "cause-transitions",
            "Cause transitions",
            FAMILY,
            "Cleve & Zeller 2005",
            "the passing test with most comparable statements; dd(differences of the states) before each of them",
            frozenset({Need.LINES, Need.PATHS}),
            "Which values make the difference, and since when. States of the passing run are altered.",
        ),
        "suspectra.paths.searches.cause_transitions:CauseTransitions",
        (STATEMENT_KIND,),
    ),
    PathTechnique(
        TechniqueInfo(
            "apg-inputs",
            "Automated path generation by other inputs",
            FAMILY,
            _PAPER,
            "the nearest path with which the test passes that another input takes; a solver finds the input",
            frozenset({Need.LINES, Need.PATHS}),
            "Where the test gets numbers and texts, and it is known what is right for others. Needs suspectra[smt].",
        ),
        "suspectra.paths.inputs.search:InputSearch",
        (INPUT_KIND,),
    ),
    PathTechnique(
        TechniqueInfo(
            "cause-transitions-inputs",
            "Cause transitions from another input",
            FAMILY,
            "Cleve & Zeller 2005",
            "the input that apg-inputs finds; dd(differences of the states) before each comparable statement",
            frozenset({Need.LINES, Need.PATHS}),
            "Which values make the difference where no test passes that does the same. Needs suspectra[smt].",
        ),
        "suspectra.paths.inputs.transitions:InputTransitions",
        (STATEMENT_KIND, INPUT_KIND),
    ),
)
TECHNIQUES = {technique.info.name: technique for technique in _ALL}
"""All of them, by name."""
