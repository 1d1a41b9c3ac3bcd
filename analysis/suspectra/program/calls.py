"""Which statements call which functions, as far as Python's names and the tests tell."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import sparse

from suspectra.program import Program
from suspectra.program.control_flow import SourcesAsRun
from suspectra.spectrum import Elements, Spectrum

# a method of one of these may be meant whenever its name is called on something
_COMMON = frozenset(
    name
    for kind in (str, bytes, bytearray, list, tuple, dict, set, int, float, complex, object, type, slice, memoryview)
    for name in dir(kind)
) | frozenset(dir(builtins))
_COMMON |= {"read", "write", "close", "open", "flush", "seek", "readline", "readlines", "match", "search", "group"}


def calls_between(
    spectrum: Spectrum, program: Program | None, progress: Callable[[float], object] = lambda fraction: None
) -> np.ndarray:
    """Pairs of elements x, y where x calls the function whose first statement is y.

    A call counts where exactly one measured function has the name that is called, no built-in type has a method of
    that name, and some test executed both ends; anything else is left out rather than guessed. A class's name stands
    for its ``__init__``.

    Parameters
    ----------
    spectrum : Spectrum
    program : Program, optional
        Without its sources, or where they changed since the tests ran, there are no calls.
    progress : callable
        Called with the finished fraction before each file; it may raise to cancel.

    Returns
    -------
    ndarray of int64, shape (k, 2)
        In ascending order.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0]], failed=[True])
    >>> calls_between(spectrum, None).shape
    (0, 2)
    """
    nothing = np.zeros((0, 2), np.int64)
    elements = spectrum.elements
    if program is None or program.source_of is None or not len(elements):
        return nothing
    source_of = SourcesAsRun(program.files, program.source_of)
    begins = _first_statements(elements)
    named = _by_unique_name(elements, begins)
    pairs = set()
    for done, path in enumerate(elements.files):
        progress(done / len(elements.files))
        data = source_of(path) if path.endswith((".py", ".pyw")) else None
        if data is None:
            continue
        for line, name in _calls(data):
            target, caller = named.get(name), elements.at(path, line)
            if target is not None and caller is not None and caller != target:
                pairs.add((caller, target))
    found = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return found[_met(spectrum, found)]


def _first_statements(elements: Elements) -> dict[int, int]:
    """The first statement of each function, by index of the function."""
    inside = np.flatnonzero(elements.function >= 0)
    functions, first = np.unique(elements.function[inside], return_index=True)
    return dict(zip(functions.tolist(), inside[first].tolist(), strict=True))


def _by_unique_name(elements: Elements, begins: dict[int, int]) -> dict[str, int]:
    known: dict[str, set[int]] = {}
    for index, start in begins.items():
        parts = elements.functions[index].name.split(".")
        name = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
        known.setdefault(name, set()).add(start)
    return {name: min(at) for name, at in known.items() if len(at) == 1 and name not in _COMMON}


@lru_cache(maxsize=4096)
def _calls(data: bytes) -> tuple[tuple[int, str], ...]:
    """Line and called name of every call; none where the source can't be parsed."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [(node.lineno, node.func) for node in calls]
    return tuple(
        (line, name.id if isinstance(name, ast.Name) else name.attr)
        for line, name in named
        if isinstance(name, (ast.Name, ast.Attribute))
    )


def _met(spectrum: Spectrum, pairs: np.ndarray) -> np.ndarray:
    """Whether some test executed both elements of each pair."""
    sizes = [len(row) for row in spectrum.rows]
    if not len(pairs) or not sum(sizes):
        return np.zeros(len(pairs), bool)
    start = np.concatenate([[0], np.cumsum(sizes)])
    column = np.concatenate(spectrum.rows)
    shape = (len(sizes), len(spectrum.elements))
    executed = sparse.csr_array((np.ones(len(column), bool), column, start), shape=shape).tocsc()
    return np.asarray(executed[:, pairs[:, 0]].multiply(executed[:, pairs[:, 1]]).sum(axis=0)).reshape(-1) > 0
