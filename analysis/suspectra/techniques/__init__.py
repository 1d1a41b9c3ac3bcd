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
from collections.abc import Mapping
from inspect import signature

from suspectra.base.errors import Problem, UsageError
from suspectra.base.technique_info import TechniqueInfo
from suspectra.techniques.catalogue import CATALOGUE
from suspectra.techniques.formulas import FORMULAS, make_formula
from suspectra.techniques.technique import Technique
from suspectra.techniques.tie_breaking import TieBroken


def technique_infos() -> tuple[TechniqueInfo, ...]:
    """Return the descriptions of all techniques, in the order in which users see them.

    Formulas first.
    """
    return tuple(spec.info for spec in FORMULAS.values()) + tuple(entry.info for entry in CATALOGUE.values())


def technique_names() -> tuple[str, ...]:
    """Return the names of all techniques.

    Returns
    -------
    tuple of str
        As :func:`make_technique` takes them, in the order in which users see them.

    Examples
    --------
    >>> "ochiai" in technique_names()
    True
    """
    return tuple(info.name for info in technique_infos())


def make_technique(name: str, *, break_ties: str | None = None, **hyper_parameters: object) -> Technique:
    """Make a technique by name.

    Parameters
    ----------
    name : str
        Lower case with hyphens. ``NAME+NAME`` breaks the ties of the first technique by the second.
    break_ties : str, optional
        The name of a second technique, which orders elements to which the first gives equal scores.
    **hyper_parameters
        ``clone_failed`` for any formula, and the technique's own hyper-parameters.

    Returns
    -------
    Technique
        It has no state, so one object may be shared.

    Raises
    ------
    UsageError
        For a name or a hyper-parameter that does not exist, and for clones with anything but a formula.

    Examples
    --------
    >>> make_technique("ochiai", break_ties="cp").name
    'ochiai+cp'
    """
    if break_ties is None and "+" in name:
        name, _, break_ties = name.partition("+")
    if break_ties is not None:
        return TieBroken(make_technique(name, break_ties=None, **hyper_parameters), make_technique(break_ties))
    return _make(name, hyper_parameters)


def _make(name: str, hyper_parameters: Mapping[str, object]) -> Technique:
    parameters = dict(hyper_parameters)
    clone_failed = bool(parameters.pop("clone_failed", False))
    if name in FORMULAS:
        return make_formula(name, parameters, clone_failed=clone_failed)
    if name in CATALOGUE:
        return _make_other(name, parameters, clone_failed)
    suggestions = difflib.get_close_matches(name, technique_names(), 3)
    cure = f"did you mean {' or '.join(suggestions)}?" if suggestions else "`suspectra techniques` lists what there is"
    raise UsageError(Problem("", "", f"there is no technique {name!r}", cure))


def _make_other(name: str, hyper_parameters: Mapping[str, object], clone_failed: bool) -> Technique:
    make = CATALOGUE[name].load()
    if clone_failed:
        cure = "choose one, such as `--technique ochiai`, or leave out `--clone-failed`"
        raise UsageError(Problem("", name, "only formulas can clone the failing tests", cure))
    known = list(signature(make).parameters)
    for given in hyper_parameters:
        if given not in known:
            cure = f"its parameters: {', '.join(known) or 'none'}"
            raise UsageError(Problem("", name, f"it has no parameter {given!r}", cure))
    return make(**hyper_parameters)
