"""While tests run the server ranks seldom enough to leave them the machine, and always at the end."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from suspectra_server.session import jobs
from suspectra_server.session.ranking.ranking_pace import MAX_SHARE, Pace


class Machine:
    """A clock, and the processor time of a server."""

    def __init__(self) -> None:
        self.now = self.worked = 0.0

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.worked += seconds


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def pace(machine: Machine) -> Pace:
    return Pace(lambda: machine.now, lambda: machine.worked)


def ranked(machine: Machine, pace: Pace, seconds: float) -> None:
    pace.start()
    machine.work(seconds)
    pace.end()


@pytest.mark.parametrize("cost", [0.002, 0.03, 0.4, 5.0])
def test_rankings_take_their_share_of_a_run_at_most(machine, pace, cost):
    ranked(machine, pace, cost)
    machine.now = 100.0
    began, worked = machine.now, machine.worked
    rankings = 0
    while machine.now < began + 60:
        if pace.due(growing=True) <= machine.now:
            ranked(machine, pace, cost)
            rankings += 1
        machine.work(0.0002)  # a change is noticed
        machine.now += 0.01
    assert machine.worked - worked <= MAX_SHARE * (machine.now - began) + 1e-9
    assert rankings >= 0.5 * MAX_SHARE * 60 / cost - 1 - 60 * 0.02 / cost


@pytest.mark.parametrize(("cost", "waits"), [(0.05, False), (0.2, False), (0.5, True)])
def test_the_first_failing_test_of_a_run_is_not_waited_for_long(machine, pace, cost, waits):
    ranked(machine, pace, cost)
    machine.now = 100.0
    assert pace.due(growing=True) > machine.now + 0.9
    pace.hurry()
    assert (pace.due(growing=True) > machine.now) == waits
    ranked(machine, pace, cost)
    assert pace.due(growing=True) > machine.now + 0.9  # once


def test_at_the_end_of_a_run_nothing_waits(machine, pace):
    ranked(machine, pace, 2.0)
    machine.now = 100.0
    pace.due(growing=True)
    ranked(machine, pace, 2.0)
    assert pace.due(growing=True) > machine.now + 5
    assert pace.due(growing=False) == machine.now


def test_changes_without_a_run_come_in_bursts(machine, pace):
    ranked(machine, pace, 0.1)
    assert pace.due(growing=False) == pytest.approx(machine.now + 0.3)
    ranked(machine, pace, 100.0)
    assert pace.due(growing=False) == pytest.approx(machine.now + 2)


def test_the_thread_that_ranks_steps_back_and_no_other():
    if sys.platform != "linux":
        jobs._lower_priority()  # elsewhere threads have no priorities that could be set so: nothing happens
        return
    found = []
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def work() -> None:
        jobs._lower_priority()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [max(own, jobs.NICE)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own
