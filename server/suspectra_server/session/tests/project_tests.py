"""Which kinds of tests a folder has, judging by its files, and the command that records them. For worker threads."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from suspectra.base.errors import Problem, UsageError
from suspectra.c.coverage_build import MARK
from suspectra.evidence.sources import Sources, SourceUnreadable
from suspectra.recording.pytest_command import pytest_as_in, pytest_words, starts_pytest
from suspectra_recorder.unittest.commands import runs_unittest
from suspectra_server.settings import Settings

_CTEST, _BUILD = "CTestTestfile.cmake", "build"
_OPTION = "--ctest"
_PRESETS = Path("out/build")
_HAS_TESTS = re.compile(r"^[ \t]*(enable_testing|add_test|include\s*\(\s*CTest\s*\))", re.MULTILINE | re.IGNORECASE)
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py")
_PYTEST_SECTIONS = {"pyproject.toml": "[tool.pytest", "setup.cfg": "[tool:pytest]", "tox.ini": "[pytest]"}
_REQUIREMENTS = (*_PYTEST_SECTIONS, "setup.py", "noxfile.py", "requirements-dev.txt", "requirements.txt")
_DJANGO = "manage.py"
_TEST_FILE = re.compile(r"test.*\.py|.*_test\.py")
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "venv", "env"})
_MAX_FOLDERS, _MAX_FILES = 500, 200


def test_arguments(
    root: Path,
    settings: Settings,
    recorder: str,
    run_again_by: Sequence[str],
    *,
    chosen: bool,
    on_save: bool,
    despite_errors: bool,
) -> tuple[str, ...]:
    """The arguments of `suspectra` that record the tests of a folder.

    Without settings, these are the tests of CTest in a build folder of the workspace if C or C++ was recorded last, or
    if nothing was recorded and there are no Python tests. Otherwise pytest runs the tests, started as in the last
    recorded run, or unittest in a project that uses it and mentions pytest nowhere.
    """
    if settings.c_tests:
        return ("record-c", *settings.c_tests)
    unset = not recorder and not settings.test_command
    wanted = recorder == "record-c" or (unset and not has_python_tests(root))
    if wanted and (build := ctest_build(root)):
        # without a build folder the command says how to make one: nothing is configured without a request
        make = ("--make", shlex.join(["cmake", "--build", build])) if (root / build).is_dir() else ()
        return ("record-c", *make, "--ctest", build)
    command = python_command(root, settings, run_again_by)
    interpreter = ("--python", settings.test_interpreter) if settings.test_interpreter else ()
    fewer = ("--failed-and-affected",) if settings.affected_only and not chosen else ()
    live = ("--failed-and-affected", "--live") if on_save and not chosen else ()
    texts = () if settings.keep_texts else ("--no-keep-texts",)
    by_pytest = despite_errors and not runs_unittest(command, str(root))
    despite = ("--continue-on-collection-errors",) if by_pytest else ()
    return ("record", *interpreter, *texts, *(live or fewer), "--", *command, *despite)


def pytest_command(
    root: Path, settings: Settings, recorder: str, run_again_by: Sequence[str], *, for_unittest: bool
) -> tuple[str, ...]:
    """The command that runs pytest in a folder; where `for_unittest`, also for what `python -m unittest` runs.

    Raises UsageError when the tests are not run by pytest.
    """
    command = python_command(root, settings, run_again_by)
    if for_unittest:
        command = pytest_words(command, str(root))
    if runs_programs(settings, recorder) or runs_unittest(command, str(root)):
        cause = "its tests are not run by pytest"
        raise UsageError(Problem(root.name, "", cause, "let the setting testCommand run pytest, and record the tests"))
    return command


def python_command(root: Path, settings: Settings, run_again_by: Sequence[str]) -> tuple[str, ...]:
    """The command that runs the Python tests of a folder."""
    if settings.test_command:
        return settings.test_command
    by_unittest = None if starts_pytest(run_again_by) else unittest_command(root)
    return by_unittest or pytest_as_in(run_again_by, str(root))


def runs_programs(settings: Settings, recorder: str) -> bool:
    """Whether the tests of a folder are compiled programs."""
    return recorder == "record-c" or bool(settings.c_tests)


def compared_build(root: Path, settings: Settings) -> str:
    """The build folder of CMake whose tests can be compared, relative to the root; empty where there is none."""
    words = [part for word in settings.c_tests for part in (word.split("=", 1) if word.startswith(_OPTION) else [word])]
    named = next((after for word, after in pairwise(words) if word == _OPTION), None)
    build = named if settings.c_tests else ctest_build(root)
    return build if build and os.path.lexists(root / build / _CTEST) else ""


def ctest_build(root: Path) -> str | None:
    """The build folder of a CMake project that has tests, relative to its root.

    Of several the one that `suspectra build-c` has built, else the first. If there is none yet, but CMakeLists.txt has
    tests, the usual name of one.
    """
    outer = [Path(name) for name in _entries(root)[0]]
    inner = [folder / name for folder in outer for name in _entries(root / folder)[0]]
    presets = [_PRESETS / name for name in _entries(root / _PRESETS)[0]] if _PRESETS in inner else []
    found = [folder for folder in (*outer, *inner, *presets) if os.path.lexists(root / folder / _CTEST)]
    if found:
        return min(found, key=lambda folder: not os.path.lexists(root / folder / MARK)).as_posix()
    return _BUILD if _HAS_TESTS.search(_text(root, root / "CMakeLists.txt")) else None


def has_python_tests(root: Path) -> bool:
    """Whether there is a Python test file, or a configuration of pytest."""
    return _configures_pytest(root) or next(_test_files(root), None) is not None


def unittest_command(root: Path) -> tuple[str, ...] | None:
    """The command for a project that uses unittest or Django and mentions pytest nowhere; None for any other."""
    if _configures_pytest(root) or any("pytest" in _text(root, root / name) for name in _REQUIREMENTS):
        return None
    files = list(islice(_test_files(root), _MAX_FILES))
    texts = [_text(root, path) for path in files]
    if not files or any("pytest" in text for text in texts):
        return None
    if "django" in _text(root, root / _DJANGO):
        return "python", _DJANGO, "test"
    if not any("unittest" in text for text in texts):
        return None
    folders = {path.parent for path, text in zip(files, texts, strict=True) if "unittest" in text}
    alone = folders.pop() if len(folders) == 1 else root
    top = alone  # the folder from which its tests are imported
    while top != root and os.path.lexists(top / "__init__.py"):
        top = top.parent
    if top == root:
        return "python", "-m", "unittest"
    start, above = (folder.relative_to(root).as_posix() for folder in (alone, top))
    return "python", "-m", "unittest", "discover", "-s", start, *(["-t", above] if above != start else [])


def pytest_configuration(root: Path) -> str:
    """The text of the files that may configure pytest."""
    return "\n".join(_text(root, root / name) for name in (*_PYTEST_FILES, *_PYTEST_SECTIONS))


def _configures_pytest(root: Path) -> bool:
    return any(os.path.lexists(root / name) for name in _PYTEST_FILES) or any(
        section in _text(root, root / name) for name, section in _PYTEST_SECTIONS.items()
    )


def _test_files(root: Path) -> Iterator[Path]:
    """Python files named like tests, in the first folders."""
    left = [root]
    for _ in range(_MAX_FOLDERS):
        if not left:
            return
        folder = left.pop()
        folders, names = _entries(folder)
        wanted = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        left += [folder / name for name in reversed(wanted) if not os.path.lexists(folder / name / "pyvenv.cfg")]
        yield from (folder / name for name in names if _TEST_FILE.fullmatch(name))


def _entries(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the folders and of everything else in a folder; links count as files and are not followed."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        return [], []
    return [name for name, is_dir in found if is_dir], [name for name, is_dir in found if not is_dir]


def _text(root: Path, path: Path) -> str:
    """The content of a file of the folder; empty if it can't be read, or is a link that leads out of the folder."""
    try:
        return Sources(root).get(path.relative_to(root).as_posix()).text
    except SourceUnreadable:
        return ""
