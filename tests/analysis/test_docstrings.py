"""The examples in docstrings run, and a wrong docstring is found."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

ANALYSIS = Path(__file__).parents[2] / "analysis"
MODULES = [
    ".".join(path.relative_to(ANALYSIS).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ANALYSIS.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # some start pytest, which takes long with all plugins
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for number, docstring in enumerate(doctest.DocTestFinder().find(module)):
        docstring.globs["folder"] = tmp_path / str(number)
        docstring.globs["folder"].mkdir()
        runner.run(docstring)
    assert runner.tries
    assert not runner.failures


@pytest.mark.parametrize("package", ["suspectra", "suspectra_recorder"])
def test_what_docstrings_refer_to_is_there(package):
    texts = "".join(path.read_text("utf-8") for path in (ANALYSIS / package).rglob("*.py"))
    names = set(re.findall(r":\w+:`~?(suspectra\w*\.[\w.]+)`", texts))
    assert names
    gone = []
    for name in sorted(names):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            gone.append(name)
    assert not gone


WHOLE = "Halve.\n\nParameters\n----------\nvalue : int\n    Even.\n\nReturns\n-------\nint\n    Half.\n"
RAISES = "\nRaises\n------\nValueError\n    When it is odd.\n"


@pytest.fixture
def check(monkeypatch):
    monkeypatch.syspath_prepend(ANALYSIS.parent / "docs")
    return importlib.import_module("check_docstrings")


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("", "GL08"),
        ("Halve.", "PR01"),
        ("Halve.\n\nParameters\n----------\nvalue : int\n", "PR07"),
        ("Halve.\n\nParameters\n----------\nvalue : int\n    Even.\n", "RT01"),
        (WHOLE, "ValueError"),
        (WHOLE.replace("value", "value, value") + RAISES, "twice"),
        (WHOLE + RAISES, "example"),
        (WHOLE + RAISES + "\nExamples\n--------\n>>> halve(4)\n2\n", None),
    ],
)
def test_what_a_docstring_lacks_is_found(docstring, found, check, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "def halve(value: int) -> int:\n    if value % 2:\n        raise ValueError\n    return value // 2\n"
    )
    function = ast.parse(module.read_text()).body[0]
    function.body[:0] = [ast.Expr(ast.Constant(docstring))] if docstring else []
    wrong = list(check.problems(check.PublicName("suspectra.report", module, function, None)))
    assert any(found in one for one in wrong) if found else not wrong, wrong


@pytest.mark.parametrize(
    ("of_class", "of_method", "body", "lacks"),
    [
        (">>> Half(4).rounded", "Whole.", "return 2", False),
        (">>> class Other(Half):\n...     def rounded(self):\n...         pass", "Whole.", "return 2", False),
        (">>> Half(4)", "Whole.", "return 2", True),
        (">>> Half(4)", "Whole.", "...", False),  # others write it
        (">>> Half(4)", "Whole.\n\nExamples\n--------\n>>> Half(4).rounded\n2", "return 2", False),
    ],
)
def test_a_method_needs_a_call_in_the_example_of_its_class(of_class, of_method, body, lacks, check, tmp_path):
    docstring = f"Half.\n\nExamples\n--------\n{of_class}\n"
    method = f"    @property\n    def rounded(self):\n        {of_method!r}\n        {body}\n"
    source = f"class Half:\n    {docstring!r}\n{method}"
    owner = ast.parse(source).body[0]
    wrong = list(check.problems(check.PublicName("suspectra.report", tmp_path / "module.py", owner.body[1], owner)))
    assert any("call in the example of its class" in text for text in wrong) is lacks, wrong


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ("def halve():\n    'Halve.'\n    do()", True),
        ("def pytest_configure():\n    'Begin.'\n    do()", False),
        ("class Half:\n    def rounded(self):\n        'Whole.'\n        do()", True),
        ("class Half:\n    def rounded(self):\n        'Whole.'", False),
    ],
)
def test_all_modules_need_examples_but_not_for_what_only_pytest_or_others_write(source, lacks, check, tmp_path):
    (node,) = ast.parse(source).body
    owner = node if isinstance(node, ast.ClassDef) else None
    name = check.PublicName("suspectra_recorder.module", tmp_path / "module.py", node.body[0] if owner else node, owner)
    assert any("needs an example" in text for text in check.problems(name)) is lacks
