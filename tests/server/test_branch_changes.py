"""What changed since the branch began, where the recording has no earlier pass."""

import subprocess

import pytest

VOUCHERS = "shop/vouchers.py"


@pytest.fixture
def on_a_branch(shop):
    """A shop whose branch brought the fault."""

    def git(*arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=shop, check=True, capture_output=True)

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
    assert any("changed since all 3 failing tests passed" in lens["command"]["title"] for lens in lenses)


def test_git_is_not_asked_where_it_is_not_trusted(client, on_a_branch):
    client.start(on_a_branch, options={"trusted": False})
    assert client.suspects()["suspects"]
    assert not changed(client)
