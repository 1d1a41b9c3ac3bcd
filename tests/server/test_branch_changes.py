"""What changed since the branch began, where the recording has no earlier pass."""

import subprocess

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra.selection.since_revision import ChangesOfBranch
from suspectra_server.session.ranking import ranker

VOUCHERS = "shop/vouchers.py"


@pytest.fixture
def git(shop):
    def run(*arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=shop, check=True, capture_output=True)

    return run


@pytest.fixture
def on_a_branch(shop, git):
    """A shop whose branch brought the fault."""
    path = shop / VOUCHERS
    recorded = path.read_bytes()
    path.write_bytes(recorded.replace(b"off = off - amount", b"off = amount"))
    assert path.read_bytes() != recorded
    git("init", "-q", "-b", "main")
    git("add", "shop")
    git("commit", "-qm", "green")
    git("checkout", "-qb", "work")
    path.write_bytes(recorded)
    return shop


def changed(client):
    return [(suspect["file"], suspect["line"]) for suspect in client.suspects()["suspects"] if suspect["changed"]]


def test_git_is_asked_where_the_workspace_is_trusted(client, on_a_branch):
    client.start(on_a_branch, options={"technique": "evidence"})
    assert changed(client) == [(VOUCHERS, 17)]
    uri = client.open(on_a_branch / VOUCHERS)
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any("changed, according to git" in lens["command"]["title"] for lens in lenses)


def test_git_is_not_asked_where_it_is_not_trusted(client, on_a_branch):
    client.start(on_a_branch, options={"trusted": False})
    assert client.suspects()["suspects"]
    assert not changed(client)


def test_sources_are_compared_again_only_if_they_or_the_start_of_the_branch_changed(on_a_branch, git):
    source, branch = RecordingSource(on_a_branch), ChangesOfBranch(on_a_branch)

    def rows(evidence):
        found = {id(row): row for row in branch.add_to(evidence).changed.values()}
        (row,) = found.values()
        return row

    first = source.read()
    assert branch.add_to(first) is branch.add_to(first)
    (log, *_) = (on_a_branch / ".suspectra/recording").iterdir()
    log.write_bytes(log.read_bytes())  # as if it had been recorded again
    second = source.read()
    known = rows(first)
    assert rows(second) is known
    git("commit", "-qam", "the fault is on the branch")
    git("branch", "-f", "main", "HEAD")
    assert rows(first) is known
    assert branch.has_moved()
    assert not branch.has_moved()
    assert not len(rows(first))


def test_git_is_asked_again_only_after_a_while_and_where_it_mattered(on_a_branch, git):
    evidence, branch = RecordingSource(on_a_branch).read(), ChangesOfBranch(on_a_branch)
    assert not branch.has_moved()
    branch.add_to(evidence)
    git("commit", "-qam", "the fault is on the branch")
    git("branch", "-f", "main", "HEAD")
    assert not branch.has_moved(after_s=3600)
    assert branch.has_moved()


def test_a_ranking_that_was_shown_is_made_again_if_the_branch_began_elsewhere(client, on_a_branch, git, monkeypatch):
    monkeypatch.setattr(ranker, "BRANCH_RECHECK_S", 0)
    client.start(on_a_branch, options={"technique": "evidence"})
    assert changed(client)
    git("commit", "-qam", "the fault is on the branch")
    git("branch", "-f", "main", "HEAD")
    client.command("selectTechnique", "ochiai")
    client.ask_until(lambda: not changed(client))
