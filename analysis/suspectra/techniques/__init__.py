"""Localization techniques, one family per module, found by name.

Examples
--------
>>> make_technique("dstar", exponent=3).name
'dstar'
>>> [info.name for info in technique_infos() if info.group == "ER5"]
['binary', 'russell-rao', 'wong1']
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from suspectra.errors import Problem, UsageError
from suspectra.techniques.formulas import FORMULAS, make_formula
from suspectra.techniques.technique import Technique, TechniqueInfo

# name → (description, how to make one); families other than the formulas add theirs here
_OTHERS: dict[str, tuple[TechniqueInfo, Callable[..., Technique]]] = {}


def technique_infos() -> tuple[TechniqueInfo, ...]:
    """The descriptions of all techniques, in the order they are listed to users."""
    return tuple(spec.info for spec in FORMULAS.values()) + tuple(info for info, _ in _OTHERS.values())


def technique_names() -> tuple[str, ...]:
    """The names of all techniques."""
    return tuple(info.name for info in technique_infos())


def make_technique(name: str, **hyper_parameters: object) -> Technique:
    """A technique by name.

    Parameters
    ----------
    name : str
        Lower case with hyphens.
    **hyper_parameters
        ``clone_failed`` for any formula, and what the technique itself takes.

    Raises
    ------
    UsageError
        For a name or a hyper-parameter that does not exist.
    """
    if name in FORMULAS:
        return make_formula(name, **hyper_parameters)  # type: ignore[arg-type]
    if name in _OTHERS:
        return _OTHERS[name][1](**hyper_parameters)
    close = difflib.get_close_matches(name, technique_names(), 3)
    cure = f"did you mean {' or '.join(close)}?" if close else "`suspectra techniques` lists what there is"
    raise UsageError(Problem("", "", f"there is no technique {name!r}", cure))
