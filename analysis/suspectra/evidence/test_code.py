"""Recognizing test code, which is measured but is not a suspect by default.

Candidates are a mask over the elements and no filter on them, so showing test code or hiding it changes no row.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.recorded_files import is_test_folder

_NAMES = ("test_*.py", "*_test.py")
_C_TEST = re.compile(
    r"8TestBodyEv|::TestBody\(\)"  # GoogleTest
    r"|C_A_T_C_H_T_E_S_T_\d|CATCH2_INTERNAL_TEST_\d"  # Catch2, whose macros write classes and functions
    r"|11test_methodEv|::test_method\(\)"  # Boost.Test
)


class TestCode:
    """The test code of one run, by the files of its tests, as product code may also have `test` in its path.

    Test code is every file with a test of the run, every ``conftest.py``, everything below a folder that contains such
    a file and is called like one of tests, such as ``tests`` or ``unittests``, and files named like test modules next
    to one.
    """

    __test__ = False  # tells pytest that this is not a test class

    def __init__(self, test_files: Iterable[str]):
        self._files = frozenset(test_files)
        paths = [PurePosixPath(path) for path in self._files]
        self._beside = frozenset(path.parent for path in paths)
        self._below = frozenset(folder for path in paths for folder in path.parents if is_test_folder(folder.name))

    def __contains__(self, path: str) -> bool:
        file = PurePosixPath(path)
        if path in self._files or file.name == "conftest.py":
            return True
        if not self._below.isdisjoint(file.parents):
            return True
        return file.parent in self._beside and any(fnmatch.fnmatch(file.name, name) for name in _NAMES)


def with_c_tests_marked(files: Sequence[MeasuredFile]) -> tuple[MeasuredFile, ...]:
    """Mark the files of C++ that define tests of GoogleTest, Catch2 or Boost.Test, wherever they are.

    If every file would be test code then, the tests are in the program's own files, and nothing is marked. doctest is
    not looked for, since it is made for tests beside the code.
    """
    marked = tuple(
        replace(file, is_test=True)
        if not file.is_test and any(_C_TEST.search(name) for name, _, _ in file.functions)
        else file
        for file in files
    )
    return tuple(files) if all(file.is_test for file in marked) else marked
