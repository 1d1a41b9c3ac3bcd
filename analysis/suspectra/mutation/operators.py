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
    "relational",
    "negation",
    "logical",
    "none",
    "arithmetic",
    "constant",
    "variable",
    "key",
    "argument",
    "operand",
    "call",
    "jump",
    "handler",
    "accumulation",
    "left out call",
    "left out argument",
    "off by one",
    "return none",
    "deletion",
)
_ALL = {**COMPARISONS, **CONDITIONS, **ARITHMETIC, **NAMES, **CALLS, **STATEMENTS}

OPERATORS: dict[str, Operator] = {name: _ALL[name] for name in _ORDER}
"""All operators by name, in the order in which their mutants are tried at a node."""
