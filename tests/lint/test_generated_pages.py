"""What docs/generate.py writes from the code is up to date, and the reference of the library can be built."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import suspectra

ROOT = Path(__file__).parents[2]


@pytest.fixture
def generate(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("generate")


def test_the_generated_pages_are_up_to_date(generate):
    stale = [path.name for path, text in generate.pages() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, "run: python docs/generate.py"


def test_the_reference_of_the_library_has_all_that_is_exported(generate):
    ((_, page),) = generate.built_pages()
    missing = [name for name in suspectra.__all__ if name != "__version__" and f"\n### {name}\n" not in page]
    assert not missing
    assert "Localizer.update(evidence)" in page
