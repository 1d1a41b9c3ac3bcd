"""A workspace of any size starts alike, because nothing looks through it."""

import os
import shutil
import subprocess
import sys

import pytest

# the server, with every folder it lists written to a file
LISTENING = """\
import os, sys

def hear(event, arguments):
    if event in ("os.scandir", "os.listdir") and isinstance(arguments[0], str):
        print(os.path.abspath(arguments[0]), file=heard, flush=True)

heard = open(sys.argv.pop(), "w")
sys.addaudithook(hear)
from suspectra_server.main import main
sys.exit(main())
"""


@pytest.fixture
def listed(shop, tmp_path, client_of):
    """Start the server in the shop, and tell which folders of it were listed until suspects were there."""

    def start():
        heard = tmp_path / "heard"
        command = [sys.executable, "-c", LISTENING, str(heard)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as server:
            client = client_of(server.stdout, server.stdin)
            client.start(shop)
            assert client.marks(shop)
            client.request("shutdown")
            client.notify("exit")
        return {line for line in heard.read_text().splitlines() if line.startswith(str(shop))}

    return start


@pytest.mark.slow
def test_nothing_looks_through_the_workspace(shop, listed):
    before = listed()
    assert os.path.join(shop, ".suspectra", "recording") in before  # it does hear
    for number in range(300):
        shutil.copytree(shop / "shop", shop / f"package{number}" / "inner" / "shop")
    assert listed() == before
    assert len(before) < 20
