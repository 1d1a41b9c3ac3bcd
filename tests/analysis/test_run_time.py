"""How long runs may take, also where they wait for a processor."""

import pytest

from suspectra_recorder.experiments import run_time
from suspectra_recorder.experiments.run_time import RunTime


@pytest.mark.parametrize(
    ("share", "least", "most"), [(None, 1.0, 1.0), (0.0, 1.0, 1.0), (0.75, 2.0, 2.5), (1.0, 5.0, 5.0)]
)
def test_what_a_run_waits_for_the_processor_does_not_count(monkeypatch, share, least, most):
    now = 0.0
    monkeypatch.setattr(run_time, "waited_s", lambda process: None if share is None else share * now)
    one = RunTime(1, 1.0, lambda: now)
    now = one.look_at
    while not one.is_up():
        assert one.look_at > now
        now = one.look_at
    assert least <= one.took <= most
