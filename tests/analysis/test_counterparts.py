"""What stands in the place of a value in the other side of a failed comparison."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from suspectra.experiments.alterations.counterparts import Counterparts


@pytest.mark.parametrize(
    ("sides", "value", "counterpart"),
    [
        (("4 (nail:3, screw:1)", "8 (nail:7, screw:1)"), 4, [8]),
        (("4 (nail:3, screw:1)", "8 (nail:7, screw:1)"), ["nail:3", "screw:1"], [["nail:7", "screw:1"]]),
        (("4 (nail:3, screw:1)", "8 (nail:7, screw:1)"), {"nail": 3, "screw": 1}, [{"nail": 7, "screw": 1}]),
        (("4 (nail:3, screw:1)", "8 (nail:7, screw:1)"), "screw:1", []),
        (("2, 2", "2, 5"), [2, 2], [[2, 5]]),  # each occurrence is another item
        (([{"a": 1, "b": [2, 3]}], [{"a": 1, "b": [2, 4]}]), [2, 3], [[2, 4]]),
        (([{"a": 1, "b": [2, 3]}], [{"a": 1, "b": [2, 4]}]), 2, []),
        (("1.50 EUR", "2.50 EUR"), 1.5, []),  # nobody says how it was written
        (("14 days", "21 days"), 4, []),  # not a part of another number
        ((7,), 7, []),
    ],
)
def test_a_value_is_found_where_it_stands(sides, value, counterpart):
    assert list(Counterparts(sides).for_value(value)) == counterpart


@pytest.mark.parametrize("value", [Decimal("sNaN"), np.arange(3)])
def test_a_value_that_refuses_to_be_compared_stands_nowhere(value):
    sides = "4 EUR", "8 EUR", value, type(value)(3)
    assert not list(Counterparts(sides).for_value(value))
