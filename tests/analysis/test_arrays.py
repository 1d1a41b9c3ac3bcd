"""What NumPy leaves open."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from suspectra.base.arrays import distinct


@given(st.lists(st.integers(-(2**62), 2**62)))
def test_distinct_numbers_are_those_of_numpy(numbers: list[int]) -> None:
    values = np.array(numbers, np.int64)
    found = distinct(values)
    assert found.dtype == values.dtype
    assert found.tolist() == np.unique(values).tolist() == sorted(set(numbers))
