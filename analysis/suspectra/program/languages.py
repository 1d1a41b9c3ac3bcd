"""What the source files of each language are called."""

from __future__ import annotations

_PYTHON = (".py", ".pyi", ".pyw")
_CYTHON = (".pyx", ".pxd", ".pxi")
_C = (".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tcc")


def is_python(path: str) -> bool:
    """Whether a file is Python by its name."""
    return path.endswith(_PYTHON)


def is_python_or_cython(path: str) -> bool:
    """Whether a file has Python's comments, strings and indentation by its name."""
    return path.endswith(_PYTHON + _CYTHON)


def is_c(path: str) -> bool:
    """Whether a file is C or C++ by its name."""
    return path.endswith(_C)
