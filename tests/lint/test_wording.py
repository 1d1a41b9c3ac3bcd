"""What people read is in plain words: no archaic verb, and "is not a", never "is no"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ODD = {
    r"\bmend(s|ed|ing)?\b(?![`\"])(?<!^mends)": "fix",  # but the name `mends` of a field
    r"(?<!\bthere )\b(is|are) no (?!longer|more\b)": "is not a",
    r"\bfor want of\b": "for lack of",
    r"\b(it|that|which|evidence|recordings?|report|file|folder) holds? (a|an|no|only|the|nothing)\b": "contain",
}


def _python_texts(path: Path) -> Iterator[str]:
    """The string literals of a module but for its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    parents = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, parents) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def _texts(path: Path) -> Iterator[str]:
    texts = _python_texts(path) if path.suffix == ".py" else [path.read_text("utf-8")]
    return (" ".join(text.split()) for text in texts)


def _odd(path: Path) -> Iterator[str]:
    """What should be said in other words."""
    for text in _texts(path):
        for odd, plain in ODD.items():
            for match in re.finditer(odd, text, re.IGNORECASE):
                near = text[max(match.start() - 30, 0) : match.end() + 30]
                yield f"{path.relative_to(ROOT)}: say {plain!r} in {near!r}"


FILES = [
    path
    for pattern in (
        "README.md",
        "docs/**/*.md",
        "benchmarks/*.md",
        "analysis/suspectra/**/*.py",
        "analysis/suspectra_recorder/**/*.py",
        "analysis/suspectra/**/*.jinja",
        "server/suspectra_mcp/*.py",
        "server/suspectra_server/**/*.py",
        "server/suspectra_server/**/*.md",
        "vscode-extension/src/**/*.ts",
        "vscode-extension/package.nls.json",
        "vscode-extension/*.md",
        "editors/**/*.lua",
        "editors/**/*.el",
    )
    for path in sorted(ROOT.glob(pattern))
]


def test_texts_are_in_plain_words():
    assert len(FILES) > 200
    assert not [found for path in FILES for found in _odd(path)]
