"""What the source files of each language are called."""

from __future__ import annotations

_PYTHON = (".py", ".pyi", ".pyw")
_CYTHON = (".pyx", ".pxd", ".pxi")
_C = (".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tcc")


def is_python(path: str) -> bool:
    """Whether a file is Python by its name.

    Parameters
    ----------
    path : str
        Of the file.

    Returns
    -------
    bool
        False for Cython, which Python can't parse.

    Examples
    --------
    >>> is_python("cart.py"), is_python("cart.pyx"), is_python("cart.c")
    (True, False, False)
    """
    return path.endswith(_PYTHON)


def is_python_or_cython(path: str) -> bool:
    """Whether a file has Python's comments, strings and indentation by its name.

    Parameters
    ----------
    path : str
        Of the file.

    Returns
    -------
    bool
        True for Python and for Cython.

    Examples
    --------
    >>> is_python_or_cython("cart.py"), is_python_or_cython("cart.pyx"), is_python_or_cython("cart.c")
    (True, True, False)
    """
    return path.endswith(_PYTHON + _CYTHON)


def is_c(path: str) -> bool:
    """Whether a file is C or C++ by its name.

    Parameters
    ----------
    path : str
        Of the file.

    Returns
    -------
    bool
        True for headers, too.

    Examples
    --------
    >>> is_c("cart.cpp"), is_c("cart.h"), is_c("cart.py")
    (True, True, False)
    """
    return path.endswith(_C)
