"""What tests run in other processes is recorded for them."""

import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.children.child_log import ChildLog
from suspectra_recorder.children.processes import ChildOfTest, ChildrenOfTests
from suspectra_recorder.children.shared_cells import SharedCells, cells_in

FIXTURE = Path(__file__).parents[1] / "fixtures" / "recording" / "children"
EXPECTED = re.compile(r"def (test_\w+).*# runs:(.*)")


def environment(**variables):
    return {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}


def pytest_in(folder, *arguments, python=sys.executable, **variables):
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "suspectra", *arguments],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )


def functions(folder):
    """The functions each test ran."""
    evidence = RecordingSource(folder).read()
    assert evidence.problems == ()
    of, names = evidence.elements.function, [f.name for f in evidence.elements.functions]
    rows = zip(evidence.tests, evidence.rows, strict=True)
    return {t.name.partition("::")[2]: {names[i] for i in of[row].tolist() if i >= 0} for t, row in rows}


def nothing_left(folder):
    return sorted(path.name for path in (folder / ".suspectra").iterdir()) == [".gitignore", "recording"]


WAYS = [
    (),
    pytest.param(("--suspectra-counts",), marks=pytest.mark.slow),
    pytest.param(("-n", "1", "-p", "xdist.plugin"), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=WAYS, ids="".join)
def recorded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("children") / "project"
    shutil.copytree(FIXTURE, folder)
    done = pytest_in(folder, *request.param)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_children_are_recorded_for_the_test_that_started_them(recorded):
    found = functions(recorded)
    expected = dict(EXPECTED.findall((recorded / "test_children.py").read_text()))
    assert {name: set(expected[name.partition("[")[0]].split()) for name in found} == found
    assert {name.partition("[")[0] for name in found} == expected.keys()


def test_nothing_of_children_is_left(recorded):
    assert nothing_left(recorded)
    assert len(list((recorded / ".suspectra" / "recording").iterdir())) <= 2


def test_counts_of_children_are_added(tmp_path):
    (tmp_path / "loop.py").write_text("def loop(n):\n    for i in range(n):\n        i += 1\n")
    (tmp_path / "test_loop.py").write_text(
        "import os, subprocess, sys, loop\n"
        "def test_loop():\n"
        "    loop.loop(5)\n"
        "    if not (child := os.fork()):\n"
        "        loop.loop(20); os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    subprocess.run([sys.executable, '-c', 'import loop; loop.loop(300)'], check=True)\n"
    )
    assert pytest_in(tmp_path, "--suspectra-counts").returncode == 0
    edges = RecordingSource(tmp_path, edges=True).read().edges
    arcs = zip(edges.edges.source.tolist(), edges.edges.target.tolist(), strict=True)
    column = list(arcs).index((2, 3))
    assert edges.counts[0][edges.rows[0].tolist().index(column)] == 325


@pytest.mark.slow
def test_a_script_sees_itself_as_it_would_unrecorded(tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(FIXTURE, folder)
    (folder / "test_script.py").write_text(
        "import json, os, subprocess, sys\n"
        "def test_it():\n"
        "    runs = [[], ['fail'], ['-X', 'dev'], ['-W', 'error']]\n"
        "    for options in runs:\n"
        "        before = [o for o in options if o != 'fail']\n"
        "        after = [o for o in options if o == 'fail']\n"
        "        done = [subprocess.run([sys.executable, *before, 'script.py', *after], env=env, capture_output=True)\n"
        "            for env in (os.environ, {k: v for k, v in os.environ.items() if k != 'SUSPECTRA_CHILD'})]\n"
        "        assert done[0].returncode == done[1].returncode == (1 if after else 3)\n"
        "        assert done[0].stderr == done[1].stderr\n"
        "        assert done[0].stdout == done[1].stdout\n"
    )
    done = pytest_in(folder, "test_script.py")
    assert done.returncode == 0, done.stdout
    assert functions(folder) == {"test_it": {"main", "used", "at_exit"}}


def test_the_sitecustomize_that_is_hidden_still_runs(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys; sys.customized = __file__\n")
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\n"
        "def test_it():\n"
        "    ask = 'import sys, sitecustomize; print(sys.customized == sitecustomize.__file__); print(sys.path)'\n"
        "    out = subprocess.run([sys.executable, '-c', ask], capture_output=True, text=True).stdout\n"
        "    assert out.startswith('True') and 'bootstrap' not in out\n"
    )
    done = pytest_in(tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("off", [["--suspectra-no-children"], ["-o", "suspectra_children=false"]], ids=" ".join)
def test_children_are_left_alone_on_request(tmp_path, off):
    (tmp_path / "test_it.py").write_text(
        "import os\n"
        "def test_it():\n"
        "    assert not [name for name in os.environ if name.startswith('SUSPECTRA')]\n"
        "    assert 'PYTHONPATH' not in os.environ\n"
    )
    done = pytest_in(tmp_path, *off)
    assert done.returncode == 0, done.stdout
    assert nothing_left(tmp_path) or not (tmp_path / ".suspectra" / "children").exists()


@pytest.mark.slow
def test_the_command_records_children_or_not(tmp_path):
    for options, expected in ([], {"used"}), (["--no-children"], set()):
        folder = tmp_path / f"project{len(options)}"
        shutil.copytree(FIXTURE, folder)
        command = [sys.executable, "-m", "suspectra", "record", "--workspace", str(folder), *options]
        tests = [sys.executable, "-m", "pytest", "test_children.py::test_code"]
        done = subprocess.run([*command, "--", *tests], cwd=folder, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert functions(folder) == {"test_code": expected}


def test_a_child_of_a_test_that_is_run_again_counts_only_in_the_last_attempt(tmp_path):
    (tmp_path / "work.py").write_text(
        "".join(f"def {name}():\n    return 1\n" for name in ("first", "second", "setup"))
    )
    (tmp_path / "test_it.py").write_text(
        "import os, pytest, work\n"
        "def fork(act):\n"
        "    if not (child := os.fork()):\n"
        "        act(); os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "@pytest.fixture(scope='module')\n"
        "def shared(): fork(work.setup)\n"
        "RUNS = []\n"
        "@pytest.mark.flaky(reruns=1)\n"
        "def test_it(shared):\n"
        "    RUNS.append(1)\n"
        "    fork(work.first if len(RUNS) == 1 else work.second)\n"
        "    assert len(RUNS) == 2\n"
    )
    done = pytest_in(tmp_path, "-p", "pytest_rerunfailures")
    assert done.returncode == 0, done.stdout + done.stderr
    assert functions(tmp_path) == {"test_it": {"second", "setup"}}


@pytest.mark.slow
def test_what_a_killed_run_leaves_is_swept_by_the_next(tmp_path):
    (tmp_path / "work.py").write_text("def work():\n    return 1\n")
    (tmp_path / "test_it.py").write_text(
        "import os, signal, subprocess, sys\n"
        "def test_it():\n"
        "    subprocess.run([sys.executable, '-c', 'import work; work.work()'], check=True)\n"
        "    if os.environ.get('KILL'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert pytest_in(tmp_path, KILL="1").returncode == -signal.SIGKILL
    assert list((tmp_path / ".suspectra" / "children").iterdir())
    assert pytest_in(tmp_path).returncode == 0
    assert nothing_left(tmp_path)
    assert functions(tmp_path) == {"test_it": {"work"}}


def test_another_interpreter_is_left_alone(tmp_path):
    (tmp_path / "work.py").write_text("def work():\n    return 1\n")
    settings = {"sources": [], "include_tests": False, "patterns": [], "workspace": str(tmp_path)}
    found = []
    for version in (sys.version, "2.7"):
        children = ChildrenOfTests(str(tmp_path), {**settings, "python": version}, counting=False)
        children.inject_env(own := environment())
        own["SUSPECTRA_CHILD"] = os.environ.pop("SUSPECTRA_CHILD")
        subprocess.run([sys.executable, "-c", "import work; work.work()"], cwd=tmp_path, env=own, check=True)
        found.append(len(children.started_by({0})))
        children.close()
    assert found == [1, 0]


def test_a_test_may_remove_the_folder(tmp_path):
    (tmp_path / "work.py").write_text("def work():\n    return 1\n")
    (tmp_path / "test_it.py").write_text(
        "import shutil, subprocess, sys, work\n"
        "def test_it():\n"
        "    shutil.rmtree('.suspectra/children')\n"
        "    subprocess.run([sys.executable, '-c', 'import work; work.work()'], check=True)\n"
        "def test_more(): work.work()\n"
    )
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert functions(tmp_path) == {"test_it": set(), "test_more": {"work"}}


# the files of children


def test_cells_are_kept_in_the_file(tmp_path):
    for counting, most in (False, 1), (True, 1 << 40):
        path = tmp_path / f"{counting}.cells"
        cells = SharedCells(str(path), counting)
        taken = [cells.take(size) for size in (8, 300_000, 16)]
        for at, (_, part) in enumerate(taken):
            part[at] = most
        with path.open("rb+") as file, mmap.mmap(file.fileno(), 0) as stored:
            for at, (start, part) in enumerate(taken):
                cells = [most if i == at else 0 for i in range(len(part))]
                assert cells_in(stored, start, len(part), counting) == cells
                assert part[at] == (most if counting else 0)


def test_damaged_logs_of_children_give_what_can_be_read(tmp_path):
    settings = {"sources": []}
    children = ChildrenOfTests(str(tmp_path), settings, counting=False)
    log = ChildLog(children.folder, 3, counting=False)
    log.take("a.py", "digest", 8, b"map")[2] = 1
    log.take("b.py", "digest", 8, b"map")
    log.close()
    (child,) = children.started_by({3})
    path = Path(child.path)

    def read():
        return ChildOfTest(child.path, 3, counting=False).take()

    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert [file.path for file in read()[0]] == ["a.py"]
    path.write_bytes(whole)
    assert [(file.path, file.cells) for file in child.take()[0]] == [("a.py", [0] * 8), ("b.py", [0] * 8)]
    for damage in (b"", b"SUSPECTRA", os.urandom(200)):
        path.write_bytes(damage)
        assert read() == ([], [])
    children.close()


def test_what_is_taken_of_a_running_child_is_what_it_ran_since(tmp_path):
    for counting in (False, True):
        children = ChildrenOfTests(str(tmp_path), {"sources": []}, counting=counting)
        log = ChildLog(children.folder, 3, counting=counting)
        cells = log.take("a.py", "digest", 8, b"map")
        (child,) = children.started_by({3})
        cells[2] = 1
        assert [file.cells for file in child.take()[0]] == [[0, 0, 1, 0, 0, 0, 0, 0]]
        assert child.take() == ([], [])
        log.take("b.py", "digest", 8, b"map")[1] = 1
        cells[2] += counting
        cells[3] = 1
        expected = [[0, 0, int(counting), 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]]
        assert [file.cells for file in child.take()[0]] == expected
        assert children.started_by({3}) == [child]
        assert child.runs
        log.close()
        assert not child.runs
        children.close()


SERVER = """\
import http.server, multiprocessing, sys, urllib.request

def price(n):
    return n * 4 if n > 2 else cheap(n)

def cheap(n):
    return n * 5

def ready():
    return True

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(price(int(self.path[1:]))).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

def serve(tell):
    ready()
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    tell(server.server_port)
    server.serve_forever()

def get(port, n):
    return int(urllib.request.urlopen(f"http://127.0.0.1:{port}/{n}").read())

if __name__ == "__main__":
    serve(lambda port: print(port, flush=True))
"""
FORKED = """
import multiprocessing
@pytest.fixture(scope="session")
def port():
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=server.serve, args=(there.send,), daemon=True)
    process.start()
    yield here.recv()
    process.terminate()
    process.join()
"""
STARTED = """
import subprocess, sys
process = None
def started():
    global process
    if process is None:
        process = subprocess.Popen([sys.executable, "server.py"], stdout=subprocess.PIPE, text=True)
        process.port = int(process.stdout.readline())
    return process.port
@pytest.fixture(HOW)
def port():
    yield started()
def pytest_sessionfinish():
    process.terminate()
    process.wait()
    process.stdout.close()
"""
USERS = """\
import server
def test_cheap(port): assert server.get(port, 1) == 5
def test_none(port): pass
def test_dear(port): assert server.get(port, 3) == 15
def test_without(): pass
def test_again(port): assert server.get(port, 2) == 10
"""


@pytest.mark.parametrize(
    ("fixture", "counts"),
    [
        (FORKED, ()),
        (STARTED.replace("HOW", "scope='module'"), ("--suspectra-counts",)),
        (STARTED.replace("HOW", ""), ()),
    ],
    ids=["forked", "started", "started by a test"],
)
def test_a_process_that_several_tests_use_counts_for_each_with_what_it_runs_then(tmp_path, fixture, counts):
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "conftest.py").write_text(f"import pytest, server\n{fixture}")
    (tmp_path / "test_it.py").write_text(USERS)
    done = pytest_in(tmp_path, *counts)
    assert done.returncode == 1, done.stdout + done.stderr
    found = functions(tmp_path)
    served = {"get", "Handler.do_GET", "Handler.log_message", "price"}
    setup = {"ready", "serve"} if "scope" in fixture else set()
    assert found.pop("test_cheap") >= served | {"cheap", "ready", "serve"} - setup
    assert found == {
        "test_none": setup,
        "test_dear": served | setup,
        "test_without": set(),
        "test_again": served | {"cheap"} | setup,
    }
    assert nothing_left(tmp_path)
    assert not (tmp_path / ".suspectra" / "children").exists()


def test_a_running_child_is_not_taken_for_one_that_ended(tmp_path):
    children = ChildrenOfTests(str(tmp_path), {"sources": []}, counting=False)
    code = (
        "import sys, time; from suspectra_recorder.children.child_log import ChildLog; "
        f"log = ChildLog({children.folder!r}, 1, False); print('ready', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    assert [child.runs for child in children.started_by({1})] == [True]
    process.kill()
    process.communicate()
    assert [child.runs for child in children.started_by({1})] == [False]
    children.close()
