"""A process that waits with collected tests: its outcomes are those of a fresh one, or it refuses."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError
from suspectra.processes.events import Output, TestProgress, Trouble
from suspectra.recording import warm as warm_module
from suspectra.recording.warm import WarmRefusal, WarmTests
from suspectra.selection.recorded_tests import recorded_tests
from suspectra.selection.selection import select
from suspectra_recorder.settings import recording_folder

# those of the environment that these tests run in would start threads, or change the order
PLAIN = ("-q", "-p", "no:cacheprovider", "-p", "no:rerunfailures", "-p", "no:xdist", "-p", "no:cov")
PYTEST = (sys.executable, "-m", "pytest", *PLAIN)
ALL = {"left_out": {}, "chosen": []}

ONE_TO_TWO = ("return 1", "return 2")
SAME = "def test(): assert f() == 1"
CASES = {  # the module, what is replaced in it, the test, and why it is refused where it must be
    "alias": ("def f():\n    return 1\n", ONE_TO_TWO, "from m import f as g\ndef test(): assert g() == 1", ""),
    "method and super": (
        "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self):\n        return super().f() + 0\nb = B()\n",
        ("+ 0", "+ 1"),
        "def test(): assert b.f() == 1",
        "",
    ),
    "property": (
        "class A:\n    @property\n    def f(self):\n        return 1\n",
        ONE_TO_TWO,
        "def test(): assert A().f == 1",
        "",
    ),
    "wrapped": (
        "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a): return f(*a)\n    return w\n"
        "@d\ndef f():\n    return 1\n",
        ONE_TO_TWO,
        SAME,
        "",
    ),
    "wrapper": (
        "def d(f):\n    def w(*a):\n        return f(*a) + 0\n    return w\n@d\ndef f():\n    return 1\n",
        ("+ 0", "+ 5"),
        SAME,
        "",
    ),
    "cached at import": (
        "import functools\n@functools.lru_cache\ndef f():\n    return 1\nf()\n",
        ONE_TO_TWO,
        SAME,
        "ran",
    ),
    "called at import": ("def f():\n    return 1\nX = f()\n", ONE_TO_TWO, "def test(): assert X == 1", "ran before"),
    "called by the test file": ("def f():\n    return 1\n", ONE_TO_TWO, "Y = m.f()\ndef test(): assert Y == 1", "ran"),
    "partial": (
        "import functools\ndef f(a):\n    return a + 0\ng = functools.partial(f, 1)\n",
        ("+ 0", "+ 1"),
        "def test(): assert g() == 1",
        "",
    ),
    "suspended generator": (
        "def f():\n    yield 1\n    yield 2\ng = f()\nnext(g)\n",
        ("yield 2", "yield 3"),
        "def test(): assert next(g) == 2",
        "suspended",
    ),
    "becomes a generator": (
        "def f():\n    return [1]\n",
        ("return [1]", "yield 2"),
        "def test(): assert list(f()) == [1]",
        "kind of function",
    ),
    "another free variable": (
        "def d(n):\n    k = 5\n    def w():\n        return n\n    return w\nw = d(1)\n",
        ("return n", "return n + k"),
        "def test(): assert w() == 1",
        "kind of function",
    ),
    "default": ("def f(a=1):\n    return a\n", ("a=1", "a=2"), SAME, "parameter"),
    "docstring": (
        "def f():\n    'a'\n    return 1\n",
        ("'a'", "'b'"),
        "def test(): assert f.__doc__ == 'a' and f()",
        "docstring",
    ),
    "constant": ("X = 1\ndef f(): return X\n", ("X = 1", "X = 2"), SAME, "imported"),
    "lambda": ("f = lambda: 1\n", (": 1", ": 2"), SAME, "imported"),
    "a function more": ("def f():\n    return 1\n", ("def f", "def g(): pass\ndef f"), SAME, "imported"),
    "moved lines": (
        "def f():\n    return 1\ndef g():\n    import sys\n    return sys._getframe().f_lineno\n",
        ("return 1", "x = 2\n    return x"),
        "def test(): assert g() == 5",
        "",
    ),
    "source": (
        "def f():\n    return 1\n",
        ONE_TO_TWO,
        "import inspect\ndef test(): assert '1' in inspect.getsource(f)",
        "",
    ),
    "another process": (
        "def f():\n    return 1\n",
        ONE_TO_TWO,
        "import subprocess, sys\ndef test():\n"
        "    subprocess.check_call([sys.executable, '-c', 'import m; assert m.f() == 1'])",
        "",
    ),
    "reload": (
        "def f():\n    return 1\n",
        ONE_TO_TWO,
        "import importlib\ndef test(): importlib.reload(m); assert m.f() == 1",
        "",
    ),
    "spawned pool": (
        "def f():\n    return 1\n",
        ONE_TO_TWO,
        "import multiprocessing as mp\ndef test():\n"
        "    with mp.get_context('spawn').Pool(1) as p: assert p.apply(m.f) == 1\n    m.f()",
        "",
    ),
    "shared code": (
        "import types\ndef f():\n    return 1\ng = types.FunctionType(f.__code__, globals())\n",
        ONE_TO_TWO,
        "def test(): assert g() == 1",
        "",
    ),
    "altered code": (
        "import types\ndef f():\n    return 1\ng = types.FunctionType(f.__code__.replace(co_name='g'), globals())\n",
        ONE_TO_TWO,
        "def test(): assert g() == 1",
        "altered",
    ),
    "data": (
        "X = open('data.txt').read()\ndef f():\n    return X\n",
        None,
        "def test(): assert f() == 'old'",
        "data.txt",
    ),
    "thread": (
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\n"
        "def f():\n    return t.is_alive()\n",
        ("return t", "return 1 and t"),
        "def test(): assert f()",
        "",
    ),
    "socket": (
        "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0))\ndef f():\n    return 1\n",
        ONE_TO_TWO,
        SAME,
        "",
    ),
    "random numbers": (
        "import random\nR = random.random()\ndef f():\n    return 1\n",
        ONE_TO_TWO,
        "def test(): assert f() == 1 and random.random() != R",
        "",
    ),
}
ONCE = {"thread": ["threads run"], "socket": ["a socket is open"]}


@pytest.fixture
def project(tmp_path):
    """Make a project of a module and a test."""

    def make(module, test):
        (tmp_path / "m.py").write_text(module)
        (tmp_path / "test_m.py").write_text(f"from m import *\nimport m\n{test}\n")
        (tmp_path / "data.txt").write_text("old")
        (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
        return tmp_path

    return make


@pytest.fixture
def collect():
    """Start a process that waits; it ends with the test."""
    opened = []

    def start(folder):
        opened.append(WarmTests(PYTEST, str(folder)))
        opened[-1].wait()
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def fresh(folder):
    done = subprocess.run(PYTEST, cwd=folder, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stdout
    return done.returncode


def edit(folder, before, after, name="m.py"):
    text = (folder / name).read_text()
    assert before in text
    (folder / name).write_text(text.replace(before, after, 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_outcomes_are_those_of_a_fresh_process_or_it_is_needed(name, project, collect):
    module, change, test, refused = CASES[name]
    folder = project(module, test)
    warm = collect(folder)
    for reason, expected in zip(warm.once, ONCE.get(name, []), strict=True):
        assert expected in reason
    edit(folder, *(change or ("old", "new")), "m.py" if change else "data.txt")
    if refused:
        with pytest.raises(WarmRefusal, match=refused):
            warm.run(ALL, lambda event: None)
    else:
        assert warm.run(ALL, lambda event: None).code == fresh(folder)


TWO = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
TESTS = "def test_f(): assert f() == 1\ndef test_g(): assert g() == 1"


@pytest.mark.slow
def test_each_run_is_about_the_code_as_it_is_then(project, collect):
    """Several edits, one after the other: each is recorded, and chosen tests alone run."""
    folder = project(TWO, TESTS)
    warm = collect(folder)
    events = []
    assert (warm.tests, warm.once) == (2, [])
    assert warm.run(ALL, events.append).code == 0
    for before, after, code, names in (
        ("return 1\n\n\ndef g", "return 2\n\n\ndef g", 1, ["test_m.py::test_f"]),
        ("def g():\n    return 1", "def g():\n    return 2", 1, ["test_m.py::test_f", "test_m.py::test_g"]),
        ("return 2\n\n\ndef g", "return 1\n\n\ndef g", 1, ["test_m.py::test_f", "test_m.py::test_g"]),
        ("def g():\n    return 2", "# back\ndef g():\n    return 1", 0, ["test_m.py::test_g"]),
    ):
        edit(folder, before, after)
        selection = select(str(folder))
        assert sorted([*selection.failed, *selection.affected]) == names
        assert warm.run(selection.fields(live=True), events.append).code == code
        assert warm.processor > 0
    assert not select(str(folder)).failed
    done = [event.done for event in events if isinstance(event, TestProgress)]
    assert done.count(2) == 3
    printed = [line for event in events if isinstance(event, Output) for line in event.lines]
    assert any("assert 2 == 1" in line for line in printed)


def test_a_new_test_or_module_needs_a_fresh_process(project, collect):
    folder = project(TWO, TESTS)
    warm = collect(folder)
    (folder / "notes.txt").write_text("nobody has listed this folder but pytest")
    assert warm.run(ALL, lambda event: None).code == 0
    (folder / "test_more.py").write_text("def test_more(): pass\n")
    with pytest.raises(WarmRefusal, match="changed, from which tests were collected"):
        warm.run(ALL, lambda event: None)


@pytest.mark.slow
def test_a_run_can_be_cancelled_and_the_next_one_begins(project, collect):
    folder = project(TWO, "import time\ndef test_f():\n    while f() == 1: time.sleep(0.01)")
    warm = collect(folder)
    token = Token()
    threading.Timer(1.0, lambda: setattr(token, "cancelled", True)).start()
    assert warm.run(ALL, lambda event: None, token).status != 0
    edit(folder, "return 1", "return 2")
    assert warm.run(ALL, lambda event: None).code == 0


@pytest.mark.slow
def test_what_does_not_end_is_ended(project, collect, monkeypatch):
    """A test that hangs has no outcome; a process that hangs at its end has those of all its tests."""
    monkeypatch.setattr(warm_module, "TEST_S", 1.0)
    monkeypatch.setattr(warm_module, "_EXIT_S", 1.0)
    folder = project(TWO, "import atexit, time\ndef test_f():\n    while f() == 1: time.sleep(0.01)")
    warm = collect(folder)
    events = []
    assert warm.run(ALL, events.append).status != 0
    assert Trouble("a test did not end within 1 s") in events
    edit(folder, "return 1", "return 2")
    edit(folder, "def test_f():", "def test_f():\n    atexit.register(time.sleep, 60)", "test_m.py")
    warm = collect(folder)
    began = time.monotonic()
    assert warm.run(ALL, lambda event: None).code == 0
    assert time.monotonic() - began < 30


def test_tests_that_can_not_be_collected_are_not_kept(project, collect):
    folder = project(TWO, "import nothing_of_that_name")
    with pytest.raises(EvidenceError, match="not all tests can be collected"):
        collect(folder)
    recording = recording_folder(str(folder))
    assert not recorded_tests(recording).tests


def test_the_order_is_that_of_use_and_shared_fixtures_stay_together(project, collect):
    folder = project(
        TWO,
        "import pytest\n@pytest.fixture(scope='module')\ndef shared(): pass\n"
        "def test_1(): pass\ndef test_2(shared): pass\ndef test_3(): pass\n"
        "def test_4(shared): pass\ndef test_5(): pass",
    )
    warm = collect(folder)
    first = [f"test_m.py::test_{number}" for number in (5, 4, 1)]
    warm.run({"left_out": {}, "chosen": [], "first": first}, lambda event: None)
    tests = recorded_tests(recording_folder(str(folder))).tests
    assert [name[-1] for name in tests] == ["5", "2", "4", "1", "3"]
