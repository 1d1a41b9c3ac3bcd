"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
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
