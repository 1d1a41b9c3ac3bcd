"""The shown failure group is ranked again before all groups are found anew."""

from __future__ import annotations

import re
import shutil
import threading

import numpy as np
import pytest

from suspectra.evidence.changes import failing_since
from suspectra.evidence.failures import exception_names
from suspectra.failure_groups.ranking import rank_groups
from suspectra.failure_groups.since import Since
from suspectra_server.session.jobs import Job
from suspectra_server.session.ranking import grouping
from suspectra_server.session.ranking.ranker import Ranker, RankingInput
from suspectra_server.settings import Settings
from suspectra_server.state.documents import Disk
from suspectra_server.state.group import Group

TOP = 20
PUBLISH = "textDocument/publishDiagnostics"
TEST = """\
import os
from decimal import Decimal

import pytest
from ledger.discounts import BulkDiscount
from ledger.money import Money


def test_more():
    if "SKIP" in os.environ:
        pytest.skip()
    assert BulkDiscount(10, Decimal("0.1")).off(Money.of("10"), 10) == Money.of(os.environ.get("OFF", "0"))
"""
OTHER = """\
import os

from ledger.years import is_leap


def test_year():
    assert is_leap(2000) or "OFF" in os.environ
    assert not is_leap(2000) or "OFF" not in os.environ
"""


@pytest.fixture
def ledger(faulty_ledger, tmp_path):
    root = tmp_path / "ledger"
    shutil.copytree(faulty_ledger, root)
    return root


class Workspace:
    """A workspace that is ranked again and again, with one of its failure groups shown."""

    def __init__(self, root, technique="ochiai"):
        self.ranker = Ranker(root, Disk(root))
        self.input = RankingInput(
            Settings(technique=technique, top=TOP), frozenset([str(root / ".suspectra/recording")]), ()
        )
        self.shown, self.groups = None, None
        self.rank()

    def rank(self):
        """The rankings that are published before that over all, and the ranking of the group after it."""
        published = []
        job = Job("rank", lambda _, ranked: published.append(ranked.ranking), lambda job: None, lambda result: None)
        whole = self.ranker.rank(self.input, job, self.shown).ranking
        made = {1: published[0].ranked} if published else {}
        self.groups = rank_groups(
            whole.ranked,
            whole.technique,
            exceptions=exception_names(whole.evidence),
            previous=self.groups,
            since=failing_since(whole.evidence),
            made=made,
        )
        groups = self.groups.groups
        one = next(one for one in groups if one.group.number == 1)
        self.shown = whole.for_group(
            Group.from_ranked(one), tuple(map(Group.from_ranked, groups)), one.report, one.reason, TOP
        )
        return published, self.shown


def add_test(root, record):
    """Record one more test of the first group's code, which passes unless it is told what is right."""
    path = root / "tests" / "test_more.py"
    path.write_text(TEST, "utf-8")
    record(root, str(path))


@pytest.mark.slow
def test_the_group_comes_first_and_its_ranking_is_the_final_one(ledger, record):
    workspace = Workspace(ledger)
    before = workspace.shown
    assert workspace.rank()[0][0].suspects == before.suspects  # nothing has changed
    add_test(ledger, record)
    (first,), last = workspace.rank()
    assert first.preliminary
    assert (first.group, first.groups) == (before.group, before.groups)
    assert first.suspects == last.suspects != before.suspects
    assert (first.passed, first.failed) == (last.passed, last.failed) == (before.passed + 1, before.failed)
    assert np.array_equal(first.report.level, last.report.level)
    assert last.report is first.report  # it is not made twice


@pytest.mark.slow
def test_a_test_that_fails_for_the_same_reason_is_counted_at_once(ledger, record, monkeypatch):
    workspace = Workspace(ledger)
    monkeypatch.setenv("SKIP", "1")
    add_test(ledger, record)
    workspace.rank()
    monkeypatch.delenv("SKIP")
    monkeypatch.setenv("OFF", "10")
    add_test(ledger, record)
    (first,), last = workspace.rank()
    assert first.failed == last.failed == 9
    assert "tests/test_more.py::test_more" in first.group.tests
    assert first.group == last.group
    assert first.suspects == last.suspects
    assert last.report is first.report


@pytest.mark.slow
def test_a_test_that_passes_again_leaves_the_group_at_once(ledger, record, monkeypatch):
    workspace = Workspace(ledger)
    monkeypatch.setenv("OFF", "10")
    add_test(ledger, record)
    _, before = workspace.rank()
    monkeypatch.delenv("OFF")
    add_test(ledger, record)
    (first,), last = workspace.rank()
    assert {*before.group.tests} - {*first.group.tests} == {"tests/test_more.py::test_more"}
    assert first.group == last.group
    assert first.suspects == last.suspects != before.suspects


@pytest.mark.slow
def test_another_group_that_a_run_broke_is_waited_for(ledger, record, monkeypatch):
    workspace = Workspace(ledger)
    (ledger / "src/ledger/years.py").write_text("def is_leap(year):\n    return year % 4 == 0\n", "utf-8")
    (ledger / "tests" / "test_year.py").write_text(OTHER, "utf-8")
    record(ledger, "tests/test_year.py")
    workspace.rank()
    monkeypatch.setenv("OFF", "10")
    record(ledger, "tests/test_year.py")
    published, last = workspace.rank()
    assert published == []
    assert last.failed == 9
    new, *others = workspace.groups.groups
    assert new.group.tests == ("tests/test_year.py::test_year",)
    assert new.group.since is Since.CHANGE
    assert {one.group.since for one in others} == {Since.BEFORE}


@pytest.mark.slow
def test_nothing_comes_first_if_the_group_may_be_another_one(ledger, record):
    workspace = Workspace(ledger)
    source = ledger / "src/ledger/discounts.py"
    source.write_text(source.read_text().replace("quantity <= self.at_least", "quantity < self.at_least"))
    record(ledger)
    published = []
    job = Job("rank", lambda _, ranked: published.append(ranked), lambda job: None, lambda result: None)
    workspace.ranker.rank(workspace.input, job, workspace.shown)
    assert published == []


@pytest.mark.parametrize("technique", ["cp", "evidence"])
def test_only_what_is_quick_comes_first(ledger, record, technique):
    workspace = Workspace(ledger, technique)
    add_test(ledger, record)
    assert workspace.rank()[0] == []


@pytest.mark.slow
def test_groups_of_an_older_state_are_not_shown_after_it(client, ledger, record, monkeypatch):
    client.initialize(ledger, options={"technique": "ochiai"})
    client.wait(lambda: client.statuses and " in 3 groups" in client.statuses[-1]["message"])
    go_on = threading.Event()

    def slowly(*given, **options):
        assert go_on.wait(60)
        return rank_groups(*given, **options)

    monkeypatch.setattr(grouping, "rank_groups", slowly)
    received = len(client.received)

    def published():
        messages = [one["params"] for one in client.received[received:] if one.get("method") == PUBLISH]
        said = [d["message"] for one in messages for d in one["diagnostics"] if d["code"] == "ochiai"]
        return [found[1] for message in said if (found := re.search(r"of (\d+) passing", message))]

    add_test(ledger, record)
    client.wait(lambda: "77" in published())
    shutil.copy(ledger / "tests/test_more.py", ledger / "tests/test_yet_more.py")
    record(ledger, "tests/test_yet_more.py")
    client.wait(lambda: "78" in published())
    go_on.set()
    client.wait(lambda: client.statuses[-1]["message"] == "8 failing tests in 3 groups, 78 passing tests")
    counts = published()
    assert {*counts[counts.index("78") :]} == {"78"}


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_the_editor_sees_the_group_before_the_groups_are_found(client, ledger, record, monkeypatch, fails):
    client.initialize(ledger, options={"technique": "ochiai"})
    client.wait(lambda: client.statuses and " in 3 groups" in client.statuses[-1]["message"])
    go_on = threading.Event()

    def slowly(*given, **options):
        assert go_on.wait(60)
        if fails:
            raise LookupError("the groups can't be found")
        return rank_groups(*given, **options)

    monkeypatch.setattr(grouping, "rank_groups", slowly)
    received = len(client.received)

    def published():
        messages = [one["params"] for one in client.received[received:] if one.get("method") == PUBLISH]
        return [d["message"] for one in messages for d in one["diagnostics"] if d["code"] == "ochiai"]

    add_test(ledger, record)
    client.wait(published)
    client.wait_for_state("ranking")
    # 3, and the one that executes nothing, which counts for the largest group
    assert all("of 4 failing" in message for message in published()), published()
    assert any("of 77 passing" in message for message in published())
    assert client.suspects()["groups"]
    go_on.set()
    client.wait_for_state("ready", after=len(client.statuses))
    if fails:
        assert client.statuses[-1]["message"] == "8 failing tests, 77 passing tests"
        assert re.search(r"of 8 failing|[Aa]ll 8 failing", published()[-1]), published()[-1]
    else:
        assert client.statuses[-1]["message"] == "8 failing tests in 3 groups, 77 passing tests"
        assert all("of 4 failing" in message for message in published()), published()
