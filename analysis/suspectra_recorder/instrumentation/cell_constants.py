"""Giving instrumented code access to its cells, by a constant of the code.

Neither the compiler nor the cache of code supports such constants. So code is compiled with a string in their place.

A name in builtins would not do: code runs with any globals and builtins, namespaces must not change, and a pickled copy
of the code runs in processes without Suspectra.
"""

from __future__ import annotations

from types import CodeType

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

CELLS = "target"
"""The attribute of the constant with the cells."""


def with_cells(code: CodeType, name: str, holder: object) -> CodeType:
    """Replace the placeholder string by an object, in code and all nested code."""
    constants = tuple(
        with_cells(value, name, holder) if type(value) is CodeType else exchanged(value, name, holder)
        for value in code.co_consts
    )
    return code.replace(co_consts=constants)


def exchanged(constant: object, name: str, holder: object) -> object:
    """Replace a constant if it is the placeholder string."""
    return holder if type(constant) is str and constant == name else constant
