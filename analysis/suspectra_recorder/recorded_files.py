"""Deciding which files are recorded, and under which names."""

from __future__ import annotations

import fnmatch
import importlib.machinery
import re
from collections.abc import Callable, Iterable, Iterator

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins

_SKIPPED = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__", "__pypackages__"})
_BUILD_TREES = frozenset({"build", "dist"})
_TEST_FOLDER = re.compile(r"_*test|unittest|(.*[-_.])?(unit)?tests")
_CALLED_LIKE_TESTS = re.compile(r"(tests?.*|.*tests?)\.py")
_ANY_MODULE = "_.py"
_WILD = re.compile(r"[*?\[]")


class RecordedFiles:
    """Decides about each file that is imported.

    Files of the workspace are recorded, except those in virtual environments, hidden folders, installed packages and
    build folders; also everything that `sources` names. Test modules and conftest files are recorded only with
    `include_tests`. Other files with ``test`` in their paths are recorded.
    """

    def __init__(
        self,
        root: str,
        sources: Iterable[str] = (),
        *,
        include_tests: bool = False,
        patterns: Iterable[str] = ("test_*.py", "*_test.py"),
    ):
        self.root = os.path.realpath(root)  # the workspace
        self.include_tests = include_tests  # whether to record test modules and conftest files too
        self.patterns = tuple(patterns)  # pytest's `python_files`, see test_patterns
        self.mixed: set[str] = set()  # files that are named to be collected though they are not called like tests
        self._matches = [("/" in pattern, _matcher(pattern)) for pattern in self.patterns]
        self.given = tuple(sources)
        self.missing: list[str] = []  # sources that could not be found
        self.outside: list[str] = []  # sources that lie outside the workspace
        self._sources: list[str] = []
        for source in self.given:
            self._add_source(source)
        self._folders: dict[str, bool] = {}
        self._real: dict[str, str] = {}  # folders without links, by the paths that lead to them
        self._holds_tests: dict[str, bool] = {}

    def __call__(self, path: str) -> str | None:
        """Return the recorded name of a file, None if it is not recorded."""
        if not path.endswith(".py"):
            return None
        real = self.real(path)
        name = self._name(real)
        if name is None or not self.contains(os.path.dirname(real)):
            return None
        if not self.include_tests and self.is_test_module(real):
            return None
        return name

    def name(self, path: str) -> str | None:
        """Return a path relative to the workspace, None if it is outside."""
        return self._name(self.real(path))

    def real(self, path: str) -> str:
        """Return the path of a file without links; what that is for its folder is found out once."""
        folder, file = os.path.split(path)
        if not os.path.isabs(folder) or file in ("", os.curdir, os.pardir):
            return os.path.realpath(path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        path = os.path.join(self._real[folder], file)
        return os.path.realpath(path) if os.path.islink(path) else path

    def _name(self, real: str) -> str | None:
        if not _below(real, self.root):
            return None
        return os.path.relpath(real, self.root).replace(os.sep, "/")

    def is_test_module(self, path: str) -> bool:
        """Whether pytest considers the file a test module or a conftest.

        True if one of `patterns` matches, or it is a conftest.
        """
        return self._may_have_tests(path) and not self.is_mixed(path)

    def is_mixed(self, path: str) -> bool:
        """Whether a file of the program may have tests in it, too.

        So it is if only a pattern that every module matches says that it has tests, or if it was named, and neither the
        file nor a folder around it is called like tests.
        """
        base = os.path.basename(path)
        if base == "conftest.py" or any(matches for matches, every in self._matching(path) if not every):
            return False
        if path not in self.mixed and not self._may_have_tests(path):
            return False
        folders = os.path.relpath(os.path.dirname(path), self.root).split(os.sep)
        return not _CALLED_LIKE_TESTS.fullmatch(base.lower()) and not any(map(is_test_folder, folders))

    def _may_have_tests(self, path: str) -> bool:
        return os.path.basename(path) == "conftest.py" or any(matches for matches, _ in self._matching(path))

    def _matching(self, path: str) -> Iterator[tuple[object, bool]]:
        """Whether each pattern matches a file, and whether it matches every file."""
        full, base = path.replace(os.sep, "/"), os.path.basename(path)
        for whole, matches in self._matches:
            yield matches(os.path.normcase(full if whole else base)), not whole and bool(matches(_ANY_MODULE))

    def take_as_test(self, path: str) -> None:
        """Take a file for a test module, whatever it is called."""
        pattern = _pattern_of(path)
        self.patterns = (*self.patterns, pattern)
        self._matches.append((True, _matcher(pattern)))
        self._holds_tests.clear()

    def is_test_code(self, path: str) -> bool:
        """Whether a recorded file is test code: a test module, or support code in a folder of tests.

        A folder of tests is called like one (:func:`is_test_folder`), and has a test module or a conftest somewhere
        below it.
        """
        real = os.path.realpath(path)
        if self.is_test_module(real):
            return True
        folder = os.path.dirname(real)
        # the workspace itself may be called like a folder of tests
        while _below(folder, self.root) and folder != self.root:
            if is_test_folder(os.path.basename(folder)) and self._has_tests(folder):
                return True
            folder = os.path.dirname(folder)
        return False

    def _has_tests(self, folder: str) -> bool:
        if folder not in self._holds_tests:
            modules = (path for path in self.files_below(folder) if path.endswith(".py"))
            self._holds_tests[folder] = any(map(self._may_have_tests, modules))
        return self._holds_tests[folder]

    def _add_source(self, source: str) -> None:
        folders = [os.path.join(self.root, source)]
        if not os.path.exists(folders[0]):
            folders = _package_folders(source)
        if not folders:
            self.missing.append(source)
        for folder in map(os.path.realpath, folders):
            (self._sources if _below(folder, self.root) else self.outside).append(folder)

    def contains(self, folder: str) -> bool:
        """Whether files in this folder are the project's own.

        True if files in it are recorded.
        """
        wanted = self._folders.get(folder)
        if wanted is None:
            # a source may be a single module
            wanted = any(_below(folder, s) or folder == os.path.dirname(s) for s in self._sources)
            wanted = wanted or self._folder_is_ours(folder)
            self._folders[folder] = wanted
        return wanted

    def files_below(self, folder: str) -> Iterator[str]:
        """The files in a folder and in those below it that are the project's own.

        Absolute, in no particular order.
        """
        for at, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if self.contains(os.path.join(at, name))]
            yield from (os.path.join(at, name) for name in names)

    def _folder_is_ours(self, folder: str) -> bool:
        if folder == self.root:
            return True
        if not _below(folder, self.root):
            return False
        name = os.path.basename(folder)
        if name in _SKIPPED or name.startswith(".") or name.endswith((".egg", ".egg-info")):
            return False
        # a package may be called so, too
        if name in _BUILD_TREES and not os.path.exists(os.path.join(folder, "__init__.py")):
            return False
        if any(os.path.exists(os.path.join(folder, mark)) for mark in ("pyvenv.cfg", "conda-meta")):
            return False
        return self.contains(os.path.dirname(folder))


def is_test_folder(name: str) -> bool:
    """Whether a folder is called like one of tests."""
    return _TEST_FOLDER.fullmatch(name) is not None


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def test_patterns(python_files: Iterable[str], arguments: Iterable[str], folder: str) -> list[str]:
    """The patterns of test modules, with those that pytest collects since they are named.

    A file that is named is collected whatever it is called. If it is called like tests it has nothing else, as
    ``tests/tests.py``. Others, such as ``kata.py``, may be what is tested, too.
    """
    patterns = list(python_files)
    for argument in arguments:
        file = argument.partition("::")[0]
        if _CALLED_LIKE_TESTS.fullmatch(os.path.basename(file).lower()):
            patterns.append(_pattern_of(os.path.realpath(os.path.join(folder, file))))
    return patterns


def _pattern_of(path: str) -> str:
    """The pattern that only one file matches."""
    return _WILD.sub(r"[\g<0>]", path.replace(os.sep, "/"))


def _matcher(pattern: str) -> Callable[[str], object]:
    """The same as :func:`fnmatch.fnmatch`, prepared so that nothing of it is called while tests run."""
    # pytest, too, compares a pattern with a slash with the whole path
    anywhere = f"*/{pattern}" if "/" in pattern and not pattern.startswith(("*", "/")) else pattern
    return re.compile(fnmatch.translate(os.path.normcase(anywhere))).match


def _package_folders(name: str) -> list[str]:
    """The folders of an importable package or module, found without importing it."""
    path = None
    spec = None
    for part in name.split("."):
        # `importlib.util.find_spec` would import the packages around it
        spec = importlib.machinery.PathFinder.find_spec(part, path)
        if spec is None:
            return []
        path = spec.submodule_search_locations
    if spec is None:
        return []
    return list(path) if path is not None else [spec.origin] if spec.origin else []
