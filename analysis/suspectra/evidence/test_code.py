"""Recognizing test code, which is measured but is not a suspect by default.

Candidates are a mask over the elements and no filter on them, so showing test code or hiding it changes no row.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
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

_DOCTEST = re.compile(r"DOCTEST_ANON_(FUNC|CLASS|TMP|SUITE|CAPTURE|REGISTER)|^_GLOBAL__|^__cxx_global")
_OF_A_FRAMEWORK = re.compile(  # the framework itself, where projects keep a copy of it
    r"(^|/)(unity(_fixture|_memory)?|cmocka|munit|greatest|acutest|CuTest|utest|libtap/tap|doctest|catch(_amalgamated)?|gtest(-\w+)?|gmock(-\w+)?)"
    r"\.(c|cc|cpp|h|hpp)$"
    r"|\.moc$|(^|/)moc_[^/]*\.cpp$"  # what Qt writes for it
)
_USES_FRAMEWORK = re.compile(
    rb"^[ \t]*#[ \t]*include[ \t]*(<check\.h>"
    rb"|[<\"]([^>\"]*/)?(unity(_fixture)?|cmocka|munit|greatest|acutest|minunit|CuTest|utest|libtap/tap|tap/basic|CppUTest/\w+|CUnit/\w+)\.h[>\"]"
    rb"|[<\"](gtest|gmock|catch2|boost/test|cgreen|criterion|cppunit|QtTest)/"
    rb"|[<\"](QtTest|QTest|catch\.hpp|catch_amalgamated\.hpp)[>\"])"
    rb"|^[ \t]*(START_TEST|BOOST_(AUTO|FIXTURE|DATA|PARAM)_TEST_CASE|QTEST_\w*MAIN|TEST_GROUP)\s*\("
    rb"|\b(srunner_create|UNITY_BEGIN|cmocka_run_group_tests\w*|cmocka_unit_test\w*|CU_add_test|CuSuiteAdd|g_test_add\w*)\s*\(",
    re.MULTILINE,
)
_OWN_HEADER = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)


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


def with_c_tests_marked(files: Sequence[MeasuredFile], text_of: Callable[[str], bytes]) -> tuple[MeasuredFile, ...]:
    """Mark the files of C and C++ that use or contain a framework for tests, wherever they are.

    `text_of` returns the beginning of a file of the workspace, empty if there is none. If every file would be test code
    then, the tests are in the program's own files, and only copies of frameworks are marked. doctest is made for tests
    beside the code: a file that uses it is test code if it defines nothing but tests and `main`.
    """
    marked = tuple(
        replace(file, is_test=True) if not file.is_test and _is_c_test(file, text_of) else file for file in files
    )
    if not all(file.is_test for file in marked):
        return marked
    return tuple(replace(one, is_test=one.is_test or _OF_A_FRAMEWORK.search(one.path) is not None) for one in files)


def _is_c_test(file: MeasuredFile, text_of: Callable[[str], bytes]) -> bool:
    names = [name for name, _, _ in file.functions]
    if any(_C_TEST.search(name) for name in names):
        return True
    if any(_DOCTEST.search(name) for name in names):
        return all(_DOCTEST.search(name) or name == "main" for name in names)
    return _OF_A_FRAMEWORK.search(file.path) is not None or _uses_framework(file.path, text_of)


def _uses_framework(path: str, text_of: Callable[[str], bytes]) -> bool:
    """Whether a file, or a header beside it, includes a framework for tests or uses its macros."""
    text = text_of(path)
    beside = posixpath.dirname(path)
    headers = (posixpath.join(beside, match[1].decode("utf-8", "replace")) for match in _OWN_HEADER.finditer(text))
    texts = (text, *(text_of(posixpath.normpath(header)) for header in headers))
    return any(_USES_FRAMEWORK.search(one) for one in texts)
