"""Recognizing test code, which is measured but is not a suspect by default."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import PurePosixPath

_FOLDERS = ("test", "tests")
_NAMES = ("test_*.py", "*_test.py")


class TestCode:
    """The test code of one run, by the files of its tests, as product code may also have `test` in its path.

    Test code is every file with a test of the run, every ``conftest.py``, everything below a folder named ``test`` or
    ``tests`` that contains such a file, and files named like test modules next to one.

    Parameters
    ----------
    test_files : iterable of str
        The files of the tests of the run, relative to the workspace, forward slashes.

    Examples
    --------
    >>> code = TestCode(["tests/unit/test_cart.py"])
    >>> [path for path in ("tests/helpers.py", "shop/test/client.py", "shop/contest.py") if path in code]
    ['tests/helpers.py']
    """

    __test__ = False  # tells pytest that this is not a test class

    def __init__(self, test_files: Iterable[str]):
        self._files = frozenset(test_files)
        paths = [PurePosixPath(path) for path in self._files]
        self._beside = frozenset(path.parent for path in paths)
        self._below = frozenset(folder for path in paths for folder in path.parents if folder.name in _FOLDERS)

    def __contains__(self, path: str) -> bool:
        file = PurePosixPath(path)
        if path in self._files or file.name == "conftest.py":
            return True
        if not self._below.isdisjoint(file.parents):
            return True
        return file.parent in self._beside and any(fnmatch.fnmatch(file.name, name) for name in _NAMES)
