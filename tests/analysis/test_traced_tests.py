"""Running tests of compiled programs whose paths are recorded."""

import time

import pytest

from suspectra.base.cancellation import Token
from suspectra.base.deadline import TimeIsUp
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.recording.case import CCase
from suspectra.evidence.evidence import Verdict


def test_a_test_ends_with_the_time_that_is_left_and_with_its_own(tmp_path):
    slow = [CCase(name, ("sleep", "600"), str(tmp_path), timeout=seconds) for name, seconds in (("t1", 600), ("t2", 1))]
    tests = TracedTests(slow, TracedProgram(tmp_path), Token())
    with pytest.raises(TimeIsUp):
        tests.run("t1", time.monotonic() + 1)
    with pytest.raises(TimeIsUp):
        tests.run("t1", time.monotonic())
    assert tests.run("t2", time.monotonic() + 600).verdict is Verdict.FAILED
