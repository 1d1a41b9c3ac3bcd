"""What is wrong with a docstring is found, and where a whole one is needed; what docstrings refer to is there."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import suspectra

ANALYSIS = Path(__file__).parents[2] / "analysis"


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
def names(monkeypatch):
    monkeypatch.syspath_prepend(ANALYSIS.parent / "docs")
    return importlib.import_module("public_names")


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
    wrong = list(check.problems(check.PublicName("suspectra.report", module, function, None), in_api=True))
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
    wrong = list(
        check.problems(check.PublicName("suspectra.report", tmp_path / "module.py", owner.body[1], owner), in_api=True)
    )
    assert any("call in the example of its class" in text for text in wrong) is lacks, wrong


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("", "GL08"),
        ("halve", "SS0"),
        ("Halve.", None),
        (f"Halve.\n{RAISES}", None),
        (f"Halve.\n{RAISES.replace('    When it is odd.', '')}", "does not say when"),
        (WHOLE.replace("value", "other"), "PR02"),
    ],
)
def test_outside_of_the_api_a_sentence_is_enough(docstring, found, check, tmp_path):
    source = f"def halve(value: int) -> int:\n    {docstring!r}\n    raise ValueError\n"
    function = ast.parse(source).body[0]
    if not docstring:
        del function.body[0]
    wrong = list(check.problems(check.PublicName("suspectra.report", tmp_path, function, None), in_api=False))
    assert any(found in one for one in wrong) if found else not wrong, wrong


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_api_is_what_is_exported_imported_by_pages_and_named_by_these(names, tmp_path):
    write(
        tmp_path,
        {
            "README.md": "```python\nfrom suspectra.tools import wash\n```\nCall `suspectra.tools.dry()` after it.",
            "docs/page.md": "`suspectra.tools.gone`",
            "analysis/suspectra/__init__.py": "if TYPE_CHECKING:\n    from suspectra.main import Main as Main\n",
            "analysis/suspectra/main.py": "from suspectra.report import Report, Other\n"
            "from suspectra.inner import Inner\n\n"
            "class Main:\n    def report(self) -> Report | Inner: ...\n    def _own(self) -> Other: ...\n",
            "analysis/suspectra/report/__init__.py": "from suspectra.report.report import Other, Report\n",
            "analysis/suspectra/report/report.py": "class Base:\n    pass\n\nclass Report(Base):\n    line: 'Line'\n"
            "    def top(self): ...\n\nclass Line: ...\n\nclass Other: ...\n",
            "analysis/suspectra/inner.py": "class Inner: ...\n",
            "analysis/suspectra/tools.py": "def wash(): ...\n\ndef dry(): ...\n\ndef iron(): ...\n",
            "analysis/suspectra/techniques/technique.py": "class Technique:\n    name: str\n",
        },
    )
    assert {name for _, name in names.api_names(tmp_path)} == {
        *("Main", "Main.report"),  # exported
        *("Report", "Report.top", "Base", "Line"),  # named by what is exported, in a room of the API
        *("wash", "dry"),  # on a page
        "Technique",
    }


def test_what_is_exported_is_of_the_api(names):
    api = names.api_names()
    exported = {name.key(names.ROOT) for name in names.public_names() if name.full_name in names.EXPORTED}
    assert len(exported) == len(suspectra.__all__) - 1  # the version is no definition
    assert exported <= api
    assert len(api) > 100
