"""Which tests a folder holds, as far as its files tell: what is run where nobody has said."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_CTEST, _BUILD = "CTestTestfile.cmake", "build"
_HAS_TESTS = re.compile(r"^[ \t]*(enable_testing|add_test|include\s*\(\s*CTest\s*\))", re.MULTILINE | re.IGNORECASE)
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py")
_PYTEST_SECTIONS = {"pyproject.toml": "[tool.pytest", "setup.cfg": "[tool:pytest]", "tox.ini": "[pytest]"}
_TEST_FILE = re.compile(r"test.*\.py|.*_test\.py")
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "venv", "env"})
_MOST_FOLDERS, _MOST_FILES, _MOST_BYTES = 500, 200, 1 << 20


def ctest_build(root: Path) -> str | None:
    """The build folder of a CMake project that has tests, relative to its root.

    Of several it is the first; where there is none yet, but CMakeLists.txt has tests, it is the usual name of one.
    """
    for place in ("*", "*/*", "out/build/*"):
        built = sorted(listing.parent for listing in root.glob(f"{place}/{_CTEST}"))
        if built:
            return built[0].relative_to(root).as_posix()
    return _BUILD if _HAS_TESTS.search(_text(root / "CMakeLists.txt")) else None


def has_python_tests(root: Path) -> bool:
    """Whether there is a test file of Python, or anything that sets pytest up."""
    return _configures_pytest(root) or next(_test_files(root), None) is not None


def unittest_command(root: Path) -> tuple[str, ...] | None:
    """The command for a project whose tests are of unittest and that has no word of pytest; None for any other."""
    if _configures_pytest(root):
        return None
    files = list(islice(_test_files(root), _MOST_FILES))
    texts = [_text(path) for path in files]
    if not files or any("pytest" in text for text in texts) or not any("unittest" in text for text in texts):
        return None
    folders = {path.parent for path, text in zip(files, texts, strict=True) if "unittest" in text}
    alone = folders.pop() if len(folders) == 1 else None
    if alone is not None and alone != root and not (alone / "__init__.py").exists():
        return "python", "-m", "unittest", "discover", "-s", alone.relative_to(root).as_posix()
    return "python", "-m", "unittest"


def _configures_pytest(root: Path) -> bool:
    return any((root / name).is_file() for name in _PYTEST_FILES) or any(
        section in _text(root / name) for name, section in _PYTEST_SECTIONS.items()
    )


def _test_files(root: Path) -> Iterator[Path]:
    """Python files that are called as tests are, in the first folders."""
    for folder, folders, names in islice(os.walk(root), _MOST_FOLDERS):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(folder, name, "pyvenv.cfg").exists()
        )
        yield from (Path(folder, name) for name in sorted(names) if _TEST_FILE.fullmatch(name))


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_MOST_BYTES)
    except OSError:
        return ""
