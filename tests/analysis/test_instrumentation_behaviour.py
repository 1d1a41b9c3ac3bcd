"""Instrumented code does what it did, and shows no difference where a program may look."""

import dataclasses
import gc
import importlib.util
import inspect
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from suspectra_recorder.instrumentation.cache import CodeCache
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.rewriting import instrument

CELLS = "__suspectra_behaviour_cells__"


def run(source, *, probes):
    """What a source leaves in `log`, and the error it ends with."""
    ticks = iter(range(12))
    name = {"__name__": "generated", "log": [], "tick": lambda: next(ticks, None) is not None}
    if probes:
        tree, module_map = instrument(source.encode(), "generated.py", CELLS)
        file = LoadedFile("generated.py", "", [0] * module_map.cells, b"")
        code = with_cells(compile(tree, "generated.py", "exec", dont_inherit=True), CELLS, file)
    else:
        code = compile(source, "generated.py", "exec", dont_inherit=True)
    try:
        exec(code, name)
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "generated.py"]
        return name["log"], type(error).__name__, lines
    return name["log"], "", []


# programs out of blocks: every statement logs, some raise, leave or branch

SIMPLE = st.sampled_from(
    [
        "log.append(n)",
        "n = n + 1",
        "n = None or 1",
        "x = n",
        "pass",
        "n = [log.append(i) for i in range(2)] and 3",
        "n = (lambda a: a + 1)(n)",
        "return n",
        "raise ValueError(n)",
        "1 / (n - 2)",
        "del x",
        "assert n < 5, n",
        "y: int = 3",
        "z: int",
        "yield_like = sum(i for i in range(n))",
    ]
)


def indented(block):
    return ["    " + line for line in block]


def without_return(block):
    """A block that may stand in a class; each statement keeps its place, as it may be all that a block holds."""
    return [line.replace("return n", "pass") for line in block]


def compound(inner):
    block = st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])
    return st.one_of(
        block.map(lambda b: ["if n % 2:", *indented(b)]),
        st.tuples(block, block).map(lambda t: ["if n > 2:", *indented(t[0]), "else:", *indented(t[1])]),
        st.tuples(block, block).map(lambda t: ["for n in range(3):", *indented(t[0]), "else:", *indented(t[1])]),
        block.map(lambda b: ["for n in range(4):", *indented(b), "    if n == 2: break"]),
        block.map(lambda b: ["for n in range(3):", "    if n == 1: continue", *indented(b)]),
        block.map(lambda b: ["while tick():", *indented(b)]),
        st.tuples(block, block, block).map(
            lambda t: [
                "try:",
                *indented(t[0]),
                "except ValueError as e:",
                "    log.append(str(e))",
                *indented(t[1]),
                "finally:",
                *indented(t[2]),
            ]
        ),
        st.tuples(block, block).map(
            lambda t: ["try:", *indented(t[0]), "except (NameError, ZeroDivisionError):", *indented(t[1])]
        ),
        block.map(lambda b: ["with suppress(ValueError):", *indented(b)]),
        st.tuples(block, block).map(
            lambda t: [
                "match n:",
                "    case 0:",
                *indented(indented(t[0])),
                "    case int(k) if k > 1:",
                *indented(indented(t[1])),
            ]
        ),
        block.map(lambda b: ["def inner(n, x=0):", "    '''doc'''", *indented(b), "n = inner(n) or 1"]),
        block.map(lambda b: ["class Inner:", "    n = 1", *indented(without_return(b))]),
    )


STATEMENT = st.recursive(SIMPLE.map(lambda line: [line]), compound, max_leaves=12)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(STATEMENT, min_size=1, max_size=4), st.integers(0, 3))
@example([["class Inner:", "    n = 1", *indented(without_return(["if n % 2:", "    return n"]))]], 1)
def test_a_generated_program_behaves_the_same(parts, n):
    body = [line for part in parts for line in part]
    source = "\n".join(
        ["from contextlib import suppress", "def main(n, x=0):", *indented(body), f"log.append(main({n}))", ""]
    )
    assert run(source, probes=True) == run(source, probes=False)


# looking closely

MODULE = '''"""The docstring."""
from __future__ import annotations

import dataclasses
import enum


@dataclasses.dataclass(order=True)
class Point:
    """A point."""

    x: int
    y: "list[int]" = dataclasses.field(default_factory=lambda: [1])

    def norm(self):
        return super().__hash__ and __class__


class Color(enum.Enum):
    RED = enum.auto()
    BLUE = enum.auto()


def plain(a: undefined_name, *, b=1) -> also_undefined:
    """doc"""
    return a


def generator():
    """doc"""
    yield 1


async def coroutine():
    return 1


async def async_generator():
    yield 1


def deep(n):
    return 0 if not n else 1 + deep(n - 1)


def fails(a):
    b = 1
    if a:
        raise ValueError(
            "no"
        )
    return b


double = lambda x: x * 2
'''


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """The same module, once as it is and once with probes."""
    (tmp_path / "looked_at.py").write_text(MODULE)
    loaded = []
    for hook in (None, ImportHook(lambda path: Path(path).name if path.startswith(str(tmp_path)) else None)):
        if hook is not None:
            hook.install()
        spec = importlib.util.spec_from_file_location("looked_at", tmp_path / "looked_at.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "looked_at", module)
        try:
            spec.loader.exec_module(module)
        finally:
            if hook is not None:
                hook.uninstall()
        loaded.append(module)
    assert [file.path for file in hook.files] == ["looked_at.py"]
    return loaded


def test_a_module_looks_the_same(modules):
    plain, probed = modules
    assert vars(plain).keys() == vars(probed).keys()
    assert probed.__doc__ == "The docstring."
    assert type(probed.__spec__.loader) is type(plain.__spec__.loader)
    for name in ("plain", "generator", "fails", "double", "deep"):
        old, new = getattr(plain, name), getattr(probed, name)
        assert new.__doc__ == old.__doc__
        assert new.__annotations__ == old.__annotations__
        assert new.__code__.co_flags == old.__code__.co_flags
        assert new.__code__.co_varnames == old.__code__.co_varnames
        assert new.__code__.co_firstlineno == old.__code__.co_firstlineno
        assert inspect.getsource(new) == inspect.getsource(old)
        assert inspect.signature(new) == inspect.signature(old)
    assert inspect.iscoroutinefunction(probed.coroutine)
    assert inspect.isasyncgenfunction(probed.async_generator)
    assert inspect.isgeneratorfunction(probed.generator)


def test_classes_look_the_same(modules):
    plain, probed = modules
    for name in ("Point", "Color"):
        old, new = vars(getattr(plain, name)), vars(getattr(probed, name))
        assert [k for k in new if "suspectra" in k] == []
        assert old.keys() == new.keys()
    assert [f.name for f in dataclasses.fields(probed.Point)] == ["x", "y"]
    assert probed.Point(1) < probed.Point(2)
    assert probed.Point(1).norm() is probed.Point
    assert pickle.loads(pickle.dumps(probed.Point(1, [2]))) == probed.Point(1, [2])
    assert list(probed.Color) == [probed.Color.RED, probed.Color.BLUE]


COMPARING = """
def input(function):
    if function.__code__.co_code not in (nothing.__code__.co_code, explained.__code__.co_code):
        raise ValueError("the body must be empty")
    log.append(function.__name__)
    return function

def nothing():
    pass

def explained():
    "It does nothing."

@input
def passes():
    pass

class Machine:
    @input
    def close(self):
        "What it would do."

    if log:
        @input
        def one_line(self): pass

passes()
"""


def test_empty_functions_can_be_compared_by_their_bytecode():
    expected = ["passes", "close", "one_line"], "", []
    assert run(COMPARING, probes=False) == expected
    assert run(COMPARING, probes=True) == expected


def test_an_empty_function_of_one_module_is_accepted_by_the_decorator_of_another():
    library = {"log": []}
    exec(COMPARING.partition("@input")[0], library)
    machine = "@input\ndef paid():\n    'Paid.'\n\n@input\ndef sent():\n    pass\n"
    tree, module_map = instrument(machine.encode(), "machine.py", CELLS)
    file = LoadedFile("machine.py", "", [0] * module_map.cells, b"")
    exec(with_cells(compile(tree, "machine.py", "exec"), CELLS, file), library)
    assert library["log"] == ["paid", "sent"]
    assert [statement.line for statement in module_map.statements] == [1, 2, 5, 6]


def test_what_pythons_own_decorators_get_is_recorded():
    source = b"class Cart:\n    @property\n    def vat(self):\n        pass\n    def close(self):\n        pass\n"
    _, module_map = instrument(source, "cart.py", CELLS)
    assert {4, 6} <= {statement.line for statement in module_map.statements}


def test_tracebacks_show_the_same_lines(modules):
    shown = []
    for module in modules:
        with pytest.raises(ValueError, match="no") as caught:
            module.fails(1)
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        shown.append((frame.lineno, frame.line, frame.name))
    assert shown[0] == shown[1]


def test_the_compiler_warns_once():
    source = "def f(x):\n    try:\n        return x is 1 or '\\d'\n    finally:\n        return 2\n"
    said = []
    for with_probes in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(source, probes=with_probes)
        said.append([(str(w.message), w.category, w.lineno) for w in caught])
    assert said[0] == said[1] != []


def test_recursion_reaches_as_deep(modules):
    limit = sys.getrecursionlimit() - 200
    assert [module.deep(limit // 2) for module in modules] == [limit // 2] * 2


# the hook


@pytest.fixture
def hooked(tmp_path):
    hooks = []

    def make(**options):
        root = str(tmp_path.resolve())
        hook = ImportHook(lambda path: Path(path).name if path.startswith(root) else None, **options)
        hook.install()
        hooks.append(hook)
        return hook

    yield make
    for hook in hooks:
        hook.uninstall()


def load(path, name="hooked"):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_harvest_gives_each_cell_one_bit_and_starts_again(tmp_path, hooked):
    (tmp_path / "a.py").write_text("def f():\n    return 1\nx = 2\n")
    hook = hooked()
    module = load(tmp_path / "a.py")
    assert hook.harvest() == ([0], bytes([0b10100000]))
    assert hook.harvest() == ([], b"")
    module.f()
    assert hook.harvest() == ([0], bytes([0b01000000]))
    hook.mark([0], bytes([0b11000000]))
    assert hook.harvest() == ([0], bytes([0b11000000]))


def test_the_same_file_under_two_names_is_one_file(tmp_path, hooked):
    (tmp_path / "a.py").write_text("x = 1\n")
    hook = hooked()
    load(tmp_path / "a.py", "one")
    load(tmp_path / "a.py", "two")
    assert len(hook.files) == 1


def test_code_comes_from_the_cache_until_the_source_changes(tmp_path, hooked, monkeypatch):
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    cache = CodeCache(str(tmp_path / "cache"))
    hooked(cache=cache).uninstall()
    hooked(cache=cache)
    load(path)
    calls = []
    real = instrument
    monkeypatch.setattr(
        "suspectra_recorder.instrumentation.rewriting.instrument", lambda *a, **k: calls.append(a[1]) or real(*a, **k)
    )
    hooked(cache=cache)
    assert load(path).x == 1
    assert calls == []
    path.write_text("x = 2\n")
    assert load(path).x == 2
    assert len(calls) == 1
    assert len(list((tmp_path / "cache").rglob("*"))) == 2  # the folder of this interpreter and one file


@pytest.mark.parametrize("damage", [b"", b"junk", b"\0" * 200])
def test_a_damaged_cache_is_written_anew(tmp_path, hooked, damage):
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    cache = CodeCache(str(tmp_path / "cache"))
    hooked(cache=cache)
    load(path)
    [stored] = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    good = stored.read_bytes()
    stored.write_bytes(damage or good[:-1])
    assert load(path).x == 1
    assert stored.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, hooked):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "cache").write_text("a file where the folder should be")
    hooked(cache=CodeCache(str(tmp_path / "cache")))
    assert load(tmp_path / "a.py").x == 1


def test_a_syntax_error_is_pythons_own(tmp_path, hooked):
    (tmp_path / "a.py").write_text("x = = 1\n")
    hooked()
    with pytest.raises(SyntaxError, match="invalid syntax"):
        load(tmp_path / "a.py")


def test_what_cannot_be_instrumented_runs_as_it_is_and_is_reported(tmp_path, hooked, monkeypatch):
    def refuse(*_, **__):
        raise RecursionError("too deep")

    monkeypatch.setattr("suspectra_recorder.instrumentation.rewriting.instrument", refuse)
    (tmp_path / "a.py").write_text("x = 1\n")
    hook = hooked()
    assert load(tmp_path / "a.py").x == 1
    assert list(hook.guard.failures) == ["a.py"]
    assert "RecursionError" in hook.guard.failures["a.py"]


def test_another_tools_loader_keeps_its_own_way(tmp_path, hooked):
    class Loader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, **_):
            return compile("x = 'theirs'", path, "exec")

    (tmp_path / "a.py").write_text("x = 1\n")
    hook = hooked()
    loader = Loader("a", str(tmp_path / "a.py"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("a", loader))
    loader.exec_module(module)
    assert module.x == "theirs"
    assert hook.files == []


# large sources


def test_the_facts_of_a_match_grow_with_its_cases():
    def facts(cases):
        body = "".join(f"        case {n}:\n            x = 1\n" for n in range(cases))
        return len(instrument(f"def f(x):\n    match x:\n{body}".encode(), "large.py", CELLS)[1].probes)

    assert facts(800) < 2.2 * facts(400)


def test_no_garbage_is_collected_while_a_tree_grows():
    phases = []
    gc.callbacks.append(callback := lambda phase, _: phases.append(phase))
    try:
        instrument(b"def f(x):\n" + b"    x = g(x, 1)\n" * 3_000, "large.py", CELLS)
        found = phases[:]
    finally:
        gc.callbacks.remove(callback)
    assert len(found) <= 2  # one when it may run again
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        instrument(b"x = 1\n", "small.py", CELLS)
        assert not gc.isenabled()
    finally:
        gc.enable()
