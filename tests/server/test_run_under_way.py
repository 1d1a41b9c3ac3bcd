"""A run that is under way: it is followed, and nobody is told of what it has not replaced yet."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from suspectra.base.cancellation import Token
from suspectra_recorder.log.frames import FrameKind, frame
from suspectra_recorder.log.locks import lock
from suspectra_server.session.ranking.ranker import Ranker, RankingInput
from suspectra_server.settings import Settings
from suspectra_server.state.documents import Disk


def old_evidence(client):
    """The messages that say how much of the evidence is older than its source."""
    return [one["message"] for one in client.messages if "before it changed" in one["message"]]


HELD_BACK = """
import itertools
import os
import time

import pytest

STARTED = itertools.count()


@pytest.fixture(autouse=True)
def held_back():
    time.sleep({pause})
    if next(STARTED) == {number}:
        while not os.path.exists("go"):
            time.sleep(0.02)
"""


def hold_back(shop, pause=0.0, number=-1):
    """Let each test take its time, so that the editor sees the run under way; one waits for a file."""
    (shop / "tests" / "conftest.py").write_text(HELD_BACK.format(pause=pause, number=number))


def change(shop):
    source = shop / "shop" / "vouchers.py"
    source.write_text(source.read_text().replace("return amount - off", "return amount - abs(off)"))


@pytest.mark.slow
def test_a_run_under_way_is_not_reproached_with_being_half_old(client, shop, record):
    client.configuration = {"showNotifications": "onWarning"}
    client.start(shop)
    change(shop)
    hold_back(shop, number=5)
    done = len(client.statuses)
    with ThreadPoolExecutor() as threads:
        run = threads.submit(record, shop)
        client.wait(lambda: any(status["state"] == "ready" for status in client.statuses[done:]))  # it is followed
        (shop / "go").touch()
        assert run.result().returncode == 1
    client.command("localize")
    client.wait_for_state("ready", after=len(client.statuses))
    assert client.suspects()["problems"] == []
    assert old_evidence(client) == []


@pytest.mark.slow
def test_what_a_partial_run_left_outdated_is_reported_once_at_its_end(client, shop, record):
    client.configuration = {"showNotifications": "onWarning"}
    client.start(shop)
    change(shop)
    hold_back(shop, pause=0.2)
    record(shop, "-k", "percent")
    (reported,) = client.wait(lambda: old_evidence(client))
    assert reported.startswith("shop/vouchers.py: 4 tests were recorded before it changed")
    client.command("localize")
    client.wait_for_state("ready", after=len(client.statuses))
    assert old_evidence(client) == [reported]


def test_what_was_ranked_while_its_run_ended_is_not_taken_for_all_of_it(shop):
    (path,) = (shop / ".suspectra" / "recording").glob("*.log")
    log = path.open("ab")
    assert lock(log.fileno())

    class EndOfRun(RankingInput):
        """Asked for its technique once the evidence was read; then the run writes its last words."""

        def technique(self, evidence=None):
            if evidence is not None and not log.closed:
                log.write(frame(FrameKind.PROBLEM, json.dumps({"cause": "it is late"}).encode()))
                log.close()
            return super().technique(evidence)

    ranker, given = Ranker(shop, Disk(shop)), EndOfRun(Settings(), frozenset(), ())
    assert ranker.rank(given, Token()).growing
    assert not ranker.rank(given, Token()).growing
