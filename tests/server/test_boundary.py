"""A server of a workspace that is not trusted touches nothing outside of it, wherever links and evidence lead."""

import os
import shutil
import sqlite3
import subprocess
import sys
from itertools import dropwhile
from pathlib import Path

import pytest

from suspectra.evidence.boundary import Boundary

REPOSITORY = Path(__file__).parents[2]
TIMEOUT_S = 60  # seconds; never reached but by a failure


@pytest.fixture(scope="session")
def file_access(preload_library):
    return preload_library("file_access")


@pytest.fixture(scope="session")
def measured_shop(recorded_shop, tmp_path_factory):
    """The shop with coverage.py's data and a JUnit report instead of a recording."""
    root = tmp_path_factory.mktemp("measured") / "shop"
    shutil.copytree(recorded_shop, root, ignore=shutil.ignore_patterns("__pycache__", ".suspectra"))
    options = ["--cov", "--cov-context=test", "--junit-xml=results.xml", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=root, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return root


@pytest.fixture
def outside(tmp_path):
    """What the workspace must not lead to: a folder with all that a server would like to find."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def start(process, client_of, file_access, tmp_path):
    """A client of a server that is noted."""

    def start(root, **options):
        state = tmp_path / "state"
        own = {"LD_PRELOAD": str(file_access), "FILE_ACCESS": str(tmp_path / "notes"), "XDG_STATE_HOME": str(state)}
        server = process(env={**os.environ, **own}, cwd=REPOSITORY, timing={"WATCH_POLL_S": 0.1})
        client = client_of(server.stdout, server.stdin)
        return client.start(root, options={"trusted": False, **options})

    return start


@pytest.fixture
def watched(tmp_path, until):
    """Waits until the watcher has looked at everything twice."""

    def watched(client, root):
        own = f" readlink {os.path.realpath(root)}/.suspectra\n"

        def looks():
            return (tmp_path / "notes").read_text().count(own)

        # a look at everything reads this link less than ten times
        enough = looks() + 30
        until(lambda: looks() >= enough, "the watcher looks no more")
        client.request("suspectra/suspects")

    return watched


@pytest.fixture
def touched(tmp_path):
    """What the server touched outside a workspace, its own folders and those of Python apart."""

    def touched(root):
        own = [root, tmp_path / "state", REPOSITORY, sys.prefix, sys.base_prefix, "/proc/self", "/dev/null", "/usr/lib"]
        own = [os.path.realpath(folder) for folder in own] + ["/proc/self", "/etc", str(root)]
        found = set()
        notes = (tmp_path / "notes").read_text().split("\n")[:-1]  # the server may be in the middle of a line
        # what a client has to say is heard just before the server opens its own state; until then Python starts
        for line in dropwhile(lambda line: str(tmp_path / "state") not in line, notes):
            how, what, path = line.split(" ", 2)
            real = os.path.realpath(path)
            if how == "itself":
                real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            above = os.path.join(real, "")
            if what != "inotify_add_watch" and any(folder.startswith(above) for folder in own):
                continue  # the way to a folder of one's own
            if not any(f"{real}/".startswith(f"{folder}/") for folder in own):
                found.add(f"{what} {path}")
        return sorted(found)

    return touched


@pytest.fixture
def use(watched):
    """Does whatever may make a server look at files."""

    def use(client, root):
        ask(client, root)
        watched(client, root)

    return use


def ask(client, root):
    """Ask and command, and change a file."""
    path = root / "shop/vouchers.py"
    uri = path.as_uri()
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": "def f():\n    return 1\n"}},
    )
    for method in ("suspectra/suspects", "suspectra/testResults", "suspectra/commandLine", "suspectra/techniques"):
        client.request(method, {})
    client.request("suspectra/coverage", {"uri": uri})
    client.request("suspectra/explanation", {"uri": uri, "line": 1})
    client.command("selectTechnique", "cp")
    client.command("localize")
    (root / "new.xml").write_text("<testsuite/>")


def linked(path, target):
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(target)


@pytest.mark.slow
def test_default_places_that_are_links(start, use, touched, measured_shop, outside, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(measured_shop, root)
    shutil.copytree(measured_shop, outside / "shop")
    (outside / "recording").mkdir()
    linked(root / ".coverage", outside / "shop/.coverage")
    linked(root / "results.xml", outside / "shop/results.xml")
    linked(root / ".suspectra", outside)
    for name in ("reports", "test-results", "junit", "build"):
        linked(root / name, outside / "shop")
    for name in ("pytest.ini", "setup.cfg", "tox.ini", "pyproject.toml", "test_more.py", "far"):
        linked(root / name, outside / "shop" / name)
    use(start(root), root)
    assert touched(root) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["/net/host/share", "//host/share", "/sys/kernel", "/dev/fd", "../outside", "../../.."]
)
def test_links_to_other_machines_and_devices(start, use, touched, shop, outside, target):
    for name in ("recording/far.log", "recording/far", "recording-c"):
        linked(shop / ".suspectra" / name, target)
    linked(shop / ".coverage", f"{target}/.coverage")
    linked(shop / "reports", target)
    linked(shop / "results.xml", f"{target}/results.xml")
    use(start(shop), shop)
    assert touched(shop) == []


@pytest.mark.slow
def test_sources_and_tests_of_a_recording_that_are_links(start, use, touched, shop, outside):
    for name in ("shop", "tests"):
        shutil.copytree(shop / name, outside / name)
    linked(shop / "tests", outside / "tests")
    for path in (shop / "shop").glob("*.py"):
        linked(path, outside / "shop" / path.name)
    use(start(shop), shop)
    assert touched(shop) == []


@pytest.mark.slow
def test_hostile_paths_in_evidence(start, use, touched, measured_shop, outside, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(measured_shop, root)
    shutil.copytree(measured_shop, outside / "shop")
    linked(root / "far", outside)
    paths = ["/net/host/a.py", "//host/share/a.py", "../outside/shop/shop/cart.py", "far/shop/shop/cart.py"]
    paths += [str(outside / "shop/shop/cart.py"), "/proc/1/cwd/a.py", f"{root}/../outside/a.py", f"{root}/far/a.py"]
    with sqlite3.connect(root / ".coverage") as data:
        data.executemany("insert into file (path) values (?)", [(path,) for path in paths])
        data.executemany("insert into context (context) values (?)", [(f"{path}::test_far|run",) for path in paths])
    data.close()
    cases = "".join(
        f'<testcase classname="{name}" name="test_far" file="{path}" line="3"><failure message="x"/></testcase>'
        for path in paths
        for name in ("far.shop.tests.test_cart", "..outside.shop.tests", "")
    )
    report = (root / "results.xml").read_text()
    (root / "results.xml").write_text(report.replace("</testsuite>", cases + "</testsuite>"))
    client = start(root)
    assert client.suspects()["suspects"], "the rest is ranked"
    use(client, root)
    assert touched(root) == []


@pytest.mark.slow
def test_files_beside_coverage_data_that_are_links(start, use, touched, measured_shop, outside, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(measured_shop, root)
    for suffix in ("-journal", "-wal", "-shm", ".host.1.x"):
        linked(root / f".coverage{suffix}", outside / "far")
    use(start(root), root)
    assert touched(root) == []


@pytest.mark.slow
def test_a_workspace_that_is_removed(start, watched, touched, shop):
    client = start(shop)
    shutil.rmtree(shop)
    watched(client, shop)
    assert touched(shop) == []


@pytest.mark.slow
def test_settings_that_are_left_out_are_announced_once(start, use, touched, shop, outside):
    far = {"coverage": str(outside / ".coverage"), "junit": "//host/share/r.xml", "testInterpreter": "/net/host/python"}
    client = start(shop, **far, showNotifications="onWarning")
    client.notify("workspace/didChangeConfiguration", {"settings": far})
    use(client, shop)
    reported = [m["message"] for m in client.messages + client.logged if "not trusted" in m["message"]]
    assert len(reported) == 1
    assert all(f"suspectra.{name}" in reported[0] for name in far)
    assert "Trust the workspace" in reported[0]
    assert touched(shop) == []


@pytest.mark.slow
def test_links_that_stay_inside_are_followed(start, use, touched, shop, tmp_path):
    """Also where the workspace itself is reached through a link, which is the user's own."""
    (shop / "lib").mkdir()
    (shop / "shop").rename(shop / "lib/shop")
    linked(shop / "shop", "lib/shop")
    linked(shop / "tests/test_linked.py", "test_cart.py")
    here = tmp_path / "here"
    linked(here, shop)
    client = start(here)
    assert client.suspects()["suspects"][0]["file"].startswith("shop/")
    use(client, here)
    assert str(shop / "lib/shop") in (tmp_path / "notes").read_text(), "the sources are read"
    assert touched(here) == []


def test_existence_is_what_following_each_path_finds(tmp_path, outside):
    root = tmp_path / "workspace"
    (root / "folder").mkdir(parents=True)
    (root / "folder/file.py").touch()
    (outside / "file.py").touch()
    for name, target in {"in": "folder", "out": outside, "folder/link": "file.py", "folder/lost": "none"}.items():
        linked(root / name, target)
    linked(root / "folder/far", outside / "file.py")
    paths = ["folder/file.py", "in/file.py", "folder/link", "folder/lost", "folder/far", "out/file.py", "none/file.py"]
    paths += [
        "folder/none",
        "../outside/file.py",
        "folder/../folder/file.py",
        "..",
        ".",
        "",
        "folder/..",
        "a\0",
        "\0/a",
    ]
    paths += [str(outside / "file.py"), str(root / "folder/file.py")]
    boundary = Boundary(root)
    followed = {path for path in paths if (real := boundary.real(path)) is not None and os.path.exists(real)}
    assert boundary.existing(paths) == followed
    assert {"folder/file.py", "in/file.py", "folder/link"} < followed
    assert not followed & {"folder/far", "out/file.py", "../outside/file.py", str(outside / "file.py")}
    assert boundary.below(paths) == {path for path in paths if boundary.relative(path) is not None}
