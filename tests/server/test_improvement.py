"""Better rankings replace quick ones, and no ranking of newer evidence waits for them."""

from __future__ import annotations

import threading

import pytest

from suspectra.base.cancellation import Cancelled, check
from suspectra.base.errors import NothingToRank, Problem
from suspectra.techniques.control_flow.cp import CP
from suspectra_server.session.navigation import tie_steps

TIMEOUT_S = 60
FAILING = "def test_added():\n    assert False\n"


class Gate:
    """Lets a technique begin, and end when it is opened; cancelled work ends as it does everywhere."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.cancelled = threading.Semaphore(0)

    def wait(self):
        self.begun.release()
        try:
            while not self.open.wait(0.01):
                check()
        except Cancelled:
            self.cancelled.release()
            raise


@pytest.fixture
def gate(monkeypatch):
    """CP takes as long as the test wants."""
    gate, localize = Gate(), CP.localize

    def slow(self, *arguments):
        gate.wait()
        return localize(self, *arguments)

    monkeypatch.setattr(CP, "localize", slow)
    yield gate
    gate.open.set()


def status(client, technique, state, message="", failed=None):
    """Wait for what is said of a ranking by a technique."""

    def said():
        last = client.statuses[-1] if client.statuses else {}
        same = (last.get("technique"), last.get("state")) == (technique, state)
        return same and message in last["message"] and failed in (None, last["failed"])

    client.wait(said)


@pytest.mark.slow
def test_a_quick_ranking_comes_first_and_newer_evidence_does_not_wait(client, shop, record, gate):
    client.initialize(shop, options={"technique": "ochiai+cp"})
    status(client, "ochiai", "ranking", "3 failing tests, 7 passing tests; by ochiai until ochiai+cp is computed")
    assert gate.begun.acquire(timeout=TIMEOUT_S)
    quick = client.suspects()["suspects"]
    assert len({(suspect["rankBest"], suspect["rankWorst"]) for suspect in quick}) < len(quick)  # ties

    (shop / "tests/test_added.py").write_text(FAILING)
    record(shop, "tests/test_added.py")
    status(client, "ochiai", "ranking", "4 failing tests", failed=4)  # while CP is not done
    assert gate.cancelled.acquire(timeout=TIMEOUT_S)  # with the evidence before
    assert gate.begun.acquire(timeout=TIMEOUT_S)

    gate.open.set()
    status(client, "ochiai+cp", "ready", failed=4)
    assert client.statuses[-1]["message"] == "4 failing tests, 7 passing tests"


@pytest.mark.slow
def test_a_run_without_failures_ends_the_better_ranking_and_is_shown_as_such(client, shop, record, gate):
    client.initialize(shop, options={"technique": "cp"})
    assert gate.begun.acquire(timeout=TIMEOUT_S)
    for path in (shop / "tests").glob("test_*.py"):
        path.write_text("def test_nothing():\n    pass\n")
    record(shop)
    status(client, "cp", "noFailingTests")


def test_what_is_shown_stays_when_the_better_ranking_is_not_wanted_any_more(client, shop, gate):
    client.initialize(shop, options={"technique": "cp"})
    status(client, "ochiai", "ranking", "by ochiai until cp is computed")
    assert gate.begun.acquire(timeout=TIMEOUT_S)
    shown = client.suspects()["suspects"]
    client.command("selectTechnique", "dstar")
    assert gate.cancelled.acquire(timeout=TIMEOUT_S)
    status(client, "dstar", "ready")
    assert shown
    client.command("selectTechnique", "cp")
    assert gate.begun.acquire(timeout=TIMEOUT_S)
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        {"event": {"added": [], "removed": [{"uri": shop.as_uri(), "name": "shop"}]}},
    )
    assert gate.cancelled.acquire(timeout=TIMEOUT_S)


def test_the_end_of_the_server_ends_long_work(client, shop, gate):
    client.initialize(shop, options={"technique": "cp"})
    assert gate.begun.acquire(timeout=TIMEOUT_S)
    client.request("shutdown")
    assert gate.cancelled.acquire(timeout=TIMEOUT_S)


@pytest.mark.slow
def test_a_newer_ranking_does_not_wait_for_what_would_tell_ties_apart(client, shop, record, monkeypatch):
    gate, advise = Gate(), tie_steps.advise

    def slow(*arguments):
        gate.wait()
        return advise(*arguments)

    monkeypatch.setattr(tie_steps, "advise", slow)
    client.initialize(shop, options={"technique": "ochiai"})
    assert gate.begun.acquire(timeout=TIMEOUT_S)

    (shop / "tests/test_added.py").write_text(FAILING)
    record(shop, "tests/test_added.py")
    assert gate.cancelled.acquire(timeout=TIMEOUT_S)  # of the ranking before
    status(client, "ochiai", "ready", failed=4)
    assert gate.begun.acquire(timeout=TIMEOUT_S)  # of the new one
    gate.open.set()


@pytest.fixture
def refusing(monkeypatch, gate):
    """CP refuses once the gate is open."""

    def refuse(self, *arguments):
        gate.wait()
        raise NothingToRank(Problem("", "", "it would take ten hours", "record fewer tests"))

    monkeypatch.setattr(CP, "localize", refuse)
    return gate


def test_a_technique_that_refuses_leaves_the_quick_ranking(client, shop, refusing):
    client.initialize(shop, options={"technique": "cp"})
    status(client, "ochiai", "ranking", "by ochiai until cp is computed")
    refusing.open.set()
    status(client, "ochiai", "error", "it would take ten hours")
    assert client.suspects()["suspects"]


def test_a_technique_that_refuses_leaves_the_ranking_before(client, shop, refusing):
    client.start(shop, options={"technique": "dstar"})
    client.command("selectTechnique", "cp")
    status(client, "ochiai", "ranking", "by ochiai until cp is computed")
    refusing.open.set()
    status(client, "dstar", "error", "it would take ten hours")
    assert client.suspects()["suspects"]


@pytest.mark.slow
def test_a_technique_that_refuses_does_not_bring_back_an_older_run(client, shop, record, refusing):
    client.start(shop, options={"technique": "dstar"})
    client.command("selectTechnique", "cp")
    (shop / "tests/test_added.py").write_text(FAILING)
    record(shop, "tests/test_added.py")
    status(client, "ochiai", "ranking", "4 failing tests", failed=4)
    refusing.open.set()
    status(client, "ochiai", "error", "it would take ten hours", failed=4)
