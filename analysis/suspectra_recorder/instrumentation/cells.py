"""Giving instrumented code access to its cells, by a constant of the code.

Neither the compiler nor the cache of code supports such constants. So code is compiled with a string in their place.
"""

from __future__ import annotations

from types import CodeType

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

CELLS = "target"
"""The attribute of the constant with the cells."""


def with_cells(code: CodeType, name: str, holder: object) -> CodeType:
    """Replace the placeholder string by an object, in code and all nested code.

    Parameters
    ----------
    code : CodeType
        Instrumented code of a module.
    name : str
        The placeholder string in the constants.
    holder : object
        The object with the cells; hashable like code, and pickled to something that any process can load.

    Returns
    -------
    CodeType
        Code that stores into the cells of the object.

    Examples
    --------
    >>> class Cells:
    ...     target = [0, 0]
    >>> code = compile("'cells here'.target[1] = 1", "price.py", "exec")
    >>> exec(with_cells(code, "cells here", Cells))
    >>> Cells.target
    [0, 1]
    """
    constants = tuple(
        with_cells(value, name, holder) if type(value) is CodeType else exchanged(value, name, holder)
        for value in code.co_consts
    )
    return code.replace(co_consts=constants)


def exchanged(constant: object, name: str, holder: object) -> object:
    """Replace a constant if it is the placeholder string.

    Parameters
    ----------
    constant : object
        A constant of code.
    name : str
        The placeholder string.
    holder : object
        The object.

    Returns
    -------
    object
        The object, or the constant.

    Examples
    --------
    >>> exchanged("cells here", "cells here", holder=7), exchanged(20, "cells here", holder=7)
    (7, 20)
    """
    return holder if type(constant) is str and constant == name else constant
