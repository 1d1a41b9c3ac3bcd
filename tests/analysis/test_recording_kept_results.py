"""What made a result that is kept counts for each test that uses it, whichever test came first."""

import os
import random
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.instrumentation.kept_results.guards import ResultChecks
from suspectra_recorder.instrumentation.parser_references import ast

APP = """\
from functools import cache, lru_cache, partial

def made(kind):
    if kind == "version":
        return 1
    if kind == "table":
        return 2
    if kind == "early":
        return 3
    if kind == "late":
        return 4
    if kind == "class":
        return 5
    if kind == "singleton":
        return 6
    if kind == "x":
        return 7
    if kind == "y":
        return 8
    if kind == "tried":
        return 9
    if kind == "got":
        return 10
    if kind == "default":
        return 11
    if kind == "loader":
        return 12
    if kind == "flag":
        return 13
    if kind == "attribute":
        return 14
    if kind == "once":
        return 15
    if kind == "new":
        return 16
    if kind == "cached":
        return 17
    if kind == "inner":
        return 18
    if kind == "method":
        return 19
    if kind == "partial":
        return 20
    if kind == "import":
        return 21
    if kind == "locked":
        return 22
    if kind == "parsed":
        return 23
    raise KeyError(kind)

_version = None
_table = None
_early = None
_late = None
_ready = False
_attribute = None

def version():
    global _version
    if _version is None:
        _version = made("version")
    return _version

def table():
    if not _table:
        _load()
    return _table

def _load():
    global _table
    rows = made("table")
    _table = [rows]

def early():
    global _early
    if _early is not None:
        return _early
    value = made("early")
    _early = value
    return _early

def late():
    global _late
    if not _late:
        _late = made("late") + version()
        return _late
    return _late

def flag():
    global _ready
    if not _ready:
        made("flag")
        _ready = True

class Registry:
    _shared = None
    _one = None

    def __new__(cls):
        if cls._one is None:
            made("new")
            cls._one = super().__new__(cls)
            cls._one._found = {}
            cls._one._value = None
        return cls._one

    @classmethod
    def shared(cls):
        if cls._shared is None:
            cls._shared = made("class")
        return cls._shared

    def value(self):
        if self._value is None:
            self._value = made("singleton")
        return self._value

    def found(self, key):
        if key in self._found:
            return self._found[key]
        self._found[key] = made(key)
        return self._found[key]

    def attribute(self):
        if not hasattr(self, "_attribute"):
            self._attribute = made("attribute")
        return self._attribute

    @lru_cache(maxsize=None)
    def method(self, key):
        return made(key)

class Special(Registry):
    pass

class Parser:
    CACHE = {}

    def parse(self, text):
        cached = self.CACHE.get(text)
        if cached:
            return cached
        self.CACHE[text] = made(text)
        return self.CACHE[text]


_parsers, _got, _defaults, _loaded = {}, {}, {}, {}
_loaders = {"loader": partial(made, "loader")}

def tried(key):
    try:
        return _parsers[key]
    except KeyError:
        _parsers[key] = made(key)
    return _parsers[key]

def got(key):
    value = _got.get(key)
    if value is None:
        value = _got[key] = made(key)
    return value

def default(key):
    if key not in _defaults:
        return _defaults.setdefault(key, made(key))
    return _defaults[key]

def loader(name):
    if name not in _loaded:
        _loaded[name] = _loaders[name]()
    return _loaded[name]

def once(function):
    result = None

    def wrapper():
        nonlocal result
        if result is None:
            result = function()
        return result

    return wrapper

class Lock:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

_locked = None

def locked():
    global _locked
    if _locked is None:
        with Lock():
            if _locked is None:
                _locked = made("locked")
    return _locked

only = once(partial(made, "once"))

@cache
def inner(key):
    return made(key)

@lru_cache(maxsize=8)
def outer(key):
    return made(key), inner("inner"), version()

by_call = lru_cache(maxsize=None)(partial(made, "partial"))
AT_IMPORT = inner("import")

def failing(n):
    assert n != 3
"""
TESTS = """\
import app, pytest

@pytest.fixture(scope="module")
def shared():
    return app.outer("cached")

def test_none():
    pass

def test_version():
    app.version()

def test_version_again():
    app.version()
    app.version()

def test_table():
    app.table()

def test_table_too():
    app.table()

def test_early():
    app.early()

def test_early_too():
    app.early()
    app.version()

def test_late():
    app.late()

def test_late_too():
    app.late()

def test_flag():
    app.flag()

def test_flag_too():
    app.flag()

@pytest.mark.parametrize("n", range(5))
def test_singleton(n):
    app.failing(n)
    app.Registry().value()

@pytest.mark.parametrize("key", ["x", "y", "x", "y"])
def test_key(key):
    app.Registry().found(key)

@pytest.mark.parametrize("cls", [app.Registry, app.Special])
def test_class(cls):
    app.Registry.shared()
    cls.shared()

def test_attribute():
    app.Registry().attribute()

def test_attribute_too():
    app.Registry().attribute()

def test_method():
    app.Registry().method("method")

def test_method_too():
    app.Registry().method("method")

@pytest.mark.parametrize("n", range(2))
@pytest.mark.parametrize("kind", ["tried", "got", "default", "loader"])
def test_dictionary(kind, n):
    getattr(app, kind)(kind)

@pytest.mark.parametrize("n", range(2))
def test_parser(n):
    app.Parser().parse("parsed")

@pytest.mark.parametrize("n", range(2))
@pytest.mark.parametrize("function", [app.only, app.by_call, app.locked], ids=["only", "by_call", "locked"])
def test_called(function, n):
    function()

def test_cached():
    app.outer("cached")

def test_inner():
    app.inner("inner")

def test_inner_too():
    app.inner("inner")
    app.outer("x")

def test_shared(shared):
    pass

def test_shared_too(shared):
    app.inner("import")

def test_cleared():
    app.inner.cache_clear()
    app.inner("x")

def test_patched(monkeypatch):
    monkeypatch.setattr(app, "_version", 3)
    assert app.version() == 3
"""
EXPECTED = {
    "test_none": set(),
    "test_version": {"version"},
    "test_version_again": {"version"},
    "test_table": {"table"},
    "test_table_too": {"table"},
    "test_early": {"early"},
    "test_early_too": {"early", "version"},
    "test_late": {"late", "version"},
    "test_late_too": {"late", "version"},
    "test_flag": {"flag"},
    "test_flag_too": {"flag"},
    **{f"test_singleton[{n}]": {"new", "singleton"} for n in (0, 1, 2, 4)},
    "test_singleton[3]": set(),
    **{f"test_key[{key}{n}]": {"new", key} for key in "xy" for n in (0, 1)},
    "test_class[Registry]": {"class"},
    "test_class[Special]": {"class"},
    "test_attribute": {"new", "attribute"},
    "test_attribute_too": {"new", "attribute"},
    "test_method": {"new", "method"},
    "test_method_too": {"new", "method"},
    **{f"test_dictionary[{kind}-{n}]": {kind} for kind in ("tried", "got", "default", "loader") for n in (0, 1)},
    **{f"test_parser[{n}]": {"parsed"} for n in (0, 1)},
    **{f"test_called[only-{n}]": {"once"} for n in (0, 1)},
    **{f"test_called[by_call-{n}]": {"partial"} for n in (0, 1)},
    **{f"test_called[locked-{n}]": {"locked"} for n in (0, 1)},
    "test_cached": {"cached", "inner", "version"},
    "test_inner": {"inner"},
    "test_inner_too": {"x", "inner", "version"},
    "test_shared": {"cached", "inner", "version"},
    "test_shared_too": {"cached", "inner", "version", "import"},
    "test_cleared": {"x"},
    "test_patched": set(),
}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def record(folder, *options):
    environment = {**os.environ, **({} if "-n=2" in options else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})}
    command = [sys.executable, "-m", "pytest", "-p", "suspectra", "-p", "no:randomly", "-q", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return executed(folder)


def executed(folder):
    """The lines of the program that each test executes, the branches that it takes, and how often."""
    evidence = RecordingSource(folder, edges=True).read()
    assert not evidence.problems
    times = evidence.edges.counts
    found = {}
    for number, (test, row) in enumerate(zip(evidence.tests, evidence.rows, strict=True)):
        often = () if times is None else tuple(times[number].tolist())
        lines = tuple(evidence.elements.line[row].tolist())
        found[test.name.partition("::")[2]] = lines, tuple(evidence.edges.rows[number].tolist()), often
    return found


def kinds(lines):
    text = APP.splitlines()
    return {
        text[line - 2].split('"')[1]
        for line in lines
        if text[line - 1].startswith("        return ") and '"' in text[line - 2]
    }


@pytest.mark.parametrize(
    "options",
    [
        (),
        pytest.param(("--suspectra-counts",), marks=pytest.mark.slow),
        pytest.param(("-n=2",), marks=pytest.mark.slow),
    ],
    ids=["", "counts", "workers"],
)
def test_the_order_and_the_subset_do_not_matter(project, options, seed):
    whole = record(project, *options)
    assert {name: kinds(lines) for name, (lines, *_) in whole.items()} == EXPECTED
    choose = random.Random(seed)
    for size in (1, 12, len(whole)):
        names = [f"test_it.py::{name}" for name in choose.sample(sorted(whole), size)]
        assert record(project, *options, *names) == whole


UNITTESTS = """\
import unittest, app

class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        app.outer("cached")

    def test_1(self):
        app.table()

    def test_2(self):
        app.table()
"""


def test_unittest(project):
    (project / "test_it.py").write_text(UNITTESTS)
    for _ in range(2):
        command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "unittest", "-q"]
        done = subprocess.run([*command, *(["test_it.TestIt.test_2"] if _ else [])], cwd=project, capture_output=True)
        assert done.returncode == 0, done.stderr
        found = [kinds(lines) for lines, *_ in executed(project).values()]
        assert found == [{"cached", "inner", "version", "table"}] * 2


THREADS = """\
import threading, app

def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

def test_1():
    in_thread(lambda: (app.version(), app.inner("inner")))

def test_2():
    in_thread(lambda: (app.version(), app.inner("inner")))
    app.flag()

def test_3():
    app.version()
    in_thread(app.flag)
"""


def test_threads(project):
    (project / "test_it.py").write_text(THREADS)
    expected = {"test_1": {"version", "inner"}, "test_2": {"version", "inner", "flag"}, "test_3": {"version", "flag"}}
    for names in ([], ["test_it.py::test_3"], ["test_it.py::test_2", "test_it.py::test_1"]):
        assert {name: kinds(lines) for name, (lines, *_) in record(project, *names).items()} == expected


DEEP = """\
import functools, warnings
from functools import lru_cache

@lru_cache(maxsize=None)
def total(n):
    return 0 if n == 0 else n + total(n - 1)

@lru_cache
def warn(n: int = 3) -> int:
    "Warns."
    warnings.warn("old", stacklevel=2)
    return n

class Thing:
    @lru_cache(maxsize=2)
    def value(self, n):
        return n

    @functools.cache
    def fails(self):
        raise KeyError(1)

def other():
    pass
"""
UNDISTURBED = """\
import copy, functools, gc, inspect, pickle, sys, types, weakref
import pytest, deep

def test_numbers():
    thing = deep.Thing()
    assert [thing.value(n) for n in (1, 2, 1, 3, 2)] == [1, 2, 1, 3, 2]
    assert deep.Thing.value.cache_info() == (1, 4, 2, 2)
    assert deep.Thing.value.cache_parameters() == {"maxsize": 2, "typed": False}
    deep.Thing.value.cache_clear()
    assert deep.Thing.value.cache_info() == (0, 0, 2, 0)

def test_identity():
    assert pickle.loads(pickle.dumps(deep.warn)) is copy.deepcopy(deep.warn) is copy.copy(deep.warn) is deep.warn
    assert type(deep.warn) is functools._lru_cache_wrapper and isinstance(deep.warn, functools._lru_cache_wrapper)
    assert repr(deep.warn).startswith("<functools._lru_cache_wrapper object at ")
    assert inspect.isroutine(deep.warn) and inspect.ismethoddescriptor(deep.warn)
    assert str(inspect.signature(deep.warn)) == "(n: int = 3) -> int" and deep.warn.__doc__ == "Warns."
    assert inspect.isfunction(deep.warn.__wrapped__) and inspect.getsource(deep.warn).startswith("@lru_cache")
    wrapped = functools.update_wrapper(types.SimpleNamespace(), deep.warn.__wrapped__)
    assert {*vars(deep.warn)} == {*vars(wrapped)} | {"cache_parameters"}
    assert not isinstance(deep.other, functools._lru_cache_wrapper)

def test_stack():
    with pytest.warns(UserWarning) as found:
        deep.warn()
    assert found[0].filename == __file__
    limit = sys.getrecursionlimit()
    assert deep.total(250) == 31375
    with pytest.raises(KeyError):
        deep.Thing().fails()
    with pytest.raises(TypeError, match="unhashable"):
        deep.total([])
    assert sys.getrecursionlimit() == limit

def test_lifetime():
    class Key:
        pass
    key, thing = Key(), deep.Thing()
    assert thing.value(key) is key
    gone = weakref.ref(key)
    del key
    thing.value(1), thing.value(2)
    gc.collect()
    assert gone() is None
"""


def test_cached_functions_are_as_ever(project):
    (project / "deep.py").write_text(DEEP)
    (project / "test_it.py").write_text(UNDISTURBED)
    found = record(project)
    assert len(found) == 4
    evidence = RecordingSource(project).read()
    assert {test.verdict.value for test in evidence.tests} == {"passed"}, [test.message for test in evidence.tests]


def guards(source):
    """The places of guards, each with the arm that makes what is kept there."""
    found = ResultChecks.from_tree(ast.parse(source)).guards.values()
    return [(guard.place.text, guard.arm.name) for guard in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("global x\nif x is None: x = f()", [("x", "BODY")]),
        ("global x\nif x: return x\nx = f()\nreturn x", [("x", "REST")]),
        ("global x\nif x is not None: y = x\nelse: x = f()", [("x", "ORELSE")]),
        ("if 'a' not in self.__dict__: self.a = f()", [("self.a", "BODY")]),
        ("if getattr(self, 'a', None) is None: object.__setattr__(self, 'a', f())", [("self.a", "BODY")]),
        ("v = self.d.get((k, 1))\nif v is None: self.d[k, 1] = v = f()", [("self.d[k, 1]", "BODY")]),
        ("try: return d[k]\nexcept KeyError: d[k] = f()\nreturn d[k]", [("d[k]", "HANDLERS")]),
        ("try: return d[k]\nexcept KeyError: pass\nd[k] = f()\nreturn d[k]", [("d[k]", "REST")]),
        ("if name not in known:\n  known.add(name)\n  f()", [("known[name]", "BODY")]),
        ("if (v := d.get(k)) is None: return d.setdefault(k, f())", [("d[k]", "BODY")]),
        ("if type(self).a is None: type(self).a = f()", [("type(self).a", "BODY")]),
        # nothing is kept
        ("if self.a: self.a = None", []),
        ("if x is None: x = f()", []),
        ("seen = {}\nif k not in seen: seen[k] = f()", []),
        ("if self.n > 3: self.n = f()", []),
        ("if f(k) not in d: d[f(k)] = 1", []),
        # other code may run before it is made
        ("if self.a is None: self.a = yield", []),
    ],
)
def test_guards(source, expected):
    assert (
        guards("def f(self, k, name, d, known):\n" + "".join(f"  {line}\n" for line in source.split("\n"))) == expected
    )
