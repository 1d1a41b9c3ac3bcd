"""What a source does, part by part."""

import argparse
import ast
import hashlib
import typing
from pathlib import Path

import pytest

from suspectra_recorder.instrumentation.outline import Outline, difference
from suspectra_recorder.instrumentation.rewriting import instrument

ZOO = Path(__file__).parents[1] / "fixtures" / "python_source_zoo.py"
SOURCE = '''
"""A module."""
from __future__ import annotations
import os.path as p, json
from ..up import this, that
from . import here


@decorated
def f(a, /, b: int = 1, *c, d=(1, -2), **e) -> str:
    """Documented."""

    def inner(x=[]):
        return f"{x!r:>{a}} {b}" + rb"\\x00".decode() + 1j + ... + 10**20

    with open(a) as g, g as h:
        yield [i async for i in inner() if i]
    return {**e, "k": lambda y: (y := 3)}


class C(Base, metaclass=Meta):
    x: int = 3

    def g(self):
        match self:
            case [1, *_] | {"k": C(y=None)} if x:
                pass

    def g(self):
        try:
            import_module("late")
        except* OSError as error:
            import_module(made_up)
'''.replace("except*", "except")


def outline(text, **options):
    return Outline.from_tree(ast.parse(text), **options)


@pytest.mark.parametrize("path", [ZOO, Path(argparse.__file__), Path(typing.__file__)], ids=lambda p: p.name)
def test_layout_and_comments_do_not_matter(path):
    tree = ast.parse(path.read_text())
    assert Outline.from_tree(ast.parse(ast.unparse(tree))) == Outline.from_tree(tree)
    _, probes = instrument(path.read_bytes(), str(path), "__x__")
    assert probes.outline == Outline.from_tree(tree)
    assert [f.name for f in probes.outline.functions] == [f.name for f in probes.functions]


def test_an_outline_is_the_same_in_every_version_of_python():
    found = outline(SOURCE)
    assert [f.name for f in found.functions] == ["f", "f.inner", "C.g", "C.g"]
    assert [f.outer for f in found.functions] == [0, 0, 2, 3]
    imports = ["__future__.annotations", "os.path", "json", "..up.this", "..up.that", ".here", "late", "*"]
    assert sorted(found.imports) == sorted(imports)
    assert hashlib.sha256(repr(found.functions + found.outside).encode()).hexdigest()[:12] == "74f08ac3d7ac"
    assert Outline.from_json(found.as_json()) == found


# before, after, the functions that differ, whether what is around them does, functions that came or went
DIFFERENCES = {
    "nothing": ("def f():\n  return 1", "def f():\n\n  # c\n  return (1)", [], False, []),
    "docstring": ("def f():\n  return 1", "def f():\n  'doc'\n  return 1", [], False, []),
    "body": ("def f():\n  return 1", "def f():\n  return 1.0", ["f"], False, []),
    "indentation": ("def f():\n  if a:\n    b\n    c", "def f():\n  if a:\n    b\n  c", ["f"], False, []),
    "inner": ("def f():\n  def g():\n    return 1", "def f():\n  def g():\n    return 2", ["f.g"], False, []),
    "inner default": ("def f():\n  def g(x=a): 1", "def f():\n  def g(x=b): 1", ["f", "f.g"], False, []),
    "constant default": ("def f(x=1): 1", "def f(x=2): 1", ["f"], False, []),
    "computed default": ("def f(x=a()): 1", "def f(x=b()): 1", ["f"], True, []),
    "plain annotation": ("def f(x): 1", "def f(x: list[int] | None) -> str: 1", ["f"], False, []),
    "annotation": ("def f(x): 1", "def f(x: Made): 1", ["f"], True, ["f"]),
    "decorator": ("def f(): 1", "@d\ndef f(): 1", [], True, ["f"]),
    "added": ("def f(): 1", "def f(): 1\ndef g(): 2", ["g"], False, ["g"]),
    "removed": ("def f(): 1\ndef g(): 2", "def f(): 1", ["g"], False, ["g"]),
    "added with decorator": ("def f(): 1", "def f(): 1\n@d\ndef g(): 2", ["g"], True, []),
    "second of a name": ("def f(): 1", "def f(): 1\ndef f(): 2", ["f"], True, []),
    "method added": ("class C:\n  x = 1", "class C:\n  x = 1\n  def f(self): 1", ["C.f"], True, []),
    "method": ("class C:\n  def f(self): 1", "class C:\n  def f(self): 2", ["C.f"], False, []),
    "base": ("class C:\n  def f(self): 1", "class C(B):\n  def f(self): 1", [], True, []),
    "constant": ("A = 1\ndef f(): 1", "A = 2\ndef f(): 1", [], True, []),
    "order": ("def f(): 1\nA = f()", "A = f()\ndef f(): 1", [], True, []),
    "import": ("def f(): 1", "import a\ndef f(): 1", [], True, []),
    "sync": ("def f(): 1", "async def f(): 1", ["f"], False, []),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_differs(name):
    before, after, bodies, around, plain = DIFFERENCES[name]
    found = difference(outline(before), outline(after))
    assert (sorted(n for n, _ in found.bodies), found.around, sorted(found.plain)) == (bodies, around, plain)
    assert not difference(outline(before), outline(before))


def test_tests_that_come_or_go_change_nothing_around_them():
    before = outline("def test_a(): 1\nclass TestB:\n  def test_c(self): 1", tests=True)
    after = outline("@mark\ndef test_a(): 1\ndef test_d(): 1\nclass TestB:\n  def test_e(self): 1", tests=True)
    found = difference(before, after)
    assert found.units == {"test_a", "test_d", "TestB.test_c", "TestB.test_e"}
    assert not found.around


def test_who_is_used_by_others_is_more_than_a_test():
    text = """
@pytest.fixture
def test_client(): {0}
def test_data(): {0}
def test_called(): {0}
def test_uses(test_data): test_called()
class TestA:
  def test_it(self): {0}
"""
    found = difference(outline(text.format(1), tests=True), outline(text.format(2), tests=True))
    assert found.helpers == {"test_client", "test_data", "test_called"}
    assert found.units == found.helpers | {"TestA.test_it"}


def test_what_is_not_known_differs():
    assert difference(None, outline("")).around
    assert difference(outline(""), None).whole
