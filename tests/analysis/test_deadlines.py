"""How long a search may take on a machine that others use, too."""

import pytest

from suspectra.base.deadline import slower, while_others_work


@pytest.mark.parametrize(("running", "times"), [(0, 1), (2, 1), (10, 5), (1000, 6)])
def test_work_takes_as_much_longer_as_there_are_programs_for_each_processor(running, times):
    assert slower(running, 2) == times


def test_a_search_never_has_less_time_than_on_an_idle_machine():
    assert 30 <= while_others_work(30) <= 180
