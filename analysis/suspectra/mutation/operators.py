"""Mutation operators: which small changes of a node of the syntax tree could undo a fault.

Each takes a `Site` and gives changes: what is replaced, and by what. None gives a change that keeps the meaning, such
as swapping equal arguments, or one that can only fail, such as subtracting from a string.
"""

from __future__ import annotations

from suspectra.mutation.arithmetic import ARITHMETIC
from suspectra.mutation.calls import CALLS
from suspectra.mutation.comparisons import COMPARISONS
from suspectra.mutation.conditions import CONDITIONS
from suspectra.mutation.names import NAMES
from suspectra.mutation.site import Operator
from suspectra.mutation.statements import STATEMENTS

_ORDER = (
    "boundary",
    "logical",
    "negation",
    "constant",
    "arithmetic",
    "operand",
    "call",
    "handler",
    "jump",
    "none",
    "argument",
    "relational",
    "deletion",
    "variable",
    "key",
    "accumulation",
    "off by one",
    "left out call",
    "left out argument",
    "return none",
)
"""Those first that undid a fault of a program with known faults most often in relation to how often they were tried."""

_ALL = {**COMPARISONS, **CONDITIONS, **ARITHMETIC, **NAMES, **CALLS, **STATEMENTS}

OPERATORS: dict[str, Operator] = {name: _ALL[name] for name in _ORDER}
"""All operators by name, in the order in which their mutants are tried at a node."""
