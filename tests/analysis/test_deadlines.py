"""How long a search may take on a machine that others use, too."""

import pytest

from suspectra.base.deadline import slower, while_others_work


@pytest.mark.parametrize(("seconds", "times"), [(0.02, 1), (0.03, 1), (0.06, 2), (3, 6)])
def test_work_takes_as_much_longer_as_others_use_of_the_processor(seconds, times):
    assert slower(seconds, 0.03) == times


def test_a_search_never_has_less_time_than_on_an_idle_machine():
    assert 30 <= while_others_work(30) <= 180
