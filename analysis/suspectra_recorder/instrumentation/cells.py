"""How instrumented code finds its cells: by a constant of its own.

The compiler takes no such constants, and neither does the cache of code. So code is made with a string in their place.
"""

from __future__ import annotations

from types import CodeType

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

CELLS = "target"
"""The attribute of the constant that holds what probes store into."""


def with_cells(code: CodeType, name: str, holder: object) -> CodeType:
    """The code, and all code in it, with an object for the string that stands for it.

    Parameters
    ----------
    code : CodeType
        Instrumented code of a module.
    name : str
        What stands for the object in the constants.
    holder : object
        Has what probes store into; hashable, as code is, and pickled to something that any process can load.

    Returns
    -------
    CodeType
        Code that stores into what the object has.
    """
    constants = tuple(
        with_cells(value, name, holder) if type(value) is CodeType else exchanged(value, name, holder)
        for value in code.co_consts
    )
    return code.replace(co_consts=constants)


def exchanged(constant: object, name: str, holder: object) -> object:
    """The object for the string that stands for it; any other constant as it is.

    Parameters
    ----------
    constant : object
        A constant of code.
    name : str
        What stands for the object.
    holder : object
        The object.

    Returns
    -------
    object
        The object, or the constant.
    """
    return holder if type(constant) is str and constant == name else constant
