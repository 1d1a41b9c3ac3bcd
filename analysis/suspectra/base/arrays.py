"""Type aliases for arrays, and what NumPy and SciPy leave open. The docstrings give the shapes, and the widths of
numbers that matter.

There are few of them on purpose: a row of a spectrum, integers of any width, floats, booleans. Shapes are not part of
the types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.integer[Any]]  # of any width
Row: TypeAlias = NDArray[np.int32]  # sorted, unique column indices
FloatMatrix: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
IntMatrix: TypeAlias = "sparse.csr_array[np.int64, tuple[int, int]]"
ScalarT = TypeVar("ScalarT", np.int64, np.float64)


def dense_product(matrix: sparse.sparray[ScalarT, tuple[int, int]], dense: NDArray[Any]) -> NDArray[ScalarT]:
    """Multiply a sparse matrix by a dense array.

    The result is always dense, but scipy's type hints do not say so.

    Of shape (n,).
    """
    product = matrix @ dense
    assert isinstance(product, np.ndarray)
    return product


def distinct(values: Ints) -> Ints:
    """Return the distinct numbers of an array, ascending.

    ``np.unique`` does the same, but from version 2.3 on it looks every number up in a table: with a million distinct
    numbers that takes ten times as long as sorting them.

    Of shape (k,).
    """
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def ranges(starts: Ints, ends: Ints) -> Ints:
    """All the numbers of several ranges, one after another.

    Of shape (sum of sizes,). In the order of the ranges.
    """
    sizes = ends - starts
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return offsets + np.arange(int(sizes.sum()))
