"""Code that programs compile for themselves: files of the workspace get probes, everything else stays what it is."""

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import pickle
import py_compile
import runpy
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra_recorder.instrumentation.cache import CodeCache
from suspectra_recorder.instrumentation.imports import ImportHook

SOURCE = "def f(x):\n    if x:\n        return 1\n    return 2\n\n\nvalue = f(1)\n"


@pytest.fixture
def hook(tmp_path):
    root = str(tmp_path.resolve())
    wanted = lambda path: Path(path).name if str(Path(path).resolve()).startswith(root) else None  # noqa: E731
    hook = ImportHook(wanted, CodeCache(str(tmp_path / ".cache")))
    hook.install()
    yield hook
    hook.uninstall()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(SOURCE)
    return path


def run_exec(file):
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


def run_bytes_in_present_frame(file):
    names = {"file": file}
    exec("exec(compile(file.read_bytes(), filename=str(file), mode='exec'))", names)
    return names


def run_relative(file):
    names = {}
    exec(compile(file.read_text(), "work.py", "exec", dont_inherit=True), names)
    return names


class OwnLoader(importlib.abc.SourceLoader):
    def __init__(self, path):
        self.path = path

    def get_filename(self, fullname):
        return self.path

    def get_data(self, path):
        return Path(path).read_bytes()


class PlainLoader(importlib.abc.InspectLoader):
    def __init__(self, path):
        self.path = path

    def get_source(self, fullname):
        return Path(self.path).read_text()

    def exec_module(self, module):
        exec(self.source_to_code(self.get_source(module.__name__), self.path), vars(module))


class CompilingLoader(importlib.abc.Loader):
    def __init__(self, path):
        self.path = path

    def exec_module(self, module):
        exec(compile(Path(self.path).read_text(), self.path, "exec"), vars(module))


def run_loader(loader):
    def load(file):
        spec = importlib.util.spec_from_loader("work", loader(str(file)))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return vars(module)

    return load


def run_module(file):
    return runpy.run_module("work")


WAYS = {
    "exec": run_exec,
    "present frame": run_bytes_in_present_frame,
    "relative": run_relative,
    "run_path": lambda file: runpy.run_path(str(file)),
    "run_module": run_module,
    "SourceLoader": run_loader(OwnLoader),
    "InspectLoader": run_loader(PlainLoader),
    "Loader": run_loader(CompilingLoader),
}


@pytest.mark.parametrize("way", WAYS)
def test_code_of_a_file_is_recorded(way, file, hook, monkeypatch):
    monkeypatch.chdir(file.parent)
    monkeypatch.syspath_prepend(str(file.parent))
    names = WAYS[way](file)
    assert names["value"] == 1
    assert [f.path for f in hook.files] == ["work.py"]
    assert hook.harvest() == ([0], bytes([0b11101000]))  # not the last line of f


def test_code_without_a_file_stays_what_it_is(file, hook):
    for source, name in ((SOURCE, "<string>"), (SOURCE + "#", str(file)), (SOURCE, str(file) + "t"), ("1", "gone.py")):
        exec(compile(source, name, "exec"), {})
    exec(SOURCE, {})
    assert eval(compile("1 + 1", str(file), "eval")) == 2
    assert isinstance(compile(SOURCE, str(file), "exec", ast.PyCF_ONLY_AST), ast.Module)
    assert hook.files == []


@pytest.mark.parametrize("head", ["", '"""Doc."""\n', '"""Doc."""\nfrom __future__ import annotations\n'])
@pytest.mark.parametrize("spaces", [1, 2])
def test_code_runs_with_builtins_of_its_own(head, spaces, file, hook):
    file.write_text(head + SOURCE)
    code = compile(file.read_text(), str(file), "exec")
    names = {"__builtins__": {"__import__": __import__}}
    local = names if spaces == 1 else {}
    exec(code, names, local)
    assert local["value"] == 1
    assert hook.harvest()[0] == [0]
    names = {}
    exec(code, names)
    assert (names["value"], names.get("__doc__")) == (1, "Doc." if head else None)
    assert not [name for name in names if "suspectra" in name]
    assert hook.harvest()[0] == [0]


def test_what_goes_to_pycache_has_no_probes(file, hook, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    cached = py_compile.compile(str(file), doraise=True)
    assert b"suspectra" not in Path(cached).read_bytes()

    class Other(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, *, _optimize=-1):
            return super().source_to_code(data, path, _optimize=_optimize)

    Path(cached).unlink()
    Other("work", str(file)).get_code("work")
    assert b"suspectra" not in Path(cached).read_bytes()
    assert hook.files == []


@pytest.mark.parametrize("made_of", [lambda data: data, ast.parse], ids=["text", "tree"])
def test_a_loader_that_compiles_by_itself_stores_no_probes(file, hook, monkeypatch, made_of):
    """It could not be imported before: probes can't be stored."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    class Own(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, *, _optimize=-1):
            return compile(made_of(data), path, "exec", dont_inherit=True)

    for _ in range(2):
        exec(Own("work", str(file)).get_code("work"), {})
    assert [loaded.path for loaded in hook.files] == ["work.py"]
    assert not list(file.parent.rglob("*.pyc"))
    assert hook.harvest()[0] == [0]


FLAGS = "from __future__ import annotations\n"


@pytest.mark.parametrize("future", ["", FLAGS])
@pytest.mark.parametrize("dont_inherit", [False, True])
def test_future_features_are_inherited_as_before(tmp_path, hook, future, dont_inherit):
    path = tmp_path / "annotated.py"
    path.write_text("def f(x: 1 + 1): pass\n")
    for name in (str(path), "<string>"):
        for way in ("exec", "function"):
            names = {"name": name, "text": path.read_text()}
            call = f"code = compile(text, name, 'exec', dont_inherit={dont_inherit})\n"
            inside = f"def outer():\n def inner():\n  {call}  return code\n return inner()\ncode = outer()\n"
            exec(future + (call if way == "exec" else inside), names)
            exec(names["code"], names)
            assert names["f"].__annotations__ == {"x": "1 + 1" if future and not dont_inherit else 2}
    assert [f.path for f in hook.files] == ["annotated.py"]


def test_this_module_has_no_future_of_its_own_to_give(hook):
    assert compile("def f(x: 1): pass", "<string>", "exec").co_consts[0] != "1"


def test_the_builtin_looks_the_same(hook):
    assert compile.__name__ == "compile"
    assert compile.__doc__.startswith("Compile source into a code object")
    assert inspect.signature(compile).parameters.keys() >= {"source", "filename", "mode", "flags", "dont_inherit"}
    assert pickle.loads(pickle.dumps(compile)) is compile
    for wrong in ((), ("1",), ("1", "f")):
        with pytest.raises(TypeError):
            compile(*wrong)
    with pytest.raises(ValueError, match="mode"):
        compile("1", "f.py", "exce")
    with pytest.raises(SyntaxError) as caught:
        compile("if", "f.py", "exec")
    assert (caught.value.filename, caught.value.lineno) == ("f.py", 1)


def test_uninstalling_brings_the_builtin_back(file):
    before = builtins.compile
    hook = ImportHook(lambda path: path)
    hook.install()
    assert builtins.compile is not before
    hook.uninstall()
    assert builtins.compile is before


@given(st.text(max_size=30), st.sampled_from(["exec", "eval", "single"]), st.sampled_from(["<string>", "a.py"]))
def test_anything_compiles_as_before(source, mode, name):
    def outcome():
        try:
            return compile(source, name, mode, dont_inherit=True)
        except Exception as error:
            return type(error), error.args

    plain = outcome()
    hook = ImportHook(lambda path: path)
    hook.install()
    try:
        assert outcome() == plain
    finally:
        hook.uninstall()


def test_a_script_that_is_not_utf8_is_recorded(tmp_path, hook):
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\r\nname = 'é'\r\n".encode("latin-1"))
    assert runpy.run_path(str(path))["name"] == "é"
    names = {}
    exec(compile(importlib.util.decode_source(path.read_bytes()), str(path), "exec"), names)
    assert names["name"] == "é"
    assert [f.path for f in hook.files] == ["latin.py"]


def test_code_from_a_pickle_is_recorded_where_its_file_is_and_runs_anywhere(hook, file):
    function = run_exec(file)["f"]
    (loaded,) = hook.files
    data = pickle.dumps(function.__code__.co_consts)
    hook.harvest()
    same = types.FunctionType(function.__code__.replace(co_consts=pickle.loads(data)), {})
    assert same(0) == 2
    assert any(loaded.cells)
    hook.uninstall()
    hook.harvest()
    elsewhere = types.FunctionType(function.__code__.replace(co_consts=pickle.loads(data)), {})
    assert elsewhere(0) == 2
    assert not any(loaded.cells)
